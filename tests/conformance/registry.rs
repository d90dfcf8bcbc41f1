//! Backends by name: 1, 51 to 54, 59 and 60.

use crate::check::{alone, v};
use crate::probe::as_it_is;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tensorplay::compiler::{
    Backend, BackendCapabilities, BackendEntry, CONTRACT_VERSION, CompileOptions, Dependency, Example,
    Executable, ListBackends, get_backend_capabilities, get_default_backend, list_backends, lookup_backend,
    register_backend, register_debug_backend, register_experimental_backend, reset, set_default_backend,
    unregister_backend, with_backend,
};
use tensorplay::graph::GraphModule;
use tensorplay::{Error, Result, compile, explain, prelude::*, submit_backend};

const DEBUG: [&str; 7] = [
    "eager",
    "eager_debug",
    "eager_noexcept",
    "non_leaf_compile_error_TESTING_ONLY",
    "relu_accuracy_error_TESTING_ONLY",
    "relu_compile_error_TESTING_ONLY",
    "relu_runtime_error_TESTING_ONLY",
];

/// All names, but those that need what is not installed.
fn all() -> Vec<String> {
    list_backends(ListBackends {
        exclude_tags: &[],
        ..ListBackends::default()
    })
}

fn has(names: &[String], name: &str) -> bool {
    names.iter().any(|n| n == name)
}

/// Adds `1.0` to the first result.
struct OneMore;

impl Backend for OneMore {
    fn compile(&self, graph: &GraphModule, _: &[Example], _: &CompileOptions) -> Result<Box<dyn Executable>> {
        let inner = as_it_is(graph);
        Ok(Box::new(move |inputs: &[Tensor]| -> Result<Vec<Tensor>> {
            let mut outputs = inner.run(inputs)?;
            outputs[0] = &outputs[0] + 1.0;
            Ok(outputs)
        }))
    }
}

fn one_more() -> Result<Box<dyn Backend>> {
    Ok(Box::new(OneMore))
}

const fn entry(name: &'static str) -> BackendEntry {
    BackendEntry {
        name,
        tags: &[],
        capabilities: BackendCapabilities::new(),
        make: one_more,
    }
}

#[compile]
fn double(x: &Tensor) -> Tensor {
    x * 2.0
}

#[test]
fn case_01_the_default_backend_is_stax() {
    assert_eq!(get_default_backend(), "stax");
    double(&v(&[1.0, 2.0, 3.0, 4.0, 5.0]));
    let e = explain!(double);
    assert!(e.entries.iter().any(|e| e.backend == "stax"), "{e}");
}

#[test]
fn case_01_the_default_backend_can_be_another() {
    alone("registry::another_default", &[]);
}

#[test]
#[ignore = "run by case_01"]
fn another_default() {
    static ENTRY: BackendEntry = entry("one_more_by_default");
    let x = v(&[1.0, 2.0]);
    register_backend(&ENTRY).expect("a free name");
    set_default_backend("one_more_by_default").expect("it is registered");
    assert_eq!(get_default_backend(), "one_more_by_default");
    assert_eq!(double(&x).to_vec::<f32>(), [3.0, 5.0]);

    // a scope wins over the default
    let y = with_backend("stax", || double(&x)).expect("stax");
    assert_eq!(y.to_vec::<f32>(), [2.0, 4.0]);

    let e = set_default_backend("one_more_by_defualt").expect_err("no such name");
    assert!(matches!(e, Error::InvalidBackend { .. }), "{e}");
    assert_eq!(get_default_backend(), "one_more_by_default");

    set_default_backend(None).expect("stax is always there");
    assert_eq!(get_default_backend(), "stax");
    assert_eq!(double(&x).to_vec::<f32>(), [2.0, 4.0]);

    set_default_backend("one_more_by_default").expect("it is registered");
    unregister_backend("one_more_by_default");
    assert_eq!(get_default_backend(), "stax", "the default went");
    assert_eq!(double(&x).to_vec::<f32>(), [2.0, 4.0]);
}

#[test]
fn case_51_an_unknown_name_says_what_was_meant() {
    let e = lookup_backend("stx").err().expect("no such backend");
    let text = e.to_string();
    match e {
        Error::InvalidBackend { name, suggestions } => {
            assert_eq!(name, "stx");
            assert_eq!(suggestions, ["stax"]);
        }
        other => panic!("{other:?}"),
    }
    assert!(
        text.contains("`stx`") && text.contains("did you mean `stax`"),
        "{text}"
    );

    let e = lookup_backend("nothing like it").err().expect("no such backend");
    assert!(
        matches!(&e, Error::InvalidBackend { suggestions, .. } if suggestions.is_empty()),
        "{e:?}"
    );
    assert!(!e.to_string().contains("did you mean"), "{e}");
    assert_eq!(e.code(), "TP0902");

    let mut called = false;
    let e = with_backend("stx", || called = true).expect_err("no such backend");
    assert!(matches!(e, Error::InvalidBackend { .. }) && !called, "{e}");
    let e = get_backend_capabilities("stx").expect_err("no such backend");
    assert!(matches!(e, Error::InvalidBackend { .. }), "{e}");
}

#[test]
fn case_51_an_attribute_with_an_unknown_name_is_an_error_of_the_call() {
    #[compile(backend = "eager_debugg")]
    fn f(x: &Tensor) -> Result<Tensor> {
        Ok(x + 1.0)
    }
    for _ in 0..2 {
        let e = f(&v(&[1.0])).expect_err("no such backend");
        assert!(
            matches!(&e, Error::InvalidBackend { suggestions, .. } if suggestions[0] == "eager_debug"),
            "{e:?}"
        );
    }
}

static MADE: AtomicUsize = AtomicUsize::new(0);

submit_backend!(BackendEntry {
    make: || {
        MADE.fetch_add(1, Relaxed);
        one_more()
    },
    ..entry("submitted_52")
});
submit_backend!(entry("stax"));
submit_backend!(entry("eager"));
submit_backend!(BackendEntry {
    make: || Err(Error::msg("no licence")),
    ..entry("refuses_52")
});
submit_backend!(BackendEntry {
    make: || panic!("no driver"),
    ..entry("panics_52")
});
submit_backend!(entry("hidden_52"));

#[test]
fn case_52_a_submitted_backend_is_listed_and_made_when_it_is_looked_up() {
    #[compile]
    fn f(x: &Tensor) -> Tensor {
        x * 2.0
    }
    assert!(has(&list_backends(ListBackends::default()), "submitted_52"));
    get_backend_capabilities("submitted_52").expect("it is known");
    assert_eq!(MADE.load(Relaxed), 0, "a list makes none");
    let x = v(&[1.0, 2.0]);
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| lookup_backend("submitted_52").map(drop).expect("it is known"));
        }
    });
    for _ in 0..2 {
        let y = with_backend("submitted_52", || f(&x)).expect("it is known");
        assert_eq!(y.to_vec::<f32>(), [3.0, 5.0]);
    }
    assert_eq!(MADE.load(Relaxed), 1);
}

#[test]
fn case_52_a_submission_takes_no_name_that_is_owned() {
    #[compile]
    fn f(x: &Tensor) -> Tensor {
        x * 2.0
    }
    let x = v(&[1.0, 2.0]);
    assert_eq!(f(&x).to_vec::<f32>(), [2.0, 4.0]);
    for name in ["stax", "eager"] {
        let y = with_backend(name, || f(&x)).expect(name);
        assert_eq!(y.to_vec::<f32>(), [2.0, 4.0], "{name}");
        assert_eq!(all().iter().filter(|n| *n == name).count(), 1, "{name}");
    }
}

#[test]
fn case_52_a_backend_that_cannot_be_made_says_which_and_why() {
    for (name, why) in [("refuses_52", "no licence"), ("panics_52", "no driver")] {
        assert!(has(&all(), name));
        for _ in 0..2 {
            let e = lookup_backend(name).err().expect("it cannot be made");
            let text = e.to_string();
            assert!(text.contains(name) && text.contains(why), "{text}");
            assert!(
                matches!(&e, Error::BackendCompilerFailed { backend, .. } if backend == name),
                "{e:?}"
            );
        }
    }
}

#[test]
fn case_52_a_registration_hides_a_submission_until_it_is_taken_back() {
    static ENTRY: BackendEntry = BackendEntry {
        make: || {
            Ok(Box::new(
                |graph: &GraphModule, _: &[Example], _: &CompileOptions| Ok(as_it_is(graph)),
            ))
        },
        ..entry("hidden_52")
    };
    #[compile]
    fn f(x: &Tensor) -> Tensor {
        x * 2.0
    }
    let x = v(&[1.0, 2.0]);
    let run = || {
        with_backend("hidden_52", || f(&x))
            .expect("it is known")
            .to_vec::<f32>()
    };
    assert_eq!(run(), [3.0, 5.0]);
    register_backend(&ENTRY).expect("a submission owns no name");
    assert_eq!(run(), [2.0, 4.0]);
    assert_eq!(all().iter().filter(|n| *n == "hidden_52").count(), 1);
    unregister_backend("hidden_52");
    assert_eq!(run(), [3.0, 5.0]);
}

#[test]
fn case_52_a_name_is_registered_once() {
    static ENTRY: BackendEntry = entry("once_52");
    static EMPTY: BackendEntry = entry("");
    static STAX: BackendEntry = entry("stax");
    register_backend(&ENTRY).expect("a free name");
    for register in [
        register_backend,
        register_debug_backend,
        register_experimental_backend,
    ] {
        let e = register(&ENTRY).expect_err("it is there").to_string();
        assert!(e.contains("once_52") && e.contains("already registered"), "{e}");
    }
    unregister_backend("once_52");
    assert!(!has(&all(), "once_52"));
    register_backend(&ENTRY).expect("the name is free again");
    unregister_backend("once_52");
    unregister_backend("once_52");

    register_backend(&EMPTY).expect_err("a backend needs a name");
    register_backend(&STAX).expect_err("stax is built in");
    unregister_backend("stax");
    assert!(lookup_backend("stax").is_ok(), "built-in backends stay");
}

#[test]
fn case_53_reset_calls_that_of_each_backend_once() {
    alone("registry::backends_are_reset", &[]);
}

static RESETS: AtomicUsize = AtomicUsize::new(0);

struct Resets;

impl Backend for Resets {
    fn compile(&self, graph: &GraphModule, _: &[Example], _: &CompileOptions) -> Result<Box<dyn Executable>> {
        Ok(as_it_is(graph))
    }

    fn reset(&self) {
        RESETS.fetch_add(1, Relaxed);
    }
}

#[test]
#[ignore = "run by case_53"]
fn backends_are_reset() {
    static ENTRY: BackendEntry = BackendEntry {
        make: || Ok(Box::new(Resets)),
        ..entry("resets_53")
    };
    static UNMADE: BackendEntry = BackendEntry {
        make: || panic!("nobody looked it up"),
        ..entry("unmade_53")
    };
    register_backend(&ENTRY).expect("a free name");
    register_backend(&UNMADE).expect("a free name");
    reset();
    assert_eq!(RESETS.load(Relaxed), 0, "it was not made yet");
    let x = v(&[1.0]);
    with_backend("resets_53", || double(&x)).expect("it is registered");
    set_default_backend("resets_53").expect("it is registered");
    reset();
    assert_eq!(RESETS.load(Relaxed), 1);
    assert!(explain!(double).entries.is_empty());
    reset();
    assert_eq!(RESETS.load(Relaxed), 2);
    unregister_backend("resets_53");
    reset();
    assert_eq!(RESETS.load(Relaxed), 2);
}

#[test]
fn case_54_debug_backends_are_hidden_unless_asked_for() {
    let shown = list_backends(ListBackends::default());
    assert!(has(&shown, "stax"), "{shown:?}");
    let everything = all();
    for name in DEBUG {
        assert!(!has(&shown, name), "{shown:?}");
        assert!(has(&everything, name), "{everything:?}");
        lookup_backend(name).map(drop).expect(name);
    }
    assert!(everything.is_sorted() && shown.is_sorted());

    static AS_DEBUG: BackendEntry = entry("debug_54");
    static AS_EXPERIMENTAL: BackendEntry = entry("experimental_54");
    register_debug_backend(&AS_DEBUG).expect("a free name");
    register_experimental_backend(&AS_EXPERIMENTAL).expect("a free name");
    let but = |tags| {
        list_backends(ListBackends {
            exclude_tags: tags,
            ..ListBackends::default()
        })
    };
    for (tags, debug, experimental) in [
        (&["debug"][..], false, true),
        (&["experimental"], true, false),
        (&["debug", "experimental"], false, false),
        (&[], true, true),
    ] {
        let names = but(tags);
        assert_eq!(
            (has(&names, "debug_54"), has(&names, "experimental_54")),
            (debug, experimental),
            "{tags:?}"
        );
    }
}

#[test]
fn case_59_what_a_backend_declares_can_be_read() {
    let c = get_backend_capabilities("stax").expect("stax");
    assert!(c.optional_deps.is_empty());
    assert_eq!(c.contract_version, CONTRACT_VERSION);
    assert_eq!((c.min_core_version, c.max_core_version), (None, None));
    for name in DEBUG {
        let c = get_backend_capabilities(name).expect(name);
        assert!(c.optional_deps.is_empty() && c.contract_version <= CONTRACT_VERSION);
    }

    static ENTRY: BackendEntry = BackendEntry {
        capabilities: BackendCapabilities::new()
            .contract_version(1)
            .min_core_version("0.1.0")
            .max_core_version("99.0.0"),
        ..entry("declares_59")
    };
    register_backend(&ENTRY).expect("a free name");
    let c = get_backend_capabilities("declares_59").expect("it is registered");
    assert_eq!(
        (c.contract_version, c.min_core_version, c.max_core_version),
        (1, Some("0.1.0"), Some("99.0.0"))
    );
    lookup_backend("declares_59")
        .map(drop)
        .expect("this version is in range");
}

fn unavailable() -> Result<Box<dyn Backend>> {
    panic!("a backend that cannot be had is not made")
}

/// The text of a look-up that fails, in all ways.
fn refused(name: &str) -> String {
    let text = lookup_backend(name).err().expect(name).to_string();
    let mut called = false;
    let scoped = with_backend(name, || called = true).expect_err(name).to_string();
    let default = set_default_backend(name).expect_err(name).to_string();
    assert!(
        !called && scoped == text && default == text,
        "{scoped}\n{default}"
    );
    assert!(text.contains(name), "{text}");
    text
}

#[test]
fn case_59_a_missing_dependency_hides_a_backend_and_says_what_to_install() {
    static ENTRY: BackendEntry = BackendEntry {
        capabilities: BackendCapabilities::new().optional_deps(&[
            Dependency {
                name: "present",
                install: "pip install present",
                available: || true,
            },
            Dependency {
                name: "libabsent",
                install: "pip install absent==1.2",
                available: || false,
            },
        ]),
        make: unavailable,
        ..entry("missing_59")
    };
    register_backend(&ENTRY).expect("it may be installed later");
    assert!(!has(&list_backends(ListBackends::default()), "missing_59"));
    let with = ListBackends {
        include_unavailable: true,
        ..ListBackends::default()
    };
    assert!(has(&list_backends(with), "missing_59"));
    let text = refused("missing_59");
    assert!(
        text.contains("libabsent") && text.contains("pip install absent==1.2"),
        "{text}"
    );
    assert!(!text.contains("install present"), "{text}");
    let c = get_backend_capabilities("missing_59").expect("available or not");
    assert_eq!((c.optional_deps.len(), c.missing().len()), (2, 1));
}

#[test]
fn case_60_contract_and_versions_are_checked() {
    static LATER: BackendEntry = BackendEntry {
        capabilities: BackendCapabilities::new()
            .contract_version(CONTRACT_VERSION + 1)
            .max_core_version("0.0.1"),
        make: unavailable,
        ..entry("later_60")
    };
    static OLD: BackendEntry = BackendEntry {
        capabilities: BackendCapabilities::new().max_core_version("0.0.1"),
        make: unavailable,
        ..entry("old_60")
    };
    static NEW: BackendEntry = BackendEntry {
        capabilities: BackendCapabilities::new().min_core_version("99.0"),
        make: unavailable,
        ..entry("new_60")
    };
    static MISSING: BackendEntry = BackendEntry {
        capabilities: BackendCapabilities::new()
            .contract_version(CONTRACT_VERSION + 1)
            .optional_deps(&[Dependency {
                name: "libabsent",
                install: "apt install libabsent",
                available: || false,
            }]),
        make: unavailable,
        ..entry("missing_60")
    };
    for entry in [&LATER, &OLD, &NEW, &MISSING] {
        register_backend(entry).expect("a free name");
    }
    let text = refused("later_60");
    assert!(text.contains("upgrade") && !text.contains("0.0.1"), "{text}");
    let text = refused("old_60");
    assert!(text.contains("supports tensorplay <= 0.0.1"), "{text}");
    let text = refused("new_60");
    assert!(text.contains("requires tensorplay >= 99.0"), "{text}");
    let text = refused("missing_60");
    assert!(
        text.contains("apt install libabsent") && !text.contains("upgrade"),
        "{text}"
    );
}
