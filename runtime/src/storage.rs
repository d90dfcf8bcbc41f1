//! Memory behind tensors.
//!
//! Problem: elements come from kernels, from a caller's `Vec` or `ndarray`, or from a mapped file, and must be
//! shared by views and threads without copies. Method: an `Arc` over (pointer, length, owner). Invariants: the
//! bytes of a storage that a tensor holds never change, except by the holder of the only reference; a Bool byte
//! is 0 or 1; memory from this module is aligned to 64 bytes (large buffers to 4096), adopted or mapped memory
//! only to its element; an [`id`](Storage::id) names the bytes of one storage for the life of the process and is never 0.

use crate::element::Element;
use crate::error::{Error, Result};
use memmap2::Mmap;
use std::alloc;
use std::cell::Cell;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Least alignment of memory that this module allocates: a cache line, and the widest vector register.
pub const ALIGN: usize = 64;

/// Alignment of a buffer. Large ones begin pages: a loop that stores a little ahead of what it loads, modulo 4096, waits for
/// each store (a tenth of the time of gelu), and where buffers lie alike no load meets a store that is still under way.
pub const fn alignment(bytes: usize) -> usize {
    if bytes >= 16 << 10 { 4096 } else { ALIGN }
}

/// The alignment asked of the allocator. Release builds align by hand inside spare bytes: a plain `malloc`
/// is twenty times as fast as an aligned one, and zeroes pages lazily. Debug builds ask for the exact size,
/// so that AddressSanitizer sees every overrun.
const fn asked(bytes: usize) -> usize {
    if cfg!(debug_assertions) {
        alignment(bytes)
    } else {
        16
    }
}

/// Shared memory; cloning bumps a count.
#[derive(Clone)]
pub struct Storage(Arc<Buffer>);

struct Buffer {
    ptr: NonNull<u8>,
    len: usize,
    id: AtomicU64,
    owner: Owner,
}

enum Owner {
    /// From the global allocator: its pointer, and the layout it was asked for.
    Heap(NonNull<u8>, alloc::Layout),
    /// Part of a mapped file; read-only.
    Map(#[allow(dead_code, reason = "keeps the mapping alive")] Arc<Mmap>),
    /// No bytes.
    Empty,
}

// SAFETY: the buffer owns its memory (or shares a read-only mapping), and writes happen only through a
// unique reference or, before publication, under the contract of `Storage::as_mut_ptr`.
unsafe impl Send for Buffer {}
// SAFETY: as above; shared references only read.
unsafe impl Sync for Buffer {}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Owner::Heap(base, layout) = self.owner {
            // SAFETY: `base` came from the global allocator with exactly this layout, and nobody else frees it.
            unsafe { alloc::dealloc(base.as_ptr(), layout) }
        }
    }
}

/// Ids are handed to threads in blocks, so that making a tensor touches no shared cache line.
fn next_id() -> u64 {
    const BLOCK: u64 = 1 << 12;
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local!(static MINE: Cell<(u64, u64)> = const { Cell::new((0, 0)) });
    let fresh = || {
        crate::start::once();
        NEXT.fetch_add(BLOCK, Ordering::Relaxed)
    };
    MINE.try_with(|mine| {
        let (next, end) = mine.get();
        let (id, end) = if next < end {
            (next, end)
        } else {
            let id = fresh();
            (id, id + BLOCK)
        };
        mine.set((id + 1, end));
        id
    })
    .unwrap_or_else(|_| fresh())
}

impl Storage {
    fn new(ptr: NonNull<u8>, len: usize, owner: Owner) -> Storage {
        Storage(Arc::new(Buffer {
            ptr,
            len,
            id: AtomicU64::new(next_id()),
            owner,
        }))
    }

    fn empty() -> Storage {
        #[repr(align(64))]
        struct Line;
        Storage::new(NonNull::<Line>::dangling().cast(), 0, Owner::Empty)
    }

    fn allocate(bytes: usize, with: unsafe fn(alloc::Layout) -> *mut u8) -> Result<Storage> {
        if bytes == 0 {
            return Ok(Storage::empty());
        }
        let full = || Error::OutOfMemory { bytes };
        let (align, ask) = (alignment(bytes), asked(bytes));
        let size = bytes.checked_add(align - ask).ok_or_else(full)?;
        let layout = alloc::Layout::from_size_align(size, ask).map_err(|_| full())?;
        // SAFETY: the size is not zero.
        let base = NonNull::new(unsafe { with(layout) }).ok_or_else(full)?;
        // SAFETY: `base` is a multiple of `ask`, so the next multiple of `align` is at most `align - ask` away.
        let ptr = unsafe { base.add(base.addr().get().next_multiple_of(align) - base.addr().get()) };
        Ok(Storage::new(ptr, bytes, Owner::Heap(base, layout)))
    }

    /// Memory for a kernel to fill. Debug builds fill it with `0xFF`, which is NaN in every float type.
    ///
    /// # Safety
    /// Every byte must be written, by values that the dtype allows, before anything reads the storage.
    pub unsafe fn uninit(bytes: usize) -> Result<Storage> {
        let storage = Storage::allocate(bytes, alloc::alloc)?;
        if cfg!(debug_assertions) && bytes > 0 {
            // SAFETY: the memory is ours alone and `bytes` long.
            unsafe { storage.0.ptr.as_ptr().write_bytes(0xFF, bytes) }
        }
        Ok(storage)
    }

    /// Memory of zeros.
    pub fn zeroed(bytes: usize) -> Result<Storage> {
        Storage::allocate(bytes, alloc::alloc_zeroed)
    }

    /// A copy of elements.
    pub fn from_slice<T: Element>(data: &[T]) -> Result<Storage> {
        // SAFETY: the copy below writes every byte.
        let storage = unsafe { Storage::uninit(size_of_val(data))? };
        // SAFETY: both sides are `size_of_val(data)` bytes long, and the new one is aligned to 64.
        unsafe {
            storage
                .0
                .ptr
                .cast::<T>()
                .as_ptr()
                .copy_from_nonoverlapping(data.as_ptr(), data.len())
        }
        Ok(storage)
    }

    /// `len` elements, each from its index.
    pub(crate) fn from_fn<T: Element>(len: usize, mut item: impl FnMut(usize) -> T) -> Result<Storage> {
        let bytes = len
            .checked_mul(size_of::<T>())
            .ok_or(Error::OutOfMemory { bytes: usize::MAX })?;
        // SAFETY: exactly `len` elements are written below.
        let storage = unsafe { Storage::uninit(bytes)? };
        let to = storage.0.ptr.cast::<T>().as_ptr();
        for i in 0..len {
            // SAFETY: `i < len`; the memory is ours alone.
            unsafe { to.add(i).write(item(i)) }
        }
        Ok(storage)
    }

    /// Takes a `Vec` over when it is aligned to 64 bytes, else copies it.
    pub fn from_vec<T: Element>(data: Vec<T>) -> Result<Storage> {
        if data.as_ptr().addr().is_multiple_of(ALIGN) {
            Ok(Storage::adopt(data))
        } else {
            Storage::from_slice(&data)
        }
    }

    /// Takes a `Vec` over, whatever its alignment.
    pub fn adopt<T: Element>(data: Vec<T>) -> Storage {
        if data.is_empty() {
            return Storage::empty();
        }
        let mut data = ManuallyDrop::new(data);
        let bytes = data.len() * size_of::<T>();
        let ptr = NonNull::new(data.as_mut_ptr()).map(NonNull::cast::<u8>);
        match (ptr, alloc::Layout::array::<T>(data.capacity())) {
            // A `Vec` allocates globally, with the layout of `[T; capacity]`; elements have no drop.
            (Some(ptr), Ok(layout)) => Storage::new(ptr, bytes, Owner::Heap(ptr, layout)),
            _ => unreachable!("a Vec's pointer is not null and its size fits isize"),
        }
    }

    /// A range of a mapped file.
    pub(crate) fn from_map(map: &Arc<Mmap>, start: usize, len: usize) -> Option<Storage> {
        let bytes = map.get(start..start.checked_add(len)?)?;
        if bytes.is_empty() {
            return Some(Storage::empty());
        }
        Some(Storage::new(
            NonNull::from(bytes).cast(),
            len,
            Owner::Map(map.clone()),
        ))
    }

    /// A number that no other storage of this process has or will have.
    #[inline]
    pub fn id(&self) -> u64 {
        self.0.id.load(Ordering::Relaxed)
    }

    /// Size in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.len
    }

    /// Whether there are no bytes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.len == 0
    }

    /// The first byte.
    #[inline]
    pub fn as_ptr(&self) -> *const u8 {
        self.0.ptr.as_ptr()
    }

    /// The first byte, for writing. Making the pointer is harmless; writing through it is allowed only into
    /// heap memory that no tensor holds yet, or through the only reference ([`get_mut`](Storage::get_mut)).
    #[inline]
    pub fn as_mut_ptr(&self) -> *mut u8 {
        self.0.ptr.as_ptr()
    }

    /// The first byte if this is the only reference and the memory is writable.
    pub fn get_mut(&mut self) -> Option<*mut u8> {
        let buffer = Arc::get_mut(&mut self.0)?;
        match buffer.owner {
            Owner::Heap(..) | Owner::Empty => Some(buffer.ptr.as_ptr()),
            Owner::Map(_) => None,
        }
    }

    /// Whether nobody else holds this memory, and it is writable.
    #[inline]
    pub(crate) fn is_unshared(&self) -> bool {
        let unshared = Arc::strong_count(&self.0) == 1 && matches!(self.0.owner, Owner::Heap(..));
        // what other threads did with the handles that they have dropped comes before what follows
        fence(Ordering::Acquire);
        unshared
    }

    /// A new identity, after its bytes were replaced.
    pub(crate) fn renew(&self) {
        self.0.id.store(next_id(), Ordering::Relaxed);
    }

    /// Whether both are the same memory.
    #[inline]
    pub fn ptr_eq(&self, other: &Storage) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let owner = match self.0.owner {
            Owner::Heap(..) => "heap",
            Owner::Map(_) => "map",
            Owner::Empty => "empty",
        };
        f.debug_struct("Storage")
            .field("id", &self.id())
            .field("len", &self.len())
            .field("owner", &owner)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocations_are_aligned_and_poisoned() {
        for bytes in [0, 1, 7, 33, 1025, 1 << 20] {
            let z = Storage::zeroed(bytes).unwrap();
            assert_eq!((z.len(), z.as_ptr().addr() % ALIGN), (bytes, 0));
            // SAFETY: debug builds fill the memory; release builds do not read it here.
            let u = unsafe { Storage::uninit(bytes).unwrap() };
            assert_eq!(u.as_ptr().addr() % ALIGN, 0);
            if cfg!(debug_assertions) && bytes > 0 {
                // SAFETY: poisoned above.
                assert_eq!(unsafe { *u.as_ptr().add(bytes - 1) }, 0xFF);
            }
        }
        assert!(matches!(
            Storage::zeroed(usize::MAX),
            Err(Error::OutOfMemory { .. })
        ));
        assert!(matches!(
            Storage::zeroed(isize::MAX as usize),
            Err(Error::OutOfMemory { .. })
        ));
    }

    #[test]
    fn vecs_are_taken_over_or_copied() {
        for n in [0usize, 1, 7, 33, 1025] {
            let v: Vec<f32> = (0..n).map(|i| i as f32).collect();
            let (at, aligned) = (v.as_ptr().addr(), v.as_ptr().addr().is_multiple_of(ALIGN));
            let s = Storage::from_vec(v).unwrap();
            assert_eq!(s.len(), n * 4);
            assert_eq!(s.as_ptr().addr() == at && n > 0, aligned && n > 0);
            let mut v = Vec::<u8>::with_capacity(n + 5);
            v.resize(n, 9);
            assert_eq!(Storage::adopt(v).len(), n);
        }
    }

    #[test]
    fn ids_are_unique_across_threads() {
        let ids: Vec<u64> = std::thread::scope(|s| {
            let many: Vec<_> = (0..4)
                .map(|_| {
                    s.spawn(|| {
                        (0..5000)
                            .map(|_| Storage::zeroed(1).unwrap().id())
                            .collect::<Vec<_>>()
                    })
                })
                .collect();
            many.into_iter().flat_map(|t| t.join().unwrap()).collect()
        });
        let distinct: std::collections::HashSet<u64> = ids.iter().copied().collect();
        assert_eq!(distinct.len(), ids.len());
        assert!(!distinct.contains(&0));
    }

    #[test]
    fn only_the_sole_holder_writes() {
        let mut a = Storage::zeroed(8).unwrap();
        assert!(a.get_mut().is_some());
        let b = a.clone();
        assert!(a.get_mut().is_none() && a.ptr_eq(&b));
    }
}
