//! Lists that grow in a loop whose length only a call knows.

use crate::check::iota;
use net::{Block, Net};
use tensorplay::{compile, explain, prelude::*};

#[tensorplay::model]
mod net {
    use tensorplay::{compile, nested_compile_region, prelude::*};

    pub struct Block {
        pub w: Tensor,
    }

    impl Block {
        #[nested_compile_region]
        pub fn forward(&self, x: &Tensor) -> Tensor {
            x.matmul(&self.w).relu()
        }
    }

    pub struct Net {
        pub blocks: Vec<Block>,
    }

    impl Net {
        #[compile(fullgraph)]
        pub fn features(&self, x: &Tensor) -> Vec<Tensor> {
            let mut all = Vec::with_capacity(self.blocks.len());
            let mut h = x.clone();
            for block in &self.blocks {
                h = block.forward(&h);
                all.push(h.clone());
            }
            all
        }
    }
}

#[test]
fn features_of_every_depth() {
    let x = iota(&[2, 4]);
    for depth in [1, 2, 6, 0] {
        let net = Net {
            blocks: (0..depth)
                .map(|_| Block {
                    w: iota(&[4, 4]) * 0.25 - 2.0,
                })
                .collect(),
        };
        let features = against_body!(net.features(&x));
        assert_eq!(features.len(), depth);
    }
    let e = explain!(Net::features);
    assert_eq!(e.entries.len(), 4, "a length is part of the key: {e}");
}

#[test]
fn tensors_are_collected() {
    #[compile(fullgraph)]
    fn stacked(xs: &Tensor) -> Tensor {
        let mut rows = Vec::new();
        for t in 0..xs.dim(0) {
            rows.push(xs.select(0, t).cumsum(0));
        }
        Tensor::stack(&rows, 1)
    }
    #[compile(fullgraph)]
    fn joined(xs: &Tensor, h: &Tensor) -> (Tensor, Tensor) {
        let mut h = h.clone();
        let mut states = Vec::with_capacity(xs.dim(0) + 1);
        states.push(h.clone());
        for t in 0..xs.dim(0) {
            h += xs.narrow(0, t, 1);
            states.push(h.clone());
        }
        (Tensor::cat(&states, 0), h)
    }
    for n in [1, 2, 5] {
        assert_eq!(against_body!(stacked(&iota(&[n, 3]))).shape(), [3, n]);
        let (all, last) = against_body!(joined(&iota(&[n, 2]), &iota(&[1, 2])));
        assert_eq!((all.shape(), last.shape()), (&[n + 1, 2][..], &[1, 2][..]));
    }
    let (all, _) = joined(&iota(&[0, 2]), &iota(&[1, 2]));
    assert_eq!(all.to_vec::<f32>(), [0.0, 1.0], "no step");
}

#[test]
fn a_list_that_starts_with_something_and_grows_in_no_step() {
    #[compile(fullgraph)]
    fn joined(x: &Tensor, n: usize) -> Tensor {
        let mut v = vec![x.clone()];
        for _ in 0..n {
            v.push(x * 2.0);
        }
        Tensor::cat(&v, 0)
    }
    #[compile(fullgraph)]
    fn around(x: &Tensor, n: usize) -> (Tensor, Tensor, Vec<Tensor>) {
        let mut v = vec![x + 1.0];
        for i in 1..n {
            v.push(x * i as f64);
        }
        v.push(x.exp());
        (Tensor::stack(&v, 1), Tensor::cat(&v, -1), v)
    }
    let x = iota(&[2, 3]);
    for n in 0..4 {
        against_body!(joined(&x, n));
        against_body!(around(&x, n));
    }
}

#[tensorplay::model]
mod mapped {
    use tensorplay::{compile, prelude::*};

    pub struct Head {
        pub w: Tensor,
        pub on: bool,
    }

    pub struct Heads {
        pub heads: Vec<Head>,
    }

    impl Heads {
        #[compile(fullgraph)]
        pub fn forward(&self, x: &Tensor, xs: &[Tensor]) -> (Tensor, Vec<Tensor>) {
            let each: Vec<Tensor> = self
                .heads
                .iter()
                .zip(xs)
                .map(|(head, x)| if head.on { x.matmul(&head.w) } else { x.clone() })
                .collect();
            let steps = (0..x.dim(0))
                .map(|i| x.select(0, i) * i as f64)
                .collect::<Vec<_>>();
            let known = [x, &(x * 2.0)].iter().map(|x| x.exp()).collect::<Vec<Tensor>>();
            let joined = Tensor::stack(&steps, 0) + &known[0] + &known[1];
            (joined, each)
        }
    }
}

#[test]
fn iterators_that_are_mapped_and_collected() {
    use mapped::{Head, Heads};
    for n in 0..4 {
        let heads = (0..n)
            .map(|i| Head {
                w: iota(&[2, 2]) * i as f64,
                on: i % 2 == 0,
            })
            .collect();
        let net = Heads { heads };
        let xs: Vec<Tensor> = (0..n).map(|i| iota(&[1, 2]) - i as f64).collect();
        let x = iota(&[3, 2]) * 0.1;
        let (joined, each) = against_body!(net.forward(&x, &xs));
        assert_eq!((joined.shape(), each.len()), (&[3, 2][..], n));
    }
}
