//! Tensors as plain values of the host, so that comparison and layouts do not rest on the code under test.

use tensorplay::half::{bf16, f16};
use tensorplay::{DType, Element, Tensor};

/// The elements of a tensor in row-major order, as bits.
///
/// Equal bits are equal values; floats keep their sign of zero.
pub fn bits(t: &Tensor) -> Vec<u64> {
    match t.dtype() {
        DType::F32 => map(t, |v: f32| u64::from(v.to_bits())),
        DType::F64 => map(t, f64::to_bits),
        DType::F16 => map(t, |v: f16| u64::from(v.to_bits())),
        DType::BF16 => map(t, |v: bf16| u64::from(v.to_bits())),
        DType::I32 => map(t, |v: i32| v as u64),
        DType::I64 => map(t, |v: i64| v as u64),
        DType::U8 => map(t, |v: u8| u64::from(v)),
        DType::Bool => map(t, |v: bool| u64::from(v)),
    }
}

/// One element as f64, from its [`bits`]; exact but for `i64` beyond 2^53.
pub fn float(dtype: DType, bits: u64) -> f64 {
    match dtype {
        DType::F32 => f64::from(f32::from_bits(bits as u32)),
        DType::F64 => f64::from_bits(bits),
        DType::F16 => f16::from_bits(bits as u16).to_f64(),
        DType::BF16 => bf16::from_bits(bits as u16).to_f64(),
        DType::I32 | DType::I64 => bits as i64 as f64,
        DType::U8 | DType::Bool => bits as f64,
    }
}

/// A contiguous tensor from [`bits`].
pub fn tensor(dtype: DType, bits: &[u64], shape: &[usize]) -> Result<Tensor, String> {
    match dtype {
        DType::F32 => build(bits, shape, |b| f32::from_bits(b as u32)),
        DType::F64 => build(bits, shape, f64::from_bits),
        DType::F16 => build(bits, shape, |b| f16::from_bits(b as u16)),
        DType::BF16 => build(bits, shape, |b| bf16::from_bits(b as u16)),
        DType::I32 => build(bits, shape, |b| b as i32),
        DType::I64 => build(bits, shape, |b| b as i64),
        DType::U8 => build(bits, shape, |b| b as u8),
        DType::Bool => build(bits, shape, |b| b != 0),
    }
}

/// Bits that no right result can be made from: NaN, or the other end of the range.
pub fn poison(dtype: DType, beside: u64) -> u64 {
    match dtype {
        DType::F32 => u64::from(f32::NAN.to_bits()),
        DType::F64 => f64::NAN.to_bits(),
        DType::F16 => u64::from(f16::NAN.to_bits()),
        DType::BF16 => u64::from(bf16::NAN.to_bits()),
        DType::I32 => i32::MIN as u64,
        DType::I64 => i64::MIN as u64,
        DType::U8 => u64::from(u8::MAX),
        DType::Bool => u64::from(beside == 0),
    }
}

fn map<T: Element>(t: &Tensor, f: impl Fn(T) -> u64) -> Vec<u64> {
    t.to_vec::<T>().into_iter().map(f).collect()
}

fn build<T: Element>(bits: &[u64], shape: &[usize], f: impl Fn(u64) -> T) -> Result<Tensor, String> {
    let data: Vec<T> = bits.iter().map(|&b| f(b)).collect();
    Tensor::try_from_vec(data, shape).map_err(|e| e.to_string())
}
