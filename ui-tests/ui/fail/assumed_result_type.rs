use std::rc::Rc;
use tensorplay::{assume_constant_result, prelude::*};

struct Table {
    rows: Tensor,
}

#[assume_constant_result]
fn not_clone() -> Table {
    Table { rows: Tensor::from_slice(&[1.0f32], 1) }
}

#[assume_constant_result]
fn not_of_all_threads() -> Rc<Tensor> {
    Rc::new(not_clone().rows)
}

#[assume_constant_result]
fn fallible() -> tensorplay::Result<Tensor> {
    Ok(not_clone().rows)
}

fn main() {
    let _ = not_of_all_threads();
    let _ = fallible();
}
