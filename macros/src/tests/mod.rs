//! Golden expansions, pretty-printed. `UPDATE_GOLDEN=1` writes them.
//!
//! Blobs are shown as `b".."` and hashes as zeros: what they hold has tests of its own.

mod lookup;

use crate::{expand, marker, reach};
use proc_macro2::{Delimiter, Group, Ident, Literal, TokenStream, TokenTree};
use std::path::Path;
use tensorplay_capture::MarkerKind;

fn masked(tokens: TokenStream) -> TokenStream {
    tokens
        .into_iter()
        .map(|t| match t {
            TokenTree::Group(g) => TokenTree::Group(Group::new(g.delimiter(), masked(g.stream()))),
            TokenTree::Literal(l) if l.to_string().starts_with("b\"") => Literal::byte_string(b"..").into(),
            TokenTree::Ident(i) => {
                let text = i.to_string();
                match text.strip_prefix("__tp_x_").and_then(|s| s.rsplit_once('_')) {
                    Some((name, _)) => {
                        Ident::new(&format!("__tp_x_{name}_0000000000000000"), i.span()).into()
                    }
                    None => i.into(),
                }
            }
            other => other,
        })
        .collect()
}

fn expansion(attr: &str, item: &str) -> TokenStream {
    twice(
        |a, i| expand::compile(tensorplay_capture::Under::Compile, a, i),
        attr,
        item,
    )
}

fn twice(attribute: impl Fn(TokenStream, TokenStream) -> TokenStream, attr: &str, item: &str) -> TokenStream {
    // every parsed text is a file of its own, on which the hash depends
    let expand = || {
        masked(attribute(
            attr.parse().expect("tokens"),
            item.parse().expect("tokens"),
        ))
    };
    let (once, again) = (expand(), expand());
    assert_eq!(
        once.to_string(),
        again.to_string(),
        "the same tokens give the same expansion"
    );
    once
}

fn check(name: &str, attr: &str, item: &str) {
    let tokens = expansion(attr, item);
    let method = item.contains("self") || item.contains("Self");
    check_tokens(
        name,
        if method {
            quote::quote!(impl Net { #tokens })
        } else {
            tokens
        },
    );
}

fn check_tokens(name: &str, tokens: TokenStream) {
    let file = syn::parse2(tokens.clone()).unwrap_or_else(|e| panic!("{e}: {tokens}"));
    let got = prettyplease::unparse(&file);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/tests/expanded/{name}.txt"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &got).expect("the golden text can be written");
    }
    let want = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(got, want, "{name}.txt");
}

#[test]
fn impl_block() {
    let item = "impl Net {
        fn forward(&self, x: &Tensor) -> Tensor { x * &self.w }
        fn len(&self) -> usize { 1 }
        #[cfg(test)]
        fn shifted(x: &Tensor) -> Tensor { x + 1.0 }
    }";
    check_tokens("impl_block", expansion("fullgraph", item));
    check_tokens(
        "impl_failure",
        expansion("", "impl Net { fn len(&self) -> usize { 1 } }"),
    );
}

#[test]
fn settings() {
    check(
        "settings",
        "fullgraph, name = \"gate\", backend = my::ENTRY, options(fusion, depth = 3, target = \"llvm\"), recompile_limit = 4, \
         strict_native, self_test",
        "fn f(#[spec(f32[B, 4])] x: &Tensor) -> Tensor { x.exp() }",
    );
    check(
        "settings_of_an_instance",
        "backend = \"mine\", mode = \"max-autotune\", recompile_limit = 2, isolate_recompiles",
        "fn f(&self, x: &Tensor) -> Tensor { x * &self.w }",
    );
    check(
        "settings_of_segments",
        "dynamic = false, isolate_recompiles",
        "fn f(&mut self, x: &Tensor) -> Tensor { let h = x.exp(); println!(\"{h}\"); h.relu() }",
    );
}

#[test]
fn free_function() {
    check(
        "free_function",
        "fullgraph",
        "/// Documented.\n#[inline]\npub fn hidden(#[spec(f32[B, 4])] x: &Tensor, w: Tensor, scale: f32) -> Tensor {\n    let h = x.matmul(&w) * scale;\n    h.gelu()\n}",
    );
}

#[test]
fn fallible_function() {
    check(
        "fallible_function",
        "crate = crate",
        "fn pair(x: &Tensor) -> Result<(Tensor, (Tensor, Tensor))> {\n    let y = x.try_matmul(x)?;\n    Ok((y.t(), (x.clone(), y)))\n}",
    );
}

#[test]
fn method() {
    check(
        "method",
        "",
        "pub(crate) fn forward(&self, x: &Tensor) -> Tensor {\n    (x + &self.w) * self.eps + Self::SHIFT\n}",
    );
}

#[test]
fn function_with_breaks() {
    check(
        "function_with_breaks",
        "warn_breaks",
        "fn early(x: &Tensor, w: &Tensor, names: &[String]) -> Result<Tensor> {\n    let mut h = x.try_matmul(w)?;\n    let rows = h.dim(0);\n    if h.sum_all().item::<f32>() > 0.0 {\n        return Ok(h.relu());\n    }\n    for name in names {\n        h = (&h + 1.0).exp();\n        report(name, rows);\n    }\n    Ok(h.tanh())\n}",
    );
}

#[test]
fn method_with_breaks() {
    check(
        "method_with_breaks",
        "",
        "fn judge(&self, x: &Tensor) -> Verdict {\n    let y = x.matmul(&self.w).relu();\n    Verdict::of(y)\n}",
    );
}

#[test]
fn failure() {
    check(
        "failure",
        "fulgraph",
        "fn broken(#[spec(f32[2])] x: &Tensor) -> Tensor {\n    for _ in 0..2 {}\n    x.relu()\n}",
    );
}

#[test]
fn name_of_a_standard_macro() {
    check(
        "name_of_a_standard_macro",
        "",
        "fn write(x: &Tensor) -> Tensor {\n    x.t()\n}",
    );
}

#[test]
fn markers() {
    let check = |name: &str, kind, attr: &str, item: &str| {
        check_tokens(
            name,
            twice(|attr, item| marker::expand(kind, attr, item), attr, item),
        );
    };
    check(
        "marker_in_graph",
        MarkerKind::AllowInGraph,
        "",
        "/// Documented.\npub fn quantise(x: &Tensor) -> Tensor {\n    x.clone()\n}",
    );
    check(
        "marker_disable",
        MarkerKind::Disable,
        "reason = \"prints\", crate = crate::tp",
        "#[compile(fullgraph)]\nfn report<T: Into<f32>>(x: T) {\n    println!(\"{}\", x.into());\n}",
    );
    check(
        "marker_assume",
        MarkerKind::AssumeConstantResult,
        "",
        "pub(crate) fn table(n: usize) -> Vec<Tensor> {\n    let all = vec![Tensor::arange(0, n, DType::F32)];\n    all\n}",
    );
    check(
        "marker_substitute",
        MarkerKind::SubstituteInGraph,
        "softplus",
        "fn softplus_as_ops<'a, T>(x: &'a Tensor, by: T) -> Tensor\nwhere\n    T: Copy,\n{\n    x.exp().log1p()\n}",
    );
    check(
        "marker_failure",
        MarkerKind::Disable,
        "recursiv = true",
        "fn report(x: &Tensor) {}",
    );
}

#[test]
fn raw_names_are_names() {
    for kind in MarkerKind::ALL {
        for (attr, item) in [
            ("r#fn", "pub fn r#type() {}"),
            ("", "fn r#match() {}"),
            ("f", "fn r#try() {}"),
        ] {
            twice(|attr, item| marker::expand(kind, attr, item), attr, item);
        }
    }
    expansion("", "fn r#type(x: &Tensor) -> Tensor { x.relu() }");
}

#[test]
fn left_alone() {
    check(
        "left_alone",
        "disable",
        "fn plain(#[spec(f32[2])] x: &Tensor) -> Tensor {\n    for _ in 0..2 {}\n    x.relu()\n}",
    );
}

#[test]
fn the_crate_of_a_model_is_that_of_its_attributes() {
    let module = "mod net {
        use tp::prelude::*;
        pub struct Net { w: Tensor }
        #[compile]
        impl Net { pub fn all(&self, x: &Tensor) -> Tensor { x * &self.w } }
        impl Net {
            #[nested_compile_region(max_reuse_entries = 2,)]
            pub fn part(&self, x: &Tensor) -> Tensor { x * &self.w }
            #[tp::compile(fullgraph)]
            pub fn forward(&self, x: &Tensor) -> Tensor { self.part(x) }
        }
        #[compile(crate = own)]
        fn own(x: &Tensor) -> Tensor { x.relu() }
        #[disable]
        fn disabled(x: &Tensor) -> Tensor { x.relu() }
        #[substitute_in_graph(disabled)]
        fn enabled(x: &Tensor) -> Tensor { x.relu() }
        #[tp::unused]
        fn unused(x: &Tensor) -> Tensor { x.relu() }
        #[other::disable]
        fn other(x: &Tensor) -> Tensor { x.relu() }
    }";
    let tokens = |text: &str| -> TokenStream { text.parse().expect("tokens") };
    let text = crate::model::model(tokens("crate = tp"), tokens(module))
        .to_string()
        .replace(' ', "");
    assert!(!text.contains("::tensorplay"), "{text}");
    assert!(!text.contains("compile_error"), "{text}");
    assert!(text.contains("own::__private::Function"), "{text}");
    for marked in [
        "#[disable(crate=tp)]",
        "#[substitute_in_graph(disabled,crate=tp)]",
        "#[tp::unused(crate=tp)]",
        "#[other::disable]fn",
    ] {
        assert!(text.contains(marked), "{marked}: {text}");
    }
}

/// What a `macro_rules!` makes of `$e`.
fn fragments(text: &str) -> TokenStream {
    let tokens: TokenStream = text.parse().expect("tokens");
    let mut out = TokenStream::new();
    let mut trees = tokens.into_iter().peekable();
    while let Some(t) = trees.next() {
        // `$[..]` stands for one
        let dollar = matches!(&t, TokenTree::Punct(p) if p.as_char() == '$');
        let t = match (dollar, trees.peek()) {
            (true, Some(TokenTree::Group(g))) => {
                let inner = fragments(&g.stream().to_string());
                trees.next();
                Group::new(Delimiter::None, inner).into()
            }
            _ => match t {
                TokenTree::Group(g) => Group::new(g.delimiter(), fragments(&g.stream().to_string())).into(),
                other => other,
            },
        };
        out.extend([t]);
    }
    out
}

/// With `$[..]` for groups without delimiters.
fn shown(tokens: TokenStream) -> String {
    let one = |t: TokenTree| match t {
        TokenTree::Group(g) => {
            let inner = shown(g.stream());
            match g.delimiter() {
                Delimiter::None => format!("$[{inner}]"),
                Delimiter::Parenthesis => format!("({inner})"),
                Delimiter::Brace => format!("{{{inner}}}"),
                Delimiter::Bracket => format!("[{inner}]"),
            }
        }
        other => other.to_string(),
    };
    tokens.into_iter().map(one).collect::<Vec<_>>().join(" ")
}

#[test]
fn operators_of_fragments_get_parentheses() {
    const ALLOW: &str = "# [allow (unused_parens , clippy : : double_parens)] ";
    let regrouped = |text: &str| shown(crate::regroup::regroup(fragments(text)));
    for (text, right) in [
        ("fn f() { x * $[a + b] }", "fn f () {x * (a + b)}"),
        ("p!(\"{}\", 2.0 * $[-x])", "p ! (\"{}\" , 2.0 * (- x))"),
        ("$[$[a as f64]]", "$[(a as f64)]"),
        ("$[$[a + b] * c]", "((a + b) * c)"),
        (
            "f($[&x], $[0..3], $[|v| v], $[x = 1], $[return x], $[*x])",
            "f ((& x) , (0 . . 3) , (| v | v) , (x = 1) , (return x) , (* x))",
        ),
        ("$[-1.0].abs() + $[-1]?", "(- 1.0) . abs () + (- 1) ?"),
    ] {
        assert_eq!(regrouped(text), format!("{ALLOW}{right}"), "{text}");
    }
    for text in [
        "fn f(x: $[a::B]) { $[x] + $[x.y()] + $[f(a + b)] + $[x[0]] + $[-1] }",
        "match x { $[-1]..=2 => $[{ a + b }], $[Some(x)] => $[if a { b } else { c }] }",
        "$[fn f() {}] $[let x = 1] $[pub(crate)] $[[f32; 2]] $[(A, B)] $[m!(a + b)] $[]",
        "#[$[a = 1 + 2]] #![$[a + b]] #[cfg($[a | b])] m!($[feature = \"x\"])",
    ] {
        let tokens = fragments(text);
        assert_eq!(
            shown(crate::regroup::regroup(tokens.clone())),
            shown(tokens),
            "{text}"
        );
    }
}

#[test]
fn emitted_code_is_safe_and_absolute() {
    let text = expansion("", "fn f(x: &Tensor) -> Tensor { x.exp() }").to_string();
    assert!(!text.contains("unsafe"), "{text}");
    assert!(text.contains(":: tensorplay :: __private"));
}

#[test]
fn paths_are_reached_by_their_shape() {
    let reach = |path: &str| {
        reach::function("explain", path.parse().expect("tokens"))
            .to_string()
            .replace(' ', "")
    };
    assert_eq!(reach("f"), "f!{@explainf}");
    assert_eq!(reach("a::b::f::<12>"), "a::b::f!{@explaina::b::f::<12>}");
    assert_eq!(
        reach("Net::forward"),
        "::tensorplay::__private::explain(Net::__tp_meta_forward())"
    );
    assert_eq!(
        reach("a::Net::<3>::forward"),
        "::tensorplay::__private::explain(a::Net::<3>::__tp_meta_forward())"
    );
    assert_eq!(
        reach("<a::Net>::forward"),
        "::tensorplay::__private::explain(<a::Net>::__tp_meta_forward())"
    );
    assert!(reach("1+2").starts_with("::core::compile_error!"));
    assert!(reach("").starts_with("::core::compile_error!"));
}
