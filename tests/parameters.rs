//! Every form of parameter and result: equal to the plain body, written back only on success, entries as the contract says.
#![deny(warnings)]
#![allow(
    clippy::needless_question_mark,
    clippy::too_many_arguments,
    reason = "compiled bodies spell out each form"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use tensorplay::{Error, Result, compile, compiler, explain, graph, prelude::*};

fn tensor(shape: &[usize]) -> Tensor {
    let n = shape.iter().product();
    let data: Vec<f32> = (0..n)
        .map(|i| ((i * 37 + 11) % 101) as f32 / 25.0 - 2.0)
        .collect();
    Tensor::from_vec(data, shape)
}

#[track_caller]
fn same(a: &Tensor, b: &Tensor) {
    assert_eq!((a.shape(), a.dtype()), (b.shape(), b.dtype()));
    let bits = |t: &Tensor| t.to_dtype(DType::F64).to_vec::<f64>();
    for (x, y) in bits(a).into_iter().zip(bits(b)) {
        assert!(x == y || (x - y).abs() <= 1e-5 + 1e-5 * y.abs(), "{a} != {b}");
    }
}

/// Runs a call compiled and plain on copies of the same state, and compares result and state.
#[track_caller]
fn against_body<S: Clone, R>(state: &S, call: impl Fn(&mut S) -> R, tensors: impl Fn(&S, &R) -> Vec<Tensor>) {
    let (mut compiled, mut plain) = (state.clone(), state.clone());
    let got = call(&mut compiled);
    let want = compiler::disable_capture(|| call(&mut plain));
    let (got, want) = (tensors(&compiled, &got), tensors(&plain, &want));
    assert_eq!(got.len(), want.len());
    got.iter().zip(&want).for_each(|(a, b)| same(a, b));
}

/// `(dispatched, bound, errors, entries)` of a function.
macro_rules! counts {
    ($f:path) => {{
        let e = explain!($f);
        (e.calls.dispatched, e.calls.bound, e.calls.errors, e.entries.len())
    }};
}

// ---- `&mut`

#[compile(fullgraph)]
fn append(x: &Tensor, keys: &mut Tensor, values: &mut Tensor) -> Tensor {
    *keys = Tensor::cat(&[&*keys, x], 0);
    let old = values.clone();
    *values = &*values + x;
    x * keys.sum(0) + &*values - old
}

#[test]
fn new_values_are_written_back() {
    let x = tensor(&[1, 3]);
    let state = (tensor(&[2, 3]), tensor(&[1, 3]));
    let call = |s: &mut (Tensor, Tensor)| append(&x, &mut s.0, &mut s.1);
    against_body(&state, call, |s, r| vec![r.clone(), s.0.clone(), s.1.clone()]);
    assert_eq!(state.0.shape(), [2, 3], "other handles keep the old value");
    assert_eq!(counts!(append), (1, 1, 0, 1));
    assert!(graph!(append).to_string().contains("into *%1"));
}

#[compile(fullgraph)]
fn step(x: &Tensor, state: &mut Tensor) {
    *state = (x + &*state).tanh();
}

#[test]
fn a_function_that_returns_nothing() {
    let (x, mut state) = (tensor(&[4]), tensor(&[4]));
    let call = |s: &mut Tensor| step(&x, s);
    against_body(&state, call, |s, ()| vec![s.clone()]);
    for _ in 0..3 {
        step(&x, &mut state);
    }
    assert_eq!(counts!(step), (4, 1, 0, 1));
}

#[compile]
fn swapped(a: &mut Tensor, b: &mut Tensor) -> Tensor {
    let t = a.clone();
    *a = b.clone();
    *b = t;
    a.clone()
}

#[test]
fn inputs_as_they_came_change_places() {
    let state = (tensor(&[2]), tensor(&[3]));
    let call = |s: &mut (Tensor, Tensor)| swapped(&mut s.0, &mut s.1);
    against_body(&state, call, |s, r| vec![r.clone(), s.0.clone(), s.1.clone()]);
    let (mut a, mut b) = (tensor(&[2]).requires_grad_(true), tensor(&[2]));
    let handle = a.clone();
    swapped(&mut a, &mut b);
    b.assign(&tensor(&[2]).exp());
    assert!(
        b.requires_grad() && handle.allclose(&tensor(&[2]).exp(), 0.0, 0.0),
        "a variable stays one"
    );
}

#[compile(fullgraph)]
fn cells(cache: &mut (Tensor, Tensor), pair: &mut [Tensor; 2], x: &Tensor) -> (Tensor, Tensor) {
    cache.0 = x + &cache.1;
    pair[1] = cache.0.exp();
    let (_, second) = cache;
    *second = pair[1].relu();
    (second.clone(), pair[0].neg())
}

#[compile(fullgraph)]
fn whole(cache: &mut (Tensor, Tensor), list: &mut [Tensor; 3], x: &Tensor) {
    *cache = (cache.1.clone(), x + &cache.0);
    for (i, t) in list.iter_mut().enumerate() {
        *t = &*t * i as f64 + x;
    }
}

#[test]
fn parts_of_tuples_and_arrays_are_written_back() {
    let x = tensor(&[3]);
    let state = (
        (x.exp(), x.neg()),
        [x.sin(), x.cos()],
        [x.abs(), x.tan(), x.relu()],
    );
    type State = ((Tensor, Tensor), [Tensor; 2], [Tensor; 3]);
    let all = |s: &State| {
        let mut all = vec![s.0.0.clone(), s.0.1.clone()];
        all.extend(s.1.iter().chain(&s.2).cloned());
        all
    };
    against_body(
        &state,
        |s: &mut State| cells(&mut s.0, &mut s.1, &x),
        |s, r| [all(s), vec![r.0.clone(), r.1.clone()]].concat(),
    );
    against_body(
        &state,
        |s: &mut State| whole(&mut s.0, &mut s.2, &x),
        |s, ()| all(s),
    );
    assert_eq!((counts!(cells).0, counts!(whole).0), (1, 1));
}

#[compile(fullgraph)]
fn sometimes(a: &mut Tensor, b: &mut Tensor, first: bool, flag: bool) -> Tensor {
    let one = if first { a } else { b };
    if flag {
        *one = one.exp();
    }
    let again = &mut *one;
    again.relu()
}

#[test]
fn paths_write_what_they_assign() {
    let state = (tensor(&[2]), tensor(&[2]));
    for (first, flag) in [(true, true), (true, false), (false, true), (false, false)] {
        let call = |s: &mut (Tensor, Tensor)| sometimes(&mut s.0, &mut s.1, first, flag);
        against_body(&state, call, |s, r| vec![r.clone(), s.0.clone(), s.1.clone()]);
    }
    assert_eq!(counts!(sometimes), (4, 4, 0, 4));
    assert_eq!(explain!(sometimes).graphs.len(), 4);
}

#[compile]
fn checked(x: &Tensor, i: &Tensor, state: &mut Tensor, other: &mut Tensor) -> Result<()> {
    *state = x.try_exp()?;
    *other = x.try_index_select(i, 0)?;
    Ok(())
}

#[compile]
fn multiplied(state: &mut Tensor, other: &mut Tensor) {
    *state = &*state + 1.0;
    *other = other.matmul(state);
}

#[test]
fn nothing_is_written_unless_all_succeeds() {
    let (x, good, bad) = (
        tensor(&[3]),
        Tensor::from_slice(&[2i64, 0], 2),
        Tensor::from_slice(&[2i64, 9], 2),
    );
    let (mut state, mut other) = (tensor(&[1]), tensor(&[1]));
    let error = checked(&x, &bad, &mut state, &mut other).expect_err("9 is out of range");
    assert!(
        error
            .to_string()
            .contains("index 9 is out of range for dim 0 of size 3"),
        "{error}"
    );
    same(&state, &tensor(&[1]));
    same(&other, &tensor(&[1]));
    checked(&x, &good, &mut state, &mut other).expect("all are in range");
    same(&state, &x.exp());
    assert_eq!(
        other.to_vec::<f32>(),
        [x.to_vec::<f32>()[2], x.to_vec::<f32>()[0]]
    );
    // shapes that do not fit are found before any kernel runs
    let call = || multiplied(&mut state, &mut other);
    assert!(catch_unwind(AssertUnwindSafe(call)).is_err());
    same(&state, &x.exp());
}

#[compile]
fn early(x: &mut Tensor, flag: bool) {
    if flag {
        return;
    }
    *x = x.exp();
}

#[compile]
fn numbers(x: &mut Tensor, n: &f64, k: &mut usize, pair: (&f64, usize)) -> Tensor {
    x.narrow(0, 0, *k) * *n + *pair.0 * pair.1 as f64
}

#[test]
fn early_returns_and_references_to_numbers() {
    for flag in [true, false] {
        against_body(&tensor(&[3]), |x| early(x, flag), |x, ()| vec![x.clone()]);
    }
    let call = |x: &mut Tensor| numbers(x, &2.5, &mut 2, (&0.5, 3));
    against_body(&tensor(&[3]), call, |x, r| vec![x.clone(), r.clone()]);
    numbers(&mut tensor(&[3]), &3.5, &mut 2, (&1.5, 4));
    assert_eq!(counts!(numbers), (2, 1, 0, 1), "only the size is in the key");
}

// ---- `Option`

#[compile(fullgraph, spec(x = f32[B, I], w = f32[I, O], b = f32[O]))]
fn layer(x: &Tensor, w: Option<&Tensor>, b: &Option<Tensor>, scale: Option<f64>) -> Tensor {
    let y = match w {
        Some(w) => x.matmul(w),
        None => x.clone(),
    };
    let y = if let Some(b) = b { y + b } else { y };
    match scale {
        Some(s) => y * s,
        None => y,
    }
}

#[compile]
fn passed_on(x: &Tensor, w: &Tensor, b: Option<&Tensor>) -> Tensor {
    x.linear(w, b)
}

#[compile]
fn unasked(x: &Tensor, b: Option<Tensor>, _: Option<&Tensor>) -> Option<Tensor> {
    let _ = x.relu();
    b
}

#[test]
fn options_are_guards_where_they_are_asked() {
    let (x, w, b) = (tensor(&[2, 3]), tensor(&[3, 4]), tensor(&[4]));
    for (w, b) in [(Some(&w), Some(b.clone())), (Some(&w), None), (None, None)] {
        for scale in [Some(2.0), Some(3.0), None] {
            against_body(&(), |()| layer(&x, w, &b, scale), |(), r| vec![r.clone()]);
        }
    }
    assert_eq!(counts!(layer), (9, 6, 0, 6));
    let broken = || layer(&x, None, &Some(tensor(&[5])), None);
    assert!(catch_unwind(AssertUnwindSafe(broken)).is_err());
    for bias in [Some(tensor(&[2])), None] {
        let call = |(): &mut ()| passed_on(&x, &tensor(&[2, 3]), bias.as_ref());
        against_body(&(), call, |(), r| vec![r.clone()]);
        let call = |(): &mut ()| unasked(&x, bias.clone(), None);
        against_body(&(), call, |(), r| r.iter().cloned().collect());
    }
}

// ---- tuples, arrays and patterns

#[compile(spec(pair = (f32[2], f32[2])))]
fn nested(
    pair: (&Tensor, &Tensor),
    deep: &((Tensor, f64), [Tensor; 2]),
    n: (usize, bool),
    list: [Tensor; 2],
) -> Tensor {
    let ((a, s), [b, c]) = deep;
    let y = pair.0 + a * *s + b + c - Tensor::stack(&list, 0).sum(0);
    if n.1 { y.unsqueeze(n.0) } else { y * pair.1 }
}

#[compile(fullgraph, spec(a = f32[2]))]
fn patterns(
    (a, _): (&Tensor, &Tensor),
    [b, c]: &mut [Tensor; 2],
    (d, (mut e, f)): (Tensor, (Tensor, f64)),
    &(g, _): &(f64, usize),
) -> Tensor {
    *b = a + &*c;
    e = e.exp();
    d + e * f * g
}

#[compile]
fn moved(mut x: Tensor, mut pair: (Tensor, Tensor)) -> Tensor {
    x = x.exp();
    pair.0 = pair.0.relu();
    pair.1 = &pair.0 + &x;
    pair.1
}

#[test]
fn tuples_arrays_and_patterns() {
    let x = tensor(&[2]);
    let deep = ((x.exp(), 1.5), [x.sin(), x.cos()]);
    for n in [(0, true), (1, true), (1, false)] {
        let call = |(): &mut ()| nested((&x, &x), &deep, n, [x.neg(), x.abs()]);
        against_body(&(), call, |(), r| vec![r.clone()]);
    }
    against_body(
        &[x.neg(), x.abs()],
        |s| patterns((&x, &x), s, (x.exp(), (x.clone(), 3.0)), &(0.5, 1)),
        |s, r| vec![r.clone(), s[0].clone(), s[1].clone()],
    );
    let call = |(): &mut ()| moved(x.clone(), (x.neg(), x.sin()));
    against_body(&(), call, |(), r| vec![r.clone()]);
    assert_eq!(
        (counts!(nested).0, counts!(patterns).0, counts!(moved).0),
        (3, 1, 1)
    );
}

// ---- parameters of other types

#[derive(Debug, PartialEq)]
enum Mode {
    Train(String),
    Scaled { by: f64 },
    Plain,
    Off,
}

#[derive(Clone, Copy, PartialEq)]
enum Act {
    Relu,
    Gelu,
}
use Act::Gelu;

#[compile(fullgraph)]
fn arms(x: &Tensor, mode: Mode) -> Tensor {
    match mode {
        Mode::Train(_) => x.exp(),
        Mode::Scaled { .. } | Mode::Plain => x.relu(),
        rest => {
            if matches!(rest, Mode::Off) {
                x.clone()
            } else {
                x.neg()
            }
        }
    }
}

#[compile(fullgraph)]
fn words(x: &Tensor, name: &str, act: Act, deep: Option<&Act>, mode: &mut Mode, letter: char) -> Tensor {
    let y = if name != "plain" { x * 2.0 } else { x.clone() };
    let y = match (act, letter) {
        (Gelu, 'a'..='f') => y.gelu(),
        (Act::Relu, _) if name == "plain" => y.relu(),
        _ => y,
    };
    let y = if let Some(Act::Relu) = deep { y.abs() } else { y };
    if *mode == Mode::Plain { y.square() } else { y }
}

mod layers {
    use super::Act;
    use tensorplay::{Tensor, compile};

    #[compile]
    pub fn scaled<const N: usize>(x: &Tensor, act: Act) -> Tensor {
        let x = x * N as f64;
        if act == Act::Relu { x.relu() } else { x }
    }

    /// Hides the type through which `explain!` would reach the function.
    pub mod hidden {}

    #[compile]
    pub fn hidden(x: &Tensor, act: Act) -> Tensor {
        if matches!(act, Act::Relu) {
            x.relu()
        } else {
            x.gelu()
        }
    }
}
use layers::{hidden, scaled as renamed};

struct Kind {
    act: Act,
}
const ACT: Act = Act::Gelu;

impl Kind {
    #[compile(fullgraph)]
    fn forward(&self, x: &Tensor) -> Tensor {
        let y = match self.act {
            Act::Relu => x.relu(),
            Gelu => x.gelu(),
        };
        if ACT == Act::Gelu { y + 1.0 } else { y }
    }
}

#[test]
fn functions_of_other_types_are_reached_by_their_path() {
    #[derive(Clone, Copy)]
    enum Local {
        Up,
        Down,
    }
    #[compile]
    fn local(x: &Tensor, way: &Local) -> Tensor {
        match way {
            Local::Up => x + 1.0,
            Local::Down => x - 1.0,
        }
    }
    let x = tensor(&[3]);
    for way in [Local::Up, Local::Down, Local::Up] {
        against_body(&(), |()| local(&x, &way), |(), r| vec![r.clone()]);
    }
    assert_eq!(counts!(local), (3, 2, 0, 2));
    for act in [Act::Relu, Act::Gelu] {
        against_body(&(), |()| renamed::<2>(&x, act), |(), r| vec![r.clone()]);
        against_body(&(), |()| hidden(&x, act), |(), r| vec![r.clone()]);
        against_body(&(), |()| Kind { act }.forward(&x), |(), r| vec![r.clone()]);
    }
    assert_eq!(explain!(renamed::<2>).calls.dispatched, 2);
    assert_eq!(explain!(layers::scaled::<3>).entries.len(), 2);
    assert_eq!(explain!(Kind::forward).graphs.len(), 4);
}

#[test]
fn other_types_are_asked_by_the_users_own_patterns() {
    let x = tensor(&[3]);
    let modes = || {
        [
            Mode::Train("fast".into()),
            Mode::Scaled { by: 2.0 },
            Mode::Plain,
            Mode::Off,
        ]
    };
    for (mode, again) in modes().into_iter().zip(modes()) {
        assert!(!matches!(mode, Mode::Scaled { by } if by == 0.0));
        let got = arms(&x, mode);
        same(&got, &compiler::disable_capture(|| arms(&x, again)));
    }
    same(&arms(&x, Mode::Plain), &x.relu());
    for name in ["plain", "fancy"] {
        for (a, deep, letter) in [
            (Act::Gelu, None, 'c'),
            (Act::Gelu, Some(&Act::Gelu), 'z'),
            (Act::Relu, Some(&Act::Relu), 'a'),
        ] {
            let call = |(): &mut ()| words(&x, name, a, deep, &mut Mode::Plain, letter);
            against_body(&(), call, |(), r| vec![r.clone()]);
        }
    }
    assert_eq!(explain!(arms).entries.len(), 3, "an arm is part of the key");
}

// ---- results

#[compile(fullgraph)]
fn many(x: &Tensor, n: usize) -> Vec<Tensor> {
    let mut all = Vec::with_capacity(n);
    for i in 0..3 {
        all.push(x * i);
    }
    all.push(Tensor::stack(&all, 0));
    if n > 2 {
        return vec![all[0].clone(), all[3].clone()];
    }
    all
}

#[compile]
fn pieces(#[spec(f32[6])] x: &Tensor) -> (Vec<Tensor>, Tensor) {
    let mut parts = x.chunk(3, 0);
    parts.push(x.clone());
    let n = parts.len() as f64;
    (parts, x * n)
}

#[compile(fullgraph)]
fn maybe(x: &Tensor, b: Option<Tensor>, deep: bool) -> Option<(Tensor, Option<Tensor>)> {
    if x.rank() == 1 {
        return None;
    }
    if deep {
        return Some((x.relu(), b));
    }
    Some((x.exp(), None))
}

#[derive(Debug)]
enum MyError {
    Ours(Error),
}

impl From<Error> for MyError {
    fn from(e: Error) -> MyError {
        MyError::Ours(e)
    }
}

#[compile]
fn arrays(x: &Tensor, w: &Tensor) -> std::result::Result<[(Tensor, Tensor); 2], MyError> {
    let h = x.try_matmul(w)?;
    Ok([(h.clone(), x.relu()), (x.clone(), h)])
}

#[compile]
fn listed(x: &Tensor, write: &mut Tensor, deep: bool) -> Result<Vec<(Tensor, Option<Tensor>)>> {
    let mut all = vec![(x.try_exp()?, None)];
    if deep {
        all.push((x.try_neg()?, Some(x.clone())));
        *write = x.clone();
    }
    Ok(all)
}

#[compile]
fn nothing(_: &Tensor) {}

#[test]
fn results_of_every_form() {
    let x = tensor(&[2, 3]);
    for n in [1, 3] {
        against_body(&(), |()| many(&x, n), |(), r| r.clone());
    }
    assert_eq!(many(&x, 1).len(), 4);
    let call = |(): &mut ()| pieces(&tensor(&[6]));
    against_body(&(), call, |(), r| [r.0.clone(), vec![r.1.clone()]].concat());
    for (x, b, deep) in [
        (tensor(&[2]), None, true),
        (x.clone(), Some(x.sin()), true),
        (x.clone(), None, true),
        (x.clone(), Some(x.sin()), false),
    ] {
        let call = |(): &mut ()| maybe(&x, b.clone(), deep);
        against_body(&(), call, |(), r| match r {
            None => vec![],
            Some((a, None)) => vec![a.clone()],
            Some((a, Some(b))) => vec![a.clone(), b.clone()],
        });
    }
    let ok = |(): &mut ()| arrays(&x, &tensor(&[3, 3])).expect("the shapes fit");
    against_body(&(), ok, |(), [a, b]| {
        vec![a.0.clone(), a.1.clone(), b.0.clone(), b.1.clone()]
    });
    let MyError::Ours(error) = arrays(&x, &x).expect_err("the shapes do not fit");
    assert!(error.to_string().contains("inner dimensions differ"), "{error}");
    for deep in [true, false] {
        let call = |s: &mut Tensor| listed(&x, s, deep).expect("nothing fails");
        against_body(&tensor(&[1]), call, |s, r| {
            let parts = r.iter().flat_map(|(a, b)| [Some(a.clone()), b.clone()]).flatten();
            std::iter::once(s.clone()).chain(parts).collect()
        });
    }
    nothing(&x);
    assert_eq!(counts!(nothing), (1, 1, 0, 1));
    assert_eq!(counts!(many).1, 2);
}

// ---- const parameters

#[compile(fullgraph)]
fn gates<const H: usize, const TANH: bool>(x: &Tensor) -> Tensor {
    let y = x.narrow(-1, H, 2 * H) * H as f64;
    if TANH { y.tanh() } else { y }
}

struct Block<const N: usize>;

impl<const N: usize> Block<N> {
    #[compile]
    fn forward(&self, x: &Tensor) -> Tensor {
        x.narrow(0, 0, N)
    }
}

#[test]
fn const_parameters_are_read_at_the_call() {
    let x = tensor(&[2, 9]);
    against_body(&(), |()| gates::<3, true>(&x), |(), r| vec![r.clone()]);
    against_body(&(), |()| gates::<2, true>(&x), |(), r| vec![r.clone()]);
    against_body(&(), |()| gates::<3, false>(&x), |(), r| vec![r.clone()]);
    assert_eq!(gates::<3, true>(&x).shape(), [2, 6]);
    let e = explain!(gates::<3, true>);
    assert_eq!((e.calls.dispatched, e.entries.len()), (4, 3), "one table for all");
    assert_eq!(Block::<2>.forward(&x).shape(), [2, 9]);
    assert_eq!(Block::<1>.forward(&x).shape(), [1, 9]);
    assert_eq!(explain!(Block::<1>::forward).entries.len(), 2);
}

// ---- `explain!` makes an argument for each form

#[test]
fn every_form_is_reached_by_its_path() {
    for path in [
        explain!(append).path,
        explain!(cells).path,
        explain!(layer).path,
        explain!(nested).path,
        explain!(patterns).path,
        explain!(maybe).path,
        explain!(listed).path,
        explain!(many).path,
        explain!(arrays).path,
    ] {
        assert!(path.starts_with("parameters::"), "{path}");
    }
}

mod cells {
    use tensorplay::{Tensor, nested_compile_region};

    #[nested_compile_region]
    pub fn gate<const H: usize>(x: &Tensor, w: &Tensor) -> Tensor {
        x.matmul(w).narrow(-1, 0, H) * H as f64
    }
}
use cells::gate;

#[compile(fullgraph)]
fn two_gates<const N: usize>(x: &Tensor, state: &mut Tensor, w: &Tensor) {
    *state = gate::<2>(x, w) + gate::<N>(state, w).sum(-1).unsqueeze(-1);
}

#[test]
fn regions_take_const_arguments() {
    let (x, w) = (tensor(&[2, 4]), tensor(&[4, 4]));
    for _ in 0..2 {
        against_body(
            &tensor(&[2, 4]),
            |s| two_gates::<3>(&x, s, &w),
            |s, ()| vec![s.clone()],
        );
    }
    against_body(
        &tensor(&[2, 4]),
        |s| two_gates::<1>(&x, s, &w),
        |s, ()| vec![s.clone()],
    );
    assert_eq!(explain!(two_gates::<3>).entries.len(), 2);
    assert_eq!(explain!(gate::<2>).entries.len(), 3);
}

#[compile(fullgraph)]
fn over_rows(xs: &Tensor, state: &mut Tensor, pair: &mut (Tensor, Tensor)) -> Tensor {
    let mut last = xs.select(0, 0);
    for t in 0..xs.dim(0) {
        *state = &*state * 0.5 + xs.select(0, t);
        pair.0 = &pair.0 + &pair.1;
        last = &last + &pair.0 * &*state;
    }
    last
}

#[test]
fn a_loop_over_a_dim_writes_back() {
    for n in [1, 3] {
        let xs = tensor(&[n, 2]);
        against_body(
            &(tensor(&[2]), (tensor(&[2]), tensor(&[2]).exp())),
            |s| over_rows(&xs, &mut s.0, &mut s.1),
            |s, r| vec![r.clone(), s.0.clone(), s.1.0.clone(), s.1.1.clone()],
        );
    }
    assert_eq!(counts!(over_rows).0, 2);
}

#[tensorplay::model]
mod decoder {
    use tensorplay::{compile, prelude::*};

    fn append(cache: &mut Tensor, x: &Tensor) -> Tensor {
        *cache = Tensor::cat(&[&*cache, x], 0);
        cache.sum(0)
    }

    fn scaled<const N: usize>(x: &Tensor) -> Tensor {
        x.narrow(0, 0, N) * N as f64
    }

    pub struct Layer {
        pub w: Tensor,
    }

    impl Layer {
        #[compile(fullgraph)]
        pub fn step(&self, x: &Tensor, cache: &mut (Tensor, Tensor), flip: bool) -> Tensor {
            let k = append(&mut cache.0, &x.matmul(&self.w));
            let v = append(&mut cache.1, x);
            if flip {
                cache.1 = cache.1.flip(0);
            }
            scaled::<2>(&k) + scaled::<2>(&v)
        }
    }
}

#[test]
fn helpers_of_a_model_write_through_what_they_are_lent() {
    let layer = decoder::Layer { w: tensor(&[3, 3]) };
    let x = tensor(&[1, 3]);
    for flip in [false, true, false] {
        against_body(
            &(tensor(&[2, 3]), tensor(&[1, 3])),
            |s| layer.step(&x, s, flip),
            |s, r| vec![r.clone(), s.0.clone(), s.1.clone()],
        );
    }
    assert_eq!(explain!(decoder::Layer::step).entries.len(), 2);
}
