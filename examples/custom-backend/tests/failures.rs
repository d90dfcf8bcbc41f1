//! What goes wrong with a backend, and which error says so.
#![deny(warnings)]

use custom_backend::CLOSURES;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tensorplay::compiler::{
    BackendCapabilities, BackendEntry, CONTRACT_VERSION, CompileOptions, Dependency, Example, Executable,
    ListBackends, list_backends, lookup_backend, register_backend, unregister_backend, with_backend,
};
use tensorplay::graph::GraphModule;
use tensorplay::{Error, Result, compile, explain, prelude::*};

type Made = Result<Box<dyn Executable>>;

#[compile(fullgraph)]
fn double(x: &Tensor) -> Result<Tensor> {
    Ok(x * 2.0)
}

fn x() -> Tensor {
    Tensor::from_slice(&[1.0f32, -2.0, 3.0], 3)
}

fn closures() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| register_backend(&CLOSURES).expect("a free name"));
}

const fn entry(name: &'static str) -> BackendEntry {
    BackendEntry {
        name,
        ..CLOSURES_AS_CONST
    }
}

const CLOSURES_AS_CONST: BackendEntry = BackendEntry {
    name: "",
    tags: &[],
    capabilities: BackendCapabilities::new(),
    make: || Ok(Box::new(custom_backend::Closures)),
};

/// The error of a call on a backend that fails; the same call is right on others before and after.
#[track_caller]
fn failing(entry: &'static BackendEntry) -> String {
    register_backend(entry).expect("a free name");
    let mut texts = Vec::new();
    for _ in 0..2 {
        assert_eq!(double(&x()).expect("stax").to_vec::<f32>(), [2.0, -4.0, 6.0]);
        let e = with_backend(entry.name, || double(&x())).expect("it is registered");
        let e = e.expect_err("it fails");
        let Error::BackendCompilerFailed {
            backend, function, ..
        } = &e
        else {
            panic!("{e:?}");
        };
        assert_eq!(backend, entry.name);
        assert!(function.ends_with("double"), "{function}");
        assert_eq!(e.code(), "TP0903");
        texts.push(e.to_string());
    }
    assert_eq!(texts[0], texts[1]);
    unregister_backend(entry.name);
    texts.remove(0)
}

#[test]
fn an_operation_that_it_does_not_know_is_named() {
    #[compile(fullgraph)]
    fn f(x: &Tensor) -> Result<Tensor> {
        Ok(x.relu().erf() + 1.0)
    }
    closures();
    let e = with_backend("closures", || f(&x())).expect("it is registered");
    let e = e.expect_err("erf");
    let line = line!() - 5;
    let Error::BackendCompilerFailed {
        backend,
        function,
        node: Some(node),
        source,
    } = &e
    else {
        panic!("{e:?}");
    };
    assert_eq!(backend, "closures");
    assert!(function.ends_with('f'), "{function}");
    assert!(
        node.contains("erf") && node.ends_with(&format!("failures.rs:{line}")),
        "{node}"
    );
    assert!(source.to_string().contains("no closure"), "{source}");
    let text = e.to_string();
    assert!(
        text.contains("closures") && text.contains(node.as_str()) && text.contains("no closure"),
        "{text}"
    );
}

#[test]
fn an_argument_that_it_does_not_know_is_named() {
    #[compile(fullgraph, dynamic = true)]
    fn f(x: &Tensor) -> Result<Tensor> {
        Ok(x * x.dim(0) as f64)
    }
    closures();
    let e = with_backend("closures", || f(&x())).expect("it is registered");
    let e = e.expect_err("arithmetic on a size");
    assert!(
        matches!(&e, Error::BackendCompilerFailed { node: Some(n), .. } if n.contains("mul")),
        "{e:?}"
    );
}

#[test]
fn a_plain_function_panics_with_the_text_of_the_error() {
    #[compile(fullgraph)]
    fn f(x: &Tensor) -> Tensor {
        x.erf()
    }
    closures();
    let panic = std::panic::catch_unwind(|| with_backend("closures", || f(&x())));
    let panic = panic.expect_err("a panic");
    let text = panic.downcast_ref::<String>().expect("a text");
    assert!(text.contains("closures") && text.contains("erf"), "{text}");
}

#[test]
fn a_misspelt_name_says_what_was_meant() {
    closures();
    let e = with_backend("closurs", || double(&x())).expect_err("no such backend");
    match &e {
        Error::InvalidBackend { name, suggestions } => {
            assert_eq!(name, "closurs");
            assert_eq!(suggestions[0], "closures");
        }
        other => panic!("{other:?}"),
    }
    assert!(e.to_string().contains("did you mean `closures`"), "{e}");
}

#[test]
fn a_name_is_registered_once() {
    static TWICE: BackendEntry = entry("twice");
    register_backend(&TWICE).expect("a free name");
    let e = register_backend(&TWICE).expect_err("it is there").to_string();
    assert!(e.contains("`twice`") && e.contains("already registered"), "{e}");
}

#[test]
fn a_missing_dependency_says_how_to_install_it() {
    static ABSENT: BackendEntry = BackendEntry {
        capabilities: BackendCapabilities::new().optional_deps(&[Dependency {
            name: "libclosure",
            install: "apt install libclosure",
            available: || false,
        }]),
        ..entry("absent")
    };
    register_backend(&ABSENT).expect("it may be installed later");
    assert!(!list_backends(ListBackends::default()).contains(&"absent".to_string()));
    let e = with_backend("absent", || double(&x()))
        .expect_err("it is missing")
        .to_string();
    assert!(
        e.contains("libclosure") && e.contains("apt install libclosure"),
        "{e}"
    );
}

#[test]
fn a_later_contract_asks_for_an_upgrade() {
    static LATER: BackendEntry = BackendEntry {
        capabilities: BackendCapabilities::new().contract_version(CONTRACT_VERSION + 1),
        ..entry("later")
    };
    register_backend(&LATER).expect("a free name");
    let e = lookup_backend("later").err().expect("of the future").to_string();
    assert!(e.contains("`later`") && e.contains("upgrade"), "{e}");
}

/// A backend whose executable gives `outputs` of the argument.
macro_rules! giving {
    ($name:literal, $outputs:expr) => {{
        static ENTRY: BackendEntry = BackendEntry {
            make: || {
                Ok(Box::new(
                    |_: &GraphModule, _: &[Example], _: &CompileOptions| -> Made {
                        let outputs: fn(&Tensor) -> Result<Vec<Tensor>> = $outputs;
                        Ok(Box::new(move |inputs: &[Tensor]| outputs(&inputs[0])))
                    },
                ))
            },
            ..entry($name)
        };
        &ENTRY
    }};
}

#[test]
fn results_are_checked() {
    let text = failing(giving!("none", |_| Ok(vec![])));
    assert!(text.contains('0') && text.contains('1'), "{text}");
    let text = failing(giving!("two", |x| Ok(vec![x.clone(), x.clone()])));
    assert!(text.contains('2') && text.contains('1'), "{text}");
    let text = failing(giving!("wide", |x| Ok(vec![x.to_dtype(DType::F64)])));
    assert!(text.contains("f64") && text.contains("f32"), "{text}");
    let text = failing(giving!("short", |x| Ok(vec![x.narrow(0, 0, 2)])));
    assert!(text.contains("[2]") && text.contains("[3]"), "{text}");
    let text = failing(giving!("flat", |x| Ok(vec![x.unsqueeze(0)])));
    assert!(text.contains("[1, 3]") && text.contains("[3]"), "{text}");
}

#[test]
fn what_a_backend_says_is_handed_on() {
    let text = failing(giving!("sorry", |_| Err(Error::msg("out of closures"))));
    assert!(text.contains("out of closures"), "{text}");
    static NO: BackendEntry = BackendEntry {
        make: || Err(Error::msg("no closures here")),
        ..entry("unmade")
    };
    register_backend(&NO).expect("a free name");
    let e = with_backend("unmade", || double(&x()))
        .expect_err("it cannot be made")
        .to_string();
    assert!(e.contains("unmade") && e.contains("no closures here"), "{e}");
}

#[test]
fn a_panic_is_an_error_of_the_call() {
    let text = failing(giving!("panics_in_run", |_| panic!("run away")));
    assert!(text.contains("run away"), "{text}");
    static IN_COMPILE: BackendEntry = BackendEntry {
        make: || {
            Ok(Box::new(
                |_: &GraphModule, _: &[Example], _: &CompileOptions| -> Made { panic!("no way") },
            ))
        },
        ..entry("panics_in_compile")
    };
    let text = failing(&IN_COMPILE);
    assert!(text.contains("no way"), "{text}");
}

#[test]
fn a_failure_writes_nothing() {
    #[compile(fullgraph)]
    fn add(total: &mut Tensor, x: &Tensor) -> Result<Tensor> {
        *total = &*total + x;
        Ok(x * 2.0)
    }
    register_backend(giving!("half", |x| Ok(vec![x.clone()]))).expect("a free name");
    let mut total = x();
    for _ in 0..2 {
        with_backend("half", || add(&mut total, &x()))
            .expect("it is registered")
            .expect_err("the new total is missing");
        assert_eq!(total.to_vec::<f32>(), [1.0, -2.0, 3.0]);
    }
    closures();
    let y = with_backend("closures", || add(&mut total, &x()));
    y.expect("it is registered").expect("it knows both");
    assert_eq!(total.to_vec::<f32>(), [2.0, -4.0, 6.0]);
}

static GONE_MADE: AtomicUsize = AtomicUsize::new(0);

static GONE: BackendEntry = BackendEntry {
    make: || {
        GONE_MADE.fetch_add(1, Relaxed);
        Ok(Box::new(custom_backend::Closures))
    },
    ..entry("gone_soon")
};

#[test]
fn a_backend_that_went_between_two_calls_is_unknown() {
    #[compile(fullgraph, backend = "gone_soon")]
    fn f(x: &Tensor) -> Result<Tensor> {
        Ok(x + 1.0)
    }
    let unknown = |result: Result<Tensor>| {
        let e = result.expect_err("no such backend");
        assert!(
            matches!(&e, Error::InvalidBackend { name, .. } if name == "gone_soon"),
            "{e:?}"
        );
    };
    unknown(f(&x()));
    for made in 1..=3 {
        register_backend(&GONE).expect("a free name");
        for _ in 0..2 {
            assert_eq!(f(&x()).expect("it is there").to_vec::<f32>(), [2.0, -1.0, 4.0]);
        }
        assert_eq!(GONE_MADE.load(Relaxed), made, "each registration makes its own");
        let live = explain!(f).entries;
        assert_eq!(live.len(), 1, "{live:?}");
        unregister_backend("gone_soon");
        unknown(f(&x()));
        unknown(f(&x()));
    }
}
