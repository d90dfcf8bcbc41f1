//! The straight-line bodies that capture holds.
#![deny(warnings)]
#![forbid(unsafe_code)]

use tensorplay::{Result, compile, compiler, explain, prelude::*};

#[compile]
fn shadowing(x: &Tensor) -> Tensor {
    let x = x * 2.0;
    let _ = x.exp();
    let x = { x.relu() + 1.0 };
    let mut y = x.clone();
    y -= 0.5;
    y += 1.0;
    y
}

#[compile]
fn tuples(x: &Tensor) -> (Tensor, (Tensor, Tensor)) {
    let (a, (b, c)) = (x + 1, (x + 2, x + 3));
    let pair = (a, b);
    (pair.1, (c, pair.0))
}

#[compile]
#[allow(unreachable_code, clippy::needless_return)]
fn early_return(x: &Tensor) -> Tensor {
    let y = x.relu();
    return y + 1.0;
    y.exp()
}

#[compile]
fn question_marks(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let h = x.try_matmul(w)?.try_relu()?;
    let (a, b) = (h.try_exp()?, h.neg());
    Ok(a + b)
}

#[compile]
fn parts(x: &Tensor) -> (Tensor, Tensor) {
    let parts = x.chunk(2, -1);
    let gated = &parts[0] * parts[1].sigmoid();
    (gated, parts[0].exp())
}

#[compile]
fn metadata(x: &Tensor, heads: usize) -> Tensor {
    let half = x.dim(-1) / 2;
    let left = x.narrow(-1, 0, half);
    let right = x.narrow(-1, half as i64, half);
    let n = (x.dim(0) * heads) as f64;
    Tensor::cat(&[right, left], -1) * (1.0 / n.sqrt())
}

#[compile]
fn dtypes(x: &Tensor, to: DType, on: bool) -> Tensor {
    let y = x.to_dtype(DType::F64).to_dtype(to);
    y + on
}

#[compile]
fn options(x: &Tensor, w: &Tensor, b: &Tensor) -> Tensor {
    x.linear(w, Some(b)) + x.linear(w, None)
}

#[compile]
fn literals(x: &Tensor) -> Tensor {
    (1.0 - (x * 2.0).tanh()).relu() + 3 * x - 2.5f32 + (7 / 2) as f64
}

#[compile]
fn wildcards(x: &Tensor, _: &Tensor, _: Tensor, _: f32) -> Tensor {
    x * 2.0
}

/// Compares with the plain body and returns how often the compiled form ran.
macro_rules! same {
    ($f:ident($($arg:expr),*)) => {{
        let compiled = $f($($arg),*);
        let plain = compiler::disable_capture(|| $f($($arg),*));
        assert!(compiled.allclose(&plain, 1e-6, 1e-6), "{}: {compiled} != {plain}", stringify!($f));
        assert_eq!(explain!($f).calls.dispatched, 1, stringify!($f));
        compiled
    }};
}

fn main() {
    let x = Tensor::from_slice(&[1.0f32, -2.0, 3.0, 0.5, -0.25, 8.0], (3, 2));
    let w = Tensor::from_slice(&[1.0f32, 2.0, -3.0, 4.0], (2, 2));
    let b = Tensor::from_slice(&[0.5f32, -0.5], 2);
    assert_eq!(same!(shadowing(&x)).to_vec::<f32>()[0], 3.5);
    let (two, (three, one)) = tuples(&x);
    assert_eq!([two, three, one].map(|t| t.to_vec::<f32>()[0]), [3.0, 4.0, 2.0]);
    assert_eq!(
        same!(early_return(&x)).to_vec::<f32>(),
        [2.0, 1.0, 4.0, 1.5, 1.0, 9.0]
    );
    let good = question_marks(&x, &w);
    assert!(good.is_ok(), "{good:?}");
    let bad = question_marks(&x, &x);
    assert!(
        bad.as_ref()
            .is_err_and(|e| e.to_string().contains("[3, 2] @ rhs [3, 2]")),
        "{bad:?}"
    );
    let (gated, _) = parts(&x);
    assert_eq!(gated.shape(), [3, 1]);
    same!(metadata(&x, 3));
    assert_eq!(same!(dtypes(&x, DType::I64, true)).dtype(), DType::I64);
    same!(options(&x, &w, &b));
    same!(literals(&x));
    same!(wildcards(&x, &w, b.clone(), 1.0));
}
