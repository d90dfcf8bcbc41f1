//! Interpreters and transformers over small graphs.

use std::cell::RefCell;
use std::rc::Rc;
use tensorplay_graph::op::options::Form;
use tensorplay_graph::op::row::{Lowering, ParamKind};
use tensorplay_graph::passes::{PassManager, decompose};
use tensorplay_graph::{
    Arg, Builder, DType, EvalArg, EvalError, Expr, GraphModule, Host, Interpreter, Meta, Node, NodeId, Op,
    OpError, TensorType, Transformer, TypeError, TypeInterpreter, Value, copy_call,
};

fn module(text: &str) -> GraphModule {
    text.parse().unwrap_or_else(|e| panic!("{e}"))
}

/// A value that says when it is dropped.
#[derive(Clone)]
struct Traced {
    name: String,
    size: usize,
    drops: Rc<Tracker>,
}

#[derive(Default)]
struct Tracker(RefCell<Vec<String>>);

impl Drop for Traced {
    fn drop(&mut self) {
        self.drops.0.borrow_mut().push(format!("drop {}", self.name));
    }
}

impl Meta for Traced {
    fn dtype(&self) -> Option<DType> {
        Some(DType::F32)
    }
    fn rank(&self) -> Option<usize> {
        Some(1)
    }
    fn dim(&self, _: usize) -> Option<usize> {
        Some(self.size)
    }
}

struct Tracer(Rc<Tracker>);

impl Interpreter<Traced> for Tracer {
    type Error = EvalError;

    fn call(
        &mut self,
        id: NodeId,
        _: &Node,
        op: Op,
        args: Vec<EvalArg<Traced>>,
    ) -> Result<Vec<Traced>, EvalError> {
        let shown: Vec<String> = args
            .iter()
            .map(|a| match a {
                EvalArg::Value(v) => v.name.clone(),
                EvalArg::Host(h) => format!("{h:?}"),
                _ => "?".to_string(),
            })
            .collect();
        self.0.0.borrow_mut().push(format!("{op}({})", shown.join(", ")));
        Ok(vec![Traced {
            name: format!("%{}", id.0),
            size: 2,
            drops: self.0.clone(),
        }])
    }
}

#[test]
fn values_are_moved_into_their_last_use_and_dropped_there() {
    let m = module(
        "graph f(x: f32[_], unused: f32[_], $0 s: f32) {
           %2 = exp(%0)
           %3 = neg(%2)
           %4 = narrow(%3, 0, 0, dim(%2, 0) - dim(%0, 0))
           %5 = mul(%4, $0)
           %6 = add(%5, %5)
           return %6
         }",
    );
    let log = Rc::new(Tracker::default());
    let input = |name: &str| Traced {
        name: name.into(),
        size: 1,
        drops: log.clone(),
    };
    let inputs = vec![input("x"), input("unused")];
    let out = Tracer(log.clone())
        .run(&m.graph, inputs, &[Host::Float(0.5)])
        .unwrap();
    assert_eq!(out[0].name, "%6");
    let want = [
        "drop unused",
        "exp(x)",
        "drop x",
        "neg(%2)",
        "drop %2",
        "narrow(%3, Int(0), Int(0), Int(1))", // sizes outlive their tensors
        "drop %3",
        "mul(%4, Float(0.5))",
        "drop %4",
        "add(%5, %5)",
        "drop %5",
        "drop %5",
    ];
    assert_eq!(*log.0.borrow(), want);
}

#[test]
fn walks_report_their_own_errors() {
    let m = module("graph f(x: f32[_], $0 n: usize) { %1 = narrow(%0, 0, 0, $0 - 3) return %1 }");
    let log = Rc::new(Tracker::default());
    let input = || Traced {
        name: "x".into(),
        size: 1,
        drops: log.clone(),
    };
    let message = |r: Result<Vec<Traced>, EvalError>| r.err().map(|e| e.to_string());
    let mut tracer = Tracer(log.clone());
    assert_eq!(
        message(tracer.run(&m.graph, vec![], &[])).as_deref(),
        Some("the graph takes 1 tensor, got 0")
    );
    assert_eq!(
        message(tracer.run(&m.graph, vec![input()], &[])).as_deref(),
        Some("narrow: an argument is not known")
    );
    assert_eq!(
        message(tracer.run(&m.graph, vec![input()], &[Host::Int(2)])).as_deref(),
        Some("narrow: 2 - 3 overflows usize")
    );
}

#[test]
fn types_are_evaluated_with_and_without_scalars() {
    let m = module(
        "graph f(x: f32[_, 4], $0 n: usize) {
           %1 = narrow(%0, 0, 0, $0) : f32[_, 4]
           %2 = chunk(%1, 2, 0) : f32[_, 4], f32[_, 4]
           %3 = matmul(%2.1, %2.0) : f32[..]
           return %3
         }"
        .replace("matmul(%2.1, %2.0)", "add(%2.1, %2.0)")
        .as_str(),
    );
    let run = |scalars: &[Host]| {
        TypeInterpreter::default().run(&m.graph, vec![TensorType::known(DType::F16, &[9, 4])], scalars)
    };
    let shown = |r: Result<Vec<TensorType>, TypeError>| r.unwrap()[0].display(&[]).to_string();
    assert_eq!(shown(run(&[Host::Int(6)])), "f16[3, 4]");
    assert_eq!(shown(run(&[])), "f16[_, 4]");
    let broken = run(&[Host::Int(12)]).unwrap_err().to_string();
    assert!(
        broken.contains("start 0 with len 12 is outside dim 0 of [9, 4]"),
        "{broken}"
    );
}

/// Casts every input to f16 on use.
struct Half;

impl Transformer for Half {
    fn call(
        &mut self,
        b: &mut Builder,
        node: &Node,
        op: Op,
        mut args: Vec<Arg>,
    ) -> Result<Vec<Value>, OpError> {
        for arg in &mut args {
            if let Arg::Value(v) = arg
                && b.ty(*v).dtype == Some(DType::F32)
            {
                *v = b.call(Op::ToDtype, vec![(*v).into(), Arg::dtype(DType::F16)])?;
            }
        }
        copy_call(b, node, op, args)
    }
}

#[test]
fn transformers_infer_types_again_and_keep_names() {
    let m = module(
        "graph f(x: f32[2, 3], w: f32[3, 4]) {
           %2 = matmul(%0, %1) : f32[2, 4] \"h\" @2:3
           %3 = chunk(%2, 2, 1)
           %4 = add(%3.1, %0)
           return %4, %2
         }"
        .replace("add(%3.1, %0)", "add(%3.1, 1.0)")
        .as_str(),
    );
    let mut half = Half.transform(&m).unwrap();
    PassManager::standard().run(&mut half).unwrap();
    assert_eq!(
        half.to_string(),
        "graph f(x: f32[2, 3], w: f32[3, 4]) {
  %2 = to_dtype(%0, f16) : f16[2, 3] @2:3
  %3 = to_dtype(%1, f16) : f16[3, 4] @2:3
  %4 = matmul(%2, %3) : f16[2, 4] \"h\" @2:3
  %5 = chunk(%4, 2, 1) : f16[2, 2], f16[2, 2]
  %6 = add(%5.1, 1.0) : f16[2, 2]
  return %6, %4
}
"
    );
    let mixed = module(
        "graph f(x: f32[2, 3], w: f64[3, 4]) {
           %2 = to_dtype(%1, f32)
           %3 = matmul(%0, %2)
           return %3
         }",
    );
    let error = mixed_error(&mixed);
    assert!(error.contains("matmul") && error.starts_with("%3: "), "{error}");
}

/// Drops casts, which breaks what needed them.
fn mixed_error(m: &GraphModule) -> String {
    struct NoCasts;
    impl Transformer for NoCasts {
        fn call(
            &mut self,
            b: &mut Builder,
            node: &Node,
            op: Op,
            args: Vec<Arg>,
        ) -> Result<Vec<Value>, OpError> {
            match (op, &args[0]) {
                (Op::ToDtype, Arg::Value(v)) => Ok(vec![*v]),
                _ => copy_call(b, node, op, args),
            }
        }
    }
    NoCasts.transform(m).unwrap_err().to_string()
}

#[test]
fn from_str_verifies_and_points_at_the_node() {
    let e = "graph f(x: f32[2]) {\n  %1 = neg(%0) : f32[3]\n  return %1\n}"
        .parse::<GraphModule>()
        .unwrap_err();
    assert_eq!(
        e.to_string(),
        "2:3: %1: result 0 is recorded as f32[3], but is f32[2]"
    );
}

#[test]
fn builders_check_the_form_of_calls() {
    let mut b = Builder::new("f");
    let x = b.input("x", Some(TensorType::known(DType::F32, &[2, 3])));
    let message = |r: Result<Value, OpError>| r.unwrap_err().to_string();
    assert_eq!(
        message(b.call(Op::Softmax, vec![x.into()])),
        "error[TP0031]: softmax: takes 2 arguments, got 1\n  help: write softmax(x, dim)"
    );
    assert_eq!(
        message(b.call(Op::Softmax, vec![x.into(), Arg::float(1.0)])),
        "error[TP0031]: softmax: `dim` is a dim, got 1.0"
    );
    assert_eq!(
        message(b.call(Op::Matmul, vec![x.into(), Arg::None])),
        "error[TP0031]: matmul: `b` is a tensor, got none"
    );
    assert_eq!(b.module.graph.nodes.len(), 1);
}

/// Composites with arguments of all sorts: what fails inside an expansion is an error of the composite.
#[test]
fn errors_inside_an_expansion_name_the_composite() {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut next = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % n
    };
    let mut inside = Vec::new();
    for &op in Op::ALL {
        let Lowering::Composite(rule) = op.row().lowering else {
            continue;
        };
        let mut failed = 0;
        for _ in 0..400 {
            let mut b = Builder::new("f");
            let mut tensor = |b: &mut Builder| {
                let dtype = [DType::F32, DType::F32, DType::I64, DType::Bool][next(4)];
                let spec = match next(3) {
                    0 => None,
                    _ => {
                        let rank = next(4);
                        let shape: Vec<usize> = (0..rank).map(|_| [1, 2, 3][next(3)]).collect();
                        Some(TensorType::known(dtype, &shape))
                    }
                };
                b.input("x", spec)
            };
            let inputs: Vec<Value> = (0..5).map(|_| tensor(&mut b)).collect();
            let ints = [-2, -1, 0, 0, 1, 1, 2, 3, 100, i64::MIN, i64::MAX];
            let floats = [0.0, 0.5, 1.0, 2.0, 3.0, f64::INFINITY, f64::NAN];
            let mut any = |i: usize, kind: ParamKind| match kind {
                ParamKind::OptTensor if next(2) == 0 => Arg::None,
                ParamKind::Tensor | ParamKind::Index | ParamKind::OptTensor => Arg::Value(inputs[i]),
                ParamKind::Flag => Arg::Host(Expr::Literal(Host::Bool(next(2) == 0))),
                ParamKind::Options(o) => match o.form {
                    Form::Struct(_) => {
                        let mut list = o.initial(&[Expr::int(2)]);
                        for a in list.iter_mut().filter(|a| matches!(a, Arg::Host(_))) {
                            if next(2) == 0 {
                                *a = Arg::int(ints[next(11)]);
                            }
                        }
                        Arg::List(list)
                    }
                    Form::Enum(_) => Arg::List(vec![Arg::int(next(3) as i64), Arg::float(0.5)]),
                },
                ParamKind::Operand if next(2) == 0 => Arg::Value(inputs[i]),
                ParamKind::Tensors | ParamKind::Arguments => {
                    Arg::List(inputs.iter().map(|v| Arg::Value(*v)).collect())
                }
                ParamKind::Dims | ParamKind::Ints | ParamKind::Shape => {
                    let n = next(3);
                    Arg::ints((0..n).map(|_| ints[next(11)]))
                }
                ParamKind::Int | ParamKind::Region | ParamKind::Over | ParamKind::Dim => {
                    Arg::int(ints[next(11)])
                }
                ParamKind::DType => Arg::dtype(DType::F32),
                ParamKind::Float | ParamKind::Operand | ParamKind::Scalar => Arg::float(floats[next(7)]),
            };
            let args: Vec<Arg> = op
                .row()
                .params
                .iter()
                .enumerate()
                .map(|(i, p)| any(i, p.kind))
                .collect();
            let mut expanded = b.clone();
            expanded.expand = true;
            let result = expanded.call(op, args.clone());
            if let Err(e) = &result {
                assert_eq!(e.op, op.name(), "{e}");
            }
            if let Ok(v) = b.call(op, args.clone()) {
                b.module.graph.outputs.push(v);
                let raw = rule(&mut b.clone(), op, &args);
                if let Err(e) = decompose::try_run(&mut b.module) {
                    assert_eq!(e.error.op, op.name(), "{e}");
                    failed += usize::from(raw.is_err_and(|e| e.op != op.name()));
                }
            }
        }
        if failed > 0 {
            inside.push(op.name());
        }
    }
    for name in ["addcmul", "var"] {
        assert!(inside.contains(&name), "none of {name} fails inside: {inside:?}");
    }
}
