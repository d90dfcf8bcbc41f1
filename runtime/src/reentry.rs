//! What a thread is in the middle of, for work that calls a user's code and must not be begun again inside itself.

use std::cell::RefCell;
use std::marker::PhantomData;

thread_local! {
    /// By address, the innermost last.
    static INSIDE: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// This thread is at work on something, until this is dropped; guards are dropped in the reverse of their order.
#[must_use]
#[derive(Debug)]
pub(crate) struct Inside {
    on_thread: PhantomData<*const ()>,
}

/// Whether this thread is at work on `what`.
pub(crate) fn is_inside<T>(what: &'static T) -> bool {
    let address = std::ptr::from_ref(what).addr();
    // a thread that ends has no list any more
    INSIDE
        .try_with(|i| i.borrow().contains(&address))
        .unwrap_or(false)
}

impl Inside {
    /// Begins work on `what`.
    pub(crate) fn of<T>(what: &'static T) -> Inside {
        let address = std::ptr::from_ref(what).addr();
        let _ = INSIDE.try_with(|i| i.borrow_mut().push(address));
        Inside {
            on_thread: PhantomData,
        }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        let _ = INSIDE.try_with(|i| i.borrow_mut().pop());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_ends_or_panics_may_begin_again() {
        static WORK: [u8; 2] = [0; 2];
        let outer = Inside::of(&WORK[0]);
        assert!(is_inside(&WORK[0]) && !is_inside(&WORK[1]));
        let unwound = std::panic::catch_unwind(|| {
            let _inner = Inside::of(&WORK[1]);
            assert!(is_inside(&WORK[0]) && is_inside(&WORK[1]));
            panic!("inside");
        });
        assert!(unwound.is_err() && is_inside(&WORK[0]) && !is_inside(&WORK[1]));
        let elsewhere = std::thread::spawn(|| is_inside(&WORK[0]));
        assert!(!elsewhere.join().expect("it returns"));
        drop(outer);
        assert!(!is_inside(&WORK[0]));
    }
}
