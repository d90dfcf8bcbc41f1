//! Conformance case 82: each standard pass run twice changes nothing the second time, and leaves alone what only looks
//! simple.

use tensorplay_graph::passes::{PASSES, Pass, PassManager};
use tensorplay_graph::{
    EvalArg, EvalError, GraphModule, Host, Interpreter, Meta, Node, NodeId, Op, TensorType,
};

fn module(text: &str) -> GraphModule {
    text.parse().unwrap_or_else(|e| panic!("{e}"))
}

const PROGRAMS: &[&str] = &[
    "graph f(x: f32[2, 3]) {
       %1 = add(%0, 0.0) %2 = mul(%1, 0.0) %3 = mul(%2, 1.0) %4 = neg(%3) %5 = neg(%4)
       %6 = to_dtype(%5, f32) %7 = reshape(%6, [dim(%0, 0), -1]) %8 = sum(%7, -1) %9 = sum(%7, [-1])
       %10 = exp(%0) return %8, %9, %7
     }",
    "graph f(x: f32[N, 4], $0 k: usize) {
       symbols N: 0..
       %1 = narrow(%0, -1, 0, dim(%0, 1) / 2 + 1 - 1) %2 = softmax(%1, -1) %3 = softmax(%1, 1)
       %4 = mul(%2, %3) %5 = rand([2], f32) %6 = rand([2], f32)
       guard dim(%0, 1) > 3 guard dim(%0, 0) > $0
       return %4, %5
     }",
    "graph f(x: f32[_, _]) { %1 = layer_norm(%0, 1, none, none, 0.00001) %2 = linear(%1, %0, none) return %2 }",
];

#[test]
fn case_82_passes_are_idempotent_each() {
    for program in PROGRAMS {
        for pass in PASSES {
            let mut m = module(program);
            (pass.run)(&mut m);
            let once = m.to_string();
            assert!(!(pass.run)(&mut m), "{} changes again\n{once}\n{m}", pass.name);
            assert_eq!(once, m.to_string());
        }
        let (standard, lowering) = (PassManager::standard(), PassManager::lowering());
        for manager in [standard, lowering] {
            let mut m = module(program);
            manager.run(&mut m).unwrap();
            assert!(!manager.run(&mut m).unwrap());
        }
    }
}

fn after(pass: &str, program: &str) -> Vec<String> {
    let mut m = module(program);
    let pass = match Pass::from_name(pass) {
        Some(pass) => PassManager::new().with(pass),
        None => PassManager::standard(),
    };
    pass.run(&mut m).unwrap();
    m.nodes().iter().map(Node::to_string).collect()
}

#[test]
fn case_82_identities_that_change_bits_or_results_are_kept() {
    // x + 0.0 turns -0.0 to 0.0, x * 0 keeps NaN and the sign
    let kept = after(
        "standard",
        "graph f(x: f32[2]) { %1 = add(%0, 0.0) %2 = mul(%1, 0) %3 = mul(%2, 0.0) return %3 }",
    );
    assert_eq!(kept[1..], ["add(%0, 0.0)", "mul(%1, 0)", "mul(%2, 0.0)"]);
    // a returned identity is a value of its own, not the input
    let returned = after(
        "standard",
        "graph f(x: f32[2]) { %1 = to_dtype(%0, f32) %2 = neg(%1) return %1, %2 }",
    );
    assert_eq!(returned[1..], ["to_dtype(%0, f32)", "neg(%1)"]);
    let inner = after(
        "standard",
        "graph f(x: f32[2]) { %1 = to_dtype(%0, f32) %2 = neg(%1) return %2 }",
    );
    assert_eq!(inner[1..], ["neg(%0)"]);
    let same = after(
        "cse",
        "graph f(x: f32[2]) { %1 = exp(%0) %2 = exp(%0) %3 = add(%1, %2) return %3 }",
    );
    assert_eq!(same[1..], ["exp(%0)", "add(%1, %1)"]);
    let dead = after(
        "dce",
        "graph f(x: i64[2]) { %1 = exp(%0) %2 = floor_div(%0, %0) %3 = floor_div(%0, 2) return %0 }",
    );
    assert_eq!(dead[1..], ["floor_div(%0, %0)"]);
}

/// A tensor of which only its type is known.
#[derive(Clone)]
struct Typed(TensorType);

impl Meta for Typed {
    fn dtype(&self) -> Option<tensorplay_graph::DType> {
        self.0.dtype
    }
    fn rank(&self) -> Option<usize> {
        self.0.rank()
    }
    fn dim(&self, axis: usize) -> Option<usize> {
        self.0.dim(axis)
    }
}

struct First;

impl Interpreter<Typed> for First {
    type Error = EvalError;

    fn call(
        &mut self,
        _: NodeId,
        _: &Node,
        _: Op,
        args: Vec<EvalArg<Typed>>,
    ) -> Result<Vec<Typed>, EvalError> {
        match args.into_iter().next() {
            Some(EvalArg::Value(v)) => Ok(vec![v]),
            _ => Ok(Vec::new()),
        }
    }
}

#[test]
fn case_82_a_division_by_zero_is_kept_and_fails_when_evaluated() {
    let text = "graph f(x: f32[_, 4], $0 n: usize) {
       %1 = narrow(%0, 0, 0, 8 / ($0 - $0)) : f32[_, 4]
       return %1
     }";
    let kept = after("standard", text);
    assert_eq!(kept[1], "narrow(%0, 0, 0, 8 / ($0 - $0))");
    let run = |n| {
        First.run(
            &module(text).graph,
            vec![Typed(TensorType::default())],
            &[Host::Int(n)],
        )
    };
    assert_eq!(run(3).err().unwrap().to_string(), "narrow: 8 / 0 divides by zero");
    // one that the types tell is an error of the rules, whatever passes run
    let sure = "graph f(x: f32[3, 4]) { %1 = narrow(%0, 0, 0, 8 / (dim(%0, 0) - 3)) return %1 }";
    let e = sure.parse::<GraphModule>().unwrap_err().to_string();
    assert!(e.contains("divides by zero"), "{e}");
}
