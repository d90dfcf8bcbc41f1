//! Where a tensor's storage lives.

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
}
