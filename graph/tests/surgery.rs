//! Graph surgery: conformance case 86, and what edits keep right.

use tensorplay_graph::surgery::User;
use tensorplay_graph::{
    Arg, DType, EditError, EvalArg, EvalError, Expr, GraphModule, Host, Interpreter, Location, Meta, Node,
    NodeId, Op, TensorType, Transformer, TypeInterpreter, Value, verify,
};

fn module(text: &str) -> GraphModule {
    text.parse().unwrap_or_else(|e| panic!("{e}"))
}

fn v(node: u32) -> Value {
    NodeId(node).into()
}

fn chain() -> GraphModule {
    module("graph f(x: f32[2, 3]) { %1 = exp(%0) \"h\" @3:5 %2 = neg(%1) %3 = sin(%2) return %3 }")
}

/// The body of the text form, a line each.
fn body(m: &GraphModule) -> Vec<String> {
    verify(m).unwrap_or_else(|e| panic!("{e:?}\n{m}"));
    let text = m.to_string();
    assert_eq!(module(&text).to_string(), text);
    let lines = text.lines().filter(|l| l.starts_with("  "));
    lines.map(|l| l.trim().to_string()).collect()
}

fn message<T: std::fmt::Debug>(r: Result<T, EditError>) -> String {
    r.unwrap_err().to_string()
}

#[test]
fn case_86_names_are_identifiers_and_unique_and_not_used_again() {
    let mut m = chain();
    let mut edit = m.edit().unwrap();
    assert_eq!(edit.rename(NodeId(2), "add").unwrap(), "add");
    assert_eq!(edit.rename(NodeId(3), "add").unwrap(), "add_0");
    let extra = edit.append(Op::Abs, vec![v(0).into()]).unwrap();
    assert_eq!(edit.rename(extra, "a b-c").unwrap(), "a_b_c");
    edit.erase(extra).unwrap();
    let again = edit.append(Op::Abs, vec![v(0).into()]).unwrap();
    assert_eq!(edit.rename(again, "a b-c").unwrap(), "a_b_c_0");
    assert_eq!(edit.rename(again, "1st").unwrap(), "_1st");
    assert_eq!(edit.rename(again, "_1st").unwrap(), "_1st");
    assert_eq!(edit.rename(NodeId(1), "").unwrap(), "");
    edit.finish().unwrap();
    assert_eq!(
        m.nodes().iter().map(|n| n.name.as_str()).collect::<Vec<_>>(),
        ["x", "", "add", "add_0", "_1st"]
    );
}

#[test]
fn case_86_outputs_are_replaced_not_added_to() {
    let mut m = chain();
    let mut edit = m.edit().unwrap();
    edit.set_outputs(&[v(1)]).unwrap();
    edit.set_outputs(&[v(2)]).unwrap();
    assert_eq!(edit.add_output(v(0)).unwrap(), 1);
    edit.replace_output(1, v(1)).unwrap();
    assert_eq!(
        message(edit.replace_output(2, v(1))),
        "there is no output 2, the graph has 2 outputs"
    );
    edit.erase(NodeId(3)).unwrap();
    edit.finish().unwrap();
    assert_eq!(body(&m).last().unwrap(), "return %2, %1");
}

#[test]
fn case_86_used_erased_and_foreign_nodes_are_refused() {
    let mut m = chain();
    let mut edit = m.edit().unwrap();
    assert_eq!(
        message(edit.erase(NodeId(2))),
        "%2 has a user: %3; replace its uses first"
    );
    assert_eq!(
        message(edit.erase(NodeId(3))),
        "%3 has a user: output 0; replace its uses first"
    );
    edit.set_outputs(&[v(2)]).unwrap();
    edit.erase(NodeId(3)).unwrap();
    assert_eq!(
        message(edit.erase(NodeId(3))),
        "%3 has already been erased; use what replaced it"
    );
    assert_eq!(
        message(edit.erase(NodeId(0))),
        "%0 is an input; only calls can be erased or changed"
    );
    let foreign = edit.insert_before(NodeId(40), Op::Abs, vec![v(0).into()]);
    assert_eq!(
        message(foreign),
        "%40 is not part of this graph; use the ids of its nodes and those that this edit gave"
    );
    assert!(message(edit.append(Op::Abs, vec![v(3).into()])).contains("already been erased"));
    drop(edit);
    assert_eq!(m, chain());
}

#[test]
fn case_86_topology_is_guarded() {
    let mut m = chain();
    let mut edit = m.edit().unwrap();
    let later = "%3 is not there yet at %2: it is later in the graph; insert it before that node";
    assert_eq!(message(edit.replace_all_uses(v(1), v(3))), later);
    assert_eq!(
        message(edit.insert_before(NodeId(2), Op::Abs, vec![v(3).into()])),
        later
    );
    assert_eq!(message(edit.set_args(NodeId(2), vec![v(3).into()])), later);
    let at_itself = edit.insert_before(NodeId(2), Op::Abs, vec![v(2).into()]);
    assert!(message(at_itself).contains("%2 is not there yet at %2"));
    // a function of a value may replace it
    let abs = edit.insert_after(NodeId(1), Op::Abs, vec![v(1).into()]).unwrap();
    assert_eq!(edit.replace_all_uses(v(1), abs.into()).unwrap(), 1);
    assert_eq!(edit.users(NodeId(1)).unwrap(), [User::Node(abs)]);
    edit.finish().unwrap();
    assert_eq!(
        body(&m),
        [
            "%1 = exp(%0) : f32[2, 3] \"h\" @3:5",
            "%2 = abs(%1) : f32[2, 3] @3:5",
            "%3 = neg(%2) : f32[2, 3]",
            "%4 = sin(%3) : f32[2, 3]",
            "return %4"
        ]
    );
}

#[test]
fn case_86_insertions_are_in_order() {
    let mut m = chain();
    let mut edit = m.edit().unwrap();
    let add = |edit: &mut tensorplay_graph::Edit<'_>, after: bool, op| {
        let args = vec![v(0).into()];
        match after {
            true => edit.insert_after(NodeId(1), op, args).unwrap(),
            false => edit.insert_before(NodeId(1), op, args).unwrap(),
        }
    };
    let cos = add(&mut edit, false, Op::Cos);
    add(&mut edit, false, Op::Tan);
    add(&mut edit, true, Op::Sqrt);
    add(&mut edit, true, Op::Abs);
    edit.append(Op::Log, vec![cos.into()]).unwrap();
    let ids = edit.finish().unwrap();
    assert_eq!(ids.node(cos), Some(NodeId(1)));
    assert_eq!(ids.value(v(3)), Some(v(7)));
    let ops: Vec<&str> = m.nodes().iter().map(Node::op_name).collect();
    assert_eq!(
        ops,
        ["input", "cos", "tan", "exp", "abs", "sqrt", "neg", "sin", "log"]
    );
}

#[test]
fn case_86_graphs_are_copied_with_a_value_map() {
    let mut m =
        module("graph f(x: f32[2, 3], $0 s: f32) { file \"a.rs\" @1:1 %1 = mul(%0, $0) \"h\" return %1 }");
    let source = module(
        "graph g(a: f32[R, 3], $0 n: usize, $1 s: f32) {
           file \"a.rs\" @9:1
           symbols R: 0..
           %1 = chunk(%0, 3, 1) \"h\" @10:2
           %2 = mul(%1.2, $1)
           %3 = reshape(%2, [$0])
           guard $0 > 1 && dim(%0, 0) > 0
           return %3, %0
         }",
    );
    let mut edit = m.edit().unwrap();
    let copied = edit.copy_at_end(&source, &[v(1)]).unwrap();
    assert_eq!(copied.outputs[1], v(1));
    let chunk = copied.value(v(1)).unwrap();
    assert_eq!(edit.node(chunk.node).unwrap().name, "h_0");
    assert_eq!(copied.value(v(9)), None);
    edit.add_output(copied.outputs[0]).unwrap();
    edit.finish().unwrap();
    assert_eq!(
        m.to_string(),
        "graph f(x: f32[2, 3], $0 s: f32, $1 n: usize) {
  file \"a.rs\" @1:1
  %1 = mul(%0, $0) : f32[2, 3] \"h\"
  %2 = chunk(%1, 3, 1) : f32[2, 1], f32[2, 1], f32[2, 1] \"h_0\" @10:2
  %3 = mul(%2.2, $0) : f32[2, 1]
  %4 = reshape(%3, [$1]) : f32[_]
  guard $1 > 1 && dim(%1, 0) > 0
  return %1, %4
}
"
    );
    // a failed copy leaves nothing
    let before = m.clone();
    let mut edit = m.edit().unwrap();
    let narrow = module("graph g(a: f32[2, 4], $0 z: i64) { %1 = exp(%0) return %1 }");
    assert_eq!(
        message(edit.copy_at_end(&narrow, &[v(0)])),
        "input 0 is f32[2, 4] by its spec, got f32[2, 3]; give a value of that type"
    );
    let broken = module("graph g(a, $0 z: i64) { %1 = exp(%0) %2 = matmul(%1, %1) return %2 }");
    assert!(message(edit.copy_at_end(&broken, &[v(0)])).contains("inner dimensions differ"));
    assert_eq!(
        message(edit.copy_at_end(&broken, &[])),
        "the graph takes 1 tensor, got 0; give one value an input, in order"
    );
    edit.finish().unwrap();
    assert_eq!(m.to_string(), before.to_string());
}

#[test]
fn regions_are_copied_with_their_calls() {
    let source = module(
        "graph g(p: bool[], x: f32[N], $0 s: f32) {
           symbols N: 0..
           %2 = cond(%0, [%1], 0, 1) : f32[N]
           return %2
           region 0 graph yes(x: f32[N], $0 s: f32) { symbols N: 0.. %1 = mul(%0, $0) : f32[N] return %1 }
           region 1 graph no(x: f32[N], $0 s: f32) { symbols N: 0.. %1 = neg(%0) : f32[N] return %1 }
         }",
    );
    let mut m = module("graph f(x: f32[4], p: bool[], $0 k: i64) { %2 = exp(%0) return %2 }");
    let mut edit = m.edit().unwrap();
    let once = edit.copy_at_end(&source, &[v(1), v(2)]).unwrap();
    let twice = edit.copy_at_end(&source, &[v(1), once.outputs[0]]).unwrap();
    edit.set_outputs(&twice.outputs).unwrap();
    edit.finish().unwrap();
    let body = body(&m);
    assert!(
        body.contains(&"%3 = cond(%1, [%2], 0, 1) : f32[4]".to_string()),
        "{m}"
    );
    assert!(
        body.contains(&"%4 = cond(%1, [%3], 2, 3) : f32[4]".to_string()),
        "{m}"
    );
    assert_eq!(m.regions.len(), 4);
    assert!(m.regions[2].to_string().contains("mul(%0, $1)"), "{m}");
}

#[test]
fn types_behind_a_change_are_inferred_again_or_it_is_refused() {
    let mut m = module(
        "graph f(x: f32[2, 3], y: f32[3, 2], w: f32[3, 5]) -> f32[2, 5] {
           %3 = exp(%0)
           %4 = matmul(%3, %2)
           %5 = reshape(%4, [dim(%3, 0), -1])
           return %5
         }",
    );
    let mut edit = m.edit().unwrap();
    let before = edit.ty(v(4)).unwrap().clone();
    let refused = message(edit.replace_all_uses(v(0), v(1)));
    assert!(refused.starts_with("%4: error[TP0012]: matmul"), "{refused}");
    assert_eq!(*edit.ty(v(4)).unwrap(), before);
    assert_eq!(edit.node(NodeId(3)).unwrap().to_string(), "exp(%0)");
    let t = edit.insert_before(NodeId(3), Op::T, vec![v(1).into()]).unwrap();
    let tt = edit.insert_after(t, Op::Cat, vec![Arg::List(vec![t.into(), t.into()]), Arg::int(0)]);
    edit.replace_all_uses(v(0), tt.unwrap().into()).unwrap();
    assert_eq!(edit.ty(v(5)).unwrap().sizes().unwrap(), [4, 5]);
    assert_eq!(
        message(edit.finish()),
        "output 0 is f32[2, 5] by its spec, got f32[4, 5]; give a value of that type"
    );
    assert_eq!(m.nodes().len(), 6);
}

#[test]
fn guards_writes_and_updates_follow() {
    let mut m = module(
        "graph f(x: f32[2], w: f32[2], c: f32[2]) -> f32[2] {
           %3 = add(%0, %1)
           %4 = mul(%3, 0.5)
           guard dim(%3, 0) > 1
           return %3, %4 into %1, %3 into *%2
         }",
    );
    let mut edit = m.edit().unwrap();
    let relu = edit.insert_after(NodeId(3), Op::Relu, vec![v(3).into()]).unwrap();
    assert_eq!(edit.replace_all_uses(v(3), relu.into()).unwrap(), 4);
    assert_eq!(edit.add_output(v(0)).unwrap(), 1);
    let other = edit
        .add_input("bias", Some(TensorType::known(DType::F32, &[2, 2])))
        .unwrap();
    assert_eq!(
        message(edit.replace_output(2, other)),
        "output 2 is f32[2] by its spec, got f32[2, 2]; give a value of that type"
    );
    let undeclared = TensorType {
        dtype: None,
        shape: Some(vec![tensorplay_graph::Dim::Symbol(0)]),
    };
    assert_eq!(
        message(edit.add_input("n", Some(undeclared))),
        "symbol 0 is not declared"
    );
    edit.finish().unwrap();
    assert_eq!(
        body(&m),
        [
            "%0 = input 3 : f32[2, 2]",
            "%1 = input 0 : f32[2]",
            "%2 = input 1 : f32[2]",
            "%3 = input 2 : f32[2]",
            "%4 = add(%1, %2) : f32[2]",
            "%5 = relu(%4) : f32[2]",
            "%6 = mul(%5, 0.5) : f32[2]",
            "guard dim(%5, 0) > 1",
            "return %5, %1, %6 into %2, %5 into *%3"
        ]
    );
    assert_eq!(m.output_specs.len(), 2);
}

#[test]
fn places_are_kept_and_set() {
    let mut m = chain();
    let mut edit = m.edit().unwrap();
    let new = edit.insert_before(NodeId(1), Op::Abs, vec![v(0).into()]).unwrap();
    let place = Location {
        line: 9,
        column: 2,
        text: "x.neg()".into(),
        ..Location::default()
    };
    edit.set_location(NodeId(2), place.clone()).unwrap();
    let ids = edit.finish().unwrap();
    assert_eq!(m.location(ids.node(new).unwrap()).line, 3);
    assert_eq!(m.location(ids.node(NodeId(2)).unwrap()), place);
}

#[test]
fn sub_graphs_are_cut_out() {
    let m = module(
        "graph f(x: f32[N, 4], w: f32[4, 4], $0 s: f32) {
           symbols N: 2..
           %2 = matmul(%0, %1) \"h\" @4:2
           %3 = chunk(%2, 2, 1)
           %4 = mul(%3.1, $0)
           %5 = add(%3, %4)
           guard dim(%0, 0) > 2
           guard dim(%2, 0) > 3
           return %5
         }",
    );
    let part = m.extract(&[v(2)], &[v(5), v(2)]).unwrap();
    assert_eq!(
        part.to_string(),
        "graph f(h: f32[N, 4], $0 s: f32) {
  symbols N: 2..
  %1 = chunk(%0, 2, 1) : f32[N, 2], f32[N, 2]
  %2 = mul(%1.1, $0) : f32[N, 2]
  %3 = add(%1, %2) : f32[N, 2]
  guard dim(%0, 0) > 3
  return %3, %0
}
"
    );
    let one_of_two = Value { index: 1, ..v(3) };
    let part = m.extract(&[one_of_two, v(2)], &[v(5)]).unwrap();
    assert_eq!(part.nodes()[3].to_string(), "mul(%0, $0)");
    assert_eq!(
        message(m.extract(&[v(0)], &[v(5)])),
        "the wanted values depend on input %1 `w`; give it, or values between it and them"
    );
    assert!(message(m.extract(&[v(12)], &[v(5)])).contains("not part of this graph"));
    let same = m.extract(&[v(0), v(1)], &[v(5)]).unwrap();
    assert_eq!(same.to_string(), m.to_string());
}

#[test]
fn case_86_patterns_are_replaced() {
    let mut m = module(
        "graph f(x: f32[2, 3], y: f32[2, 3]) {
           %2 = sigmoid(%0) @1:9
           %3 = mul(%0, %2) \"a\" @2:9
           %4 = sigmoid(%3)
           %5 = mul(%3, %4) \"b\"
           %6 = sigmoid(%1)
           %7 = mul(%0, %6)
           %8 = sigmoid(%7)
           %9 = mul(%7, %8)
           return %5, %7, %9, %8
         }",
    );
    let pattern = module("graph p(x) { %1 = sigmoid(%0) %2 = mul(%0, %1) return %2 }");
    let silu = module("graph r(x) { %1 = silu(%0) return %1 }");
    assert_eq!(m.replace_pattern(&pattern, &silu).unwrap(), 2);
    assert_eq!(
        body(&m),
        [
            "%2 = silu(%0) : f32[2, 3] \"a\" @2:9",
            "%3 = silu(%2) : f32[2, 3] \"b\"",
            "%4 = sigmoid(%1) : f32[2, 3]", // another operand
            "%5 = mul(%0, %4) : f32[2, 3]",
            "%6 = sigmoid(%5) : f32[2, 3]", // used outside
            "%7 = mul(%5, %6) : f32[2, 3]",
            "return %3, %5, %7, %6"
        ]
    );
    assert_eq!(m.replace_pattern(&pattern, &silu).unwrap(), 0);
}

#[test]
fn patterns_compare_host_arguments_bit_for_bit_and_bind_scalars() {
    let mut m = module(
        "graph f(x: f32[2], $0 k: f32) {
           %1 = mul(%0, 0.0) %2 = mul(%1, -0.0) %3 = mul(%2, 3.0) %4 = mul(%3, $0) %5 = mul(%4, 2)
           return %5
         }",
    );
    let zero = module("graph p(x) { %1 = mul(%0, 0.0) return %1 }");
    let abs = module("graph r(x) { %1 = abs(%0) return %1 }");
    assert_eq!(m.replace_pattern(&zero, &abs).unwrap(), 1);
    let scaled = module("graph p(x, $0 s: f32) { %1 = mul(%0, $0) return %1 }");
    let twice = module("graph r(x, $0 s: f32) { %1 = div(%0, $0 / 2.0) return %1 }");
    assert_eq!(m.replace_pattern(&scaled, &twice).unwrap(), 3);
    assert_eq!(
        body(&m),
        [
            "%1 = abs(%0) : f32[2]",
            "%2 = div(%1, f32(-0.0) / 2.0) : f32[2]",
            "%3 = div(%2, f32(3.0) / 2.0) : f32[2]",
            "%4 = div(%3, $0 / 2.0) : f32[2]",
            "%5 = mul(%4, 2) : f32[2]",
            "return %5"
        ]
    );
}

#[test]
fn patterns_have_several_outputs_and_specs() {
    let mut m = module(
        "graph f(x: f32[2, 3], y: f64[2, 3]) {
           %2 = sin(%0) %3 = neg(%2) %4 = cos(%0) %5 = add(%4, %3) %6 = sin(%1) %7 = cos(%1)
           return %5, %6, %7
         }",
    );
    let pattern = module("graph p(x: f32[..]) { %1 = sin(%0) %2 = cos(%0) return %1, %2 }");
    let pair = module("graph r(x) { %1 = exp(%0) %2 = abs(%1) return %1, %2 }");
    // `neg` stands between the two, so both go in front of it
    assert_eq!(m.replace_pattern(&pattern, &pair).unwrap(), 1);
    assert_eq!(
        body(&m),
        [
            "%2 = exp(%0) : f32[2, 3]",
            "%3 = abs(%2) : f32[2, 3]",
            "%4 = neg(%2) : f32[2, 3]",
            "%5 = add(%3, %4) : f32[2, 3]",
            "%6 = sin(%1) : f64[2, 3]",
            "%7 = cos(%1) : f64[2, 3]",
            "return %5, %6, %7"
        ]
    );
    // a square by its symbols
    let mut m = module("graph f(x: f32[2, 3], y: f32[3, 3]) { %2 = t(%0) %3 = t(%1) return %2, %3 }");
    let pattern = module("graph p(x: f32[N, N]) { symbols N: 0.. %1 = t(%0) return %1 }");
    let same = module("graph r(x) { return %0 }");
    assert_eq!(m.replace_pattern(&pattern, &same).unwrap(), 1);
    assert_eq!(body(&m), ["%2 = t(%0) : f32[3, 2]", "return %2, %1"]);
}

#[test]
fn matches_in_a_row_do_not_overlap() {
    let mut m = module(
        "graph f(x: f32[2]) { %1 = relu(%0) %2 = relu(%1) %3 = relu(%2) %4 = relu(%3) %5 = relu(%4) return %5 }",
    );
    let twice = module("graph p(x) { %1 = relu(%0) %2 = relu(%1) return %2 }");
    let once = module("graph r(x) { %1 = relu(%0) return %1 }");
    assert_eq!(m.replace_pattern(&twice, &once).unwrap(), 2);
    assert_eq!(m.replace_pattern(&twice, &once).unwrap(), 1);
    assert_eq!(m.replace_pattern(&twice, &once).unwrap(), 1);
    assert_eq!(m.replace_pattern(&twice, &once).unwrap(), 0);
    assert_eq!(m.nodes().len(), 2);
}

#[test]
fn patterns_that_cannot_be_looked_for_are_errors() {
    let mut m = chain();
    let ok = module("graph r(x) { %1 = exp(%0) return %1 }");
    let mut refused = |p: &str, r: &GraphModule, what: &str| {
        let text = message(m.replace_pattern(&module(p), r));
        assert!(text.contains(what), "{text}");
    };
    refused("graph p(x) { return %0 }", &ok, "result of a call");
    refused("graph p(x, y) { %2 = exp(%0) return %2 }", &ok, "hang together");
    refused(
        "graph p(x) { %1 = exp(%0) %2 = neg(%0) return %1 }",
        &ok,
        "is used",
    );
    refused("graph p(x, $0 s: f32) { %1 = exp(%0) return %1 }", &ok, "is used");
    refused(
        "graph p(x) { %1 = exp(%0) guard rank(%0) > 1 return %1 }",
        &ok,
        "without guards",
    );
    refused(
        "graph p(x, y) { %2 = add(%0, %1) return %2 }",
        &ok,
        "inputs and scalars",
    );
    refused(
        "graph p(x) { %1 = exp(%0) return %1, %1 }",
        &ok,
        "as many outputs",
    );
    // a replacement that breaks a rule here changes nothing
    let matmul = module("graph r(x) { %1 = matmul(%0, %0) return %1 }");
    refused(
        "graph p(x) { %1 = sin(%0) return %1 }",
        &matmul,
        "inner dimensions differ",
    );
    assert_eq!(m, chain());
}

/// Numbers in the place of tensors.
#[derive(Clone, PartialEq, Debug)]
struct Number(f64);

impl Meta for Number {
    fn dtype(&self) -> Option<DType> {
        Some(DType::F64)
    }
    fn rank(&self) -> Option<usize> {
        Some(0)
    }
    fn dim(&self, _: usize) -> Option<usize> {
        None
    }
}

/// Evaluates some operations, with `swap` in the place of one.
struct Swapping(Option<Swap>);

type Swap = (Op, fn(f64) -> f64);

impl Interpreter<Number> for Swapping {
    type Error = EvalError;

    fn call(
        &mut self,
        _: NodeId,
        _: &Node,
        op: Op,
        args: Vec<EvalArg<Number>>,
    ) -> Result<Vec<Number>, EvalError> {
        let number = |i: usize| match &args[i] {
            EvalArg::Value(v) => v.0,
            EvalArg::Host(h) => h.as_float().unwrap(),
            other => panic!("{other:?}"),
        };
        let result = match (op, self.0) {
            (op, Some((swapped, f))) if op == swapped => f(number(0)),
            (Op::Exp, _) => number(0).exp(),
            (Op::Neg, _) => -number(0),
            (Op::Sin, _) => number(0).sin(),
            (Op::Add, _) => number(0) + number(1),
            (Op::Mul, _) => number(0) * number(1),
            (Op::Tanh, _) => number(0).tanh(),
            other => panic!("{other:?}"),
        };
        Ok(vec![Number(result)])
    }
}

/// An interpreter swaps an operation while it runs; a transformer does so in the graph; both agree.
#[test]
fn case_86_interpreters_swap_operations() {
    struct Tanh;
    impl Transformer for Tanh {
        fn call(
            &mut self,
            b: &mut tensorplay_graph::Builder,
            node: &Node,
            op: Op,
            args: Vec<Arg>,
        ) -> Result<Vec<Value>, tensorplay_graph::OpError> {
            let op = if op == Op::Neg { Op::Tanh } else { op };
            tensorplay_graph::copy_call(b, node, op, args)
        }
    }
    let m =
        module("graph f(x: f64[], $0 s: f64) { %1 = neg(%0) %2 = mul(%1, $0) %3 = sin(%2) return %3, %1 }");
    let run = |m: &GraphModule, swap| {
        let inputs = vec![Number(0.7)];
        Swapping(swap).run(&m.graph, inputs, &[Host::Float(3.0)]).unwrap()
    };
    let plain = run(&m, None);
    assert_eq!(plain, [Number((-0.7f64 * 3.0).sin()), Number(-0.7)]);
    let swapped = run(&m, Some((Op::Neg, f64::tanh)));
    assert_eq!(swapped[1], Number(0.7f64.tanh()));
    let transformed = Tanh.transform(&m).unwrap();
    assert_eq!(run(&transformed, None), swapped);
    // and so does a replaced pattern, and a swap of types alone
    let mut replaced = m.clone();
    let neg = module("graph p(x) { %1 = neg(%0) return %1 }");
    let tanh = module("graph r(x) { %1 = tanh(%0) return %1 }");
    assert_eq!(replaced.replace_pattern(&neg, &tanh).unwrap(), 1);
    assert_eq!(replaced.to_string(), transformed.to_string());
    let types = TypeInterpreter::default().run(&m.graph, vec![TensorType::known(DType::F32, &[2])], &[]);
    assert_eq!(types.unwrap()[0], TensorType::known(DType::F32, &[2]));
}

#[test]
fn arguments_of_a_call_are_replaced() {
    let mut m = chain();
    let mut edit = m.edit().unwrap();
    let add = edit.append(Op::Add, vec![v(1).into(), v(2).into()]).unwrap();
    edit.set_args(add, vec![v(3).into(), Arg::Host(Expr::float(2.0))])
        .unwrap();
    assert!(message(edit.set_args(add, vec![v(3).into()])).contains("takes 2 arguments, got 1"));
    assert!(message(edit.set_args(add, vec![Arg::None, Arg::None])).contains("`a` of add is a tensor"));
    assert!(message(edit.set_args(NodeId(0), vec![])).contains("is an input"));
    assert!(message(edit.append(Op::Softmax, vec![v(0).into(), Arg::int(4)])).contains("out of range"));
    edit.set_outputs(&[add.into()]).unwrap();
    edit.finish().unwrap();
    assert_eq!(body(&m)[3], "%4 = add(%3, 2.0) : f32[2, 3]");
}

#[test]
fn a_line_of_no_file_is_none_of_another() {
    let source = module("graph g(a: f32[3]) { %1 = exp(%0) @5:2 return %1 }");
    let mut m = module("graph f(x: f32[3]) { file \"a.rs\" @1:1 %1 = neg(%0) @2:3 return %1 }");
    let mut edit = m.edit().unwrap();
    let copied = edit.copy_at_end(&source, &[v(1)]).unwrap();
    edit.add_output(copied.outputs[0]).unwrap();
    edit.finish().unwrap();
    let places: Vec<_> = m.nodes().iter().map(|n| m.place(n.location)).collect();
    assert_eq!(places[1].as_deref(), Some("a.rs:2"));
    assert_eq!(places[2].as_deref(), Some("line 5"));
    assert_eq!(m.describe(&m.nodes()[2]), "`exp`");

    let there = module("graph g(a: f32[3]) { file \"b.rs\" @1:1 %1 = exp(%0) @5:2 return %1 }");
    let mut edit = m.edit().unwrap();
    let copied = edit.copy_at_end(&there, &[v(1)]).unwrap();
    edit.add_output(copied.outputs[0]).unwrap();
    edit.finish().unwrap();
    let last = m.nodes().last().unwrap();
    assert_eq!(m.place(last.location).as_deref(), Some("b.rs:5"));
    assert_eq!(m.describe(last), "`exp` at b.rs:5");
}
