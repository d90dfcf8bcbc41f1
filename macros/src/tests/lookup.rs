//! Look-ups without rustc: a step is answered as the macros would answer, and every expansion is the same when it is done again.

use crate::{chain, expand, model};
use proc_macro2::{Delimiter, Group, Literal, TokenStream, TokenTree};
use quote::quote;
use std::rc::Rc;
use tensorplay_capture::{Env, Exported, Model, Under};

fn tokens(text: &str) -> TokenStream {
    text.parse().expect("tokens")
}

/// What a region of one tensor says of itself.
fn region() -> Vec<u8> {
    let item = tokens("pub fn other(x: &Tensor) -> Tensor { x.relu() * 2.0 }");
    let c = tensorplay_capture::compile_in(&Rc::default(), Under::Region, TokenStream::new(), item);
    Exported::Function(c.expect("a graph").export()).encode()
}

/// What a layer says of itself.
fn layer() -> Vec<u8> {
    let items = tokens(
        "pub struct Scale { by: Tensor } impl Scale { pub fn forward(&self, x: &Tensor) -> Tensor { x * &self.by } }",
    );
    let items = syn::parse2::<syn::File>(items).expect("items").items;
    let env = Env::of(Model::of(&items), chain::items_of(&items));
    let exported = tensorplay_capture::export_type(&Rc::new(env), "Scale");
    exported.expect("a struct").encode()
}

/// The first `name! { @export [..] { state } }` of some tokens: the name, and the state.
fn question(tokens: &TokenStream) -> Option<(String, Group)> {
    let trees: Vec<TokenTree> = tokens.clone().into_iter().collect();
    for (i, t) in trees.iter().enumerate() {
        let TokenTree::Group(g) = t else { continue };
        let inner: Vec<TokenTree> = g.stream().into_iter().collect();
        if let [
            _,
            TokenTree::Ident(export),
            TokenTree::Group(_),
            TokenTree::Group(state),
        ] = &inner[..]
            && export == "export"
            && let Some(TokenTree::Ident(name)) = i.checked_sub(2).map(|i| &trees[i])
        {
            return Some((name.to_string(), state.clone()));
        }
        if let Some(found) = question(&g.stream()) {
            return Some(found);
        }
    }
    None
}

/// Answers what the tokens ask first, until nothing is asked: all steps, and what the last gave.
fn answered(first: &TokenStream, bytes: &dyn Fn(&str) -> Vec<u8>) -> Vec<String> {
    let mut steps = vec![first.to_string()];
    let mut last = question(first);
    while let Some((name, state)) = last {
        let bytes = Literal::byte_string(&bytes(&name));
        let next = chain::step(quote!(#bytes #state));
        last = question(&next).filter(|_| steps.len() < 9);
        steps.push(next.to_string());
    }
    steps
}

const MODEL: &str = "mod net {
    use tensorplay::{compile, nested_compile_region, prelude::*};
    pub struct Net { scale: layers::Scale, more: Vec<Scale>, w: Tensor, n: usize }
    impl Net {
        #[nested_compile_region]
        pub fn part(&self, x: &Tensor) -> Tensor { other(&self.scale.forward(x)) }
        #[compile(fullgraph)]
        pub fn forward(&self, x: &Tensor) -> Tensor {
            let mut h = x.matmul(&self.w);
            for s in &self.more { h = s.forward(&h); }
            self.part(&h)
        }
    }
}";

fn answer(name: &str) -> Vec<u8> {
    match name {
        "other" => region(),
        _ => layer(),
    }
}

#[test]
fn a_model_expands_to_the_same_bytes() {
    for text in [
        MODEL,
        "mod m { pub struct S { w: Tensor } impl S { #[compile] pub fn f(&self) -> Tensor { self.w.relu() } } }",
    ] {
        // one file: names of exported macros hold the place
        let tokens = tokens(text);
        let expand = || model::model(TokenStream::new(), tokens.clone()).to_string();
        assert_eq!(expand(), expand());
    }
}

#[test]
fn a_look_up_has_the_same_steps_again() {
    let function = tokens("pub fn f(x: &Tensor) -> Tensor { layers::other(&other(x)) }");
    let starts = [
        expand::compile(Under::Compile, tokens("fullgraph"), function.clone()),
        expand::compile(Under::Region, TokenStream::new(), function),
        model::model(TokenStream::new(), tokens(MODEL)),
    ];
    for first in starts {
        let (steps, again) = (answered(&first, &answer), answered(&first, &answer));
        assert_eq!(steps, again);
        let last = steps.last().expect("a step");
        assert!(steps.len() > 2 && !last.contains("compile_error"), "{steps:#?}");
        assert!(
            last.contains("Function :: new") || last.contains("macro_rules"),
            "{last}"
        );
    }
}

#[test]
fn an_answer_of_another_version_is_one_error() {
    let f = tokens("fn f(x: &Tensor) -> Tensor { layers::other(&layers::other(x)) }");
    let first = expand::compile(Under::Compile, tokens("fullgraph"), f);
    let steps = answered(&first, &|_| b"\x7f of later times".to_vec());
    let last = steps.last().expect("a step");
    assert_eq!(last.matches("compile_error").count(), 1, "{last}");
    assert!(
        last.contains("[TP0075] `layers::other` was captured by another version of tensorplay"),
        "{last}"
    );
    assert!(last.contains("help: "), "{last}");
}

/// Tokens that a module or an answer may be made of: nothing panics.
#[test]
fn nothing_panics() {
    const PIECES: &[&str] = &[
        "mod",
        "m",
        "struct",
        "S",
        "impl",
        "fn",
        "f",
        "pub",
        "&",
        "self",
        ":",
        ",",
        ";",
        "->",
        "=",
        "Tensor",
        "Vec<S>",
        "Option<layers::L>",
        "x: &Tensor",
        "{}",
        "()",
        "[]",
        "{ self.w.relu() }",
        "(&self, x: &Tensor)",
        "#[compile]",
        "#[nested_compile_region]",
        "#[model]",
        "{ w: Tensor, l: L }",
        "for",
        "b\"\"",
        "b\"\\x01\\x00\"",
        "1",
        "'a",
        "<T>",
        "const N: usize = 3;",
        "trait T {}",
        "{ self.l.forward(x) }",
        "@",
        "function",
        "twin",
        "ty",
        "region",
        "r#type",
    ];
    let mut seed = 7u64;
    let mut draw = |n: usize| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % n
    };
    let stream = |depth: usize, draw: &mut dyn FnMut(usize) -> usize| random(PIECES, depth, draw);
    for _ in 0..2000 {
        let inner = stream(2, &mut draw);
        model::model(TokenStream::new(), quote!(mod m { #inner }));
        model::model(stream(0, &mut draw), stream(2, &mut draw));
        chain::step(stream(2, &mut draw));
        let (a, b, c) = (stream(1, &mut draw), stream(1, &mut draw), stream(2, &mut draw));
        let bytes = Literal::byte_string(&layer()[..draw(24)]);
        for goal in ["function", "twin", "ty"] {
            let goal = tokens(goal);
            chain::step(quote!(b"" { #goal region {#a} {#c} {} {} {} {} {} }));
            chain::step(
                quote!(#bytes { #goal compile {#a} {fn f(x: &Tensor) -> Tensor { l(x) }} {#b} {#c} {} {l,} {} }),
            );
        }
    }
}

/// A sequence of pieces, some of them in groups.
fn random(pieces: &[&str], depth: usize, draw: &mut dyn FnMut(usize) -> usize) -> TokenStream {
    let mut out = TokenStream::new();
    for _ in 0..draw(9) {
        let group = depth > 0 && draw(4) == 0;
        if group {
            let delimiter = [Delimiter::Brace, Delimiter::Parenthesis, Delimiter::Bracket][draw(3)];
            out.extend([TokenTree::from(Group::new(
                delimiter,
                random(pieces, depth - 1, draw),
            ))]);
        } else {
            out.extend(tokens(pieces[draw(pieces.len())]));
        }
    }
    out
}
