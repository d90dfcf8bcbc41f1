//! Limits of entries: 28.

use crate::check::{alone, iota, panics};
use tensorplay::compiler::{config_mut, reset};
use tensorplay::{Error, Result, compile, explain, prelude::*};

#[track_caller]
fn limit_of(result: Result<Tensor>, limit: usize, function: &str) {
    let e = result.expect_err("the table is full");
    match &e {
        Error::RecompileLimit {
            function: f,
            limit: n,
        } => {
            assert_eq!(*n, limit);
            assert!(f.ends_with(function), "{f}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(e.code(), "TP0904");
    assert!(e.to_string().contains("recompile limit"), "{e}");
}

#[test]
fn case_28_a_layout_counts_toward_a_limit_under_fullgraph() {
    #[compile(fullgraph, recompile_limit = 1)]
    fn f(x: &Tensor) -> Result<Tensor> {
        Ok(x * 2.0)
    }
    let x = iota(&[3, 3]);
    for _ in 0..2 {
        assert_eq!(f(&x).expect("the first entry").to_vec::<f32>()[4], 8.0);
        limit_of(f(&x.t()), 1, "f");
    }
    let e = explain!(f);
    assert_eq!(
        (e.entries.len(), e.calls.dispatched, e.calls.errors),
        (1, 2, 2),
        "{e}"
    );
}

#[test]
fn case_28_a_plain_function_panics_at_its_limit() {
    #[compile(fullgraph, recompile_limit = 1)]
    fn f(x: &Tensor) -> Tensor {
        x * 2.0
    }
    f(&iota(&[3]));
    let text = panics(|| f(&iota(&[4])));
    assert!(text.contains("recompile limit of 1"), "{text}");
}

#[test]
fn case_28_a_written_limit_alone_drops_the_coldest_entry() {
    #[compile(recompile_limit = 2)]
    fn f(x: &Tensor) -> Tensor {
        x * 2.0
    }
    let sizes = || {
        let mut all: Vec<String> = explain!(f).entries.iter().map(|e| e.pattern.clone()).collect();
        all.sort();
        all
    };
    for n in [2, 3, 2, 4] {
        against_body!(f(&iota(&[n])));
    }
    assert_eq!(sizes(), ["x: f32[2]", "x: f32[4]"]);
    assert_eq!(explain!(f).calls.bound, 3);
    against_body!(f(&iota(&[2])));
    assert_eq!(explain!(f).calls.bound, 3, "the warm entry stayed");
    against_body!(f(&iota(&[3])));
    assert_eq!(explain!(f).calls.bound, 4);
    assert_eq!(sizes(), ["x: f32[2]", "x: f32[3]"]);
    let layouts = [iota(&[3, 3]), iota(&[3, 3]).t(), iota(&[1, 3]).expand((3, 3))];
    for x in layouts.iter().chain(&layouts) {
        against_body!(f(x));
        assert!(explain!(f).entries.len() <= 2);
    }
}

#[test]
fn case_28_fullgraph_without_a_written_limit_goes_on() {
    #[compile(fullgraph)]
    fn f(x: &Tensor) -> Tensor {
        x * 2.0
    }
    for n in 0..20 {
        against_body!(f(&iota(&[n])));
    }
    let e = explain!(f);
    assert_eq!((e.entries.len(), e.calls.bound), (8, 20), "{e}");
}

#[test]
fn case_28_the_configuration_makes_the_limit_an_error() {
    alone("limits::configured", &[]);
}

#[test]
#[ignore = "run by case_28"]
fn configured() {
    #[compile]
    fn f(x: &Tensor) -> Result<Tensor> {
        Ok(x * 2.0)
    }
    #[compile(recompile_limit = 1)]
    fn written(x: &Tensor) -> Result<Tensor> {
        Ok(x * 2.0)
    }
    config_mut(|c| c.fail_on_recompile_limit_hit = true);
    let x = iota(&[3, 3]);
    written(&x).expect("the first entry");
    limit_of(written(&x.t()), 1, "written");

    for n in 2..10 {
        f(&iota(&[n])).expect("eight entries");
    }
    limit_of(f(&iota(&[10])), 8, "f");
    f(&iota(&[5])).expect("an entry that is there");
    config_mut(|c| c.recompile_limit = 9);
    f(&iota(&[10])).expect("the ninth");
    limit_of(f(&iota(&[11])), 9, "f");
    config_mut(|c| c.fail_on_recompile_limit_hit = false);
    f(&iota(&[11])).expect("the coldest goes");
    assert_eq!(explain!(f).entries.len(), 9);
}

#[test]
fn case_28_the_accumulated_limit_counts_entries_that_went() {
    alone("limits::accumulated", &[]);
}

#[test]
#[ignore = "run by case_28"]
fn accumulated() {
    #[compile(recompile_limit = 1)]
    fn f(x: &Tensor) -> Result<Tensor> {
        Ok(x * 2.0)
    }
    config_mut(|c| c.accumulated_recompile_limit = 3);
    for n in 1..=5 {
        f(&iota(&[n])).expect("it is reported, and goes on");
    }
    reset();
    config_mut(|c| {
        c.fail_on_recompile_limit_hit = true;
        c.recompile_limit = 16;
    });
    #[compile]
    fn g(x: &Tensor) -> Result<Tensor> {
        Ok(x * 2.0)
    }
    for n in 1..=3 {
        g(&iota(&[n])).expect("three entries");
    }
    limit_of(g(&iota(&[4])), 3, "g");
    g(&iota(&[2])).expect("an entry that is there");
    reset();
    g(&iota(&[4])).expect("counted from the reset");
}

#[test]
fn case_28_variables_of_the_environment_set_limits() {
    let variables = [
        ("TENSORPLAY_RECOMPILE_LIMIT", "2"),
        ("TENSORPLAY_FAIL_ON_RECOMPILE_LIMIT_HIT", "1"),
    ];
    alone("limits::from_the_environment", &variables);
}

#[test]
#[ignore = "run by case_28"]
fn from_the_environment() {
    #[compile]
    fn f(x: &Tensor) -> Result<Tensor> {
        Ok(x * 2.0)
    }
    for n in [2, 3] {
        f(&iota(&[n])).expect("two entries");
    }
    limit_of(f(&iota(&[4])), 2, "f");
}

struct Scaled {
    scale: Tensor,
}

impl Scaled {
    #[compile(fullgraph, recompile_limit = 1, isolate_recompiles)]
    fn isolated(&self, x: &Tensor) -> Result<Tensor> {
        Ok(x * &self.scale)
    }

    #[compile(fullgraph, recompile_limit = 1)]
    fn shared(&self, x: &Tensor) -> Result<Tensor> {
        Ok(x * &self.scale)
    }
}

#[test]
fn case_28_isolated_instances_have_limits_of_their_own() {
    let (a, b) = (Scaled { scale: iota(&[2]) }, Scaled { scale: iota(&[3]) });
    a.shared(&iota(&[2])).expect("the first entry");
    limit_of(b.shared(&iota(&[3])), 1, "shared");
    for _ in 0..2 {
        let y = a.isolated(&iota(&[2])).expect("an entry of its own");
        assert_eq!(y.to_vec::<f32>(), [0.0, 1.0]);
        let y = b.isolated(&iota(&[3])).expect("an entry of its own");
        assert_eq!(y.to_vec::<f32>(), [0.0, 1.0, 4.0]);
    }
    limit_of(a.isolated(&iota(&[3, 2])), 1, "isolated");
}
