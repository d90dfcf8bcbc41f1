//! Graph breaks: what capture cannot hold runs as the user's own Rust, and what stands around it stays compiled.

use crate::check::{iota, v};
use crate::seed::seeded;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tensorplay::{
    Result, compile,
    compiler::{Explanation, disable_capture},
    explain,
    prelude::*,
};

/// `(line, what the reason names)` of every break, in any order.
fn breaks_are(e: &Explanation, right: &[(u32, &str)]) {
    assert_eq!(e.breaks.len(), right.len(), "{e}");
    for (line, what) in right {
        let found = e
            .breaks
            .iter()
            .any(|b| b.line == *line && b.reason.contains(what));
        assert!(found, "no break at {line} that names {what}: {e}");
    }
    assert!(e.breaks.iter().all(|b| b.file.ends_with("breaks.rs")), "{e}");
}

#[test]
fn a_print_in_the_middle() {
    const AT: u32 = line!() + 4;
    #[compile]
    fn f(x: &Tensor, w: &Tensor) -> Tensor {
        let h = x.matmul(w).relu();
        println!("{} rows", h.dim(0));
        h * 2.0 + 1.0
    }
    for n in [2, 3, 2] {
        against_body!(f(&iota(&[n, 2]), &(iota(&[2, 2]) - 1.0)));
    }
    let e = explain!(f);
    breaks_are(&e, &[(AT, "println")]);
    assert_eq!(e.calls.dispatched, 6, "two segments: {e}");
    assert!(e.fallbacks.is_empty(), "{e}");
}

#[test]
fn a_format_string_that_reads_a_tensor() {
    static LENGTH: AtomicUsize = AtomicUsize::new(0);
    const AT: u32 = line!() + 4;
    #[compile]
    fn f(x: &Tensor) -> Tensor {
        let h = x * 2.0;
        LENGTH.store(format!("{h}").len(), Relaxed);
        h.sum_all()
    }
    let y = f(&v(&[1.0, 2.0]));
    assert_eq!(y.item::<f32>(), 6.0);
    assert_eq!(LENGTH.load(Relaxed), v(&[2.0, 4.0]).to_string().len());
    assert!(explain!(f).breaks.iter().any(|b| b.line == AT));
}

#[test]
fn a_loop_on_data() {
    const AT: u32 = line!() + 5;
    #[compile]
    fn f(x: &Tensor) -> (Tensor, Tensor) {
        let start = x.abs() + 0.5;
        let mut y = start.clone();
        while y.max_all().item::<f32>() < 100.0 {
            y = &y * 2.0;
        }
        (y - &start, start)
    }
    for value in [1.0, 30.0, 200.0] {
        against_body!(f(&v(&[value, -value])));
    }
    assert!(
        explain!(f)
            .breaks
            .iter()
            .any(|b| b.line == AT && b.reason.contains("item"))
    );
}

#[test]
fn an_early_return_behind_a_break() {
    #[compile]
    fn f(x: &Tensor, w: &Tensor, limit: f32) -> Tensor {
        let h = x.matmul(w);
        let most = h.max_all().item::<f32>();
        if most < limit {
            return h;
        }
        let h = h / most as f64;
        if x.dim(0) == 1 {
            return h.squeeze(0);
        }
        h + x
    }
    let w = iota(&[2, 2]);
    for (n, limit) in [(2, 100.0), (2, 1.0), (1, 1.0), (1, 100.0), (2, 1.0)] {
        against_body!(f(&iota(&[n, 2]), &w, limit));
    }
}

#[test]
fn a_question_mark_on_a_foreign_result() {
    fn number(good: bool) -> std::result::Result<f64, std::num::ParseFloatError> {
        let text = if good { "2.5" } else { "two" };
        text.parse()
    }
    #[compile]
    fn f(x: &Tensor, good: bool) -> std::result::Result<Tensor, Box<dyn std::error::Error>> {
        let y = x + 1.0;
        let scale = number(good)?;
        Ok(y * scale)
    }
    let x = v(&[1.0, 2.0]);
    for _ in 0..2 {
        assert_eq!(f(&x, true).expect("a number").to_vec::<f32>(), [5.0, 7.5]);
        let e = f(&x, false).expect_err("no number");
        assert_eq!(e.to_string(), "invalid float literal");
    }
    assert!(explain!(f).breaks.iter().any(|b| b.reason.contains("number")));
}

#[test]
fn an_error_in_a_continuation_is_an_err() {
    #[compile]
    fn f(x: &Tensor, w: &Tensor) -> Result<Tensor> {
        let y = x * 2.0;
        println!("{}", y.dim(0));
        Ok(y.matmul(w))
    }
    let (x, w) = (iota(&[2, 3]), iota(&[3, 1]));
    for _ in 0..2 {
        against_body!(f(&x, &w)).expect("a product");
        let e = f(&x, &x).expect_err("3 columns against 2 rows");
        assert_eq!(e.code(), "TP0012");
        assert!(e.to_string().contains("[2, 3]"), "{e}");
    }
}

#[test]
fn moves_borrows_and_mut_across_a_break() {
    fn host(x: &Tensor) -> f64 {
        x.to_vec::<f32>().iter().map(|a| f64::from(*a)).sum()
    }
    const AT: u32 = line!() + 6;
    #[compile]
    fn f(x: Tensor, pair: (Tensor, Tensor)) -> (Tensor, Tensor) {
        let (a, mut b) = pair;
        let kept = &a;
        b += kept;
        let scale = host(&b);
        let moved = a;
        b = x * scale + &b;
        drop(moved);
        let b = b;
        (b.clone(), b.neg())
    }
    for _ in 0..2 {
        against_body!(f(v(&[1.0, 2.0]), (v(&[3.0, 4.0]), v(&[5.0, 6.0]))));
    }
    let (y, _) = f(v(&[1.0, 2.0]), (v(&[3.0, 4.0]), v(&[5.0, 6.0])));
    assert_eq!(y.to_vec::<f32>(), [26.0, 46.0]);
    breaks_are(&explain!(f), &[(AT, "host")]);
}

#[test]
fn a_compiled_callee_dispatches_by_itself() {
    #[compile]
    fn inner(x: &Tensor) -> Tensor {
        x.exp() * 0.5
    }
    #[compile]
    fn outer(x: &Tensor) -> Tensor {
        let y = x + 1.0;
        let z = inner(&y);
        z - y
    }
    for _ in 0..3 {
        outer(&v(&[0.5, -0.5]));
    }
    assert_eq!(explain!(inner).calls.dispatched, 3);
    let e = explain!(outer);
    assert_eq!(e.calls.dispatched, 3, "{e}");
    assert!(e.breaks.iter().any(|b| b.reason.contains("inner")), "{e}");
}

#[test]
fn an_inlined_callee_is_no_break() {
    #[compile]
    fn scaled(x: &Tensor, by: f64) -> Tensor {
        x * by
    }
    mod helpers {
        #[tensorplay::compile]
        pub fn shifted(x: &tensorplay::Tensor) -> tensorplay::Tensor {
            x + 1.0
        }
    }
    #[compile(inline(scaled, helpers::shifted))]
    fn f(x: &Tensor) -> Tensor {
        helpers::shifted(&scaled(x, 3.0)).relu()
    }
    assert_eq!(against_body!(f(&v(&[1.0, -1.0]))).to_vec::<f32>(), [4.0, 0.0]);
    assert_eq!(explain!(f).calls.dispatched, 1);
}

#[test]
fn a_loop_with_a_break_inside_stays_rust() {
    static TURNS: AtomicUsize = AtomicUsize::new(0);
    #[compile]
    fn f(xs: &Tensor) -> Tensor {
        let mut h = xs.select(0, 0) * 0.0;
        for t in 0..xs.dim(0) {
            h = h * 0.5 + xs.select(0, t);
            TURNS.fetch_add(1, Relaxed);
            h = h.relu();
        }
        h + 1.0
    }
    for n in [1, 3] {
        let before = TURNS.load(Relaxed);
        against_body!(f(&(iota(&[n, 2]) - 1.0)));
        assert_eq!(
            TURNS.load(Relaxed) - before,
            2 * n,
            "once a turn, compiled and plain"
        );
    }
}

#[test]
fn closures_and_conditional_statements() {
    #[compile]
    fn f(x: &Tensor) -> Tensor {
        let y = x * 2.0;
        let twice = |t: &Tensor| t + t;
        let z = twice(&y);
        #[cfg(test)]
        let z = z + 1.0;
        z.relu()
    }
    assert_eq!(against_body!(f(&v(&[1.0, -1.0]))).to_vec::<f32>(), [5.0, 0.0]);
    assert!(!explain!(f).breaks.is_empty());
}

#[test]
fn random_numbers_around_a_break() {
    #[compile]
    fn f(x: &Tensor) -> Tensor {
        let y = x + Tensor::rand(3, DType::F32);
        if y.sum_all().item::<f32>() > 1.5 {
            y + Tensor::rand(3, DType::F32)
        } else {
            y.neg()
        }
    }
    let run = || {
        seeded(3, || {
            [0, 1, 2, 3].map(|_| f(&v(&[0.0, 0.0, 0.0])).to_vec::<f32>())
        })
    };
    assert_eq!(run(), tensorplay::compiler::disable_capture(run));
}

#[test]
fn a_method_breaks_too() {
    struct Layer {
        w: Tensor,
    }
    impl Layer {
        #[compile]
        fn forward(&self, x: &Tensor) -> Tensor {
            let h = x.matmul(&self.w);
            let norm = h.square().sum_all().item::<f32>();
            (h / norm as f64).tanh() * &self.w.sum_all()
        }
    }
    let layer = Layer { w: iota(&[2, 2]) };
    let (y, right) = (
        layer.forward(&v(&[1.0, 2.0])),
        tensorplay::compiler::disable_capture(|| layer.forward(&v(&[1.0, 2.0]))),
    );
    assert!(y.allclose(&right, 1e-6, 1e-6));
    assert!(
        explain!(Layer::forward)
            .breaks
            .iter()
            .any(|b| b.reason.contains("item"))
    );
}

#[test]
fn an_error_of_the_users_own() {
    #[derive(Debug)]
    enum Failure {
        Tensor,
        Empty,
    }
    impl From<tensorplay::Error> for Failure {
        fn from(_: tensorplay::Error) -> Failure {
            Failure::Tensor
        }
    }
    #[compile]
    fn mean(x: &Tensor, w: &Tensor) -> std::result::Result<Tensor, Failure> {
        if x.elem_count() == 0 {
            return Err(Failure::Empty);
        }
        Ok(x.try_matmul(w)? + 1.0)
    }
    for _ in 0..2 {
        assert!(matches!(mean(&v(&[]), &v(&[])), Err(Failure::Empty)));
        assert!(matches!(mean(&v(&[1.0]), &v(&[])), Err(Failure::Tensor)));
        let y = against_body!(mean(&v(&[1.0, 3.0]), &v(&[1.0, 1.0]))).expect("a product");
        assert_eq!(y.item::<f32>(), 5.0);
    }
}

#[test]
fn what_a_segment_adds_to_a_list_stays_in_it() {
    #[compile]
    fn pushed(x: &Tensor) -> Tensor {
        let mut v = Vec::new();
        v.push(x * 2.0);
        println!("a");
        v.push(x.clone());
        Tensor::stack(&v, 0)
    }
    #[compile]
    fn started(x: &Tensor) -> (Vec<Tensor>, usize) {
        let mut v = vec![];
        for i in 0..3 {
            v.push((x * i as f64, x.exp()));
        }
        let n = v.len();
        v.push((x.relu(), x.sin()));
        println!("{} {}", v.len(), n);
        let mut all = Vec::with_capacity(v.len());
        for (a, b) in &v {
            all.push(a + b);
        }
        println!("{}", all.len());
        (all, n)
    }
    #[compile]
    fn counted(x: &Tensor) -> Tensor {
        let mut n = 1usize;
        let y = x * 2.0;
        n += 1;
        n *= 3;
        println!("{n}");
        y * n as f64
    }
    let x = v(&[1.0, -2.0]);
    against_body!(pushed(&x));
    let (all, n) = started(&x);
    assert_eq!((all.len(), n), (4, 3));
    let plain = [0.0f64, 1.0, 2.0].map(|i| &x * i + x.exp());
    for (got, want) in all.iter().zip(plain.iter().chain([&(x.relu() + x.sin())])) {
        assert_eq!(got.to_vec::<f32>(), want.to_vec::<f32>());
    }
    // the body under `disable_capture` is the same expansion: these are the values themselves
    assert_eq!(pushed(&x).to_vec::<f32>(), [2.0, -4.0, 1.0, -2.0]);
    assert_eq!(counted(&x).to_vec::<f32>(), [12.0, -24.0]);
}

#[test]
fn a_macro_that_shows_a_number_does_not_change_it() {
    #[compile]
    fn shown(x: &Tensor, n: usize) -> Tensor {
        let y = x * 2.0;
        println!("{n} {:>width$}", n, width = 3);
        let y = match n {
            k if k > 2 => y.exp(),
            _ => y.relu(),
        };
        y.narrow(0, 0, n)
    }
    #[compile]
    fn changed(x: &Tensor, n: usize) -> Tensor {
        let mut n = n;
        let y = x * 2.0;
        println!("{}", {
            n -= 1;
            n
        });
        let z = if n > 1 { y.exp() } else { y.relu() };
        z * n as f64
    }
    let x = v(&[1.0, -1.0, 2.0, 0.5]);
    for n in 1..4 {
        let y = &x * 2.0;
        let want = if n > 2 { y.exp() } else { y.relu() };
        assert_eq!(shown(&x, n).to_vec::<f32>(), want.narrow(0, 0, n).to_vec::<f32>());
        let m = n - 1;
        let want = if m > 1 { y.exp() } else { y.relu() };
        assert_eq!(changed(&x, n).to_vec::<f32>(), (want * m as f64).to_vec::<f32>());
    }
    let e = explain!(shown);
    assert_eq!(e.breaks.len(), 1, "{e}");
}

/// Views alone are no work for a kernel, and yet a shape that does not fit is the caller's `Err`.
#[test]
fn a_view_that_does_not_fit_is_an_err() {
    #[compile]
    fn before(x: &Tensor) -> Result<Tensor> {
        let y = x.reshape((2, 2));
        black_box(());
        Ok(y * 2.0)
    }
    #[compile]
    fn behind(x: &Tensor) -> Result<Tensor> {
        black_box(());
        Ok(x.narrow(0, 1, 3))
    }
    let (three, four) = (Tensor::ones(3, DType::F32), Tensor::ones(4, DType::F32));
    for f in [before, behind] {
        let e = f(&three).expect_err("there are 3 elements");
        assert!(
            matches!(e, tensorplay::Error::Shape(_) | tensorplay::Error::Index(_)),
            "{e}"
        );
        assert!(f(&four).is_ok());
    }
}

/// A named size stays one behind a break: all sizes have one entry.
#[test]
fn named_sizes_are_known_behind_a_break() {
    #[compile(spec(x = f32[B, 4]))]
    fn f(x: &Tensor, rounds: usize) -> Tensor {
        let mut y = x.exp();
        black_box(());
        for _ in 0..rounds {
            let z = y.relu() + 1.0;
            black_box(());
            y = Tensor::cat(&[&z, &z], 0);
        }
        let last = y.narrow(1, 0, 2);
        black_box(());
        last * 2.0
    }
    for n in 2..12 {
        let x = Tensor::ones((n, 4), DType::F32);
        for rounds in [0, 2] {
            let (got, want) = (f(&x, rounds), disable_capture(|| f(&x, rounds)));
            assert_eq!(got.to_vec::<f32>(), want.to_vec::<f32>());
            assert_eq!(got.shape(), want.shape());
        }
    }
    #[compile(spec(x = f32[B, 4], return = f32[B, 4]))]
    fn g(x: &Tensor) -> Tensor {
        let y = x.exp();
        black_box(());
        y + x
    }
    for n in 2..12 {
        g(&Tensor::ones((n, 4), DType::F32));
    }
    let e = explain!(g);
    assert_eq!(
        (e.breaks.len(), e.graphs.len(), e.entries.len()),
        (1, 2, 2),
        "{e}"
    );
    assert!(e.entries.iter().all(|e| e.pattern.contains("[B, 4]")), "{e}");
}

trait Grow {
    fn grow(&mut self) -> usize;
}

impl Grow for Tensor {
    fn grow(&mut self) -> usize {
        *self = Tensor::cat(&[&*self, &*self], 0);
        self.dim(0)
    }
}

/// A method that capture does not know may change what it is called on, and its sizes.
#[test]
fn a_foreign_method_may_change_a_tensor() {
    #[compile(spec(x = f32[B, 4]))]
    fn replaced(x: &Tensor, w: &Tensor) -> Tensor {
        let mut y = x + 1.0;
        y.clone_from(w);
        y * 2.0
    }
    #[compile(spec(x = f32[B, 4], w = f32[B, 5], k = f32[5, 3]))]
    fn multiplied(x: &Tensor, w: &Tensor, k: &Tensor) -> Tensor {
        let mut y = x + 1.0;
        y.clone_from(w);
        y.matmul(k)
    }
    #[compile(spec(x = f32[B, 4]))]
    fn grown(x: &Tensor) -> (Tensor, Tensor) {
        let mut y = x + 1.0;
        let n = y.grow();
        y.grow();
        (y.sum(0) + x, y * n as f64)
    }
    #[compile(spec(x = f32[B, 4]))]
    fn owned(mut x: Tensor) -> Tensor {
        x.grow();
        x * 2.0
    }
    for n in [2, 3] {
        let (x, w, k) = (iota(&[n, 4]), iota(&[n, 5]), iota(&[5, 3]));
        against_body!(replaced(&x, &w));
        against_body!(multiplied(&x, &w, &k));
        against_body!(owned(x.clone()));
        let (got, want) = (grown(&x), disable_capture(|| grown(&x)));
        assert_eq!(got.0.to_vec::<f32>(), want.0.to_vec::<f32>());
        assert_eq!(got.1.to_vec::<f32>(), want.1.to_vec::<f32>());
    }
}

/// The same of a list.
#[test]
fn a_foreign_method_may_change_a_list() {
    #[compile]
    fn extended(x: &Tensor) -> Tensor {
        let mut v = vec![x + 1.0];
        v.extend([x + 5.0]);
        &v[0] + &v[1]
    }
    #[compile]
    fn inserted(x: &Tensor) -> Tensor {
        let mut v = vec![x + 1.0, x + 2.0];
        v.insert(0, x * 7.0);
        &v[0] - &v[2]
    }
    #[compile]
    fn reversed(x: &Tensor) -> Tensor {
        let mut v = vec![x + 1.0, x * 2.0];
        v.reverse();
        v.pop();
        v[0].neg()
    }
    let x = iota(&[3]);
    against_body!(extended(&x));
    against_body!(inserted(&x));
    against_body!(reversed(&x));
}

fn touched(x: &mut Tensor) -> f64 {
    *x = &*x + 1.0;
    x.dim(0) as f64
}

/// A name that a block binds is another one behind it.
#[test]
fn the_value_of_a_block_is_its_last_expression() {
    #[compile]
    fn followed(x: &Tensor) -> Tensor {
        let y = if x.sum_all().item::<f32>() > -1e9 {
            let h = x * 4.0;
            h * 2.0
        } else {
            x + 1.0
        };
        let h = 1.0;
        y + h
    }
    #[compile]
    fn looped(x: &Tensor) -> Tensor {
        let mut y = x - 1.0;
        for _ in 0..2 {
            y = if y.sum_all().item::<f32>() > -1e9 {
                let h = &y * 4.0;
                h.relu()
            } else {
                y.neg()
            };
        }
        y
    }
    #[compile]
    fn shadowed(x: &Tensor) -> Result<Tensor> {
        let y = match x.sum_all().item::<f32>() > -1e9 {
            true => {
                let x = x * 4.0;
                &x * 2.0
            }
            false => x + 1.0,
        };
        Ok(y + x)
    }
    #[compile]
    fn number(x: &Tensor) -> Tensor {
        let k = 3.0;
        let y = if x.sum_all().item::<f32>() > -1e9 {
            let k = 4.0;
            x * k
        } else {
            x + 1.0
        };
        y * k
    }
    #[compile]
    fn read(x: &Tensor) -> Tensor {
        let s = if x.sum_all().item::<f32>() > -1e9 {
            let h = x * 4.0;
            (h * 2.0).sum_all().item::<f32>()
        } else {
            0.0
        };
        let h = x + s;
        h.relu()
    }
    #[compile]
    fn assigned(x: &Tensor) -> Tensor {
        let mut h = x + 1.0;
        let y = if x.sum_all().item::<f32>() > -1e9 {
            h *= 3.0;
            let h = x * 4.0;
            h * 2.0
        } else {
            x + 1.0
        };
        y + h
    }
    #[compile]
    fn lent(x: &Tensor) -> Tensor {
        let n = touched(&mut (x * 2.0));
        let m = (x * 3.0).grow();
        x * n + m as f64
    }
    #[compile(spec(x = f32[B, 4], w = f32[C, 4]))]
    fn either(x: &Tensor, w: &Tensor, c: bool) -> Tensor {
        let mut y = x + 1.0;
        if black_box(c) {
            y = w + 1.0;
            black_box(());
        }
        y * 2.0
    }
    #[compile(spec(x = f32[B, 4], w = f32[C, 5]))]
    fn headed(x: &Tensor, w: &Tensor) -> Tensor {
        let mut y = x + 1.0;
        black_box(());
        if touched(&mut y) > 0.0 {
            y = w + y.sum_all();
        }
        let z = &y * 2.0;
        println!("{}", y.grow());
        let y = y.sum(0);
        z.sum(0) + y
    }
    for n in [1, 2, 3] {
        let x = iota(&[n]) + 1.0;
        for f in [followed, looped, number, read, assigned, lent] {
            against_body!(f(&x));
        }
        let (got, want) = (shadowed(&x), disable_capture(|| shadowed(&x)));
        assert_eq!(got.unwrap().to_vec::<f32>(), want.unwrap().to_vec::<f32>());
        let (x, w, v) = (iota(&[n, 4]), iota(&[n + 2, 4]), iota(&[n, 5]));
        for c in [true, false] {
            against_body!(either(&x, &w, c));
        }
        against_body!(headed(&x, &v));
    }
}

/// What a local macro names is read where the macro is called.
#[test]
fn a_local_macro_reads_what_was_assigned() {
    #[compile]
    fn tensor(x: &Tensor) -> Tensor {
        let mut h = x + 1.0;
        macro_rules! get {
            () => {
                h.clone()
            };
        }
        h *= 3.0;
        black_box(());
        get!()
    }
    #[compile]
    fn number(x: &Tensor) -> Tensor {
        let mut k = 2.0;
        macro_rules! factor {
            () => {
                k
            };
        }
        let y = x * k;
        k += 1.0;
        black_box(());
        y * factor!()
    }
    let x = iota(&[3]) + 1.0;
    against_body!(tensor(&x));
    against_body!(number(&x));
}

/// A `let` whose type its later uses tell stands where they are.
#[test]
fn later_uses_tell_the_type_of_a_let() {
    #[compile]
    fn logged(x: &Tensor) -> Vec<f32> {
        let mut log = Vec::new();
        let s = (x * 2.0).sum_all().item::<f32>();
        log.push(s);
        for _ in 0..2 {
            log.push((x * 3.0).sum_all().item::<f32>());
        }
        log
    }
    #[compile]
    fn seeded(x: &Tensor) -> (Tensor, u64) {
        let seed = 0xdead_beef;
        let h = x.exp() * 2.0;
        black_box(());
        let s: u64 = seed;
        (h, s)
    }
    let x = iota(&[3]) + 1.0;
    assert_eq!(logged(&x), disable_capture(|| logged(&x)));
    assert_eq!(seeded(&x).1, 0xdead_beef);
}
