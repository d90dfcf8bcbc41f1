//! Parameters and receivers of every form in functions with graph breaks.

use super::{same, tensor};
use tensorplay::{Error, Result, compile, compiler, explain, prelude::*};

fn note(n: usize) {
    std::hint::black_box(n);
}

#[compile]
fn step(state: &mut Tensor, x: &Tensor, w: &Tensor) -> Tensor {
    let h = (&*state + x).tanh();
    note(h.dim(0));
    *state = h.matmul(w).relu();
    note(state.dim(0));
    *state = &*state * 0.5;
    state.exp()
}

#[test]
fn what_a_unique_reference_refers_to_is_read_and_written_in_segments() {
    let (x, w) = (tensor(&[2, 2]), tensor(&[2, 2]));
    let (mut compiled, mut plain) = (x.clone(), x.clone());
    for _ in 0..3 {
        let y = step(&mut compiled, &x, &w);
        let right = compiler::disable_capture(|| step(&mut plain, &x, &w));
        same(&y, &right);
        same(&compiled, &plain);
    }
    let report = explain!(step);
    assert_eq!((report.breaks.len(), report.fallbacks.len()), (2, 0), "{report}");
    assert_eq!(report.graphs.len(), 3, "{report}");
    let writes: Vec<usize> = report.graphs.iter().map(|g| g.writes.len()).collect();
    assert_eq!(writes, [0, 1, 1], "{report}");
}

#[compile]
fn counted(cache: &mut (Tensor, Tensor), n: &mut usize, x: &Tensor) -> Result<()> {
    *n += 1;
    cache.0 = (x * 2.0).exp();
    if *n > 2 {
        return Err(Error::msg("too often"));
    }
    note(*n);
    cache.1 = &cache.0 + 1.0;
    Ok(())
}

#[test]
fn parts_of_a_tuple_behind_a_reference() {
    let x = tensor(&[3]);
    let run = |cache: &mut (Tensor, Tensor), n: &mut usize| counted(cache, n, &x).map_err(|e| e.to_string());
    let (mut a, mut b) = ((x.clone(), x.clone()), (x.neg(), x.neg()));
    let (mut n, mut m) = (0, 0);
    for _ in 0..3 {
        let got = run(&mut a, &mut n);
        assert_eq!(got, compiler::disable_capture(|| run(&mut b, &mut m)));
        assert_eq!(n, m);
        same(&a.0, &b.0);
    }
    same(&a.1, &b.1);
    assert_eq!(explain!(counted).graphs.len(), 2, "{}", explain!(counted));
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Plain,
    Squared,
}

#[compile]
fn optional(x: &Tensor, bias: Option<&Tensor>, pair: (Tensor, f32), kind: Kind) -> Tensor {
    let y = match bias {
        Some(b) => x.exp() + b,
        None => x.exp(),
    };
    note(y.dim(0));
    let (scale, k) = pair;
    let z = match kind {
        Kind::Plain => y * &scale,
        Kind::Squared => (y * &scale).square(),
    };
    note(z.dim(0));
    drop(scale);
    z.tanh() * k
}

#[test]
fn options_tuples_and_enums() {
    let (x, b) = (tensor(&[3]), tensor(&[3]));
    for bias in [None, Some(&b)] {
        for kind in [Kind::Plain, Kind::Squared, Kind::Plain] {
            let run = || optional(&x, bias, (b.clone(), 0.5), kind);
            same(&run(), &compiler::disable_capture(run));
        }
    }
    let report = explain!(optional);
    assert_eq!(report.breaks.len(), 2, "{report}");
    assert_eq!(report.calls.dispatched, 18, "{report}");
}

#[compile]
fn parts_that_moved(pair: (Tensor, Tensor)) -> Tensor {
    let a = pair.0;
    let n = std::hint::black_box(a);
    note(n.dim(0));
    pair.1.exp() + &n
}

#[test]
fn a_segment_reads_no_part_that_moved() {
    let run = || parts_that_moved((tensor(&[2]), tensor(&[2])));
    same(&run(), &compiler::disable_capture(run));
    assert_eq!(explain!(parts_that_moved).graphs.len(), 1);
}

#[compile]
fn scaled<const N: usize>(x: &Tensor) -> Tensor {
    let y = x * (N as f64);
    note(y.dim(0));
    y.narrow(0, 0, N).exp()
}

#[test]
fn const_parameters_are_numbers_of_segments() {
    let x = tensor(&[4]);
    same(&scaled::<2>(&x), &((&x * 2.0).narrow(0, 0, 2).exp()));
    same(&scaled::<3>(&x), &((&x * 3.0).narrow(0, 0, 3).exp()));
    assert_eq!(explain!(scaled::<2>).graphs.len(), 2);
}

#[tensorplay::model]
mod net {
    use tensorplay::{compile, nested_compile_region, nn::Linear, prelude::*};

    pub struct Block {
        pub w: Tensor,
        pub scale: f64,
    }

    impl Block {
        fn scaled(&self, x: &Tensor) -> Tensor {
            x.matmul(&self.w) * self.scale
        }

        #[nested_compile_region]
        pub fn region(&self, x: &Tensor) -> Tensor {
            self.scaled(x).relu()
        }
    }

    pub struct Net {
        pub blocks: Vec<Block>,
        pub last: Option<Block>,
    }

    impl Net {
        #[compile]
        pub fn forward(&self, x: &Tensor) -> Tensor {
            let mut h = x.exp();
            for b in &self.blocks {
                h = b.region(&h) + x;
            }
            super::note(h.dim(0));
            let y = match &self.last {
                Some(b) => b.scaled(&h),
                None => h,
            };
            println!("{}", y.dim(0));
            self.blocks[0].scaled(&y).tanh()
        }
    }

    pub struct Head {
        pub linear: Linear,
    }

    impl Head {
        #[compile]
        pub fn forward(&self, x: &Tensor) -> Tensor {
            let y = self.linear.forward(x).relu();
            super::note(y.dim(0));
            self.linear.forward(&y).tanh()
        }
    }
}

#[test]
fn methods_of_models() {
    let block = |scale| net::Block {
        w: tensor(&[2, 2]),
        scale,
    };
    let x = tensor(&[3, 2]);
    for (n, last) in [(1, false), (3, true), (1, true)] {
        let net = net::Net {
            blocks: (0..n).map(|i| block(0.5 + i as f64)).collect(),
            last: last.then(|| block(0.1)),
        };
        let run = || net.forward(&x);
        same(&run(), &compiler::disable_capture(run));
    }
    let report = explain!(net::Net::forward);
    assert_eq!(report.breaks.len(), 2, "{report}");
    assert!(report.graphs.len() >= 3, "{report}");
}

#[test]
fn methods_of_models_with_layers_of_others() {
    let head = net::Head {
        linear: tensorplay::nn::Linear::new(2, 2),
    };
    let x = tensor(&[3, 2]);
    let run = || head.forward(&x);
    same(&run(), &compiler::disable_capture(run));
    let report = explain!(net::Head::forward);
    assert_eq!((report.breaks.len(), report.graphs.len()), (1, 2), "{report}");
}
