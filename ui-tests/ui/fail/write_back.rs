use tensorplay::{compile, prelude::*};

#[compile(fullgraph)]
fn a_number(x: &mut Tensor, n: &mut usize) {
    *n += 1;
    *x = x.exp();
}

#[compile(fullgraph)]
fn an_option(x: &Tensor, cache: &mut Option<Tensor>) {
    *cache = Some(x.exp());
}

#[compile(fullgraph)]
fn a_number_in_a_tuple(x: &Tensor, state: &mut (Tensor, f64)) {
    state.0 = x.exp();
    state.1 = 2.0;
}

#[compile(fullgraph)]
fn in_a_closure(x: &Tensor, state: &mut Tensor) -> Tensor {
    tensorplay::cond(
        &x.sum_all().gt(0.0),
        || {
            *state = x.exp();
            x.relu()
        },
        || x.exp(),
    )
}

#[compile(fullgraph)]
fn a_local(x: &Tensor) -> Tensor {
    let mut y = x.relu();
    let z = &mut y;
    *z = z.exp();
    y
}

fn main() {}
