//! Calls: operations as methods and functions, metadata reads, and the few functions of the standard library
//! that mean something to a graph.

use super::control::closures;
use super::{Walk, host};
use crate::diagnostic::{Diagnostic, code};
use crate::export::Exported;
use crate::kind::{Kind, Pieces, Place};
use crate::location::{text, tokens};
use crate::nearest::{nearest, renamed};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{Expr, ExprCall, ExprMethodCall, Path};
use tensorplay_graph::op::options::OptionsRow;
use tensorplay_graph::op::row::{ParamKind, ParamRow, Results};
use tensorplay_graph::{self as graph, Arg, HostType, Op, Value};

/// Metadata reads.
const METADATA: &[&str] = &["dim", "shape", "rank", "elem_count", "dtype"];

/// Metadata that a graph does not have: a parameter is asked for it when the call starts.
const ASKED: &[&str] = &["is_contiguous", "requires_grad", "device"];

/// Reads of a tensor's data.
const DATA: &[&str] = &["item", "to_vec", "to_ndarray", "allclose", "version"];

/// Methods that leave a tensor as it is.
const SAME: &[&str] = &["clone", "to_owned"];

/// Whether a method of that name leaves what it is called on as it is: an operation, or a question.
pub(crate) fn is_known_method(name: &str) -> bool {
    let lists = [METADATA, ASKED, DATA, SAME];
    operation(name).is_some() || lists.iter().any(|l| l.contains(&name))
}

/// An operation by its own name or by that of its fallible twin.
fn operation(name: &str) -> Option<(Op, bool)> {
    let found = match Op::from_name(name) {
        Some(op) => Some((op, false)),
        None => Op::from_try_name(name).map(|op| (op, true)),
    };
    found.filter(|(op, _)| op.row().results != Results::Regions)
}

/// What an operation is called with.
struct Called<'a> {
    op: Op,
    fallible: bool,
    /// The method's or function's name.
    name: &'a Ident,
    whole: TokenStream,
}

impl Walk {
    pub(super) fn method(&mut self, m: &ExprMethodCall) -> Kind {
        if let Some(list) = self.push(m).or_else(|| self.collect(m)) {
            return list;
        }
        let receiver = self.expr(&m.receiver);
        self.method_of(receiver, m)
    }

    /// Apart from [`method`](Walk::method), whose frame is on the stack once for each link of a chain.
    fn method_of(&mut self, receiver: Kind, m: &ExprMethodCall) -> Kind {
        let name = m.method.to_string();
        match receiver {
            Kind::Unknown => {
                for a in &m.args {
                    match a {
                        // of an iterator, say, that is refused already
                        Expr::Closure(_) => self.poison(a),
                        _ => {
                            self.expr(a);
                        }
                    }
                }
                Kind::Unknown
            }
            Kind::Tensor(v) => self.tensor_method(v, m),
            Kind::Host(e) => self.host_method(e, m),
            Kind::Enum(of, number) => self.own_method(of.clone(), Kind::Enum(of, number), m),
            Kind::Record(record) => self.own_method(record.name.clone(), Kind::Record(record), m),
            Kind::Place(p) => self.place_method(p, m),
            Kind::Shape(v) => match name.as_str() {
                "len" if m.args.is_empty() => Kind::Host(self.rank_of(v)),
                "to_vec" | "to_owned" | "clone" if m.args.is_empty() => Kind::Shape(v),
                _ => self.refuse_method(m, "a shape"),
            },
            Kind::List(kinds) => self.list_method(kinds, m),
            Kind::Pieces(p) => match name.as_str() {
                "len" if m.args.is_empty() => match self.count(&p, &tokens(m)) {
                    Some(n) => Kind::Host(graph::Expr::int(i64::from(n))),
                    None => Kind::Unknown,
                },
                "clone" | "to_vec" | "as_slice" if m.args.is_empty() => Kind::Pieces(p),
                _ => self.refuse_list_method(m, "a list of tensors"),
            },
            Kind::Options(options, list) => self.set_option(options, list, m),
            option @ (Kind::Maybe(..) | Kind::Some(_) | Kind::None) => self.option_method(option, m),
            Kind::Part(p) => self.part_method(p, m),
            Kind::Opaque(value) => self.opaque_method(value, m),
            other @ (Kind::Try(_) | Kind::Cell(_) | Kind::Many(_) | Kind::Growing(_)) => {
                self.refuse_method(m, other.describe())
            }
        }
    }

    fn option_method(&mut self, option: Kind, m: &ExprMethodCall) -> Kind {
        let some = match &option {
            Kind::Maybe(tag, _) => tag.clone(),
            other => graph::Expr::Literal(graph::Host::Bool(matches!(other, Kind::Some(_)))),
        };
        match (m.method.to_string().as_str(), m.args.len()) {
            ("is_some", 0) => Kind::Host(some),
            ("is_none", 0) => Kind::Host(graph::Expr::Unary(graph::HostUnary::Not, Box::new(some))),
            ("as_ref" | "cloned" | "clone" | "copied" | "as_deref", 0) => option,
            ("map" | "and_then" | "filter" | "or_else" | "unwrap_or" | "unwrap_or_else" | "map_or", _) => {
                self.refuse_method_with(m, option.describe(), "write a `match`, or `if let Some(..) = ..`")
            }
            _ => self.refuse_method(m, option.describe()),
        }
    }

    pub(super) fn refuse_method(&mut self, m: &ExprMethodCall, what: &str) -> Kind {
        let name = &m.method;
        let unwraps =
            what == Kind::Try(Box::new(Kind::None)).describe() && (name == "unwrap" || name == "expect");
        let help = match name.to_string().as_str() {
            _ if unwraps => "return a Result and write `?`, or call the operation without try_",
            "try_into" | "into_iter" | "iter" => {
                "take the parts one by one, as in (p[0].clone(), p[1].clone())"
            }
            _ => "put the call outside of the compiled function",
        };
        self.refuse_method_with(m, what, help)
    }

    /// The method of a list, which an iterator may have in its place.
    pub(super) fn refuse_list_method(&mut self, m: &ExprMethodCall, what: &str) -> Kind {
        match m.method.to_string().as_str() {
            "iter" | "iter_mut" | "into_iter" | "map" | "filter" | "fold" | "for_each" | "zip" | "enumerate"
            | "rev" => self.refuse_method_with(
                m,
                what,
                "write a `for` loop over it that pushes its results, as in `for x in list.iter() { out.push(..) }`",
            ),
            _ => self.refuse_method(m, what),
        }
    }

    fn refuse_method_with(&mut self, m: &ExprMethodCall, what: &str, help: &str) -> Kind {
        let name = &m.method;
        let message = format!("the method `{name}` of {what} cannot be captured yet");
        self.fail(Diagnostic::new(code::METHOD, name, message).help(help))
    }

    /// A method of a const is one of a number; a method of a field is one of a tensor if a tensor has it.
    fn place_method(&mut self, p: Place, m: &ExprMethodCall) -> Kind {
        let name = m.method.to_string();
        let bare = p.field && p.tokens.clone().into_iter().count() == 1;
        if SAME.contains(&name.as_str()) && !bare {
            return Kind::Place(Place { borrowed: true, ..p });
        }
        if p.field && !bare && ASKED.contains(&name.as_str()) && m.args.is_empty() {
            let (tokens, method) = (&p.tokens, &m.method);
            return self.asked_field(quote!(#tokens.#method()), method);
        }
        let of_tensor =
            operation(&name).is_some() || METADATA.contains(&name.as_str()) || DATA.contains(&name.as_str());
        if p.field && !bare && of_tensor {
            let v = self.read_tensor(&p);
            return self.tensor_method(v, m);
        }
        if !bare && host::METHODS.contains(&name.as_str()) {
            let e = self.read_host(&p, HostType::FloatLiteral);
            return self.host_method(e, m);
        }
        for a in &m.args {
            self.expr(a);
        }
        let shown = text(p.tokens);
        let message = format!("the call `{shown}.{name}(..)` cannot be captured yet");
        let mut d = Diagnostic::new(code::METHOD, &m.method, message);
        if p.field
            && let Some(ours) = renamed(&name)
        {
            d = d.help(format!("if it is one of a tensor, write {ours}"));
        }
        self.fail(match p.field {
            true => d.help("put the struct and its methods into a `#[model]` module"),
            false => d.help("write the operations out, or pass the result as a parameter"),
        })
    }

    fn tensor_method(&mut self, v: Value, m: &ExprMethodCall) -> Kind {
        let name = m.method.to_string();
        let whole = tokens(m);
        if let Some((op, fallible)) = operation(&name)
            && op.row().is_method()
        {
            let called = Called {
                op,
                fallible,
                name: &m.method,
                whole,
            };
            let args: Vec<&Expr> = m.args.iter().collect();
            return self.operation(called, Some((v, tokens(&*m.receiver))), &args);
        }
        if SAME.contains(&name.as_str()) && m.args.is_empty() {
            return Kind::Tensor(v);
        }
        match (name.as_str(), m.args.len()) {
            ("rank", 0) => Kind::Host(graph::Expr::Rank(v)),
            ("elem_count", 0) => Kind::Host(graph::Expr::ElemCount(v)),
            ("dtype", 0) => Kind::Host(graph::Expr::DTypeOf(v)),
            ("shape", 0) => Kind::Shape(v),
            (name, 0) if ASKED.contains(&name) => self.asked_tensor(v, &m.method),
            ("dim", 1) => {
                let index = &m.args[0];
                let at = tokens(index);
                let index = self.expr(index);
                match self.as_host(index, &at, HostType::IntLiteral) {
                    Some(i) => self.host(graph::Expr::Dim(v, Box::new(i)), &whole),
                    None => Kind::Unknown,
                }
            }
            _ => {
                // the arguments of a method that no graph has are not worth errors of their own
                if !OUTSIDE.contains(&name.as_str()) {
                    for a in &m.args {
                        self.expr(a);
                    }
                }
                self.fail(unknown_method(&m.method))
            }
        }
    }

    /// An operation of the table: converts the arguments and appends the node.
    fn operation(
        &mut self,
        called: Called<'_>,
        receiver: Option<(Value, TokenStream)>,
        exprs: &[&Expr],
    ) -> Kind {
        let row = called.op.row();
        let mut params: &[ParamRow] = row.params;
        let mut args = Vec::new();
        let mut parts = Vec::new();
        if let Some((v, tokens)) = receiver {
            args.push(Some(Arg::Value(v)));
            parts.push(tokens);
            params = params.get(1..).unwrap_or_default();
        }
        if exprs.len() != params.len() {
            for e in exprs {
                self.expr(e);
            }
            let message = format!(
                "`{}` takes {}, {} given",
                called.name,
                count(params.len()),
                exprs.len()
            );
            return self.fail(Diagnostic::new(code::ARGUMENT_COUNT, called.name, message).help(
                match Op::from_name(&format!("{}_all", called.name)) {
                    Some(all) if exprs.is_empty() => format!("over all elements, write {all}()"),
                    _ => format!("the parameters are ({})", signature(params)),
                },
            ));
        }
        for (p, e) in params.iter().zip(exprs) {
            let at = tokens(*e);
            let kind = self.expr(e);
            args.push(self.argument(called.op, p, kind, &at));
            parts.push(at);
        }
        let Some(args) = args.into_iter().collect::<Option<Vec<Arg>>>() else {
            return Kind::Unknown;
        };
        let kind = match row.results {
            Results::One => self.call(called.op, args, &parts, called.whole, called.name.span()),
            Results::Indexed => match self.call(called.op, args, &parts, called.whole, called.name.span()) {
                Kind::Tensor(v) => {
                    let indices = Value { index: 1, ..v };
                    Kind::List(vec![Kind::Tensor(v), Kind::Tensor(indices)])
                }
                kind => kind,
            },
            Results::Regions => Kind::Unknown,
            Results::List => self.list(called.op, args, &parts, called.whole, called.name.span()),
        };
        match kind {
            Kind::Unknown => Kind::Unknown,
            kind if called.fallible => Kind::Try(Box::new(kind)),
            kind => kind,
        }
    }

    fn list(&mut self, op: Op, args: Vec<Arg>, parts: &[TokenStream], whole: TokenStream, at: Span) -> Kind {
        self.at(at, whole.clone());
        let made = self.builder.is_open(op, &args);
        match made.and_then(|open| Ok((open, self.builder.call_list(op, args.clone(), 1)?))) {
            Ok((open, values)) => match values.first() {
                Some(v) => Kind::Pieces(Pieces { node: v.node, open }),
                None => Kind::Unknown,
            },
            Err(e) => self.op_error(&e, &args, parts, whole),
        }
    }

    pub(super) fn function_call(&mut self, c: &ExprCall) -> Kind {
        let path = match &*c.func {
            Expr::Path(p) if p.qself.is_none() => &p.path,
            other => {
                c.args.iter().for_each(|a| {
                    self.expr(a);
                });
                return self.fail(
                    Diagnostic::new(code::CALL, other, "this call cannot be captured yet")
                        .help("write its operations out, or pass its result as a parameter"),
                );
            }
        };
        if self.hides(path) && path.segments.first().is_some_and(|s| s.ident != "Tensor") {
            return self.refuse_call(c, path);
        }
        let args: Vec<&Expr> = c.args.iter().collect();
        let n = path.segments.len();
        let name = &path.segments[n - 1].ident;
        let owner = (n >= 2).then(|| path.segments[n - 2].ident.to_string());
        let word = name.to_string();
        match (owner.as_deref(), word.as_str(), args.as_slice()) {
            (None | Some("Result"), "Ok", [e]) => match self.expr(e) {
                Kind::Unknown => Kind::Unknown,
                kind => Kind::Try(Box::new(kind)),
            },
            (None | Some("Option"), "Some", [e]) => match self.expr(e) {
                Kind::Unknown => Kind::Unknown,
                kind => Kind::Some(Box::new(kind)),
            },
            (Some("Vec"), "new", []) => Kind::List(Vec::new()),
            (Some("Vec"), "with_capacity", [e]) => {
                self.expr(e);
                Kind::List(Vec::new())
            }
            (None | Some("mem"), "drop", [e]) => {
                self.expr(e);
                Kind::unit()
            }
            (Some("Tensor"), _, _) => self.tensor_function(c, name, &args),
            (Some(ty), _, _) if OptionsRow::from_name(ty).is_some() => {
                self.options_function(c, ty, name, &args)
            }
            (Some(ty), "from", [e]) if HostType::from_name(ty).is_some() => {
                let at = tokens(*e);
                let kind = self.expr(e);
                match (
                    self.as_host(kind, &at, HostType::IntLiteral),
                    HostType::from_name(ty),
                ) {
                    (Some(a), Some(t)) => self.host(graph::Expr::Cast(t, Box::new(a)), &c.to_token_stream()),
                    _ => Kind::Unknown,
                }
            }
            (_, "mark_static", [x, dim]) => self.mark_static(x, dim),
            (_, "is_compiling", []) => Kind::Host(graph::Expr::Literal(graph::Host::Bool(true))),
            (_, "is_exporting", []) => Kind::Host(graph::Expr::Literal(graph::Host::Bool(false))),
            (_, "cond", _) if closures(&args).is_some() => match closures(&args) {
                Some(pair) => self.cond(c, args[0], pair),
                None => Kind::Unknown,
            },
            (_, "while_loop", _) if closures(&args).is_some() => match closures(&args) {
                Some(pair) => self.while_loop(c, args[0], pair),
                None => Kind::Unknown,
            },
            _ if self.own_struct(path).is_some() => match self.own_struct(path) {
                Some(name) => self.tuple_struct(name, &args),
                None => Kind::Unknown,
            },
            _ => match self.model_function(c, &args) {
                Some(kind) => kind,
                None => match self.env.clone().lookup(path) {
                    Some(Exported::Function(f)) => self.foreign_function(f, path, &args, c.to_token_stream()),
                    Some(Exported::Marked(m)) => self.marked_call(&m.mark(), path, &args),
                    _ => self.refuse_call(c, path),
                },
            },
        }
    }

    /// `mark_static(&x, dim)`: where the call is dynamic, that dim of a parameter stays a number of the key.
    fn mark_static(&mut self, x: &Expr, dim: &Expr) -> Kind {
        let (at, at_dim) = (tokens(x), tokens(dim));
        let (kind, dim) = (self.expr(x), self.expr(dim));
        let (Some(v), Some(dim)) = (
            self.as_tensor(kind, &at),
            self.as_host(dim, &at_dim, HostType::IntLiteral),
        ) else {
            return Kind::Unknown;
        };
        let dim = match self.builder.known(&dim).and_then(graph::Host::as_int) {
            Some(dim) => dim,
            None => {
                let message = "the dim of `mark_static` is not known at build time";
                return self.fail(Diagnostic::new(code::INDEX, at_dim, message).help("write a literal"));
            }
        };
        let module = &mut self.builder.module;
        match module.graph.node(module.graph.source(v)).kind {
            graph::NodeKind::Input(i) if module.graph.source(v) == v.node => {
                if !module.statics.contains(&(i, dim)) {
                    module.statics.push((i, dim));
                }
                Kind::unit()
            }
            _ => self.fail(
                Diagnostic::new(
                    code::ARGUMENT_KIND,
                    at,
                    "`mark_static` takes a parameter of the function",
                )
                .help("mark the parameter whose size this one has"),
            ),
        }
    }

    /// `Tensor::zeros(..)`, `Tensor::cat(..)`, and methods written as functions.
    fn tensor_function(&mut self, c: &ExprCall, name: &Ident, args: &[&Expr]) -> Kind {
        let word = name.to_string();
        if let ("stack", [list, dim]) = (word.as_str(), args)
            && let Some(kind) = self.stack_many(list, dim, c.to_token_stream(), name)
        {
            return kind;
        }
        if let Some((op, fallible)) = operation(&word) {
            let called = Called {
                op,
                fallible,
                name,
                whole: c.to_token_stream(),
            };
            return self.operation(called, None, args);
        }
        if let ([e], true) = (args, SAME.contains(&word.as_str())) {
            let at = tokens(*e);
            let kind = self.expr(e);
            return self.as_tensor(kind, &at).map_or(Kind::Unknown, Kind::Tensor);
        }
        for a in args {
            self.expr(a);
        }
        self.fail(unknown_method(name))
    }

    fn refuse_call(&mut self, c: &ExprCall, path: &Path) -> Kind {
        let shown = text(path.to_token_stream());
        // what the call is given may be wrong as well, but a literal belongs to the call, and an error to its `Err`
        if shown != "Err" {
            for a in c.args.iter().filter(|a| !matches!(a, Expr::Lit(_))) {
                self.expr(a);
            }
        }
        let message = format!("the call of `{shown}` cannot be captured yet");
        let d = Diagnostic::new(code::CALL, path, message);
        let constructor = path
            .segments
            .last()
            .is_some_and(|s| s.ident.to_string().starts_with(char::is_uppercase));
        self.fail(match shown.as_str() {
            "Err" => {
                d.help("a captured function fails through its operations; return the error outside of it")
            }
            _ if path.is_ident(&self.own) => d.help("a captured function does not call itself"),
            _ if constructor => d.help("use a tuple of tensors, and make the value outside of the function"),
            _ => d.help("write its operations out, or pass its result as a parameter"),
        })
    }
}

/// A method that the op table lacks.
fn unknown_method(name: &Ident) -> Diagnostic {
    let word = name.to_string();
    if DATA.contains(&word.as_str()) {
        return Diagnostic::new(
            code::DATA_READ,
            name,
            format!("`{word}` reads tensor data, which a graph does not have at build time; it cannot be captured yet"),
        )
        .help("read data outside of the compiled function");
    }
    if GRADIENTS.contains(&word.as_str()) {
        let message = format!("`{word}` needs gradients, which do not exist yet");
        return Diagnostic::new(code::METHOD, name, message).help("a compiled function runs forward only");
    }
    let d = Diagnostic::new(
        code::METHOD,
        name,
        format!("the tensor method `{word}` cannot be captured yet"),
    );
    if OUTSIDE.contains(&word.as_str()) {
        return d.help("call it outside of the compiled function");
    }
    if let Some(ours) = renamed(&word) {
        return d.help(format!("write {ours}"));
    }
    if let Some((op, _)) = word.strip_suffix('_').and_then(operation) {
        return d.help(format!(
            "a tensor is never changed: write x = x.{}(..)",
            op.name()
        ));
    }
    let metadata = METADATA.iter().chain(ASKED).copied();
    let names = Op::ALL.iter().map(|op| op.name()).chain(metadata);
    match nearest(&word, names) {
        _ if word == "from_slice" || word == "from_vec" => {
            d.help("make the tensor outside and pass it as a parameter")
        }
        Some(n) => d.help(format!("did you mean `{n}`?")),
        None => d.help("write it with operations, or call it outside of the compiled function"),
    }
}

/// Methods of the public surface that a graph does not have.
const OUTSIDE: &[&str] = &["to_device", "requires_grad_", "variable", "assign", "strides"];

/// Methods that ask for gradients.
const GRADIENTS: &[&str] = &["grad", "backward", "zero_grad"];

fn count(n: usize) -> String {
    match n {
        0 => "no arguments".into(),
        1 => "1 argument".into(),
        n => format!("{n} arguments"),
    }
}

/// `w: Tensor, bias: Option<Tensor>`.
fn signature(params: &[ParamRow]) -> String {
    let one = |p: &ParamRow| {
        let ty = match p.kind {
            ParamKind::Tensor | ParamKind::Index => "&Tensor",
            ParamKind::OptTensor => "Option<&Tensor>",
            ParamKind::Tensors => "&[Tensor]",
            ParamKind::Operand => "tensor or scalar",
            ParamKind::Scalar => "scalar",
            ParamKind::Float => "f64",
            ParamKind::Int => "integer",
            ParamKind::Dim => "dim",
            ParamKind::Dims => "dims",
            ParamKind::Ints => "integers",
            ParamKind::Flag => "bool",
            ParamKind::Region => "region",
            ParamKind::Arguments => "arguments",
            ParamKind::Over => "count or list",
            ParamKind::Options(o) => o.name,
            ParamKind::Shape => "shape",
            ParamKind::DType => "DType",
        };
        format!("{}: {ty}", p.name)
    };
    params.iter().map(one).collect::<Vec<_>>().join(", ")
}
