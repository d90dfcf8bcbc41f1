//! What the reports' tests share: an expression is written once, and checked as plain code and compiled.

use tensorplay::{Element, compiler, prelude::*};

/// The results of the compiled function and of its plain body.
pub fn both<R>(call: impl Fn() -> R) -> [R; 2] {
    [call(), compiler::disable_capture(call)]
}

pub fn one<T: Element>(value: T) -> Tensor {
    Tensor::from_slice(&[value], ())
}

pub fn row<T: Element>(values: impl AsRef<[T]>) -> Tensor {
    Tensor::from_slice(values.as_ref(), values.as_ref().len())
}

pub fn grid<T: Element, const N: usize, const M: usize>(values: [[T; M]; N]) -> Tensor {
    Tensor::from_slice(values.as_flattened(), (N, M))
}

/// `0, 1, ..` in a shape.
pub fn counting(shape: &[usize]) -> Tensor {
    Tensor::arange(0, shape.iter().product::<usize>() as i64, DType::F32).reshape(shape)
}

pub fn cast(x: &Tensor, dtype: &str) -> Tensor {
    x.to_dtype(dtype.parse().expect("a dtype"))
}

/// The values as Rust prints them: `-0.0` is not `0.0`, every NaN is `NaN`.
fn printed(x: &Tensor) -> String {
    match x.dtype() {
        DType::I32 => format!("{:?}", x.to_vec::<i32>()),
        DType::I64 => format!("{:?}", x.to_vec::<i64>()),
        DType::U8 => format!("{:?}", x.to_vec::<u8>()),
        DType::Bool => format!("{:?}", x.to_vec::<bool>()),
        DType::F32 => format!("{:?}", x.to_vec::<f32>()),
        _ => format!("{:?}", x.to_dtype(DType::F64).to_vec::<f64>()),
    }
}

#[track_caller]
pub fn assert_exact(got: &Tensor, want: &Tensor) {
    assert_eq!((got.dtype(), got.shape()), (want.dtype(), want.shape()));
    assert_eq!(printed(got), printed(want), "got on the left");
}

#[track_caller]
pub fn assert_near(got: &Tensor, want: &Tensor, tolerance: f64) {
    assert_eq!(got.shape(), want.shape());
    let (got, want) = (got.to_dtype(DType::F64), want.to_dtype(DType::F64));
    assert!(got.allclose(&want, tolerance, 0.0), "{got}, not {want}");
}

/// An expression over tensors of the dtypes written has these values, this dtype and this shape.
macro_rules! exact {
    ([$($x:ident: $dtype:ident = $value:expr),*] $body:expr => $want:expr) => {
        checked!([$($x: $dtype = $value),*] $body => |got| crate::check::assert_exact(got, &$want))
    };
}

/// The same for each of the float dtypes, to which arguments and values are cast.
macro_rules! floats {
    ([$($x:ident = $value:expr),*] $body:expr => $want:expr) => {{
        floats!(@f32 [$($x = $value),*] $body => $want);
        floats!(@f64 [$($x = $value),*] $body => $want);
        floats!(@f16 [$($x = $value),*] $body => $want);
        floats!(@bf16 [$($x = $value),*] $body => $want);
    }};
    (@$dtype:ident [$($x:ident = $value:expr),*] $body:expr => $want:expr) => {
        floats!(@@$dtype stringify!($dtype), [$($x = $value),*] $body => $want)
    };
    (@@$dtype:ident $name:expr, [$($x:ident = $value:expr),*] $body:expr => $want:expr) => {{
        #[compile]
        fn f($(#[spec($dtype[..])] $x: &Tensor),*) -> Tensor {
            $body
        }
        $(let $x = crate::check::cast(&$value, $name);)*
        for got in crate::check::both(|| f($(&$x),*)) {
            crate::check::assert_exact(&got, &crate::check::cast(&$want, $name));
        }
    }};
}

/// An expression has these values within a relative tolerance.
macro_rules! near {
    ($tolerance:expr, [$($x:ident: $dtype:ident = $value:expr),*] $body:expr => $want:expr) => {
        checked!([$($x: $dtype = $value),*] $body => |got| crate::check::assert_near(got, &$want, $tolerance))
    };
}

macro_rules! checked {
    ([$($x:ident: $dtype:ident = $value:expr),*] $body:expr => |$got:ident| $check:expr) => {{
        #[compile]
        fn f($(#[spec($dtype[..])] $x: &Tensor),*) -> Tensor {
            $body
        }
        $(let $x = crate::check::cast(&$value, stringify!($dtype));)*
        for got in crate::check::both(|| f($(&$x),*)) {
            let $got = &got;
            $check;
        }
    }};
}

/// A fallible expression is an error that contains these words.
macro_rules! refused {
    ([$($x:ident: $dtype:ident = $value:expr),*] $body:expr => $($words:expr),+) => {{
        #[compile]
        fn f($(#[spec($dtype[..])] $x: &Tensor),*) -> Result<Tensor> {
            Ok($body?)
        }
        $(let $x = crate::check::cast(&$value, stringify!($dtype));)*
        for got in crate::check::both(|| f($(&$x),*)) {
            let error = got.unwrap_err().to_string();
            $(assert!(error.contains($words), "{error}");)+
        }
    }};
}
