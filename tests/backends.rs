//! What backends of users may do: fail, panic, keep tensors, call back, and go.
//!
//! The registry, the counts and `reset` belong to the process, so the tests run one at a time.
#![deny(warnings)]

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tensorplay::compiler::{
    BackendCapabilities, BackendEntry, Codegen, CompileOptions, Example, Executable,
    NestedCompileRegionOptions, Tolerance, bisect, config_mut, counters, get_default_backend, lookup_backend,
    register_backend, reset, set_default_backend, unregister_backend, with_backend,
};
use tensorplay::graph::{GraphModule, Run};
use tensorplay::{Error, Result, compile, explain, nested_compile_region, prelude::*};

fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

macro_rules! entry {
    ($entry:ident, $name:literal, $make:expr) => {
        static $entry: BackendEntry = BackendEntry {
            name: $name,
            tags: &["debug"],
            capabilities: BackendCapabilities::new(),
            make: $make,
        };
    };
}

/// A backend that makes executables of graphs, and nothing else.
macro_rules! making {
    ($entry:ident, $name:literal, |$graph:ident, $examples:ident| $executable:expr) => {
        entry!($entry, $name, || Ok(Box::new(
            |$graph: &GraphModule,
             $examples: &[Example],
             _: &CompileOptions|
             -> Result<Box<dyn Executable>> { Ok(Box::new($executable)) }
        )));
    };
}

const ON_EAGER: NestedCompileRegionOptions = NestedCompileRegionOptions {
    fw_compiler: Some("eager"),
    bw_compiler: None,
};
static EAGER: NestedCompileRegionOptions = ON_EAGER;

#[nested_compile_region(options = EAGER)]
fn quotient(x: &Tensor, s: f64) -> Tensor {
    x / s
}

#[test]
fn zeros_of_both_signs_are_two_numbers() {
    #[compile(fullgraph)]
    fn both(x: &Tensor) -> (Tensor, Tensor) {
        (quotient(x, 0.0), quotient(x, -0.0))
    }
    let _alone = alone();
    let (up, down) = both(&Tensor::ones(3, DType::F32));
    assert_eq!(up.to_vec::<f32>(), [f32::INFINITY; 3]);
    assert_eq!(down.to_vec::<f32>(), [f32::NEG_INFINITY; 3]);

    let graph: GraphModule = "graph f(x: f32[3], $0 s: f64) { %1 = div(%0, $0) return %1 }"
        .parse()
        .expect("a graph");
    let inputs = |s: f64| [Tensor::ones(3, DType::F32), Tensor::from_slice(&[s], ())];
    let examples: Vec<Example> = inputs(0.0).iter().map(Example::of).collect();
    let stax = lookup_backend("stax").expect("it is built in");
    let program = stax
        .compile(&graph, &examples, &CompileOptions::default())
        .expect("a division");
    for s in [0.0, -0.0, 0.0] {
        let got = program.run(&inputs(s)).expect("two inputs");
        assert_eq!(got[0].to_vec::<f32>(), [(1.0 / s) as f32; 3]);
    }
}

#[test]
fn nan_in_a_key_is_itself() {
    #[compile(fullgraph)]
    fn either(x: &Tensor, s: f64) -> Tensor {
        if s > 0.0 {
            quotient(x, s)
        } else {
            quotient(x, s) * 2.0
        }
    }
    let _alone = alone();
    let x = Tensor::ones(3, DType::F32);
    either(&x, f64::NAN);
    let before = counters();
    for _ in 0..5 {
        assert!(either(&x, f64::NAN).to_vec::<f32>().iter().all(|v| v.is_nan()));
    }
    let after = counters();
    assert_eq!(
        (after.backend_compiles, after.misses),
        (before.backend_compiles, before.misses)
    );
}

/// Fails where the strides are not those that it was compiled for.
struct Strided(Vec<Vec<usize>>, GraphModule);

impl Executable for Strided {
    fn run(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        assert!(inputs.iter().map(Tensor::strides).eq(&self.0), "other strides");
        self.1.run(inputs)
    }
}

#[test]
fn an_executable_is_run_with_the_strides_that_it_was_shown() {
    making!(STRIDED, "strided", |graph, examples| Strided(
        examples.iter().map(|e| e.strides().to_vec()).collect(),
        graph.clone()
    ));
    #[compile]
    fn f(x: &Tensor) -> Tensor {
        x * 3.0
    }
    let _alone = alone();
    register_backend(&STRIDED).expect("a free name");
    for columns in [8, 10, 8] {
        let x = Tensor::randn((4, columns), DType::F32).narrow(1, 0, 6);
        let y = with_backend("strided", || f(&x)).expect("it is registered");
        assert_eq!(y.to_vec::<f32>(), (&x * 3.0).to_vec::<f32>());
    }
    for dims in [[1, 0, 2], [2, 1, 0]] {
        let x = Tensor::randn((4, 4, 4), DType::F32).permute(dims);
        with_backend("strided", || f(&x)).expect("it is registered");
    }
    assert_eq!(explain!(f).entries.len(), 2, "{}", explain!(f));
    unregister_backend("strided");
}

#[test]
fn a_result_in_a_variable_of_the_backend_is_a_value() {
    making!(KEEPING, "keeping", |_graph, _examples| {
        let kept = Tensor::zeros(2, DType::F32).requires_grad_(true);
        move |inputs: &[Tensor]| {
            kept.assign(&inputs[0]);
            Ok(vec![kept.clone()])
        }
    });
    #[compile]
    fn f(x: &Tensor) -> Tensor {
        x.abs()
    }
    let _alone = alone();
    register_backend(&KEEPING).expect("a free name");
    let call = |v: f32| with_backend("keeping", || f(&Tensor::from_slice(&[v, v], 2))).expect("registered");
    let (first, second) = (call(1.0), call(9.0));
    assert_eq!(first.to_vec::<f32>(), [1.0, 1.0]);
    assert_eq!(second.to_vec::<f32>(), [9.0, 9.0]);
    assert!(!first.requires_grad());
    unregister_backend("keeping");
}

static LIVE: AtomicUsize = AtomicUsize::new(0);

/// Counts itself, and calls a function when it goes.
struct Counted(GraphModule);

#[compile]
fn called_when_dropped(x: &Tensor) -> Tensor {
    x + 1.0
}

impl Executable for Counted {
    fn run(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        self.0.run(inputs)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let n = LIVE.fetch_sub(1, SeqCst);
        // a size of its own each time: the call is bound
        called_when_dropped(&Tensor::zeros(n + 2, DType::F32));
    }
}

#[test]
fn what_a_backend_made_goes_with_it() {
    making!(COUNTED, "counted", |graph, _examples| {
        LIVE.fetch_add(1, SeqCst);
        Counted(graph.clone())
    });
    let _alone = alone();
    let x = Tensor::ones(1, DType::F32);
    let call = |n: usize| {
        let x = Tensor::ones(n, DType::F32);
        with_backend("counted", || called_when_dropped(&x)).expect("it is registered");
    };
    register_backend(&COUNTED).expect("a free name");
    (40..43).for_each(call);
    assert_eq!(LIVE.load(SeqCst), 3);
    reset();
    assert_eq!(LIVE.load(SeqCst), 0, "after a reset");
    let before = counters().backend_compiles;
    (40..43).for_each(call);
    assert_eq!(counters().backend_compiles - before, 3, "it is asked again");
    unregister_backend("counted");
    assert_eq!(LIVE.load(SeqCst), 0, "after it is unregistered");
    assert!(
        explain!(called_when_dropped)
            .entries
            .iter()
            .all(|e| !e.to_string().contains("counted"))
    );
    called_when_dropped(&x);
    // more than are kept of evicted entries: the oldest go, and call the function while they do
    register_backend(&COUNTED).expect("the name is free again");
    (100..200).for_each(call);
    let live = LIVE.load(SeqCst);
    assert!((1..=80).contains(&live), "{live} of 100 are live");
    unregister_backend("counted");
    assert_eq!(LIVE.load(SeqCst), 0);
}

#[test]
fn a_backend_that_looks_itself_up_while_it_is_made_is_an_error() {
    entry!(LOOKING, "looking", || {
        lookup_backend("looking")?;
        Ok(Box::new(
            |_: &GraphModule, _: &[Example], _: &CompileOptions| -> Result<Box<dyn Executable>> {
                Err(Error::msg("never asked"))
            },
        ))
    });
    let _alone = alone();
    register_backend(&LOOKING).expect("a free name");
    let e = lookup_backend("looking").err().expect("no backend comes of it");
    assert!(e.to_string().contains("looks itself up"), "{e}");
    unregister_backend("looking");
}

struct Panicking(GraphModule);

impl Executable for Panicking {
    fn run(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        self.0.run(inputs)
    }
    fn codegen(&self) -> Codegen {
        panic!("what it is")
    }
}

#[test]
fn a_panic_in_codegen_is_an_error() {
    making!(PANICKING, "panicking", |graph, _examples| Panicking(
        graph.clone()
    ));
    #[compile(backend = "panicking")]
    fn f(x: &Tensor) -> Result<Tensor> {
        Ok(x.try_exp()? + 1.0)
    }
    let _alone = alone();
    register_backend(&PANICKING).expect("a free name");
    let e = f(&Tensor::ones(3, DType::F32)).expect_err("it panics");
    assert!(
        matches!(&e, Error::BackendCompilerFailed { backend, .. } if backend == "panicking"),
        "{e}"
    );
    unregister_backend("panicking");
}

fn hash_that_calls(_: &[Example]) -> u64 {
    let again = outer_of_hash(&Tensor::ones(7, DType::F32));
    u64::from(again.is_ok())
}

#[nested_compile_region(reuse_hash_fn = hash_that_calls)]
fn hashed(x: &Tensor) -> Tensor {
    x + 1.0
}

#[compile(fullgraph)]
fn outer_of_hash(x: &Tensor) -> Result<Tensor> {
    hashed(x).try_mul(x)
}

/// Looks at the function that asks, and forgets what was bound.
fn hash_that_looks(_: &[Example]) -> u64 {
    let n = explain!(looked_at).entries.len();
    reset();
    n as u64
}

#[nested_compile_region(reuse_hash_fn = hash_that_looks)]
fn looking(x: &Tensor) -> Tensor {
    x.exp()
}

#[compile(fullgraph)]
fn looked_at(x: &Tensor) -> Tensor {
    looking(x) + 1.0
}

#[test]
fn a_hash_may_look_at_its_caller_and_reset() {
    let _alone = alone();
    for n in [2, 3] {
        let x = Tensor::zeros(n, DType::F32);
        assert_eq!(looked_at(&x).to_vec::<f32>(), vec![2.0; n]);
    }
}

#[nested_compile_region(options = EAGER)]
fn on_eager(x: &Tensor) -> Tensor {
    x * 2.0
}

static REFUSING: NestedCompileRegionOptions = NestedCompileRegionOptions {
    fw_compiler: Some("refusing"),
    bw_compiler: None,
};

#[nested_compile_region(options = REFUSING)]
fn refused(x: &Tensor) -> Tensor {
    x * 3.0
}

#[test]
fn parts_of_a_cut_graph_are_strict_and_named() {
    making!(NATIVE, "native", |graph, _examples| {
        let graph = graph.clone();
        move |inputs: &[Tensor]| graph.run(inputs)
    });
    entry!(REFUSES, "refusing", || Ok(Box::new(
        |_: &GraphModule, _: &[Example], _: &CompileOptions| -> Result<Box<dyn Executable>> {
            Err(Error::msg("not today"))
        }
    )));
    #[compile(fullgraph, strict_native)]
    fn strict(x: &Tensor) -> Result<Tensor> {
        Ok(on_eager(&x.exp()) + 1.0)
    }
    #[compile(fullgraph)]
    fn cut(x: &Tensor) -> Result<Tensor> {
        Ok(refused(&x.exp()) + 1.0)
    }
    let _alone = alone();
    register_backend(&NATIVE).expect("a free name");
    register_backend(&REFUSES).expect("a free name");
    let x = Tensor::zeros(2, DType::F32);
    let e = with_backend("eager", || strict(&x)).expect("it is built in");
    assert!(matches!(e, Err(Error::NotNative { .. })), "{e:?}");
    #[compile(fullgraph)]
    fn parts(x: &Tensor) -> Tensor {
        on_eager(&x.exp()) + 1.0
    }
    with_backend("eager_debug", || parts(&x)).expect("it is built in");
    let entries = explain!(parts).entries;
    let on = |name: &str| entries.iter().find(|e| e.backend == name).map(|e| e.codegen);
    assert_eq!(on("eager_debug"), Some(Codegen::Eager), "known since it ran");
    let e = with_backend("native", || cut(&x)).expect("it is registered");
    let e = e.expect_err("its region is refused");
    assert!(
        matches!(&e, Error::BackendCompilerFailed { backend, function, .. }
            if backend == "refusing" && function.ends_with("refused")),
        "{e}"
    );
    unregister_backend("native");
    unregister_backend("refusing");
}

#[test]
fn a_default_that_goes_while_it_is_made_is_none() {
    entry!(GOING, "going", || {
        unregister_backend("going");
        Ok(Box::new(
            |_: &GraphModule, _: &[Example], _: &CompileOptions| -> Result<Box<dyn Executable>> {
                Err(Error::msg("never asked"))
            },
        ))
    });
    let _alone = alone();
    register_backend(&GOING).expect("a free name");
    let e = set_default_backend("going").expect_err("nobody has the name");
    assert!(matches!(e, Error::InvalidBackend { .. }), "{e}");
    assert_eq!(get_default_backend(), "stax");
}

#[test]
fn a_version_that_is_none_is_refused() {
    static ODD: BackendEntry = BackendEntry {
        name: "odd_version",
        tags: &[],
        capabilities: BackendCapabilities::new().max_core_version("newest"),
        make: || Err(Error::msg("never asked")),
    };
    let _alone = alone();
    register_backend(&ODD).expect("a free name");
    let e = lookup_backend("odd_version").err().expect("no bound is known");
    assert!(e.to_string().contains("`newest`, which is none"), "{e}");
    unregister_backend("odd_version");
}

#[test]
fn a_graph_without_kernels_is_not_native() {
    let graph: GraphModule = "graph f(x: f32[2]) { %1 = exp(%0) return %1 }"
        .parse()
        .expect("a graph");
    let examples = [Example::of(&Tensor::zeros(2, DType::F32))];
    let options = CompileOptions {
        strict_native: true,
        ..CompileOptions::default()
    };
    let stax = lookup_backend("stax").expect("it is built in");
    let e = stax
        .compile(&graph, &examples, &options)
        .err()
        .expect("the tile VM runs it");
    assert!(matches!(e, Error::NotNative { .. }), "{e}");
}

#[test]
fn a_call_from_inside_its_own_bind_is_an_error() {
    let _alone = alone();
    let y = outer_of_hash(&Tensor::ones(3, DType::F32)).expect("only the inner call fails");
    assert_eq!(y.to_vec::<f32>(), [2.0; 3]);
}

#[tensorplay::model]
mod net {
    use tensorplay::{compile, prelude::*};

    pub struct Scaled {
        pub w: Tensor,
    }

    impl Scaled {
        #[compile(fullgraph, isolate_recompiles)]
        pub fn forward(&self, x: &Tensor) -> Tensor {
            x * &self.w
        }
    }
}

#[test]
fn instances_that_are_gone_do_not_fill_the_table() {
    let _alone = alone();
    let x = Tensor::ones(2, DType::F32);
    for i in 0..400 {
        let w = Tensor::full(2, f64::from(i), DType::F32);
        let scaled = Box::new(net::Scaled { w });
        assert_eq!(scaled.forward(&x).to_vec::<f32>(), [i as f32; 2]);
        // the next one is elsewhere
        std::mem::forget(scaled);
    }
    let entries = explain!(net::Scaled::forward).entries.len();
    assert!((200..=256).contains(&entries), "{entries}");
}

#[test]
fn a_limit_that_is_lowered_holds_at_the_next_bind() {
    #[compile]
    fn f(x: &Tensor) -> Tensor {
        x.exp()
    }
    let _alone = alone();
    for n in 2..10 {
        f(&Tensor::ones(n, DType::F32));
    }
    assert_eq!(explain!(f).entries.len(), 8);
    config_mut(|c| c.recompile_limit = 2);
    f(&Tensor::ones(20, DType::F32));
    config_mut(|c| c.recompile_limit = 8);
    assert_eq!(explain!(f).entries.len(), 2);
}

#[test]
fn bisect_puts_variables_back_when_the_plain_body_panics() {
    #[compile]
    fn f(x: &Tensor, w: &Tensor) -> Tensor {
        x * w
    }
    let _alone = alone();
    let w = Tensor::ones(2, DType::F32).variable();
    let call = |i: &[Tensor]| {
        let y = f(&i[0], &i[1]);
        i[1].assign(&(&i[1] + 1.0));
        assert!(y.dim(0) == 3, "as it is");
        y
    };
    let inputs = [Tensor::ones(2, DType::F32), w.clone()];
    let tolerance = Tolerance { rtol: 0.0, atol: 0.0 };
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| bisect(call, &inputs, tolerance)));
    assert!(caught.is_err());
    assert_eq!(w.to_vec::<f32>(), [1.0, 1.0]);
}

#[test]
fn threads_that_end_may_still_compute() {
    #[compile]
    fn f(x: &Tensor) -> Tensor {
        x.softmax(-1).sum_all() + x.transpose(0, 1).exp().sum_all()
    }
    struct AtTheEnd;
    static SUM: Mutex<f32> = Mutex::new(0.0);
    impl Drop for AtTheEnd {
        fn drop(&mut self) {
            let x = Tensor::zeros((40, 3), DType::F32);
            let plain = x.softmax(-1).sum_all() + x.matmul(&x.t()).exp().sum_all() / 1600.0;
            *SUM.lock().expect("one thread") = f(&x).item::<f32>() + plain.item::<f32>();
        }
    }
    thread_local!(static LAST: AtTheEnd = const { AtTheEnd });
    let _alone = alone();
    // registered before those of tensorplay, so dropped after them
    let thread = std::thread::spawn(|| LAST.with(|_| f(&Tensor::zeros((40, 3), DType::F32)).item::<f32>()));
    assert_eq!(thread.join().expect("it ends"), 160.0);
    let sum = *SUM.lock().expect("no panic");
    assert!((sum - 201.0).abs() < 1e-3, "{sum}");
}

/// A backend may have another thread do its work, and that may call the function on another backend.
#[test]
fn another_thread_may_call_the_function_on_another_backend() {
    #[compile]
    fn asked(x: &Tensor) -> Tensor {
        x + 1.0
    }
    entry!(ASKING, "asking", || Ok(Box::new(
        |graph: &GraphModule, _: &[Example], _: &CompileOptions| -> Result<Box<dyn Executable>> {
            let call = || with_backend("eager", || asked(&Tensor::ones(3, DType::F32)));
            let there = std::thread::spawn(call).join().expect("it returns")?;
            assert_eq!(there.to_vec::<f32>(), [2.0; 3]);
            let graph = graph.clone();
            Ok(Box::new(move |inputs: &[Tensor]| graph.run(inputs)))
        }
    )));
    let _alone = alone();
    register_backend(&ASKING).expect("a free name");
    let x = Tensor::zeros(3, DType::F32);
    let y = with_backend("asking", || asked(&x)).expect("it is registered");
    assert_eq!(y.to_vec::<f32>(), [1.0; 3]);
    unregister_backend("asking");
}
