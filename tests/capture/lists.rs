//! Lists whose length only a call knows: slices and vectors as parameters.

use crate::check::{iota, v};
use tensorplay::{compile, explain, prelude::*};

#[test]
fn slices_of_any_length() {
    #[compile(fullgraph)]
    fn sum(parts: &[Tensor], start: &Tensor) -> Tensor {
        let mut y = start.clone();
        for part in parts {
            y += part;
        }
        y
    }
    #[compile(fullgraph)]
    fn first_or(parts: &[&Tensor], other: &Tensor) -> Tensor {
        if parts.is_empty() {
            other * 2.0
        } else {
            parts[0] + parts.len() as f64
        }
    }
    #[compile(fullgraph)]
    fn stacked(parts: &[Tensor]) -> Tensor {
        Tensor::stack(parts, 0).sum(1)
    }
    let parts = [v(&[1.0, 1.0]), v(&[2.0, 3.0]), v(&[4.0, 4.0])];
    let start = v(&[10.0, 20.0]);
    for n in [3, 0, 1, 3] {
        against_body!(sum(&parts[..n], &start));
    }
    assert_eq!(sum(&parts, &start).to_vec::<f32>(), [17.0, 28.0]);
    assert_eq!(explain!(sum).entries.len(), 3, "a length is part of the key");

    assert_eq!(against_body!(first_or(&[], &start)).to_vec::<f32>(), [20.0, 40.0]);
    let y = against_body!(first_or(&[&parts[1], &start], &start));
    assert_eq!(y.to_vec::<f32>(), [4.0, 5.0]);
    for n in [1, 3] {
        assert_eq!(against_body!(stacked(&parts[..n])).shape(), [n]);
    }
}

#[test]
fn vectors() {
    #[compile(fullgraph)]
    fn chain(layers: Vec<Tensor>, x: &Tensor) -> Tensor {
        let mut y = x.clone();
        for w in &layers {
            y = y.matmul(w).relu();
        }
        y
    }
    #[compile(fullgraph)]
    fn of_pairs(layers: &[(Tensor, Tensor)], x: &Tensor) -> Tensor {
        let mut y = x.clone();
        for (w, b) in layers {
            y = y.matmul(w) + b;
        }
        y
    }
    let w = iota(&[2, 2]) - 1.0;
    let x = iota(&[3, 2]);
    for n in [2, 0, 1] {
        against_body!(chain(vec![w.clone(); n], &x));
        against_body!(of_pairs(&vec![(w.clone(), v(&[1.0, 2.0])); n], &x));
    }
    let y = of_pairs(&[(w, v(&[1.0, 2.0]))], &v(&[1.0, 2.0]));
    // [1, 2] @ [[-1, 0], [1, 2]] + [1, 2]
    assert_eq!(y.to_vec::<f32>(), [2.0, 6.0]);
}

#[test]
fn a_state_in_a_loop() {
    #[compile(fullgraph)]
    fn run(xs: &Tensor, state: &mut Tensor) {
        for t in 0..xs.dim(0) {
            *state = &*state * 0.5 + xs.select(0, t);
        }
    }
    for n in [0, 1, 3] {
        against_body!({
            let mut state = v(&[4.0, 8.0]);
            run(&iota(&[n, 2]), &mut state);
            state
        });
    }
}

#[test]
fn an_element_that_is_not_there() {
    #[compile(fullgraph)]
    fn third(xs: &[Tensor]) -> tensorplay::Result<Tensor> {
        if xs.len() == 9 {
            return Ok(xs[0].exp());
        }
        Ok(xs[2].relu())
    }
    let xs = vec![v(&[1.0, -2.0]); 3];
    assert_eq!(third(&xs).expect("three").to_vec::<f32>(), [1.0, 0.0]);
    let e = third(&xs[..2]).expect_err("two").to_string();
    assert!(e.contains("the index is 2, the list has 2 elements"), "{e}");
}

#[test]
fn regions_beside_a_list() {
    #[compile(fullgraph)]
    fn chosen(x: &Tensor, xs: &[Tensor], k: f64) -> Tensor {
        let mut sum = x.clone();
        for t in xs {
            sum += t * k;
        }
        let y = tensorplay::cond(&sum.sum_all().gt(0.0), || &sum + k, || &sum * 2.0);
        let (z, _) = tensorplay::while_loop(
            (y, Tensor::full((), 0.0, DType::F32)),
            |(_, i)| i.lt(3.0),
            |(z, i)| (z * 1.5, i + 1.0),
        );
        z
    }
    for n in 0..3 {
        for sign in [1.0, -1.0] {
            let xs: Vec<Tensor> = (0..n).map(|i| iota(&[3]) * i as f64).collect();
            against_body!(chosen(&(iota(&[3]) * sign - 0.5), &xs, 0.25));
        }
    }
}
