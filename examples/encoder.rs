//! A pre-norm transformer encoder of width 64, its layer compiled once as a region: its result against PyTorch's, from
//! weights loaded by name.
//!
//! `cargo run --release --example encoder`

use tensorplay::nn::VarBuilder;
use tensorplay::{Error, Result, safetensors};

#[tensorplay::model]
mod encoder {
    use tensorplay::nn::{LayerNorm, Linear, MultiheadAttention, VarBuilder};
    use tensorplay::prelude::*;
    use tensorplay::{Result, compile, nested_compile_region};

    /// PyTorch's `nn.TransformerEncoderLayer` with `norm_first`, `batch_first` and exact GELU.
    pub struct Layer {
        norm1: LayerNorm,
        attention: MultiheadAttention,
        norm2: LayerNorm,
        up: Linear,
        down: Linear,
    }

    impl Layer {
        pub fn load(vb: &VarBuilder, dim: usize, heads: usize, hidden: usize) -> Result<Self> {
            Ok(Self {
                norm1: LayerNorm::load(&vb.pp("norm1"), dim, 1e-5)?,
                attention: MultiheadAttention::load(&vb.pp("self_attn"), dim, heads)?,
                norm2: LayerNorm::load(&vb.pp("norm2"), dim, 1e-5)?,
                up: Linear::load(&vb.pp("linear1"), dim, hidden)?,
                down: Linear::load(&vb.pp("linear2"), hidden, dim)?,
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

    /// Layers one after another.
    pub struct Encoder {
        layers: Vec<Layer>,
    }

    impl Encoder {
        pub fn new(layers: Vec<Layer>) -> Self {
            Self { layers }
        }

        /// `[batch, time, dim]` to `[batch, time, dim]`.
        #[compile(fullgraph)]
        pub fn forward(&self, x: &Tensor) -> Tensor {
            let mut h = x.clone();
            for layer in &self.layers {
                h = layer.forward(&h);
            }
            h
        }
    }
}

fn main() -> Result<()> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/examples/data/encoder_d64.safetensors"
    );
    let data = safetensors::load(path)?;
    let layer = encoder::Layer::load(&VarBuilder::from_safetensors(path)?, 64, 4, 256)?;
    let encoder = encoder::Encoder::new(vec![layer]);

    let (got, right) = (encoder.forward(&data["input"]), &data["output"]);
    let error = (&got - right).abs().max_all().item::<f32>() / right.abs().max_all().item::<f32>();
    println!("max error / max value {error:.2e}");
    if error.is_nan() || error > 1e-4 {
        return Err(Error::msg("the result is not that of PyTorch"));
    }
    Ok(())
}
