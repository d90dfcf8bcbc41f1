use tensorplay::{explain, prelude::*};

fn plain(x: &Tensor) -> Tensor {
    x.relu()
}

fn main() {
    let _ = explain!(plain);
}
