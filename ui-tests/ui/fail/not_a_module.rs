//! `#[model]` on something else than a module.

use tensorplay::Tensor;

#[tensorplay::model]
pub struct Net {
    w: Tensor,
}

#[tensorplay::model(name = "net")]
mod named {}

fn main() {
    // the struct is there
    let net = Net {
        w: Tensor::from_slice(&[1f32], 1),
    };
    println!("{}", net.w);
}
