//! Other attributes of ours on a marked function.

use crate::{PLAIN, errors, marked, tokens};
use proc_macro2::TokenStream;
use quote::ToTokens;
use tensorplay_capture::{MarkerKind, compile};

#[test]
fn one_marker_on_a_function() {
    let with = |attribute: &str| format!("#[doc = \"x\"] #[{attribute}] {PLAIN}");
    assert_eq!(
        errors(
            MarkerKind::AllowInGraph,
            "",
            &with("tensorplay::disable(recursive = false)")
        ),
        [
            "[TP0081] a function cannot be both `allow_in_graph` and `disable`; help: keep one of the two attributes"
        ]
    );
    assert_eq!(
        errors(MarkerKind::Unused, "", &with("unused")),
        ["[TP0081] this function is marked `unused` twice; help: keep one of the two attributes"]
    );
    for kind in MarkerKind::ALL {
        let refuses = matches!(kind, MarkerKind::Export | MarkerKind::OverloadMethod);
        if kind == MarkerKind::Disable || refuses {
            continue;
        }
        let attr = if kind == MarkerKind::SubstituteInGraph {
            "g"
        } else {
            ""
        };
        let all = errors(kind, attr, &with("tensorplay::compile(fullgraph)"));
        let name = kind.name();
        assert_eq!(
            all,
            [format!(
                "[TP0081] a function cannot be both `{name}` and `compile`; help: keep one of the two attributes"
            )]
        );
    }
    assert!(errors(MarkerKind::Disable, "", &with("nested_compile_region"))[0].starts_with("[TP0081]"));
    // of another crate
    marked(MarkerKind::Disable, "", &with("other::export"));
}

#[test]
fn compile_beside_disable_is_disabled() {
    for (written, becomes) in [
        ("compile", "compile (disable)"),
        ("compile(fullgraph)", "compile (disable , fullgraph)"),
        (
            "tensorplay::compile(disable = false, name = \"f\")",
            "tensorplay :: compile (disable , name = \"f\")",
        ),
    ] {
        let m = marked(MarkerKind::Disable, "", &format!("#[{written}] {PLAIN}"));
        let text = m.item.to_token_stream().to_string();
        assert!(text.starts_with(&format!("# [{becomes}] fn f")), "{text}");
    }
    let below = |attribute: &str| {
        let item = format!("#[{attribute}] fn f(x: &Tensor) -> Tensor {{ for _ in 0..9 {{}} x.relu() }}");
        compile(TokenStream::new(), tokens(&item)).expect_err("it is not captured")
    };
    let failure = below("disable(recursive = false)");
    assert!(failure.diagnostics.is_empty());
    assert!(failure.item.to_string().starts_with("# [disable"));
    let failure = below("allow_in_graph");
    let shown = failure.diagnostics[0].to_string();
    assert!(
        shown.starts_with("[TP0081] a function cannot be both `compile` and `allow_in_graph`"),
        "{shown}"
    );
}
