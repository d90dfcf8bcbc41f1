//! Markers that captured code finds by the function's name; what plain code asks and says outside of it.

use crate::vector;
use tensorplay::compiler::{is_compiling, is_exporting, mark_static};
use tensorplay::{allow_in_graph, disable, disallow_in_graph, nonstrict_trace, prelude::*};

mod parts {
    use tensorplay::{Tensor, substitute_in_graph};

    pub fn softplus_by_hand(x: &Tensor) -> Tensor {
        Tensor::from_vec(
            x.to_vec::<f32>().iter().map(|v| v.exp().ln_1p()).collect(),
            x.shape(),
        )
    }

    #[substitute_in_graph(softplus_by_hand)]
    fn softplus_as_ops(x: &Tensor) -> Tensor {
        x.exp().log1p()
    }

    pub mod deep {
        use tensorplay::Tensor;

        pub fn first<'a>(x: &'a Tensor, _: &Tensor) -> &'a Tensor {
            x
        }

        // one that says it otherwise
        #[tensorplay::substitute_in_graph(self::first, can_constant_fold_through = false)]
        fn first_again<'x>(x: &'x Tensor, _y: &Tensor) -> &'x Tensor {
            x
        }

        pub fn generic<T: Clone>(x: &[T], n: usize) -> Vec<T> {
            x[..n].to_vec()
        }

        #[tensorplay::substitute_in_graph(generic, skip_signature_check = false)]
        fn generic_as_iterator<U>(x: &[U], n: usize) -> Vec<U>
        where
            U: Clone,
        {
            x.iter().take(n).cloned().collect()
        }

        pub fn wide(x: &Tensor) -> Tensor {
            x.relu()
        }

        #[tensorplay::substitute_in_graph(wide, skip_signature_check = true)]
        fn wide_in_parts(x: &Tensor, _parts: impl Into<usize>) -> Tensor {
            x.relu()
        }
    }
}

use parts::softplus_by_hand as renamed;

#[test]
fn the_original_of_a_substitute_is_itself() {
    use parts::deep::{first, generic, wide};
    let x = vector();
    assert!(renamed(&x).allclose(&x.exp().log1p(), 1e-6, 0.0));
    assert_eq!(first(&x, &x).to_vec::<f32>(), x.to_vec::<f32>());
    assert_eq!(generic(&[1, 2, 3], 2), [1, 2]);
    assert_eq!(wide(&x).to_vec::<f32>(), [1.0, 0.0]);
    assert_eq!(parts::softplus_by_hand!(@kind), "substitute_in_graph");
    assert_eq!(renamed!(@replacement), "softplus_as_ops");
    assert_eq!(first!(@replacement), "first_again");
    assert_eq!(wide!(@kind), "substitute_in_graph");
}

/// Documented.
#[allow_in_graph]
pub fn quantise(x: &Tensor) -> Tensor {
    let levels = x.to_vec::<f32>().iter().map(|v| v.floor()).collect::<Vec<_>>();
    Tensor::from_vec(levels, x.shape())
}

struct Pair {
    a: Tensor,
    b: Tensor,
}

#[nonstrict_trace]
fn swapped(p: Pair) -> Pair {
    Pair { a: p.b, b: p.a }
}

#[disallow_in_graph]
fn boundary<T>(x: T, f: impl Fn(&T)) -> T {
    f(&x);
    x
}

#[disable(reason = "prints")]
fn printed(x: &Tensor) -> Tensor {
    x.clone()
}

#[test]
fn a_marker_tells_itself_by_the_functions_name() {
    let x = vector();
    assert_eq!(quantise(&x).to_vec::<f32>(), [1.0, -2.0]);
    let p = swapped(Pair {
        a: x.clone(),
        b: &x * 2.0,
    });
    assert_eq!((p.a.to_vec::<f32>()[0], p.b.to_vec::<f32>()[0]), (2.0, 1.0));
    assert_eq!(boundary(3, |n| assert_eq!(*n, 3)), 3);
    assert_eq!(printed(&x).rank(), 1);
    assert_eq!(quantise!(@kind), "allow_in_graph");
    assert_eq!(swapped!(@kind), "nonstrict_trace");
    assert_eq!(boundary!(@kind), "disallow_in_graph");
    assert_eq!((printed!(@kind), printed!(@reason)), ("disable", "prints"));
}

#[test]
fn questions_and_marks_outside_of_captured_code() {
    let x = vector();
    assert!(!is_compiling() && !is_exporting());
    mark_static(&x, 0);
    mark_static(&x, -1);
    mark_static(&x, 7usize);
}
