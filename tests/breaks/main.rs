//! Functions with graph breaks: the same values as the plain body, the breaks where they are, and what was dispatched.
//!
//! Every test has functions of its own, because counts belong to a function.
#![deny(warnings)]

mod forms;
mod odd;

use std::cell::Cell;
use tensorplay::{Error, Result, compile, compiler, explain, graph, prelude::*};

fn tensor(shape: &[usize]) -> Tensor {
    let n = shape.iter().product();
    let numbers: Vec<f32> = (0..n)
        .map(|i| ((i * 37 + 11) % 101) as f32 / 50.0 - 1.0)
        .collect();
    Tensor::from_vec(numbers, shape)
}

#[track_caller]
fn same(a: &Tensor, b: &Tensor) {
    assert_eq!((a.shape(), a.dtype()), (b.shape(), b.dtype()));
    assert!(a.allclose(b, 1e-5, 1e-6), "{a} != {b}");
}

/// The compiled call against the plain body.
macro_rules! against_body {
    ($f:expr) => {{
        let compiled = $f;
        let plain = compiler::disable_capture(|| $f);
        same(&compiled, &plain);
        compiled
    }};
}

/// `(line behind the function's, reason)` of each break.
macro_rules! breaks {
    ($f:path) => {{
        let report = explain!($f);
        for b in &report.breaks {
            assert!(b.file.ends_with("main.rs"), "{b}");
        }
        let list = report.breaks.iter();
        list.map(|b| (b.line - report.line, b.reason.clone()))
            .collect::<Vec<(u32, String)>>()
    }};
}

#[track_caller]
fn expect(got: Vec<(u32, String)>, want: &[(u32, &str)]) {
    let want: Vec<(u32, String)> = want.iter().map(|(l, r)| (*l, r.to_string())).collect();
    assert_eq!(got, want);
}

// ---- breaks between statements

#[compile]
fn printed(x: &Tensor, w: &Tensor) -> Tensor {
    let h = x.matmul(w).relu();
    println!("{}", h.dim(0));
    let y = h * 2.0 + 1.0;
    y.tanh()
}

#[test]
fn statements_before_and_after_a_break_are_segments() {
    let (x, w) = (tensor(&[3, 4]), tensor(&[4, 5]));
    against_body!(printed(&x, &w));
    let report = explain!(printed);
    assert_eq!(report.graphs.len(), 2, "{report}");
    assert_eq!(
        (report.calls.dispatched, report.calls.bound, report.calls.errors),
        (2, 2, 0)
    );
    assert_eq!(report.entries.len(), 2);
    assert!(report.kernels.iter().any(|k| k.path == 1), "{report}");
    expect(breaks!(printed), &[(2, "the macro `println!`")]);
    assert_eq!(graph!(printed).len(), 2);
}

// ---- program 03

#[compile]
fn classify(x: &Tensor, w1: &Tensor, w2: &Tensor, head: &Tensor, threshold: f32) -> Tensor {
    let h = x.matmul(w1).relu();
    let logits = h.matmul(head);
    let confidence = logits.softmax(-1).max(-1).mean_all().item::<f32>();
    println!("first head: confidence {confidence:.3}");
    if confidence > threshold {
        return logits;
    }
    let h = (&h + h.matmul(w2)).gelu();
    h.matmul(head)
}

#[test]
fn an_early_exit_on_data() {
    let before = compiler::counters().breaks;
    let (x, w1, w2, head) = (tensor(&[6, 8]), tensor(&[8, 8]), tensor(&[8, 8]), tensor(&[8, 3]));
    against_body!(classify(&x, &w1, &w2, &head, 0.0));
    assert_eq!(explain!(classify).calls.dispatched, 1);
    against_body!(classify(&x, &w1, &w2, &head, 1.0));
    let report = explain!(classify);
    assert_eq!(report.calls.dispatched, 3, "{report}");
    expect(
        breaks!(classify),
        &[
            (3, "`item` reads tensor data"),
            (4, "the macro `println!`"),
            (
                5,
                "a branch or size that reads `confidence`, which changes while the function runs",
            ),
        ],
    );
    assert!(compiler::counters().breaks >= before + 3);
}

// ---- program 11, with its loop in Rust

#[compile]
fn cell<const H: usize>(x: &Tensor, h: &Tensor, w: &Tensor) -> Tensor {
    let g = x + h.matmul(w);
    let update = g.narrow(-1, 0, H).sigmoid();
    (1.0 - &update) * h + update * g.tanh()
}

#[compile]
fn gru<const H: usize>(xs: &Tensor, h0: &Tensor, w: &Tensor) -> (Tensor, Tensor) {
    let mut h = h0.clone();
    let mut states = Vec::with_capacity(xs.dim(0));
    for t in 0..xs.dim(0) {
        h = cell::<H>(&xs.select(0, t), &h, w);
        let scaled = (h.exp() + 1.0).log() * (H as f32);
        states.push(scaled);
    }
    (Tensor::stack(&states, 0), h)
}

#[test]
fn a_loop_in_rust() {
    let (xs, h0, w) = (tensor(&[5, 2, 4]), tensor(&[2, 4]), tensor(&[4, 4]));
    let (states, last) = gru::<4>(&xs, &h0, &w);
    let (want_states, want_last) = compiler::disable_capture(|| gru::<4>(&xs, &h0, &w));
    same(&states, &want_states);
    same(&last, &want_last);
    let report = explain!(gru::<4>);
    assert_eq!(report.calls.dispatched, 5, "{report}");
    assert_eq!(report.entries.len(), 1, "{report}");
    assert!(
        report
            .breaks
            .iter()
            .any(|b| b.reason == "the call of `cell::<H>`"),
        "{report}"
    );
}

// ---- data-dependent branches and loops

#[compile]
fn branches(x: &Tensor, deep: bool) -> Tensor {
    let y = x.exp();
    let z = if y.sum_all().item::<f32>() > 20.0 {
        let k = y.relu() + 1.0;
        if deep { k.gelu() } else { k }
    } else if x.max_all().item::<f32>() > 0.5 {
        y.tanh()
    } else {
        y
    };
    z.sigmoid()
}

#[test]
fn each_branch_on_data_is_segmented() {
    let (large, middle, small) = (tensor(&[20, 4]), tensor(&[8]), Tensor::zeros(3, DType::F32));
    against_body!(branches(&large, true));
    against_body!(branches(&large, false));
    assert_eq!(explain!(branches).calls.dispatched, 6);
    against_body!(branches(&middle, false));
    assert_eq!(explain!(branches).calls.dispatched, 10);
    against_body!(branches(&small, false));
    assert_eq!(explain!(branches).calls.dispatched, 13);
    expect(
        breaks!(branches),
        &[
            (2, "a branch on tensor data: `item`"),
            (5, "a branch on tensor data: `item`"),
        ],
    );
}

#[compile]
fn until(mut x: Tensor, w: &Tensor) -> Tensor {
    let mut total = x.zeros_like();
    let mut steps = 0;
    'outer: loop {
        x = x.relu() + 0.5;
        total = &total + &x * w;
        for i in 0..3 {
            if total.sum_all().item::<f32>() > 10.0 * i as f32 {
                steps += 1;
                if steps > 7 {
                    break 'outer;
                }
                continue;
            }
            total = (&total + 1.0).abs();
        }
    }
    total * (steps as f32)
}

#[test]
fn labelled_loops() {
    let (x, w) = (tensor(&[3, 4]), tensor(&[3, 4]).abs());
    against_body!(until(x.clone(), &w));
    let report = explain!(until);
    assert!(
        report.calls.dispatched > 4 && report.graphs.len() == 4,
        "{report}"
    );
    assert!(report.entries.len() <= 5, "{report}");
}

// ---- moves, shadowing, `mut`

#[compile]
fn moves(x: Tensor, w: &Tensor) -> Tensor {
    let mut h = x + w;
    let seen = h.dim(0);
    note(seen);
    h = h.relu();
    let h = {
        let h = h * 0.5;
        note(h.dim(1));
        h + 1.0
    };
    let mut k = h.exp();
    note(1);
    k += h;
    let w = k.tanh();
    note(w.rank());
    w
}

thread_local!(static NOTED: Cell<usize> = const { Cell::new(0) });

fn note(n: usize) {
    NOTED.set(NOTED.get() * 10 + n);
}

#[test]
fn moved_and_shadowed_locals() {
    let (x, w) = (tensor(&[3, 4]), tensor(&[4]));
    NOTED.set(0);
    against_body!(moves(x.clone(), &w));
    assert_eq!(NOTED.get(), 3412_3412);
    let report = explain!(moves);
    assert_eq!(report.calls.dispatched, 4, "{report}");
    assert_eq!(NOTED.get(), 3412_3412, "explain! runs nothing of the body");
}

// ---- `?`, `let else`, `Option`

#[compile]
fn parsed(x: &Tensor, text: &str) -> Result<Tensor> {
    let y = x.try_exp()?;
    let k: f32 = text.trim().parse().map_err(|_| Error::msg("no number"))?;
    let z = y.try_matmul(x)? * k;
    let Some(first) = text.chars().next() else {
        return Err(Error::msg("empty"));
    };
    if first == '2' {
        return Ok(z.relu() + 2.0);
    }
    Ok(z.tanh())
}

#[test]
fn results_of_others_and_of_segments() {
    let x = tensor(&[3, 3]);
    for (text, n) in [("1.5", 3), ("2.5", 6)] {
        let compiled = parsed(&x, text).expect("numbers");
        let plain = compiler::disable_capture(|| parsed(&x, text)).expect("numbers");
        same(&compiled, &plain);
        assert_eq!(explain!(parsed).calls.dispatched, n);
    }
    assert_eq!(parsed(&x, "one").expect_err("no number").to_string(), "no number");
    let error = parsed(&tensor(&[2, 3]), "1").expect_err("2 x 3 times 2 x 3");
    assert_eq!(error.code(), "TP0012");
    let report = explain!(parsed);
    assert_eq!(report.calls.errors, 1);
    let reasons: Vec<&str> = report.breaks.iter().map(|b| b.reason.as_str()).collect();
    let unknown = "`text` is of a type that capture does not know";
    assert!(reasons.contains(&unknown), "{reasons:?}");
}

#[compile]
fn boxed(x: &Tensor) -> std::result::Result<String, Box<dyn std::error::Error>> {
    let y = x.softmax(-1).argmax(-1).item::<i64>();
    let n: i64 = "3".parse()?;
    Ok(format!("{}", y + n))
}

#[test]
fn other_types_than_tensors() {
    let x = tensor(&[5]);
    let plain = compiler::disable_capture(|| boxed(&x)).expect("a number");
    assert_eq!(boxed(&x).expect("a number"), plain);
    assert_eq!(explain!(boxed).graphs.len(), 1);
}

// ---- closures, macros, cfg, opaque locals

struct Names(Vec<String>);

#[compile]
fn assorted(x: &Tensor, names: &Names, scale: f64) -> String {
    let y = (x * scale).exp();
    let f = |t: &Tensor| t.sum_all();
    let total = f(&(&y + 1.0)).item::<f32>();
    #[cfg(test)]
    let y = y.relu();
    let best = y.sqrt().argmax(-1).item::<i64>();
    let name = &names.0[best as usize];
    assert!(y.rank() == 1, "{y} {total}");
    format!("{name} {total:.2}")
}

impl tensorplay::__private::Dummy for &Names {
    fn dummy() -> Self {
        static NAMES: Names = Names(Vec::new());
        &NAMES
    }
}

#[test]
fn closures_macros_and_cfg() {
    let names = Names(["a", "b", "c"].map(String::from).to_vec());
    let x = tensor(&[3]);
    let compiled = assorted(&x, &names, 0.5);
    assert_eq!(compiled, compiler::disable_capture(|| assorted(&x, &names, 0.5)));
    let report = explain!(assorted);
    assert_eq!(report.calls.dispatched, 3, "{report}");
    let lines: Vec<u32> = report.breaks.iter().map(|b| b.line - report.line).collect();
    assert_eq!(lines, [2, 3, 4, 6, 7, 8, 9], "{report}");
}

// ---- specs

#[compile(spec(x = f32[B, 4], return = f32[B, 2]))]
fn promised(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    note(x.dim(0));
    let h = x.matmul(w).relu();
    note(h.dim(1));
    Ok(h + 1.0)
}

#[test]
fn specs_of_parameters_and_results_hold_in_segments() {
    let (x, w) = (tensor(&[3, 4]), tensor(&[4, 2]));
    same(
        &promised(&x, &w).unwrap(),
        &compiler::disable_capture(|| promised(&x, &w).unwrap()),
    );
    let text = promised(&tensor(&[3, 3]), &w).unwrap_err().to_string();
    assert!(text.contains("`x`: expected f32[B, 4], got f32[3, 3]"), "{text}");
    let text = promised(&x, &tensor(&[4, 3])).unwrap_err().to_string();
    assert!(text.contains("expected f32[B, 2]"), "{text}");
    let report = explain!(promised);
    assert!(report.guards[0].source().contains("x.dim(1) == 4"), "{report}");
}

// ---- methods, and functions whose results nobody can make up

struct Model {
    w: Tensor,
    scale: f32,
    calls: Cell<usize>,
}

struct Verdict(Tensor);

impl Model {
    #[compile]
    fn judge(&self, x: &Tensor) -> Verdict {
        self.calls.set(self.calls.get() + 1);
        let y = (x.matmul(&self.w) * self.scale).relu();
        Verdict(y.softmax(-1))
    }
}

#[test]
fn a_method_with_a_result_of_its_own_type() {
    let model = Model {
        w: tensor(&[4, 4]),
        scale: 0.5,
        calls: Cell::new(0),
    };
    let x = tensor(&[2, 4]);
    against_body!(model.judge(&x).0);
    assert_eq!(model.calls.get(), 2);
    let report = explain!(Model::judge);
    assert_eq!(report.calls.dispatched, 1, "{report}");
}

#[compile]
fn verdict(x: &Tensor) -> Verdict {
    note(5);
    Verdict(x.softmax(-1))
}

#[test]
fn explain_leaves_a_function_silently() {
    NOTED.set(0);
    let report = explain!(verdict);
    assert_eq!(NOTED.get(), 0);
    assert_eq!((report.graphs.len(), report.calls.dispatched), (1, 0));
    expect(
        breaks!(verdict),
        &[(1, "the call of `note`"), (2, "the call of `Verdict`")],
    );
    against_body!(verdict(&tensor(&[3])).0);
}
