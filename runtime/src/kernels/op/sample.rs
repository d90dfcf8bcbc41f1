//! Tensors for the unit tests of kernels.
//!
//! Problem: tests need operands of every dtype with awkward values, and outputs that show what was not written. Method:
//! [`Sample`] owns aligned memory; [`produce`] runs a kernel on one thread and on three, over memory with different
//! poison, and holds that the bytes agree, so that every element is written and threads change nothing.

use super::{Bits, In, Out, with_bits};
use crate::DType;
use crate::element::{Element, with_element};
use crate::kernels::par::with_threads;

/// A tensor of a test.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub dtype: DType,
    pub shape: Vec<usize>,
    data: Vec<u64>,
}

impl Sample {
    pub(super) fn poisoned(dtype: DType, shape: &[usize], byte: u8) -> Sample {
        let bytes = shape.iter().product::<usize>() * dtype.size();
        Sample {
            dtype,
            shape: shape.to_vec(),
            data: vec![u64::from_ne_bytes([byte; 8]); bytes.div_ceil(8)],
        }
    }

    pub(super) fn of<T: Element>(shape: &[usize], values: &[T]) -> Sample {
        let mut s = Sample::poisoned(T::DTYPE, shape, 0);
        let mut out = s.output();
        assert_eq!(out.count(), values.len());
        for (o, &v) in out.of::<T>().iter_mut().zip(values) {
            o.write(v);
        }
        s
    }

    /// Many ties; floats have NaN, infinities and both zeros among them.
    pub(super) fn varied(dtype: DType, shape: &[usize], seed: u64) -> Sample {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state >> 16
        };
        let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, -f64::NAN];
        let n = shape.iter().product();
        with_element!(dtype, T => {
            let values: Vec<T> = (0..n)
                .map(|_| match next() {
                    r if dtype == DType::Bool => T::from_i64((r & 1) as i64),
                    r if r % 11 == 0 && dtype.is_float() => T::from_f64(special[r as usize / 11 % 6]),
                    r if r % 13 == 0 && !dtype.is_float() => T::from_i64((r as i64).wrapping_mul(0x1_0001)),
                    r => T::from_f64((r % 63) as f64 / 4.0 - 7.0),
                })
                .collect();
            Sample::of(shape, &values)
        })
    }

    pub(super) fn input(&self) -> In<'_> {
        // SAFETY: the memory holds the elements, aligned to 8 bytes.
        unsafe { In::new(self.dtype, &self.shape, self.data.as_ptr().cast()) }
    }

    pub(super) fn output(&mut self) -> Out<'_> {
        // SAFETY: as above, borrowed mutably.
        unsafe { Out::new(self.dtype, &self.shape, self.data.as_mut_ptr().cast()) }
    }

    pub(super) fn list<T: Element>(&self) -> Vec<T> {
        self.input().of::<T>().to_vec()
    }

    /// The bits of every element.
    pub(super) fn bits(&self) -> Vec<u64> {
        fn widened<U: Bits + Into<u64>>(bits: &[U]) -> Vec<u64> {
            bits.iter().map(|&b| b.into()).collect()
        }
        with_bits!(self.dtype, U => widened(self.input().bits::<U>()))
    }

    /// The elements as f64.
    pub(super) fn floats(&self) -> Vec<f64> {
        with_element!(self.dtype, T => self.list::<T>().iter().map(|v| v.to_f64()).collect())
    }
}

/// What a kernel writes; every element, whatever the number of threads.
pub(super) fn produce(dtype: DType, shape: &[usize], f: impl Fn(Out)) -> Sample {
    let run = |threads, byte| {
        let mut s = Sample::poisoned(dtype, shape, byte);
        with_threads(threads, || f(s.output()));
        s
    };
    let (a, b) = (run(1, 0xA5), run(3, 0x5A));
    assert_eq!(a.bits(), b.bits(), "{dtype} {shape:?}");
    if dtype == DType::Bool {
        assert!(a.bits().iter().all(|&b| b < 2));
    }
    a
}

/// All coordinates of a shape in row-major order.
pub(super) fn coordinates(shape: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for &n in shape {
        all = all
            .iter()
            .flat_map(|c: &Vec<usize>| (0..n).map(move |i| [c.as_slice(), &[i]].concat()))
            .collect();
    }
    all
}

/// Where the element at a coordinate is.
pub(super) fn offset(shape: &[usize], at: &[usize]) -> usize {
    shape.iter().zip(at).fold(0, |o, (n, i)| o * n + i)
}

/// The coordinate with the one of axis `dim` replaced; that of a rank-0 tensor stays.
pub(super) fn with(at: &[usize], dim: usize, i: usize) -> Vec<usize> {
    let mut at = at.to_vec();
    if let Some(a) = at.get_mut(dim) {
        *a = i;
    }
    at
}
