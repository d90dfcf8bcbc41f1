//! Host data to tensors and back.
//!
//! Problem: slices, `Vec`s and `ndarray`s come in and go out, without copies where the layout allows. Method:
//! storages adopt `Vec`s; an owned `ndarray` with non-negative strides keeps its allocation and strides.
//! Invariants: what comes out is in logical row-major order, whatever the layout; the asked type is the
//! dtype's.

use super::Tensor;
use crate::device::Device;
use crate::element::{Element, with_element};
use crate::error::{Error, OrRaise, Result};
use crate::layout::{Layout, Sizes};
use crate::shape::{Shape, new_sizes};
use crate::storage::Storage;
use ndarray::{Array, ArrayD, ArrayView, Dimension, IxDyn};
use tensorplay_graph::Code;

fn layout_for(op: &'static str, len: usize, written: &[i64]) -> Result<Layout> {
    let layout = Layout::contiguous(&new_sizes(op, written)?)?;
    if layout.elem_count() == len {
        return Ok(layout);
    }
    let (shape, want) = (layout.shape(), layout.elem_count());
    let e = Error::shape(
        Code::SIZES,
        op,
        format!("{len} elements do not fill shape {shape:?}, which has {want}"),
    );
    Err(e.with_help("write a shape with as many elements as the data"))
}

impl Tensor {
    /// A tensor of a copy of `data`, in row-major order.
    ///
    /// # Panics
    /// If the shape has another number of elements.
    #[track_caller]
    pub fn from_slice<T: Element>(data: &[T], shape: impl Shape) -> Tensor {
        Tensor::try_from_slice(data, shape).or_raise()
    }

    /// [`from_slice`](Tensor::from_slice), with an error instead of a panic.
    pub fn try_from_slice<T: Element>(data: &[T], shape: impl Shape) -> Result<Tensor> {
        let layout = layout_for("from_slice", data.len(), &shape.sizes())?;
        Ok(Tensor::from_parts(Storage::from_slice(data)?, layout, T::DTYPE))
    }

    /// A tensor of `data` in row-major order; no copy if the `Vec` is aligned to 64 bytes.
    ///
    /// # Panics
    /// If the shape has another number of elements.
    #[track_caller]
    pub fn from_vec<T: Element>(data: Vec<T>, shape: impl Shape) -> Tensor {
        Tensor::try_from_vec(data, shape).or_raise()
    }

    /// [`from_vec`](Tensor::from_vec), with an error instead of a panic.
    pub fn try_from_vec<T: Element>(data: Vec<T>, shape: impl Shape) -> Result<Tensor> {
        let layout = layout_for("from_vec", data.len(), &shape.sizes())?;
        Ok(Tensor::from_parts(Storage::from_vec(data)?, layout, T::DTYPE))
    }

    /// The elements in row-major order.
    ///
    /// # Panics
    /// If `T` is not the dtype's type.
    #[track_caller]
    pub fn to_vec<T: Element>(&self) -> Vec<T> {
        self.try_to_vec().or_raise()
    }

    /// [`to_vec`](Tensor::to_vec), with an error instead of a panic.
    pub fn try_to_vec<T: Element>(&self) -> Result<Vec<T>> {
        self.elements("to_vec")
    }

    /// The bytes of the elements in row-major order, as the machine stores them.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let dense = self.snapshot().to_contiguous()?;
        let len = dense.elem_count() * dense.dtype().size();
        let value = dense.value();
        // SAFETY: a contiguous tensor is that many initialised bytes behind its pointer.
        let bytes = unsafe { std::slice::from_raw_parts(value.data_ptr(), len) };
        Ok(bytes.to_vec())
    }

    /// The element of a tensor that has just one, of any rank.
    ///
    /// # Panics
    /// If there is another number of elements, or `T` is not the dtype's type.
    #[track_caller]
    pub fn item<T: Element>(&self) -> T {
        self.try_item().or_raise()
    }

    /// [`item`](Tensor::item), with an error instead of a panic.
    pub fn try_item<T: Element>(&self) -> Result<T> {
        self.expect_type::<T>("item")?;
        if self.elem_count() != 1 {
            let e = Error::shape(
                Code::SIZES,
                "item",
                format!(
                    "shape {:?} has {} elements, not 1",
                    self.shape(),
                    self.elem_count()
                ),
            );
            return Err(e.with_help("write `to_vec`, or reduce to one element first"));
        }
        // SAFETY: the layout holds one element, inside the storage, of this type.
        Ok(unsafe { self.value().data_ptr().cast::<T>().read() })
    }

    /// The elements as an `ndarray`, in logical order.
    ///
    /// # Panics
    /// If `T` is not the dtype's type.
    #[track_caller]
    pub fn to_ndarray<T: Element>(&self) -> ArrayD<T> {
        self.try_to_ndarray().or_raise()
    }

    /// [`to_ndarray`](Tensor::to_ndarray), with an error instead of a panic.
    pub fn try_to_ndarray<T: Element>(&self) -> Result<ArrayD<T>> {
        let data = self.elements("to_ndarray")?;
        ArrayD::from_shape_vec(IxDyn(self.shape()), data)
            .map_err(|e| Error::shape(Code::SIZES, "to_ndarray", e.to_string()))
    }

    /// The same values on `device`.
    ///
    /// # Panics
    /// If the machine does not have the device.
    #[track_caller]
    pub fn to_device(&self, device: Device) -> Tensor {
        self.try_to_device(device).or_raise()
    }

    /// Fallible twin of [`to_device`](Tensor::to_device).
    ///
    /// # Errors
    /// If the machine does not have the device.
    pub fn try_to_device(&self, device: Device) -> Result<Tensor> {
        if device == self.device() {
            return Ok(self.snapshot());
        }
        let help = "this version computes on the CPU only; write Device::Cpu";
        Err(Error::device("to_device", format!("{device} is not available")).with_help(help))
    }

    /// Whether shapes agree and every `|a - b| <= atol + rtol * |b|`; NaN equals NaN, infinities by sign.
    /// Dtypes may differ; values are compared as f64.
    pub fn allclose(&self, other: &Tensor, rtol: f64, atol: f64) -> bool {
        let close = |a: f64, b: f64| {
            a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= atol + rtol * b.abs() && b.is_finite()
        };
        let values = |t: &Tensor| {
            with_element!(t.dtype(), T => {
                t.elements::<T>("allclose").map(|v| v.into_iter().map(T::to_f64).collect::<Vec<f64>>())
            })
        };
        if self.shape() != other.shape() {
            return false;
        }
        match (values(self), values(other)) {
            (Ok(a), Ok(b)) => a.iter().zip(&b).all(|(&a, &b)| close(a, b)),
            _ => false,
        }
    }

    fn expect_type<T: Element>(&self, op: &'static str) -> Result<()> {
        if self.dtype() == T::DTYPE {
            return Ok(());
        }
        let e = Error::dtype(op, format!("the tensor holds {}, not {}", self.dtype(), T::DTYPE));
        Err(e.with_help(format!(
            "write `{op}::<{}>()`, or `.to_dtype(DType::{:?})` before it",
            self.dtype(),
            T::DTYPE
        )))
    }

    fn elements<T: Element>(&self, op: &'static str) -> Result<Vec<T>> {
        self.expect_type::<T>(op)?;
        let n = self.elem_count();
        let mut out = Vec::<T>::new();
        let bytes = n.saturating_mul(size_of::<T>());
        out.try_reserve_exact(n)
            .map_err(|_| Error::OutOfMemory { bytes })?;
        // SAFETY: the `Vec` has room for `n` elements, which the copy fills in row-major order.
        unsafe {
            self.copy_to(
                out.as_mut_ptr().cast(),
                Layout::contiguous(self.shape())?.strides(),
            );
            out.set_len(n);
        }
        Ok(out)
    }

    /// Calls `f` with the elements in row-major order, copied only if they lie otherwise.
    #[allow(dead_code, reason = "kernels that read indices")]
    pub(crate) fn with_slice<T: Element, R>(&self, op: &'static str, f: impl FnOnce(&[T]) -> R) -> Result<R> {
        self.expect_type::<T>(op)?;
        let dense = self.to_contiguous()?;
        let value = dense.value();
        // SAFETY: the layout is contiguous and inside the storage, which `value` keeps; the type is the dtype's.
        Ok(f(unsafe {
            std::slice::from_raw_parts(value.data_ptr().cast::<T>(), dense.elem_count())
        }))
    }
}

/// Keeps the array's allocation, unless a stride is negative.
impl<T: Element, D: Dimension> From<Array<T, D>> for Tensor {
    #[track_caller]
    fn from(array: Array<T, D>) -> Tensor {
        let shape = Sizes::from_slice(array.shape());
        let strides: Option<Sizes> = array.strides().iter().map(|&s| usize::try_from(s).ok()).collect();
        let (Some(strides), false) = (strides, array.is_empty()) else {
            return Tensor::from(array.view());
        };
        let (data, offset) = array.into_raw_vec_and_offset();
        let layout = Layout::new(shape, strides, offset.unwrap_or(0)).or_raise();
        Tensor::from_parts(Storage::adopt(data), layout, T::DTYPE)
    }
}

/// Copies, in logical order.
impl<T: Element, D: Dimension> From<ArrayView<'_, T, D>> for Tensor {
    #[track_caller]
    fn from(view: ArrayView<'_, T, D>) -> Tensor {
        let layout = Layout::contiguous(view.shape()).or_raise();
        let storage = match view.as_slice() {
            Some(data) => Storage::from_slice(data),
            None => {
                let mut items = view.iter();
                Storage::from_fn(view.len(), |_| items.next().copied().unwrap_or_default())
            }
        };
        Tensor::from_parts(storage.or_raise(), layout, T::DTYPE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array1, Array2, Array3, ShapeBuilder, s};
    use tensorplay_graph::DType;

    #[test]
    fn round_trips() {
        for n in [0usize, 1, 7, 33, 1025] {
            for d in DType::ALL {
                with_element!(d, T => {
                    let v: Vec<T> = (0..n).map(|i| T::from_i64((i % 2) as i64)).collect();
                    let x = Tensor::from_slice(&v, n);
                    assert_eq!((x.to_vec::<T>(), x.dtype()), (v.clone(), d));
                    assert_eq!(Tensor::from_vec(v.clone(), (n, 1)).to_vec::<T>(), v);
                    x.with_slice::<T, _>("test", |s| assert_eq!(s, v)).unwrap();
                });
            }
        }
        let x = Tensor::from_slice(&[1.0, 2.0, 3.0], 3);
        assert_eq!(
            (x.dtype(), x.view_select(0, 1).unwrap().item::<f64>()),
            (DType::F64, 2.0)
        );
        assert!(Tensor::from_slice(&[true], (1, 1, 1)).item::<bool>());
    }

    #[test]
    fn misuse_is_named() {
        let x = Tensor::from_slice(&[1.0f32, 2.0], 2);
        let text = |e: Error| e.to_string();
        assert!(
            text(Tensor::try_from_slice(&[1u8; 6], (2, 2)).unwrap_err())
                .contains("6 elements do not fill shape [2, 2]")
        );
        assert!(text(Tensor::try_from_vec(vec![1u8; 6], (-1, 2)).unwrap_err()).contains("negative"));
        let e = text(x.try_to_vec::<i64>().unwrap_err());
        assert!(
            e.contains("holds f32, not i64") && e.contains("to_vec::<f32>()") && e.contains("DType::I64"),
            "{e}"
        );
        assert!(text(x.try_item::<f32>().unwrap_err()).contains("2 elements"));
        assert!(text(x.try_to_ndarray::<u8>().unwrap_err()).contains("to_ndarray"));
    }

    #[test]
    fn ndarrays_keep_their_memory_where_they_can() {
        let a = Array2::from_shape_fn((3, 4), |(i, j)| (10 * i + j) as f32);
        let want = a.clone().into_dyn();
        let at = a.as_ptr().addr();
        let x = Tensor::from(a.clone());
        assert_eq!(x.to_ndarray::<f32>(), want);
        let x = Tensor::from(a.clone().reversed_axes());
        assert_eq!((x.shape(), x.strides()), (&[4, 3][..], &[1, 4][..]));
        assert_eq!(x.to_ndarray::<f32>(), want.clone().reversed_axes());
        let x = Tensor::from(a);
        assert_eq!(x.value().data_ptr().addr(), at);
        let f = Array2::from_shape_vec((2, 3).f(), vec![1i64, 2, 3, 4, 5, 6]).unwrap();
        assert_eq!(Tensor::from(f).to_vec::<i64>(), [1, 3, 5, 2, 4, 6]);
        let sliced = Array1::from_iter(0..9i32).slice_move(s![2..8;2]);
        let x = Tensor::from(sliced);
        assert_eq!((x.to_vec::<i32>(), x.strides()), (vec![2, 4, 6], &[2][..]));
        let flipped = Array1::from_iter(0..9i32).slice_move(s![..;-2]);
        assert_eq!(Tensor::from(flipped).to_vec::<i32>(), [8, 6, 4, 2, 0]);
        let cube = Array3::from_shape_fn((2, 3, 2), |(i, j, k)| (i * 6 + j * 2 + k) as u8);
        assert_eq!(
            Tensor::from(cube.slice(s![.., ..;-1, 1])).to_vec::<u8>(),
            [5, 3, 1, 11, 9, 7]
        );
        assert_eq!(Tensor::from(cube.view()).to_vec::<u8>().len(), 12);
        assert_eq!(Tensor::from(Array2::<f64>::zeros((0, 3))).shape(), [0, 3]);
        assert_eq!(Tensor::from(ndarray::arr0(4i32)).item::<i32>(), 4);
    }

    #[test]
    fn closeness() {
        let t = |v: &[f32]| Tensor::from_slice(v, v.len());
        assert!(t(&[1.0, f32::NAN, f32::INFINITY]).allclose(
            &t(&[1.0 + 1e-6, f32::NAN, f32::INFINITY]),
            1e-5,
            0.0
        ));
        assert!(!t(&[f32::INFINITY]).allclose(&t(&[f32::NEG_INFINITY]), 1.0, 1.0));
        assert!(!t(&[1.0]).allclose(&t(&[f32::INFINITY]), 1.0, 1.0));
        assert!(!t(&[1.0]).allclose(&t(&[f32::NAN]), 1.0, 1.0));
        assert!(!t(&[1.0]).allclose(&t(&[1.0, 1.0]), 1.0, 1.0));
        assert!(t(&[1.0]).allclose(&Tensor::from_slice(&[1i64], 1), 0.0, 0.0));
        assert!(t(&[]).allclose(&t(&[]), 0.0, 0.0));
        let x = Tensor::from_vec((0..6).collect::<Vec<i32>>(), (2, 3));
        assert!(
            x.view_t()
                .unwrap()
                .allclose(&x.view_t().unwrap().copied().unwrap(), 0.0, 0.0)
        );
    }
}
