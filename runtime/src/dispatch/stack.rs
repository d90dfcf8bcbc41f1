//! Whether a compiled function is on the stack of this thread.

use std::cell::Cell;
use std::marker::PhantomData;

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// A compiled function on the stack, until it is dropped.
#[doc(hidden)]
#[must_use]
#[derive(Debug)]
pub struct Entered {
    counts: bool,
    on_thread: PhantomData<*const ()>,
}

impl Drop for Entered {
    #[inline]
    fn drop(&mut self) {
        if self.counts {
            DEPTH.set(DEPTH.get() - 1);
        }
    }
}

/// Puts a compiled function on the stack of this thread.
#[doc(hidden)]
#[inline]
pub fn enter() -> Entered {
    DEPTH.set(DEPTH.get() + 1);
    Entered {
        counts: true,
        on_thread: PhantomData,
    }
}

/// Leaves the stack as it is.
pub(super) fn stay() -> Entered {
    Entered {
        counts: false,
        on_thread: PhantomData,
    }
}

/// Whether one is there.
#[doc(hidden)]
#[inline]
pub fn is_entered() -> bool {
    DEPTH.get() > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_calls_and_panics_leave_the_stack_as_it_was() {
        assert!(!is_entered());
        let outer = enter();
        drop(enter());
        let unwound = std::panic::catch_unwind(|| {
            let _inner = enter();
            panic!("inside");
        });
        assert!(unwound.is_err() && is_entered());
        assert!(!std::thread::spawn(is_entered).join().expect("it returns"));
        drop(outer);
        assert!(!is_entered());
    }
}
