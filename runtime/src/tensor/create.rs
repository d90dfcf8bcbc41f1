//! New tensors from nothing but arguments.
//!
//! Problem: PyTorch's lengths, rounding and casts for every dtype. Method: one element function per op, run
//! over a new storage. Invariants: casts are Rust's `as`; `linspace` is symmetric and computed in f64; `rand`
//! and `randn` take one op number each, also when the tensor is empty.

use super::Tensor;
use crate::element::{Element, with_element};
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::random::{self, Draw, RandomKey};
use crate::storage::Storage;
use half::{bf16, f16};
use tensorplay_graph::{DType, Scalar};

fn from_fn<T: Element>(shape: &[usize], item: impl FnMut(usize) -> T) -> Result<Tensor> {
    let layout = Layout::contiguous(shape)?;
    Ok(Tensor::from_parts(
        Storage::from_fn(layout.elem_count(), item)?,
        layout,
        T::DTYPE,
    ))
}

pub(crate) fn zeros(shape: &[usize], dtype: DType) -> Result<Tensor> {
    let layout = Layout::contiguous(shape)?;
    let bytes = layout
        .elem_count()
        .checked_mul(dtype.size())
        .ok_or(Error::OutOfMemory { bytes: usize::MAX })?;
    Ok(Tensor::from_parts(Storage::zeroed(bytes)?, layout, dtype))
}

pub(crate) fn ones(shape: &[usize], dtype: DType) -> Result<Tensor> {
    full(shape, Scalar::Int(1), dtype)
}

pub(crate) fn full(shape: &[usize], value: Scalar, dtype: DType) -> Result<Tensor> {
    with_element!(dtype, T => {
        let value = T::from_scalar(value);
        from_fn(shape, |_| value)
    })
}

/// `start, start + 1, ..` below `end`.
pub(crate) fn arange(start: Scalar, end: Scalar, dtype: DType) -> Result<Tensor> {
    let bad = |why: &str| Error::value("arange", format!("from {start} to {end}: {why}"));
    if dtype == DType::Bool {
        return Err(Error::dtype("arange", "bool is not a range")
            .with_help("write `arange(..)` of an integer dtype and compare"));
    }
    let exact = dtype == DType::I64 || !matches!((start, end), (Scalar::Float(_), _) | (_, Scalar::Float(_)));
    let len = if exact {
        let len = end
            .to_i64()
            .checked_sub(start.to_i64())
            .ok_or_else(|| bad("too many elements"))?;
        usize::try_from(len).map_err(|_| bad("the end is before the start"))?
    } else {
        let len = (end.to_f64() - start.to_f64()).ceil();
        match len {
            _ if !len.is_finite() => return Err(bad("not a finite range")),
            _ if end.to_f64() < start.to_f64() => return Err(bad("the end is before the start")),
            _ if len > isize::MAX as f64 => return Err(bad("too many elements")),
            _ => len as usize,
        }
    };
    let (first, int_first) = (start.to_f64(), start.to_i64());
    with_element!(dtype, T => if T::DTYPE.is_int() || exact {
        from_fn(&[len], |i| T::from_i64(int_first.wrapping_add(i as i64)))
    } else {
        from_fn(&[len], |i| T::from_f64(first + i as f64))
    })
}

/// `n` values from `start` to `end`, both included.
pub(crate) fn linspace(start: Scalar, end: Scalar, n: usize, dtype: DType) -> Result<Tensor> {
    if dtype == DType::Bool {
        return Err(Error::dtype("linspace", "bool is not a range").with_help("write a numeric dtype"));
    }
    let (a, b) = (start.to_f64(), end.to_f64());
    let step = if n > 1 { (b - a) / (n - 1) as f64 } else { 0.0 };
    let value = |i: usize| {
        if i < n.div_ceil(2) {
            a + step * i as f64
        } else {
            b - step * (n - 1 - i) as f64
        }
    };
    with_element!(dtype, T => from_fn(&[n], |i| T::from_f64(value(i))))
}

pub(crate) fn eye(n: usize, dtype: DType) -> Result<Tensor> {
    let out = zeros(&[n, n], dtype)?;
    let to = out.value().storage().as_mut_ptr();
    with_element!(dtype, T => for i in 0..n {
        // SAFETY: the storage is new, nobody else holds it, and `i * n + i < n * n`.
        unsafe { to.cast::<T>().add(i * n + i).write(T::from_i64(1)) }
    });
    Ok(out)
}

fn drawn<T: Draw>(shape: &[usize], normal: bool, key: RandomKey) -> Result<Tensor> {
    if normal {
        from_fn(shape, random::normal_from::<T>(key, 0))
    } else {
        from_fn(shape, random::uniform_from::<T>(key, 0))
    }
}

fn draw(op: &'static str, shape: &[usize], dtype: DType, normal: bool, key: RandomKey) -> Result<Tensor> {
    match dtype {
        DType::F32 => drawn::<f32>(shape, normal, key),
        DType::F64 => drawn::<f64>(shape, normal, key),
        DType::F16 => drawn::<f16>(shape, normal, key),
        DType::BF16 => drawn::<bf16>(shape, normal, key),
        _ => Err(Error::dtype(op, format!("draws floats, not {dtype}"))
            .with_help("write a float dtype, then `to_dtype`")),
    }
}

/// Uniform in `[0, 1)`.
pub(crate) fn rand(shape: &[usize], dtype: DType, key: RandomKey) -> Result<Tensor> {
    draw("rand", shape, dtype, false, key)
}

/// Standard normal.
pub(crate) fn randn(shape: &[usize], dtype: DType, key: RandomKey) -> Result<Tensor> {
    draw("randn", shape, dtype, true, key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Scalar::{Bool, Float, Int};

    #[test]
    fn filled() {
        for n in [0usize, 1, 7, 33, 1025] {
            for d in DType::ALL {
                with_element!(d, T => {
                    assert_eq!(zeros(&[n], d).unwrap().to_vec::<T>(), vec![T::default(); n]);
                    assert_eq!(ones(&[n, 1], d).unwrap().to_vec::<T>(), vec![T::from_i64(1); n]);
                });
            }
        }
        assert_eq!(full(&[], Float(2.9), DType::I32).unwrap().item::<i32>(), 2);
        assert_eq!(
            full(&[2], Bool(true), DType::F16).unwrap().to_vec::<f16>(),
            [f16::ONE; 2]
        );
        assert_eq!(full(&[], Float(-3.0), DType::U8).unwrap().item::<u8>(), 0);
        assert!(zeros(&[1 << 40, 1 << 40], DType::F32).is_err());
        assert!(zeros(&[1 << 61], DType::F64).is_err());
    }

    #[test]
    fn ranges() {
        let f = |a, b| arange(a, b, DType::F32).unwrap().to_vec::<f32>();
        assert_eq!(f(Int(1), Int(4)), [1.0, 2.0, 3.0]);
        assert_eq!(f(Float(0.5), Float(3.0)), [0.5, 1.5, 2.5]);
        assert_eq!(f(Int(2), Int(2)), [0f32; 0]);
        assert_eq!(
            arange(Float(0.5), Float(3.5), DType::I64)
                .unwrap()
                .to_vec::<i64>(),
            [0, 1, 2]
        );
        assert_eq!(
            arange(Int(i64::MAX - 2), Int(i64::MAX), DType::I64)
                .unwrap()
                .to_vec::<i64>()[1],
            i64::MAX - 1
        );
        assert!(arange(Int(3), Int(1), DType::F32).is_err());
        assert!(arange(Int(0), Float(f64::NAN), DType::F32).is_err());
        assert!(arange(Int(0), Float(1e300), DType::F32).is_err());
        assert!(arange(Int(i64::MIN), Int(i64::MAX), DType::U8).is_err());
        assert!(arange(Int(0), Int(2), DType::Bool).is_err());
        let l = |n| linspace(Int(0), Int(1), n, DType::F64).unwrap().to_vec::<f64>();
        assert_eq!(l(5), [0.0, 0.25, 0.5, 0.75, 1.0]);
        assert_eq!((l(1), l(0)), (vec![0.0], vec![]));
        assert_eq!(l(1025)[1024], 1.0);
        assert_eq!(
            linspace(Int(0), Int(10), 4, DType::I32).unwrap().to_vec::<i32>(),
            [0, 3, 6, 10]
        );
    }

    #[test]
    fn identity() {
        assert_eq!(
            eye(3, DType::I64).unwrap().to_vec::<i64>(),
            [1, 0, 0, 0, 1, 0, 0, 0, 1]
        );
        assert_eq!(eye(0, DType::F32).unwrap().shape(), [0, 0]);
    }

    #[test]
    fn random_is_a_function_of_its_key() {
        let key = random::reserve_op();
        for d in [DType::F32, DType::F64, DType::F16, DType::BF16] {
            with_element!(d, T => {
                let long = rand(&[1025], d, key).unwrap().to_vec::<T>();
                assert_eq!(rand(&[33], d, key).unwrap().to_vec::<T>(), long[..33]);
                assert_ne!(randn(&[1025], d, key.nth(1)).unwrap().to_vec::<T>(), randn(&[1025], d, key).unwrap().to_vec::<T>());
            });
        }
        assert!(
            rand(&[1], DType::I64, key)
                .unwrap_err()
                .to_string()
                .contains("rand: draws floats, not i64")
        );
    }
}
