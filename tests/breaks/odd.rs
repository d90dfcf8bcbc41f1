//! Bodies that are hard on the segments: what rustc must still accept, without a warning, and what must come out.

use super::{same, tensor};
use std::cell::RefCell;
use std::fmt::Display;
use std::sync::{Arc, LazyLock, Mutex};
use tensorplay::{Result, compile, compiler, explain, prelude::*};

/// The compiled call against the plain body; how many segments ran.
macro_rules! against_body {
    ($f:path, $call:expr) => {{
        let before = explain!($f).calls.dispatched;
        let compiled = $call;
        let plain = compiler::disable_capture(|| $call);
        same(&compiled, &plain);
        explain!($f).calls.dispatched - before
    }};
}

fn tell(_: impl Display) {}

#[compile]
fn declared_before(x: &Tensor, up: bool) -> Tensor {
    let y: Tensor;
    let z;
    tell("declared");
    if up {
        y = x.exp() + 1.0;
    } else {
        y = x.relu() - 1.0;
    }
    tell(y.dim(0));
    z = y.tanh();
    tell(1);
    z * 2.0
}

#[compile]
fn references(x: &Tensor, w: Tensor, first: bool) -> Tensor {
    let a = x.exp() * 2.0;
    let r = &a;
    let chosen = if first { r } else { &w };
    tell(chosen.rank());
    let b = chosen.relu() + r;
    let kept = &b.abs();
    tell(kept);
    (kept + &b).sigmoid()
}

#[compile]
fn tuples(x: &Tensor) -> (Tensor, Tensor) {
    let (mut a, b) = (x.relu(), x.exp());
    let (values, at) = x.sort(-1, true);
    tell(a.rank());
    a = a + &b + values;
    let pair = (a.tanh(), at.to_dtype(DType::F32));
    tell(2);
    let c = &pair.0 + 1.0;
    (c.exp(), pair.1)
}

#[compile]
fn pieces(x: &Tensor) -> Tensor {
    let y = x.exp();
    let parts = y.chunk(2, -1);
    let sum = &parts[0] + &parts[1];
    tell(sum.dim(0));
    let mut z = sum.relu();
    for p in &parts {
        z += p.abs();
        tell(1);
    }
    z
}

fn find(x: &Tensor, n: usize) -> Option<Tensor> {
    (n > 0).then(|| x + n as f64)
}

#[compile]
fn options(x: &Tensor, n: usize) -> Tensor {
    let mut y = x.exp();
    let mut left = n;
    while let Some(z) = find(&y, left) {
        y = z.relu() * 0.5;
        left -= 1;
    }
    let y = match find(&y, n) {
        Some(z) if n > 1 => z.sigmoid() + 1.0,
        Some(z) => z.exp(),
        None => y.tanh(),
    };
    if let Some(z) = find(&y, 1) {
        return z.square() + y;
    }
    y
}

macro_rules! bind {
    ($name:ident, $value:expr) => {
        let $name = $value;
    };
}

#[compile]
fn bound_by_a_macro(x: &Tensor) -> Tensor {
    let y = x.exp();
    bind!(y, y.relu() + 1.0);
    bind!(z, 2.0);
    let w = y * z;
    w.tanh()
}

macro_rules! compiled {
    ($name:ident, $x:ident => $($body:tt)*) => {
        #[compile]
        fn $name($x: &Tensor) -> Tensor {
            let y = $x.exp() + 1.0;
            tell(1);
            tell(y.relu());
            $($body)*
        }
    };
}
compiled!(made_by_a_macro, x => { tell(2); (x * 2.0).tanh() });

#[compile]
fn generic<T: Display, F: Fn(&Tensor) -> Tensor>(x: &Tensor, label: T, f: F) -> Tensor {
    let y = x.exp() + 1.0;
    println!("{label}");
    let z = f(&y);
    let w = z.relu() * y;
    w.sigmoid()
}

#[compile]
fn behind_pointers(x: &Tensor, lock: &Mutex<Tensor>, shared: Arc<Tensor>) -> Tensor {
    let h = x.exp() + 1.0;
    let guard = lock.lock().unwrap();
    let other = Arc::clone(&shared);
    let y = h.matmul(&guard).relu();
    drop(guard);
    tell(lock.lock().unwrap().rank());
    other.softmax(-1) + y
}

#[compile]
fn same_names(x: &Tensor) -> Tensor {
    let sum = x.exp();
    let max = sum.max_keepdim(-1);
    tell("{sum}");
    let x = x.dim(0);
    let sum = sum.sum_keepdim(-1) * x as f64;
    let max = {
        let mut sum = max.relu();
        sum += 1.0;
        tell(&sum);
        sum * 2.0
    };
    const SCALE: f32 = 0.5;
    {
        const SCALE: f32 = 0.25;
        tell(SCALE);
        let y = sum.exp() * SCALE;
        tell(y);
    }
    (sum + max).log() * SCALE
}

#[compile]
fn nothing(x: &Tensor, out: &RefCell<Vec<Tensor>>, stop: bool) {
    let y = x.exp() + 1.0;
    out.borrow_mut().push(y.relu());
    if stop {
        return;
    }
    for k in 0..3 {
        let z = (&y * k as f64).tanh();
        out.borrow_mut().push(z);
    }
}

#[compile]
fn loss(x: &Tensor, w: &Tensor) -> Result<f32> {
    let y = x.try_matmul(w)?.relu();
    tell(y.rank());
    Ok(y.try_sub(x)?.square().mean_all().item::<f32>() * 2.0)
}

#[compile]
fn counted(x: &Tensor) -> Tensor {
    let mut k = 0;
    let mut factor = 1.0;
    let mut y = x.exp();
    let found = loop {
        k += 1;
        factor *= 0.5;
        y = (&y * k as f64 + factor).relu();
        if k > 4 || y.sum_all().item::<f32>() > 1e6 {
            break y.tanh() + 1.0;
        }
    };
    found * factor
}

struct Pair {
    a: Tensor,
    b: Tensor,
}

#[compile]
fn a_struct(x: &Tensor) -> Pair {
    let a = x.exp() + 1.0;
    tell(1);
    let b = a.relu() * 2.0;
    let _unused = b.tanh();
    Pair { a, b }
}

#[compile]
fn a_variable(x: &Tensor, state: &Tensor) -> Tensor {
    let s = state.clone();
    let next = (&s * 0.9 + x).relu();
    s.assign(&next);
    next.exp() + state
}

#[compile]
fn closures(x: &Tensor) -> Tensor {
    let mut seen = 0;
    let y = x.exp() * 2.0;
    let mut count = |t: &Tensor| {
        seen += t.rank();
        t.relu()
    };
    let z = count(&y);
    let w = count(&(z.tanh() + &y));
    let moved = move || y.exp();
    let v = w * seen as f64;
    v + moved()
}

#[derive(Clone, Copy)]
enum Activation {
    Relu,
    Gelu,
}

#[compile]
fn of_a_kind(x: &Tensor, kind: Activation, bytes: u64) -> Tensor {
    const OTHER: Activation = Activation::Gelu;
    let y = x.exp() + 1.0;
    let z = match kind {
        Activation::Relu => y.relu(),
        Activation::Gelu => y.gelu(),
    };
    let n = bytes.max(2);
    match OTHER {
        Activation::Relu => z.tanh(),
        Activation::Gelu => z.sigmoid() * n as f64,
    }
}

static TABLE: LazyLock<Tensor> = LazyLock::new(|| tensor(&[4]));

#[compile]
fn of_a_static(x: &Tensor) -> Tensor {
    let y = (x.exp() + 1.0).relu();
    let z = &y + &*TABLE;
    z.tanh() * 0.5
}

#[test]
fn tensors_in_statics() {
    assert_eq!(against_body!(of_a_static, of_a_static(&tensor(&[3, 4]))), 2);
}

#[compile]
fn aliases(x: &Tensor, h0: &Tensor, deep: bool) -> Tensor {
    let mut y = x.exp();
    tell(1);
    if deep {
        y = y.gelu();
    }
    let a = &y * 2.0;
    let h = h0.clone();
    let shape = a.shape();
    let r = &a;
    let b = (r + &h).relu();
    tell(shape.len());
    let c = r + &b;
    tell(h.dim(0));
    (c + h).tanh()
}

#[test]
fn borrows_and_copies_do_not_cut_a_segment() {
    let (x, h) = (tensor(&[3, 4]), tensor(&[4]));
    for deep in [true, false] {
        assert_eq!(
            against_body!(aliases, aliases(&x, &h, deep)),
            4,
            "{}",
            explain!(aliases)
        );
    }
}

#[test]
fn enums_and_numbers_that_no_graph_has() {
    let x = tensor(&[3, 4]);
    for kind in [Activation::Relu, Activation::Gelu] {
        same(
            &of_a_kind(&x, kind, 5),
            &compiler::disable_capture(|| of_a_kind(&x, kind, 5)),
        );
    }
}

#[test]
fn declarations_and_references() {
    let x = tensor(&[3, 4]);
    assert_eq!(against_body!(declared_before, declared_before(&x, true)), 3);
    assert_eq!(against_body!(declared_before, declared_before(&x, false)), 3);
    for first in [true, false] {
        assert!(against_body!(references, references(&x, x.square(), first)) >= 2);
    }
}

#[test]
fn tuples_lists_and_options() {
    let x = tensor(&[3, 4]);
    let (a, b) = tuples(&x);
    let (c, d) = compiler::disable_capture(|| tuples(&x));
    same(&a, &c);
    same(&b, &d);
    assert_eq!(explain!(tuples).calls.dispatched, 2, "{}", explain!(tuples));
    assert!(against_body!(pieces, pieces(&x)) >= 2);
    for (n, segments) in [(0, 2), (1, 2), (2, 4)] {
        assert_eq!(against_body!(options, options(&x, n)), segments);
    }
}

#[test]
fn macros_and_generics() {
    let x = tensor(&[3, 4]);
    assert_eq!(against_body!(bound_by_a_macro, bound_by_a_macro(&x)), 1);
    assert!(against_body!(made_by_a_macro, made_by_a_macro(&x)) >= 2);
    let compiled = generic(&x, "label", |t| t + 1.0);
    same(
        &compiled,
        &compiler::disable_capture(|| generic(&x, 7, |t| t + 1.0)),
    );
}

#[test]
fn pointers_to_tensors() {
    let x = tensor(&[4, 4]);
    let lock = Mutex::new(x.abs());
    let compiled = behind_pointers(&x, &lock, Arc::new(x.exp()));
    same(
        &compiled,
        &compiler::disable_capture(|| behind_pointers(&x, &lock, Arc::new(x.exp()))),
    );
}

#[test]
fn names_and_scopes() {
    let x = tensor(&[3, 4]);
    assert!(against_body!(same_names, same_names(&x)) >= 3);
    assert_eq!(against_body!(counted, counted(&x)), 7);
    assert_eq!(explain!(counted).entries.len(), 3, "{}", explain!(counted));
    assert_eq!(against_body!(closures, closures(&x)), 1);
    assert_eq!(against_body!(a_struct, a_struct(&x).b), 2);
    same(&a_struct(&x).a, &(x.exp() + 1.0));
}

#[test]
fn functions_without_a_tensor_to_return() {
    let x = tensor(&[3, 3]);
    for stop in [true, false] {
        let (a, b) = (RefCell::default(), RefCell::default());
        nothing(&x, &a, stop);
        compiler::disable_capture(|| nothing(&x, &b, stop));
        assert_eq!(a.borrow().len(), if stop { 1 } else { 4 });
        a.borrow().iter().zip(&*b.borrow()).for_each(|(a, b)| same(a, b));
    }
    let plain = compiler::disable_capture(|| loss(&x, &x)).unwrap();
    assert!((loss(&x, &x).unwrap() - plain).abs() < 1e-5);
    assert_eq!(loss(&x, &tensor(&[2, 2])).unwrap_err().code(), "TP0012");
    assert_eq!(explain!(loss).calls.errors, 1);
}

#[test]
fn variables_stay_variables() {
    let x = tensor(&[3]);
    let (a, b) = (x.exp().variable(), x.exp().variable());
    let compiled = a_variable(&x, &a);
    let plain = compiler::disable_capture(|| a_variable(&x, &b));
    same(&compiled, &plain);
    same(&a, &b);
}
