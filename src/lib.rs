//! tensorplay: a build-time ML compiler for Rust.
