//! The parser: recursive descent over a token list. It checks form only; [`verify`](crate::verify())
//! checks meaning, so a text may hold a graph that breaks every rule.

use super::error::{ParseError, ParseErrorKind as Kind};
use super::expr::{MAX_DEPTH, host_type};
use super::lex::{self, Token};
use crate::op::options::{Form, OptionsRow};
use crate::op::row::ParamKind;
use crate::verify::{infer_node, verify_call};
use crate::{
    Arg, DType, Dim, GraphModule, HostType, Location, Node, NodeId, NodeKind, Op, ScalarInput, Shape, Symbol,
    TensorType, Value, Write,
};
use std::collections::HashMap;

pub(super) type Parsed<T> = Result<T, ParseError>;

/// Parses without verifying: for tools and tests that look at broken graphs.
///
/// # Errors
/// The first place where the text is not of the form.
pub fn parse(text: &str) -> Result<GraphModule, ParseError> {
    Ok(parse_with_starts(text)?.0)
}

/// The graph, and the byte offset of each node.
pub(super) fn parse_with_starts(text: &str) -> Parsed<(GraphModule, Vec<usize>)> {
    let mut p = Parser {
        text,
        tokens: lex::lex(text)?,
        at: 0,
        nesting: 0,
        module: GraphModule::default(),
        symbols: HashMap::new(),
        locations: HashMap::new(),
        starts: Vec::new(),
    };
    p.graph()?;
    Ok((p.module, p.starts))
}

pub(super) struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(Token<'a>, usize)>,
    at: usize,
    nesting: usize,
    pub(super) module: GraphModule,
    symbols: HashMap<String, u32>,
    locations: HashMap<(u32, u32), u32>,
    /// The byte offset of each node.
    starts: Vec<usize>,
}

impl<'a> Parser<'a> {
    pub(super) fn peek(&self) -> &Token<'a> {
        &self.tokens[self.at].0
    }

    pub(super) fn peek_after(&self) -> &Token<'a> {
        &self.tokens[(self.at + 1).min(self.tokens.len() - 1)].0
    }

    pub(super) fn next(&mut self) {
        self.at = (self.at + 1).min(self.tokens.len() - 1);
    }

    fn offset(&self) -> usize {
        self.tokens[self.at].1
    }

    pub(super) fn error(&self, kind: Kind) -> ParseError {
        lex::error_at(self.text, self.offset(), kind)
    }

    pub(super) fn expected(&self, what: &str) -> ParseError {
        self.error(Kind::Expected {
            expected: what.to_string(),
            found: self.peek().to_string(),
        })
    }

    pub(super) fn is(&self, punct: &str) -> bool {
        matches!(self.peek(), Token::Punct(p) if *p == punct)
    }

    pub(super) fn eat(&mut self, punct: &str) -> bool {
        let is = self.is(punct);
        if is {
            self.next();
        }
        is
    }

    pub(super) fn punct(&mut self, punct: &str) -> Parsed<()> {
        if self.eat(punct) {
            Ok(())
        } else {
            Err(self.expected(&format!("`{punct}`")))
        }
    }

    pub(super) fn keyword(&mut self, word: &str) -> bool {
        let is = matches!(self.peek(), Token::Ident(w) if *w == word);
        if is {
            self.next();
        }
        is
    }

    /// Runs `f` one level deeper.
    pub(super) fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.nesting >= MAX_DEPTH {
            return Err(self.error(Kind::TooDeep));
        }
        self.nesting += 1;
        let result = f(self);
        self.nesting -= 1;
        result
    }

    pub(super) fn scalar_type(&self, i: u32) -> Option<HostType> {
        self.module.scalars.get(i as usize).map(|s| s.ty)
    }

    pub(super) fn name(&mut self, what: &str) -> Parsed<String> {
        let name = match self.peek() {
            Token::Ident(s) => s.to_string(),
            Token::Str(s) => s.clone(),
            _ => return Err(self.expected(what)),
        };
        self.next();
        Ok(name)
    }

    fn graph(&mut self) -> Parsed<()> {
        self.one_graph()?;
        if !matches!(self.peek(), Token::End) {
            return Err(self.expected("the end of the text"));
        }
        Ok(())
    }

    /// `region 0 graph yes(..) { .. }`: a graph inside the module, with names of its own.
    fn region(&mut self) -> Parsed<()> {
        let number = self.size()?;
        if number != self.module.regions.len() {
            self.at -= 1;
            return Err(self.expected(&format!("region {}", self.module.regions.len())));
        }
        self.nested(|p| {
            let outer = std::mem::take(&mut p.module);
            let symbols = std::mem::take(&mut p.symbols);
            let locations = std::mem::take(&mut p.locations);
            let starts = std::mem::take(&mut p.starts);
            let parsed = p.one_graph();
            let region = std::mem::replace(&mut p.module, outer);
            (p.symbols, p.locations, p.starts) = (symbols, locations, starts);
            p.module.regions.push(region);
            parsed
        })
    }

    fn one_graph(&mut self) -> Parsed<()> {
        self.module.locations.push(Location::default());
        if !self.keyword("graph") {
            return Err(self.expected("`graph`"));
        }
        self.module.name = self.name("the function's name")?;
        let header = self.at;
        // the header's types use the symbols that the body declares
        let brace = |(t, _): &(Token<'_>, usize)| *t == Token::Punct("{");
        match self.tokens[self.at..].iter().position(brace) {
            Some(at) => self.at += at + 1,
            None => self.at = self.tokens.len() - 1,
        }
        let sections = self.sections();
        let body = self.at;
        self.at = header;
        let inputs = self.header()?;
        self.punct("{")?;
        sections?;
        self.at = body;
        self.body(inputs)
    }

    /// `file "a.rs" @3:1` and `symbols B: 0.., H: 1..=64`.
    fn sections(&mut self) -> Parsed<()> {
        if self.keyword("file") {
            let Token::Str(s) = self.peek() else {
                return Err(self.expected("the file's name in quotes"));
            };
            self.module.file = s.clone();
            self.next();
            if self.is("@") {
                let (line, column) = self.place()?;
                self.module.locations[0].line = line;
                self.module.locations[0].column = column;
            }
        }
        while self.keyword("static") {
            let input = self.small()?;
            let negative = self.eat("-");
            let dim = self.int(negative)?;
            self.module.statics.push((input, dim));
        }
        while self.keyword("aggregate") {
            self.aggregate()?;
        }
        while self.keyword("callee") {
            let callee = self.name("the callee's path")?;
            self.module.callees.push(callee);
        }
        if self.keyword("symbols") {
            loop {
                self.symbol()?;
                if !self.eat(",") {
                    break;
                }
            }
        }
        Ok(())
    }

    fn symbol(&mut self) -> Parsed<()> {
        let index = self.module.symbols.len() as u32;
        let mut name = match *self.peek() {
            Token::Ident(s) if lex::is_plain_ident(s) && s != "_" => Some(s.to_string()),
            Token::Anonymous(i) if i == index => None,
            _ => return Err(self.expected(&format!("a dim's name or `?{index}`"))),
        };
        let key = name.clone().unwrap_or_else(|| format!("?{index}"));
        if self.symbols.insert(key.clone(), index).is_some() {
            return Err(self.error(Kind::Repeated(format!("dim `{key}`"))));
        }
        self.next();
        if let (None, Token::Str(s)) = (&name, self.peek()) {
            name = Some(s.clone());
            self.next();
        }
        self.punct(":")?;
        let (lo, hi) = self.range()?;
        let name = name.unwrap_or_else(|| range_text(lo, hi));
        self.module.symbols.push(Symbol { name, lo, hi });
        Ok(())
    }

    fn size(&mut self) -> Parsed<usize> {
        Ok(self.int(false)? as usize)
    }

    fn range(&mut self) -> Parsed<(usize, Option<usize>)> {
        let lo = self.size()?;
        if self.eat("..") {
            return Ok((lo, None));
        }
        self.punct("..=")?;
        Ok((lo, Some(self.size()?)))
    }

    /// `(x: f32[B], w, $0 k: f32) -> f32[B], none`; the names of the tensor parameters.
    fn header(&mut self) -> Parsed<Vec<String>> {
        let mut inputs = Vec::new();
        self.punct("(")?;
        while !self.is(")") {
            if let Token::Param(i) = *self.peek() {
                let index = self.module.scalars.len() as u32;
                if i != index {
                    return Err(self.expected(&format!("`${index}`")));
                }
                self.next();
                let name = self.name("the parameter's name")?;
                let source = self.source()?;
                self.punct(":")?;
                let Token::Ident(ty) = *self.peek() else {
                    return Err(self.expected("a scalar type"));
                };
                let Some(ty) = host_type(ty) else {
                    return Err(self.expected("a scalar type"));
                };
                self.next();
                self.module.scalars.push(ScalarInput { name, ty, source });
            } else {
                inputs.push(self.name("a parameter")?);
                match self.source()? {
                    Some(path) => self.module.fields.push(path),
                    None if self.module.fields.is_empty() => {}
                    None => return Err(self.expected("`from`, as the parameter before has it")),
                }
                let spec = if self.eat(":") { Some(self.ty()?) } else { None };
                self.module.specs.push(spec);
            }
            if !self.eat(",") {
                break;
            }
        }
        self.punct(")")?;
        if self.eat("->") {
            loop {
                let spec = if self.keyword("none") {
                    None
                } else {
                    Some(self.ty()?)
                };
                self.module.output_specs.push(spec);
                if !self.eat(",") {
                    break;
                }
            }
        }
        Ok(inputs)
    }

    fn ty(&mut self) -> Parsed<TensorType> {
        let Token::Ident(name) = *self.peek() else {
            return Err(self.expected("a type such as `f32[2, _]`"));
        };
        let dtype = match (name, name.parse::<DType>()) {
            ("_", _) => None,
            (_, Ok(d)) => Some(d),
            _ => return Err(self.expected("a dtype or `_`")),
        };
        self.next();
        self.punct("[")?;
        let shape: Shape = if self.eat("..") {
            None
        } else {
            let mut dims = Vec::new();
            while !self.is("]") {
                dims.push(self.dim()?);
                if !self.eat(",") {
                    break;
                }
            }
            Some(dims)
        };
        self.punct("]")?;
        Ok(TensorType { dtype, shape })
    }

    fn dim(&mut self) -> Parsed<Dim> {
        let key = match *self.peek() {
            Token::Int(_) => return Ok(Dim::Known(self.size()?)),
            Token::Ident("_") => {
                self.next();
                return Ok(Dim::Unknown);
            }
            Token::Ident(s) => s.to_string(),
            Token::Anonymous(i) => format!("?{i}"),
            _ => return Err(self.expected("a size, a dim's name or `_`")),
        };
        match self.symbols.get(&key) {
            Some(&i) => {
                self.next();
                Ok(Dim::Symbol(i))
            }
            None => Err(self.error(Kind::UnknownSymbol(key))),
        }
    }

    fn body(&mut self, inputs: Vec<String>) -> Parsed<()> {
        let implied = match *self.peek() {
            Token::Value(n, _) if (n as usize) < inputs.len() => n as usize,
            _ => inputs.len(),
        };
        let header = self.tokens[0].1;
        self.module.graph.inputs = vec![NodeId(u32::MAX); inputs.len()];
        for (i, name) in inputs.iter().take(implied).enumerate() {
            let ty = self.module.specs[i].clone().unwrap_or_default();
            self.push(NodeKind::Input(i as u32), name.clone(), 0, vec![ty], header);
        }
        while let Token::Value(n, index) = *self.peek() {
            let expected = self.module.graph.nodes.len() as u32;
            if n != expected || index != 0 {
                return Err(self.error(Kind::Numbering { expected, found: n }));
            }
            self.node(&inputs)?;
        }
        if let Some(i) = self.module.graph.inputs.iter().position(|n| n.0 == u32::MAX) {
            return Err(self.expected(&format!("`input {i}`")));
        }
        while self.keyword("guard") {
            let guard = self.expr()?;
            self.module.graph.guards.push(guard);
        }
        if !self.keyword("return") {
            return Err(self.expected("a node or `return`"));
        }
        while matches!(self.peek(), Token::Value(..)) {
            let v = self.value()?;
            self.module.graph.outputs.push(v);
            if self.keyword("into") {
                let write = self.eat("*");
                if !write && !self.module.writes.is_empty() {
                    return Err(self.expected("`*`, for new values of variables stand before others"));
                }
                if write && self.keyword("each") {
                    let elements = self.elements()?;
                    self.module.writes.push(elements);
                } else {
                    let input = self.value()?;
                    let inputs = &self.module.graph.inputs;
                    let Some(at) = inputs.iter().position(|&i| Value::from(i) == input) else {
                        return Err(self.expected("a parameter after `into`"));
                    };
                    match write {
                        true => self.module.writes.push(Write::Input(at as u32)),
                        false => self.module.updates.push(at as u32),
                    }
                }
            } else if self.module.updates.len() + self.module.writes.len() > 0 {
                return Err(self.expected("results before new values of parameters"));
            }
            if !self.eat(",") {
                break;
            }
            if !matches!(self.peek(), Token::Value(..)) {
                return Err(self.expected("a value such as `%0`"));
            }
        }
        while self.keyword("region") {
            self.region()?;
        }
        self.punct("}")
    }

    fn push(&mut self, kind: NodeKind, name: String, location: u32, types: Vec<TensorType>, start: usize) {
        if let NodeKind::Input(i) = kind {
            self.module.graph.inputs[i as usize] = NodeId(self.module.graph.nodes.len() as u32);
        }
        self.starts.push(start);
        self.module.graph.push(Node {
            kind,
            name,
            location,
            types,
            interior: false,
        });
    }

    /// `%3 = matmul(%0, %1) : f32[B, H] "h" @5:13`, or `%3 = input 1 : f32[3]`.
    fn node(&mut self, inputs: &[String]) -> Parsed<()> {
        let start = self.offset();
        self.next();
        self.punct("=")?;
        let Token::Ident(op_name) = *self.peek() else {
            return Err(self.expected("an operation"));
        };
        let kind = if op_name == "input" {
            self.next();
            let i = self.size()?;
            if i >= inputs.len() || self.module.graph.inputs[i].0 != u32::MAX {
                self.at -= 1;
                return Err(self.expected("the number of a parameter that has no node yet"));
            }
            NodeKind::Input(i as u32)
        } else {
            let Some(op) = Op::from_name(op_name) else {
                return Err(self.error(Kind::UnknownOp(op_name.to_string())));
            };
            self.next();
            self.punct("(")?;
            NodeKind::Call(op, self.call_args(op)?)
        };
        let types = if self.eat(":") { Some(self.types()?) } else { None };
        let mut name = match kind {
            NodeKind::Input(i) => inputs[i as usize].clone(),
            NodeKind::Call(..) => String::new(),
        };
        if let Token::Str(s) = self.peek() {
            name = s.clone();
            self.next();
        }
        let location = if self.is("@") {
            let place = self.place()?;
            self.location(place)
        } else {
            0
        };
        let spec = match kind {
            NodeKind::Input(i) => self.module.specs[i as usize].clone().unwrap_or_default(),
            NodeKind::Call(..) => TensorType::default(),
        };
        let infer = types.is_none() && matches!(kind, NodeKind::Call(..));
        self.push(kind, name, location, types.unwrap_or_else(|| vec![spec]), start);
        if infer {
            self.infer_last(start)?;
        }
        Ok(())
    }

    fn infer_last(&mut self, start: usize) -> Parsed<()> {
        let id = NodeId(self.module.graph.nodes.len() as u32 - 1);
        let mut errors = Vec::new();
        verify_call(&self.module, id, &mut errors);
        if !errors.is_empty() {
            return Ok(()); // `verify` will say so
        }
        match infer_node(&self.module, id) {
            Ok(types) => {
                self.module.graph.nodes[id.index()].types = types;
                Ok(())
            }
            Err(e) => Err(lex::error_at(self.text, start, Kind::Rule(e))),
        }
    }

    fn types(&mut self) -> Parsed<Vec<TensorType>> {
        if self.eat("(") {
            self.punct(")")?;
            return Ok(Vec::new());
        }
        let mut types = vec![self.ty()?];
        while self.eat(",") {
            types.push(self.ty()?);
        }
        Ok(types)
    }

    /// The arguments of an operation up to and with `)`.
    fn call_args(&mut self, op: Op) -> Parsed<Vec<Arg>> {
        let mut args = Vec::new();
        while !self.is(")") {
            let kind = op.row().params.get(args.len()).map(|p| p.kind);
            args.push(match kind {
                Some(ParamKind::Options(options)) => self.options(options)?,
                _ => self.arg()?,
            });
            if !self.eat(",") {
                break;
            }
        }
        if !self.is(")") {
            return Err(self.expected("`,` or `)`"));
        }
        self.next();
        Ok(args)
    }

    /// `{stride=[2, 2], groups=1}` with all fields in order, or `Constant(0.5)`.
    fn options(&mut self, options: &'static OptionsRow) -> Parsed<Arg> {
        if !matches!(self.peek(), Token::Punct("{") | Token::Ident(_)) {
            return self.arg();
        }
        let mut list = Vec::with_capacity(options.len());
        match options.form {
            Form::Struct(_) => {
                self.punct("{")?;
                for (at, field) in options.fields() {
                    if at > 0 {
                        self.punct(",")?;
                    }
                    if !self.keyword(field.name) {
                        return Err(self.expected(&format!("`{}`", field.name)));
                    }
                    self.punct("=")?;
                    if field.len == 1 {
                        list.push(self.arg()?);
                        continue;
                    }
                    self.punct("[")?;
                    let values = self.args("]")?;
                    if values.len() != field.len {
                        return Err(self.expected(&format!("{} numbers for `{}`", field.len, field.name)));
                    }
                    list.extend(values);
                }
                self.punct("}")?;
            }
            Form::Enum(variants) => {
                let found = variants.iter().position(|v| self.keyword(v.name));
                let Some(at) = found else {
                    let names: Vec<&str> = variants.iter().map(|v| v.name).collect();
                    return Err(self.expected(&format!("one of {}", names.join(", "))));
                };
                list.push(Arg::int(at as i64));
                list.push(match variants[at].value {
                    Some(_) => {
                        self.punct("(")?;
                        let value = self.arg()?;
                        self.punct(")")?;
                        value
                    }
                    None => Arg::None,
                });
            }
        }
        Ok(Arg::List(list))
    }

    /// Arguments up to and with `close`.
    fn args(&mut self, close: &str) -> Parsed<Vec<Arg>> {
        let mut args = Vec::new();
        while !self.is(close) {
            args.push(self.arg()?);
            if !self.eat(",") {
                break;
            }
        }
        if !self.is(close) {
            return Err(self.expected(&format!("`,` or `{close}`")));
        }
        self.next();
        Ok(args)
    }

    fn arg(&mut self) -> Parsed<Arg> {
        if matches!(self.peek(), Token::Value(..)) {
            return Ok(Arg::Value(self.value()?));
        }
        if self.is("[") {
            return self.nested(|p| {
                p.next();
                Ok(Arg::List(p.args("]")?))
            });
        }
        if self.keyword("none") {
            return Ok(Arg::None);
        }
        if self.keyword("field") {
            return self.field_path().map(Arg::Field);
        }
        Ok(Arg::Host(self.expr()?))
    }

    /// `@12:20`.
    fn place(&mut self) -> Parsed<(u32, u32)> {
        self.punct("@")?;
        let line = self.small()?;
        self.punct(":")?;
        Ok((line, self.small()?))
    }

    pub(super) fn small(&mut self) -> Parsed<u32> {
        let at = self.at;
        let v = self.int(false)?;
        u32::try_from(v).map_err(|_| {
            self.at = at;
            self.error(Kind::Number(v.to_string()))
        })
    }

    fn location(&mut self, place: (u32, u32)) -> u32 {
        let locations = &mut self.module.locations;
        *self.locations.entry(place).or_insert_with(|| {
            locations.push(Location {
                line: place.0,
                column: place.1,
                ..Location::default()
            });
            locations.len() as u32 - 1
        })
    }
}

/// A range as a spec writes it.
pub(super) fn range_text(lo: usize, hi: Option<usize>) -> String {
    match hi {
        Some(hi) => format!("{lo}..={hi}"),
        None => format!("{lo}.."),
    }
}
