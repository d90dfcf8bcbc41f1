//! The tensor: a value, or a variable whose value is a cell.
//!
//! Problem: handles are cloned everywhere, views must be free, and reading a plain tensor must take no lock.
//! Method: one `Arc` over (value, layout, dtype, device); a value is a [`Storage`], a variable is a cell that
//! publishes storages ([`variable`]). Invariants, checked by [`Tensor::from_parts`], through which all
//! tensors come: the layout stays inside the storage; the first element is aligned for its dtype; a
//! variable's layout is row-major from offset 0 and its storage exactly as long.

pub(crate) mod convert;
pub(crate) mod copy;
pub(crate) mod create;
mod display;
pub(crate) mod operators;
pub(crate) mod variable;
mod view;

use crate::device::Device;
use crate::error::OrRaise;
use crate::layout::Layout;
use crate::shape::{Dim, normal_dim};
use crate::storage::Storage;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tensorplay_graph::{Code, DType};
use variable::Cell;
pub use variable::Update;

/// An n-dimensional array of one [`DType`]. Cloning is cheap and shares the value.
///
/// ```
/// # extern crate tensorplay_runtime as tensorplay;
/// use tensorplay::{DType, Tensor};
/// let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], (2, 2));
/// assert_eq!(x.shape(), [2, 2]);
/// assert_eq!(x.dtype(), DType::F32);
/// assert_eq!(x.to_string(), "tensor([[1.0, 2.0], [3.0, 4.0]], shape=[2, 2], dtype=f32)");
/// ```
#[derive(Clone)]
pub struct Tensor(Arc<Inner>);

// what a look-up compares comes first, in as few cache lines as can be
#[repr(C)]
struct Inner {
    /// What of the metadata fits one word, see [`Tensor::head`].
    head: AtomicU64,
    layout: Layout,
    value: Value,
    dtype: DType,
    device: Device,
}

/// The bit of a head that says that the tensor is a variable which takes a gradient. No other bit changes.
const REQUIRES_GRAD: u64 = 1 << 7;

impl Inner {
    fn new(value: Value, layout: Layout, dtype: DType, device: Device) -> Inner {
        let place = match device {
            Device::Cpu => 0,
            Device::Cuda(i) => 1 + i as u64,
        };
        Inner {
            head: AtomicU64::new(dtype as u64 | (layout.rank() as u64) << 8 | place << 32),
            layout,
            value,
            dtype,
            device,
        }
    }
}

enum Value {
    Plain(Storage),
    Variable(Box<Cell>),
}

/// A tensor's storage at one moment: borrowed from a plain tensor, held for a variable.
#[derive(Clone)]
pub struct StorageRef<'a> {
    held: Held<'a>,
    offset: usize,
    version: u64,
}

#[derive(Clone)]
enum Held<'a> {
    Plain(&'a Storage),
    Variable(Storage),
}

impl StorageRef<'_> {
    /// The storage.
    #[inline]
    pub fn storage(&self) -> &Storage {
        match &self.held {
            Held::Plain(s) => s,
            Held::Variable(s) => s,
        }
    }

    /// The first element of the layout; valid while this reference lives.
    #[inline]
    pub fn data_ptr(&self) -> *const u8 {
        self.storage().as_ptr().wrapping_add(self.offset)
    }

    /// The variable's version at that moment; 0 for a plain tensor.
    #[inline]
    pub fn version(&self) -> u64 {
        self.version
    }
}

impl Tensor {
    /// A plain tensor over a storage, whose bytes are values that the dtype allows: the crate's own
    /// invariant, since a Bool byte other than 0 and 1 would be undefined behaviour later.
    ///
    /// # Panics
    /// If the layout leaves the storage, or its first element is not aligned for the dtype.
    #[inline]
    pub(crate) fn from_parts(storage: Storage, layout: Layout, dtype: DType) -> Tensor {
        let size = dtype.size();
        assert!(
            layout.end() <= storage.len() / size,
            "tensor: {layout:?} of {dtype} leaves {storage:?}"
        );
        assert!(
            storage.as_ptr().addr().is_multiple_of(size),
            "tensor: {storage:?} is not aligned for {dtype}"
        );
        Tensor(Arc::new(Inner::new(
            Value::Plain(storage),
            layout,
            dtype,
            Device::Cpu,
        )))
    }

    /// A tensor that says it is elsewhere, to test what is refused.
    #[cfg(test)]
    pub(crate) fn on_device(&self, device: Device) -> Tensor {
        let value = Value::Plain(self.value().storage().clone());
        Tensor(Arc::new(Inner::new(
            value,
            self.layout().clone(),
            self.dtype(),
            device,
        )))
    }

    /// The value at this moment. A kernel reads each variable once, and keeps this while it runs.
    #[inline]
    pub fn value(&self) -> StorageRef<'_> {
        let offset = self.0.layout.offset() * self.0.dtype.size();
        match &self.0.value {
            Value::Plain(s) => StorageRef {
                held: Held::Plain(s),
                offset,
                version: 0,
            },
            Value::Variable(cell) => {
                let (storage, version) = cell.load();
                StorageRef {
                    held: Held::Variable(storage),
                    offset,
                    version,
                }
            }
        }
    }

    /// Whether both handles are of one variable.
    pub(crate) fn same_variable(&self, other: &Tensor) -> bool {
        self.is_variable() && Arc::ptr_eq(&self.0, &other.0)
    }

    /// What handles of one variable have in common.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// Whether this is the only handle of a plain value whose memory nobody else holds.
    pub(crate) fn is_unshared(&self) -> bool {
        let only = Arc::strong_count(&self.0) == 1;
        only && matches!(&self.0.value, Value::Plain(s) if s.is_unshared())
    }

    /// A plain tensor of the value at this moment: itself, if it is one.
    #[inline]
    pub fn snapshot(&self) -> Tensor {
        match &self.0.value {
            Value::Plain(_) => self.clone(),
            Value::Variable(cell) => Tensor::from_parts(cell.load().0, self.0.layout.clone(), self.0.dtype),
        }
    }

    /// A plain tensor: the value at this moment under another layout.
    pub(crate) fn with_layout(&self, layout: Layout) -> Tensor {
        let storage = match &self.0.value {
            Value::Plain(s) => s.clone(),
            Value::Variable(cell) => cell.load().0,
        };
        Tensor::from_parts(storage, layout, self.0.dtype)
    }

    /// The layout.
    #[inline]
    pub fn layout(&self) -> &Layout {
        &self.0.layout
    }

    /// The sizes of the dims.
    #[inline]
    pub fn shape(&self) -> &[usize] {
        self.0.layout.shape()
    }

    /// The size of one dim; -1 is the last.
    ///
    /// # Panics
    /// If there is no such dim.
    #[inline]
    #[track_caller]
    pub fn dim(&self, i: impl Dim) -> usize {
        let (i, rank) = (i.to_i64(), self.rank());
        match usize::try_from(i) {
            Ok(i) if i < rank => self.shape()[i],
            _ => match self.shape().get(normal_dim("dim", i, rank).or_raise()) {
                Some(&n) => n,
                None => crate::Error::index(
                    Code::DIM_RANGE,
                    "dim",
                    format!("dim {i} is out of range for rank 0"),
                )
                .raise(),
            },
        }
    }

    /// The number of dims.
    #[inline]
    pub fn rank(&self) -> usize {
        self.0.layout.rank()
    }

    /// The number of elements; 1 for rank 0.
    #[inline]
    pub fn elem_count(&self) -> usize {
        self.0.layout.elem_count()
    }

    /// The type of the elements.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.0.dtype
    }

    /// Where the elements are.
    #[inline]
    pub fn device(&self) -> Device {
        self.0.device
    }

    /// A word that tells tensors apart by dtype, rank, device, and whether they take gradients.
    #[inline]
    pub(crate) fn head(&self) -> u64 {
        self.0.head.load(Ordering::Relaxed)
    }

    /// The distance in elements between neighbours along each dim.
    #[inline]
    pub fn strides(&self) -> &[usize] {
        self.0.layout.strides()
    }

    /// Whether the elements lie in row-major order without gaps.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.0.layout.is_contiguous()
    }
}

impl AsRef<Tensor> for Tensor {
    #[inline]
    fn as_ref(&self) -> &Tensor {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata() {
        let x = Tensor::from_vec(vec![0i64; 24], [2, 3, 4]);
        assert_eq!(
            (x.dim(0), x.dim(-1), x.dim(1usize), x.rank(), x.elem_count()),
            (2, 4, 3, 3, 24)
        );
        assert_eq!(
            (x.strides(), x.is_contiguous(), x.device()),
            (&[12, 4, 1][..], true, Device::Cpu)
        );
        assert_eq!(size_of::<Tensor>(), size_of::<usize>());
        fn check<T: Send + Sync + Clone>() {}
        check::<Tensor>();
    }

    #[test]
    fn heads_differ_where_the_metadata_does() {
        let of = |dtype, rank: usize| Tensor::zeros(vec![1; rank], dtype);
        let x = of(DType::F32, 2);
        let others = [of(DType::F64, 2), of(DType::F32, 3), of(DType::F32, 258)];
        let placed = [x.on_device(Device::Cuda(0)), x.on_device(Device::Cuda(255))];
        let mut heads: Vec<u64> = others.iter().chain(&placed).map(Tensor::head).collect();
        heads.push(x.head());
        let w = of(DType::F32, 2).requires_grad_(true);
        heads.push(w.head());
        heads.sort_unstable();
        heads.dedup();
        assert_eq!(heads.len(), 7);
        assert_eq!(x.head(), x.clone().variable().head());
        assert!(w.requires_grad());
        let w = w.requires_grad_(false);
        assert!(!w.requires_grad());
        assert_eq!(w.head(), x.head());
    }

    #[test]
    #[should_panic(expected = "dim: dim 3 is out of range for rank 3")]
    fn dim_out_of_range() {
        Tensor::from_vec(vec![0u8; 24], [2, 3, 4]).dim(3);
    }

    #[test]
    #[should_panic(expected = "dim: dim 0 is out of range for rank 0")]
    fn dim_of_rank_0() {
        Tensor::from_vec(vec![0u8], ()).dim(0);
    }

    #[test]
    #[should_panic(expected = "leaves")]
    fn a_layout_stays_in_its_storage() {
        Tensor::from_parts(
            Storage::zeroed(15).unwrap(),
            Layout::contiguous(&[4]).unwrap(),
            DType::F32,
        );
    }
}
