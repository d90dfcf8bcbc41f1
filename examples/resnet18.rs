//! ResNet-18 as torchvision has it, at width 8: logits against PyTorch's, from weights loaded by name.
//!
//! `cargo run --release --example resnet18`

use tensorplay::nn::VarBuilder;
use tensorplay::{Error, Result, safetensors};

#[tensorplay::model]
mod resnet {
    use tensorplay::Result;
    use tensorplay::nn::{BatchNorm2d, Conv2d, Linear, VarBuilder};
    use tensorplay::prelude::*;
    use tensorplay::{compile, nested_compile_region};

    pub struct Shortcut {
        conv: Conv2d,
        norm: BatchNorm2d,
    }

    pub struct Block {
        conv1: Conv2d,
        norm1: BatchNorm2d,
        conv2: Conv2d,
        norm2: BatchNorm2d,
        shortcut: Option<Shortcut>,
    }

    impl Block {
        fn load(vb: &VarBuilder, cin: usize, cout: usize, stride: usize) -> Result<Self> {
            let pad = Conv2dOptions::default().padding(1);
            let shortcut = if stride != 1 || cin != cout {
                let one = Conv2dOptions::default().stride(stride);
                Some(Shortcut {
                    conv: Conv2d::load(&vb.pp("downsample.0"), cin, cout, 1, one)?,
                    norm: BatchNorm2d::load(&vb.pp("downsample.1"), cout)?,
                })
            } else {
                None
            };
            Ok(Self {
                conv1: Conv2d::load(&vb.pp("conv1"), cin, cout, 3, pad.stride(stride))?,
                norm1: BatchNorm2d::load(&vb.pp("bn1"), cout)?,
                conv2: Conv2d::load(&vb.pp("conv2"), cout, cout, 3, pad)?,
                norm2: BatchNorm2d::load(&vb.pp("bn2"), cout)?,
                shortcut,
            })
        }

        #[nested_compile_region]
        pub fn forward(&self, x: &Tensor) -> Tensor {
            let h = self.norm1.forward(&self.conv1.forward(x)).relu();
            let h = self.norm2.forward(&self.conv2.forward(&h));
            match &self.shortcut {
                Some(s) => (h + s.norm.forward(&s.conv.forward(x))).relu(),
                None => (h + x).relu(),
            }
        }
    }

    pub struct ResNet {
        stem: Conv2d,
        norm: BatchNorm2d,
        blocks: Vec<Block>,
        head: Linear,
    }

    impl ResNet {
        /// Four layers of two blocks; the width doubles and the image halves from layer to layer.
        pub fn load(vb: &VarBuilder, width: usize, classes: usize) -> Result<Self> {
            let stem = Conv2dOptions::default().stride(2).padding(3);
            let mut blocks = Vec::new();
            let mut cin = width;
            for layer in 0..4 {
                let cout = width << layer;
                for block in 0..2 {
                    let stride = if layer > 0 && block == 0 { 2 } else { 1 };
                    let vb = vb.pp(format!("layer{}.{block}", layer + 1));
                    blocks.push(Block::load(&vb, cin, cout, stride)?);
                    cin = cout;
                }
            }
            Ok(Self {
                stem: Conv2d::load(&vb.pp("conv1"), 3, width, 7, stem)?,
                norm: BatchNorm2d::load(&vb.pp("bn1"), width)?,
                blocks,
                head: Linear::load(&vb.pp("fc"), cin, classes)?,
            })
        }

        #[compile(fullgraph)]
        pub fn forward(&self, x: &Tensor) -> Tensor {
            let mut h = self.norm.forward(&self.stem.forward(x)).relu();
            h = h.max_pool2d(PoolOptions::new(3).stride(2).padding(1));
            for block in &self.blocks {
                h = block.forward(&h);
            }
            self.head.forward(&h.adaptive_avg_pool2d((1, 1)).flatten(1, -1))
        }
    }
}

fn main() -> Result<()> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/examples/data/resnet18_w8.safetensors"
    );
    let data = safetensors::load(path)?;
    let net = resnet::ResNet::load(&VarBuilder::from_safetensors(path)?, 8, 10)?;

    let (got, right) = (net.forward(&data["input"]), &data["logits"]);
    let error = (&got - right).abs().max_all().item::<f32>() / right.abs().max_all().item::<f32>();
    println!("max error / max value {error:.2e}");
    if error.is_nan() || error > 1e-4 {
        return Err(Error::msg("the logits are not those of PyTorch"));
    }
    Ok(())
}
