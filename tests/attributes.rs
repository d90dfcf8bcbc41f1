//! What each argument of `#[compile(..)]` and `#[nested_compile_region(..)]` does, as `explain!` shows it.
#![deny(warnings)]

use std::panic::catch_unwind;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tensorplay::compiler::{
    Backend, BackendCapabilities, BackendEntry, Codegen, CompileOptions, Example, Executable, Mode,
    NestedCompileRegionOptions, OptionValue, counters, disable_capture, register_backend,
};
use tensorplay::graph::GraphModule;
use tensorplay::{Error, Result, compile, explain, graph, model, nested_compile_region, prelude::*};

/// Held by tests that count what the whole process does.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn ramp(n: usize) -> Tensor {
    let values = (0..n).map(|i| i as f32 * 0.25 - 1.0).collect();
    Tensor::from_vec(values, n)
}

#[track_caller]
fn same_as_plain(f: impl Fn() -> Tensor) {
    let (compiled, plain) = (f(), disable_capture(&f));
    assert!(compiled.allclose(&plain, 1e-6, 1e-6), "{compiled} != {plain}");
}

static RUNS: AtomicUsize = AtomicUsize::new(0);
static TOLD: Mutex<Vec<CompileOptions>> = Mutex::new(Vec::new());

/// A backend that counts its runs, and keeps what it was told.
fn counting() -> Result<Box<dyn Backend>> {
    Ok(Box::new(
        |graph: &GraphModule, _: &[Example], options: &CompileOptions| {
            TOLD.lock().expect("no test panics here").push(options.clone());
            let graph = graph.clone();
            Ok(Box::new(move |inputs: &[Tensor]| {
                RUNS.fetch_add(1, Relaxed);
                graph.run(inputs)
            }) as Box<dyn Executable>)
        },
    ))
}

const fn entry(name: &'static str) -> BackendEntry {
    BackendEntry {
        name,
        tags: &[],
        capabilities: BackendCapabilities::new(),
        make: counting,
    }
}

#[test]
fn backend_by_its_name() {
    static ENTRY: BackendEntry = entry("counting_by_name");
    #[compile(
        backend = "counting_by_name",
        name = "gate",
        options(depth = 3, order = "rows", fast)
    )]
    fn f(x: &Tensor) -> Tensor {
        (x.exp() + 1.0).relu()
    }
    let _alone = alone();
    register_backend(&ENTRY).unwrap();
    let before = RUNS.load(Relaxed);
    let x = ramp(6);
    same_as_plain(|| f(&x));
    f(&x);
    assert_eq!(RUNS.load(Relaxed) - before, 2);
    let e = explain!(f);
    assert_eq!(e.entries.len(), 1, "{e}");
    assert_eq!(e.entries[0].backend, "counting_by_name");
    assert_eq!(e.entries[0].codegen, Codegen::Custom);
    assert_eq!(graph!(f).name, "gate");
    let told = TOLD.lock().expect("no test panics here");
    let told = told.iter().find(|o| o.name.as_deref() == Some("gate"));
    let options = &told.expect("it was compiled under its name").options;
    assert_eq!(options["depth"], OptionValue::Int(3));
    assert_eq!(options["order"], OptionValue::Str("rows".into()));
    assert_eq!(options["fast"], OptionValue::Bool(true));
}

mod backends {
    pub static BY_PATH: tensorplay::compiler::BackendEntry = super::entry("counting_by_path");
}

#[compile(backend = backends::BY_PATH, mode = "max-autotune")]
fn on_an_entry(x: &Tensor) -> Tensor {
    x * 2.0
}

#[test]
fn backend_by_its_entry() {
    let _alone = alone();
    same_as_plain(|| on_an_entry(&ramp(4)));
    let e = explain!(on_an_entry);
    assert_eq!(e.entries[0].backend, "counting_by_path");
    let told = TOLD.lock().expect("no test panics here");
    assert!(told.iter().any(|o| o.mode == Some(Mode::MaxAutotune)));
}

#[test]
fn backend_that_nobody_registered() {
    #[compile(backend = "nobodys")]
    fn f(x: &Tensor) -> Result<Tensor> {
        x.try_add(x)
    }
    let e = f(&ramp(2)).unwrap_err();
    assert!(
        matches!(&e, Error::InvalidBackend { name, .. } if name == "nobodys"),
        "{e}"
    );
}

#[test]
fn modes() {
    #[compile(mode = "default")]
    fn plain(x: &Tensor) -> Tensor {
        (x.exp() + 1.0).sqrt()
    }
    #[compile(mode = "reduce-overhead")]
    fn replayed(x: &Tensor) -> Tensor {
        (x.exp() + 1.0).sqrt()
    }
    #[compile(mode = "max-autotune")]
    fn tuned(x: &Tensor) -> Tensor {
        (x.exp() + 1.0).sqrt()
    }
    #[compile(mode = "max-autotune-no-cudagraphs")]
    fn tuned_alone(x: &Tensor) -> Tensor {
        (x.exp() + 1.0).sqrt()
    }
    let x = ramp(9);
    for f in [plain, replayed, tuned, tuned_alone] {
        same_as_plain(|| f(&x));
    }
    for e in [
        explain!(plain),
        explain!(replayed),
        explain!(tuned),
        explain!(tuned_alone),
    ] {
        assert_eq!(e.calls.dispatched, 1, "{e}");
        assert_eq!(e.entries[0].backend, "stax", "{e}");
    }
}

#[test]
fn options_of_the_built_in_compiler() {
    #[compile(options(fusion = false))]
    fn apart(x: &Tensor) -> Tensor {
        (x.exp() + 1.0).relu()
    }
    #[compile(options(native = false))]
    fn interpreted(x: &Tensor) -> Tensor {
        (x.exp() + 1.0).relu()
    }
    let x = ramp(7);
    same_as_plain(|| apart(&x));
    let e = explain!(apart);
    assert_eq!((e.calls.steps.tile, e.calls.steps.emitted), (3, 0), "{e}");
    same_as_plain(|| interpreted(&x));
    let e = explain!(interpreted);
    assert_eq!((e.calls.steps.tile, e.calls.steps.emitted), (1, 0), "{e}");
    assert_eq!(e.entries[0].codegen, Codegen::TileVm);
}

/// `(1 + 2^-12)^2 - (1 + 2^-11)` is `2^-24` if it is rounded once, and 0 if the product is rounded before.
#[test]
fn fast_math_rounds_a_product_and_a_sum_once() {
    #[compile(fullgraph, options(fast_math))]
    fn fast(a: [&Tensor; 4], c: &Tensor) -> [Tensor; 4] {
        let [p, q, r, s] = a;
        let negated = -c;
        [p * p + &negated, negated + q * q, r * r - c, c - s * s]
    }
    #[compile(fullgraph)]
    fn exact(a: [&Tensor; 4], c: &Tensor) -> [Tensor; 4] {
        let [p, q, r, s] = a;
        let negated = -c;
        [p * p + &negated, negated + q * q, r * r - c, c - s * s]
    }
    #[compile(fullgraph, options(fast_math, native = false))]
    fn on_tiles(a: &Tensor, c: &Tensor) -> Tensor {
        a * a - c
    }
    let once = cfg!(target_arch = "x86_64") && std::is_x86_feature_detected!("fma");
    let want = if once { 2f32.powi(-24) } else { 0.0 };
    for n in [1, 7, 33, 1025] {
        let a = Tensor::full(n, 1.0 + 2f64.powi(-12), DType::F32);
        let c = Tensor::full(n, 1.0 + 2f64.powi(-11), DType::F32);
        let got = fast([&a; 4], &c);
        for (got, want) in got.iter().zip([want, want, want, -want]) {
            assert_eq!(got.to_vec::<f32>(), vec![want; n]);
        }
        assert_eq!(on_tiles(&a, &c).to_vec::<f32>(), vec![want; n]);
        for zero in exact([&a; 4], &c) {
            assert_eq!(zero.to_vec::<f32>(), vec![0.0; n]);
        }
    }
    assert!(explain!(fast).fallbacks.is_empty());
}

#[test]
fn strict_native() {
    #[compile(strict_native)]
    fn f(x: &Tensor) -> Result<Tensor> {
        Ok(x.try_exp()? + 1.0)
    }
    #[compile(strict_native)]
    fn panics(x: &Tensor) -> Tensor {
        x.exp() + 1.0
    }
    let wide = ramp(3).to_dtype(DType::F64);
    let e = f(&wide).unwrap_err();
    assert!(matches!(e, Error::NotNative { .. }), "{e}");
    let panic = catch_unwind(|| panics(&wide)).unwrap_err();
    let text = panic.downcast_ref::<String>().expect("a message");
    assert!(text.contains("strict_native: `attributes::"), "{text}");
    assert!(text.contains("f64"), "the reason is named: {text}");
    if std::env::var_os("TENSORPLAY_KERNELS").is_none() && std::env::var_os("TENSORPLAY_ISA").is_none() {
        f(&ramp(3)).unwrap();
        assert_eq!(explain!(f).entries[0].codegen, Codegen::StaxNative);
    }
}

#[test]
fn recompile_limit() {
    #[compile(recompile_limit = 2)]
    fn bounded(x: &Tensor) -> Tensor {
        x.exp()
    }
    #[compile(recompile_limit = 2, fullgraph)]
    fn strict(x: &Tensor) -> Result<Tensor> {
        x.try_exp()
    }
    let _alone = alone();
    for n in 3..8 {
        same_as_plain(|| bounded(&ramp(n)));
        assert!(explain!(bounded).entries.len() <= 2);
    }
    strict(&ramp(3)).unwrap();
    strict(&ramp(4)).unwrap();
    let e = strict(&ramp(5)).unwrap_err();
    assert!(matches!(e, Error::RecompileLimit { limit: 2, .. }), "{e}");
    strict(&ramp(3)).unwrap();
    assert_eq!(explain!(strict).entries.len(), 2);
}

#[model]
mod net {
    use tensorplay::{compile, prelude::*};

    pub struct Scaled {
        pub w: Tensor,
    }

    impl Scaled {
        #[compile(isolate_recompiles, recompile_limit = 2)]
        pub fn forward(&self, x: &Tensor) -> Tensor {
            x * &self.w
        }

        #[compile(recompile_limit = 2)]
        pub fn shared(&self, x: &Tensor) -> Tensor {
            x * &self.w
        }
    }
}

fn looked_at() {}

struct Outside {
    w: Tensor,
}

impl Outside {
    #[compile(isolate_recompiles, recompile_limit = 2)]
    fn whole(&self, x: &Tensor) -> Tensor {
        x * &self.w
    }

    #[compile(isolate_recompiles, recompile_limit = 2)]
    fn broken(&mut self, x: &Tensor) -> Tensor {
        let h = x.exp();
        looked_at();
        h.relu()
    }

    #[compile(isolate_recompiles, recompile_limit = 2)]
    fn consumed(self, x: &Tensor) -> Tensor {
        let h = x.exp();
        drop(self);
        h.relu()
    }
}

#[test]
fn isolate_recompiles() {
    let _alone = alone();
    let before = counters().evictions;
    let nets = [2.0f32, 3.0].map(|w| net::Scaled {
        w: Tensor::from_slice(&[w], 1),
    });
    for (net, n) in nets.iter().flat_map(|net| [(net, 3), (net, 4), (net, 3)]) {
        same_as_plain(|| net.forward(&ramp(n)));
    }
    let e = explain!(net::Scaled::forward);
    assert_eq!(e.entries.len(), 4, "{e}");
    assert_eq!((e.calls.dispatched, e.calls.bound), (6, 4), "{e}");
    let mut outside = [2.0f32, 3.0].map(|w| Outside {
        w: Tensor::from_slice(&[w], 1),
    });
    for o in &mut outside {
        for n in [3, 4] {
            same_as_plain(|| o.whole(&ramp(n)));
            o.broken(&ramp(n));
        }
    }
    assert_eq!(explain!(Outside::whole).entries.len(), 4);
    let e = explain!(Outside::broken);
    assert_eq!(e.entries.len(), 4 * e.graphs.len(), "{e}");
    assert_eq!(counters().evictions, before);
    // without it, instances share the limit
    for (net, n) in nets.iter().flat_map(|net| [(net, 3), (net, 4), (net, 5)]) {
        net.shared(&ramp(n));
    }
    assert_eq!(explain!(net::Scaled::shared).entries.len(), 2);
    assert!(counters().evictions > before);
    let [one, _] = outside;
    let y = one.consumed(&ramp(3));
    assert!(y.allclose(&ramp(3).exp(), 1e-6, 1e-6));
}

#[test]
fn segments_have_the_settings_of_their_function() {
    static ENTRY: BackendEntry = entry("counting_segments");
    #[compile(backend = "counting_segments", name = "parted", recompile_limit = 1)]
    fn f(x: &Tensor) -> Tensor {
        let h = x.exp();
        looked_at();
        h.relu()
    }
    let _alone = alone();
    register_backend(&ENTRY).unwrap();
    for n in [3, 4] {
        same_as_plain(|| f(&ramp(n)));
    }
    let e = explain!(f);
    assert_eq!(
        (e.breaks.len(), e.graphs.len(), e.entries.len()),
        (1, 2, 2),
        "{e}"
    );
    assert!(e.entries.iter().all(|e| e.backend == "counting_segments"), "{e}");
    let told = TOLD.lock().expect("no test panics here");
    assert!(told.iter().any(|o| o.name.as_deref() == Some("parted")));
}

static ELSEWHERE: NestedCompileRegionOptions = NestedCompileRegionOptions {
    fw_compiler: Some("counting_region"),
    bw_compiler: None,
};

#[nested_compile_region(options = ELSEWHERE)]
fn region(x: &Tensor) -> Tensor {
    x.exp() + 1.0
}

#[compile(fullgraph)]
fn around(x: &Tensor) -> Tensor {
    region(x).relu()
}

#[test]
fn backend_of_a_region() {
    static ENTRY: BackendEntry = entry("counting_region");
    let _alone = alone();
    register_backend(&ENTRY).unwrap();
    let before = RUNS.load(Relaxed);
    same_as_plain(|| region(&ramp(3)));
    same_as_plain(|| around(&ramp(3)));
    assert_eq!(RUNS.load(Relaxed) - before, 2, "{}", explain!(region));
}

// a test each: `__tp_self_test_<name>`

#[compile(self_test, spec(x = f32[B, 6], w = f32[6, N], by = i64[B]))]
fn product(x: &Tensor, w: &Tensor, by: &Tensor, scale: f32, twice: bool) -> (Tensor, Tensor) {
    let y = x.matmul(w) * scale;
    let y = if twice { &y + &y } else { y.gelu() };
    (if x.dim(0) > 20 { y.relu() } else { y }, by + 1)
}

#[compile(self_test, spec(x = f32[B, 6]))]
fn with_random_numbers(x: &Tensor) -> Tensor {
    (x + Tensor::randn(x.shape(), DType::F32)).dropout(0.5, true) * Tensor::rand(6, DType::F32)
}

#[compile(self_test, options(fast_math), spec(x = f32[B, 6], w = f32[6], b = f32[6]))]
fn with_contraction(x: &Tensor, w: &Tensor, b: &Tensor) -> Tensor {
    (x * w + b).softmax(-1) - x * x
}

#[compile(self_test, spec(x = float[_, 8]), dtypes(f32, f16))]
fn normalised(x: &Tensor) -> Result<Tensor> {
    Ok((x - x.try_mean(-1)?.unsqueeze(-1)).softmax(-1))
}

#[model]
mod tested {
    use tensorplay::{compile, prelude::*};

    #[compile(self_test, spec(x = f32[A, B]))]
    pub fn of_the_module(x: &Tensor) -> Tensor {
        x.tanh()
    }

    pub struct Unit;

    impl Unit {
        #[compile(self_test, spec(x = f32[A, B]))]
        pub fn forward(x: &Tensor) -> Tensor {
            x.sigmoid()
        }
    }
}

#[test]
fn functions_with_a_self_test_are_as_any() {
    let x = ramp(6).reshape((2, 3));
    same_as_plain(|| tested::of_the_module(&x));
    same_as_plain(|| tested::Unit::forward(&x));
}

#[compile]
fn without_a_spec(x: &Tensor) -> Tensor {
    x.exp()
}

#[test]
#[should_panic(expected = "`x` has no shape to test with; write its spec, as in spec(x = f32[B, 784])")]
fn self_test_asks_for_specs() {
    tensorplay::__private::self_test(without_a_spec!(@function without_a_spec));
}
