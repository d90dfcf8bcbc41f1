//! Bugs that a test found, each with its smallest program, and values of operations.

use tensorplay::{Result, compile, compiler, explain, nested_compile_region, prelude::*};

fn tensor(shape: &[usize]) -> Tensor {
    Tensor::from_vec((0..shape.iter().product()).map(|i| i as f32).collect(), shape)
}

/// One call of `body` through dispatch and one of it as plain code, which fails; collects what differs.
macro_rules! case {
    ($wrong:ident: [$($x:ident = $value:expr),+] $body:expr) => {{
        #[compile]
        fn f($($x: &Tensor),+) -> Result<Tensor> {
            Ok($body?)
        }
        let compiled = f($(&$value),+).map(|t| t.to_string()).map_err(|e| e.to_string());
        let eager = compiler::disable_capture(|| f($(&$value),+)).map(|t| t.to_string()).map_err(|e| e.to_string());
        assert!(eager.is_err(), "{}", stringify!($body));
        if compiled != eager {
            $wrong.push(format!("{}:\n  compiled {compiled:?}\n  eager    {eager:?}", stringify!($body)));
        }
    }};
}

/// Dispatch refuses what eager code refuses: a composite's own rules are not those of the operations that it is made of.
#[test]
fn dispatch_refuses_what_eager_code_refuses() {
    let mut wrong = Vec::new();
    let ints = || tensor(&[2, 3]).to_dtype(DType::I64);
    case!(wrong: [x = ints()] x.try_mean(0));
    case!(wrong: [x = ints()] x.try_mean_all());
    case!(wrong: [x = ints()] x.try_var_keepdim(0, 1));
    case!(wrong: [x = ints()] x.try_std_dev(0, 1));
    case!(wrong: [x = ints()] x.try_norm(2.0, 0));
    case!(wrong: [x = ints()] x.try_layer_norm(1, None, None, 1e-5));
    case!(wrong: [x = tensor(&[2, 3]), w = tensor(&[1])] x.try_layer_norm(1, Some(w), None, 1e-5));
    case!(wrong: [x = tensor(&[2, 3]), w = tensor(&[2, 3])] x.try_rms_norm(w, 1e-5));
    case!(wrong: [x = tensor(&[2, 3]), w = tensor(&[1])] x.try_rms_norm(w, 1e-5));
    case!(wrong: [x = tensor(&[2, 3]), w = tensor(&[3])] x.try_linear(w, None));
    case!(wrong: [x = tensor(&[2, 3]), w = tensor(&[4, 3]), b = tensor(&[1])] x.try_linear(w, Some(b)));
    case!(wrong: [x = tensor(&[2, 3]), w = tensor(&[4, 3]), b = tensor(&[2, 4])] x.try_linear(w, Some(b)));
    assert!(
        wrong.is_empty(),
        "{} calls differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Dispatch reports a failing composite by the operation that was written, in the words of eager code: not by one that
/// it is made of (`row_max: dim 3 is out of range` for `x.softmax(3)`).
#[test]
fn errors_name_the_operation_that_was_written() {
    let mut wrong = Vec::new();
    case!(wrong: [x = tensor(&[2, 3])] x.try_softmax(3));
    case!(wrong: [x = tensor(&[2, 3])] x.try_log_softmax(-3));
    case!(wrong: [x = tensor(&[2, 3])] x.try_logsumexp(2));
    case!(wrong: [x = tensor(&[2, 3])] x.try_mean((0, 2)));
    case!(wrong: [x = tensor(&[2, 3])] x.try_mean((1, 1)));
    case!(wrong: [x = tensor(&[2, 3])] x.try_var(2, 1));
    case!(wrong: [x = tensor(&[2, 3])] x.try_std_dev(2, 1));
    case!(wrong: [x = tensor(&[2, 3])] x.try_norm(2.0, 2));
    case!(wrong: [x = tensor(&[2, 3]), w = tensor(&[4, 5])] x.try_linear(w, None));
    case!(wrong: [x = tensor(&[2, 3]), w = tensor(&[4])] x.try_linear(w, None));
    case!(wrong: [x = tensor(&[2, 3]), w = tensor(&[4, 3]), b = tensor(&[5])] x.try_linear(w, Some(b)));
    case!(wrong: [x = tensor(&[2, 3]), w = tensor(&[4])] x.try_layer_norm(1, Some(w), None, 1e-5));
    case!(wrong: [x = tensor(&[2, 3])] x.try_layer_norm(3, None, None, 1e-5));
    case!(wrong: [x = tensor(&[2, 3]), w = tensor(&[4])] x.try_rms_norm(w, 1e-5));
    case!(wrong: [x = tensor(&[2, 3]), m = tensor(&[2, 3])] x.try_masked_fill(m, 0.0));
    case!(wrong: [x = tensor(&[2, 3]), m = tensor(&[4]).gt(0)] x.try_masked_fill(m, 0.0));
    case!(wrong: [x = tensor(&[2, 3]), t = tensor(&[4])] x.try_addcmul(t, x, 1.0));
    case!(wrong: [x = tensor(&[2, 3]), t = tensor(&[2, 4])] Tensor::try_stack(&[x, t], 0));
    case!(wrong: [x = tensor(&[2, 3])] Tensor::try_stack(&[x, x], 4));
    case!(wrong: [x = tensor(&[2, 3]), t = tensor(&[2, 4])] Tensor::try_cat(&[x, t], 0));
    case!(wrong: [x = tensor(&[2, 3])] x.try_sum(2));
    case!(wrong: [x = tensor(&[2, 0])] x.try_argmax(1));
    case!(wrong: [x = tensor(&[2, 3])] x.try_reshape((4, -1)));
    case!(wrong: [x = tensor(&[2, 3])] x.try_narrow(0, 1, 2));
    case!(wrong: [x = tensor(&[2, 3])] x.try_bitwise_not());
    assert!(
        wrong.is_empty(),
        "{} texts differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// A call that runs while its plan is dropped still counts: `explain!` proves what ran.
#[test]
fn no_call_is_lost_when_plans_are_dropped() {
    #[compile(spec(x = f32[B, 8]))]
    fn busy(x: &Tensor, s: f32) -> Tensor {
        (x * s).exp().tanh()
    }
    std::thread::scope(|s| {
        for t in 0..8usize {
            s.spawn(move || {
                for k in 0..2000usize {
                    busy(&tensor(&[2 + (t * 7 + k) % 24, 8]), 1.5);
                }
            });
        }
    });
    let c = explain!(busy).calls;
    assert_eq!((c.dispatched, c.steps.emitted), (16_000, 16_000));
}

/// A dtype that is a parameter is the dtype of the result.
#[test]
fn a_dtype_parameter_decides_the_result() {
    #[compile]
    fn cast(x: &Tensor, to: DType) -> Tensor {
        x.to_dtype(to)
    }
    #[compile]
    fn cast_and_add(x: &Tensor, to: DType) -> Tensor {
        x.to_dtype(to) + 1
    }
    let x = Tensor::from_slice(&[1.5f32, -2.0, 3.0], 3);
    for to in [
        DType::F32,
        DType::I64,
        DType::F64,
        DType::Bool,
        DType::F16,
        DType::I64,
    ] {
        for f in [cast, cast_and_add] {
            let (compiled, plain) = (f(&x, to), compiler::disable_capture(|| f(&x, to)));
            assert_eq!(compiled.to_string(), plain.to_string(), "to {to}");
        }
    }
}

/// A call reads each variable once, at its start: also one that is passed twice.
#[test]
fn a_variable_passed_twice_is_read_once() {
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    #[compile]
    fn difference(a: &Tensor, b: &Tensor) -> Tensor {
        (a - b).abs().max_all()
    }
    let values = [
        Tensor::zeros((512, 64), DType::F32),
        Tensor::ones((512, 64), DType::F32),
    ];
    let w = values[0].clone().variable();
    let stop = AtomicBool::new(false);
    let torn = std::thread::scope(|s| {
        s.spawn(|| {
            for i in 0.. {
                if stop.load(Relaxed) {
                    break;
                }
                w.assign(&values[i % 2]);
            }
        });
        let other = w.clone();
        let torn = (0..1000)
            .filter(|_| difference(&w, &other).item::<f32>() != 0.0)
            .count();
        stop.store(true, Relaxed);
        torn
    });
    assert_eq!(torn, 0, "calls that saw two values of one variable");
}

/// An integer attribute decides a rule, so a call with another value is bound anew.
#[test]
fn a_rule_on_a_scalar_does_not_depend_on_earlier_calls() {
    #[compile]
    fn power(x: &Tensor, n: i32) -> Result<Tensor> {
        Ok(x.powi(n))
    }
    let x = Tensor::from_slice(&[3i32, 2], 2);
    assert_eq!(power(&x, 2).unwrap().to_vec::<i32>(), [9, 4]);
    let error = power(&x, -1).unwrap_err();
    assert_eq!(error.code(), "TP0020", "{error}");
    let y = x.to_dtype(DType::F32);
    assert_eq!(power(&y, -1).unwrap().to_vec::<f32>(), [1.0 / 3.0, 0.5]);
}

/// A variable that a function returns as it came stays the variable.
#[test]
fn a_variable_handed_through_keeps_its_handle() {
    #[compile]
    fn same(x: &Tensor) -> Tensor {
        x.clone()
    }
    let w = Tensor::ones(3, DType::F32).requires_grad_(true);
    let handle = same(&w);
    assert!(handle.requires_grad());
    handle.assign(&Tensor::zeros(3, DType::F32));
    assert_eq!(w.to_vec::<f32>(), [0.0; 3]);
}

/// Numbers beside the tensors are those of the body, bit for bit.
#[test]
fn host_numbers_are_those_of_the_body() {
    #[compile]
    fn sizes(x: &Tensor, n: usize, s: f64) -> Tensor {
        x.narrow(0, 0, n.min(x.dim(0)) - n % 2) * (n as f64) + (s as usize / 2) as f64
    }
    #[compile]
    fn powers(x: &Tensor, s: f64, t: f32, n: i32) -> Tensor {
        x.to_dtype(DType::F64) * s.powi(n) + t.powi(n)
    }
    let same = |a: Tensor, b: Tensor| {
        let bits = |t: &Tensor| -> Vec<u64> {
            let t = t.to_dtype(DType::F64).to_vec::<f64>();
            t.into_iter().map(f64::to_bits).collect()
        };
        assert_eq!(bits(&a), bits(&b), "{a} != {b}");
    };
    let x = tensor(&[5, 3]);
    for n in [3, 4, usize::MAX, usize::MAX - 1, 1 << 63] {
        same(
            sizes(&x, n, 1e30),
            compiler::disable_capture(|| sizes(&x, n, 1e30)),
        );
    }
    for n in [-7, -1, 0, 3, 31] {
        same(
            powers(&x, 1.0 / 3.0, 1.1, n),
            compiler::disable_capture(|| powers(&x, 1.0 / 3.0, 1.1, n)),
        );
    }
}

/// The operation that an error names.
fn named(e: &tensorplay::Error) -> String {
    let text = e.to_string();
    text.split(": ").nth(1).unwrap_or_default().to_string()
}

/// What fails inside a composite is an error of the composite, whenever it is found: when the operation runs by itself,
/// when a call is bound, and when it runs with a number that only the call tells.
#[test]
fn errors_inside_a_composite_name_the_composite() {
    #[compile]
    fn bound(x: &Tensor) -> Result<Tensor> {
        x.try_var(-1, i64::MIN)
    }
    #[compile]
    fn called(x: &Tensor, c: i64) -> Result<Tensor> {
        Ok(x.try_std_dev(-1, c)? + 1.0)
    }
    let x = tensor(&[2, 3]);
    let plain = |f: &dyn Fn() -> Result<Tensor>| compiler::disable_capture(f).unwrap_err();
    for (name, errors) in [
        ("var", [bound(&x).unwrap_err(), plain(&|| bound(&x))]),
        (
            "std_dev",
            [called(&x, i64::MIN).unwrap_err(), plain(&|| called(&x, i64::MIN))],
        ),
    ] {
        let [compiled, eager] = errors.map(|e| (named(&e), e.to_string()));
        assert_eq!(compiled, eager);
        assert_eq!(compiled.0, name, "{}", compiled.1);
    }
    called(&x, 1).unwrap();
}

/// A misspelt `TENSORPLAY_KERNELS` is an error of every dispatched call. The variable is read once, so a process of its
/// own has it.
#[test]
fn a_misspelt_force_runs_nothing() {
    #[compile]
    fn double(x: &Tensor) -> Result<Tensor> {
        Ok(x * 2.0)
    }
    let (test, variable) = ("own::a_misspelt_force_runs_nothing", "TENSORPLAY_KERNELS");
    let x = tensor(&[3]);
    if std::env::var(variable).as_deref() == Ok("bogus") {
        for x in [&x, &x, &tensor(&[2, 2])] {
            let error = double(x).unwrap_err();
            assert_eq!(error.code(), "TP0912");
            assert_eq!(
                error.to_string(),
                "error[TP0912]: TENSORPLAY_KERNELS=bogus: expected emitted or tile\n  help: correct it, or unset it"
            );
        }
        assert_eq!(explain!(double).calls.dispatched, 0);
        assert!(compiler::disable_capture(|| double(&x)).is_ok());
        return;
    }
    again(test, &[(variable, "bogus")]);
}

/// Runs a test in a process with these variables.
fn again(test: &str, variables: &[(&str, &str)]) {
    let me = std::env::current_exe().expect("this test's path");
    let out = std::process::Command::new(me)
        .args(["--exact", test])
        .envs(variables.iter().copied())
        .output()
        .expect("the test runs again");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stdout));
    assert!(String::from_utf8_lossy(&out.stdout).contains("1 passed"));
}

/// Without AVX2, x86-64 runs the tile VM, and says so.
#[test]
#[cfg(target_arch = "x86_64")]
fn a_cpu_without_emitted_kernels_runs_the_tile_vm() {
    #[compile]
    fn double(x: &Tensor) -> Result<Tensor> {
        Ok((x * 2.0).softmax(-1))
    }
    let test = "own::a_cpu_without_emitted_kernels_runs_the_tile_vm";
    let x = tensor(&[3, 70]);
    if std::env::var("TENSORPLAY_ISA").as_deref() != Ok("portable") {
        again(test, &[("TENSORPLAY_ISA", "portable")]);
        let force = ("TENSORPLAY_KERNELS", "emitted");
        return again(test, &[("TENSORPLAY_ISA", "portable"), force]);
    }
    let result = double(&x);
    if std::env::var("TENSORPLAY_KERNELS").as_deref() == Ok("emitted") {
        let error = result.unwrap_err().to_string();
        assert!(
            error.contains("no emitted kernel for the portable instruction set"),
            "{error}"
        );
        return;
    }
    let eager = compiler::disable_capture(|| double(&x)).unwrap();
    assert!(result.unwrap().allclose(&eager, 1e-6, 0.0));
    let told = explain!(double);
    assert_eq!((told.calls.dispatched, told.fallbacks.len()), (1, 1));
    assert!(
        told.to_string()
            .contains("no kernel was emitted for the portable instruction set"),
        "{told}"
    );
}

/// The sizes of a tensor of any rank, and a number of dims that only the call tells.
#[test]
fn ranks_that_only_the_call_tells() {
    #[compile]
    fn sizes(x: &Tensor, y: &Tensor) -> Result<(Tensor, Tensor, Tensor)> {
        let zeros = Tensor::zeros(x.shape(), DType::F32);
        let full = Tensor::full(x.shape(), 2.5, DType::F64);
        Ok((
            zeros + 1.0,
            full,
            y.try_reshape(x.shape())? * Tensor::ones(0, DType::F32).sum_all().try_expand(x.shape())?,
        ))
    }
    #[compile]
    fn normalised(x: &Tensor, s: usize, w: &Tensor) -> Result<Tensor> {
        Ok(x.try_layer_norm(s, Some(w), None, 1e-5)? * 2.0)
    }
    #[compile]
    fn of_known_rank(#[spec(f32[B, _, 3])] x: &Tensor, s: i64) -> Tensor {
        x.layer_norm(s, None, None, 1e-5)
    }
    for (from, to) in [
        (vec![6], vec![2, 3]),
        (vec![2, 3], vec![3, 1, 2]),
        (vec![1, 1], vec![]),
    ] {
        let (x, y) = (tensor(&to), tensor(&from));
        let (a, b, c) = sizes(&x, &y).unwrap();
        let (d, e, f) = compiler::disable_capture(|| sizes(&x, &y)).unwrap();
        for (got, want) in [(a, d), (b, e), (c, f)] {
            assert_eq!(got.to_string(), want.to_string());
        }
    }
    let (got, want) = (
        sizes(&tensor(&[4]), &tensor(&[3])).unwrap_err().to_string(),
        compiler::disable_capture(|| sizes(&tensor(&[4]), &tensor(&[3])))
            .unwrap_err()
            .to_string(),
    );
    assert_eq!(got, want);
    let x = tensor(&[2, 4, 3]).transpose(1, 2);
    for s in 0..5usize {
        let w = tensor(&x.shape()[x.rank() - s.clamp(1, 3)..]);
        let got = normalised(&x, s, &w);
        let want = compiler::disable_capture(|| normalised(&x, s, &w));
        match (got, want) {
            (Ok(a), Ok(b)) => assert!(a.allclose(&b, 1e-6, 1e-6), "{s}: {a} != {b}"),
            (Err(a), Err(b)) => assert_eq!(a.to_string(), b.to_string()),
            (a, b) => panic!("{s}: {a:?}, {b:?}"),
        }
    }
    assert!(
        normalised(&x, 2, &tensor(&[3])).is_err(),
        "a weight of another rank"
    );
    for s in 1..4 {
        let x = tensor(&[2, 4, 3]);
        let plain = compiler::disable_capture(|| of_known_rank(&x, s));
        assert!(of_known_rank(&x, s).allclose(&plain, 1e-6, 1e-6));
    }
}

/// A composite is rounded to f16 once, also where its steps fall into two kernels.
#[test]
fn a_composite_is_rounded_once() {
    #[compile(dtypes(f16))]
    fn spread(x: &Tensor) -> Tensor {
        x.softmax(0).norm(2.0, -1)
    }
    #[compile(dtypes(f16))]
    fn large(x: &Tensor) -> Tensor {
        x.norm(0.5, 1).norm(2.0, 0)
    }
    let x = Tensor::randn((64, 8), DType::F16);
    let right = x.to_dtype(DType::F64).softmax(0).to_dtype(DType::F16);
    let right = right.to_dtype(DType::F64).norm(2.0, -1);
    let close = |t: Tensor, right: &Tensor| t.to_dtype(DType::F64).allclose(right, 1e-3, 0.0);
    assert!(close(spread(&x), &right));
    assert!(close(compiler::disable_capture(|| spread(&x)), &right));
    // 16 * 20 is in range, the squares of the norm are not
    let x = Tensor::full((4, 16), 1.25, DType::F16);
    let right = Tensor::full((), 640.0, DType::F64);
    assert!(close(large(&x), &right), "{}", large(&x));
    assert!(close(compiler::disable_capture(|| large(&x)), &right));
}

/// std's `atanh` of f64 cancels near -1.
#[test]
fn atanh_is_odd() {
    let x = Tensor::from_slice(&[0.93, 0.9999, 1e-9, 0.4], 4);
    let (y, z) = (x.atanh().to_vec::<f64>(), (-&x).atanh().to_vec::<f64>());
    assert_eq!(y, z.iter().map(|v| -v).collect::<Vec<f64>>());
}

/// Of zeros of both signs the first is the maximum and the minimum.
#[test]
fn the_first_zero_is_the_extreme() {
    #[compile]
    fn extremes(x: &Tensor) -> (Tensor, Tensor) {
        (x.max(-1), x.min(-1))
    }
    let x = Tensor::from_slice(&[-0.0f32, 0.0, 0.0, -0.0], (2, 2));
    for (max, min) in [extremes(&x), compiler::disable_capture(|| extremes(&x))] {
        for y in [max, min] {
            let signs: Vec<bool> = y.to_vec::<f32>().iter().map(|v| v.is_sign_negative()).collect();
            assert_eq!(signs, [true, false]);
        }
    }
}

/// The type of a const, static or field is rustc's to know: an integer stays one.
#[test]
fn an_integer_const_is_an_integer() {
    const K: i64 = 16_777_216;
    static S: i64 = 3;
    const F: f64 = 0.5;
    struct Net {
        pad: i64,
    }
    impl Net {
        #[compile]
        fn shift(&self, x: &Tensor) -> Tensor {
            (x - self.pad).maximum(&(x * -K))
        }
    }
    #[compile]
    fn add(x: &Tensor) -> (Tensor, Tensor, Tensor) {
        (x + K, x.eq(K), (K - x).clamp(S, K))
    }
    #[compile(spec(x = i64[N], return = i64[N]))]
    fn promised(x: &Tensor) -> Tensor {
        x.bitwise_and(K) + S
    }
    #[compile]
    fn float(x: &Tensor) -> Tensor {
        x * F + K
    }
    let x = Tensor::from_slice(&[16_777_217i64, 1], 2);
    let (sum, same, clamped) = add(&x);
    assert_eq!(sum.to_vec::<i64>(), [33_554_433, 16_777_217]);
    assert_eq!(same.to_vec::<bool>(), [false, false]);
    assert_eq!(clamped.to_vec::<i64>(), [3, 16_777_215]);
    assert_eq!(promised(&x).to_vec::<i64>(), [16_777_219, 3]);
    let net = Net { pad: 16_777_217 };
    assert_eq!(net.shift(&x).to_vec::<i64>(), [0, -16_777_216]);
    assert_eq!(
        float(&x).to_vec::<f32>(),
        compiler::disable_capture(|| float(&x)).to_vec::<f32>()
    );
    let y = x.to_dtype(DType::F32);
    assert_eq!(
        float(&y).to_vec::<f32>(),
        compiler::disable_capture(|| float(&y)).to_vec::<f32>()
    );
    let told = explain!(float);
    assert_eq!(told.fallbacks.len(), 1, "{told}");
}

/// `&&` and `||` of host values stop where the left side decides.
#[test]
fn host_logic_stops_early() {
    #[compile]
    fn deep(x: &Tensor) -> Tensor {
        let deep = x.rank() > 2 && x.dim(2) == 3;
        x * (deep as i64)
    }
    #[compile]
    fn divided(x: &Tensor, n: i64) -> Tensor {
        let large = n == 0 || 10 / n > 1;
        x.eq(large)
    }
    assert_eq!(deep(&tensor(&[2, 2])).to_vec::<f32>(), [0.0; 4]);
    assert_eq!(deep(&tensor(&[1, 1, 3])).to_vec::<f32>(), [0.0, 1.0, 2.0]);
    for (n, right) in [(0, [false, true]), (10, [true, false])] {
        assert_eq!(divided(&tensor(&[2]), n).to_vec::<bool>(), right);
    }
}

/// Scalars of the key are compared bit for bit.
#[test]
fn zeros_and_nan_in_the_key() {
    #[compile]
    fn full(a: f64) -> Tensor {
        Tensor::full(1, a, DType::F32)
    }
    assert!(full(0.0).item::<f32>().is_sign_positive());
    assert!(full(-0.0).item::<f32>().is_sign_negative());
    (0..3).for_each(|_| assert!(full(f64::NAN).item::<f32>().is_nan()));
    assert_eq!(explain!(full).calls.bound, 3);
}

/// Squares that overflow say nothing of the mean.
#[test]
fn a_mean_beside_a_variance_that_overflows() {
    #[compile]
    fn both(x: &Tensor) -> (Tensor, Tensor) {
        (x.mean(-1), x.var(-1, 0))
    }
    for large in [1e30f32, 2e19, 1e8] {
        let mut row = vec![0.5f32; 4096];
        row[0] = large;
        let right = row.iter().map(|v| f64::from(*v)).sum::<f64>() / 4096.0;
        let (mean, _) = both(&Tensor::from_slice(&row, 4096));
        let mean = f64::from(mean.item::<f32>());
        assert!((mean - right).abs() <= 1e-6 * right, "{large}: {mean} {right}");
    }
}

/// A borrowed const, taken back by `*`; a lone semicolon.
#[test]
fn borrowed_consts_and_lone_semicolons() {
    const EPS: f64 = 0.5;
    #[compile]
    #[rustfmt::skip]
    #[allow(redundant_semicolons)]
    fn f(x: &Tensor) -> Tensor {
        let e = &EPS;
        let y = x + *e;;
        y.relu()
    }
    assert_eq!(f(&tensor(&[2])).to_vec::<f32>(), [0.5, 1.5]);
}

/// Each side of `&&` is evaluated once: a long chain is not a doubling one.
#[test]
fn long_host_logic() {
    #[compile]
    fn small(x: &Tensor) -> Tensor {
        let n = x.dim(0);
        let small = n > 0
            && n < 9
            && n != 3
            && n != 4
            && n != 5
            && n != 6
            && n != 7
            && n != 8
            && n < 10
            && n < 11
            && n < 12
            && n < 13
            && n < 14
            && n < 15
            && n < 16
            && n < 17
            && n < 18
            && n < 19
            && n < 20
            && n < 21
            && n < 22
            && n < 23
            && n < 24
            && n < 25
            && n < 26
            && n < 27
            && n < 28
            && n < 29
            && n < 30
            && n < 31
            && n < 32
            && n < 33;
        x.eq(small)
    }
    assert_eq!(small(&tensor(&[2])).to_vec::<bool>(), [false, true]);
    assert_eq!(small(&tensor(&[3])).to_vec::<bool>(), [true, false, false]);
}

/// Where the rank is not known, the classes of one sample are its only axis.
#[test]
fn class_losses_of_one_sample_without_a_spec() {
    #[compile]
    fn f(x: &Tensor, target: &Tensor) -> (Tensor, Tensor) {
        (x.nll_loss(target), x.cross_entropy(target))
    }
    let x = Tensor::from_vec(vec![1.0f32, 2.0], [2]);
    let (nll, entropy) = f(&x, &Tensor::from_vec(vec![1i64], ()));
    assert_eq!(nll.item::<f32>(), -2.0);
    assert!((entropy.item::<f32>() - 0.313_261_7).abs() < 1e-6);
}

/// `flip` of no dims reverses none, as in PyTorch.
#[test]
fn a_flip_of_no_dims() {
    let x = tensor(&[3]);
    assert_eq!(x.flip(&[] as &[i64]).to_vec::<f32>(), x.to_vec::<f32>());
}

/// A scalar has one largest element, whatever k is; its memory was left as it was for k = 0.
#[test]
fn topk_of_a_scalar() {
    let (value, index) = Tensor::from_vec(vec![3.0f32], ()).topk(0, 0);
    assert_eq!((value.item::<f32>(), index.item::<i64>()), (3.0, 0));
}

/// Windows that hold padding alone have no maximum: an axis without elements is refused.
#[test]
fn pools_of_nothing() {
    let x = Tensor::zeros((1, 0, 3), DType::F32);
    let e = x.try_max_pool2d(PoolOptions::new(4).padding(2)).unwrap_err();
    assert!(e.to_string().contains("has no elements"), "{e}");
}

/// A scalar is indexed once, and scatters no more than its one element.
#[test]
fn indices_of_scalars() {
    let (x, idx) = (Tensor::from_vec(vec![3.0f32], ()), Tensor::zeros(3, DType::I64));
    assert!(x.try_index_select(&idx, 0).is_err());
    assert!(x.try_index_add(&idx, &x, 0).is_err());
    assert!(tensor(&[4]).try_scatter(&idx, &x, 0).is_err());
}

/// Nothing is divided where there are no elements, by a scalar of zero neither.
#[test]
fn no_elements_over_zero() {
    #[compile]
    fn f(x: &Tensor, by: i64) -> Result<Tensor> {
        Ok(x.try_fmod(by)?.abs())
    }
    let none = Tensor::zeros(0, DType::I64);
    assert_eq!(none.fmod(0).to_vec::<i64>(), [0i64; 0]);
    assert!(f(&none, 0).is_ok());
    assert!(f(&Tensor::ones(2, DType::I64), 0).is_err());
}

/// A list of pieces is as long as its uses where the rank is known and the size is not.
#[test]
fn pieces_of_an_axis_of_unknown_size() {
    #[compile]
    fn f(x: &Tensor) -> Tensor {
        let parts = x
            .max_pool2d(PoolOptions::new(1))
            .conv2d(
                &Tensor::ones((1, 1, 1, 1), DType::F32),
                None,
                Conv2dOptions::default(),
            )
            .chunk(2, 2);
        &parts[1] - &parts[0]
    }
    assert_eq!(f(&tensor(&[1, 1, 2, 1])).to_vec::<f32>(), [1.0]);
}

/// An operator over consts or fields alone gives an integer where one is wanted: its type is rustc's to know.
#[test]
fn integers_of_consts_alone() {
    const S: i64 = 1;
    const N: usize = 2;
    const M: usize = 1;
    #[compile]
    fn f(x: &Tensor) -> Tensor {
        let y = x.max_pool2d(PoolOptions::new(N + M).padding(N - M).stride((N * M, 1)));
        y.roll(-S, -1)
            .pad(&[-S, S], PadMode::default())
            .narrow(-1, N - M, N + M)
    }
    let x = tensor(&[1, 6, 8]);
    let plain = compiler::disable_capture(|| f(&x));
    assert_eq!(f(&x).to_string(), plain.to_string());
}

/// Options enums have defaults in captured code too.
#[test]
fn default_modes() {
    #[compile]
    fn f(x: &Tensor) -> Tensor {
        x.pad(&[1, 0], PadMode::default())
            .interpolate((2, 2), Interpolate::default())
            .max_pool2d(PoolOptions::default())
    }
    let x = tensor(&[1, 1, 1, 1]) + 5.0;
    assert_eq!(f(&x).to_vec::<f32>(), [0.0, 5.0, 0.0, 5.0]);
}

/// Beside an empty axis, nothing bounds the others: no table is as long as one of them.
#[test]
fn long_axes_without_elements() {
    const LONG: usize = 1 << 50;
    let x = Tensor::zeros((0, 2), DType::F32);
    assert_eq!(x.repeat((1, LONG)).shape(), [0, 2 * LONG]);
    assert_eq!(x.t().repeat((LONG, 1)).shape(), [2 * LONG, 0]);
    assert_eq!(x.pad(&[LONG, 0], PadMode::Replicate).shape(), [0, LONG + 2]);
    let long = Tensor::zeros((LONG, 0), DType::F32);
    assert_eq!(long.flip(0).roll(1, 0).shape(), [LONG, 0]);
    let (idx, src) = (Tensor::zeros(1, DType::I64), Tensor::zeros((1, 0), DType::F32));
    assert_eq!(long.index_add(&idx, &src, 0).shape(), [LONG, 0]);
    let image = Tensor::zeros((0, 1, 2, 2), DType::F32);
    assert_eq!(
        image.interpolate((LONG, 3), Interpolate::Nearest).shape(),
        [0, 1, LONG, 3]
    );
}

/// A window is far larger than what it sees: it costs no more than that, and its size does not wrap.
#[test]
fn windows_larger_than_the_image() {
    let x = tensor(&[1, 2, 3]);
    let whole = PoolOptions::new(1usize << 40)
        .padding(1usize << 39)
        .stride(1usize << 40);
    assert_eq!(x.max_pool2d(whole).to_vec::<f32>(), [5.0]);
    let mean = x.to_dtype(DType::F64).avg_pool2d(whole);
    assert_eq!(mean.to_vec::<f64>(), [15.0 / 2f64.powi(80)]);
}

/// What one side of an axis is given is not there for the other side to crop, as in PyTorch.
#[test]
fn crops_of_more_than_there_is() {
    let x = tensor(&[4]);
    for pads in [[-5, 5], [5, -5], [-2, -3], [-5, i64::MAX]] {
        let e = x.try_pad(&pads, PadMode::Constant(1.0)).unwrap_err().to_string();
        assert!(
            e.contains("pad: dim 0 has 4 elements, fewer than are cropped"),
            "{e}"
        );
    }
    assert_eq!(x.pad(&[-4, 1], PadMode::Constant(1.0)).to_vec::<f32>(), [1.0]);
}

/// The result of an operation is a value, also where it is that of a variable: only the variable changes.
#[test]
fn results_do_not_follow_a_variable() {
    #[compile(spec(x = f32[3]))]
    fn f(x: &Tensor) -> (Tensor, Tensor, Tensor, Tensor) {
        let y = x.to_dtype(DType::F32).reshape(3);
        (x.dropout(0.5, false), x.contiguous(), x.reshape(3), y)
    }
    let x = tensor(&[3]).variable();
    let (a, b, c, d) = f(&x);
    let (e, g, h, i) = compiler::disable_capture(|| f(&x));
    x.assign(&Tensor::zeros(3, DType::F32));
    for (k, t) in [a, b, c, d, e, g, h, i].iter().enumerate() {
        assert_eq!(t.to_vec::<f32>(), [0.0, 1.0, 2.0], "{k}");
    }
}

#[test]
fn l1_loss_is_the_mean_distance() {
    #[compile]
    fn f(x: &Tensor, target: &Tensor) -> Tensor {
        x.l1_loss(target)
    }
    let x = Tensor::from_slice(&[1.0f32, -2.0, 3.5], 3);
    let target = Tensor::from_slice(&[0.0f32, 1.0, -1.0], 3);
    let right = ((1.0 + 3.0 + 4.5) / 3.0) as f32;
    assert_eq!(f(&x, &target).item::<f32>(), right);
    assert_eq!(compiler::disable_capture(|| f(&x, &target)).item::<f32>(), right);
}

#[test]
fn a_region_gives_variables_new_values() {
    #[nested_compile_region]
    fn norm(x: &Tensor, mean: &Tensor, var: &Tensor) -> Tensor {
        x.batch_norm_train(mean, var, None, None, 0.5, 1e-5)
    }
    #[compile(fullgraph)]
    fn f(x: &Tensor, mean: &Tensor, var: &Tensor) -> Tensor {
        norm(&(x * 2.0), mean, var) + 1.0
    }
    let x = tensor(&[2, 2]);
    let run = || {
        let mean = Tensor::zeros(2, DType::F32).variable();
        let var = Tensor::ones(2, DType::F32).variable();
        let y = f(&x, &mean, &var);
        [y, mean, var].map(|t| (t.version(), t.to_vec::<f32>()))
    };
    assert_eq!(run(), compiler::disable_capture(run));
}
