//! Whether this thread records gradients.
//!
//! Problem: evaluation must not pay for the tape, also when the closure panics. Method: a thread-local flag
//! and a guard that restores it. Invariant: a new thread records.

use std::cell::Cell;

thread_local!(static ENABLED: Cell<bool> = const { Cell::new(true) });

/// Sets the flag until dropped.
pub(crate) struct GradMode {
    before: bool,
}

impl GradMode {
    pub(crate) fn set(on: bool) -> GradMode {
        GradMode {
            before: ENABLED.replace(on),
        }
    }
}

impl Drop for GradMode {
    fn drop(&mut self) {
        ENABLED.set(self.before);
    }
}

/// Whether this thread records gradients; part of the key of compiled functions.
#[inline]
pub fn is_grad_enabled() -> bool {
    ENABLED.get()
}

/// Runs `f` without recording gradients on this thread.
///
/// ```
/// # mod tensorplay { pub use tensorplay_runtime::*; pub mod prelude { pub use tensorplay_runtime::*; } }
/// # use tensorplay::is_grad_enabled;
/// use tensorplay::{no_grad, prelude::*};
/// let y = no_grad(|| Tensor::from_slice(&[1.0f32, 4.0], 2).sqrt());
/// assert_eq!(y.to_vec::<f32>(), [1.0, 2.0]);
/// # assert!(!no_grad(is_grad_enabled));
/// # assert!(is_grad_enabled());
/// ```
pub fn no_grad<R>(f: impl FnOnce() -> R) -> R {
    let _off = GradMode::set(false);
    f()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nests_and_survives_panics() {
        no_grad(|| {
            let _on = GradMode::set(true);
            no_grad(|| assert!(!is_grad_enabled()));
            assert!(is_grad_enabled());
        });
        assert!(std::panic::catch_unwind(|| no_grad(|| panic!("inside"))).is_err());
        assert!(is_grad_enabled());
        no_grad(|| assert!(std::thread::spawn(is_grad_enabled).join().unwrap_or(false)));
    }
}
