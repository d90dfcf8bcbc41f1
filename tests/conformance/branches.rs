//! Branches on metadata: 15, 20, 29, 30, 32 and 45 with named dims, and the guards of 34.

use crate::check::{iota, v};
use tensorplay::{compile, explain, prelude::*};

#[test]
fn case_15_a_branch_on_emptiness() {
    #[compile(fullgraph)]
    fn f(x: &Tensor) -> Tensor {
        if x.dim(0) > 0 {
            x + 1.0
        } else {
            Tensor::ones(1, x.dtype())
        }
    }
    for _ in 0..2 {
        assert_eq!(against_body!(f(&v(&[1.0, 2.0]))).to_vec::<f32>(), [2.0, 3.0]);
        assert_eq!(against_body!(f(&v(&[]))).to_vec::<f32>(), [1.0]);
    }
    let e = explain!(f);
    assert_eq!(
        (e.graphs.len(), e.entries.len(), e.calls.dispatched),
        (2, 2, 4),
        "{e}"
    );
}

fn optional_in_this_order(f: impl Fn(&Tensor, Option<&Tensor>) -> Tensor, some_first: bool) {
    let (a, b) = (v(&[1.0, 2.0]), v(&[10.0, 20.0]));
    for k in 0..4 {
        if (k % 2 == 0) == some_first {
            assert_eq!(f(&a, Some(&b)).to_vec::<f32>(), [11.0, 22.0]);
        } else {
            assert_eq!(f(&a, None).to_vec::<f32>(), [2.0, 4.0]);
        }
    }
}

#[test]
fn case_20_an_optional_tensor_in_both_orders() {
    #[compile(fullgraph)]
    fn none_first(a: &Tensor, b: Option<&Tensor>) -> Tensor {
        match b {
            Some(b) => a + b,
            None => a * 2.0,
        }
    }
    #[compile(fullgraph)]
    fn some_first(a: &Tensor, b: Option<&Tensor>) -> Tensor {
        if let Some(b) = b { a + b } else { a * 2.0 }
    }
    optional_in_this_order(none_first, false);
    optional_in_this_order(some_first, true);
    for e in [explain!(none_first), explain!(some_first)] {
        assert_eq!(
            (e.graphs.len(), e.entries.len(), e.calls.dispatched),
            (2, 2, 4),
            "{e}"
        );
    }
}

struct Module {
    shift: Tensor,
}

impl Module {
    #[compile(fullgraph)]
    fn forward(&self, x: &Tensor) -> Tensor {
        if x.dim(0) > 2 { x * 2.0 } else { x + &self.shift }
    }
}

#[test]
fn case_29_a_module_with_a_branch_on_a_size() {
    let module = Module { shift: v(&[1.0]) };
    let (four, one) = (iota(&[4]), v(&[5.0]));
    assert_eq!(
        against_body!(module.forward(&four)).to_vec::<f32>(),
        [0.0, 2.0, 4.0, 6.0]
    );
    assert_eq!(against_body!(module.forward(&one)).to_vec::<f32>(), [6.0]);
    let e = explain!(Module::forward);
    assert_eq!((e.graphs.len(), e.entries.len()), (2, 2), "{e}");
}

#[test]
fn case_30_a_graph_holds_the_taken_path_alone() {
    #[compile(fullgraph)]
    fn f(x: &Tensor) -> Tensor {
        let y = if x.rank() == 1 { x + 1.0 } else { x.exp() - 1.0 };
        (y * 2.0).relu()
    }
    against_body!(f(&v(&[-3.0, 1.0])));
    let e = explain!(f);
    assert_eq!(e.graphs.len(), 2, "{e}");
    // source order, the then-branch first
    let ops = e.graphs.iter().map(|g| {
        let nodes = g.nodes().iter();
        let ops = nodes.map(|n| n.op_name().to_string());
        ops.filter(|op| op != "input").collect::<Vec<_>>()
    });
    assert_eq!(
        ops.collect::<Vec<_>>(),
        [vec!["add", "mul", "relu"], vec!["exp", "sub", "mul", "relu"]]
    );
}

#[test]
fn case_32_a_branch_on_a_named_dim() {
    #[compile(fullgraph, spec(x = f32[N]))]
    fn f(x: &Tensor) -> Tensor {
        if x.dim(0) > 2 { x * 2.0 } else { x + 1.0 }
    }
    for (n, entries) in [(4, 1), (1, 2), (4, 2), (9, 2), (3, 2)] {
        let y = against_body!(f(&iota(&[n])));
        let right = |i: usize| if n > 2 { 2.0 * i as f32 } else { i as f32 + 1.0 };
        assert_eq!(y.to_vec::<f32>(), (0..n).map(right).collect::<Vec<_>>());
        assert_eq!(explain!(f).entries.len(), entries, "size {n}");
    }
}

#[test]
fn case_34_only_what_was_read_is_guarded() {
    #[compile(fullgraph)]
    fn f(x: &Tensor, y: &Tensor) -> Tensor {
        if y.dim(0) > 2 { x + 1.0 } else { x - 1.0 }
    }
    against_body!(f(&iota(&[3]), &iota(&[4, 2])));
    against_body!(f(&iota(&[3]), &iota(&[1, 2])));
    let e = explain!(f);
    assert_eq!((e.graphs.len(), e.guards.len()), (2, 2), "{e}");
    for chain in &e.guards {
        let source = chain.source();
        assert!(source.contains("y.dim(0)"), "{source}");
        assert!(!source.contains("x.") && !source.contains("dim(1)"), "{source}");
    }
}

#[test]
fn case_45_a_branch_on_a_named_dim_is_two_entries() {
    #[compile(fullgraph, spec(x = f32[N, 2]))]
    fn f(x: &Tensor) -> Tensor {
        if x.dim(0) > 4 { x.sum(0) } else { x.max(0) }
    }
    for n in [2, 3, 4, 5, 6, 7] {
        let y = against_body!(f(&iota(&[n, 2])));
        let n = n as f32;
        let right = if n > 4.0 {
            [n * (n - 1.0), n * n]
        } else {
            [2.0 * n - 2.0, 2.0 * n - 1.0]
        };
        assert_eq!(y.to_vec::<f32>(), right);
    }
    let e = explain!(f);
    assert_eq!((e.graphs.len(), e.entries.len()), (2, 2), "{e}");
}
