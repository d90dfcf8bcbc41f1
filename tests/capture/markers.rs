//! Functions with markers, called from captured code.

use crate::check::{iota, v};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tensorplay::{assume_constant_result, compile, disable, explain, prelude::*, substitute_in_graph};

fn slow(x: &Tensor) -> Tensor {
    x * 100.0
}

#[substitute_in_graph(slow)]
fn fast(x: &Tensor) -> Tensor {
    (x * 2.0).relu()
}

#[compile(fullgraph)]
fn whole(x: &Tensor) -> Tensor {
    slow(x) + 1.0
}

#[compile(inline(slow))]
fn with_a_break(x: &Tensor) -> Tensor {
    let y = slow(x) + 1.0;
    println!("a break");
    slow(&y)
}

#[compile]
fn not_looked_up(x: &Tensor) -> Tensor {
    slow(x) + 1.0
}

#[test]
fn a_substitute_stands_in_where_calls_are_looked_up() {
    let x = v(&[1.0, -1.0]);
    assert_eq!(slow(&x).to_vec::<f32>(), [100.0, -100.0]);
    assert_eq!(whole(&x).to_vec::<f32>(), [3.0, 1.0]);
    assert!(explain!(whole).breaks.is_empty());
    assert_eq!(with_a_break(&x).to_vec::<f32>(), [6.0, 2.0]);
    assert_eq!(explain!(with_a_break).breaks.len(), 1);
    assert_eq!(not_looked_up(&x).to_vec::<f32>(), [101.0, -99.0]);
}

static CALLS: AtomicUsize = AtomicUsize::new(0);

#[disable(reason = "it counts")]
fn counted(x: &Tensor) -> Tensor {
    CALLS.fetch_add(1, Relaxed);
    x * 3.0
}

#[compile(inline(counted))]
fn counts(x: &Tensor) -> Tensor {
    let y = counted(&x.exp());
    y.relu() + 1.0
}

#[test]
fn a_marked_call_is_a_break_that_says_why() {
    let x = iota(&[3]);
    let before = CALLS.load(Relaxed);
    let got = counts(&x);
    assert_eq!(CALLS.load(Relaxed), before + 1);
    assert_eq!(
        got.to_vec::<f32>(),
        ((x.exp() * 3.0).relu() + 1.0).to_vec::<f32>()
    );
    let e = explain!(counts);
    assert!(e.breaks.iter().any(|b| b.reason.contains("it counts")), "{e}");
}

#[tensorplay::model]
mod net {
    use tensorplay::{compile, disable, prelude::*, substitute_in_graph};

    pub struct Net {
        pub w: Tensor,
    }

    #[disable]
    fn apart(x: &Tensor) -> Tensor {
        x + 1.0
    }

    fn plain(x: &Tensor) -> Tensor {
        x * 5.0
    }

    #[substitute_in_graph(plain)]
    fn in_graphs(x: &Tensor) -> Tensor {
        x * 7.0
    }

    impl Net {
        #[compile]
        pub fn broken(&self, x: &Tensor) -> Tensor {
            let h = x.matmul(&self.w).relu();
            let h = apart(&h);
            h.exp()
        }

        #[compile(fullgraph)]
        pub fn replaced(&self, x: &Tensor) -> Tensor {
            plain(&x.matmul(&self.w))
        }
    }
}

#[test]
fn markers_in_a_model() {
    let net = net::Net { w: iota(&[2, 2]) };
    let x = iota(&[1, 2]);
    against_body!(net.broken(&x));
    let e = explain!(net::Net::broken);
    assert_eq!(e.breaks.len(), 1, "{e}");
    assert!(e.breaks[0].reason.contains("`#[disable]`"), "{e}");
    let want = (x.matmul(&net.w) * 7.0).to_vec::<f32>();
    assert_eq!(net.replaced(&x).to_vec::<f32>(), want);
}

#[assume_constant_result]
fn setting() -> Tensor {
    CALLS.fetch_add(1, Relaxed);
    Tensor::from_slice(&[2.0f32], 1)
}

#[compile(inline(setting))]
fn assumes(x: &Tensor) -> Tensor {
    let k = setting();
    x.matmul(x) * k
}

#[test]
fn an_assumed_result_is_one_a_call_site() {
    let x = iota(&[2, 2]);
    for _ in 0..3 {
        assert_eq!(assumes(&x).to_vec::<f32>(), (x.matmul(&x) * 2.0).to_vec::<f32>());
    }
}
