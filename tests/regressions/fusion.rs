//! What fusion may choose, and what it may not.

use crate::check::{assert_exact, both, counting, grid, one, row};
use tensorplay::{compile, compiler, prelude::*};

#[test]
fn report_092_indices_are_those_of_the_logical_order() {
    let a = counting(&[3, 2]);
    let b = grid([[9.0f32, 0.0, 0.0], [0.0, 0.0, 9.0]]);
    exact!([a: f32 = a, b: f32 = b] (a.t() + b).argmax(1) => row([0i64, 2]));
    exact!([a: f32 = a.t(), b: f32 = b] (a + b).argmax(1) => row([0i64, 2]));
    let x = grid([[0.1f32, 3.0, 1.0], [4.5, 0.2, 2.0]]);
    exact!([x: f32 = x] x.sin().t().flatten_all().argmin(0) => one(1i64));
    exact!([x: f32 = x] x.sin().t().flatten_all().argmax(0) => one(5i64));
    exact!([x: f32 = x] x.sin().t().argmax(0) => row([2i64, 2]));
    exact!([x: f32 = x.t()] x.sin().argmin(1) => row([1i64, 0, 0]));
}

#[test]
fn report_093_an_output_more_changes_no_answer() {
    #[compile]
    fn alone(x: &Tensor, y: &Tensor) -> Tensor {
        (x * y - x * y).argmax(0)
    }
    #[compile]
    fn beside(x: &Tensor, y: &Tensor) -> (Tensor, Tensor) {
        (x * y, (x * y - x * y).argmax(0))
    }
    let (x, y) = ((counting(&[301]) * 1.3).sin(), (counting(&[301]) * 0.7).cos());
    for (a, (product, b)) in both(|| (alone(&x, &y), beside(&x, &y))) {
        assert_exact(&a, &one(0i64));
        assert_exact(&b, &one(0i64));
        assert_exact(&product, &(&x * &y));
    }
}

#[test]
fn report_094_a_network_with_one_output() {
    #[compile(spec(x = _[N, 36]), dtypes(f32, f64))]
    fn network(x: &Tensor, w: &Tensor, v: &Tensor, u: &Tensor, b: &Tensor) -> Tensor {
        let h = x.linear(w, Some(b)).tanh();
        h.linear(v, None).tanh().linear(u, None).tanh()
    }
    let of = |shape: &[usize], f: f64| (counting(shape) * f).sin() * 0.2;
    let (w, v, u) = (of(&[64, 36], 1.3), of(&[9, 64], 0.7), of(&[1, 9], 2.1) * 4.0);
    let b = of(&[64], 0.3);
    for n in 1..10usize {
        let x = of(&[n, 36], 0.9) * 3.0;
        let wide = |t: &Tensor| t.to_dtype(DType::F64);
        let right =
            compiler::disable_capture(|| network(&wide(&x), &wide(&w), &wide(&v), &wide(&u), &wide(&b)));
        for got in both(|| network(&x, &w, &v, &u, &b)) {
            assert_eq!(got.shape(), [n, 1]);
            assert!(wide(&got).allclose(&right, 1e-5, 1e-5), "{got}, not {right}");
        }
    }
}

#[test]
fn report_096_bools_are_bytes() {
    let x = grid([[true; 3]; 2]);
    exact!([x: bool = x, y: bool = x] x.le(y).all((0, 1)) => one(true));
    exact!([x: bool = x] x.all((0, 1)) => one(true));
    exact!([x: bool = row([true, true, false])] x.sum(0) => one(2i64));
    exact!([x: f32 = row([1.0f32, 2.0, 0.0])] x.gt(0).sum(0) => one(2i64));
    exact!([x: bool = row(vec![true; 1000])] x.sum(0) => one(1000i64));
}

#[test]
fn report_097_a_scale_by_row_is_not_one_of_layer_norm() {
    let x = grid([[1.0f32, 2.0, 3.0, 4.0], [2.0, 4.0, 6.0, 8.0]]);
    let scale = grid([[1.0f32], [10.0]]);
    let row = [-1.3416408f32, -0.4472136, 0.4472136, 1.3416408];
    let want = grid([row, row.map(|v| v * 10.0)]);
    near!(1e-6, [x: f32 = x, g: f32 = scale] x.layer_norm(1, None, None, 0.0) * g => want);
    near!(1e-6, [x: f32 = x, g: f32 = scale]
        (x - x.mean_keepdim(1)) / x.var_keepdim(1, 0).sqrt() * g
        => want);
    near!(1e-6, [x: f32 = x, g: f32 = scale]
        (x - x.mean_keepdim(-1)) * (x.var_keepdim(-1, 0) + 1e-12).rsqrt() * g
        => want);
}

#[test]
fn report_098_an_intermediate_that_is_an_output_is_kept() {
    #[compile]
    fn hidden(x: &Tensor, b: &Tensor) -> (Tensor, Tensor, Tensor) {
        let h = x * 2.0 + b;
        let g = h.gelu();
        (h.clone(), g.clone(), g + h)
    }
    let (x, b) = (counting(&[3, 4]) - 5.5, row([1.0f32, 0.5, -0.5, -1.0]));
    for (h, g, sum) in both(|| hidden(&x, &b)) {
        assert_exact(&h, &(&x * 2.0 + &b));
        assert!(g.allclose(&h.gelu(), 1e-6, 1e-6), "{g}");
        assert_exact(&sum, &(&g + &h));
    }
}

#[test]
fn report_100_a_prefix_realised_early_changes_nothing() {
    macro_rules! program {
        ($($x:ident, $step:expr;)+) => {{
            let mut tails: Vec<fn(&Tensor) -> Tensor> = Vec::new();
            let mut steps: Vec<fn(&Tensor) -> Tensor> = Vec::new();
            program!(@ tails steps $($x, $step;)+);
            (tails, steps)
        }};
        (@ $tails:ident $steps:ident) => {};
        (@ $tails:ident $steps:ident $x:ident, $step:expr; $($y:ident, $rest:expr;)*) => {
            #[compile]
            fn tail($x: &Tensor) -> Tensor {
                let v = $step;
                $(let $y = &v; let v = $rest;)*
                v
            }
            #[compile]
            fn step($x: &Tensor) -> Tensor {
                $step
            }
            $tails.push(tail);
            $steps.push(step);
            { program!(@ $tails $steps $($y, $rest;)*); }
        };
    }
    let (tails, steps) = program! {
        x, x * 1.7 - 3.0;
        x, x.t() + x.reshape((5, 12)) * 0.5;
        x, x - x.max_keepdim(1);
        x, x.abs().sqrt() / 3.0;
        x, x.permute((1, 0)).reshape((12, 5));
        x, x.floor() + x.frac() * x;
        x, x.narrow(0, 2, 9).maximum(&x.narrow(0, 3, 9));
    };
    let x = (counting(&[12, 5]) * 0.37).sin() * 9.0;
    let right = compiler::disable_capture(|| tails[0](&x));
    let mut prefix = x;
    for (tail, step) in tails.iter().zip(steps) {
        assert_exact(&tail(&prefix), &right);
        prefix = step(&prefix);
    }
    assert_exact(&prefix, &right);
}

#[test]
fn report_101_powers_and_products_of_i32_wrap() {
    let want: Vec<i32> = (1..=30).map(|n: i32| n.wrapping_mul(1 << n)).collect();
    let n = Tensor::arange(1, 31, DType::I32);
    exact!([n: i32 = n] n * Tensor::full(30, 2, DType::I32).pow(n) => row(&want));
    exact!([n: i32 = n, two: i32 = Tensor::full(30, 2, DType::I32)] n * two.pow(n) => row(&want));
    exact!([n: i32 = n]
        (n * Tensor::full(30, 2, DType::I32).pow(n)).sum_all()
        => one(want.iter().map(|v| i64::from(*v)).sum::<i64>()));
}
