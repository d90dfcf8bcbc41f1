use tensorplay::compile;

mod other {
    pub struct Tensor;

    impl Tensor {
        pub fn relu(&self) -> tensorplay::Tensor {
            unimplemented!()
        }
    }
}
use other::Tensor as Fake;

mod inner {
    use super::Fake as Tensor;

    #[super::compile]
    pub fn in_a_tuple(pair: &(tensorplay::Tensor, Tensor)) -> tensorplay::Tensor {
        pair.1.relu()
    }

    #[super::compile]
    pub fn in_an_option(x: Option<&Tensor>) -> tensorplay::Tensor {
        match x {
            Some(x) => x.relu(),
            None => tensorplay::Tensor::zeros(2, tensorplay::DType::F32),
        }
    }
}

fn main() {
    let _ = (inner::in_a_tuple, inner::in_an_option);
}
