//! A pre-norm transformer encoder whose layer is a region, at depths 1, 2 and 12: kernels, macro time, first and later calls.
//!
//! `cargo bench --bench regions`; macro times are those of a `cargo check` in the dev profile.

mod times;

use std::hint::black_box;
use std::time::Instant;
use tensorplay::prelude::*;
use tensorplay::{compiler, explain, nn};

#[tensorplay::model]
mod encoder {
    use tensorplay::nn::{LayerNorm, Linear, MultiheadAttention, VarBuilder};
    use tensorplay::prelude::*;
    use tensorplay::{Result, compile, nested_compile_region};

    pub struct Layer {
        norm1: LayerNorm,
        attention: MultiheadAttention,
        norm2: LayerNorm,
        up: Linear,
        down: Linear,
    }

    impl Layer {
        pub fn load(vb: &VarBuilder) -> Result<Self> {
            Ok(Self {
                norm1: LayerNorm::load(&vb.pp("norm1"), 64, 1e-5)?,
                attention: MultiheadAttention::load(&vb.pp("self_attn"), 64, 4)?,
                norm2: LayerNorm::load(&vb.pp("norm2"), 64, 1e-5)?,
                up: Linear::load(&vb.pp("linear1"), 64, 256)?,
                down: Linear::load(&vb.pp("linear2"), 256, 64)?,
            })
        }

        #[nested_compile_region]
        pub fn forward(&self, x: &Tensor) -> Tensor {
            let h = self.norm1.forward(x);
            let x = x + self.attention.forward(&h, &h, &h, None);
            let h = self.up.forward(&self.norm2.forward(&x)).gelu();
            x + self.down.forward(&h)
        }
    }

    pub struct Encoder {
        layers: Vec<Layer>,
    }

    impl Encoder {
        pub fn load(vb: &VarBuilder, depth: usize) -> Result<Self> {
            let layers = (0..depth).map(|_| Layer::load(vb)).collect::<Result<_>>()?;
            Ok(Self { layers })
        }

        #[compile(fullgraph)]
        pub fn depth_1(&self, x: &Tensor) -> Tensor {
            self.layers[0].forward(x)
        }

        #[compile(fullgraph)]
        pub fn depth_2(&self, x: &Tensor) -> Tensor {
            let mut x = x.clone();
            for i in 0..2 {
                x = self.layers[i].forward(&x);
            }
            x
        }

        #[compile(fullgraph)]
        pub fn depth_12(&self, x: &Tensor) -> Tensor {
            let mut x = x.clone();
            for i in 0..12 {
                x = self.layers[i].forward(&x);
            }
            x
        }

        #[compile(fullgraph)]
        pub fn any_depth(&self, x: &Tensor) -> Tensor {
            let mut x = x.clone();
            for layer in &self.layers {
                x = layer.forward(&x);
            }
            x
        }
    }
}

use encoder::{Encoder, Layer};

fn microseconds(f: impl FnOnce() -> Tensor) -> f64 {
    let start = Instant::now();
    black_box(f());
    start.elapsed().as_secs_f64() * 1e6
}

/// The first call, the median of later ones, and both values within rounding of the plain one.
fn calls(name: &str, f: &dyn Fn() -> Tensor) {
    let first = microseconds(f);
    let mut later: Vec<f64> = (0..51).map(|_| microseconds(f)).collect();
    later.sort_by(f64::total_cmp);
    println!("figure regions.first_call_us.{name} {first:.0} us");
    println!("figure regions.call_us.{name} {:.0} us", later[later.len() / 2]);
    let plain = compiler::disable_capture(f);
    assert!(f().allclose(&plain, 1e-4, 1e-4), "{name} is not its body");
}

fn main() -> tensorplay::Result<()> {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/examples/data/encoder_d64.safetensors"
    );
    let vb = nn::VarBuilder::from_safetensors(file)?;
    let x = Tensor::rand((1, 16, 64), DType::F32);
    let net = Encoder::load(&vb, 12)?;
    calls("1", &|| net.depth_1(&x));
    calls("2", &|| net.depth_2(&x));
    calls("12", &|| net.depth_12(&x));
    calls("any_12", &|| net.any_depth(&x));

    let layer = explain!(Layer::forward).kernels.len();
    let counts = [
        ("1", explain!(Encoder::depth_1)),
        ("2", explain!(Encoder::depth_2)),
        ("12", explain!(Encoder::depth_12)),
        ("any_12", explain!(Encoder::any_depth)),
    ];
    for (name, e) in &counts {
        let n = layer + e.kernels.len();
        println!("figure regions.kernels.{name} {n}");
        assert_eq!(n, layer, "kernels of the layer are in the function:\n{e}");
    }

    if let Some(lines) = times::of_check("bench", "regions", "benches/regions/main.rs") {
        for name in ["1", "2", "12"] {
            let ms = times::of_item(&lines, &format!("depth_{name}"));
            println!("figure regions.build_ms.{name} {ms:.1} ms");
        }
        println!("figure regions.build_ms.all {:.1} ms", times::sum(&lines));
    }
    if let Some(lines) = times::of_check("example", "resnet18", "examples/resnet18.rs") {
        println!("figure macros.resnet_ms {:.1} ms", times::sum(&lines));
    }
    Ok(())
}
