//! Calls of compiled functions: what binds, what hits, what fails, and what ran.
//!
//! Every test has functions of its own, because counts belong to a function.
#![deny(warnings)]
#![allow(
    clippy::needless_question_mark,
    reason = "compiled bodies spell out each fallible step"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::thread;
use tensorplay::{Error, Result, compile, compiler, explain, prelude::*};

fn numbers(n: usize) -> Vec<f32> {
    (0..n)
        .map(|i| ((i * 37 + 11) % 101) as f32 / 25.0 - 2.0)
        .collect()
}

fn tensor(shape: &[usize]) -> Tensor {
    Tensor::from_vec(numbers(shape.iter().product()), shape)
}

/// The text of the panic.
#[track_caller]
fn panic_of<R>(f: impl FnOnce() -> R) -> String {
    let Err(payload) = catch_unwind(AssertUnwindSafe(f)) else {
        panic!("no panic")
    };
    match payload.downcast::<String>() {
        Ok(s) => *s,
        Err(payload) => (*payload.downcast::<&str>().expect("a text")).to_string(),
    }
}

#[track_caller]
fn same(a: &Tensor, b: &Tensor) {
    assert_eq!((a.shape(), a.dtype()), (b.shape(), b.dtype()));
    let bits = |t: &Tensor| t.to_dtype(DType::F64).to_vec::<f64>();
    for (x, y) in bits(a).into_iter().zip(bits(b)) {
        assert!(
            x == y || x.is_nan() && y.is_nan() || (x - y).abs() <= 1e-5 + 1e-5 * y.abs(),
            "{a} != {b}"
        );
    }
}

/// `(dispatched, bound, errors, entries)` of a function.
macro_rules! counts {
    ($f:path) => {{
        let e = explain!($f);
        (e.calls.dispatched, e.calls.bound, e.calls.errors, e.entries.len())
    }};
}

/// The compiled call against the plain body.
macro_rules! against_body {
    ($f:ident($($arg:expr),*)) => {{
        let compiled = $f($($arg),*);
        let plain = compiler::disable_capture(|| $f($($arg),*));
        same(&compiled, &plain);
        compiled
    }};
}

// ---- binding

#[compile]
fn raced(x: &Tensor, w: &Tensor) -> Tensor {
    (x.matmul(w) * 2.0).tanh()
}

#[test]
fn the_first_call_from_eight_threads_binds_once() {
    let (x, w) = (tensor(&[8, 16]), tensor(&[16, 4]));
    let want = compiler::disable_capture(|| raced(&x, &w));
    let barrier = Barrier::new(8);
    thread::scope(|s| {
        for _ in 0..8 {
            s.spawn(|| {
                barrier.wait();
                for _ in 0..10 {
                    same(&raced(&x, &w), &want);
                }
            });
        }
    });
    assert_eq!(counts!(raced), (80, 1, 0, 1));
    assert_eq!(explain!(raced).entries[0].binds, 1);
}

#[compile]
fn unnamed(x: &Tensor) -> Tensor {
    (x + 1.0).exp()
}

#[test]
fn a_new_size_is_an_entry_and_a_known_one_a_hit() {
    unnamed(&tensor(&[2, 3]));
    assert_eq!(counts!(unnamed), (1, 1, 0, 1));
    unnamed(&tensor(&[2, 3]));
    assert_eq!(counts!(unnamed), (2, 1, 0, 1));
    unnamed(&tensor(&[4, 3]));
    assert_eq!(counts!(unnamed), (3, 2, 0, 2));
    unnamed(&tensor(&[6]));
    assert_eq!(counts!(unnamed), (4, 3, 0, 3));
    unnamed(&tensor(&[2, 3]));
    assert_eq!(counts!(unnamed), (5, 3, 0, 3));
}

#[compile(spec(x = f32[B, 3]))]
fn named(x: &Tensor) -> Tensor {
    (x + 1.0).exp()
}

#[test]
fn a_named_dim_is_no_entry_except_for_0_and_1() {
    for n in [2, 3, 7, 2, 7] {
        named(&tensor(&[n, 3]));
    }
    assert_eq!(counts!(named), (5, 3, 0, 1));
    assert_eq!(explain!(named).entries[0].binds, 3);
    named(&tensor(&[1, 3]));
    assert_eq!(counts!(named).3, 2);
    assert_eq!(named(&tensor(&[0, 3])).shape(), [0, 3]);
    assert_eq!(counts!(named), (7, 5, 0, 3));
}

#[compile(spec(x = f32[1..=64, 3]))]
fn ranged(x: &Tensor) -> Tensor {
    x.sum(1)
}

#[compile]
fn promised(#[spec(f32[_, 3])] x: &Tensor) -> Tensor {
    x.sum(1)
}

#[test]
fn a_range_is_symbolic_and_an_underscore_is_a_number() {
    for n in [2, 3, 64] {
        ranged(&tensor(&[n, 3]));
        promised(&tensor(&[n, 3]));
    }
    assert_eq!(counts!(ranged), (3, 3, 0, 1));
    assert_eq!(counts!(promised), (3, 3, 0, 3));
}

#[test]
fn more_sizes_than_plans_stay_one_entry() {
    #[compile(spec(x = f32[B, 2]))]
    fn many(x: &Tensor) -> Tensor {
        x * 3.0
    }
    for round in 0..2 {
        for n in 2..42 {
            let x = tensor(&[n, 2]);
            same(&many(&x), &(&x * 3.0));
        }
        assert_eq!(explain!(many).entries.len(), 1, "round {round}");
    }
    // the last 16 are known
    let bound = explain!(many).calls.bound;
    for n in 26..42 {
        many(&tensor(&[n, 2]));
    }
    assert_eq!(explain!(many).calls.bound, bound);
    assert_eq!(explain!(many).calls.dispatched, 96);
}

#[compile]
fn laid_out(x: &Tensor) -> Tensor {
    x.sigmoid() * 2.0
}

#[test]
fn a_layout_is_part_of_the_key_and_a_known_one_a_hit() {
    let x = tensor(&[4, 4]);
    let t = x.t();
    against_body!(laid_out(&x));
    assert_eq!(counts!(laid_out), (1, 1, 0, 1));
    for _ in 0..3 {
        laid_out(&t);
    }
    assert_eq!(counts!(laid_out), (4, 2, 0, 2));
    laid_out(&tensor(&[1, 4]).expand((4, 4)));
    assert_eq!(counts!(laid_out), (5, 3, 0, 3));
    laid_out(&tensor(&[4, 8]).slice(1, 0, 8, 2));
    assert_eq!(counts!(laid_out), (6, 4, 0, 4));
    laid_out(&x);
    laid_out(&tensor(&[1, 4]).expand((4, 4)));
    assert_eq!(counts!(laid_out), (8, 4, 0, 4));
}

#[compile]
fn by_dtype(x: &Tensor) -> Tensor {
    x * 2
}

#[test]
fn dtype_grad_flag_and_grad_mode_are_part_of_the_key() {
    let x = tensor(&[4]);
    by_dtype(&x);
    by_dtype(&x.to_dtype(DType::I64));
    assert_eq!(counts!(by_dtype), (2, 2, 0, 2));
    by_dtype(&x.clone().requires_grad_(true));
    assert_eq!(counts!(by_dtype), (3, 3, 0, 3));
    tensorplay::no_grad(|| by_dtype(&x));
    assert_eq!(counts!(by_dtype), (4, 4, 0, 4));
    by_dtype(&x);
    tensorplay::no_grad(|| by_dtype(&x));
    assert_eq!(counts!(by_dtype), (6, 4, 0, 4));
}

// ---- scalars

#[compile]
fn kernel_arguments(x: &Tensor, a: f32, b: f64, c: i64, d: bool) -> Tensor {
    x * a + b - c + d
}

#[test]
fn a_scalar_of_a_kernel_is_not_part_of_the_key() {
    let x = tensor(&[5]);
    for i in 0..6u8 {
        against_body!(kernel_arguments(
            &x,
            f32::from(i),
            f64::from(i) / 3.0,
            i64::from(i) - 3,
            i % 2 == 0
        ));
    }
    assert_eq!(counts!(kernel_arguments), (6, 1, 0, 1));
}

#[compile]
fn sizes(x: &Tensor, n: usize, start: i64) -> Tensor {
    x.narrow(0, start, n) + 1.0
}

#[compile]
fn to_shape(x: &Tensor, rows: usize) -> Tensor {
    x.reshape((rows, -1)).softmax(-1)
}

#[compile]
fn both_uses(x: &Tensor, n: i64) -> Tensor {
    x.narrow(0, 0, n) * n
}

#[test]
fn a_scalar_used_as_a_size_joins_the_key_by_value() {
    let x = tensor(&[6]);
    for (n, start) in [(2, 0), (3, 0), (2, 1), (2, 0)] {
        against_body!(sizes(&x, n, start));
    }
    assert_eq!(counts!(sizes), (4, 3, 0, 3));
    for rows in [2, 3, 2, 6, 1] {
        against_body!(to_shape(&x, rows));
    }
    assert_eq!(counts!(to_shape), (5, 4, 0, 4));
    for n in [2, 3, 2] {
        against_body!(both_uses(&x, n));
    }
    assert_eq!(counts!(both_uses), (3, 2, 0, 2));
}

#[compile]
fn derived(x: &Tensor, heads: usize) -> Tensor {
    let d = x.dim(-1) / heads;
    x.reshape((-1, heads, d)).transpose(0, 1) * (1.0 / (d as f64).sqrt())
}

#[test]
fn numbers_computed_from_dims_follow_the_call() {
    for (n, heads) in [(8, 2), (8, 4), (12, 4), (12, 3)] {
        against_body!(derived(&tensor(&[3, n]), heads));
    }
    assert_eq!(counts!(derived), (4, 4, 0, 4));
}

// ---- specs

#[compile(spec(x = f32[B, 784]))]
fn pixels(x: &Tensor) -> Result<Tensor> {
    x.try_relu()
}

#[compile(spec(x = f32[B, 784]))]
fn pixels_or_panic(x: &Tensor) -> Tensor {
    x.relu()
}

#[test]
fn a_broken_spec_has_the_documented_text() {
    let bad = tensor(&[2, 783]);
    let e = pixels(&bad).expect_err("a broken spec");
    assert!(matches!(e, Error::Shape(_)), "{e:?}");
    assert_eq!(e.code(), "TP0030");
    let text = e.to_string();
    assert!(
        text.contains("`x`: expected f32[B, 784], got f32[2, 783]"),
        "{text}"
    );
    assert!(text.starts_with("error[TP0030]: "), "{text}");
    assert_eq!(panic_of(|| pixels_or_panic(&bad)), text);
    for (bad, got) in [
        (tensor(&[784]), "got f32[784]"),
        (tensor(&[1, 1, 784]), "got f32[1, 1, 784]"),
        (tensor(&[2, 784]).to_dtype(DType::F64), "got f64[2, 784]"),
        (tensor(&[2, 784]).to_dtype(DType::I64), "got i64[2, 784]"),
    ] {
        let text = pixels(&bad).expect_err("a broken spec").to_string();
        assert!(
            text.contains(&format!("`x`: expected f32[B, 784], {got}")),
            "{text}"
        );
        // never a guard miss: the body would accept it
        assert_eq!(panic_of(|| pixels_or_panic(&bad)), text);
    }
    assert_eq!(counts!(pixels).3, 0);
    assert!(pixels(&tensor(&[2, 784])).is_ok());
}

#[compile(spec(numbers = f32[N, 4], category = i64[N]))]
fn joined(numbers: &Tensor, category: &Tensor) -> Result<Tensor> {
    Ok(numbers.try_sum(1)?.try_mul(category)?)
}

#[test]
fn a_named_dim_that_disagrees_names_both_parameters() {
    let e = joined(&tensor(&[9, 4]), &Tensor::zeros(4, DType::I64)).expect_err("9 is not 4");
    assert!(
        e.to_string()
            .contains("`N` is 9 in `numbers` and 4 in `category`"),
        "{e}"
    );
    assert!(joined(&tensor(&[9, 4]), &Tensor::zeros(9, DType::I64)).is_ok());
}

#[compile(spec(a = f32[M, K], b = f32[N, K]))]
fn two_names(a: &Tensor, b: &Tensor) -> Tensor {
    a.matmul(&b.t())
}

#[test]
fn different_names_may_be_equal_and_an_equal_name_must_be() {
    against_body!(two_names(&tensor(&[3, 3]), &tensor(&[3, 3])));
    against_body!(two_names(&tensor(&[2, 3]), &tensor(&[5, 3])));
    let text = panic_of(|| two_names(&tensor(&[2, 3]), &tensor(&[5, 4])));
    assert!(text.contains("`K` is 3 in `a` and 4 in `b`"), "{text}");
}

#[compile(spec(x = f32[1..=64, 3]))]
fn in_a_range(x: &Tensor) -> Result<Tensor> {
    x.try_neg()
}

#[test]
fn a_range_is_shown_as_written() {
    for n in [0, 65] {
        let text = in_a_range(&tensor(&[n, 3])).expect_err("outside").to_string();
        assert!(
            text.contains(&format!("`x`: expected f32[1..=64, 3], got f32[{n}, 3]")),
            "{text}"
        );
    }
    assert!(in_a_range(&tensor(&[1, 3])).is_ok() && in_a_range(&tensor(&[64, 3])).is_ok());
}

#[compile(spec(x = f32[B, 4], return = f32[B, 2]))]
fn promised_result(x: &Tensor, n: usize) -> Result<Tensor> {
    x.try_narrow(1, 0, n)
}

#[compile(spec(x = float[..], y = _[2, _]))]
fn left_open(x: &Tensor, y: &Tensor) -> Tensor {
    x + y
}

#[test]
fn the_result_keeps_its_promise_and_open_specs_are_open() {
    assert!(promised_result(&tensor(&[3, 4]), 2).is_ok());
    let e = promised_result(&tensor(&[3, 4]), 3)
        .expect_err("3 is not 2")
        .to_string();
    assert!(e.contains("`return`: expected f32[B, 2], got f32[3, 3]"), "{e}");
    against_body!(left_open(&tensor(&[2, 3]), &tensor(&[2, 3])));
    against_body!(left_open(&tensor(&[4, 2, 1]), &tensor(&[2, 3])));
    against_body!(left_open(
        &tensor(&[2, 3]).to_dtype(DType::F64),
        &tensor(&[2, 3]).to_dtype(DType::I32)
    ));
    let text = panic_of(|| left_open(&tensor(&[2, 3]), &tensor(&[3, 3])));
    assert!(text.contains("`y`: expected _[2, _], got f32[3, 3]"), "{text}");
}

// ---- errors

#[compile]
fn product(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    Ok(x.try_matmul(w)?.try_relu()?)
}

#[compile]
fn product_or_panic(x: &Tensor, w: &Tensor) -> Tensor {
    x.matmul(w).relu()
}

#[test]
fn errors_of_rules_are_err_or_panic_with_the_eager_text() {
    let (x, w) = (tensor(&[3, 4]), tensor(&[5, 6]));
    let bad: [(&Tensor, &Tensor); 4] = [
        (&x, &w),
        (&tensor(&[]), &w),
        (&x, &tensor(&[4, 2]).to_dtype(DType::Bool)),
        (&tensor(&[2, 3, 4]), &tensor(&[3, 4, 5])),
    ];
    for (a, b) in bad {
        let eager = panic_of(|| a.matmul(b).relu());
        let e = product(a, b).expect_err("a broken rule").to_string();
        assert_eq!(e, eager);
        assert_eq!(panic_of(|| product_or_panic(a, b)), eager);
        let twin = compiler::disable_capture(|| product(a, b))
            .expect_err("a broken rule")
            .to_string();
        assert_eq!(twin, eager);
    }
    let text = product(&x, &w).expect_err("4 is not 5").to_string();
    assert!(
        text.starts_with("error[TP0012]: matmul: inner dimensions differ: lhs [3, 4] @ rhs [5, 6] (4 != 5)"),
        "{text}"
    );
    assert!(text.contains("\n  help: "), "{text}");
    // the table is as it was, and good calls work
    assert_eq!(counts!(product).3, 0);
    same(
        &product(&x, &tensor(&[4, 2])).expect("a product"),
        &x.matmul(&tensor(&[4, 2])).relu(),
    );
}

#[compile]
fn panics_here(x: &Tensor) -> Tensor {
    x.softmax(3)
}

#[test]
fn a_panic_is_at_the_callers_or_the_functions_line() {
    use std::sync::Mutex;
    static AT: Mutex<Option<(String, u32)>> = Mutex::new(None);
    // one test of this binary sets the hook; others only read panics by their payload
    let old = std::panic::take_hook();
    std::panic::set_hook(Box::new(|info| {
        if let (Some(l), true) = (info.location(), thread::current().name() == Some("located")) {
            *AT.lock().expect("the lock") = Some((l.file().to_string(), l.line()));
        }
    }));
    let text = thread::Builder::new()
        .name("located".into())
        .spawn(|| panic_of(|| panics_here(&tensor(&[2, 2]))))
        .expect("a thread")
        .join()
        .expect("the text");
    std::panic::set_hook(old);
    let (file, _) = AT.lock().expect("the lock").clone().expect("a location");
    assert!(file.ends_with("tests/dispatch.rs"), "{file}: {text}");
}

#[compile]
fn quotient(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    Ok(a.try_floor_div(b)?.try_add(1)?)
}

#[test]
fn a_failing_data_check_is_an_error_of_that_call_only() {
    let a = Tensor::from_slice(&[7i64, -7, 9], 3);
    let good = Tensor::from_slice(&[2i64, 2, -4], 3);
    let zero = Tensor::from_slice(&[2i64, 0, 1], 3);
    assert_eq!(
        quotient(&a, &good).expect("a quotient").to_vec::<i64>(),
        [4, -3, -2]
    );
    for _ in 0..3 {
        let text = quotient(&a, &zero).expect_err("a zero").to_string();
        assert!(text.contains("floor_div: integer division by zero"), "{text}");
    }
    assert_eq!(
        quotient(&a, &good).expect("a quotient").to_vec::<i64>(),
        [4, -3, -2]
    );
    assert_eq!(explain!(quotient).calls.errors, 3);
    assert_eq!(explain!(quotient).calls.bound, 1);
}

#[compile]
fn reduced(x: &Tensor) -> Result<(Tensor, Tensor)> {
    Ok((x.try_sum(1)?, x.try_max(1)?))
}

#[compile]
fn through_everything(x: &Tensor, w: &Tensor) -> Tensor {
    let y = (x + 1.0).relu().matmul(w).softmax(-1);
    y.layer_norm(1, None, None, 1e-5) + y.sum_keepdim(0)
}

#[test]
fn empty_tensors() {
    let text = reduced(&tensor(&[2, 0])).expect_err("an empty axis").to_string();
    assert!(text.contains("error[TP0016]: max: "), "{text}");
    let (sum, max) = reduced(&tensor(&[0, 3])).expect("no rows");
    assert_eq!((sum.shape(), max.shape()), (&[0][..], &[0][..]));
    for (n, k, m) in [(0, 3, 2), (3, 0, 2), (3, 2, 0), (0, 0, 0), (1, 1, 1)] {
        let y = against_body!(through_everything(&tensor(&[n, k]), &tensor(&[k, m])));
        assert_eq!(y.shape(), [n, m]);
    }
    assert!(explain!(through_everything).calls.errors == 0);
}

#[test]
fn layouts_have_the_same_values() {
    // larger than a cache block, and than a vector; odd tails
    for (n, m) in [(3, 5), (33, 65), (70, 257), (1, 4099)] {
        let dense = tensor(&[n, m]);
        let w = tensor(&[m, 7]);
        let wide = tensor(&[n, 2 * m + 3]);
        let views = [
            dense.clone(),
            tensor(&[m, n]).t(),
            wide.slice(1, 1, 2 * m + 1, 2),
            wide.narrow(1, 2, m),
            tensor(&[2 * n, m]).slice(0, 0, 2 * n, 2),
            tensor(&[1, m]).expand((n, m)),
            tensor(&[n, 1]).expand((n, m)),
            tensor(&[1, 1]).expand((n, m)),
            tensor(&[3, n, m]).select(0, 1),
            tensor(&[n, m, 2]).select(-1, 1),
        ];
        for (i, x) in views.iter().enumerate() {
            assert_eq!(x.shape(), [n, m]);
            let y = against_body!(through_everything(x, &w));
            same(&y, &through_everything(&x.contiguous(), &w));
            let z = against_body!(laid_out_rows(x));
            same(&z, &laid_out_rows(&x.contiguous()));
            let columns = against_body!(by_columns(x));
            same(&columns, &by_columns(&x.contiguous()));
            let _ = i;
        }
    }
    assert!(
        explain!(laid_out_rows).fallbacks.is_empty(),
        "{}",
        explain!(laid_out_rows)
    );
    assert!(
        explain!(by_columns).fallbacks.is_empty(),
        "{}",
        explain!(by_columns)
    );
}

#[compile]
fn laid_out_rows(x: &Tensor) -> Tensor {
    (x - x.mean_keepdim(1)).tanh() / x.sum_keepdim(1).abs().clamp_min(1.0)
}

#[compile]
fn by_columns(x: &Tensor) -> Tensor {
    (x * 2.0).softmax(0) + x.max_keepdim(0)
}

#[test]
fn unaligned_and_shared_operands() {
    #[compile]
    fn added(a: &Tensor, b: &Tensor) -> Tensor {
        (a + b).exp() * b
    }
    let base = tensor(&[4096 + 16]);
    for k in 0..9usize {
        let (a, b) = (base.narrow(0, k, 4000), base.narrow(0, 8 - k, 4000));
        against_body!(added(&a, &b));
    }
    let before = base.to_vec::<f32>();
    against_body!(added(&base, &base));
    assert_eq!(base.to_vec::<f32>(), before);
}

#[compile]
fn higher(x: &Tensor, y: &Tensor) -> Tensor {
    (x * y + 1.0).relu()
}

#[test]
fn ranks_beyond_the_drivers_limit_give_the_same_values() {
    for rank in [0usize, 1, 5, 8, 9, 12] {
        let shape: Vec<usize> = (0..rank).map(|i| 1 + i % 3 % 2).collect();
        let x = tensor(&shape);
        let order: Vec<usize> = (0..rank).rev().collect();
        let p = x.permute(&order[..]);
        let back: Vec<usize> = shape.iter().rev().copied().collect();
        against_body!(higher(&x, &x));
        against_body!(higher(&p, &tensor(&back)));
        if rank > 0 {
            against_body!(higher(&x, &tensor(&shape[rank - 1..])));
        }
    }
}

#[test]
fn nan_and_infinities_pass_through() {
    #[compile]
    fn special(x: &Tensor) -> (Tensor, Tensor, Tensor, Tensor, Tensor) {
        (x.relu(), x.max(0), x.maximum(0.0), x.clamp(-1.0, 1.0), x.gt(0.0))
    }
    let x = Tensor::from_slice(&[1.0f32, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0], 5);
    let (relu, max, maximum, clamp, gt) = special(&x);
    let nan = |t: &Tensor| t.to_vec::<f32>().iter().map(|v| v.is_nan()).collect::<Vec<_>>();
    for t in [&relu, &maximum, &clamp] {
        assert_eq!(nan(t), [false, true, false, false, false], "{t}");
    }
    assert!(max.item::<f32>().is_nan());
    assert_eq!(gt.to_vec::<bool>(), [true, false, true, false, false]);
    assert_eq!(relu.to_vec::<f32>()[2..4], [f32::INFINITY, 0.0]);
    let plain = compiler::disable_capture(|| special(&x));
    for (a, b) in [
        (&relu, &plain.0),
        (&max, &plain.1),
        (&maximum, &plain.2),
        (&clamp, &plain.3),
        (&gt, &plain.4),
    ] {
        same(a, b);
    }
}

// ---- stepping aside

#[compile]
fn steps_aside(x: &Tensor) -> Tensor {
    x.cos()
}

#[test]
fn disable_capture_runs_the_body_on_this_thread_only() {
    let x = tensor(&[3]);
    compiler::disable_capture(|| {
        steps_aside(&x);
        assert_eq!(counts!(steps_aside), (0, 0, 0, 0));
        thread::scope(|s| {
            s.spawn(|| steps_aside(&x));
        });
        assert_eq!(counts!(steps_aside).0, 1);
        compiler::disable_capture(|| steps_aside(&x));
        steps_aside(&x);
    });
    assert_eq!(counts!(steps_aside).0, 1);
    // restored on panic
    panic_of(|| compiler::disable_capture(|| panic!("out of here")));
    steps_aside(&x);
    assert_eq!(counts!(steps_aside).0, 2);
    assert!(!compiler::is_compiling());
}

#[test]
fn explain_reads_and_never_calls() {
    #[compile]
    fn looked_at(x: &Tensor, n: usize, s: f32) -> Result<Tensor> {
        x.try_narrow(0, 0, n)?.try_mul(s)
    }
    let e = explain!(looked_at);
    assert!(e.path.ends_with("::looked_at"), "{}", e.path);
    assert!(e.file.ends_with("tests/dispatch.rs"), "{}", e.file);
    assert_eq!((e.calls.dispatched, e.entries.len(), e.breaks.len()), (0, 0, 0));
    assert!(
        e.to_string()
            .starts_with(&format!("{} at {}:{}", e.path, e.file, e.line)),
        "{e}"
    );
    assert!(e.graphs[0].to_string().contains("narrow"));
    let guards = e.guards[0].to_string();
    assert_eq!(guards, "n: usize is part of the key", "and `s` is not");
    assert_eq!(e.guards[0].source(), "");
    let text = e.graphs[0].to_string();
    let parsed: tensorplay::graph::GraphModule = text.parse().expect("the text parses");
    assert_eq!(parsed.to_string(), text);
}

// ---- variables

#[compile]
fn many_reads(w: &Tensor) -> Tensor {
    let rows = w.sum_keepdim(1);
    let product = w.matmul(&Tensor::ones((64, 1), DType::F32));
    (rows - product).abs() + (w.max_keepdim(1) - w.min_keepdim(1)).abs()
}

#[test]
fn a_variable_is_read_once_a_call() {
    let w = Tensor::zeros((512, 64), DType::F32).variable();
    let values = [
        Tensor::zeros((512, 64), DType::F32),
        Tensor::ones((512, 64), DType::F32),
    ];
    let stop = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|s| {
        s.spawn(|| {
            for i in 0.. {
                if stop.load(std::sync::atomic::Ordering::Relaxed) {
                    break;
                }
                w.assign(&values[i % 2]);
            }
        });
        // a variable that is passed twice: tests/regressions/own.rs
        let mut torn = Vec::new();
        for _ in 0..300 {
            let m = many_reads(&w).max_all().item::<f32>();
            if m != 0.0 {
                torn.push(m);
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(
            torn.is_empty(),
            "{} torn calls, such as {:?}",
            torn.len(),
            torn[0]
        );
    });
}

#[test]
fn an_assigned_variable_is_a_hit_with_the_new_value() {
    #[compile]
    fn affine(x: &Tensor, w: &Tensor) -> Tensor {
        x.matmul(w) + 1.0
    }
    let x = tensor(&[2, 3]);
    let w = tensor(&[3, 2]).requires_grad_(true);
    for k in 0..4 {
        w.assign(&(tensor(&[3, 2]) * k));
        let want = x.matmul(&(tensor(&[3, 2]) * k)) + 1.0;
        same(&affine(&x, &w).detach(), &want);
    }
    assert_eq!(counts!(affine), (4, 1, 0, 1));
}

// ---- kinds of kernels

#[compile(dtypes(f32, f64, f16, bf16))]
fn in_four_dtypes(x: &Tensor, w: &Tensor) -> Tensor {
    (x * w + 1.0).gelu().softmax(-1)
}

#[test]
fn listed_dtypes_run_emitted_kernels() {
    for (i, dtype) in [DType::F32, DType::F64, DType::F16, DType::BF16]
        .into_iter()
        .enumerate()
    {
        let (x, w) = (tensor(&[4, 40]).to_dtype(dtype), tensor(&[40]).to_dtype(dtype));
        let before = explain!(in_four_dtypes).calls.steps;
        let y = in_four_dtypes(&x, &w);
        let e = explain!(in_four_dtypes);
        assert_eq!(y.dtype(), dtype);
        assert!(e.calls.steps.emitted > before.emitted, "{dtype}: {e}");
        assert_eq!(e.calls.steps.tile, 0, "{dtype}: {e}");
        assert!(e.fallbacks.is_empty(), "{dtype}: {e}");
        assert_eq!(e.entries.len(), i + 1);
        let plain = compiler::disable_capture(|| in_four_dtypes(&x, &w));
        let tolerance = [1e-5, 1e-12, 2e-3, 2e-2][i];
        assert!(
            y.allclose(&plain, tolerance, tolerance),
            "{dtype}: {y} != {plain}"
        );
    }
}

#[compile]
fn only_f32(x: &Tensor, y: &Tensor) -> Tensor {
    (x + y).relu() * 2
}

#[test]
fn other_dtypes_run_on_the_tile_vm_and_are_listed() {
    let x = tensor(&[4, 5]);
    against_body!(only_f32(&x, &x));
    let e = explain!(only_f32);
    assert!(
        e.calls.steps.emitted > 0 && e.calls.steps.tile == 0 && e.fallbacks.is_empty(),
        "{e}"
    );
    let mut tile = 0;
    for (a, b) in [
        (DType::F64, DType::F64),
        (DType::I64, DType::I64),
        (DType::F16, DType::F16),
        (DType::F32, DType::F64),
        (DType::I32, DType::F32),
        (DType::U8, DType::Bool),
    ] {
        let y = against_body!(only_f32(&x.to_dtype(a), &x.to_dtype(b)));
        let e = explain!(only_f32);
        assert!(e.calls.steps.tile > tile, "{a} and {b} -> {}: {e}", y.dtype());
        assert!(
            !e.fallbacks.is_empty() && e.to_string().contains("fallbacks:"),
            "{e}"
        );
        tile = e.calls.steps.tile;
    }
    let e = explain!(only_f32);
    assert!(
        e.fallbacks
            .iter()
            .all(|f| !f.reason.is_empty() && !f.group.is_empty()),
        "{e}"
    );
}

#[compile(spec(x = i64[..], mask = bool[..]))]
fn spec_dtypes(x: &Tensor, mask: &Tensor) -> Tensor {
    (x * 2 + 1).masked_fill(mask, 0).maximum(-3)
}

#[test]
fn integer_and_bool_specs_run_emitted_kernels() {
    let x = tensor(&[4, 5]).to_dtype(DType::I64);
    let y = against_body!(spec_dtypes(&x, &x.gt(0)));
    assert_eq!(y.dtype(), DType::I64);
    let e = explain!(spec_dtypes);
    assert!(
        e.calls.steps.emitted > 0 && e.calls.steps.tile == 0 && e.fallbacks.is_empty(),
        "{e}"
    );
}

#[test]
fn half_types_round_once_in_a_group() {
    #[compile(dtypes(f16))]
    fn chain(x: &Tensor) -> Tensor {
        (x * 1.001 + 0.3) * 3.0
    }
    let data = numbers(64);
    let x = Tensor::from_slice(&data, 64).to_dtype(DType::F16);
    let exact = ((x.to_dtype(DType::F32) * 1.001f32 + 0.3f32) * 3.0f32).to_dtype(DType::F16);
    assert_eq!(
        chain(&x).to_vec::<tensorplay::half::f16>(),
        exact.to_vec::<tensorplay::half::f16>()
    );
    assert!(explain!(chain).fallbacks.is_empty());
}

// ---- panics of the user

#[derive(Debug)]
struct Explosive;

impl From<Error> for Explosive {
    fn from(e: Error) -> Explosive {
        panic!("the conversion exploded: {e}")
    }
}

#[compile]
fn explodes(x: &Tensor, w: &Tensor) -> std::result::Result<Tensor, Explosive> {
    let y = x.try_matmul(w)?;
    Ok(y.exp())
}

#[test]
fn a_panic_of_the_user_poisons_nothing() {
    let (x, w) = (tensor(&[2, 3]), tensor(&[3, 2]));
    // before the first bind, and between good calls
    for _ in 0..3 {
        let text = panic_of(|| explodes(&x, &x));
        assert!(
            text.starts_with("the conversion exploded: error[TP0012]: matmul: "),
            "{text}"
        );
        let good = explodes(&x, &w).expect("a product");
        same(&good, &x.matmul(&w).exp());
    }
    // from many threads at once
    thread::scope(|s| {
        for i in 0..8 {
            let (x, w) = (&x, &w);
            s.spawn(move || {
                for k in 0..20 {
                    if (i + k) % 2 == 0 {
                        panic_of(|| explodes(x, x));
                    } else {
                        explodes(x, w).expect("a product");
                    }
                }
            });
        }
    });
    let (dispatched, bound, errors, entries) = counts!(explodes);
    assert_eq!((dispatched, entries), (83, 1));
    assert_eq!(errors, 83);
    // one good bind; a failed one binds nothing
    assert!(bound >= 1, "{bound}");
    assert_eq!(explain!(explodes).entries[0].binds, 1);
    assert_eq!(counts!(explodes).3, 1);
}

#[test]
fn many_functions_and_threads_at_once() {
    #[compile(spec(x = f32[B, 8]))]
    fn busy(x: &Tensor, s: f32) -> Tensor {
        (x * s).softmax(-1)
    }
    thread::scope(|s| {
        for t in 0..8usize {
            s.spawn(move || {
                for k in 0..60usize {
                    let x = tensor(&[2 + (t * 7 + k) % 24, 8]);
                    let y = busy(&x, 1.5);
                    let rows = y.sum(1).to_vec::<f32>();
                    assert!(rows.iter().all(|r| (r - 1.0).abs() < 1e-5), "{rows:?}");
                }
            });
        }
    });
    let e = explain!(busy);
    // that no call is lost is a regression test: tests/regressions/own.rs
    assert_eq!((e.entries.len(), e.calls.errors), (1, 0));
}

#[test]
fn counters_grow_process_wide() {
    #[compile]
    fn counted(x: &Tensor) -> Tensor {
        x.atan()
    }
    let before = compiler::counters();
    let x = tensor(&[7]);
    counted(&x);
    counted(&x);
    let after = compiler::counters();
    assert!(after.captures > before.captures && after.binds > before.binds && after.hits > before.hits);
    assert!(after.misses > before.misses && after.kernels_emitted >= before.kernels_emitted + 2);
    assert_eq!(after.breaks, before.breaks);
}
