//! Random cases printed as users write functions.
//!
//! Problem: capture, emission and dispatch are only exercised by code that rustc compiles.
//! Method: the build script of this crate prints the cases of [`SEED`] and the following seeds as [`COUNT`] functions,
//! and a table of them; `tests/programs.rs` is that text. No cargo runs inside cargo, and nothing is built twice.
//! Invariants: the same seed gives the same text; what the macro refuses is in the table too, and fails there.

use crate::case::{A, Case, Input, Node, Spec, symbol};
use crate::generate::{Mode, case};
use crate::rng::Rng;
use std::fmt::Write;
use tensorplay_graph::op::options::{Form as OptionsForm, Initial, OptionsRow};
use tensorplay_graph::op::row::{ParamKind, Results};
use tensorplay_graph::{Host, Op, Scalar};

/// The variable with the number of functions; 250 without it.
pub const COUNT: &str = "TENSORPLAY_FUZZ_PROGRAMS";
/// The variable with the first seed; 0 without it.
pub const SEED: &str = "TENSORPLAY_FUZZ_SEED";

#[derive(Clone)]
enum Form {
    Param(String),
    Bound(String),
    Inline(String, bool),
}

impl Form {
    fn receiver(&self) -> String {
        match self {
            Form::Param(n) | Form::Bound(n) | Form::Inline(n, true) => n.clone(),
            Form::Inline(e, false) => format!("({e})"),
        }
    }
    fn reference(&self) -> String {
        match self {
            Form::Param(n) => n.clone(),
            Form::Bound(n) => format!("&{n}"),
            Form::Inline(e, true) => format!("&{e}"),
            Form::Inline(e, false) => format!("&({e})"),
        }
    }
    fn operand(&self) -> String {
        match self {
            Form::Inline(e, true) => e.clone(),
            Form::Inline(e, false) => format!("({e})"),
            f => f.reference(),
        }
    }
    fn value(&self) -> String {
        match self {
            Form::Param(n) => format!("{n}.clone()"),
            Form::Bound(n) if n.contains(['[', '.']) => format!("{n}.clone()"),
            Form::Bound(n) | Form::Inline(n, _) => n.clone(),
        }
    }
}

fn scalar(s: Scalar) -> String {
    match s {
        Scalar::Float(v) => format!("{v:?}"),
        Scalar::Int(v) => v.to_string(),
        Scalar::Bool(b) => b.to_string(),
    }
}

fn list(l: &[i64], r: &mut Rng) -> String {
    let items: Vec<String> = l.iter().map(ToString::to_string).collect();
    match (l.len(), r.below(3)) {
        (1, 0 | 1) => items[0].clone(),
        (1, _) => format!("[{}]", items[0]),
        (2..=8, 0 | 1) => format!("({})", items.join(", ")),
        _ => format!("[{}]", items.join(", ")),
    }
}

fn host(h: Option<Host>) -> String {
    match h {
        Some(Host::Float(v)) => scalar(Scalar::Float(v)),
        Some(Host::Bool(b)) => b.to_string(),
        Some(Host::Int(v)) => v.to_string(),
        _ => "None".into(),
    }
}

/// One number, or a pair; a pair of equal numbers mostly as one.
fn numbers(l: &[Option<Host>], r: &mut Rng) -> String {
    match l {
        [a, b] if a != b || r.chance(30) => format!("({}, {})", host(*a), host(*b)),
        l => host(l.first().copied().flatten()),
    }
}

/// Options as a struct with setters, or as a variant.
fn options(row: &OptionsRow, l: &[Option<Host>], r: &mut Rng) -> String {
    let name = row.name;
    if let OptionsForm::Enum(variants) = row.form {
        let Some(Host::Int(n)) = l[0] else {
            return name.to_string();
        };
        let v = &variants[n as usize];
        return match v.value {
            None => format!("{name}::{}", v.name),
            Some((None, _)) => format!("{name}::{}({})", v.name, host(l[1])),
            Some((Some(field), _)) => format!("{name}::{} {{ {field}: {} }}", v.name, host(l[1])),
        };
    }
    let mut text = format!("{name}::default()");
    let mut made = Vec::new();
    for (at, f) in row.fields() {
        let given = &l[at..at + f.len];
        let unset = match f.initial {
            Initial::Int(v) => given.iter().all(|h| *h == Some(Host::Int(v))),
            Initial::Bool(b) => given[0] == Some(Host::Bool(b)),
            Initial::Absent => given[0].is_none(),
            Initial::AsNew => given == made,
            Initial::New => {
                made = given.to_vec();
                text = format!("{name}::new({})", numbers(given, r));
                continue;
            }
        };
        if !unset || (given[0].is_some() && r.one_in(8)) {
            let _ = write!(text, ".{}({})", f.name, numbers(given, r));
        }
    }
    text
}

fn call(n: &Node, forms: &[Form], r: &mut Rng) -> Form {
    let form = |a: &A| match a {
        A::V(v) => forms[*v].clone(),
        a => unreachable!("{a:?} is no tensor"),
    };
    let operator = match n.op {
        Op::Add => "+",
        Op::Sub => "-",
        Op::Mul => "*",
        Op::Div => "/",
        _ => "",
    };
    match (n.op, &n.args[..]) {
        (Op::Neg, [a]) if r.chance(70) => return Form::Inline(format!("-{}", form(a).operand()), false),
        (Op::Rsub | Op::Rdiv, [a, A::S(s)]) if !matches!(s, Scalar::Bool(_)) => {
            let sign = if n.op == Op::Rsub { "-" } else { "/" };
            return Form::Inline(format!("{} {sign} {}", scalar(*s), form(a).operand()), false);
        }
        (_, [a, b]) if !operator.is_empty() && r.chance(80) => {
            let b = match b {
                A::S(s) => scalar(*s),
                b => form(b).operand(),
            };
            return Form::Inline(format!("{} {operator} {b}", form(a).operand()), false);
        }
        _ => {}
    }
    let method = n.op.row().is_method();
    let mut args = Vec::new();
    for (a, p) in n.args.iter().zip(n.op.row().params).skip(usize::from(method)) {
        let optional = p.kind == ParamKind::OptTensor;
        args.push(match a {
            A::V(v) if optional => format!("Some({})", forms[*v].reference()),
            A::V(v) => forms[*v].reference(),
            A::Vs(l) => format!(
                "&[{}]",
                l.iter()
                    .map(|&v| forms[v].reference())
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
            A::S(s) => scalar(*s),
            A::I(i64::MAX) => "i64::MAX".into(),
            A::I(i) => i.to_string(),
            A::Is(l) if p.kind == ParamKind::Ints => format!("&{l:?}"),
            A::Is(l) => list(l, r),
            A::B(b) => b.to_string(),
            A::O(l) => match p.kind {
                ParamKind::Options(row) => options(row, l, r),
                kind => unreachable!("{kind:?} takes no options"),
            },
            A::D(d) => format!("DType::{d:?}"),
            A::None => "None".into(),
        });
    }
    let args = args.join(", ");
    let receiver = if method {
        form(&n.args[0]).receiver()
    } else {
        "Tensor".into()
    };
    let dot = if method { "." } else { "::" };
    Form::Inline(format!("{receiver}{dot}{}({args})", n.op.name()), true)
}

/// What a spec says of an input's sizes.
fn sizes(x: &Input) -> Option<String> {
    let size = |&n: &usize| match x.spec {
        Spec::Named => symbol(n).unwrap_or_else(|| n.to_string()),
        _ => n.to_string(),
    };
    matches!(x.spec, Spec::Full | Spec::Named)
        .then(|| x.shape.iter().map(size).collect::<Vec<_>>().join(", "))
}

/// The attribute's arguments, the function's text and the number of results; `None` if users do not write such a case.
pub fn function(c: &Case, name: &str) -> Option<(String, String)> {
    if c.nodes.is_empty() || c.inputs.len() > 8 || c.outputs.iter().any(|&o| o < c.inputs.len()) {
        return None;
    }
    let mut r = Rng::new(c.seed ^ 0xabcd);
    let mut uses = vec![0; c.values()];
    let mut copy = c.clone();
    copy.nodes
        .iter_mut()
        .for_each(|n| n.args.iter_mut().for_each(|a| a.values(&mut |v| uses[*v] += 1)));
    c.outputs.iter().for_each(|&o| uses[o] += 1);
    let mut forms: Vec<Form> = (0..c.inputs.len())
        .map(|i| Form::Param(format!("x{i}")))
        .collect();
    let mut body = String::new();
    for (i, n) in c.nodes.iter().enumerate() {
        let first = c.first(i);
        let made = call(n, &forms, &mut r);
        let Form::Inline(text, _) = &made else {
            unreachable!()
        };
        if n.op.row().results == Results::List {
            let name = format!("parts{i}");
            let _ = writeln!(body, "    let {name} = {text};");
            (0..n.results).for_each(|k| forms.push(Form::Bound(format!("{name}[{k}]"))));
            continue;
        }
        if n.op.row().results == Results::Indexed && r.chance(20) {
            let name = format!("both{i}");
            let _ = writeln!(body, "    let {name} = {text};");
            (0..2).for_each(|k| forms.push(Form::Bound(format!("{name}.{k}"))));
            continue;
        }
        if n.op.row().results == Results::Indexed {
            let mut name = |k: usize, name: &str| {
                let used = uses[first + k] > 0;
                let name = format!("{name}{i}");
                forms.push(Form::Bound(name.clone()));
                if used { name } else { "_".to_string() }
            };
            let (values, indices) = (name(0, "values"), name(1, "indices"));
            let _ = writeln!(body, "    let ({values}, {indices}) = {text};");
            continue;
        }
        let output = c.outputs.contains(&first);
        if uses[first] == 1 && !output && r.chance(50) && text.len() < 120 {
            forms.push(made);
            continue;
        }
        let shadow = n.args.iter().find_map(|a| match a {
            A::V(v) if uses[*v] == 1 && !c.outputs.contains(v) => match &forms[*v] {
                Form::Bound(name) if !name.contains(['[', '.']) => Some(name.clone()),
                _ => None,
            },
            _ => None,
        });
        let name = shadow.filter(|_| r.chance(50)).unwrap_or_else(|| format!("h{i}"));
        let _ = writeln!(body, "    let {name} = {text};");
        forms.push(Form::Bound(name));
    }
    let results: Vec<String> = c.outputs.iter().map(|&o| forms[o].value()).collect();
    let (result, ty) = if results.len() == 1 {
        (results[0].clone(), "Tensor".to_string())
    } else {
        (
            format!("({})", results.join(", ")),
            format!("({})", vec!["Tensor"; results.len()].join(", ")),
        )
    };
    let d = c.inputs[0].dtype;
    // indices and masks beside floats of one dtype have a spec of their own
    let one = d.is_float() && c.inputs.iter().all(|i| i.dtype == d || !i.dtype.is_float());
    let attribute = if one {
        format!("dtypes({d})")
    } else {
        String::new()
    };
    let params: Vec<String> = c
        .inputs
        .iter()
        .enumerate()
        .map(|(i, x)| match sizes(x) {
            Some(sizes) => format!("#[spec({}[{sizes}])] x{i}: &Tensor", x.dtype),
            None if one && x.dtype == d => format!("x{i}: &Tensor"),
            None => format!("#[spec({}[..])] x{i}: &Tensor", x.dtype),
        })
        .collect();
    let item = format!(
        "fn {name}({}) -> Result<{ty}> {{\n{body}    Ok({result})\n}}",
        params.join(", ")
    );
    Some((attribute, item))
}

/// What the macro would say against a function.
fn refusal(attribute: &str, item: &str) -> Option<String> {
    let parse = |t: &str| t.parse::<proc_macro2::TokenStream>().map_err(|e| e.to_string());
    let (a, i) = match (parse(attribute), parse(item)) {
        (Ok(a), Ok(i)) => (a, i),
        (Err(e), _) | (_, Err(e)) => return Some(e),
    };
    match tensorplay_capture::compile(a, i) {
        Ok(c) => {
            let errors = c.paths.iter().find_map(|p| tensorplay_stax::analyse(p).err());
            errors.map(|e| e.to_string())
        }
        Err(f) => Some(
            f.diagnostics
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join("; "),
        ),
    }
}

/// The text of `n` functions from `seed` on, and their table.
pub fn text(seed: u64, n: u64) -> String {
    let (mut functions, mut table, mut refused) = (String::new(), String::new(), String::new());
    let mut made = 0;
    for s in seed..seed + 4 * n {
        if made == n {
            break;
        }
        let c = case(s, Mode::Program).case;
        let name = format!("f{}", c.seed);
        let Some((attribute, item)) = function(&c, &name) else {
            continue;
        };
        made += 1;
        let outer = if attribute.is_empty() {
            String::new()
        } else {
            format!("({attribute})")
        };
        let source = format!("#[compile{outer}]\n{item}");
        if let Some(why) = refusal(&attribute, &item) {
            let _ = writeln!(refused, "    ({}, {source:?}, {why:?}),", c.seed);
            continue;
        }
        let _ = writeln!(functions, "{source}\n");
        let args: Vec<String> = (0..c.inputs.len()).map(|i| format!("&x[{i}]")).collect();
        let results: Vec<String> = (0..c.outputs.len()).map(|i| format!("r.{i}")).collect();
        let map = if results.len() == 1 {
            "vec![r]".to_string()
        } else {
            format!("vec![{}]", results.join(", "))
        };
        let _ = writeln!(
            table,
            "    Function {{ seed: {}, source: {source:?}, run: |x| {name}({}).map(|r| {map}), explain: || explain!({name}) }},",
            c.seed,
            args.join(", ")
        );
    }
    format!(
        "{functions}\nstatic TABLE: &[Function] = &[\n{table}];\n\nstatic REFUSED: &[(u64, &str, &str)] = &[\n{refused}];\n"
    )
}
