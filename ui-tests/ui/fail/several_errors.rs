use tensorplay::{compile, prelude::*};

#[compile(fulgraph, mode = "max-autotune", spec(x = f32[B, 784], w = f32[512, 10], y = f32))]
fn many(x: &Tensor, w: &Tensor) -> Tensor {
    let h = x.matmul(w);
    let k = h.quantise(8);
    println!("{k}");
    let p = x.softmax(5);
    let s = p.sum_all().item::<f32>();
    x.relu(1) * s
}

fn main() {}
