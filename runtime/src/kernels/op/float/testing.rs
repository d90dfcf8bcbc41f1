//! What the tests of float kernels share.

use super::super::{In, Out};
use crate::DType;
use crate::element::Element;
use crate::kernels::par::with_threads;

/// Small numbers that every dtype holds exactly.
pub(crate) fn values<S: Element>(n: usize, salt: usize) -> Vec<S> {
    (0..n)
        .map(|i| S::from_f64(((i * 37 + i / 7 + salt * 11) % 29) as f64 / 8.0 - 1.75))
        .collect()
}

pub(crate) fn input<'a, S: Element>(shape: &'a [usize], data: &'a [S]) -> In<'a> {
    assert_eq!(shape.iter().product::<usize>(), data.len());
    // SAFETY: the slice has the elements of the shape.
    unsafe { In::new(S::DTYPE, shape, data.as_ptr().cast()) }
}

/// What a kernel writes over poison, with one thread and with three: the same bits.
pub(crate) fn output<S: Element>(shape: &[usize], kernel: impl Fn(Out)) -> Vec<S> {
    let run = |threads: usize| {
        let mut data = vec![S::from_f64(f64::from(113 + threads as u32)); shape.iter().product()];
        // SAFETY: the vector has the elements of the shape.
        let out = unsafe { Out::new(S::DTYPE, shape, data.as_mut_ptr().cast()) };
        with_threads(threads, || kernel(out));
        data
    };
    let (a, b) = (run(1), run(3));
    for (i, (a, b)) in a.iter().zip(&b).enumerate() {
        let same = a.to_f64().to_bits() == b.to_f64().to_bits();
        assert!(same, "element {i}: {a:?} by one thread and {b:?} by three");
    }
    b
}

fn tolerance(dtype: DType) -> f64 {
    match dtype {
        DType::F32 => 2e-6,
        DType::F64 => 1e-14,
        DType::F16 => 1.0 / 2000.0,
        DType::BF16 => 1.0 / 250.0,
        _ => 0.0,
    }
}

/// Asserts that results are the expected ones, to the precision of their dtype relative to `scale` or more.
pub(crate) fn close<S: Element>(got: &[S], want: &[f64], scale: f64, what: &dyn std::fmt::Debug) {
    assert_eq!(got.len(), want.len());
    for (i, (got, &want)) in got.iter().zip(want).enumerate() {
        let got = got.to_f64();
        let ok = match want.is_finite() {
            true => (got - want).abs() <= tolerance(S::DTYPE) * want.abs().max(scale),
            false => got == want || (got.is_nan() && want.is_nan()),
        };
        assert!(ok, "{} {what:?}: element {i} is {got}, not {want}", S::DTYPE);
    }
}
