//! Guards, and why entries are added: 27, 34 and 46 to 49.

use crate::check::{alone, iota, v};
use tensorplay::compiler::{GuardChain, with_backend};
use tensorplay::{compile, explain, prelude::*};

#[test]
fn case_27_tensors_in_containers_are_part_of_the_key() {
    #[compile(fullgraph)]
    fn f(pair: &(Tensor, Tensor), more: &[Tensor; 2]) -> Tensor {
        &pair.0 + &pair.1 * &more[0] - &more[1]
    }
    let x = iota(&[2, 2]);
    let wide = x.to_dtype(DType::F64);
    let call = |a: &Tensor, b: &Tensor| {
        let (pair, more) = ((x.clone(), a.clone()), [b.clone(), x.clone()]);
        against_body!(f(&pair, &more));
        explain!(f).entries.len()
    };
    for round in 0..2 {
        for (k, (a, b)) in [
            (&x, &x),
            (&x.t(), &x),
            (&x, &x.t()),
            (&x, &iota(&[2])),
            (&wide, &wide),
        ]
        .into_iter()
        .enumerate()
        {
            let entries = if round == 0 { k + 1 } else { 5 };
            assert_eq!(call(a, b), entries, "round {round}, {k}");
        }
    }
}

#[test]
fn case_27_the_length_of_a_list_is_part_of_the_key() {
    #[compile(fullgraph)]
    fn f(parts: &[Tensor]) -> Tensor {
        Tensor::cat(parts, 0) * 2.0
    }
    for (n, entries) in [(2, 1), (3, 2), (2, 2)] {
        let y = against_body!(f(&vec![v(&[1.0]); n]));
        assert_eq!(y.to_vec::<f32>(), vec![2.0; n]);
        assert_eq!(explain!(f).entries.len(), entries, "{n} tensors");
    }
}

#[test]
fn case_34_guards_of_a_dynamic_function_name_what_was_read() {
    #[compile(fullgraph, dynamic = true)]
    fn f(x: &Tensor, y: &Tensor) -> Tensor {
        if y.dim(0) > 2 { x + 1.0 } else { x - 1.0 }
    }
    for (x, y) in [(2, 4), (3, 4), (3, 2)] {
        against_body!(f(&iota(&[x]), &iota(&[y])));
    }
    let e = explain!(f);
    assert_eq!(e.entries.len(), 2, "{e}");
    for (chain, y) in e.guards.iter().zip([4, 2]) {
        let source = chain.source();
        assert!(source.contains("y.dim(0)") && !source.contains("x."), "{source}");
        assert!(chain.evaluate(&[&iota(&[99]), &iota(&[y])]), "{source}");
        assert!(!chain.evaluate(&[&iota(&[99]), &iota(&[6 - y])]), "{source}");
    }
}

#[compile(fullgraph, spec(x = f32[N, 4], w = f32[N]))]
fn branching(x: &Tensor, w: &Tensor) -> Tensor {
    if x.dim(0) > 4 { x.sum(1) * w } else { x.max(1) + w }
}

fn chains() -> Vec<GuardChain> {
    explain!(branching).guards
}

#[test]
fn case_46_guards_are_conditions_on_dtype_shape_and_branches() {
    let chains = chains();
    assert_eq!(chains.len(), 2);
    for chain in &chains {
        let source = chain.source();
        for condition in [
            "x.dtype() == DType::F32",
            "w.dtype() == DType::F32",
            "x.rank() == 2",
            "x.dim(1) == 4",
            "w.dim(0) == x.dim(0)",
        ] {
            let found = chain.guards().iter().any(|g| g.to_string() == condition);
            assert!(found && source.contains(condition), "{condition}: {source}");
        }
        let all: Vec<String> = chain.guards().iter().map(|g| g.source.clone()).collect();
        assert_eq!(source, all.join(" && "));
        assert_eq!(chain.to_string(), source);
    }
    assert!(chains[0].source().ends_with("&& x.dim(0) > 4"), "{}", chains[0]);
    assert!(chains[1].source().contains("x.dim(0)"), "{}", chains[1]);
    assert_ne!(chains[0], chains[1]);
}

#[test]
fn case_46_nothing_read_is_nothing_guarded() {
    #[compile(fullgraph)]
    fn f(x: &Tensor) -> Tensor {
        x * 2.0
    }
    let e = explain!(f);
    assert_eq!(e.guards.len(), 1);
    assert_eq!(
        (e.guards[0].source().as_str(), e.guards[0].guards().len()),
        ("", 0)
    );
    assert!(e.guards[0].evaluate(&[&iota(&[3, 3, 3])]));
}

#[test]
fn case_46_ranges_and_intermediates() {
    #[compile(fullgraph, spec(x = f32[1..=8, 2]))]
    fn f(x: &Tensor, w: &Tensor) -> Tensor {
        let h = x.matmul(w);
        if h.dim(1) > 2 { h.relu() } else { h * 2.0 }
    }
    let chains = explain!(f).guards;
    let source = chains[0].source();
    assert!(source.contains("h.dim(1) > 2"), "{source}");
    assert!(source.contains("(1..=8).contains(&x.dim(0))"), "{source}");
    let (x, nine, w) = (iota(&[8, 2]), iota(&[9, 2]), iota(&[2, 3]));
    assert!(chains[0].evaluate(&[&x, &w]) && !chains[1].evaluate(&[&x, &w]));
    let w = iota(&[2, 2]);
    assert!(!chains[0].evaluate(&[&x, &w]) && chains[1].evaluate(&[&x, &w]));
    let failing = chains[1].explain(&[&nine, &w]);
    assert_eq!(failing.len(), 1, "{failing:?}");
    assert!(failing[0].source.contains("1..=8"), "{failing:?}");
    against_body!(f(&x, &w));
}

fn failing(chain: &GuardChain, tensors: &[&Tensor]) -> Vec<String> {
    let failing: Vec<String> = chain.explain(tensors).iter().map(|g| g.to_string()).collect();
    assert_eq!(chain.evaluate(tensors), failing.is_empty(), "{failing:?}");
    failing
}

#[test]
fn case_47_guards_evaluate_and_explain() {
    let (large, small) = (&chains()[0], &chains()[1]);
    let (x, w) = (iota(&[6, 4]), iota(&[6]));
    for (x, w) in [(&x, &w), (&(&x - 7.0), &w.zeros_like()), (&iota(&[4, 6]).t(), &w)] {
        assert_eq!(failing(large, &[x, w]), [""; 0]);
        let other = failing(small, &[x, w]);
        assert_eq!(other.len(), 1, "{other:?}");
        assert!(other[0].contains("x.dim(0)"), "{other:?}");
    }
    assert_eq!(failing(large, &[&iota(&[3, 4]), &iota(&[3])]), ["x.dim(0) > 4"]);
    assert_eq!(failing(small, &[&iota(&[3, 4]), &iota(&[3])]), [""; 0]);
    assert_eq!(failing(large, &[&iota(&[6, 5]), &w]), ["x.dim(1) == 4"]);
    assert_eq!(
        failing(large, &[&x, &w.to_dtype(DType::F64)]),
        ["w.dtype() == DType::F32"]
    );
    assert_eq!(failing(large, &[&x, &iota(&[7])]), ["w.dim(0) == x.dim(0)"]);
    let rank = failing(large, &[&iota(&[6, 4, 1]), &w]);
    assert!(rank.contains(&"x.rank() == 2".to_string()), "{rank:?}");
    assert!(!large.evaluate(&[]) && !large.evaluate(&[&x]));
}

#[test]
fn case_47_hits_are_the_calls_of_a_path() {
    #[compile(fullgraph, dynamic = true)]
    fn f(x: &Tensor) -> Tensor {
        if x.dim(0) > 4 { x * 2.0 } else { x + 1.0 }
    }
    for n in [5, 6, 3, 7, 2] {
        against_body!(f(&iota(&[n])));
    }
    let hits: Vec<u64> = explain!(f).guards.iter().map(|c| c.hits()).collect();
    assert_eq!(hits, [3, 2]);
}

#[test]
fn case_48_a_change_of_rank_is_recorded_with_its_reason() {
    #[compile(dynamic = true)]
    fn f(x: &Tensor) -> Tensor {
        x.relu()
    }
    for shape in [&[3][..], &[5], &[3, 3], &[5, 4]] {
        against_body!(f(&iota(shape)));
    }
    let e = explain!(f);
    assert_eq!((e.entries.len(), e.recompiles.len()), (2, 1), "{e}");
    let text = e.recompiles[0].to_string();
    assert!(
        text.starts_with("recompiling `") && text.contains("f`: "),
        "{text}"
    );
    assert!(text.contains("x.rank() == 1, got 2"), "{text}");
    assert!(e.to_string().contains(&text), "{e}");
}

#[test]
fn case_48_every_part_of_the_key_is_a_reason() {
    #[compile(dynamic = false)]
    fn f(x: &Tensor, y: &Tensor, on: bool) -> Tensor {
        if on { x + y } else { x - y }
    }
    let x = iota(&[2, 2]);
    let reason = || {
        let all = explain!(f).recompiles;
        (
            all.len(),
            all.last().map(|r| r.reasons.join("; ")).unwrap_or_default(),
        )
    };
    f(&x, &x, true);
    assert_eq!(reason(), (0, String::new()), "the first entry needs no reason");
    f(&x, &iota(&[1, 2]), true);
    let (n, text) = reason();
    assert!(n == 1 && text.contains("y.dim(0) == 2, got 1"), "{text}");
    assert!(!text.contains("x."), "{text}");
    let wide = x.to_dtype(DType::F64);
    f(&wide, &wide, true);
    let (n, text) = reason();
    assert!(n == 2 && text.contains("x.dtype() == f32, got f64"), "{text}");
    f(&x.t(), &x, true);
    let (n, text) = reason();
    assert!(
        n == 3 && text.contains('x') && text.contains("contiguous"),
        "{text}"
    );
    f(&x, &x, false);
    let (n, text) = reason();
    assert!(n == 4 && text.contains("on"), "{text}");
    with_backend("eager", || f(&x, &x, true)).expect("eager");
    let (n, text) = reason();
    assert!(n == 5 && text.contains("backend"), "{text}");
    f(&x, &x, true);
    assert_eq!(reason().0, 5, "a hit needs none");
}

#[test]
#[ignore = "run by case_49"]
fn logged() {
    #[compile(spec(x = f32[_, 2]))]
    fn told(x: &Tensor) -> Tensor {
        let y = if x.dim(0) > 2 { x * 2.0 } else { x + 1.0 };
        println!("{}", y.sum_all().item::<f32>());
        y.relu()
    }
    for n in [2, 2, 3, 2, 3] {
        told(&iota(&[n, 2]));
    }
}

/// The lines of the error output that hold a word.
fn lines(variables: &[(&str, &str)], word: &str) -> Vec<String> {
    let (_, err) = alone("guards::logged", variables);
    let lines = err.lines().filter(|l| l.contains(word));
    lines.map(str::to_string).collect()
}

#[test]
fn case_49_each_recompilation_is_a_line_of_the_log_once() {
    for asked in [
        ("TENSORPLAY_LOG", "recompiles"),
        ("TENSORPLAY_LOG", "guards,recompiles"),
        ("TENSORPLAY_VERBOSE", "1"),
    ] {
        let told = lines(&[asked], "recompiling");
        // a segment on each side of the break
        assert!((1..=2).contains(&told.len()), "{asked:?}: {told:?}");
        assert!(told.iter().all(|l| l.contains("told")), "{told:?}");
        assert!(told[0].contains("dim(0)"), "{told:?}");
    }
}

#[test]
fn case_49_the_log_is_silent_unless_asked() {
    for variables in [
        &[][..],
        &[("TENSORPLAY_LOG", "")],
        &[("TENSORPLAY_LOG", "guards")],
    ] {
        assert_eq!(lines(variables, "recompiling"), [""; 0], "{variables:?}");
    }
    assert_eq!(lines(&[], "tensorplay"), [""; 0]);
}

#[test]
fn case_49_each_word_of_the_log_tells_something() {
    let words = ["guards", "breaks", "graphs", "kernels"].into_iter();
    let silent = words.filter(|word| lines(&[("TENSORPLAY_LOG", *word)], "told").is_empty());
    assert_eq!(silent.collect::<Vec<_>>(), [""; 0]);
}
