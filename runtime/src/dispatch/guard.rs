//! `GuardChain`: the conditions under which a path runs, as the user would write them.
//!
//! A value is named as in the function; one without a name is the expression that made it. The text is Rust, with no more
//! parentheses than it needs.

use crate::{DType, Tensor};
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;
use tensorplay_graph::{
    Demand, Dim, Expr, Graph, GraphModule, Host, HostBinary, HostError, HostType, HostUnary, Op, Symbol,
    TensorType, TypeInterpreter, Value,
};

/// A condition on the arguments of a call.
#[derive(Clone, Debug)]
pub struct Guard {
    /// The condition, as source text.
    pub source: String,
    test: Test,
}

impl PartialEq for Guard {
    fn eq(&self, other: &Guard) -> bool {
        self.source == other.source
    }
}

impl Eq for Guard {}

impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

/// What a guard asks of tensors.
#[derive(Clone, Debug)]
enum Test {
    DType(usize, DType),
    Rank(usize, usize),
    Size(usize, usize, usize),
    Range(usize, usize, RangeInclusive<usize>),
    /// Two sizes with one name.
    Same((usize, usize), (usize, usize)),
    Branch(Expr),
    /// Any value will do; another one is another entry.
    Any,
}

/// The guards of one path.
#[derive(Clone, Debug, Default)]
pub struct GuardChain {
    guards: Vec<Guard>,
    graph: Arc<Graph>,
    hits: u64,
}

impl PartialEq for GuardChain {
    fn eq(&self, other: &GuardChain) -> bool {
        self.guards == other.guards
    }
}

impl Eq for GuardChain {}

impl GuardChain {
    /// What the signature promises, and what the branches of a path read.
    pub(super) fn of(module: &GraphModule, key_params: &[bool]) -> GuardChain {
        let mut guards = Vec::new();
        let mut push = |source: String, test: Test| guards.push(Guard { source, test });
        let name = |i: usize| &module.graph.node(module.graph.inputs[i]).name;
        let mut named: Vec<(u32, (usize, usize))> = Vec::new();
        for (i, spec) in module.specs.iter().enumerate() {
            let Some(spec) = spec else { continue };
            let x = name(i);
            if let Some(d) = spec.dtype {
                push(format!("{x}.dtype() == DType::{d:?}"), Test::DType(i, d));
            }
            for (d, dim) in spec.shape.iter().flatten().enumerate() {
                match dim {
                    Dim::Known(n) => push(format!("{x}.dim({d}) == {n}"), Test::Size(i, d, *n)),
                    Dim::Symbol(s) => match named.iter().find(|(of, _)| of == s) {
                        Some((_, first)) => {
                            let source = format!("{x}.dim({d}) == {}.dim({})", name(first.0), first.1);
                            push(source, Test::Same((i, d), *first));
                        }
                        None => {
                            named.push((*s, (i, d)));
                            if let Some(range) = module.symbols.get(*s as usize).and_then(range) {
                                let (lo, hi) = (range.start(), range.end());
                                let source = match *hi {
                                    usize::MAX => format!("{x}.dim({d}) >= {lo}"),
                                    hi => format!("({lo}..={hi}).contains(&{x}.dim({d}))"),
                                };
                                push(source, Test::Range(i, d, range));
                            }
                        }
                    },
                    Dim::Unknown => {}
                }
            }
            if let Some(s) = &spec.shape {
                push(format!("{x}.rank() == {}", s.len()), Test::Rank(i, s.len()));
            }
        }
        let printer = Printer { module };
        for g in &module.graph.guards {
            push(printer.guard(g), Test::Branch(g.clone()));
        }
        let own = module.scalars.iter().filter(|s| s.source.is_none());
        for (s, _) in own.zip(key_params).filter(|(_, key)| **key) {
            push(
                format!("{}: {} is part of the key", s.name, s.ty.name()),
                Test::Any,
            );
        }
        GuardChain {
            guards,
            graph: Arc::new(module.graph.clone()),
            hits: 0,
        }
    }

    pub(super) fn with_hits(mut self, hits: u64) -> GuardChain {
        self.hits = hits;
        self
    }

    /// How many calls took the path, since the start of the program.
    pub fn hits(&self) -> u64 {
        self.hits
    }

    /// Whether all guards hold for a call with these tensors: the parameters in order, then the tensors that the path
    /// reads of structs. A guard on numbers, which are not given, counts as one that holds.
    pub fn evaluate(&self, tensors: &[&Tensor]) -> bool {
        self.guards.iter().all(|g| self.holds(g, tensors))
    }

    /// The guards that do not hold for a call with these tensors; see [`evaluate`](GuardChain::evaluate).
    pub fn explain(&self, tensors: &[&Tensor]) -> Vec<Guard> {
        let failing = self.guards.iter().filter(|g| !self.holds(g, tensors));
        failing.cloned().collect()
    }

    fn holds(&self, guard: &Guard, tensors: &[&Tensor]) -> bool {
        let size = |i: usize, d: usize| tensors.get(i).and_then(|t| t.shape().get(d)).copied();
        match &guard.test {
            Test::DType(i, d) => tensors.get(*i).is_some_and(|t| t.dtype() == *d),
            Test::Rank(i, r) => tensors.get(*i).is_some_and(|t| t.rank() == *r),
            Test::Size(i, d, n) => size(*i, *d) == Some(*n),
            Test::Range(i, d, range) => size(*i, *d).is_some_and(|n| range.contains(&n)),
            Test::Same(a, b) => size(a.0, a.1).is_some_and(|n| size(b.0, b.1) == Some(n)),
            Test::Branch(e) => self.branch(e, tensors),
            Test::Any => true,
        }
    }

    fn branch(&self, e: &Expr, tensors: &[&Tensor]) -> bool {
        if tensors.len() < self.graph.inputs.len() {
            return false;
        }
        let types = tensors.iter().take(self.graph.inputs.len());
        let types = types.map(|t| TensorType::known(t.dtype(), t.shape()));
        let mut walk = TypeInterpreter { symbols: &[] };
        let found = Demand::new(&self.graph, types.collect(), &[]).host(&mut walk, e);
        // a rule that these tensors break is a call that does not take the path
        found.is_ok_and(|value| !matches!(value, Ok(Host::Bool(false)) | Err(HostError::Failed(_))))
    }

    /// The guards in order.
    pub fn guards(&self) -> &[Guard] {
        &self.guards
    }

    /// All guards as one condition of Rust. Numbers of the key, of which nothing else is asked, are in [`guards`] alone.
    ///
    /// [`guards`]: GuardChain::guards
    pub fn source(&self) -> String {
        let asked = self.guards.iter().filter(|g| !matches!(g.test, Test::Any));
        let sources: Vec<&str> = asked.map(|g| g.source.as_str()).collect();
        sources.join(" && ")
    }
}

impl fmt::Display for GuardChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of_key = self.guards.iter().filter(|g| matches!(g.test, Test::Any));
        let condition = [self.source()].into_iter().filter(|s| !s.is_empty());
        let all: Vec<String> = condition.chain(of_key.map(|g| g.source.clone())).collect();
        f.write_str(&all.join(", "))
    }
}

/// The sizes that a name may stand for, if not all.
fn range(symbol: &Symbol) -> Option<RangeInclusive<usize>> {
    let (lo, hi) = (symbol.lo, symbol.hi);
    (lo > 0 || hi.is_some()).then(|| lo..=hi.unwrap_or(usize::MAX))
}

/// How tightly Rust binds what a text is: the levels of [`HostBinary::symbol`], then these.
const CAST: u8 = 6;
const PREFIX: u8 = 7;
const ATOM: u8 = 8;

/// Text, and how tightly it binds.
struct Text(String, u8);

impl Text {
    fn atom(text: impl Into<String>) -> Text {
        Text(text.into(), ATOM)
    }

    /// Source text: an atom or a comparison of two, or else anything.
    fn source(text: &str) -> Text {
        let compared = [" == ", " != "].iter().find_map(|op| text.split_once(op));
        let level = match compared {
            _ if is_atom(text) => ATOM,
            Some((a, b)) if is_atom(a) && is_atom(b) => 3,
            _ => 0,
        };
        Text(text.into(), level)
    }

    /// The text where something binds as tightly as `level`.
    fn within(self, level: u8) -> String {
        if self.1 < level {
            format!("({})", self.0)
        } else {
            self.0
        }
    }
}

/// Whether nothing at the top level of a source text may be an operator.
fn is_atom(text: &str) -> bool {
    let mut depth = 0usize;
    let loose = text.chars().any(|c| {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && c.is_whitespace()
    });
    !loose && !text.starts_with(['-', '!', '*', '&', '.'])
}

/// Prints host expressions of a graph as Rust.
struct Printer<'a> {
    module: &'a GraphModule,
}

impl Printer<'_> {
    /// One link of a chain of `&&`.
    fn guard(&self, e: &Expr) -> String {
        self.expr(e).within(2)
    }

    fn expr(&self, e: &Expr) -> Text {
        match e {
            Expr::Literal(h) => literal(*h),
            Expr::Param(i, _) => match self.module.scalars.get(*i as usize) {
                Some(s) => Text::source(&s.name),
                None => Text::atom(e.to_string()),
            },
            Expr::Dim(v, i) => self.read(*v, "dim", &self.expr(i).0),
            Expr::Rank(v) => self.read(*v, "rank", ""),
            Expr::ElemCount(v) => self.read(*v, "elem_count", ""),
            Expr::DTypeOf(v) => self.read(*v, "dtype", ""),
            Expr::SameShape(a, b) => {
                let [a, b] = [a, b].map(|v| self.read(*v, "shape", "").0);
                Text(format!("{a} == {b}"), 3)
            }
            // the type that a literal has where it is written
            Expr::Cast(HostType::F32, a) if is_of(a, HostType::F32) => {
                let Text(text, level) = self.expr(a);
                Text(text.replace("f64::", "f32::"), level)
            }
            Expr::Cast(t, a) if is_of(a, *t) => self.expr(a),
            Expr::Cast(t, a) => {
                let a = self.expr(a).within(CAST);
                Text(format!("{a} as {}", t.name()), CAST)
            }
            Expr::Unary(HostUnary::Neg, a) => Text(format!("-{}", self.expr(a).within(PREFIX)), PREFIX),
            Expr::Unary(HostUnary::Not, a) => Text(format!("!{}", self.expr(a).within(PREFIX)), PREFIX),
            Expr::Unary(HostUnary::Sqrt, a) => self.method(a, "sqrt", None),
            Expr::Unary(HostUnary::Ln, a) => self.method(a, "ln", None),
            Expr::Unary(HostUnary::Exp, a) => self.method(a, "exp", None),
            Expr::Unary(HostUnary::Probability, a) => self.expr(a),
            Expr::Binary(op, a, b) => self.binary(*op, a, b),
        }
    }

    fn binary(&self, op: HostBinary, a: &Expr, b: &Expr) -> Text {
        let (symbol, level) = op.symbol();
        let Some(level) = level else {
            let floats = matches!(
                a.host_type(),
                HostType::F32 | HostType::F64 | HostType::FloatLiteral
            );
            let name = if symbol == "pow" && floats { "powf" } else { symbol };
            return self.method(a, name, Some(b));
        };
        // comparisons do not chain, and `a as usize < b` would open a list of types
        let compares = matches!(symbol, "==" | "!=" | "<" | "<=" | ">" | ">=");
        let left = self.expr(a);
        let opens = symbol == "<" && ends_in_cast(a) && left.1 > level;
        let left = match (opens, compares) {
            (true, _) => format!("({})", left.0),
            (_, true) => left.within(level + 1),
            _ => left.within(level),
        };
        let right = self.expr(b).within(level + 1);
        Text(format!("{left} {symbol} {right}"), level)
    }

    fn method(&self, a: &Expr, name: &str, argument: Option<&Expr>) -> Text {
        let argument = argument.map(|b| self.expr(b).0).unwrap_or_default();
        Text::atom(format!("{}.{name}({argument})", self.receiver(a)))
    }

    /// What a method is called on: a literal says its type.
    fn receiver(&self, a: &Expr) -> String {
        let (ty, value) = match a {
            Expr::Cast(t, value) if is_of(value, *t) => (t.name(), &**value),
            Expr::Literal(Host::Float(_)) => ("f64", a),
            Expr::Literal(Host::Int(_)) => ("i64", a),
            _ => return self.expr(a).within(ATOM),
        };
        let text = self.expr(a).0;
        match value {
            Expr::Literal(Host::Float(v)) if !v.is_finite() => self.expr(a).within(ATOM),
            Expr::Literal(Host::Float(_) | Host::Int(_)) if text.starts_with('-') => format!("({text}{ty})"),
            Expr::Literal(Host::Float(_) | Host::Int(_)) => format!("{text}{ty}"),
            _ => self.expr(a).within(ATOM),
        }
    }

    fn read(&self, v: Value, name: &str, argument: &str) -> Text {
        Text::atom(format!("{}.{name}({argument})", self.value(v).within(ATOM)))
    }

    /// A value by the name that it is bound to, or as its expression.
    fn value(&self, v: Value) -> Text {
        let node = self.module.graph.node(v.node);
        let location = self.module.locations.get(node.location as usize);
        let text = match location {
            _ if !node.name.is_empty() => Text::source(&node.name),
            Some(l) if !l.text.is_empty() => Text::source(l.text.trim_start_matches('&')),
            _ => Text::atom(v.to_string()),
        };
        match node.op() {
            Some(op) if is_list(op) => Text::atom(format!("{}[{}]", text.within(ATOM), v.index)),
            Some(_) if v.index > 0 => Text::atom(format!("{}.{}", text.within(ATOM), v.index)),
            _ => text,
        }
    }
}

fn is_list(op: Op) -> bool {
    op.row().results == tensorplay_graph::op::row::Results::List
}

/// Whether a literal has that type without a word.
fn is_of(e: &Expr, t: HostType) -> bool {
    match e.literal() {
        Some(Host::Int(v)) => t.is_int() && v >= 0,
        Some(Host::Float(_)) => matches!(t, HostType::F32 | HostType::F64),
        _ => false,
    }
}

/// Whether the last word of an expression is the type of a cast.
fn ends_in_cast(e: &Expr) -> bool {
    match e {
        Expr::Cast(t, a) => !is_of(a, *t),
        Expr::Binary(op, _, b) => op.symbol().1.is_some() && ends_in_cast(b),
        _ => false,
    }
}

fn literal(h: Host) -> Text {
    let text = match h {
        Host::Int(v) => v.to_string(),
        Host::Size(v) => v.to_string(),
        Host::Float(v) if v.is_nan() => "f64::NAN".into(),
        Host::Float(f64::INFINITY) => "f64::INFINITY".into(),
        Host::Float(f64::NEG_INFINITY) => "-f64::INFINITY".into(),
        Host::Float(v) => format!("{v:?}"),
        Host::Bool(v) => v.to_string(),
        Host::DType(d) => format!("DType::{d:?}"),
    };
    let level = if text.starts_with('-') { PREFIX } else { ATOM };
    Text(text, level)
}

#[cfg(test)]
mod tests {
    use super::GuardChain;
    use tensorplay_graph::GraphModule;

    /// The guard as Rust.
    fn printed(guard: &str) -> String {
        let text = format!(
            "graph f(x, y, $0 n: usize, $1 scale: f64, $2 on: bool, $3 \"mode == Mode::Off\": bool) {{
               %2 = matmul(%0, %1) \"h\"
               %3 = relu(%2)
               %4 = chunk(%2, 2, 0) : f32[..], f32[..] \"parts\"
               guard {guard}
               return %3
             }}"
        );
        let mut module: GraphModule = text.parse().unwrap_or_else(|e| panic!("{e}\n{text}"));
        let node = &mut module.graph.nodes[3];
        node.location = module.locations.len() as u32;
        module.locations.push(tensorplay_graph::Location {
            text: "x.matmul(&y) + 1.0".into(),
            ..Default::default()
        });
        GuardChain::of(&module, &[]).source()
    }

    #[test]
    fn names_and_source_texts() {
        assert_eq!(printed("dim(%0, -1) > 32"), "x.dim(-1) > 32");
        assert_eq!(printed("not(rank(%2) == 2)"), "!(h.rank() == 2)");
        assert_eq!(printed("dtype(%1) == f32"), "y.dtype() == DType::F32");
        assert_eq!(
            printed("elem_count(%3) == 0"),
            "(x.matmul(&y) + 1.0).elem_count() == 0"
        );
        assert_eq!(printed("dim(%4.1, $0) > 1"), "parts[1].dim(n) > 1");
        assert_eq!(printed("not(same_shape(%0, %2))"), "!(x.shape() == h.shape())");
        assert_eq!(printed("not($2)"), "!on");
        assert_eq!(printed("$3"), "mode == Mode::Off");
        assert_eq!(printed("not($3)"), "!(mode == Mode::Off)");
    }

    #[test]
    fn parentheses_are_those_that_rust_needs() {
        assert_eq!(
            printed("($0 + 1) * 2 - (3 - $0) == 4"),
            "(n + 1) * 2 - (3 - n) == 4"
        );
        assert_eq!(printed("$2 && $0 > 2 || $0 == 0"), "(on && n > 2 || n == 0)");
        assert_eq!(printed("($2 || $0 > 2) && $0 > 0"), "(on || n > 2) && n > 0");
        assert_eq!(printed("($0 > 2) == $2"), "(n > 2) == on");
        assert_eq!(printed("i64($0) < 3"), "(n as i64) < 3");
        assert_eq!(printed("1 + i64($0 + 1) < 3"), "(1 + (n + 1) as i64) < 3");
        assert_eq!(printed("i64($0) > 3"), "n as i64 > 3");
        assert_eq!(printed("neg(i64($0)) == -3"), "-(n as i64) == -3");
        assert_eq!(printed("max($0 + 1, usize(4)) >= 5"), "(n + 1).max(4) >= 5");
        assert_eq!(
            printed("pow($1, 2.0) * sqrt(neg($1)) < 0.5"),
            "scale.powf(2.0) * (-scale).sqrt() < 0.5"
        );
        assert_eq!(printed("pow($0, 2) > 4"), "n.pow(2) > 4");
        assert_eq!(printed("sqrt(3.0) < $1"), "3.0f64.sqrt() < scale");
        assert_eq!(printed("min(-1.5, $1) < 0.5"), "(-1.5f64).min(scale) < 0.5");
        assert_eq!(printed("pow(-1, 2) == 1"), "(-1i64).pow(2) == 1");
        assert_eq!(printed("f32(inf) == $1"), "f32::INFINITY == scale");
    }
}
