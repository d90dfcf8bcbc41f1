//! Structs as results and as values, in a module whose structs capture sees.

use crate::check::{iota, v};
use net::{Block, Net};
use tensorplay::explain;

#[tensorplay::model]
mod net {
    use tensorplay::{Result, compile, nested_compile_region, prelude::*};

    #[derive(Clone, Debug)]
    pub struct Output {
        pub hidden: Tensor,
        pub r#type: (Tensor, Tensor),
        pub gate: Option<Tensor>,
        pub all: Vec<Tensor>,
    }

    #[derive(Clone, Debug)]
    pub struct Pair(pub Tensor, pub Tensor);

    impl Pair {
        fn sum(&self) -> Tensor {
            &self.0 + &self.1
        }

        fn turned(self) -> Self {
            Self(self.1, self.0)
        }
    }

    pub struct Block {
        pub w: Tensor,
    }

    impl Block {
        #[nested_compile_region]
        pub fn forward(&self, x: &Tensor) -> Pair {
            let h = x.matmul(&self.w);
            Pair(h.relu(), h.sum_keepdim(-1))
        }
    }

    fn split(x: &Tensor, gated: bool) -> Output {
        let gate = if gated { Some(x.sigmoid()) } else { None };
        let hidden = x.exp();
        Output {
            r#type: (x * 2.0, x * 3.0),
            all: vec![x.clone(), x.neg()],
            hidden,
            gate,
        }
    }

    pub struct Net {
        pub blocks: Vec<Block>,
    }

    impl Net {
        #[compile(fullgraph)]
        pub fn output(&self, x: &Tensor, gated: bool) -> Output {
            let Output {
                hidden,
                r#type: (a, _),
                ..
            } = split(x, gated);
            let mut out = split(&(hidden + a), gated);
            out.hidden += 1.0;
            out
        }

        #[compile(fullgraph)]
        pub fn through(&self, x: &Tensor) -> Result<Pair> {
            let mut h = x.clone();
            for block in &self.blocks {
                let pair = block.forward(&h);
                h = pair.sum();
            }
            let Pair(a, b) = self.blocks[0].forward(&h);
            let made = Pair(a.try_matmul(&self.blocks[0].w)?, b).turned();
            Ok(made)
        }
    }
}

#[test]
fn structs_are_results_and_values() {
    let net = Net {
        blocks: (0..3)
            .map(|i| Block {
                w: iota(&[3, 3]) * 0.1 - 0.1 * i as f64,
            })
            .collect(),
    };
    let x = iota(&[2, 3]) * 0.25;
    for gated in [false, true] {
        let shown = |o: net::Output| (o.hidden, (o.r#type, o.gate), o.all);
        let (hidden, (pair, gate), all) = against_body!(shown(net.output(&x, gated)));
        let base = x.exp() + &x * 2.0;
        assert_eq!(hidden.to_vec::<f32>(), (base.exp() + 1.0).to_vec::<f32>());
        assert_eq!(pair.1.to_vec::<f32>(), (&base * 3.0).to_vec::<f32>());
        assert_eq!(gate.is_some(), gated);
        assert_eq!(all.len(), 2);
    }
    let pair = |p: tensorplay::Result<net::Pair>| p.map(|p| (p.0, p.1));
    let (first, second) = against_body!(pair(net.through(&x))).expect("shapes fit");
    assert_eq!((first.shape(), second.shape()), (&[2, 1][..], &[2, 3][..]));
    let wrong = net.through(&v(&[1.0]));
    wrong.expect_err("1 column against 3 rows");
    assert!(explain!(Net::through).breaks.is_empty());
}
