//! Forms that people write and that no list of supported forms names outright: mixed tuples, optional pairs, enums as
//! fields, parameters that only host code reads.

use crate::check::{iota, v};
use tensorplay::{compile, explain, prelude::*};

#[test]
fn a_tuple_of_a_tensor_and_a_number() {
    #[compile(fullgraph)]
    fn f((x, n): (&Tensor, usize), scale: &(f64, Tensor)) -> Tensor {
        x.narrow(0, 0, n) * scale.0 + &scale.1
    }
    let x = iota(&[4]);
    for n in [1, 3] {
        against_body!(f((&x, n), &(0.5, v(&[7.0]))));
    }
}

#[test]
fn optional_values() {
    #[compile(fullgraph)]
    fn f(x: &Tensor, w: Option<Tensor>, pair: Option<(&Tensor, f64)>, shift: Option<i64>) -> Tensor {
        let y = match w {
            Some(w) => x * w,
            None => x.clone(),
        };
        let y = match pair {
            Some((b, scale)) => y + b * scale,
            None => y,
        };
        if let Some(shift) = shift { y + shift } else { y }
    }
    let x = v(&[1.0, 2.0]);
    for w in [None, Some(v(&[3.0, 4.0]))] {
        for pair in [None, Some((&x, 0.5))] {
            for shift in [None, Some(3)] {
                against_body!(f(&x, w.clone(), pair, shift));
            }
        }
    }
    assert_eq!(explain!(f).calls.dispatched, 8);
}

#[test]
fn a_parameter_that_only_host_code_reads() {
    #[compile]
    fn f(x: &Tensor, text: &str) -> std::result::Result<Tensor, Box<dyn std::error::Error>> {
        let y = x + 1.0;
        let scale: f64 = text.parse()?;
        Ok(y * scale)
    }
    let x = v(&[1.0, 2.0]);
    assert_eq!(f(&x, "2.5").expect("a number").to_vec::<f32>(), [5.0, 7.5]);
    f(&x, "two").expect_err("no number");
}

#[tensorplay::model]
mod net {
    use tensorplay::{compile, prelude::*};

    #[derive(Clone, Copy, PartialEq, Eq)]
    pub enum Act {
        Relu,
        Square,
    }

    fn activate(x: &Tensor, act: Act) -> Tensor {
        match act {
            Act::Relu => x.relu(),
            Act::Square => x.square(),
        }
    }

    pub struct Layer {
        pub w: Tensor,
        pub act: Act,
        pub slope: Option<f64>,
        pub size: (usize, usize),
    }

    impl Layer {
        #[compile(fullgraph)]
        pub fn forward(&self, x: &Tensor) -> Tensor {
            let y = activate(&x.matmul(&self.w), self.act);
            let y = match self.slope {
                Some(slope) => y * slope,
                None => y,
            };
            activate(&y.reshape((self.size.0, self.size.1)), Act::Relu)
        }
    }
}

#[test]
fn enums_optional_numbers_and_tuples_as_fields() {
    for act in [net::Act::Relu, net::Act::Square] {
        for slope in [None, Some(0.5)] {
            for size in [(1, 4), (2, 2)] {
                let layer = net::Layer {
                    w: iota(&[2, 2]) - 2.0,
                    act,
                    slope,
                    size,
                };
                against_body!(layer.forward(&iota(&[2, 2])));
            }
        }
    }
    assert_eq!(explain!(net::Layer::forward).calls.dispatched, 8);
}
