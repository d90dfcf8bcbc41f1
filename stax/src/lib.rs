//! Stax: schedule, kernel IR and emitters.
#![forbid(unsafe_code)]

pub mod kernel;
