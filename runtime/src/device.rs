//! Where a tensor's storage lives.

use crate::{Error, Result, Tensor};
use std::fmt;

/// A device: the CPU, or a CUDA GPU by its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Device {
    /// Host memory.
    #[default]
    Cpu,
    /// A CUDA device, as the driver numbers them.
    Cuda(usize),
}

impl Device {
    /// `Cuda(index)` if this process can use that GPU, else `Cpu`.
    ///
    /// No CUDA executor is part of this crate yet, so the answer is `Cpu`.
    pub fn cuda_if_available(index: usize) -> Device {
        let _ = index;
        Device::Cpu
    }

    /// Whether this is host memory.
    pub const fn is_cpu(self) -> bool {
        matches!(self, Device::Cpu)
    }
}

/// Whether all operands of a call are on one device.
pub(crate) fn same_device(op: &'static str, tensors: &[&Tensor]) -> Result<()> {
    let Some(first) = tensors.first().map(|t| t.device()) else {
        return Ok(());
    };
    match tensors.iter().position(|t| t.device() != first) {
        None => Ok(()),
        Some(i) => {
            let (a, b) = (tensors[0], tensors[i]);
            let shown = |t: &Tensor| format!("{}{:?} on {}", t.dtype(), t.shape(), t.device());
            let message = format!("operands are on different devices: {} and {}", shown(a), shown(b));
            let help = match first {
                Device::Cpu => "move one, as in y.to_device(Device::Cpu)".to_string(),
                Device::Cuda(n) => format!("move one, as in y.to_device(Device::Cuda({n}))"),
            };
            Err(Error::device(op, message).with_help(help))
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Device::Cpu => f.pad("cpu"),
            Device::Cuda(i) => write!(f, "cuda:{i}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displays_in_lower_case() {
        assert_eq!(Device::Cpu.to_string(), "cpu");
        assert_eq!(Device::Cuda(1).to_string(), "cuda:1");
        assert!(Device::default().is_cpu());
    }

    #[test]
    fn operands_of_different_devices_are_refused() {
        let x = Tensor::ones(2, crate::DType::F32);
        let y = Tensor::ones((3, 2), crate::DType::F32).on_device(Device::Cuda(1));
        assert!(x.try_add(&x).is_ok());
        let e = x.try_add(&y).unwrap_err();
        assert!(matches!(e, Error::Device(_)));
        assert_eq!(
            e.to_string(),
            "error[TP0021]: add: operands are on different devices: f32[2] on cpu and f32[3, 2] on cuda:1\n  \
             help: move one, as in y.to_device(Device::Cpu)"
        );
        let e = Tensor::try_cat(&[&y, &x], 0).unwrap_err().to_string();
        assert!(e.contains("y.to_device(Device::Cuda(1))"), "{e}");
    }
}
