//! Forms of parameters: tuples, arrays, const generics.

use crate::check::{iota, v};
use tensorplay::{compile, explain, prelude::*};

#[test]
fn tuples() {
    #[compile(fullgraph)]
    fn borrowed(pair: &(Tensor, Tensor), scale: f64) -> Tensor {
        (&pair.0 - &pair.1) * scale
    }
    #[compile(fullgraph)]
    fn owned(pair: (Tensor, Tensor)) -> Tensor {
        let (a, b) = pair;
        a.matmul(&b)
    }
    #[compile(fullgraph)]
    fn pattern((a, b): (&Tensor, &Tensor)) -> Tensor {
        a * b + 1.0
    }
    let (a, b) = (v(&[5.0, 7.0]), v(&[2.0, 3.0]));
    let pair = (a.clone(), b.clone());
    assert_eq!(against_body!(borrowed(&pair, 2.0)).to_vec::<f32>(), [6.0, 8.0]);
    assert_eq!(against_body!(owned(pair.clone())).item::<f32>(), 31.0);
    let y = against_body!(pattern((&a, &b)));
    assert_eq!(y.to_vec::<f32>(), [11.0, 22.0]);
}

#[test]
fn arrays() {
    #[compile(fullgraph)]
    fn borrowed(parts: &[Tensor; 3]) -> Tensor {
        Tensor::cat(parts, 0) + &parts[1]
    }
    #[compile(fullgraph)]
    fn of_references(parts: [&Tensor; 2]) -> Tensor {
        let [a, b] = parts;
        a - b
    }
    let parts = [v(&[1.0]), v(&[2.0]), v(&[3.0])];
    assert_eq!(against_body!(borrowed(&parts)).to_vec::<f32>(), [3.0, 4.0, 5.0]);
    let y = against_body!(of_references([&parts[0], &parts[2]]));
    assert_eq!(y.item::<f32>(), -2.0);
}

#[test]
fn const_generics() {
    #[compile(fullgraph)]
    fn halves<const N: usize>(x: &Tensor) -> (Tensor, Tensor) {
        (x.narrow(-1, 0, N), x.narrow(-1, N, N) * N as f64)
    }
    #[compile(fullgraph)]
    fn chosen<const FLIP: bool>(x: &Tensor) -> Tensor {
        if FLIP { x.flip(0) } else { x + 1.0 }
    }
    let x = iota(&[8]);
    let (a, b) = against_body!(halves::<2>(&x));
    assert_eq!(
        (a.to_vec::<f32>(), b.to_vec::<f32>()),
        (vec![0.0, 1.0], vec![4.0, 6.0])
    );
    let (a, _) = against_body!(halves::<4>(&x));
    assert_eq!(a.shape(), [4]);
    against_body!(halves::<2>(&x));
    assert_eq!(
        explain!(halves::<2>).entries.len(),
        2,
        "generics share their table"
    );

    assert_eq!(
        against_body!(chosen::<true>(&v(&[1.0, 2.0]))).to_vec::<f32>(),
        [2.0, 1.0]
    );
    assert_eq!(
        against_body!(chosen::<false>(&v(&[1.0, 2.0]))).to_vec::<f32>(),
        [2.0, 3.0]
    );
}
