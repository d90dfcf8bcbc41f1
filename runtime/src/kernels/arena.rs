//! Scratch memory of a kernel call.
//!
//! Problem: tiles need aligned memory on every call, and `malloc` on the run path costs more than a small
//! kernel. Method: each thread keeps blocks that it lends as a stack; [`Scratch`] is one loan. Invariants: a loan
//! is page-aligned, is exclusive while it lives, and holds unspecified but initialised bytes; loans of one
//! thread may nest (a kernel run inside a parallel part of another) because each takes a block of its own.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::cell::RefCell;

const ALIGN: usize = 4096;
/// Blocks above this size are returned to the allocator.
const KEEP: usize = 4 << 20;

struct Block {
    ptr: *mut u8,
    size: usize,
}

impl Block {
    fn new(size: usize) -> Block {
        let layout = Layout::from_size_align(size, ALIGN).expect("scratch size");
        // SAFETY: the size is at least `ALIGN`.
        let ptr = unsafe { alloc_zeroed(layout) };
        if ptr.is_null() {
            handle_alloc_error(layout);
        }
        Block { ptr, size }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: allocated by `new` with this layout.
        unsafe { dealloc(self.ptr, Layout::from_size_align_unchecked(self.size, ALIGN)) }
    }
}

thread_local! {
    static FREE: RefCell<Vec<Block>> = const { RefCell::new(Vec::new()) };
}

/// A loan of scratch memory.
pub(crate) struct Scratch(Option<Block>);

impl Scratch {
    /// At least `bytes` bytes; nothing at all for 0.
    pub(crate) fn new(bytes: usize) -> Scratch {
        if bytes == 0 {
            return Scratch(None);
        }
        let size = bytes.next_multiple_of(4096).max(32 << 10);
        // a thread that ends has none left
        let kept = FREE.try_with(|free| {
            let mut free = free.borrow_mut();
            let at = free.iter().rposition(|b| b.size >= size);
            at.map(|i| free.swap_remove(i))
        });
        Scratch(Some(kept.ok().flatten().unwrap_or_else(|| Block::new(size))))
    }

    /// The first byte; dangling (aligned, not null) for an empty loan.
    pub(crate) fn ptr(&self) -> *mut u8 {
        self.0
            .as_ref()
            .map_or(std::ptr::without_provenance_mut(ALIGN), |b| b.ptr)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some(b) = self.0.take()
            && b.size <= KEEP
        {
            // after the thread's locals are gone, the block is just freed
            let _ = FREE.try_with(|free| {
                free.try_borrow_mut().map(|mut f| {
                    if f.len() < 8 {
                        f.push(b)
                    }
                })
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loans_are_aligned_exclusive_and_reused() {
        let (a, b) = (Scratch::new(100), Scratch::new(100));
        assert_eq!((a.ptr() as usize % ALIGN, b.ptr() as usize % ALIGN), (0, 0));
        assert_ne!(a.ptr(), b.ptr());
        let p = a.ptr();
        drop(a);
        assert_eq!(Scratch::new(1000).ptr(), p);
        assert_eq!(Scratch::new(0).ptr() as usize % ALIGN, 0);
    }
}
