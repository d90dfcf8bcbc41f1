//! All small graphs over a tensor of unknown shape and one of known shape: every unit that is to be a kernel is one.

use tensorplay_graph::{Arg, Builder, DType, Dim, Op, Symbol, TensorType, Value};
use tensorplay_stax::lower::lower;
use tensorplay_stax::schedule::schedule;
use tensorplay_stax::typing::Typing;

/// One call: the operation, and which earlier values it reads.
#[derive(Clone, Copy, Debug)]
enum Step {
    Point(usize),
    Pair(usize, usize),
    SumAll(usize),
    Sum(usize),
    SumKeepdim(usize),
}

/// All calls over that many values.
fn steps(values: usize) -> Vec<Step> {
    let one = |v| [Step::Point(v), Step::SumAll(v), Step::Sum(v), Step::SumKeepdim(v)];
    let pairs = (0..values).flat_map(|a| (a..values).map(move |b| Step::Pair(a, b)));
    (0..values).flat_map(one).chain(pairs).collect()
}

/// Whether the units of a graph are kernels; `None` if the shape rules refuse it.
fn check(inputs: &[Option<Vec<Dim>>], steps: &[Step]) -> Option<Result<(), String>> {
    let mut b = Builder::new("f");
    b.module.symbols.push(Symbol {
        name: "N".into(),
        lo: 0,
        hi: None,
    });
    let mut values: Vec<Value> = Vec::new();
    for (i, shape) in inputs.iter().enumerate() {
        let ty = TensorType {
            dtype: Some(DType::F32),
            shape: shape.clone(),
        };
        values.push(b.input(format!("x{i}"), Some(ty)));
    }
    let mut read = vec![false; inputs.len() + steps.len()];
    for s in steps {
        let dims = || Arg::ints([0]);
        let (op, args) = match *s {
            Step::Point(v) => (Op::Exp, vec![values[v].into()]),
            Step::Pair(a, b) => (Op::Sub, vec![values[a].into(), values[b].into()]),
            Step::SumAll(v) => (Op::SumAll, vec![values[v].into()]),
            Step::Sum(v) => (Op::Sum, vec![values[v].into(), dims()]),
            Step::SumKeepdim(v) => (Op::SumKeepdim, vec![values[v].into(), dims()]),
        };
        match *s {
            Step::Point(v) | Step::SumAll(v) | Step::Sum(v) | Step::SumKeepdim(v) => read[v] = true,
            Step::Pair(a, b) => (read[a], read[b]) = (true, true),
        }
        values.push(b.call(op, args).ok()?);
    }
    // all that nobody reads
    let unread = |v: &usize| !read[*v];
    b.module.graph.outputs = (inputs.len()..values.len())
        .filter(unread)
        .map(|v| values[v])
        .collect();
    let module = b.module;
    let typing = Typing::infer(&module, &vec![DType::F32; inputs.len()], &[]).ok()?;
    let units = schedule(&module.graph).units;
    Some(units.iter().filter(|u| u.kind.is_kernel()).try_for_each(|u| {
        match lower(&module, &typing, u, &|_| false) {
            Ok(_) => Ok(()),
            Err(e) => Err(format!("{e} in {u:?} of\n{module}")),
        }
    }))
}

/// Runs all graphs that continue `steps` up to `most` calls; returns how many the rules accept.
fn all(inputs: &[Option<Vec<Dim>>], so_far: &mut Vec<Step>, most: usize) -> usize {
    let mut accepted = 0;
    for s in steps(inputs.len() + so_far.len()) {
        so_far.push(s);
        if let Some(r) = check(inputs, so_far) {
            assert_eq!(r, Ok(()));
            accepted += 1;
            if so_far.len() < most {
                accepted += all(inputs, so_far, most);
            }
        }
        so_far.pop();
    }
    accepted
}

#[test]
fn all_graphs_of_four_calls_are_kernels() {
    let known = [Dim::Known(3)];
    let named = [Dim::Symbol(0), Dim::Known(3)];
    for w in [&known[..], &named] {
        let accepted = all(&[None, Some(w.to_vec())], &mut Vec::new(), 4);
        assert!(accepted > 100_000, "{accepted}");
    }
}

#[test]
fn many_graphs_of_nine_calls_are_kernels() {
    let mut state = 1u64;
    let mut below = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % n
    };
    let shapes = [
        None,
        None,
        Some(vec![Dim::Known(3)]),
        Some(vec![Dim::Symbol(0), Dim::Known(3)]),
        Some(vec![Dim::Known(1), Dim::Unknown]),
        Some(vec![]),
    ];
    let mut accepted = 0;
    for _ in 0..50_000 {
        let inputs: Vec<_> = (0..3).map(|_| shapes[below(shapes.len())].clone()).collect();
        let mut made: Vec<Step> = Vec::new();
        for i in 0..9 {
            let all = steps(inputs.len() + i);
            made.push(all[below(all.len())]);
        }
        if let Some(r) = check(&inputs, &made) {
            assert_eq!(r, Ok(()));
            accepted += 1;
        }
    }
    assert!(accepted > 5_000, "{accepted}");
}
