//! Functions on other backends: 2, 3, 55 to 57, and what 25, 26, 35, 40 to 42 and 45 say of how often one compiles.

use crate::check::{alone, iota, panics, v};
use crate::probe::Asked;
use std::sync::Mutex;
use tensorplay::compiler::{
    Codegen, CompileOptions, Example, Executable, NestedCompileRegionOptions, disable_capture,
    lookup_backend, with_backend,
};
use tensorplay::{Error, Result, compile, explain, graph, model, nested_compile_region, prelude::*};

fn times(asked: &Mutex<Vec<Asked>>) -> usize {
    asked.lock().unwrap().len()
}

#[test]
fn case_02_a_backend_compiles_once_and_sees_names_and_options() {
    #[compile(backend = "probe_02", name = "test")]
    fn f(x: &Tensor, y: &Tensor) -> Tensor {
        x * y + y
    }
    let asked = probe!("probe_02");
    for k in 0..2 {
        let z = against_body!(f(&v(&[1.0, 2.0 + k as f32]), &v(&[3.0, 4.0])));
        assert_eq!(z.to_vec::<f32>(), [6.0, 12.0 + 4.0 * k as f32]);
    }
    let asked = asked.lock().unwrap();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].inputs, ["x", "y"]);
    let options = CompileOptions {
        name: Some("test".into()),
        ..CompileOptions::default()
    };
    assert_eq!(asked[0].options, options);
    let of_x = &asked[0].examples[0];
    assert_eq!((asked[0].examples.len(), of_x.dtype()), (2, DType::F32));
    assert_eq!((of_x.shape(), of_x.strides()), (&[2][..], &[1][..]));
    let e = explain!(f);
    assert_eq!((e.entries.len(), e.calls.dispatched), (1, 2), "{e}");
    assert_eq!(
        (e.entries[0].backend.as_str(), e.entries[0].codegen),
        ("probe_02", Codegen::Custom)
    );
}

#[test]
fn case_02_a_scope_asks_its_backend_once_and_has_entries_of_its_own() {
    #[compile]
    fn f(x: &Tensor, y: &Tensor) -> Tensor {
        x * y + y
    }
    let asked = probe!("probe_02_scope");
    let (x, y) = (v(&[1.0, 2.0]), v(&[3.0, 4.0]));
    for _ in 0..2 {
        let z = with_backend("probe_02_scope", || f(&x, &y)).expect("it is registered");
        assert_eq!(z.to_vec::<f32>(), [6.0, 12.0]);
        assert_eq!(f(&x, &y).to_vec::<f32>(), [6.0, 12.0]);
    }
    let asked = asked.lock().unwrap();
    assert_eq!(asked.len(), 1);
    assert_eq!(
        asked[0].options,
        CompileOptions::default(),
        "nothing was written, nothing is passed"
    );
    let mut on: Vec<String> = explain!(f).entries.iter().map(|e| e.backend.clone()).collect();
    on.sort();
    assert_eq!(on, ["probe_02_scope", "stax"]);
}

#[test]
fn case_02_a_scope_wins_over_the_attribute_and_ends_with_a_panic() {
    #[compile(backend = "probe_02_inner")]
    fn f(x: &Tensor) -> Tensor {
        x + 1.0
    }
    let (inner, outer) = (probe!("probe_02_inner"), probe!("probe_02_outer"));
    let x = v(&[1.0]);
    let text = panics(|| {
        with_backend("probe_02_outer", || {
            f(&x);
            assert_eq!(x.dim(0), 2, "in the scope");
        })
    });
    assert!(text.contains("in the scope"), "{text}");
    assert_eq!((times(inner), times(outer)), (0, 1));
    f(&x);
    assert_eq!((times(inner), times(outer)), (1, 1));
}

#[test]
fn case_02_scalars_follow_the_tensors_as_tensors_of_rank_0() {
    #[compile(backend = "probe_02_scalars")]
    fn f(x: &Tensor, scale: f64, shift: i64) -> Tensor {
        x * scale + shift
    }
    let asked = probe!("probe_02_scalars");
    for k in 0..3 {
        let y = against_body!(f(&v(&[1.0, 2.0]), 0.5 * k as f64, k));
        let k = k as f32;
        assert_eq!(y.to_vec::<f32>(), [0.5 * k + k, k + k]);
    }
    let asked = asked.lock().unwrap();
    assert_eq!(asked.len(), 1, "a scalar is an argument, not part of the key");
    let examples = asked[0].examples.iter().map(|e| (e.dtype(), e.shape().len()));
    assert_eq!(
        examples.collect::<Vec<_>>(),
        [(DType::F32, 1), (DType::F64, 0), (DType::I64, 0)]
    );
}

struct Shifted {
    shift: Tensor,
}

impl Shifted {
    #[compile(fullgraph)]
    fn forward(&self, x: &Tensor, scale: f64) -> Tensor {
        x * scale + &self.shift
    }
}

#[model]
mod net {
    use tensorplay::{compile, prelude::*};

    pub struct Layer {
        pub w: Tensor,
        pub b: Tensor,
    }

    impl Layer {
        pub fn forward(&self, x: &Tensor) -> Tensor {
            (x.matmul(&self.w) + &self.b).relu()
        }
    }

    pub struct Net {
        pub layers: Vec<Layer>,
        pub shift: Tensor,
    }

    impl Net {
        #[compile(fullgraph)]
        pub fn forward(&self, x: &Tensor, scale: f64) -> Tensor {
            let mut h = x * scale;
            for layer in &self.layers {
                h = layer.forward(&h);
            }
            h + &self.shift
        }
    }
}

#[test]
fn case_02_tensors_of_self_follow_the_parameters() {
    let asked = probe!("probe_02_self");
    let net = Shifted {
        shift: v(&[1.0, 2.0, 3.0]),
    };
    let x = iota(&[2, 3]);
    let y = with_backend("probe_02_self", || net.forward(&x, 2.0)).expect("it is registered");
    assert_eq!(y.to_vec::<f32>(), [1.0, 4.0, 7.0, 7.0, 10.0, 13.0]);
    let shapes = asked.lock().unwrap()[0]
        .examples
        .iter()
        .map(|e| e.shape().to_vec())
        .collect::<Vec<_>>();
    assert_eq!(shapes, [vec![2, 3], vec![3], vec![]]);
}

#[test]
fn case_02_calls_and_loops_over_layers_are_unrolled() {
    let asked = probe!("probe_02_layers");
    let layer = |k: usize| net::Layer {
        w: iota(&[3, 3]) * 0.125 - k as f64 * 0.25,
        b: iota(&[3]) - 1.0,
    };
    let x = iota(&[2, 3]);
    for count in [2, 3, 2] {
        let net = net::Net {
            layers: (0..count).map(layer).collect(),
            shift: v(&[1.0]),
        };
        let y = with_backend("probe_02_layers", || net.forward(&x, 0.5)).expect("it is registered");
        let plain = disable_capture(|| net.forward(&x, 0.5));
        assert!(y.allclose(&plain, 1e-5, 1e-5), "{count} layers");
    }
    let asked = asked.lock().unwrap();
    let products = asked
        .iter()
        .map(|a| a.ops.iter().filter(|o| **o == "matmul").count());
    assert_eq!(products.collect::<Vec<_>>(), [2, 3]);
    // x, a weight and a bias a layer, the shift, the scale
    assert_eq!(asked[0].examples.len(), 1 + 2 * 2 + 1 + 1);
    let last: Vec<usize> = asked[0].examples.iter().map(|e| e.shape().len()).collect();
    assert_eq!(last, [2, 2, 1, 2, 1, 1, 0]);
}

static ON_A_PROBE: NestedCompileRegionOptions = NestedCompileRegionOptions {
    fw_compiler: Some("probe_02_region"),
    bw_compiler: None,
};

#[nested_compile_region(options = ON_A_PROBE)]
fn region(x: &Tensor) -> Tensor {
    x.relu() * 2.0
}

#[test]
fn case_02_a_region_keeps_its_own_backend() {
    #[compile(fullgraph)]
    fn f(x: &Tensor) -> Tensor {
        region(&(x + 1.0)) - 0.5
    }
    let (of_region, outer) = (probe!("probe_02_region"), probe!("probe_02_around"));
    let x = v(&[-3.0, 1.0]);
    for _ in 0..2 {
        assert_eq!(against_body!(f(&x)).to_vec::<f32>(), [-0.5, 3.5]);
    }
    assert_eq!((times(of_region), times(outer)), (1, 0));
    let around = || with_backend("probe_02_around", || f(&x)).expect("it is registered");
    assert_eq!(around().to_vec::<f32>(), [-0.5, 3.5]);
    let asked = (times(of_region), times(outer));
    assert_eq!(around().to_vec::<f32>(), [-0.5, 3.5]);
    assert_eq!(
        (times(of_region), times(outer)),
        asked,
        "nothing is compiled again"
    );
    let ops = |asked: &Mutex<Vec<Asked>>| -> Vec<&str> {
        let asked = asked.lock().unwrap();
        let mut all: Vec<&str> = asked.iter().flat_map(|a| a.ops.clone()).collect();
        all.sort();
        all.dedup();
        all
    };
    assert_eq!(ops(of_region), ["mul", "relu"]);
    assert_eq!(
        ops(outer),
        ["add", "sub"],
        "what is around the region, and no more"
    );
}

#[test]
fn case_02_each_segment_between_breaks_is_a_graph() {
    #[compile]
    fn f(x: &Tensor) -> Tensor {
        let y = x * 2.0;
        let n = y.max_all().item::<f32>();
        let z = y + 1.0;
        if n > 3.0 { z.relu() } else { z }
    }
    let asked = probe!("probe_02_segments");
    for (x, right) in [(v(&[1.0, -2.0]), [3.0, -3.0]), (v(&[2.0, -2.0]), [5.0, 0.0])] {
        let y = with_backend("probe_02_segments", || f(&x)).expect("it is registered");
        assert_eq!(y.to_vec::<f32>(), right);
    }
    assert!(times(asked) >= 2);
    let ops: Vec<&str> = asked.lock().unwrap().iter().flat_map(|a| a.ops.clone()).collect();
    for op in ["mul", "add", "relu"] {
        assert!(ops.contains(&op), "{ops:?}");
    }
    assert!(
        explain!(f)
            .entries
            .iter()
            .all(|e| e.backend == "probe_02_segments")
    );
}

#[test]
fn case_02_inside_disable_capture_no_backend_is_asked() {
    #[compile(backend = "probe_02_disabled")]
    fn f(x: &Tensor) -> Tensor {
        x + 1.0
    }
    let asked = probe!("probe_02_disabled");
    assert_eq!(disable_capture(|| f(&v(&[1.0]))).item::<f32>(), 2.0);
    assert_eq!(times(asked), 0);
}

#[test]
fn case_03_a_dynamic_function_is_compiled_once_and_says_so() {
    #[compile(dynamic = true, backend = "probe_03")]
    fn f(x: &Tensor) -> Tensor {
        x * 2.0 + 1.0
    }
    let asked = probe!("probe_03");
    for n in [2, 3, 2] {
        against_body!(f(&iota(&[n])));
    }
    assert_eq!(times(asked), 1);
    assert!(asked.lock().unwrap()[0].options.dynamic);
    for _ in 0..2 {
        against_body!(f(&iota(&[1])));
    }
    assert_eq!(times(asked), 2, "size 1 is a class of its own");
    assert_eq!(explain!(f).entries.len(), 2);
}

#[test]
fn case_25_a_backend_compiles_each_layout_once() {
    #[compile(backend = "probe_25")]
    fn f(x: &Tensor) -> Tensor {
        x * 2.0 + 1.0
    }
    let asked = probe!("probe_25");
    let views = [
        iota(&[4, 4]),
        iota(&[4, 4]).t(),
        iota(&[1, 4]).expand((4, 4)),
        iota(&[4, 8]).slice(1, 0, 8, 2),
    ];
    for _ in 0..2 {
        for x in &views {
            against_body!(f(x));
        }
    }
    let asked = asked.lock().unwrap();
    let strides = asked.iter().map(|a| a.examples[0].strides().to_vec());
    let right = views.iter().map(|x| x.strides().to_vec());
    assert_eq!(strides.collect::<Vec<_>>(), right.collect::<Vec<_>>());
    assert_eq!(explain!(f).entries.len(), 4);
}

#[test]
fn case_26_a_backend_compiles_two_dynamic_layouts_twice() {
    #[compile(dynamic = true, backend = "probe_26")]
    fn f(x: &Tensor) -> Tensor {
        x.softmax(-1) * 2.0
    }
    let asked = probe!("probe_26");
    for n in [4, 6, 8] {
        for x in [iota(&[n, 5]), iota(&[5, n]).t()] {
            let y = f(&x);
            assert!(y.allclose(&disable_capture(|| f(&x)), 1e-6, 1e-6));
        }
    }
    assert_eq!((times(asked), explain!(f).entries.len()), (2, 2));
}

#[test]
fn case_35_a_backend_compiles_each_size() {
    #[compile(backend = "probe_35")]
    fn f(x: &Tensor) -> Tensor {
        x * 2.0 + 1.0
    }
    let asked = probe!("probe_35");
    for n in [2, 3, 2] {
        against_body!(f(&iota(&[n])));
    }
    assert_eq!(times(asked), 2);
    assert!(!asked.lock().unwrap()[0].options.dynamic);
}

#[test]
fn case_40_a_backend_compiles_each_class_of_sizes() {
    #[compile(dynamic = true, backend = "probe_40")]
    fn f(x: &Tensor) -> Tensor {
        x * 2.0 + 1.0
    }
    let asked = probe!("probe_40");
    for n in [3, 1, 0, 7, 1, 0, 11] {
        against_body!(f(&iota(&[n])));
    }
    assert_eq!((times(asked), explain!(f).entries.len()), (3, 3));
}

#[test]
fn case_41_a_backend_is_not_told_that_sizes_are_equal() {
    #[compile(dynamic = true, backend = "probe_41")]
    fn f(x: &Tensor, y: &Tensor) -> Tensor {
        x + y
    }
    let asked = probe!("probe_41");
    for (n, m) in [(3, 3), (5, 5), (7, 1), (11, 11), (13, 1)] {
        against_body!(f(&iota(&[n]), &(iota(&[m]) + 1)));
    }
    assert_eq!((times(asked), explain!(f).entries.len()), (2, 2));
}

#[test]
fn case_42_a_backend_is_given_arithmetic_on_sizes() {
    #[compile(fullgraph, dynamic = true, backend = "probe_42")]
    fn f(x: &Tensor) -> (Tensor, Tensor, Tensor) {
        let halves = x.reshape((x.dim(0) * x.dim(1) / 2, 2));
        let rows = x.sum_keepdim(1).expand((x.dim(0), x.dim(1)));
        (halves, x.flatten_all(), rows)
    }
    let asked = probe!("probe_42");
    for (n, m) in [(2, 4), (3, 6), (5, 8)] {
        let (halves, flat, rows) = against_body!(f(&iota(&[n, m])));
        assert_eq!(halves.shape(), [n * m / 2, 2]);
        assert_eq!((flat.shape(), rows.shape()), (&[n * m][..], &[n, m][..]));
    }
    assert_eq!(times(asked), 1);

    #[compile(fullgraph, dynamic = true, backend = "probe_42")]
    fn pairs(x: &Tensor) -> Result<Tensor> {
        Ok(x.reshape((-1, 2)))
    }
    assert_eq!(pairs(&iota(&[22])).expect("22 elements").shape(), [11, 2]);
    let e = pairs(&iota(&[21])).expect_err("21 elements").to_string();
    assert!(e.contains("reshape") && e.contains("[21]"), "{e}");
    assert_eq!(pairs(&iota(&[4])).expect("4 elements").shape(), [2, 2]);
}

#[test]
fn case_45_a_backend_compiles_each_side_of_a_branch_once() {
    #[compile(fullgraph, dynamic = true, backend = "probe_45")]
    fn f(x: &Tensor) -> Tensor {
        if x.dim(0) > 4 { x.sum(0) } else { x.max(0) }
    }
    let asked = probe!("probe_45");
    for n in [2, 3, 4, 5, 6, 7] {
        against_body!(f(&iota(&[n, 2])));
    }
    assert_eq!((times(asked), explain!(f).entries.len()), (2, 2));
}

#[test]
fn case_55_the_eager_backends_are_right() {
    #[compile(fullgraph)]
    fn f(x: &Tensor) -> Tensor {
        x.relu() * 2.0 + x.relu()
    }
    let x = v(&[-1.0, 0.0, 2.0]);
    for backend in ["eager", "eager_noexcept", "eager_debug"] {
        let y = with_backend(backend, || against_body!(f(&x))).expect(backend);
        assert_eq!(y.to_vec::<f32>(), [0.0, 0.0, 6.0], "{backend}");
    }
    let e = explain!(f);
    assert_eq!((e.entries.len(), e.calls.dispatched), (3, 3), "{e}");
    assert!(e.entries.iter().all(|e| e.codegen == Codegen::Eager), "{e}");
    let steps = e.calls.steps;
    assert_eq!((steps.emitted, steps.tile), (0, 0), "{e}");
}

#[test]
fn case_55_the_eager_backends_take_state_loops_and_branches() {
    #[compile(fullgraph)]
    fn f(total: &mut Tensor, x: &Tensor, scale: f64) -> (Tensor, Tensor) {
        let mut y = x.clone();
        for _ in 0..3 {
            y = y * scale + x;
        }
        *total = &*total + &y;
        let (values, places) = if x.dim(0) > 2 {
            y.topk(2, 0)
        } else {
            y.sort(0, false)
        };
        (values, places)
    }
    for backend in ["eager", "eager_noexcept", "eager_debug"] {
        for x in [v(&[3.0, -1.0, 2.0]), v(&[5.0, 4.0])] {
            let (mut total, mut plain) = (x.clone(), x.clone());
            let y = with_backend(backend, || f(&mut total, &x, 0.5)).expect(backend);
            let z = disable_capture(|| f(&mut plain, &x, 0.5));
            assert_eq!(y.0.to_vec::<f32>(), z.0.to_vec::<f32>(), "{backend}");
            assert_eq!(y.1.to_vec::<i64>(), z.1.to_vec::<i64>(), "{backend}");
            assert_eq!(total.to_vec::<f32>(), plain.to_vec::<f32>(), "{backend}");
        }
    }
}

#[test]
fn case_55_the_eager_backends_replace_variables_once() {
    #[compile(fullgraph)]
    fn f(x: &Tensor, mean: &Tensor, var: &Tensor) -> Tensor {
        x.batch_norm_train(mean, var, None, None, 0.1, 1e-5)
    }
    let x = iota(&[4, 3]) * 0.5;
    let run = |on: &dyn Fn(&dyn Fn() -> Tensor) -> Tensor| {
        let (mean, var) = (v(&[0.0; 3]).variable(), v(&[1.0; 3]).variable());
        let before = (mean.version(), var.version());
        let y = on(&|| f(&x, &mean, &var));
        assert_eq!((mean.version(), var.version()), (before.0 + 1, before.1 + 1));
        (y, mean, var)
    };
    let plain = run(&|call| disable_capture(call));
    for backend in ["stax", "eager", "eager_noexcept", "eager_debug"] {
        let got = run(&|call| with_backend(backend, call).expect(backend));
        for (a, b) in [(&got.0, &plain.0), (&got.1, &plain.1), (&got.2, &plain.2)] {
            assert!(a.allclose(b, 1e-5, 1e-6), "{backend}: {a}, not {b}");
        }
    }
}

#[test]
fn case_55_random_numbers_are_the_same_on_all_backends() {
    alone("backends::random_numbers", &[]);
}

#[test]
#[ignore = "run by case_55"]
fn random_numbers() {
    #[compile(fullgraph)]
    fn f(x: &Tensor) -> (Tensor, Tensor) {
        let _unused = Tensor::rand(3, DType::F32);
        (x + Tensor::rand(x.shape(), DType::F32), x.dropout(0.5, true))
    }
    let x = iota(&[32]);
    type Pair = (Tensor, Tensor);
    let draw = |on: &dyn Fn(&dyn Fn() -> Pair) -> Pair| {
        tensorplay::manual_seed(5);
        [0; 2].map(|_| {
            let (a, b) = on(&|| f(&x));
            (a.to_vec::<f32>(), b.to_vec::<f32>())
        })
    };
    let plain = draw(&|call| disable_capture(call));
    assert_ne!(plain[0], plain[1]);
    for backend in ["stax", "eager", "eager_noexcept", "eager_debug"] {
        let got = draw(&|call| with_backend(backend, call).expect(backend));
        assert_eq!(got, plain, "{backend}");
    }
}

/// The error with all its causes.
fn chain(e: &Error) -> String {
    let mut text = e.to_string();
    let mut cause = std::error::Error::source(e);
    while let Some(c) = cause {
        text += &format!(" | {c}");
        cause = c.source();
    }
    text
}

#[test]
fn case_56_eager_noexcept_keeps_the_cause() {
    #[compile(fullgraph)]
    fn f(x: &Tensor, y: &Tensor) -> Result<Tensor> {
        let z = x + 1;
        Ok(z.floor_div(y))
    }
    let (x, y) = (
        Tensor::from_slice(&[5i64, 7], 2),
        Tensor::from_slice(&[0i64, 2], 2),
    );
    assert!(
        panics(|| disable_capture(|| f(&x, &y))).contains("floor_div"),
        "the body fails too"
    );
    let e = with_backend("eager_noexcept", || f(&x, &y))
        .expect("it is there")
        .expect_err("a division by zero");
    let Error::BackendCompilerFailed {
        backend, function, ..
    } = &e
    else {
        panic!("{e:?}");
    };
    assert_eq!(backend, "eager_noexcept");
    assert!(function.ends_with('f'), "{function}");
    let text = chain(&e);
    assert!(text.contains("unexpected exception when running"), "{text}");
    assert!(
        std::error::Error::source(&e).is_some() && text.contains("floor_div") && text.contains("zero"),
        "{text}"
    );
    let right = Tensor::from_slice(&[3i64, 2], 2);
    let ok = with_backend("eager_noexcept", || f(&x, &right)).expect("it is there");
    assert_eq!(ok.expect("no zero").to_vec::<i64>(), [2, 4]);
}

#[test]
fn case_56_eager_debug_names_the_node_and_its_line() {
    #[compile(fullgraph)]
    fn f(x: &Tensor, y: &Tensor) -> Result<Tensor> {
        let z = x + 1;
        Ok(z.floor_div(y))
    }
    let line = line!() - 2;
    let (x, y) = (
        Tensor::from_slice(&[5i64, 7], 2),
        Tensor::from_slice(&[0i64, 2], 2),
    );
    let e = with_backend("eager_debug", || f(&x, &y))
        .expect("it is there")
        .expect_err("a division by zero");
    let text = e.to_string();
    assert!(text.contains("while executing"), "{text}");
    assert!(text.contains("floor_div") && text.contains("zero"), "{text}");
    let place = format!("backends.rs:{line}");
    assert!(text.contains(&place), "{text} at {place}");
    let Error::BackendCompilerFailed {
        backend,
        node: Some(node),
        ..
    } = &e
    else {
        panic!("{e:?}");
    };
    assert_eq!(backend, "eager_debug");
    assert!(node.contains("floor_div") && node.contains(&place), "{node}");
}

#[test]
fn case_56_an_error_inside_a_plain_function_panics_with_the_same_text() {
    #[compile(fullgraph)]
    fn f(x: &Tensor, y: &Tensor) -> Tensor {
        x.floor_div(y)
    }
    let (x, y) = (Tensor::from_slice(&[5i64], 1), Tensor::from_slice(&[0i64], 1));
    let text = panics(|| with_backend("eager_debug", || f(&x, &y)));
    assert!(
        text.contains("while executing") && text.contains("floor_div"),
        "{text}"
    );
    assert!(text.contains("eager_debug"), "{text}");
}

#[compile(fullgraph)]
fn with_relu(x: &Tensor) -> Result<Tensor> {
    Ok(x.relu() * 2.0 + x.relu())
}

#[compile(fullgraph)]
fn without_relu(x: &Tensor) -> Result<Tensor> {
    Ok(x * 2.0 + x)
}

/// The two functions on that backend; the second is right everywhere.
fn both(backend: &str, x: &Tensor) -> Result<Tensor> {
    let y = with_backend(backend, || without_relu(x)).expect(backend);
    let right = x.to_vec::<f32>().iter().map(|a| 3.0 * a).collect::<Vec<_>>();
    assert_eq!(y.expect("no relu").to_vec::<f32>(), right);
    with_backend(backend, || with_relu(x)).expect(backend)
}

/// What compiles the first of them on that backend.
fn compiled(backend: &str, x: &Tensor) -> Result<Box<dyn Executable>> {
    let backend = lookup_backend(backend).expect(backend);
    backend.compile(&graph!(with_relu), &[Example::of(x)], &CompileOptions::default())
}

#[test]
fn case_57_relu_fails_to_compile() {
    let (name, x) = ("relu_compile_error_TESTING_ONLY", v(&[-1.0, 2.0]));
    let e = both(name, &x).expect_err("a relu");
    let Error::BackendCompilerFailed {
        backend,
        function,
        node,
        ..
    } = &e
    else {
        panic!("{e:?}");
    };
    assert_eq!(backend, name);
    assert!(function.ends_with("with_relu"), "{function}");
    assert!(node.as_ref().is_some_and(|n| n.contains("relu")), "{e}");
    assert!(compiled(name, &x).is_err());
}

#[test]
fn case_57_relu_fails_to_run() {
    let (name, x) = ("relu_runtime_error_TESTING_ONLY", v(&[-1.0, 2.0]));
    let e = both(name, &x).expect_err("a relu");
    let of_it = matches!(&e, Error::BackendCompilerFailed { backend, .. } if backend == name);
    assert!(of_it && e.to_string().contains("relu"), "{e}");
    let executable = compiled(name, &x).expect("it fails later");
    assert!(executable.run(&[x]).is_err());
}

#[test]
fn case_57_relu_is_wrong() {
    let (name, x) = ("relu_accuracy_error_TESTING_ONLY", v(&[-1.0, 2.0]));
    let y = both(name, &x).expect("no error");
    assert_eq!(y.to_vec::<f32>(), [0.0, 9.0]);
}

#[test]
fn case_57_leaves_pass_where_others_fail() {
    let (name, x) = ("non_leaf_compile_error_TESTING_ONLY", v(&[-1.0, 2.0]));
    let y = both(name, &x).expect("a leaf");
    assert_eq!(y.to_vec::<f32>(), [0.0, 6.0]);
}
