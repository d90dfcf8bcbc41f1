//! The code cache under races, kills, damage and full disks.
//!
//! Problem: what a cache promises between processes cannot be seen within one. Method: tests start this binary again, as
//! [`child`] in a role, and count compilations as lines of a file. Invariant: every wait has a deadline.

mod child;
mod damage;
mod disk;
mod environment;
#[cfg(unix)]
mod kill;
mod race;
mod size;
mod support;
