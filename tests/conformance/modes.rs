//! Modes, options and `strict_native`: 6 and 62 to 64.

use crate::check::{iota, panics, v};
use std::collections::BTreeMap;
use tensorplay::compiler::{
    Codegen, CompileOptions, Example, Executable, Mode, OptionValue, list_mode_options, lookup_backend,
    with_backend,
};
use tensorplay::{Error, Result, compile, explain, graph, prelude::*};

fn not_native(e: &Error, why: &str) {
    let text = e.to_string();
    assert!(matches!(e, Error::NotNative { .. }), "{e:?}");
    assert!(text.contains("strict_native") && text.contains(why), "{text}");
}

#[test]
fn case_06_strict_native_takes_what_has_native_code() {
    #[compile(fullgraph, strict_native)]
    fn variance(x: &Tensor) -> Tensor {
        x.var((0, 1), 1)
    }
    let y = against_body!(variance(&Tensor::from_slice(&[1.0f32, 2.0], (1, 2))));
    assert_eq!(y.item::<f32>(), 0.5);
    assert_eq!(explain!(variance).entries[0].codegen, Codegen::StaxNative);
}

#[test]
fn case_06_strict_native_refuses_what_has_none() {
    #[compile(fullgraph, strict_native)]
    fn f(x: &Tensor) -> Result<Tensor> {
        Ok((x * 2.0 + 1.0).relu())
    }
    let x = v(&[1.0, -2.0]);
    // kernels are emitted for f32 alone
    for _ in 0..2 {
        let e = f(&x.to_dtype(DType::F64)).expect_err("the tile VM");
        not_native(&e, "f64");
        let y = f(&x).expect("emitted");
        assert_eq!(y.to_vec::<f32>(), [3.0, 0.0]);
    }
    let e = with_backend("eager", || f(&x))
        .expect("eager")
        .expect_err("nothing is compiled there");
    not_native(&e, "eager");
    let e = explain!(f);
    assert_eq!((e.calls.dispatched, e.calls.errors), (2, 3), "{e}");
    assert_eq!(e.calls.steps.tile, 0, "{e}");
}

#[test]
fn case_06_strict_native_panics_in_a_plain_function() {
    #[compile(fullgraph, strict_native)]
    fn f(x: &Tensor) -> Tensor {
        x * 2.0 + 1.0
    }
    let text = panics(|| f(&v(&[1.0]).to_dtype(DType::F64)));
    assert!(text.contains("strict_native"), "{text}");
}

#[test]
fn case_06_strict_native_reaches_the_backend() {
    #[compile(strict_native, backend = "probe_06")]
    fn f(x: &Tensor) -> Result<Tensor> {
        Ok(x * 2.0)
    }
    let asked = probe!("probe_06");
    let y = f(&v(&[1.0])).expect("a backend's own code");
    assert_eq!(y.to_vec::<f32>(), [2.0]);
    assert!(asked.lock().unwrap()[0].options.strict_native);
}

fn patch(mode: &str) -> Vec<(String, bool)> {
    list_mode_options(Some(mode)).expect(mode).into_iter().collect()
}

fn on(names: &[&str]) -> Vec<(String, bool)> {
    names.iter().map(|n| (n.to_string(), true)).collect()
}

#[test]
fn case_62_modes_are_patches_of_the_options() {
    assert!(patch("default").is_empty());
    assert_eq!(patch("reduce-overhead"), on(&["cudagraphs"]));
    assert_eq!(
        patch("max-autotune-no-cudagraphs"),
        on(&["coordinate_descent_tuning", "max_autotune"])
    );
    assert_eq!(
        patch("max-autotune"),
        on(&["coordinate_descent_tuning", "cudagraphs", "max_autotune"])
    );
    let e = list_mode_options(Some("fastest")).expect_err("no such mode");
    let text = e.to_string();
    assert!(
        text.contains("unrecognized mode") && text.contains("fastest"),
        "{text}"
    );
    assert!(
        text.contains("reduce-overhead") && text.contains("max-autotune"),
        "{text}"
    );

    let defaults = list_mode_options(None).expect("every option");
    for name in ["cudagraphs", "max_autotune", "coordinate_descent_tuning"] {
        assert_eq!(defaults.get(name), Some(&false), "{defaults:?}");
    }
}

fn options(mode: Option<Mode>, set: &[(&str, OptionValue)]) -> CompileOptions {
    CompileOptions {
        mode,
        options: set.iter().map(|(n, v)| (n.to_string(), v.clone())).collect(),
        ..CompileOptions::default()
    }
}

#[test]
fn case_63_an_option_wins_over_the_mode() {
    let defaults = list_mode_options(None).expect("every option");
    let all = options(None, &[]).resolved().expect("nothing is set");
    assert_eq!(all, defaults);

    let all = options(Some(Mode::ReduceOverhead), &[("cudagraphs", false.into())]);
    assert_eq!(all.resolved().expect("they are options"), defaults);

    let all = options(
        Some(Mode::MaxAutotune),
        &[("cudagraphs", false.into()), ("fusion", false.into())],
    );
    let mut right: BTreeMap<String, bool> = defaults.clone();
    right.extend(patch("max-autotune-no-cudagraphs"));
    right.insert("fusion".into(), false);
    assert_eq!(all.resolved().expect("they are options"), right);

    let e = options(None, &[("cudagraph", true.into())]).resolved();
    let text = e.expect_err("no such option").to_string();
    assert!(
        text.contains("cudagraph") && text.contains("cudagraphs"),
        "{text}"
    );
}

#[test]
fn case_63_a_backend_is_given_the_mode_and_the_options_that_were_written() {
    #[compile(backend = "probe_63", mode = "max-autotune")]
    fn moded(x: &Tensor) -> Tensor {
        x + 1.0
    }
    #[compile(backend = "probe_63", options(fusion = false, max_autotune))]
    fn optioned(x: &Tensor) -> Tensor {
        x + 1.0
    }
    let asked = probe!("probe_63");
    moded(&v(&[1.0]));
    optioned(&v(&[1.0]));
    let asked = asked.lock().unwrap();
    assert_eq!(asked[0].options, options(Some(Mode::MaxAutotune), &[]));
    assert_eq!(
        asked[1].options,
        options(None, &[("fusion", false.into()), ("max_autotune", true.into())])
    );
}

#[test]
fn case_64_every_mode_is_right_on_the_cpu() {
    #[compile(fullgraph, mode = "default")]
    fn default(x: &Tensor, w: &Tensor) -> Tensor {
        (x.matmul(w) + 1.0).relu().softmax(-1)
    }
    #[compile(fullgraph, mode = "reduce-overhead")]
    fn reduce_overhead(x: &Tensor, w: &Tensor) -> Tensor {
        (x.matmul(w) + 1.0).relu().softmax(-1)
    }
    #[compile(fullgraph, mode = "max-autotune")]
    fn max_autotune(x: &Tensor, w: &Tensor) -> Tensor {
        (x.matmul(w) + 1.0).relu().softmax(-1)
    }
    #[compile(fullgraph, mode = "max-autotune-no-cudagraphs")]
    fn no_cudagraphs(x: &Tensor, w: &Tensor) -> Tensor {
        (x.matmul(w) + 1.0).relu().softmax(-1)
    }
    let (x, w) = (iota(&[3, 4]) * 0.25, iota(&[4, 5]) * 0.125 - 1.0);
    let right = (x.matmul(&w) + 1.0).relu().softmax(-1);
    let mut earlier: Vec<Tensor> = Vec::new();
    for _ in 0..3 {
        for f in [default, reduce_overhead, max_autotune, no_cudagraphs] {
            earlier.push(f(&x, &w));
            f(&w.t().contiguous().narrow(1, 0, 4), &w);
        }
    }
    for y in earlier {
        assert!(y.allclose(&right, 1e-5, 1e-6), "a result stays valid: {y}");
    }
    for e in [
        explain!(default),
        explain!(reduce_overhead),
        explain!(max_autotune),
        explain!(no_cudagraphs),
    ] {
        assert_eq!((e.entries.len(), e.calls.dispatched), (2, 6), "{e}");
    }
}

#[test]
fn case_64_options_act() {
    #[compile(fullgraph, options(native = false))]
    fn on_tiles(x: &Tensor) -> Tensor {
        (x * 2.0 + 1.0).relu()
    }
    #[compile(fullgraph, options(fusion = false))]
    fn unfused(x: &Tensor) -> Tensor {
        (x * 2.0 + 1.0).relu()
    }
    let x = v(&[1.0, -2.0]);
    assert_eq!(against_body!(on_tiles(&x)).to_vec::<f32>(), [3.0, 0.0]);
    let e = explain!(on_tiles);
    assert_eq!((e.calls.steps.emitted, e.calls.steps.tile), (0, 1), "{e}");
    assert_eq!(e.entries[0].codegen, Codegen::TileVm, "{e}");

    assert_eq!(against_body!(unfused(&x)).to_vec::<f32>(), [3.0, 0.0]);
    let e = explain!(unfused);
    let steps = e.calls.steps;
    assert_eq!(steps.emitted + steps.tile + steps.ops, 3, "{e}");
}

/// What stax makes of a graph with these options.
fn on_stax(o: &CompileOptions) -> Result<Box<dyn Executable>> {
    #[compile(fullgraph)]
    fn f(x: &Tensor) -> Tensor {
        (x * 2.0 + 1.0).relu()
    }
    let stax = lookup_backend("stax").expect("stax");
    stax.compile(&graph!(f), &[Example::of(&v(&[1.0, -2.0]))], o)
}

#[test]
fn case_64_values_of_options_are_bools() {
    let wrong = options(None, &[("max_autotune", "yes".into())]);
    for e in [
        wrong.resolved().expect_err("a string"),
        on_stax(&wrong).err().expect("a string"),
    ] {
        let text = e.to_string();
        assert!(
            text.contains("must be bool values") && text.contains("max_autotune"),
            "{text}"
        );
    }
    let unknown = options(None, &[("max_auto", true.into())]);
    let text = on_stax(&unknown).err().expect("no such option").to_string();
    assert!(
        text.contains("max_auto") && text.contains("max_autotune"),
        "{text}"
    );

    let right = options(Some(Mode::MaxAutotune), &[("cudagraphs", false.into())]);
    let executable = on_stax(&right).expect("they are options");
    let y = executable.run(&[v(&[1.0, -2.0])]).expect("it runs");
    assert_eq!(y[0].to_vec::<f32>(), [3.0, 0.0]);
    assert_eq!(
        executable.codegen(),
        Codegen::TileVm,
        "a graph of run time has no kernels in the binary"
    );
}
