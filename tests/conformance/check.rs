//! Tensors to try, and compiled calls against the plain body.

use tensorplay::prelude::*;

/// A vector.
pub fn v(values: &[f32]) -> Tensor {
    Tensor::from_slice(values, values.len())
}

/// 0, 1, 2, .. in this shape.
pub fn iota(shape: &[usize]) -> Tensor {
    let n: usize = shape.iter().product();
    Tensor::arange(0, n as i64, DType::F32).reshape(shape)
}

/// A result as text: dtypes, shapes and every bit.
pub trait Shown {
    fn shown(&self) -> String;
}

impl Shown for Tensor {
    fn shown(&self) -> String {
        let bits: Vec<u64> = match self.dtype() {
            DType::I64 => self.to_vec::<i64>().into_iter().map(|v| v as u64).collect(),
            _ => {
                let wide = self.to_dtype(DType::F64).to_vec::<f64>();
                wide.into_iter().map(f64::to_bits).collect()
            }
        };
        format!("{}{:?} {bits:x?}", self.dtype(), self.shape())
    }
}

impl Shown for () {
    fn shown(&self) -> String {
        "()".into()
    }
}

impl<T: Shown> Shown for [T] {
    fn shown(&self) -> String {
        format!("{:?}", self.iter().map(T::shown).collect::<Vec<_>>())
    }
}

impl<T: Shown> Shown for Vec<T> {
    fn shown(&self) -> String {
        self.as_slice().shown()
    }
}

impl<T: Shown, const N: usize> Shown for [T; N] {
    fn shown(&self) -> String {
        self.as_slice().shown()
    }
}

impl<T: Shown> Shown for Option<T> {
    fn shown(&self) -> String {
        format!("{:?}", self.as_ref().map(T::shown))
    }
}

impl<T: Shown, E: std::fmt::Debug> Shown for Result<T, E> {
    fn shown(&self) -> String {
        format!("{:?}", self.as_ref().map(T::shown))
    }
}

impl<A: Shown, B: Shown> Shown for (A, B) {
    fn shown(&self) -> String {
        format!("({}, {})", self.0.shown(), self.1.shown())
    }
}

impl<A: Shown, B: Shown, C: Shown> Shown for (A, B, C) {
    fn shown(&self) -> String {
        format!("({}, {}, {})", self.0.shown(), self.1.shown(), self.2.shown())
    }
}

/// The result of a compiled call, which is that of the plain body to the bit.
#[macro_export]
macro_rules! against_body {
    ($call:expr) => {{
        let compiled = $call;
        let plain = tensorplay::compiler::disable_capture(|| $call);
        assert_eq!(
            $crate::check::Shown::shown(&compiled),
            $crate::check::Shown::shown(&plain),
            "{}",
            stringify!($call)
        );
        compiled
    }};
}
