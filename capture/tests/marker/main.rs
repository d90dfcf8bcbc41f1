//! Markers: their arguments, their functions, and other attributes beside them.

mod beside;

use proc_macro2::TokenStream;
use tensorplay_capture::{Marked, MarkerKind, mark};

fn tokens(text: &str) -> TokenStream {
    text.parse().expect("these are tokens")
}

fn marked(kind: MarkerKind, attr: &str, item: &str) -> Marked {
    mark(kind, tokens(attr), tokens(item)).unwrap_or_else(|f| panic!("{attr} {item}: {:?}", f.diagnostics))
}

/// The messages, each on one line.
fn errors(kind: MarkerKind, attr: &str, item: &str) -> Vec<String> {
    let failure = mark(kind, tokens(attr), tokens(item)).expect_err("it is refused");
    assert_eq!(
        failure.item.to_string().replace(' ', ""),
        tokens(item).to_string().replace(' ', ""),
        "the tokens come back"
    );
    failure
        .diagnostics
        .iter()
        .map(|d| {
            let text = d.to_string();
            assert!(text.contains("\n  help: "), "says what to write: {text}");
            text.replace("\n  ", "; ")
        })
        .collect()
}

const PLAIN: &str = "fn f(x: &Tensor) -> Tensor { x.relu() }";

#[test]
fn arguments_are_typed() {
    let m = marked(MarkerKind::Disable, "", PLAIN).marker;
    assert!(m.recursive && m.reason.is_none() && m.krate.is_none());
    let m = marked(
        MarkerKind::Disable,
        "recursive = false, reason = \"prints\", crate = my::own",
        PLAIN,
    )
    .marker;
    assert!(!m.recursive && m.krate.is_some());
    assert_eq!(m.reason.as_deref(), Some("prints"));
    let m = marked(
        MarkerKind::SubstituteInGraph,
        "self::g, skip_signature_check = true, can_constant_fold_through = false",
        PLAIN,
    )
    .marker;
    assert_eq!(
        m.original.map(|o| o.to_string()).as_deref(),
        Some("g"),
        "beside `f`"
    );
    assert!(m.skip_signature_check);
}

#[test]
fn arguments_that_are_not_taken() {
    let of = |kind, attr| errors(kind, attr, PLAIN);
    assert_eq!(
        of(
            MarkerKind::Disable,
            "recursive = 3, recursiv = true, reason = \"\", reason = \"x\", 5"
        ),
        [
            "[TP0004] `recursive` takes a bool; help: write recursive = true",
            "[TP0002] unknown argument `recursiv`; help: did you mean `recursive`?",
            "[TP0004] `reason` takes a string that is not empty; help: write reason = \"..\"",
            "[TP0003] `reason` is written twice; help: keep one",
            "[TP0001] this is not an argument of `disable`; help: arguments are `name`, `name = value` or `name(..)`, separated by commas",
        ]
    );
    assert_eq!(
        of(MarkerKind::AllowInGraph, "reason = \"x\""),
        ["[TP0002] unknown argument `reason`; help: the only argument is crate"]
    );
    assert_eq!(
        of(
            MarkerKind::SubstituteInGraph,
            "g, can_constant_fold_through = true"
        ),
        [
            "[TP0090] `can_constant_fold_through = true` is not available yet; help: remove it; a substitute is not evaluated at build time"
        ]
    );
}

#[test]
fn the_original_is_a_function_of_the_module() {
    let of = |attr| errors(MarkerKind::SubstituteInGraph, attr, PLAIN);
    const HELP: &str = "help: write #[substitute_in_graph(original)] beside `fn original`, in one module";
    let missing = format!("[TP0083] `substitute_in_graph` begins with the function that is replaced; {HELP}");
    assert_eq!(of(""), [missing.as_str()]);
    assert_eq!(of("skip_signature_check = true"), [missing.as_str()]);
    assert_eq!(of("\"g\"").first(), Some(&missing));
    for path in ["a::g", "g::<f32>", "crate::g", "super::g"] {
        let message = format!("[TP0083] `{path}` is not the name of a function in this module; {HELP}");
        assert_eq!(of(path), [message]);
    }
    assert!(of("f")[0].starts_with("[TP0083] `f` cannot stand in for itself"));
    let hidden = errors(
        MarkerKind::SubstituteInGraph,
        "g",
        "fn f(x: impl Into<f32>) -> impl Iterator<Item = u8> {}",
    );
    assert_eq!(hidden.len(), 2, "{hidden:?}");
    marked(
        MarkerKind::SubstituteInGraph,
        "g, skip_signature_check = true",
        "fn f(x: impl Into<f32>) {}",
    );
}

#[test]
fn functions_that_cannot_be_marked() {
    let items = [
        ("const fn f() {}", "a `const fn`"),
        ("async fn f() {}", "an `async fn`"),
        ("unsafe fn f() {}", "an `unsafe fn`"),
        ("extern \"C\" fn f() {}", "an `extern` function"),
        ("fn f(&self) {}", "a method"),
        ("fn f() -> Self {}", "a method"),
    ];
    let kinds = [
        MarkerKind::AllowInGraph,
        MarkerKind::NonstrictTrace,
        MarkerKind::DisallowInGraph,
        MarkerKind::Disable,
        MarkerKind::Unused,
        MarkerKind::AssumeConstantResult,
    ];
    for (item, what) in items {
        for kind in kinds {
            let start = format!("[TP0080] {what} cannot be marked `#[{}]`: ", kind.name());
            let all = errors(kind, "", item);
            assert!(all.len() == 1 && all[0].starts_with(&start), "{all:?}");
        }
    }
    for item in ["struct S { x: Tensor }", "impl S {}", "mod m {}", "fn f();"] {
        for kind in MarkerKind::ALL {
            let start = format!("[TP0008] `#[{}]` goes on a function with a body", kind.name());
            assert!(errors(kind, "g", item)[0].starts_with(&start));
        }
    }
    // rustc reports syntax errors, once
    assert_eq!(errors(MarkerKind::Disable, "", "fn f() { x + }"), [""; 0]);
}

#[test]
fn results_that_can_be_kept() {
    let kind = MarkerKind::AssumeConstantResult;
    for ty in [
        "Tensor",
        "()",
        "(Tensor, f32)",
        "&'static str",
        "Vec<Option<&'static [u8]>>",
        "Arc<dyn Fn(&Tensor) -> &Tensor + Send + Sync>",
        "for<'a> fn(&'a Tensor) -> &'a Tensor",
    ] {
        marked(kind, "", &format!("fn f() -> {ty} {{ x }}"));
    }
    marked(kind, "", "fn f<'a>(x: &'a Tensor, _: &[Tensor]) { }");
    for item in [
        "fn f(x: &Tensor) -> &Tensor { x }",
        "fn f(x: &Tensor) -> Part<'_> { x }",
        "fn f<'a>(x: &'a Tensor) -> Vec<&'a Tensor> { x }",
        "fn f() -> impl Clone { 1 }",
        "fn f<T>(x: T) -> f32 { 1.0 }",
        "fn f<const N: usize>() -> f32 { 1.0 }",
        "fn f(x: impl Into<f32>) -> f32 { 1.0 }",
    ] {
        let all = errors(kind, "", item);
        assert!(
            all.len() == 1 && all[0].starts_with("[TP0082]"),
            "{item}: {all:?}"
        );
    }
}

#[test]
fn markers_without_a_meaning_here_say_so() {
    assert!(
        errors(MarkerKind::Export, "", PLAIN)[0].starts_with("[TP0090] `#[export]` is not available yet")
    );
    assert!(errors(MarkerKind::OverloadMethod, "", PLAIN)[0].starts_with("[TP0084]"));
}

#[test]
fn nothing_panics() {
    let attrs = [
        "",
        ",",
        "a",
        "a, b",
        "a::b",
        "= 1",
        "a = ",
        "(a)",
        "recursive",
        "recursive = = 1",
        "crate = 1",
        "crate",
        "self",
        "self::self",
        "_",
        "a<b>",
        "<a as b>::c",
        "\"x\"",
        "{",
        "reason(1)",
        "crate::a, crate = crate",
    ];
    let items = [
        "",
        "fn",
        "fn f() {}",
        "fn f(self) {}",
        "fn r#type() {}",
        "pub(in a) fn f() -> impl A {}",
        "struct S;",
        "#[a] fn f() {}",
        "#[disable = 1] fn f() {}",
        "#[compile = 1] fn f() {}",
        "#[compile[x]] fn f() -> (&(), impl B) {}",
        "1 + 1",
        "fn f<'a, T, const N: usize>(..) where T: A {}",
    ];
    for kind in MarkerKind::ALL {
        for attr in attrs {
            for item in items {
                if let (Ok(a), Ok(i)) = (attr.parse(), item.parse()) {
                    let _ = mark(kind, a, i);
                }
            }
        }
    }
}
