//! `Codegen`: what kind of code a call runs.

use std::fmt;

/// What kind of code a call runs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Codegen {
    /// Every fused group on a kernel that was emitted when the binary was built.
    StaxNative,
    /// Fused groups, some of them on the tile VM.
    TileVm,
    /// Operation by operation.
    Eager,
    /// CUDA kernels.
    Cuda,
    /// A replayed CUDA graph.
    CudaGraph,
    /// TVM.
    Tvm,
    /// Code of a backend that does not say more.
    Custom,
}

impl Codegen {
    /// The name, as it is printed.
    pub fn name(self) -> &'static str {
        match self {
            Codegen::StaxNative => "stax-native",
            Codegen::TileVm => "tile-vm",
            Codegen::Eager => "eager",
            Codegen::Cuda => "cuda",
            Codegen::CudaGraph => "cuda-graph",
            Codegen::Tvm => "tvm",
            Codegen::Custom => "custom",
        }
    }

    /// Whether it is compiled code: what `strict_native` asks for.
    pub fn is_native(self) -> bool {
        !matches!(self, Codegen::TileVm | Codegen::Eager)
    }

    /// What is said of several together: the first, or one that is not native.
    pub(crate) fn of_all(all: impl IntoIterator<Item = Codegen>) -> Option<Codegen> {
        all.into_iter().reduce(|a, b| if b.is_native() { a } else { b })
    }
}

impl fmt::Display for Codegen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::Codegen::{self, Custom, Eager, StaxNative, TileVm};

    #[test]
    fn one_that_is_not_native_stands_for_all() {
        let all = |l: &[Codegen]| Codegen::of_all(l.iter().copied());
        assert_eq!(all(&[]), None);
        assert_eq!(all(&[StaxNative]), Some(StaxNative));
        assert_eq!(all(&[Custom, StaxNative]), Some(Custom));
        assert_eq!(all(&[Custom, Eager, StaxNative]), Some(Eager));
        assert_eq!(all(&[TileVm, Custom]), Some(TileVm));
    }
}
