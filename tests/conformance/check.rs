//! Tensors to try, compiled calls against the plain body, and tests in a process of their own.
#![allow(dead_code, reason = "two test crates share this file, and use parts of it")]

use std::process::Command;
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

/// Runs an ignored test of this binary in a process of its own, for it changes what tests share. The result is what it
/// printed on the two outputs.
#[track_caller]
pub fn alone(test: &str, variables: &[(&str, &str)]) -> (String, String) {
    let binary = std::env::current_exe().expect("this test's path");
    let output = Command::new(binary)
        .args([test, "--exact", "--ignored", "--nocapture"])
        .env_remove("TENSORPLAY_LOG")
        .envs(variables.iter().copied())
        .output()
        .expect("the test runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let passed = output.status.success() && out.contains("1 passed");
    assert!(passed, "{test}: {}\n{out}\n{err}", output.status);
    (out, err)
}

/// The message of a panic.
#[track_caller]
pub fn panics<R>(f: impl FnOnce() -> R) -> String {
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(f())));
    let panic = panic.expect_err("a panic");
    match panic.downcast_ref::<&str>() {
        Some(text) => text.to_string(),
        None => panic.downcast_ref::<String>().cloned().unwrap_or_default(),
    }
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
