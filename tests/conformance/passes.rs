//! What passes and fusion do: 82 to 85.

use crate::check::{iota, v};
use tensorplay::compiler::{Codegen, Explanation};
use tensorplay::graph::{GraphModule, passes::PassManager};
use tensorplay::{Result, compile, explain, graph, prelude::*};

fn count(g: &GraphModule, op: &str) -> usize {
    g.nodes().iter().filter(|n| n.op_name() == op).count()
}

/// The graph after all passes, which change nothing the second time.
fn passed(g: &GraphModule) -> GraphModule {
    let mut g = g.clone();
    PassManager::standard().run(&mut g).expect("the graph is sound");
    let text = g.to_string();
    let again = PassManager::standard().run(&mut g).expect("the graph is sound");
    assert!(!again && g.to_string() == text, "{text}\n{g}");
    g
}

#[test]
fn case_82_no_identity_is_folded_that_fails_for_one_input() {
    #[compile(fullgraph)]
    fn plus_zero(x: &Tensor) -> Tensor {
        x + 0.0
    }
    #[compile(fullgraph)]
    fn times_zero(x: &Tensor) -> Tensor {
        x * 0.0
    }
    #[compile(fullgraph)]
    fn minus_itself(x: &Tensor) -> Tensor {
        x - x
    }
    let y = against_body!(plus_zero(&v(&[-0.0, 1.0]))).to_vec::<f32>();
    assert!(y[0].is_sign_positive() && y[1] == 1.0, "{y:?}");
    let x = v(&[f32::INFINITY, f32::NAN, -1.0, 2.0]);
    let y = times_zero(&x).to_vec::<f32>();
    assert!(y[0].is_nan() && y[1].is_nan(), "{y:?}");
    assert!(
        y[2] == 0.0 && y[2].is_sign_negative() && y[3].is_sign_positive(),
        "{y:?}"
    );
    let y = minus_itself(&x).to_vec::<f32>();
    assert!(y[0].is_nan() && y[1].is_nan() && y[2..] == [0.0, 0.0], "{y:?}");
    assert_eq!(count(&passed(&graph!(plus_zero)), "add"), 1);
    assert_eq!(count(&passed(&graph!(times_zero)), "mul"), 1);
}

#[test]
fn case_82_a_result_is_never_the_argument_itself() {
    #[compile(fullgraph)]
    fn twice(x: &Tensor) -> Tensor {
        -(-x)
    }
    #[compile(fullgraph)]
    fn cast(x: &mut Tensor) -> Tensor {
        let y = x.to_dtype(DType::F32);
        *x = &*x + 1.0;
        y
    }
    passed(&graph!(twice));
    let y = against_body!(twice(&v(&[-0.0, 3.0])));
    assert!(y.to_vec::<f32>()[0].is_sign_negative());
    let mut x = v(&[1.0, 2.0]);
    let y = cast(&mut x);
    assert_eq!(
        (x.to_vec::<f32>(), y.to_vec::<f32>()),
        (vec![2.0, 3.0], vec![1.0, 2.0])
    );
}

#[test]
fn case_82_a_division_of_sizes_by_zero_is_left_for_the_call() {
    #[compile(fullgraph)]
    fn f(x: &Tensor) -> Result<Tensor> {
        let n = 6 / (x.dim(0) - 2);
        Ok(x * n as f64)
    }
    #[compile(fullgraph)]
    fn dead(x: &Tensor, y: &Tensor) -> Result<Tensor> {
        let _unused = x.floor_div(y);
        Ok(x + y)
    }
    passed(&graph!(f));
    assert_eq!(
        against_body!(f(&iota(&[4]))).expect("6 / 2").to_vec::<f32>()[1],
        3.0
    );
    let failed = std::panic::catch_unwind(|| f(&iota(&[2])));
    let text = match failed {
        Ok(result) => result.expect_err("6 / 0").to_string(),
        Err(panic) => panic.downcast_ref::<String>().cloned().unwrap_or_else(|| {
            panic
                .downcast_ref::<&str>()
                .map(|s| s.to_string())
                .unwrap_or_default()
        }),
    };
    assert!(text.contains("6 / 0") && text.contains("by zero"), "{text}");

    let x = Tensor::from_slice(&[4i64, 6], 2);
    let y = against_body!(dead(&x, &Tensor::from_slice(&[2i64, 3], 2))).expect("no zero");
    assert_eq!(y.to_vec::<i64>(), [6, 9]);
    let e = dead(&x, &Tensor::from_slice(&[2i64, 0], 2)).expect_err("a dead division stays");
    assert!(e.to_string().contains("floor_div"), "{e}");
}

#[test]
fn case_82_constants_are_folded_and_scalars_go_right() {
    #[compile(fullgraph)]
    fn f(x: &Tensor) -> Tensor {
        2.0 * x * (3.0 + 4.0 * 0.5)
    }
    let y = against_body!(f(&v(&[1.0, -3.0])));
    assert_eq!(y.to_vec::<f32>(), [10.0, -30.0]);
    let g = passed(&graph!(f));
    assert_eq!(count(&g, "mul"), 2, "no reassociation:\n{g}");
    let text = g.to_string();
    assert!(text.contains("mul(%0, 2.0)") && text.contains(", 5.0)"), "{text}");
}

#[test]
fn case_82_equal_calls_are_one_and_unused_ones_none() {
    #[compile(fullgraph)]
    fn f(x: &Tensor) -> Tensor {
        let _unused = x.cos();
        x.exp() + x.exp() * x.sin()
    }
    let x = v(&[0.5, -1.0]);
    assert!(f(&x).allclose(&(x.exp() + x.exp() * x.sin()), 1e-6, 1e-6));
    let g = passed(&graph!(f));
    assert_eq!((count(&g, "exp"), count(&g, "cos")), (1, 0), "{g}");
    let e = explain!(f);
    assert_eq!(e.kernels.len(), 1, "{e}");
    let ir = &e.kernels[0].ir;
    assert_eq!(
        (ir.matches("= exp ").count(), ir.matches("= cos ").count()),
        (1, 0),
        "{ir}"
    );
}

#[test]
fn case_82_random_numbers_are_drawn_as_often_as_written() {
    #[compile(fullgraph)]
    fn f(x: &Tensor) -> Tensor {
        let _unused = Tensor::rand(x.shape(), DType::F32);
        Tensor::rand(x.shape(), DType::F32) - Tensor::rand(x.shape(), DType::F32)
    }
    let y = f(&iota(&[64])).to_vec::<f32>();
    assert!(y.iter().filter(|d| **d != 0.0).count() > 60, "{y:?}");
    let g = passed(&graph!(f));
    assert!(count(&g, "rand") >= 2, "{g}");
}

#[test]
fn case_83_equal_calls_on_both_sides_of_a_write_differ() {
    #[compile(fullgraph)]
    fn f(x: &mut Tensor) -> (Tensor, Tensor) {
        let before = x.exp2() + 1.0;
        *x = &*x * 2.0;
        let after = x.exp2() + 1.0;
        (before, after)
    }
    for _ in 0..2 {
        let mut x = v(&[1.0, 3.0]);
        let (before, after) = f(&mut x);
        assert_eq!(before.to_vec::<f32>(), [3.0, 9.0]);
        assert_eq!(after.to_vec::<f32>(), [5.0, 65.0]);
        assert_eq!(x.to_vec::<f32>(), [2.0, 6.0]);
    }
}

#[test]
fn case_83_of_two_equal_casts_one_is_doubled() {
    #[compile(fullgraph)]
    fn f(x: &Tensor) -> (Tensor, Tensor) {
        let a = x.to_dtype(DType::F64);
        let mut b = x.to_dtype(DType::F64);
        b *= 2.0;
        (a * 3.0, b)
    }
    let (a, b) = f(&v(&[2.0, -1.0]));
    assert_eq!(a.to_vec::<f64>(), [6.0, -3.0]);
    assert_eq!(b.to_vec::<f64>(), [4.0, -2.0]);
}

fn natively(e: &Explanation) {
    assert!(e.fallbacks.is_empty() && e.calls.steps.tile == 0, "{e}");
    assert!(e.entries.iter().all(|e| e.codegen == Codegen::StaxNative), "{e}");
}

#[test]
fn case_84_a_chain_is_one_group() {
    #[compile(fullgraph)]
    fn f(x: &Tensor, y: &Tensor) -> Tensor {
        (x * y).relu().sin()
    }
    let (x, y) = (iota(&[3, 5]) - 7.0, iota(&[3, 5]) * 0.25);
    assert!(f(&x, &y).allclose(&(x * y).relu().sin(), 1e-6, 1e-6));
    let e = explain!(f);
    natively(&e);
    assert_eq!((e.kernels.len(), e.calls.steps.emitted), (1, 1), "{e}");
}

#[test]
fn case_84_a_product_splits_a_chain_into_two_groups() {
    #[compile(fullgraph)]
    fn f(x: &Tensor, y: &Tensor, w: &Tensor) -> Tensor {
        let h = (x * y).relu().sin();
        (h.matmul(w) * 0.5).relu().sin()
    }
    let (x, y, w) = (iota(&[3, 5]) - 7.0, iota(&[3, 5]) * 0.25, iota(&[5, 2]) * 0.125);
    let right = (((x.clone() * &y).relu().sin()).matmul(&w) * 0.5).relu().sin();
    assert!(f(&x, &y, &w).allclose(&right, 1e-5, 1e-6));
    let e = explain!(f);
    natively(&e);
    assert_eq!((e.kernels.len(), e.calls.steps.contractions), (2, 1), "{e}");
}

#[test]
fn case_84_a_shared_producer_is_in_one_group_with_its_users() {
    #[compile(fullgraph)]
    fn f(x: &Tensor, y: &Tensor) -> (Tensor, Tensor) {
        let h = (x * y).relu();
        (h.sin(), h.cos())
    }
    let (x, y) = (iota(&[3, 5]) - 7.0, iota(&[3, 5]) * 0.25);
    let h = (&x * &y).relu();
    let (s, c) = f(&x, &y);
    assert!(s.allclose(&h.sin(), 1e-6, 1e-6) && c.allclose(&h.cos(), 1e-6, 1e-6));
    let e = explain!(f);
    natively(&e);
    assert_eq!((e.kernels.len(), e.calls.steps.emitted), (1, 1), "{e}");
}

const AT: f64 = 0.7;

macro_rules! composites {
    ($($name:ident($($arg:expr),*) = $right:expr;)*) => {
        #[test]
        fn case_85_composites_are_right_and_native() {
            let x = Tensor::from_vec(vec![AT as f32; 33], 33);
            $({
                #[compile(fullgraph, strict_native)]
                fn f(x: &Tensor) -> Tensor {
                    x.$name($($arg),*)
                }
                let right: f64 = $right;
                let got = f(&x).to_vec::<f32>();
                for y in got {
                    let y = y as f64;
                    assert!((y - right).abs() <= 1e-5, "{}: {y}, not {right}", stringify!($name));
                }
                natively(&explain!(f));
            })*
        }
    };
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// `erf(x)` by its series.
fn erf(x: f64) -> f64 {
    let mut term = x;
    let mut sum = x;
    for n in 1..40 {
        term *= -x * x / n as f64;
        sum += term / (2 * n + 1) as f64;
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

fn softplus(x: f64) -> f64 {
    x.exp().ln_1p()
}

composites! {
    sigmoid() = sigmoid(AT);
    logsigmoid() = sigmoid(AT).ln();
    silu() = AT * sigmoid(AT);
    reciprocal() = 1.0 / AT;
    square() = AT * AT;
    softplus(1.0, 20.0) = softplus(AT);
    mish() = AT * softplus(AT).tanh();
    log1p() = AT.ln_1p();
    expm1() = AT.exp_m1();
    exp2() = AT.exp2();
    log10() = AT.log10();
    sinh() = AT.sinh();
    cosh() = AT.cosh();
    asinh() = AT.asinh();
    atanh() = AT.atanh();
    elu(1.5) = AT;
    celu(1.5) = AT;
    selu() = 1.050_700_987_355_480_5 * AT;
    gelu() = AT * 0.5 * (1.0 + erf(AT / std::f64::consts::SQRT_2));
    gelu_tanh() = 0.5 * AT * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (AT + 0.044715 * AT.powi(3))).tanh());
    leaky_relu(0.1) = AT;
    relu6() = AT;
    hardtanh(-0.5, 0.5) = 0.5;
    hardsigmoid() = AT / 6.0 + 0.5;
    hardswish() = AT * (AT + 3.0) / 6.0;
    softsign() = AT / (1.0 + AT);
    clamp(-1.0, 0.25) = 0.25;
    powi(3) = AT * AT * AT;
    rsqrt() = 1.0 / AT.sqrt();
}

#[test]
fn case_85_composites_of_several_tensors_are_right_and_native() {
    #[compile(fullgraph, strict_native)]
    fn lerp(x: &Tensor, y: &Tensor) -> Tensor {
        x.lerp(y, 0.25)
    }
    #[compile(fullgraph, strict_native)]
    fn addcmul(x: &Tensor, y: &Tensor) -> Tensor {
        x.addcmul(y, x, 2.0)
    }
    #[compile(fullgraph, strict_native)]
    fn mse(x: &Tensor, y: &Tensor) -> Tensor {
        x.mse_loss(y)
    }
    let (x, y) = (v(&[0.7; 33]), v(&[1.5; 33]));
    let near = |got: Tensor, right: f64| {
        let got = got.to_vec::<f32>();
        assert!(
            got.iter().all(|a| (*a as f64 - right).abs() <= 1e-5),
            "{got:?}, not {right}"
        );
    };
    near(lerp(&x, &y), 0.7 + 0.25 * 0.8);
    near(addcmul(&x, &y), 0.7 + 2.0 * 1.5 * 0.7);
    near(mse(&x, &y), 0.64);
    for e in [explain!(lerp), explain!(addcmul), explain!(mse)] {
        natively(&e);
    }
}
