//! Golden texts: every function of `cases/*.rs` is captured, and the graphs or diagnostics are compared with
//! `cases/*.txt`. `UPDATE_GOLDEN=1` writes them.

use proc_macro2::{LineColumn, TokenStream};
use quote::{ToTokens, quote};
use std::fmt::Write;
use std::path::Path;
use syn::{Attribute, Item, Meta};
use tensorplay_capture::{CODES, Captured, Diagnostic, Failure, Segmented, compile};

/// The functions of a file with their attribute's tokens.
fn functions(file: &str) -> Vec<(TokenStream, TokenStream)> {
    let file = syn::parse_file(file).expect("the cases parse");
    let mut out = Vec::new();
    for item in file.items {
        match item {
            Item::Impl(i) => i.items.iter().for_each(|f| out.push(f.to_token_stream())),
            other => out.push(other.to_token_stream()),
        }
    }
    out.into_iter().filter_map(split).collect()
}

/// Takes the attribute off an item, as rustc does.
fn split(item: TokenStream) -> Option<(TokenStream, TokenStream)> {
    let mut trees = item.into_iter().peekable();
    let mut before = TokenStream::new();
    loop {
        let hash = trees.next()?;
        let group = trees.next()?;
        let pair: TokenStream = [hash, group].into_iter().collect();
        let parsed = syn::parse::Parser::parse2(Attribute::parse_outer, pair.clone()).ok()?;
        match &parsed.first()?.meta {
            Meta::Path(p) if p.is_ident("compile") => return Some((TokenStream::new(), rest(before, trees))),
            Meta::List(l) if l.path.is_ident("compile") => {
                return Some((l.tokens.clone(), rest(before, trees)));
            }
            _ => before.extend(pair),
        }
    }
}

fn rest(mut before: TokenStream, trees: impl Iterator<Item = proc_macro2::TokenTree>) -> TokenStream {
    before.extend(trees);
    before
}

fn graph(c: &Captured) -> String {
    let mut s = String::new();
    for (module, spans) in c.paths.iter().zip(&c.spans) {
        tensorplay_graph::verify(module).unwrap_or_else(|e| panic!("{module}: {e:?}"));
        assert_eq!(spans.len(), module.locations.len());
        s.push_str(&module.to_string());
        let shown: Vec<String> = module
            .locations
            .iter()
            .map(|l| format!("{}:{} {}", l.line, l.column, l.text))
            .collect();
        let _ = writeln!(s, "from {}", shown.join("\n     "));
    }
    for r in &c.reads {
        let what = if r.is_tensor() { "tensor" } else { "number" };
        let _ = writeln!(s, "reads {what} {}", r.tokens().cloned().unwrap_or_default());
    }
    let (fallible, method) = (
        if c.fallible { "Result of " } else { "" },
        if c.method { "method, " } else { "" },
    );
    for p in &c.params {
        for leaf in p.leaves() {
            let _ = write!(s, "takes {:?} {}", leaf.kind, leaf.value);
            for (option, held) in &leaf.options {
                let _ = write!(s, ", {held} of {option}");
            }
            let place = leaf.place.map(|p| format!(", written to {p}"));
            let _ = writeln!(s, "{}", place.unwrap_or_default());
        }
    }
    let _ = writeln!(s, "{method}returns {fallible}{}", c.returns.describe());
    if c.codes.iter().any(|codes| !codes.is_empty()) {
        let _ = writeln!(s, "codes {:?}", c.codes);
    }
    s
}

/// A function with graph breaks: its body with the segments in their places.
fn segments(mut s: Segmented) -> String {
    let mut text = String::new();
    for b in &s.breaks {
        let _ = writeln!(text, "break on line {}: {}", b.line, b.reason);
    }
    s.place(|n, g| {
        let inputs = g.inputs.iter().map(|i| {
            let unused = if i.used { "" } else { " unused" };
            format!("{}: {:?}{unused}", i.leaf.value, i.leaf.kind)
        });
        let reads = g.reads.iter().filter_map(|r| r.tokens().map(ToString::to_string));
        let inputs: Vec<String> = inputs.chain(reads).collect();
        let _ = writeln!(text, "segment {n} of ({})", inputs.join(", "));
        for (module, spans) in g.paths.iter().zip(&g.spans) {
            tensorplay_graph::verify(module).unwrap_or_else(|e| panic!("{module}: {e:?}"));
            assert_eq!(spans.len(), module.locations.len());
            text.push_str(&module.to_string());
        }
        let (statements, again, assigned) = (&g.statements, &g.again, &g.assigned);
        let bound = g.bound.iter().map(|b| &b.ident);
        let gives = format!("{:?}", g.gives);
        quote! {
            segment!(#n { #(#statements)* } assigns #(#assigned)* binds #(#bound)* gives #gives);
            #(#again)*
        }
    });
    let file = syn::parse2(s.item.to_token_stream()).unwrap_or_else(|e| panic!("{e}"));
    text.push_str(&prettyplease::unparse(&file));
    text
}

/// As rustc shows it: the line with the tokens underlined, then the message.
fn report(d: &Diagnostic, source: &str) -> String {
    assert!(d.to_string().contains("\n  help: "), "says what to write: {d}");
    let mut trees = d.tokens.clone().into_iter();
    let first = trees.next().map(|t| t.span());
    let (start, end): (LineColumn, LineColumn) = match first {
        Some(f) => (f.start(), trees.last().map_or(f, |t| t.span()).end()),
        None => return format!("at the attribute\n{d}\n"),
    };
    let line = source.lines().nth(start.line - 1).unwrap_or_default();
    let width = if end.line == start.line {
        end.column.saturating_sub(start.column)
    } else {
        line.len() - start.column
    };
    format!(
        "{:4} | {line}\n     | {}{}\n{d}\n",
        start.line,
        " ".repeat(start.column),
        "^".repeat(width.max(1))
    )
}

fn show(source: &str) -> String {
    let mut s = String::new();
    for (attr, item) in functions(source) {
        let once = one(&attr, &item, source);
        assert_eq!(
            once,
            one(&attr, &item, source),
            "the same tokens give the same result"
        );
        s.push_str(&once);
        s.push('\n');
    }
    s
}

fn one(attr: &TokenStream, item: &TokenStream, source: &str) -> String {
    match compile(attr.clone(), item.clone()) {
        Ok(c) => graph(&c),
        Err(Failure { diagnostics, .. }) if diagnostics.is_empty() => "left alone\n".into(),
        Err(Failure {
            segmented: Some(s), ..
        }) => segments(*s),
        Err(Failure {
            item, diagnostics, ..
        }) => {
            assert!(
                !item.to_string().contains("# [spec"),
                "helper attributes are stripped: {item}"
            );
            diagnostics.iter().map(|d| report(d, source)).collect()
        }
    }
}

fn check(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let source = std::fs::read_to_string(folder.join(format!("{name}.rs"))).expect("the case exists");
    let got = show(&source);
    let golden = folder.join(format!("{name}.txt"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&golden, &got).expect("the golden text can be written");
    }
    let want = std::fs::read_to_string(&golden).unwrap_or_default();
    if got != want {
        let at = got.lines().zip(want.lines()).take_while(|(a, b)| a == b).count();
        let near = |s: &str| {
            s.lines()
                .skip(at.saturating_sub(3))
                .take(12)
                .collect::<Vec<_>>()
                .join("\n")
        };
        panic!(
            "{name}.txt differs at line {}\n--- got\n{}\n--- want\n{}",
            at + 1,
            near(&got),
            near(&want)
        );
    }
    got
}

#[test]
fn graphs() {
    let text = check("graphs");
    assert!(!text.contains("[TP"), "every function of graphs.rs is captured");
}

#[test]
fn parameters_and_results() {
    let text = check("parameters");
    assert!(
        !text.contains("[TP"),
        "every function of parameters.rs is captured"
    );
}

#[test]
fn errors_of_parameters_and_results() {
    check("parameter_errors");
}

#[test]
fn errors_of_the_body() {
    check("body_errors");
}

#[test]
fn errors_of_the_signature_and_the_attribute() {
    check("signature_errors");
}

#[test]
fn errors_of_the_arguments() {
    check("argument_errors");
}

#[test]
fn segments_of_functions_with_breaks() {
    check("segments");
}

#[test]
fn every_code_is_shown() {
    let cases = [
        "body_errors",
        "signature_errors",
        "argument_errors",
        "parameter_errors",
    ];
    let all: String = cases.into_iter().map(check).collect();
    // the macros crate, the tests of markers, or the compiler's contexts show these
    let elsewhere = [
        "TP0008", "TP0062", "TP0065", "TP0070", "TP0071", "TP0072", "TP0075", "TP0080", "TP0081", "TP0082",
        "TP0083", "TP0084", "TP0099",
    ];
    for (code, what) in CODES {
        let code = code.to_string();
        assert!(
            elsewhere.contains(&code.as_str()) || all.contains(&code),
            "{code} ({what}) has no case"
        );
    }
}

#[test]
fn a_long_chain_has_tokens_in_proportion() {
    let tokens = |n: usize| {
        let item = format!("fn f(x: &Tensor) -> Tensor {{ x{} }}", ".exp()\n - 2.0".repeat(n));
        let captured = compile(TokenStream::new(), item.parse().expect("these are tokens"));
        let spans = captured.expect("operations only").spans;
        spans
            .into_iter()
            .flatten()
            .map(|t| t.into_iter().count())
            .sum::<usize>()
    };
    let (half, whole) = (tokens(40), tokens(80));
    assert!(
        whole < 5 * half / 2,
        "{half} tokens for half the chain, {whole} for all"
    );
}

#[test]
fn an_expression_too_deep_for_the_stack_is_an_error() {
    let messages = |n: usize| {
        let chain = ".exp()\n".repeat(n);
        let item = format!("fn f(x: &Tensor) -> Tensor {{ x{chain} }}");
        match compile(TokenStream::new(), item.parse().expect("these are tokens")) {
            Ok(_) => Vec::new(),
            Err(f) => f.diagnostics.iter().map(ToString::to_string).collect(),
        }
    };
    let check = move || {
        assert_eq!(messages(999), [""; 0]);
        let deep = "[TP0045] more than 1000 operations in one expression cannot be captured yet\n  help: bind a part of it with `let`";
        assert_eq!(messages(3000), [deep]);
    };
    // as much as rustc has
    let thread = std::thread::Builder::new().stack_size(8 << 20).spawn(check);
    thread.expect("a thread").join().expect("it holds");
}

#[test]
fn other_items_and_broken_syntax() {
    let failure = |item: &str| {
        let tokens: TokenStream = item.parse().expect("these are tokens");
        match compile(TokenStream::new(), tokens.clone()) {
            Ok(_) => panic!("{item} is captured"),
            Err(f) => {
                assert_eq!(f.item.to_string(), tokens.to_string(), "the tokens come back");
                f.diagnostics
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join("\n")
            }
        }
    };
    // rustc reports syntax errors, once
    assert_eq!(failure("fn f(x: &Tensor) -> Tensor { x + }"), "");
    assert!(failure("fn f(&self, x: &Tensor) -> Tensor;").starts_with("[TP0008]"));
    assert!(failure("pub struct S { x: Tensor }").starts_with("[TP0008]"));
    assert!(failure("impl S { fn f(x: &Tensor) -> Tensor { x.relu() } }").starts_with("[TP0008]"));
}

#[test]
fn an_attribute_with_disable_changes_nothing() {
    let item = "fn f(#[spec(f32[2])] x: &Tensor) -> Tensor { for _ in 0..3 {} x.clone() }";
    let failure = compile("disable".parse().unwrap(), item.parse().unwrap()).expect_err("it is left alone");
    assert!(failure.diagnostics.is_empty());
    let plain: TokenStream = "fn f(x: &Tensor) -> Tensor { for _ in 0..3 {} x.clone() }"
        .parse()
        .unwrap();
    assert_eq!(failure.item.to_string(), plain.to_string());
}

/// Shapes of tokens that a body may have: nothing panics.
#[test]
fn nothing_panics() {
    let pieces = [
        "x",
        "w",
        "k",
        "self.w",
        "EPS",
        "1",
        "-1",
        "2.5",
        "()",
        "(1, 2)",
        "[x, w]",
        "&[0, 1]",
        "None",
        "Some(w)",
        "true",
        "x.shape()",
        "x.shape()[0]",
        "x.dim(9)",
        "x.chunk(0, 0)",
        "x.chunk(3, 1)",
        "DType::F32",
        "DType::Foo",
        "\"s\"",
        "|a| a",
        "x?",
        "Ok(x)",
        "f64::INFINITY",
        "9999999999999999999999",
        "1e999",
        "x as f32",
        "!x",
        "-x",
        "*x",
        "x.t()",
        "return x",
        "{ x }",
        "{}",
        "x = w",
        "k += 1",
        "0..3",
        "self",
        "x[0]",
        "k[0]",
        "(x, w).1",
        "k - 9",
        "p",
        "*p",
        "*w = x",
        "p.1[0] = x",
        "p.1[5] = x",
        "*p = (x, [x, w])",
        "&mut p.1",
        "o",
        "o.is_some()",
        "m",
        "m == Mode::A",
        "match m { A => x, b => w }",
        "matches!(m, A | B)",
        "vec![x, w]",
        "vec![x; 3].push(w)",
        "k / 0",
    ];
    let methods = [
        "matmul",
        "sum",
        "reshape",
        "layer_norm",
        "linear",
        "zeros_like",
        "narrow",
        "to_dtype",
        "chunk",
        "max",
        "foo",
        "clone",
    ];
    let run = |body: &str| {
        let item = format!(
            "fn f(&self, #[spec(f32[2, 3])] x: &Tensor, w: &mut Tensor, mut k: usize, p: &mut (Tensor, [Tensor; 2]), o: Option<&Tensor>, m: Mode) -> Tensor {{ let a = {body}; a }}"
        );
        let Ok(tokens) = item.parse::<TokenStream>() else {
            return;
        };
        let _ = compile(TokenStream::new(), tokens);
    };
    // statements, between operations
    let statement = |body: &str| {
        let item = format!(
            "fn f(&self, #[spec(f32[2, 3])] x: &Tensor, w: Tensor, mut k: usize) -> Result<Tensor> {{ let mut t = x.exp(); {body} t = t.relu(); Ok(t) }}"
        );
        if let Ok(tokens) = item.parse::<TokenStream>()
            && let Err(Failure {
                segmented: Some(mut s),
                ..
            }) = compile(TokenStream::new(), tokens)
        {
            s.place(|n, g| {
                let statements = &g.statements;
                quote!(segment!(#n { #(#statements)* });)
            });
        }
    };
    for (i, a) in pieces.into_iter().enumerate() {
        run(a);
        for s in [
            "let PIECE = 1;",
            "PIECE;",
            "let s = PIECE;",
            "foo(PIECE, t.exp().item::<f32>());",
        ] {
            statement(&s.replace("PIECE", a));
        }
        for s in [
            "if PIECE { BODY }",
            "if PIECE { BODY } else if t.item::<bool>() { BODY } else { return Ok(t.exp()) }",
            "let s = match PIECE { 0 => { BODY } y if y > 1 => y.exp(), _ => return Err(e) };",
            "for i in PIECE { BODY }",
            "'a: while PIECE { BODY continue 'a }",
            "loop { BODY break PIECE; }",
            "let Some(y) = PIECE else { BODY return PIECE };",
            "mac!(t, PIECE); BODY",
            "#[cfg(a)] let t = PIECE;",
            "let f = |y| { BODY PIECE };",
            "let y; y = PIECE; BODY",
            "let (y, mut z) = PIECE; BODY",
        ]
        .into_iter()
        .skip(i % 3)
        .step_by(3)
        {
            let body = "t = t.tanh() + 1.0; println!(\"{t}\"); let q = t.dim(0); t = t.reshape((q, -1));";
            statement(&s.replace("PIECE", a).replace("BODY", body));
        }
        for b in pieces.iter().step_by(3) {
            for op in ["+", "/", "=="] {
                run(&format!("{a} {op} {b}"));
            }
            run(&format!("Tensor::cat({a}, {b})"));
            run(&format!("{a}[{b}]"));
        }
        for m in methods {
            run(&format!("({a}).{m}()"));
            run(&format!("x.{m}({a})"));
            run(&format!("x.{m}({a}, {a})"));
            run(&format!("x.{m}({a}, {a}, {a}, {a})"));
        }
    }
    for op in tensorplay_graph::Op::ALL {
        let n = op.row().params.len();
        for a in pieces {
            run(&format!("Tensor::{}({})", op.name(), vec![a; n].join(", ")));
        }
    }
}
