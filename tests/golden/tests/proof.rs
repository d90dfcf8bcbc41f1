//! The runners report what they must: calls that were not dispatched, the wrong kernels, wrong values.
//!
//! Each test hands a runner a case that is wrong in one way. The same cases, put right, pass: a test that cannot
//! fail proves nothing, nor does one that cannot pass. `TENSORPLAY_KERNELS` is not set here, so that one binary runs both
//! kinds of kernel: f32 emitted, f64 on the tile VM.

use tensorplay::compiler::{Explanation, disable_capture};
use tensorplay::{Result, compile, explain, prelude::*};
use tensorplay_golden::{Case, Expected, Input, Layout, Moved, Named, Output, Ran, Runner, Vectors, arity};

/// The function of most cases here.
#[compile(dtypes(f32))]
fn twice(a: &Tensor) -> Result<Tensor> {
    Ok(a * 2.0)
}

/// A product, a group, and a copy for each part.
#[compile(dtypes(f32))]
fn joined(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let h = a.matmul(b) + 1.0;
    Ok(Tensor::cat(&[&h, a], 0))
}

/// A function whose call fails.
#[compile]
fn broken(a: &Tensor) -> Result<Tensor> {
    Ok(a.sum(2))
}

/// A function without dispatch.
#[compile(disable)]
fn plain(a: &Tensor) -> Result<Tensor> {
    Ok(a * 2.0)
}

const SHAPE: &[usize] = &[2, 2];
const F32: &[Input] = &[Input {
    key: "a",
    dtype: DType::F32,
    shape: SHAPE,
    layout: Layout::Contiguous,
}];
const F64: &[Input] = &[Input {
    key: "d",
    dtype: DType::F64,
    shape: SHAPE,
    layout: Layout::Contiguous,
}];
const NAN: &[Input] = &[Input { key: "nan", ..F32[0] }];
const BOTH: &[Input] = &[F32[0], F32[0]];

const fn output(key: &'static str, dtype: DType, shape: &'static [usize]) -> Output {
    Output {
        key,
        dtype,
        shape,
        rtol: 0.0,
        atol: 0.0,
    }
}

fn vectors() -> Vectors {
    let a = [1.0f32, 2.0, 3.0, 4.0];
    let pairs = [
        ("a", Tensor::from_slice(&a, SHAPE)),
        ("a2", Tensor::from_slice(&a.map(|v| v * 2.0), SHAPE)),
        (
            "a2-wide",
            Tensor::from_slice(&a.map(|v| f64::from(v) * 2.0), SHAPE),
        ),
        ("a2-flat", Tensor::from_slice(&a.map(|v| v * 2.0), 4)),
        ("wrong", Tensor::from_slice(&[2.0f32, 4.0, 6.0, 8.000001], SHAPE)),
        ("nan", Tensor::from_slice(&[2.0f32, f32::NAN, 6.0, 8.0], SHAPE)),
        ("d", Tensor::from_slice(&a.map(f64::from), SHAPE)),
        (
            "joined",
            Tensor::from_slice(&[8.0f32, 11.0, 16.0, 23.0, 1.0, 2.0, 3.0, 4.0], (4, 2)),
        ),
    ];
    Vectors::from_pairs(pairs)
}

const TWICE: Case = Case {
    id: "test.twice",
    call: |x| match x {
        [a] => twice(a).map(|r| vec![r]),
        _ => arity(1, x.len()),
    },
    explain: || explain!(twice),
    inputs: F32,
    expected: Expected::Values(&[output("a2", DType::F32, SHAPE)]),
};

const WIDE: Case = Case {
    inputs: F64,
    expected: Expected::Values(&[output("a2-wide", DType::F64, SHAPE)]),
    ..TWICE
};

const JOINED: Case = Case {
    id: "test.joined",
    call: |x| match x {
        [a, b] => joined(a, b).map(|r| vec![r]),
        _ => arity(2, x.len()),
    },
    explain: || explain!(joined),
    inputs: BOTH,
    expected: Expected::Values(&[output("joined", DType::F32, &[4, 2])]),
};

const BROKEN: Case = Case {
    id: "test.broken",
    call: |x| match x {
        [a] => broken(a).map(|r| vec![r]),
        _ => arity(1, x.len()),
    },
    explain: || explain!(broken),
    inputs: F32,
    expected: Expected::Error(&["dim", "out of range"]),
};

/// Counts are a function's own and tests run at the same time, so whoever calls a function holds this.
static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn check(runner: Runner, case: &Case) -> std::result::Result<(), String> {
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    runner.check(case, &vectors(), false).map(|_| ())
}

#[track_caller]
fn reported(runner: Runner, case: &Case, text: &str) {
    match check(runner, case) {
        Ok(()) => panic!("`{runner}` passed the case; it should have said `{text}`"),
        Err(e) => assert!(
            e.contains(text),
            "`{runner}` should have said `{text}`, and said:\n{e}"
        ),
    }
}

#[test]
fn right_cases_pass() {
    for case in [TWICE, JOINED, BROKEN] {
        assert_eq!(check(Runner::Compiled, &case), Ok(()), "{}", case.id);
        assert_eq!(check(Runner::Eager, &case), Ok(()), "{}", case.id);
    }
    assert_eq!(check(Runner::Eager, &WIDE), Ok(()));
}

#[test]
fn a_call_that_is_not_dispatched_is_reported() {
    let stepped_aside = Case {
        call: |x| match x {
            [a] => disable_capture(|| twice(a)).map(|r| vec![r]),
            _ => arity(1, x.len()),
        },
        ..TWICE
    };
    let never_compiled = Case {
        call: |x| match x {
            [a] => plain(a).map(|r| vec![r]),
            _ => arity(1, x.len()),
        },
        ..TWICE
    };
    for case in [stepped_aside, never_compiled] {
        for runner in [Runner::Compiled, Runner::Tile] {
            reported(runner, &case, "0 dispatched calls, expected 1");
        }
        assert_eq!(check(Runner::Eager, &case), Ok(()));
    }
}

#[test]
fn a_call_that_is_dispatched_twice_is_reported() {
    let again = Case {
        call: |x| match x {
            [a] => twice(a).and_then(|_| twice(a)).map(|r| vec![r]),
            _ => arity(1, x.len()),
        },
        ..TWICE
    };
    reported(Runner::Compiled, &again, "2 dispatched calls, expected 1");
}

#[test]
fn an_eager_call_that_is_dispatched_is_reported() {
    // a thread of its own does not step aside
    let elsewhere = Case {
        call: |x| match x {
            [a] => std::thread::scope(|s| s.spawn(|| twice(a)).join())
                .unwrap_or_else(|_| arity(0, 1).map(|_| a.clone()))
                .map(|r| vec![r]),
            _ => arity(1, x.len()),
        },
        ..TWICE
    };
    reported(Runner::Eager, &elsewhere, "dispatched: 1");
}

#[test]
fn the_tile_vm_under_the_proof_of_emitted_kernels_is_reported() {
    reported(Runner::Compiled, &WIDE, "0 groups on emitted kernels, expected 1");
    reported(Runner::Compiled, &WIDE, "1 groups on the tile VM, expected 0");
    reported(Runner::Compiled, &WIDE, "no kernel was emitted");
    reported(
        Runner::Compiled,
        &WIDE,
        "0 kernels in the binary for these dtypes, expected 1",
    );
}

#[test]
fn emitted_kernels_under_the_proof_of_the_tile_vm_are_reported() {
    reported(Runner::Tile, &TWICE, "1 groups on emitted kernels, expected 0");
    reported(Runner::Tile, &TWICE, "0 groups on the tile VM, expected 1");
}

#[test]
fn wrong_results_are_reported() {
    let expected = |key, dtype, shape: &'static [usize]| -> Case {
        let outputs: &'static [Output] = Box::leak(Box::new([output(key, dtype, shape)]));
        Case {
            expected: Expected::Values(outputs),
            ..TWICE
        }
    };
    for runner in [Runner::Eager, Runner::Compiled] {
        reported(
            runner,
            &expected("wrong", DType::F32, SHAPE),
            "1 of 4 elements differ; at [1, 1] 8.0",
        );
        reported(
            runner,
            &expected("nan", DType::F32, SHAPE),
            "1 of 4 elements differ; at [0, 1] 4.0, expected NaN",
        );
        reported(
            runner,
            &expected("a2-wide", DType::F64, SHAPE),
            "dtype f32, expected f64",
        );
        reported(
            runner,
            &expected("a2-flat", DType::F32, &[4]),
            "shape [2, 2], expected [4]",
        );
        reported(
            runner,
            &expected("missing", DType::F32, SHAPE),
            "no tensor `missing`",
        );
        reported(
            runner,
            &Case {
                expected: Expected::Values(&[]),
                ..TWICE
            },
            "1 results, expected 0",
        );
    }
    let from_nan = Case { inputs: NAN, ..TWICE };
    reported(Runner::Compiled, &from_nan, "at [0, 0] 4.0");
    reported(Runner::Compiled, &from_nan, "largest difference");
}

#[test]
fn an_error_that_is_not_dispatchs_is_reported() {
    let own = Case {
        call: |_| Err(tensorplay::Error::msg("dim 2 is out of range")),
        ..BROKEN
    };
    let panics = Case {
        call: |_| panic!("dim 2 is out of range"),
        ..BROKEN
    };
    reported(
        Runner::Compiled,
        &own,
        "0 calls with an error from dispatch, expected 1",
    );
    reported(
        Runner::Compiled,
        &panics,
        "the call panicked: dim 2 is out of range",
    );
    assert_eq!(check(Runner::Eager, &own), Ok(()));
    assert_eq!(check(Runner::Eager, &panics), Ok(()));
}

#[test]
fn an_error_without_its_text_or_none_at_all_is_reported() {
    let other = Case {
        expected: Expected::Error(&["dim", "dogs and cats"]),
        ..BROKEN
    };
    let none = Case {
        expected: Expected::Error(&[]),
        ..TWICE
    };
    let unexpected = Case {
        expected: TWICE.expected,
        ..BROKEN
    };
    for runner in [Runner::Eager, Runner::Compiled] {
        reported(runner, &other, "does not mention `dogs and cats`");
        reported(runner, &none, "the call returned, expected an error");
    }
    reported(Runner::Compiled, &unexpected, "the call returned an error");
    reported(Runner::Eager, &unexpected, "the call panicked");
}

fn explained() -> Explanation {
    explain!(joined)
}

#[test]
fn the_schedule_names_the_steps() {
    let shape: &[usize] = SHAPE;
    let named = Named::of(&explained(), 0, &[(DType::F32, shape), (DType::F32, shape)]);
    assert_eq!(
        named,
        Ok(Named {
            groups: 1,
            kernels: 1,
            contractions: 1,
            ops: 0,
            copies: 2,
            may_copy: 0
        })
    );
    let empty: &[usize] = &[0, 2];
    let named = Named::of(&explained(), 0, &[(DType::F32, empty), (DType::F32, shape)]);
    assert_eq!(named.map(|n| n.copies), Ok(0));
    assert!(Named::of(&explained(), 0, &[(DType::F32, shape)]).is_err());
}

#[test]
fn every_demand_can_fail() {
    let named = Named {
        groups: 2,
        kernels: 2,
        contractions: 1,
        ops: 1,
        copies: 2,
        may_copy: 1,
    };
    let moved = Moved {
        dispatched: 1,
        bound: 1,
        emitted: 2,
        contractions: 1,
        copies: 2,
        ops: 1,
        ..Moved::default()
    };
    let right = Ran {
        moved,
        kernels: 2,
        ..Ran::default()
    };
    let tile = Ran {
        moved: Moved {
            emitted: 0,
            tile: 2,
            ..moved
        },
        ..right.clone()
    };
    assert_eq!(right.check_values(Runner::Compiled, &named, false), Ok(()));
    assert_eq!(tile.check_values(Runner::Tile, &named, false), Ok(()));
    let copied = Ran {
        moved: Moved { copies: 3, ..moved },
        ..right.clone()
    };
    assert_eq!(copied.check_values(Runner::Compiled, &named, false), Ok(()));
    let wrong: [fn(&mut Ran); 11] = [
        |r| r.moved.dispatched = 2,
        |r| r.moved.errors = 1,
        |r| r.moved.emitted += 1,
        |r| r.moved.tile += 1,
        |r| r.moved.contractions = 0,
        |r| r.moved.copies = 1,
        |r| r.moved.copies = 4,
        |r| r.moved.ops = 0,
        |r| r.moved.splits = 1,
        |r| r.breaks.push("item".into()),
        |r| r.fallbacks.push("no kernel".into()),
    ];
    for (runner, right) in [(Runner::Compiled, &right), (Runner::Tile, &tile)] {
        for (i, change) in wrong.iter().enumerate() {
            let mut ran = right.clone();
            change(&mut ran);
            assert!(
                ran.check_values(runner, &named, false).is_err(),
                "{runner} accepts change {i}"
            );
        }
    }
    let missing = Ran {
        kernels: 1,
        ..right.clone()
    };
    assert!(missing.check_values(Runner::Compiled, &named, false).is_err());
}

#[test]
fn a_split_passes_only_on_the_list_and_only_if_it_splits() {
    let named = Named {
        groups: 2,
        kernels: 2,
        ..Named::default()
    };
    let fallbacks = vec!["`softmax`: ranks differ".to_string()];
    let moved = Moved {
        dispatched: 1,
        bound: 1,
        emitted: 1,
        tile: 3,
        splits: 1,
        ..Moved::default()
    };
    let split = Ran {
        moved,
        fallbacks: fallbacks.clone(),
        kernels: 2,
        ..Ran::default()
    };
    assert!(split.check_values(Runner::Compiled, &named, false).is_err());
    assert_eq!(split.check_values(Runner::Compiled, &named, true), Ok(()));
    let whole = Ran {
        moved: Moved {
            emitted: 2,
            tile: 0,
            splits: 0,
            ..moved
        },
        fallbacks: Vec::new(),
        ..split.clone()
    };
    let problems = whole.check_values(Runner::Compiled, &named, true).unwrap_err();
    assert!(
        problems
            .iter()
            .any(|p| p.contains("remove the case from predicates.txt")),
        "{problems:?}"
    );
    let more = Ran {
        fallbacks: [fallbacks.clone(), fallbacks].concat(),
        ..split
    };
    assert!(more.check_values(Runner::Compiled, &named, true).is_err());
}
