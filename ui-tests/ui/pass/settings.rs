//! Every argument about calls, on functions, methods, models, segments and regions.
#![deny(warnings)]
#![forbid(unsafe_code)]

use tensorplay::compiler::{
    Backend, BackendCapabilities, BackendEntry, CompileOptions, Example, Executable,
    NestedCompileRegionOptions, disable_capture,
};
use tensorplay::graph::GraphModule;
use tensorplay::{Result, compile, explain, model, nested_compile_region, prelude::*};

fn as_is() -> Result<Box<dyn Backend>> {
    Ok(Box::new(
        |graph: &GraphModule, _: &[Example], _: &CompileOptions| {
            let graph = graph.clone();
            Ok(Box::new(move |inputs: &[Tensor]| graph.run(inputs)) as Box<dyn Executable>)
        },
    ))
}

static AS_IS: BackendEntry = BackendEntry {
    name: "as_is",
    tags: &[],
    capabilities: BackendCapabilities::new(),
    make: as_is,
};

#[compile(
    fullgraph,
    name = "all",
    backend = AS_IS,
    options(depth = 3, order = "rows"),
    recompile_limit = 4,
    self_test,
    spec(x = f32[B, 4])
)]
fn all(x: &Tensor) -> Tensor {
    x.exp()
}

#[compile(options(native = false, fusion, emulate_precision_casts = false, cudagraphs))]
fn options(x: &Tensor) -> Tensor {
    x.exp()
}

#[compile(mode = "max-autotune-no-cudagraphs", self_test, spec(x = f32[_, 4]))]
fn mode(x: &Tensor) -> Tensor {
    x.exp()
}

struct Layer {
    w: Tensor,
}

#[compile(isolate_recompiles, recompile_limit = 2)]
impl Layer {
    fn forward(&self, x: &Tensor) -> Tensor {
        x * &self.w
    }
}

fn looked_at(_: &Tensor) {}

impl Layer {
    #[compile(isolate_recompiles)]
    fn lent(&mut self, x: &Tensor) -> Tensor {
        let w = &mut self.w;
        let h = x.exp();
        looked_at(w);
        h.relu()
    }

    #[compile(isolate_recompiles, strict_native)]
    fn taken(self, x: &Tensor) -> Tensor {
        let h = x.exp();
        let w = self.w;
        looked_at(&w);
        h.relu()
    }

    #[compile(isolate_recompiles)]
    #[allow(clippy::boxed_local)]
    fn boxed(self: Box<Self>, x: &Tensor) -> Tensor {
        let h = x.exp();
        looked_at(&self.w);
        h.relu()
    }

    #[compile(isolate_recompiles)]
    fn nothing_captured(&mut self) {
        looked_at(&self.w);
    }
}

static HERE: NestedCompileRegionOptions = NestedCompileRegionOptions {
    fw_compiler: None,
    bw_compiler: None,
};

#[nested_compile_region(options = HERE, max_reuse_entries = 2)]
fn region(x: &Tensor) -> Tensor {
    x.exp()
}

#[model]
mod net {
    use super::{AS_IS, HERE};
    use tensorplay::{compile, nested_compile_region, prelude::*};

    pub struct Net {
        pub w: Tensor,
    }

    impl Net {
        #[nested_compile_region(options = HERE)]
        fn part(&self, x: &Tensor) -> Tensor {
            x * &self.w
        }

        #[compile(backend = AS_IS, isolate_recompiles, recompile_limit = 2)]
        pub fn forward(&self, x: &Tensor, more: &[Tensor]) -> Tensor {
            let mut h = self.part(x);
            for m in more {
                h += m;
            }
            h
        }

        #[compile(self_test, spec(x = f32[B, 4]))]
        pub fn free(x: &Tensor) -> Tensor {
            x.exp()
        }
    }
}

#[track_caller]
fn same(f: impl Fn() -> Tensor) {
    let (compiled, plain) = (f(), disable_capture(&f));
    assert!(compiled.allclose(&plain, 1e-6, 1e-6), "{compiled} != {plain}");
}

fn main() {
    let x = Tensor::ones((3, 4), DType::F32);
    same(|| all(&x));
    assert_eq!(explain!(all).entries[0].backend, "as_is");
    same(|| options(&x));
    same(|| mode(&x));
    same(|| region(&x));
    let layer = || Layer {
        w: Tensor::ones(4, DType::F32),
    };
    same(|| layer().forward(&x));
    same(|| layer().lent(&x));
    same(|| Box::new(layer()).boxed(&x));
    layer().nothing_captured();
    if std::env::var_os("TENSORPLAY_KERNELS").is_none() && std::env::var_os("TENSORPLAY_ISA").is_none() {
        same(|| layer().taken(&x));
    }
    let net = net::Net {
        w: Tensor::ones(4, DType::F32),
    };
    same(|| net.forward(&x, &[x.clone(), x.clone()]));
    same(|| net::Net::free(&x));
    assert_eq!(explain!(net::Net::forward).entries.len(), 1);
}
