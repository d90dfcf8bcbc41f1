//! A function with graph breaks, whose expansion is `early_exit.rs`.
use tensorplay::{compile, prelude::*};

#[compile]
fn early_exit(x: &Tensor, w: &Tensor, threshold: f32) -> Tensor {
    let mut h = x.matmul(w).relu();
    let rows = h.dim(0);
    let confidence = h.softmax(-1).max(-1).mean_all().item::<f32>();
    if confidence > threshold {
        return h.exp();
    }
    println!("{rows} rows, confidence {confidence}");
    h = (&h * confidence).gelu();
    println!("{h}");
    h.tanh()
}

fn main() {}
