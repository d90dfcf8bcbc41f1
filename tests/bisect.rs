//! `bisect`: which node of a graph makes a result wrong.
#![deny(warnings)]

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use tensorplay::compiler::{
    Backend, BackendCapabilities, BackendEntry, CompileOptions, Culprit, Example, Executable, Tolerance,
    bisect, register_backend, with_backend,
};
use tensorplay::graph::{GraphModule, Interpreter, Node};
use tensorplay::{Result, compile, nested_compile_region, prelude::*};

/// Adds to the results of one operation.
struct Shifting {
    op: &'static str,
    by: f64,
}

struct Shifted(GraphModule, &'static str, f64);

struct Walk(&'static str, f64);

impl Interpreter for Walk {
    fn call_op(&mut self, node: &Node, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        let mut outputs = node.eval(inputs)?;
        if node.op_name() == self.0 {
            outputs[0] = &outputs[0] + self.1;
        }
        Ok(outputs)
    }
}

impl Executable for Shifted {
    fn run(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        Walk(self.1, self.2).run(&self.0, inputs)
    }
}

impl Backend for Shifting {
    fn compile(&self, graph: &GraphModule, _: &[Example], _: &CompileOptions) -> Result<Box<dyn Executable>> {
        Ok(Box::new(Shifted(graph.clone(), self.op, self.by)))
    }
}

macro_rules! shifting {
    ($name:literal, $op:literal, $by:expr) => {{
        static ENTRY: BackendEntry = BackendEntry {
            name: $name,
            tags: &["debug"],
            capabilities: BackendCapabilities::new(),
            make: || Ok(Box::new(Shifting { op: $op, by: $by })),
        };
        register_backend(&ENTRY).expect("a free name");
        $name
    }};
}

const TIGHT: Tolerance = Tolerance {
    rtol: 1e-5,
    atol: 1e-6,
};

fn x() -> Tensor {
    Tensor::from_slice(&[1.0f32, -2.0, 0.5, 3.0], (2, 2))
}

/// A backend that runs graphs without an operation, and compiles no others.
macro_rules! refusing {
    ($name:literal, $op:literal) => {{
        fn has(g: &GraphModule) -> bool {
            g.nodes().iter().any(|n| n.op_name() == $op) || g.regions.iter().any(has)
        }
        static ENTRY: BackendEntry = BackendEntry {
            name: $name,
            tags: &["debug"],
            capabilities: BackendCapabilities::new(),
            make: || {
                Ok(Box::new(
                    |g: &GraphModule,
                     _: &[Example],
                     _: &CompileOptions|
                     -> tensorplay::Result<Box<dyn Executable>> {
                        if has(g) {
                            return Err(tensorplay::Error::msg(concat!("no ", $op)));
                        }
                        let g = g.clone();
                        Ok(Box::new(move |inputs: &[Tensor]| g.run(inputs)))
                    },
                ))
            },
        };
        register_backend(&ENTRY).expect("a free name");
        $name
    }};
}

#[path = "../runtime/src/bisect/results.in.rs"]
mod reproducer;

#[track_caller]
fn on(backend: &str, f: impl Fn(&[Tensor]) -> Tensor, inputs: &[Tensor], t: Tolerance) -> Option<Culprit> {
    let found = with_backend(backend, || bisect(f, inputs, t)).expect("it is registered");
    found.expect("a search that ends")
}

#[compile(fullgraph)]
fn f(x: &Tensor, w: &Tensor) -> Tensor {
    let h = (x.matmul(w) + 1.0).relu();
    let g = h.sigmoid() * 2.0;
    g - x
}
const LINE_OF_RELU: u32 = line!() - 4;

#[test]
fn right_backends_have_no_culprit() {
    let call = |i: &[Tensor]| f(&i[0], &i[1]);
    assert_eq!(bisect(call, &[x(), x()], TIGHT).expect("a search"), None);
    for backend in ["stax", "eager", "eager_noexcept", "eager_debug"] {
        assert_eq!(on(backend, call, &[x(), x()], TIGHT), None, "{backend}");
    }
}

#[test]
fn the_wrong_node_is_named_with_its_line_and_a_reproducer() {
    let backend = shifting!("bisect_relu", "relu", 1.0);
    let call = |i: &[Tensor]| f(&i[0], &i[1]);
    let culprit = on(backend, call, &[x(), x()], TIGHT).expect("a wrong relu");
    assert_eq!((culprit.op.as_str(), culprit.backend.as_str()), ("relu", backend));
    assert!(culprit.function.ends_with('f'), "{culprit}");
    assert!(culprit.file.ends_with("bisect.rs"), "{culprit}");
    assert_eq!(culprit.line, LINE_OF_RELU, "{culprit}");
    assert_eq!(
        (&culprit.pass, &culprit.group),
        (&None, &None),
        "those are of stax"
    );

    let folder = culprit.reproducer.clone().expect("a folder");
    let text = culprit.to_string();
    assert!(
        text.contains(&*folder.to_string_lossy()) && text.contains("relu"),
        "{text}"
    );
    let files: Vec<_> = fs::read_dir(&folder)
        .expect("it is there")
        .map(|e| e.expect("a file").path())
        .collect();
    let graph = files
        .iter()
        .find_map(|p| fs::read_to_string(p).ok()?.parse::<GraphModule>().ok());
    let graph = graph.expect("a graph as text");
    let tensors = files
        .iter()
        .find(|p| p.extension().is_some_and(|e| e == "safetensors"));
    let tensors = tensorplay::safetensors::load(tensors.expect("its inputs")).expect("tensors");
    assert_eq!(tensors.len(), graph.graph.inputs.len());
    assert!(graph.nodes().iter().any(|n| n.op_name() == "relu"));
    // the program beside them gives both
    let program = fs::read_to_string(folder.join("main.rs")).expect("a program");
    let results = include_str!("../runtime/src/bisect/results.in.rs");
    assert!(program.starts_with(results), "{program}");
    let [got, want] = reproducer::results(&folder.to_string_lossy(), backend).expect("both run");
    assert!(!got[0].allclose(&want[0], 1e-3, 1e-3));
    let _ = fs::remove_dir_all(folder);
}

#[test]
fn of_two_wrong_nodes_the_first_is_named() {
    #[compile(fullgraph)]
    fn twice(x: &Tensor) -> Tensor {
        let h = x.exp() * 0.5;
        h.exp() + x
    }
    let line = line!() - 3;
    let backend = shifting!("bisect_exp", "exp", 0.25);
    let culprit = on(backend, |i| twice(&i[0]), &[x()], TIGHT).expect("two wrong nodes");
    assert_eq!((culprit.op.as_str(), culprit.line), ("exp", line), "{culprit}");
}

#[test]
fn what_is_within_the_tolerance_is_right() {
    let backend = shifting!("bisect_little", "relu", 1e-3);
    let call = |i: &[Tensor]| f(&i[0], &i[1]);
    assert!(on(backend, call, &[x(), x()], TIGHT).is_some());
    let loose = Tolerance {
        rtol: 1e-2,
        atol: 1e-1,
    };
    assert_eq!(on(backend, call, &[x(), x()], loose), None);
}

#[nested_compile_region]
fn region(x: &Tensor) -> Tensor {
    x.tanh() + 1.0
}
const LINE_OF_TANH: u32 = line!() - 2;

#[test]
fn a_node_inside_a_region_is_found() {
    #[compile(fullgraph)]
    fn outer(x: &Tensor) -> Tensor {
        region(&(x * 2.0)) * 3.0
    }
    let backend = shifting!("bisect_tanh", "tanh", 0.5);
    let culprit = on(backend, |i| outer(&i[0]), &[x()], TIGHT).expect("a wrong tanh");
    assert_eq!(
        (culprit.op.as_str(), culprit.line),
        ("tanh", LINE_OF_TANH),
        "{culprit}"
    );
}

#[test]
fn several_functions_and_plain_code_are_told_apart() {
    #[compile(fullgraph)]
    fn first(x: &Tensor) -> Tensor {
        x * 2.0
    }
    #[compile]
    fn second(x: &Tensor) -> Tensor {
        let y = x.cos() + 1.0;
        println!("{}", y.dim(0));
        y.sin()
    }
    let backend = shifting!("bisect_sin", "sin", 0.5);
    let call = |i: &[Tensor]| second(&(first(&i[0]) - 1.0));
    let culprit = on(backend, call, &[x()], TIGHT).expect("a wrong sin");
    assert_eq!(culprit.op, "sin", "{culprit}");
    assert!(culprit.function.contains("second"), "{culprit}");
}

#[test]
fn the_backend_of_tests_is_found_out() {
    let call = |i: &[Tensor]| f(&i[0], &i[1]);
    let culprit = on("relu_accuracy_error_TESTING_ONLY", call, &[x(), x()], TIGHT);
    assert_eq!(culprit.expect("a wrong relu").op, "relu");
}

#[test]
fn random_numbers_and_state_do_not_mislead() {
    #[compile(fullgraph)]
    fn noisy(x: &Tensor, mean: &Tensor, var: &Tensor) -> Tensor {
        let y = x + Tensor::rand(x.shape(), DType::F32);
        y.batch_norm_train(mean, var, None, None, 0.1, 1e-5).relu()
    }
    let mean = Tensor::zeros(2, DType::F32).variable();
    let var = Tensor::ones(2, DType::F32).variable();
    // what is read of `mean` here tells how often the call ran before
    let call = |i: &[Tensor]| noisy(&i[0], &i[1], &i[2]) + i[1].sum_all();
    let inputs = [x(), mean.clone(), var.clone()];
    let tolerance = Tolerance {
        rtol: 1e-4,
        atol: 1e-4,
    };
    let done = AtomicBool::new(false);
    std::thread::scope(|s| {
        // numbers that others draw meanwhile
        s.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let _ = Tensor::rand(1, DType::F32);
            }
        });
        for _ in 0..20 {
            let found = bisect(call, &inputs, tolerance);
            if !matches!(found, Ok(None)) {
                done.store(true, Ordering::Relaxed);
                panic!("{found:?}");
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(mean.to_vec::<f32>(), [0.0, 0.0]);
    assert_eq!(var.to_vec::<f32>(), [1.0, 1.0]);
}

/// A scope inside the code that is looked into counts as well.
#[test]
fn the_backend_of_a_scope_inside_is_the_culprit() {
    let backend = shifting!("bisect_scope", "relu", 1.0);
    let call = |i: &[Tensor]| with_backend(backend, || f(&i[0], &i[1])).expect("it is registered");
    let culprit = bisect(call, &[x(), x()], TIGHT)
        .expect("a search")
        .expect("a wrong relu");
    assert_eq!((culprit.op.as_str(), culprit.backend.as_str()), ("relu", backend));
}

/// What a loop or a branch holds is no part of the operations before it.
#[test]
fn operations_before_a_loop_or_a_branch_are_not_blamed() {
    #[compile(fullgraph)]
    fn looped(x: &Tensor) -> Tensor {
        let mut y = x.sin();
        for _ in 0..x.dim(0) {
            y = y.exp().tanh();
        }
        y
    }
    let in_loop = line!() - 4;
    #[compile(fullgraph)]
    fn branched(x: &Tensor) -> Tensor {
        let y = x.sin();
        let p = y.sum_all().gt(100.0);
        tensorplay::cond(&p, || y.exp(), || y.tanh())
    }
    let in_branch = line!() - 2;
    let backend = refusing!("bisect_refusing", "tanh");
    let found = |f: fn(&Tensor) -> Tensor| {
        let plain = |i: &[Tensor]| std::panic::catch_unwind(|| f(&i[0])).unwrap_or_else(|_| i[0].clone());
        on(backend, plain, &[x()], TIGHT).expect("it refuses")
    };
    let culprit = found(looped);
    assert_eq!((&culprit.op[..], culprit.line), ("tanh", in_loop), "{culprit}");
    let culprit = found(branched);
    assert_eq!((&culprit.op[..], culprit.line), ("cond", in_branch), "{culprit}");
}

/// A region that has a backend of its own is looked into for itself.
#[test]
fn a_region_with_a_wrong_backend_is_the_culprit() {
    static ON_WRONG: tensorplay::compiler::NestedCompileRegionOptions =
        tensorplay::compiler::NestedCompileRegionOptions {
            fw_compiler: Some("bisect_region"),
            bw_compiler: None,
        };
    #[tensorplay::nested_compile_region(options = ON_WRONG)]
    fn apart(x: &Tensor) -> Tensor {
        x.sin().relu()
    }
    #[compile(fullgraph)]
    fn outer(x: &Tensor, w: &Tensor) -> Tensor {
        apart(&x.exp()).matmul(w)
    }
    let name = shifting!("bisect_region", "relu", 1.0);
    let call = |i: &[Tensor]| outer(&i[0], &i[1]);
    for backend in ["stax", "eager"] {
        let culprit = on(backend, call, &[x(), x()], TIGHT).expect("a wrong relu");
        assert_eq!(
            (&culprit.op[..], &culprit.backend[..]),
            ("relu", name),
            "{culprit}"
        );
        assert!(culprit.function.ends_with("apart"), "{culprit}");
    }
}
