//! `cond` and `while_loop`: compiled functions hold each as one node, and agree with plain code.

use std::sync::{Mutex, MutexGuard, PoisonError};
use tensorplay::compiler::{disable_capture, with_backend};
use tensorplay::{Error, Result, compile, cond, explain, graph, prelude::*, while_loop};

fn same(a: &Tensor, b: &Tensor) {
    assert_eq!((a.dtype(), a.shape()), (b.dtype(), b.shape()));
    let (a, b) = (a.to_dtype(DType::F64), b.to_dtype(DType::F64));
    assert!(a.allclose(&b, 1e-5, 1e-6), "{a} and {b}");
}

#[compile(dtypes(f32, f64))]
fn power_iteration(a: &Tensor, start: &Tensor, tolerance: f64) -> (Tensor, Tensor) {
    let far = Tensor::full((), f64::INFINITY, a.dtype());
    let none = Tensor::zeros((), DType::I64);
    let (v, _, steps) = while_loop(
        (start / start.norm(2.0, 0), far, none),
        |(_, change, steps)| change.gt(tolerance).logical_and(&steps.lt(1000)),
        |(v, _, steps)| {
            let w = a.matmul(v);
            let w = &w / w.norm(2.0, 0);
            let change = (&w - v).abs().max_all();
            (w, change, steps + 1)
        },
    );
    (v.matmul(&a.matmul(&v)), steps)
}

#[test]
fn a_loop_is_one_node_and_one_entry_for_any_number_of_steps() {
    let a = Tensor::from_slice(&[4.0f64, 1.0, 0.0, 1.0, 3.0, 1.0, 0.0, 1.0, 2.0], (3, 3));
    for (start, tolerance) in [([1.0f64, 0.0, 0.0], 1e-12), ([0.3, 0.1, 2.0], 1e-6)] {
        let start = Tensor::from_slice(&start, 3);
        let (value, steps) = power_iteration(&a, &start, tolerance);
        let (right, number) = disable_capture(|| power_iteration(&a, &start, tolerance));
        same(&value, &right);
        assert_eq!(steps.item::<i64>(), number.item::<i64>());
        assert!((value.item::<f64>() - 4.732_050_807_568_877).abs() < 1e-6);
    }
    let e = explain!(power_iteration);
    assert_eq!((e.entries.len(), e.calls.dispatched), (1, 2), "{e}");
    assert!(e.fallbacks.is_empty(), "{e}");
    let nodes = graph!(power_iteration);
    let loops = nodes.nodes().iter().filter(|n| n.op_name() == "while_loop");
    assert_eq!(loops.count(), 1);
}

#[test]
fn a_loop_may_run_no_step_and_carries_views() {
    #[compile]
    fn doubled(x: &Tensor, limit: f64) -> Tensor {
        while_loop(x.t(), |c| c.max_all().lt(limit), |c| (c * 2.0).t().t())
    }
    let x = Tensor::arange(0, 6, DType::F32).reshape((2, 3));
    for limit in [-1.0, 5.5, 1000.0] {
        let right = disable_capture(|| doubled(&x, limit));
        same(&doubled(&x, limit), &right);
        same(
            &doubled(&x.narrow(1, 1, 2), limit),
            &disable_capture(|| doubled(&x.narrow(1, 1, 2), limit)),
        );
    }
}

#[compile]
fn safe_log(x: &Tensor) -> Tensor {
    cond(&x.min_all().gt(0.0), || x.log(), || x.sign() * x.abs().log1p())
}

#[test]
fn both_sides_of_a_condition_run_on_emitted_kernels() {
    for values in [[1.0f32, 2.0, 3.0], [-1.0, 0.0, 3.0], [f32::NAN, 1.0, 2.0]] {
        let x = Tensor::from_slice(&values, 3);
        let (y, right) = (safe_log(&x), disable_capture(|| safe_log(&x)));
        assert_eq!(format!("{y}"), format!("{right}"));
    }
    let e = explain!(safe_log);
    assert!(e.fallbacks.is_empty(), "{e}");
    assert_eq!(e.kernels.len(), 3, "the condition and both branches: {e}");
    assert_eq!(e.entries.len(), 1);
}

struct Model {
    bias: Tensor,
}

impl Model {
    #[compile]
    fn nested(&self, x: &Tensor, k: f32) -> (Tensor, Tensor) {
        let p = x.sum_all().gt(0.0);
        cond(
            &p,
            || {
                let y = x + &self.bias;
                (cond(&y.max_all().gt(10.0), || &y * 0.5, || &y * k), y.exp())
            },
            || (x.clone(), self.bias.clone() + x),
        )
    }
}

#[test]
fn conditions_nest_and_read_fields_and_scalars() {
    let m = Model {
        bias: Tensor::from_slice(&[1.0f32, 2.0], 2).requires_grad_(true),
    };
    for values in [[1.0f32, 2.0], [-1.0, -2.0], [20.0, 1.0]] {
        for k in [3.0f32, -1.0] {
            let x = Tensor::from_slice(&values, 2);
            let (a, b) = m.nested(&x, k);
            let (c, d) = disable_capture(|| m.nested(&x, k));
            same(&a, &c);
            same(&b, &d);
        }
    }
    assert_eq!(explain!(Model::nested).entries.len(), 1);
}

#[test]
fn errors_of_regions_are_errors_of_the_call() {
    #[compile]
    fn apart(x: &Tensor, y: &Tensor) -> Result<Tensor> {
        Ok(cond(&x.any(0), || x.clone(), || y.clone()))
    }
    let (x, y) = (Tensor::zeros(2, DType::F32), Tensor::zeros(3, DType::F32));
    let e = apart(&x, &y).unwrap_err().to_string();
    assert!(e.contains("cond: the branches give f32[2] and f32[3]"), "{e}");
    let e = apart(&x, &x.to_dtype(DType::F64)).unwrap_err().to_string();
    assert!(e.contains("the branches give f32[2] and f64[2]"), "{e}");

    #[compile]
    fn grows(x: &Tensor) -> Result<Tensor> {
        Ok(while_loop(
            x.clone(),
            |c| c.sum_all().lt(5.0),
            |c| Tensor::cat(&[c, c], 0),
        ))
    }
    let e = grows(&x).unwrap_err().to_string();
    assert!(
        e.contains("the carried values and the body's are f32[2] and f32[4]"),
        "{e}"
    );

    #[compile]
    fn picks(x: &Tensor, i: &Tensor) -> Result<Tensor> {
        Ok(cond(
            &x.sum_all().ge(0.0),
            || x.index_select(i, 0),
            || x.narrow(0, 0, 1),
        ))
    }
    let at = |i: i64| Tensor::from_slice(&[i], 1);
    assert_eq!(picks(&x, &at(1)).unwrap().shape(), [1]);
    let e = picks(&x, &at(7)).unwrap_err().to_string();
    assert!(e.contains("index 7 is out of range"), "{e}");
}

#[test]
fn plain_calls_check_what_they_are_given() {
    let message = |f: fn() -> Tensor| {
        let panic = std::panic::catch_unwind(f).unwrap_err();
        panic.downcast_ref::<String>().cloned().unwrap_or_default()
    };
    let e = message(|| {
        cond(
            &Tensor::ones(2, DType::Bool),
            || Tensor::ones(1, DType::F32),
            || Tensor::ones(1, DType::F32),
        )
    });
    assert!(
        e.contains("cond: the condition is [2], expected one element"),
        "{e}"
    );
    let e = message(|| while_loop(Tensor::ones(1, DType::F32), |c| c.clone(), |c| c.clone()));
    assert!(e.contains("while_loop: takes a bool condition, got f32"), "{e}");
    let e = message(|| {
        while_loop(
            Tensor::ones(1, DType::F32),
            |c| c.sum_all().lt(9.0),
            |c| c.to_dtype(DType::F64),
        )
    });
    assert!(e.contains("f32[1] and f64[1]"), "{e}");
}

/// The seed is that of the process: tests that set it take turns.
fn seeded() -> MutexGuard<'static, ()> {
    static SEED: Mutex<()> = Mutex::new(());
    SEED.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn draws_inside_a_region_are_new_in_every_step() {
    let _turn = seeded();
    #[compile]
    fn walk(n: i64) -> Tensor {
        let zero = Tensor::zeros(4, DType::F32);
        let (sum, _) = while_loop(
            (zero, Tensor::zeros((), DType::I64)),
            |(_, i)| i.lt(n),
            |(sum, i)| (sum + Tensor::rand(4, DType::F32), i + 1),
        );
        sum
    }
    tensorplay::manual_seed(7);
    let compiled = walk(5);
    tensorplay::manual_seed(7);
    let plain = disable_capture(|| walk(5));
    assert_eq!(compiled.to_vec::<f32>(), plain.to_vec::<f32>());
}

#[test]
fn many_threads_share_the_regions() {
    #[compile]
    fn shared(x: &Tensor) -> Tensor {
        cond(&x.min_all().gt(0.0), || x.log(), || x.sign() * x.abs().log1p())
    }
    std::thread::scope(|s| {
        for t in 0..8 {
            s.spawn(move || {
                for k in 0..50 {
                    let x = Tensor::full(64 + k, t as f64 - 3.5, DType::F32);
                    same(&shared(&x), &disable_capture(|| shared(&x)));
                }
            });
        }
    });
}

#[test]
fn dropout_draws_in_training_only() {
    let _turn = seeded();
    #[compile]
    fn drop_out(x: &Tensor, p: f64, train: bool) -> (Tensor, Tensor) {
        (x.dropout(p, train), Tensor::rand(3, DType::F32))
    }
    let x = Tensor::arange(1, 1026, DType::F32);
    for train in [true, false, true] {
        let run = || {
            tensorplay::manual_seed(3);
            drop_out(&x, 0.25, train)
        };
        let ((a, b), (c, d)) = (run(), disable_capture(run));
        assert_eq!(a.to_vec::<f32>(), c.to_vec::<f32>());
        assert_eq!(b.to_vec::<f32>(), d.to_vec::<f32>(), "the draws that follow");
        let kept = a.to_vec::<f32>().into_iter().filter(|v| *v != 0.0).count();
        assert!(if train {
            (600..920).contains(&kept)
        } else {
            kept == 1025
        });
    }
    assert_eq!(drop_out(&x, 1.0, true).0.sum_all().item::<f32>(), 0.0);
}

/// A condition is one bool: anything else is an error of the call, and no memory is read.
#[test]
fn a_condition_that_is_not_one_bool_is_an_error() {
    #[compile(fullgraph)]
    fn given(p: &Tensor, x: &Tensor) -> Result<Tensor> {
        Ok(cond(p, || x.abs(), || x.exp()))
    }
    #[compile(fullgraph, dynamic = true)]
    fn computed(p: &Tensor, x: &Tensor) -> Result<Tensor> {
        let y = x.relu();
        Ok(cond(&p.gt(0.0), || y.abs(), || y.exp()))
    }
    #[compile(fullgraph)]
    fn inside(p: &Tensor, x: &Tensor) -> Result<Tensor> {
        Ok(while_loop(
            x.relu(),
            |x| x.sum_all().lt(100.0),
            |x| cond(p, || x + 1.0, || x + 2.0),
        ))
    }
    let x = Tensor::ones(3, DType::F32);
    let bools = |n: usize| Tensor::zeros(n, DType::Bool);
    let floats = |n: usize| Tensor::zeros(n, DType::F32);
    for backend in ["stax", "eager", "eager_debug"] {
        let run = |f: fn(&Tensor, &Tensor) -> Result<Tensor>, p: &Tensor| {
            with_backend(backend, || f(p, &x)).expect("it is built in")
        };
        for (f, of) in [
            (
                given as fn(&Tensor, &Tensor) -> Result<Tensor>,
                bools as fn(usize) -> Tensor,
            ),
            (computed, floats),
            (inside, bools),
        ] {
            for n in [0, 2] {
                let e = run(f, &of(n))
                    .expect_err("a condition has one element")
                    .to_string();
                let message = format!("error[TP0017]: cond: the condition is [{n}], expected one element");
                assert!(e.starts_with(&message), "{backend}: {e}");
            }
            assert!(run(f, &of(1)).is_ok(), "{backend}");
        }
        let e = run(given, &floats(1)).expect_err("a condition is a bool");
        assert!(matches!(e, Error::DType(_)), "{backend}: {e}");
        assert!(e.location().is_some(), "{backend}: {e}");
    }
}

/// The probability is an argument of the kernel, and yet no call takes one that is none.
#[test]
fn a_probability_is_checked_by_every_call() {
    let _turn = seeded();
    #[compile]
    fn dropped(x: &Tensor, p: f64) -> Result<Tensor> {
        Ok((x + 1.0).dropout(p, true))
    }
    let x = Tensor::ones(5, DType::F32);
    dropped(&x, 0.5).expect("a probability");
    for p in [-1.0, 3.0, f64::NAN, 1.0 + 1e-15] {
        let compiled = dropped(&x, p).expect_err("no probability");
        let plain = x.try_dropout(p, true).expect_err("no probability");
        assert_eq!(compiled.to_string(), plain.to_string());
        assert!(
            compiled
                .location()
                .is_some_and(|l| l.ends_with("(x + 1.0).dropout(p, true)"))
        );
    }
    for p in [0.0, 1.0] {
        dropped(&x, p).expect("a probability");
    }
}

/// The same is said of a loop's condition, by plain code and by plans.
#[test]
fn a_loop_asks_one_bool() {
    #[compile(fullgraph)]
    fn each(x: &Tensor) -> Result<Tensor> {
        Ok(while_loop(x.relu(), |x| x.lt(100.0), |x| x * 2.0))
    }
    #[compile(fullgraph)]
    fn sum(x: &Tensor) -> Result<Tensor> {
        Ok(while_loop(x.relu(), |x| x.sum_all(), |x| x * 2.0))
    }
    let x = Tensor::ones(2, DType::F32);
    let plain = |f: fn(&Tensor) -> Result<Tensor>| {
        let call = std::panic::AssertUnwindSafe(|| disable_capture(|| f(&x)));
        let panic = std::panic::catch_unwind(call).expect_err("it panics");
        panic.downcast_ref::<String>().expect("a text").clone()
    };
    for f in [each as fn(&Tensor) -> Result<Tensor>, sum] {
        let e = f(&x).expect_err("no condition").to_string();
        assert_eq!(e, plain(f));
    }
    let given = |p: &Tensor| cond(p, || x.relu(), || x.exp());
    #[compile(fullgraph)]
    fn chosen(p: &Tensor, x: &Tensor) -> Result<Tensor> {
        Ok(cond(p, || x.relu(), || x.exp()))
    }
    for p in [Tensor::ones(1, DType::F32), Tensor::ones(2, DType::Bool)] {
        let compiled = chosen(&p, &x).expect_err("no condition").to_string();
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| given(&p)));
        let panic = panic.expect_err("it panics");
        assert_eq!(Some(&compiled), panic.downcast_ref::<String>());
    }
}

#[test]
fn dropout_in_evaluation_runs_on_every_backend() {
    #[compile(fullgraph)]
    fn eval(x: &Tensor) -> Tensor {
        x.dropout(0.5, false) * 2.0
    }
    let x = Tensor::ones(3, DType::F32);
    for backend in ["stax", "eager", "eager_debug", "eager_noexcept"] {
        let y = with_backend(backend, || eval(&x)).expect("it is built in");
        assert_eq!(y.to_vec::<f32>(), [2.0; 3], "{backend}");
    }
}
