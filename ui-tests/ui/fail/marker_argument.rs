use tensorplay::{allow_in_graph, disable, prelude::*, substitute_in_graph};

#[disable(recursive = 3, reason = prints)]
fn types(x: &Tensor) -> Tensor {
    x.relu()
}

#[disable(recursiv = false, why = "it prints", "it prints")]
fn names(x: &Tensor) -> Tensor {
    x.relu()
}

#[disable(recursive = false, recursive = true)]
fn twice(x: &Tensor) -> Tensor {
    x.relu()
}

#[allow_in_graph(reason = "loops")]
fn none_taken(x: &Tensor) -> Tensor {
    x.relu()
}

#[substitute_in_graph(types, skip_signature_chek = true)]
fn substitute(x: &Tensor) -> Tensor {
    x.relu()
}

fn main() {}
