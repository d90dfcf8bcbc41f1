use tensorplay::{compile, prelude::*};

#[compile(fullgraph, nam = "many", mode = "max-autotune", spec(x = f32[B, 784], w = f32[512, 10]))]
fn many(x: &Tensor, w: &Tensor) -> Tensor {
    let h = x.matmul(w);
    let k = h.quantise(8);
    println!("{k}");
    let p = x.softmax(5);
    let s = p.sum_all().item::<f32>();
    x.relu(1) * s
}

// a spec that is wrong hides nothing that the others show
#[compile(fullgraph, spec(x = f32[B, 784], w = f32[512, 10], y = f32))]
fn beside_a_bad_spec(x: &Tensor, w: &Tensor, y: &Tensor) -> Tensor {
    x.matmul(w) + y
}

fn main() {}
