//! Emitters: printers of the kernel IR.

pub mod rust;
pub mod tile;
