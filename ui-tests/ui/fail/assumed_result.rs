use tensorplay::{assume_constant_result, prelude::*};

#[assume_constant_result]
fn borrowed(x: &Tensor) -> &Tensor {
    x
}

#[assume_constant_result]
fn of_any_type<T: Default>() -> T {
    T::default()
}

#[assume_constant_result]
fn hidden() -> impl Clone {
    8
}

fn main() {}
