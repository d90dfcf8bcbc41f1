//! Inputs as tensors, and back.
//!
//! Apart from [`case`](crate::case) because the build script makes cases and has no tensors.

use crate::case::{Case, Input, Layout, each, float_bits, strides};
use half::{bf16, f16};
use tensorplay::{DType, Element, Tensor};

fn build<T: Element>(bits: &[u64], shape: &[usize], f: impl Fn(u64) -> T) -> Tensor {
    Tensor::from_vec(bits.iter().map(|&b| f(b)).collect::<Vec<T>>(), shape)
}

/// A contiguous tensor of these bits.
pub fn tensor_of(dtype: DType, bits: &[u64], shape: &[usize]) -> Tensor {
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

/// The elements of a tensor in row-major order, as bits.
pub fn bits_of(t: &Tensor) -> Vec<u64> {
    fn map<T: Element>(t: &Tensor, f: impl Fn(T) -> u64) -> Vec<u64> {
        t.to_vec::<T>().into_iter().map(f).collect()
    }
    match t.dtype() {
        DType::F32 => map(t, |v: f32| u64::from(v.to_bits())),
        DType::F64 => map(t, f64::to_bits),
        DType::F16 => map(t, |v: f16| u64::from(v.to_bits())),
        DType::BF16 => map(t, |v: bf16| u64::from(v.to_bits())),
        DType::I32 => map(t, |v: i32| v as i64 as u64),
        DType::I64 => map(t, |v: i64| v as u64),
        DType::U8 => map(t, |v: u8| u64::from(v)),
        DType::Bool => map(t, |v: bool| u64::from(v)),
    }
}

/// Bits far from any used value, to lie between stepped elements.
fn poison(dtype: DType) -> u64 {
    match dtype {
        d if d.is_float() => float_bits(d, f64::NAN),
        DType::U8 => 250,
        DType::Bool => 1,
        _ => -77_777i64 as u64,
    }
}

impl Input {
    /// The tensor, in its layout.
    pub fn tensor(&self) -> Tensor {
        let st = strides(&self.shape);
        let linear = |at: &[usize]| at.iter().zip(&st).map(|(a, s)| a * s).sum::<usize>();
        match &self.layout {
            Layout::Contiguous => tensor_of(self.dtype, &self.bits, &self.shape),
            Layout::Permuted(p) => {
                // memory axis i is logical axis p[i]
                let shape: Vec<usize> = p.iter().map(|&a| self.shape[a]).collect();
                let mut bits = Vec::with_capacity(self.bits.len());
                each(&shape, |at| {
                    let mut l = vec![0; p.len()];
                    p.iter().zip(at).for_each(|(&a, &v)| l[a] = v);
                    bits.push(self.bits[linear(&l)]);
                });
                let mut inverse = vec![0i64; p.len()];
                p.iter().enumerate().for_each(|(i, &a)| inverse[a] = i as i64);
                tensor_of(self.dtype, &bits, &shape).permute(&inverse[..])
            }
            &Layout::Stepped(d, step) => {
                let mut shape = self.shape.clone();
                shape[d] = self.shape[d] * step + 1;
                let mut bits = Vec::new();
                each(&shape, |at| {
                    let mut l = at.to_vec();
                    let inside = at[d] >= 1 && (at[d] - 1).is_multiple_of(step);
                    l[d] = (at[d].max(1) - 1) / step;
                    bits.push(if inside {
                        self.bits[linear(&l)]
                    } else {
                        poison(self.dtype)
                    });
                });
                tensor_of(self.dtype, &bits, &shape).slice(d, 1, shape[d] as i64, step as i64)
            }
            Layout::Expanded(axes) => {
                let mut shape = self.shape.clone();
                axes.iter().for_each(|&a| shape[a] = shape[a].min(1));
                let mut bits = Vec::new();
                each(&shape, |at| bits.push(self.bits[linear(at)]));
                tensor_of(self.dtype, &bits, &shape).expand(&self.shape[..])
            }
        }
    }
}

impl Case {
    /// The tensors to run on.
    pub fn tensors(&self) -> Vec<Tensor> {
        self.inputs.iter().map(Input::tensor).collect()
    }
}
