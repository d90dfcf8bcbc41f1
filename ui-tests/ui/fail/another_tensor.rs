use tensorplay::compile;

struct Tensor(f32);

impl Tensor {
    fn relu(&self) -> Tensor {
        Tensor(self.0.max(0.0))
    }
}

#[compile]
fn activation(x: &Tensor) -> Tensor {
    x.relu()
}

fn main() {
    let _ = activation(&Tensor(1.0)).0;
}
