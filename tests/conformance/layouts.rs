//! Layouts of equal shape: 25.

use crate::check::iota;
use tensorplay::{compile, explain, prelude::*};

/// Contiguous, transposed, expanded and strided: `[4, 4]` each.
fn views() -> [Tensor; 4] {
    [
        iota(&[4, 4]),
        iota(&[4, 4]).t(),
        iota(&[1, 4]).expand((4, 4)),
        iota(&[4, 8]).slice(1, 0, 8, 2),
    ]
}

#[test]
fn case_25_each_layout_is_right_and_an_entry() {
    #[compile]
    fn f(x: &Tensor) -> Tensor {
        x * 2.0 + 1.0
    }
    let rights: [fn(usize, usize) -> usize; 4] =
        [|i, j| 4 * i + j, |i, j| 4 * j + i, |_, j| j, |i, j| 8 * i + 2 * j];
    for round in 0..2 {
        for (k, x) in views().iter().enumerate() {
            let y = against_body!(f(x));
            let at = (0..16).map(|n| rights[k](n / 4, n % 4));
            let right: Vec<f32> = at.map(|a| 2.0 * a as f32 + 1.0).collect();
            assert_eq!(y.to_vec::<f32>(), right, "view {k}");
            let entries = if round == 0 { k + 1 } else { 4 };
            assert_eq!(explain!(f).entries.len(), entries, "view {k}, round {round}");
        }
    }
}

#[test]
fn case_25_rows_columns_and_products_of_each_layout() {
    #[compile]
    fn f(x: &Tensor, w: &Tensor) -> (Tensor, Tensor, Tensor) {
        (x.sum(0), x.max(1), x.matmul(w))
    }
    let w = iota(&[4, 2]);
    for x in views() {
        let y = against_body!(f(&x, &w));
        let (a, b, c) = f(&x.contiguous(), &w);
        assert_eq!(y.0.to_vec::<f32>(), a.to_vec::<f32>());
        assert_eq!(y.1.to_vec::<f32>(), b.to_vec::<f32>());
        assert_eq!(y.2.to_vec::<f32>(), c.to_vec::<f32>());
    }
    assert_eq!(explain!(f).entries.len(), 4);
}
