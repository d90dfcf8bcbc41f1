//! Random edits of random graphs: what an edit session accepts verifies, prints and parses.

use tensorplay_graph::{Arg, Builder, DType, GraphModule, NodeId, Op, TensorType, Value, text, verify};

struct Rng(u64);

impl Rng {
    fn next(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % n.max(1)
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.next(items.len())]
    }
}

fn random_call(rng: &mut Rng, values: &[Value]) -> (Op, Vec<Arg>) {
    let x = Arg::Value(rng.pick(values));
    match rng.next(7) {
        0 => (Op::Exp, vec![x]),
        1 => (Op::Add, vec![x, Arg::Value(rng.pick(values))]),
        2 => (Op::Mul, vec![x, Arg::float(0.5)]),
        3 => (Op::Sum, vec![x, Arg::int(-1)]),
        4 => (Op::Chunk, vec![x, Arg::int(2), Arg::int(0)]),
        5 => (Op::Matmul, vec![x, Arg::Value(rng.pick(values))]),
        _ => {
            let size =
                tensorplay_graph::Expr::Dim(rng.pick(values), Box::new(tensorplay_graph::Expr::int(0)));
            (Op::Narrow, vec![x, Arg::int(0), Arg::int(0), Arg::Host(size)])
        }
    }
}

fn random_graph(rng: &mut Rng) -> GraphModule {
    let mut b = Builder::new("f");
    let mut values = Vec::new();
    for i in 0..3 {
        let spec = [
            None,
            Some(TensorType::known(DType::F32, &[4, 4])),
            Some(TensorType::known(DType::F32, &[4])),
        ];
        values.push(b.input(format!("x{i}"), spec[rng.next(3)].clone()));
    }
    for _ in 0..rng.next(20) {
        let (op, args) = random_call(rng, &values);
        if op == Op::Chunk {
            values.extend(b.call_list(op, args, 1).unwrap_or_default());
        } else {
            values.extend(b.call(op, args));
        }
    }
    b.module.graph.outputs = (0..2).map(|_| rng.pick(&values)).collect();
    b.module.graph.guards.push(tensorplay_graph::Expr::binary(
        tensorplay_graph::HostBinary::Ge,
        tensorplay_graph::Expr::Rank(rng.pick(&values)),
        tensorplay_graph::Expr::int(0),
    ));
    b.module
}

fn check(m: &GraphModule, what: &str) {
    if let Err(e) = verify(m) {
        panic!("{what}: {e:?}\n{m}");
    }
    let printed = m.to_string();
    assert_eq!(text::parse(&printed).unwrap().to_string(), printed, "{what}");
}

#[test]
fn random_edits_leave_graphs_that_verify_and_round_trip() {
    let mut rng = Rng(20);
    let (mut done, mut refused) = (0, 0);
    for _ in 0..400 {
        let mut m = random_graph(&mut rng);
        check(&m, "before");
        let before = m.clone();
        let mut edit = m.edit().unwrap();
        for _ in 0..12 {
            let ids: Vec<NodeId> = edit.ids().collect();
            let at = rng.pick(&ids);
            let values: Vec<Value> = ids.iter().flat_map(|n| edit.results(*n).unwrap()).collect();
            let (op, args) = random_call(&mut rng, &values);
            let result = match rng.next(7) {
                0 => edit.insert_before(at, op, args).map(drop),
                1 => edit.insert_after(at, op, args).map(drop),
                2 => edit.append(op, args).map(drop),
                3 => edit.erase(at),
                4 => edit.set_args(at, args),
                5 => edit.rename(at, "h").map(drop),
                _ => edit
                    .replace_all_uses(rng.pick(&values), rng.pick(&values))
                    .map(drop),
            };
            match result {
                Ok(()) => done += 1,
                Err(e) => {
                    refused += 1;
                    assert!(!e.to_string().ends_with('.'));
                }
            }
        }
        edit.finish().unwrap_or_else(|e| panic!("{e}\nfrom\n{before}"));
        check(&m, "after");
        m.to_table();
        m.to_dot();
    }
    assert!(done > 1000 && refused > 500, "{done} {refused}");
}

#[test]
fn patterns_replaced_in_random_graphs_leave_graphs_that_verify() {
    let rules = [
        (
            "graph p(x) { %1 = exp(%0) return %1 }",
            "graph r(x) { return %0 }",
        ),
        (
            "graph p(x, y) { %2 = add(%0, %1) return %2 }",
            "graph r(x, y) { %2 = mul(%1, %0) return %2 }",
        ),
        (
            "graph p(x) { %1 = exp(%0) %2 = mul(%0, 0.5) return %1, %2 }",
            "graph r(x) { %1 = neg(%0) return %1, %1 }",
        ),
        (
            "graph p(x, y) { %2 = exp(%0) %3 = add(%2, %1) return %3, %2 }",
            "graph r(x, y) { %2 = exp(%0) %3 = add(%1, %2) return %3, %2 }",
        ),
        (
            "graph p(x, $0 s: f32) { %1 = mul(%0, $0) %2 = mul(%1, $0) return %2 }",
            "graph r(x, $0 s: f32) { %1 = mul(%0, $0 * $0) return %1 }",
        ),
        (
            "graph p(x, y) { %2 = narrow(%0, 0, 0, dim(%1, 0)) return %2 }",
            "graph r(x, y) { %2 = narrow(%0, 0, 0, dim(%1, 0)) %3 = abs(%2) return %3 }",
        ),
    ];
    let mut rng = Rng(9);
    let mut counts = [0; 6];
    for _ in 0..400 {
        let mut m = random_graph(&mut rng);
        let at = rng.next(rules.len());
        let (pattern, replacement) = rules[at];
        let before = m.clone();
        match m.replace_pattern(&pattern.parse().unwrap(), &replacement.parse().unwrap()) {
            Ok(n) => counts[at] += n,
            Err(e) => panic!("{e}\nin\n{before}"),
        }
        check(&m, pattern);
        assert_eq!(m.graph.outputs.len(), before.graph.outputs.len());
    }
    assert!(counts.iter().all(|n| *n > 0), "{counts:?}");
}

/// What lies between some values and the outputs, cut out and copied in again, is the same graph.
#[test]
fn extracted_graphs_copied_back_compute_the_same_calls() {
    let mut rng = Rng(5);
    for _ in 0..100 {
        let mut m = random_graph(&mut rng);
        let inputs: Vec<Value> = m.graph.inputs.iter().map(|i| (*i).into()).collect();
        let part = m.extract(&inputs, &m.graph.outputs).unwrap();
        check(&part, "extracted");
        let n = m.nodes().len();
        let mut edit = m.edit().unwrap();
        let copied = edit.copy_at_end(&part, &inputs).unwrap();
        edit.set_outputs(&copied.outputs).unwrap();
        edit.finish().unwrap();
        check(&m, "copied");
        assert_eq!(m.nodes().len(), n + part.nodes().len() - inputs.len());
    }
}

/// A large graph is edited in about the time that it takes to build it.
#[test]
fn edits_are_near_linear() {
    let mut b = Builder::new("f");
    let x = b.input("x", Some(TensorType::known(DType::F32, &[4])));
    let mut v = x;
    for _ in 0..20_000 {
        v = b.call(Op::Exp, vec![v.into()]).unwrap();
        v = b.call(Op::Neg, vec![v.into()]).unwrap();
        v = b.call(Op::Add, vec![v.into(), x.into()]).unwrap();
    }
    b.module.graph.outputs = vec![v];
    let mut m = b.module;
    let start = std::time::Instant::now();
    let pattern: GraphModule = "graph p(x) { %1 = exp(%0) %2 = neg(%1) return %2 }"
        .parse()
        .unwrap();
    let with: GraphModule = "graph r(x) { %1 = tanh(%0) return %1 }".parse().unwrap();
    assert_eq!(m.replace_pattern(&pattern, &with).unwrap(), 20_000);
    let mut edit = m.edit().unwrap();
    let mut at = NodeId(1);
    for _ in 0..20_000 {
        at = edit.insert_before(at, Op::Abs, vec![x.into()]).unwrap();
    }
    for _ in 0..20_000 {
        let next = edit.insert_before(NodeId(1), Op::Abs, vec![at.into()]);
        assert!(next.is_ok() || at == NodeId(1));
    }
    edit.finish().unwrap();
    assert_eq!(m.nodes().len(), 80_001);
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
}
