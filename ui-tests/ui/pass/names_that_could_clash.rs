//! The expansion is hygienic: the user's names may be anything, in any scope.
#![deny(warnings)]
#![forbid(unsafe_code)]
#![allow(non_camel_case_types, dead_code)]

use tensorplay::{compile, prelude::*};

// names that a careless expansion would pick up
struct Some_;
mod core {}
mod std {}
mod strip {}
enum Option {}
enum Result {}
fn take() {}
fn witness() {}
fn raise() {}

#[compile]
fn f(r: &Tensor, o: &Tensor, e: &Tensor, call: &Tensor) -> Tensor {
    let t = r + o;
    let strip = t * e;
    let function = strip - call;
    function.relu()
}

#[compile]
fn r#match(r#type: &Tensor, s: f32) -> Tensor {
    r#type * s
}

#[compile]
fn same_strip_names_a(x: &Tensor) -> Tensor {
    x.exp().tanh()
}

#[compile]
fn same_strip_names_b(x: &Tensor) -> Tensor {
    x.exp().tanh()
}

#[compile]
fn lifetimes<'a>(x: &'a Tensor, y: &'a Tensor) -> Tensor {
    x.maximum(y)
}

mod consts {
    #![allow(non_upper_case_globals)]
    use tensorplay::{Result, compile, prelude::*};

    // in a pattern, each is a value to compare with
    const r: i32 = 1;
    const o: i32 = 2;
    static e: i32 = 3;
    const n: i32 = 4;
    const i: i32 = 5;
    const args: i32 = 6;
    const rows: i32 = 7;
    const values: i32 = 8;
    const add: f32 = 9.0;
    const relu: f32 = 10.0;
    const eps: f64 = 0.5;
    const k: i64 = 3;

    #[compile]
    pub fn read(x: &Tensor) -> Tensor {
        (x + eps + k).relu();
        x + eps + k
    }

    #[compile]
    pub fn plain(x: &Tensor) -> Tensor {
        x.relu()
    }

    #[compile]
    pub fn fallible(x: &Tensor) -> Result<Tensor> {
        x.try_relu()
    }
}

fn main() {
    let x = Tensor::from_slice(&[1.0f32, 4.0], 2);
    assert_eq!(f(&x, &x, &x, &x).to_vec::<f32>(), [1.0, 28.0]);
    assert_eq!(r#match(&x, 0.5).to_vec::<f32>(), [0.5, 2.0]);
    assert_eq!(
        same_strip_names_a(&x).to_vec::<f32>(),
        same_strip_names_b(&x).to_vec::<f32>()
    );
    assert_eq!(consts::plain(&x).to_vec::<f32>(), [1.0, 4.0]);
    assert_eq!(consts::fallible(&x).unwrap().to_vec::<f32>(), [1.0, 4.0]);
    assert_eq!(lifetimes(&x, &x).to_vec::<f32>(), [1.0, 4.0]);
}
