//! The printer of the text form.

use super::lex::{is_plain_ident, is_plain_name};
use super::parse::range_text;
use crate::op::options::{Form, OptionsRow};
use crate::op::row::ParamKind;
use crate::{Arg, GraphModule, Host, Node, NodeKind, Symbol, TensorType, Value, Write};
use std::collections::HashMap;
use std::fmt;

/// Prints `%0`, `[0, 2]`, `none` or a host expression.
impl fmt::Display for Arg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Arg::Value(v) => v.fmt(f),
            Arg::Host(e) => e.fmt(f),
            Arg::List(l) => {
                f.write_str("[")?;
                commas(f, l.iter())?;
                f.write_str("]")
            }
            Arg::Field(p) => p.fmt(f),
            Arg::None => f.write_str("none"),
        }
    }
}

/// Prints the node without its number, types and name: `matmul(%0, %1)`, `input 0`.
impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            NodeKind::Input(i) => write!(f, "input {i}"),
            NodeKind::Call(op, args) => {
                let params = op.row().params;
                let shown = args
                    .iter()
                    .enumerate()
                    .map(|(i, arg)| match params.get(i).map(|p| p.kind) {
                        Some(ParamKind::Options(options)) => Shown::Options(options, arg),
                        _ => Shown::Arg(arg),
                    });
                write!(f, "{op}(")?;
                commas(f, shown)?;
                f.write_str(")")
            }
        }
    }
}

/// An argument as its parameter shows it.
enum Shown<'a> {
    Arg(&'a Arg),
    Options(&'static OptionsRow, &'a Arg),
}

/// Prints `{stride=[2, 2], groups=1}` and `Constant(0.5)`.
impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (options, list) = match self {
            Shown::Options(o, Arg::List(l)) if l.len() == o.len() => (o, l),
            Shown::Arg(a) | Shown::Options(_, a) => return a.fmt(f),
        };
        match options.form {
            Form::Struct(_) => {
                f.write_str("{")?;
                for (at, field) in options.fields() {
                    let sep = if at == 0 { "" } else { ", " };
                    write!(f, "{sep}{}=", field.name)?;
                    match &list[at..at + field.len] {
                        [one] => one.fmt(f)?,
                        several => {
                            f.write_str("[")?;
                            commas(f, several.iter())?;
                            f.write_str("]")?;
                        }
                    }
                }
                f.write_str("}")
            }
            Form::Enum(variants) => {
                let number = match &list[0] {
                    Arg::Host(e) => e.literal().and_then(Host::as_int),
                    _ => None,
                };
                match number.and_then(|n| variants.get(usize::try_from(n).ok()?)) {
                    Some(v) if v.value.is_some() => write!(f, "{}({})", v.name, list[1]),
                    Some(v) if list[1] == Arg::None => f.write_str(v.name),
                    _ => Arg::List(list.clone()).fmt(f),
                }
            }
        }
    }
}

/// Prints the text form.
impl fmt::Display for GraphModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = text_symbols(&self.symbols);
        let implied = self.implied_inputs();
        write!(f, "graph {}(", name(&self.name))?;
        self.header(f, &names)?;
        f.write_str(" {\n")?;
        self.sections(f, &names)?;
        for (i, node) in self.graph.nodes.iter().enumerate().skip(implied) {
            write!(f, "  %{i} = {node}")?;
            if node.types.is_empty() {
                f.write_str(" : ()")?;
            } else {
                f.write_str(" : ")?;
                commas(f, node.types.iter().map(|t| t.display(&names)))?;
            }
            let header_name = match node.kind {
                NodeKind::Input(i) => self.input_name(i as usize),
                NodeKind::Call(..) => "",
            };
            if node.name != header_name {
                write!(f, " {:?}", node.name)?;
            }
            if node.location > 0
                && let Some(l) = self
                    .locations
                    .get(node.location as usize)
                    .filter(|l| l.line > 0 && l.file.is_empty())
            {
                write!(f, " @{}:{}", l.line, l.column)?;
            }
            f.write_str("\n")?;
        }
        for guard in &self.graph.guards {
            writeln!(f, "  guard {guard}")?;
        }
        f.write_str("  return")?;
        if !self.graph.outputs.is_empty() {
            f.write_str(" ")?;
            let returned = self.returned();
            let shown = self.graph.outputs.iter().enumerate().map(|(i, v)| {
                let input = |k: u32| match self.graph.inputs.get(k as usize) {
                    Some(input) => Value::from(*input).to_string(),
                    None => format!("input {k}"),
                };
                let news = self.updates.iter().map(|k| input(*k));
                let mut news = news.chain(self.writes.iter().map(|w| match w {
                    Write::Input(k) => format!("*{}", input(*k)),
                    elements => format!("*{elements}"),
                }));
                match i.checked_sub(returned).and_then(|k| news.nth(k)) {
                    Some(place) => format!("{v} into {place}"),
                    None => v.to_string(),
                }
            });
            commas(f, shown)?;
        }
        f.write_str("\n")?;
        for (i, region) in self.regions.iter().enumerate() {
            let text = region.to_string();
            write!(f, "  region {i} {}", text.trim_end().replace('\n', "\n  "))?;
            f.write_str("\n")?;
        }
        f.write_str("}\n")
    }
}

impl GraphModule {
    /// How many leading nodes are exactly the inputs that the header implies.
    fn implied_inputs(&self) -> usize {
        let implied = |i: usize| {
            let node = self.graph.nodes.get(i)?;
            let spec = self.specs.get(i)?.clone().unwrap_or_default();
            let same = node.kind == NodeKind::Input(i as u32) && node.types == [spec];
            same.then_some(())
        };
        (0..self.graph.inputs.len())
            .take_while(|&i| implied(i).is_some())
            .count()
    }

    fn input_name(&self, i: usize) -> &str {
        let node = self
            .graph
            .inputs
            .get(i)
            .and_then(|id| self.graph.nodes.get(id.index()));
        node.map_or("", |n| &n.name)
    }

    fn header(&self, f: &mut fmt::Formatter<'_>, names: &[Symbol]) -> fmt::Result {
        let mut first = true;
        let mut comma = |f: &mut fmt::Formatter<'_>| {
            let sep = if first { "" } else { ", " };
            first = false;
            f.write_str(sep)
        };
        for i in 0..self.graph.inputs.len() {
            comma(f)?;
            f.write_str(&name(self.input_name(i)))?;
            let own = self.graph.inputs.len().saturating_sub(self.fields.len());
            if let Some(path) = i.checked_sub(own).and_then(|k| self.fields.get(k)) {
                write!(f, " from {path}")?;
            }
            if let Some(Some(spec)) = self.specs.get(i) {
                write!(f, ": {}", spec.display(names))?;
            }
        }
        for (i, s) in self.scalars.iter().enumerate() {
            comma(f)?;
            write!(f, "${i} {}", name(&s.name))?;
            if let Some(path) = &s.source {
                write!(f, " from {path}")?;
            }
            write!(f, ": {}", s.ty.name())?;
        }
        f.write_str(")")?;
        if !self.output_specs.is_empty() {
            f.write_str(" -> ")?;
            let shown = |t: &TensorType| t.display(names).to_string();
            commas(
                f,
                self.output_specs
                    .iter()
                    .map(|s| s.as_ref().map_or("none".to_string(), shown)),
            )?;
        }
        Ok(())
    }

    fn sections(&self, f: &mut fmt::Formatter<'_>, names: &[Symbol]) -> fmt::Result {
        let place = self.locations.first().filter(|l| l.line > 0);
        if !self.file.is_empty() || place.is_some() {
            write!(f, "  file {:?}", self.file)?;
            if let Some(l) = place {
                write!(f, " @{}:{}", l.line, l.column)?;
            }
            f.write_str("\n")?;
        }
        for (input, dim) in &self.statics {
            writeln!(f, "  static {input} {dim}")?;
        }
        for a in &self.aggregates {
            writeln!(f, "  aggregate {} {}", name(&a.name), a.schema)?;
        }
        for callee in &self.callees {
            writeln!(f, "  callee {callee:?}")?;
        }
        for (i, (s, shown)) in self.symbols.iter().zip(names).enumerate() {
            f.write_str(if i == 0 { "  symbols " } else { ", " })?;
            f.write_str(&shown.name)?;
            let range = range_text(s.lo, s.hi);
            if s.name != shown.name && s.name != range {
                write!(f, " {:?}", s.name)?;
            }
            write!(f, ": {range}")?;
        }
        if !names.is_empty() {
            f.write_str("\n")?;
        }
        Ok(())
    }
}

/// The symbols under the names that the text form gives them: their own if it is an identifier that no
/// other symbol has, `?i` otherwise.
fn text_symbols(symbols: &[Symbol]) -> Vec<Symbol> {
    let mut count: HashMap<&str, u32> = HashMap::new();
    for s in symbols {
        *count.entry(&s.name).or_default() += 1;
    }
    let unique = |s: &Symbol| is_plain_ident(&s.name) && s.name != "_" && count[s.name.as_str()] == 1;
    let named = symbols.iter().enumerate().map(|(i, s)| Symbol {
        name: if unique(s) {
            s.name.clone()
        } else {
            format!("?{i}")
        },
        ..s.clone()
    });
    named.collect()
}

fn name(s: &str) -> String {
    if is_plain_name(s) {
        s.to_string()
    } else {
        format!("{s:?}")
    }
}

fn commas<T: fmt::Display>(f: &mut fmt::Formatter<'_>, items: impl Iterator<Item = T>) -> fmt::Result {
    for (i, item) in items.enumerate() {
        if i > 0 {
            f.write_str(", ")?;
        }
        item.fmt(f)?;
    }
    Ok(())
}
