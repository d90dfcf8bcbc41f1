use tensorplay::{compile, prelude::*};

fn main() {
    // no test stands inside of a body
    #[compile(self_test)]
    fn inside(x: &Tensor) -> Tensor {
        x.exp()
    }
    inside(&Tensor::ones(3, DType::F32));
}
