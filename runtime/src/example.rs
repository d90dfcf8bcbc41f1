//! `Example`: a tensor as compilation sees it, without its data.

use crate::{DType, Device, Tensor};
use tensorplay_graph::TensorType;

/// The metadata of a tensor that a function is compiled for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Example {
    dtype: DType,
    shape: Vec<usize>,
    strides: Vec<usize>,
}

/// Tells kinds of arguments apart: equal numbers are one kind.
pub(crate) type ReuseHash = fn(&[Example]) -> u64;

impl Example {
    /// The metadata of a tensor.
    pub fn of(tensor: &Tensor) -> Example {
        Example {
            dtype: tensor.dtype(),
            shape: tensor.shape().to_vec(),
            strides: tensor.strides().to_vec(),
        }
    }

    /// A row-major tensor on the CPU; `None` where the type does not tell dtype and sizes.
    pub(crate) fn of_type(ty: &TensorType) -> Option<Example> {
        let shape = ty.sizes()?;
        let mut strides = vec![1; shape.len()];
        for i in (1..shape.len()).rev() {
            strides[i - 1] = strides[i] * shape[i].max(1);
        }
        Some(Example {
            dtype: ty.dtype?,
            shape,
            strides,
        })
    }

    /// The dtype.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The sizes.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The strides in elements.
    pub fn strides(&self) -> &[usize] {
        &self.strides
    }

    /// Whether it is no result of operations that record gradients. None records any yet.
    pub fn is_leaf(&self) -> bool {
        true
    }

    /// Where it is.
    pub fn device(&self) -> Device {
        Device::Cpu
    }
}
