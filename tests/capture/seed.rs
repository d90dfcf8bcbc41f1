//! The generator of random numbers is the process's.

use std::sync::{Mutex, PoisonError};

/// What `draws` gives from this seed on; tests that draw take turns.
pub fn seeded<T>(seed: u64, draws: impl FnOnce() -> T) -> T {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    tensorplay::manual_seed(seed);
    draws()
}
