//! `#[compile]` on an `impl`.

use crate::check::{iota, v};
use tensorplay::{Result, compile, explain, prelude::*};

struct Affine {
    w: Tensor,
    scale: f64,
}

#[compile(fullgraph)]
impl Affine {
    const SHIFT: f64 = 0.5;

    /// No tensor: as it is.
    fn scale(&self) -> f64 {
        self.scale
    }

    fn new(w: Tensor, scale: f64) -> Self {
        Affine { w, scale }
    }

    fn set(&mut self, w: &Tensor) {
        println!("{}", w.rank());
        self.w = w.clone();
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        x * &self.w * self.scale
    }

    fn shifted(&self, x: &Tensor, back: bool) -> Result<Tensor> {
        if back {
            x.try_sub(Self::SHIFT)
        } else {
            x.try_add(Self::SHIFT)
        }
    }

    fn halves(x: &Tensor) -> (Tensor, Tensor) {
        let half = x.dim(0) / 2;
        (x.narrow(0, 0, half), x.narrow(0, half, half))
    }

    #[compile(fullgraph, spec(x = f32[2]))]
    fn pair(&self, x: &Tensor) -> Tensor {
        x + 1.0
    }

    #[compile(disable)]
    fn plain(&self, x: &Tensor) -> Tensor {
        println!("{x}");
        x.clone()
    }

    #[cfg(any())]
    fn other(&self, x: &Tensor) -> Tensor {
        x.exp() + MISSING
    }
}

#[test]
fn methods_and_associated_functions() {
    let mut affine = Affine::new(v(&[1.0, 2.0]), 3.0);
    let x = v(&[4.0, 5.0]);
    assert_eq!(against_body!(affine.forward(&x)).to_vec::<f32>(), [12.0, 30.0]);
    for back in [true, false] {
        against_body!(affine.shifted(&x, back)).expect("a tensor and a number");
    }
    against_body!(Affine::halves(&iota(&[4, 2])));
    affine.set(&x);
    assert_eq!(against_body!(affine.forward(&x)).to_vec::<f32>(), [48.0, 75.0]);
    assert_eq!(affine.plain(&affine.pair(&x)).to_vec::<f32>(), [5.0, 6.0]);
    assert_eq!(affine.scale(), 3.0);
    assert_eq!(explain!(Affine::forward).calls.dispatched, 2);
    assert_eq!(explain!(Affine::shifted).graphs.len(), 2);
    assert_eq!(explain!(Affine::halves).calls.dispatched, 1);
    assert!(
        explain!(Affine::pair).guards[0]
            .source()
            .contains("x.dim(0) == 2")
    );
}

#[tensorplay::model]
mod model {
    use tensorplay::{compile, prelude::*};

    pub struct Scaled {
        pub w: Vec<Tensor>,
    }

    #[compile(fullgraph)]
    impl Scaled {
        pub fn forward(&self, x: &Tensor) -> Tensor {
            let mut y = x.clone();
            for w in &self.w {
                y = scaled(&y, w);
            }
            Self::shifted(&y)
        }

        pub fn shifted(x: &Tensor) -> Tensor {
            x + 1.0
        }

        pub fn len(&self) -> usize {
            self.w.len()
        }
    }

    fn scaled(x: &Tensor, w: &Tensor) -> Tensor {
        x * w
    }
}

#[test]
fn inside_a_model() {
    let scaled = model::Scaled {
        w: vec![v(&[2.0]), v(&[3.0])],
    };
    assert_eq!(scaled.len(), 2);
    let y = against_body!(scaled.forward(&v(&[1.0, 2.0])));
    assert_eq!(y.to_vec::<f32>(), [7.0, 13.0]);
    against_body!(model::Scaled::shifted(&y));
    assert_eq!(explain!(model::Scaled::forward).calls.dispatched, 1);
    assert_eq!(explain!(model::Scaled::shifted).calls.dispatched, 1);
}
