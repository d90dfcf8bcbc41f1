//! `Walk`: goes through a body in source order, appends a node for every operation, and follows what each
//! local is.

mod argument;
mod branch;
mod call;
mod control;
mod expression;
mod host;
mod iterate;
mod operator;
mod options;
mod pattern;
mod segment;
mod statement;

pub(crate) use segment::{Ended, Seen};

use crate::diagnostic::{Diagnostic, Diagnostics, code};
use crate::kind::{Kind, Place};
use crate::location::{line, location, source_file, text};
use crate::parameter::{KnownRead, Param, ParamKind, Read, Reads};
use crate::returns::{ReturnTree, Returns};
use crate::scope::Scope;
use crate::spec::Spec;
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use std::rc::Rc;
use syn::spanned::Spanned;
use syn::{Block, Expr as Syntax, PatType};
use tensorplay_graph::{
    Arg, Builder, Code, Expr, GraphModule, HostType, Node, NodeId, NodeKind, Op, OpError, ScalarInput,
    TensorType, Value,
};

/// A function body being captured along one path: where the build cannot decide a branch, `script` does.
pub(crate) struct Walk {
    /// The graph so far.
    pub builder: Builder,
    errors: Rc<Diagnostics>,
    scope: Scope,
    /// What else the call reads.
    reads: Reads,
    /// The decisions to take, as far as they are given; from there on, conditions hold.
    script: Vec<bool>,
    /// The decisions taken, with their conditions.
    decided: Vec<(Expr, bool)>,
    tensors: usize,
    scalars: usize,
    /// What the first `return` on the path returns.
    returned: Option<(Kind, Syntax)>,
    /// A `break` or `continue` on its way out.
    jump: Option<Jump>,
    /// New values of inputs.
    updates: Vec<(NodeId, Value)>,
    /// How many blocks enclose the current statement.
    depth: usize,
    /// How many expressions enclose the current one.
    nested: usize,
    /// The tokens behind each location.
    spans: Vec<TokenStream>,
}

/// What a walk yields.
pub(crate) struct Walked {
    /// The graph, unless something was reported.
    pub module: Option<GraphModule>,
    pub spans: Vec<TokenStream>,
    pub reads: Reads,
    /// How many tensors and scalars the parameters are.
    pub parameters: (usize, usize),
    /// The decisions taken.
    pub decisions: Vec<bool>,
}

/// A `break` or `continue`, with its label.
#[derive(Clone, Debug)]
struct Jump {
    again: bool,
    label: Option<String>,
}

impl Walk {
    /// A walk that takes the decisions of `script`, after others that met `reads`.
    pub fn new(name: String, errors: Rc<Diagnostics>, script: Vec<bool>, reads: Reads) -> Walk {
        Walk {
            builder: Builder::new(name),
            errors,
            scope: Scope::default(),
            reads,
            script,
            decided: Vec::new(),
            tensors: 0,
            scalars: 0,
            returned: None,
            jump: None,
            updates: Vec::new(),
            depth: 0,
            nested: 0,
            spans: vec![TokenStream::new()],
        }
    }

    /// The function's own place.
    pub fn place_function(&mut self, span: Span, tokens: TokenStream) {
        self.builder.module.locations[0] = location(span, tokens.clone());
        self.builder.module.file = source_file(span);
        self.spans[0] = tokens;
    }

    /// Reports an error; the value at fault is silent from here on.
    fn fail(&self, d: Diagnostic) -> Kind {
        self.errors.push(d);
        Kind::Unknown
    }

    pub fn bind_self(&mut self) {
        let tokens = quote!(self);
        self.scope.bind(
            "self",
            Kind::Place(Place {
                tokens,
                field: true,
                borrowed: true,
            }),
        );
    }

    pub fn bind_unknown(&mut self, name: &str) {
        self.scope.bind(name, Kind::Unknown);
    }

    /// A parameter becomes an input of the graph.
    pub fn bind_param(&mut self, p: &Param, written: &PatType, spec: Option<&Spec>) {
        let name = p.name.to_string();
        let kind = match p.kind {
            ParamKind::Tensor { .. } => {
                let spec = spec.map(|s| s.lower(&mut self.builder.module));
                self.at(p.name.span(), written.to_token_stream());
                self.tensors += 1;
                Kind::Tensor(self.builder.input(&name, spec))
            }
            ParamKind::Host(ty) => {
                let index = self.scalars as u32;
                self.scalars += 1;
                self.builder.module.scalars.push(ScalarInput {
                    name: name.clone(),
                    ty,
                });
                Kind::Host(Expr::Param(index, ty))
            }
        };
        self.scope.bind(name, kind);
    }

    /// Nodes from here on stem from `tokens`, at `span`.
    fn at(&mut self, span: Span, tokens: TokenStream) {
        let module = &mut self.builder.module;
        module.locations.push(location(span, tokens.clone()));
        self.spans.push(tokens);
        self.builder.location = module.locations.len() as u32 - 1;
    }

    /// What earlier walks read, as inputs behind the parameters.
    pub fn bind_reads(&mut self) {
        let reads = std::mem::take(&mut self.reads);
        reads.0.iter().for_each(|r| self.add_read(r));
        self.reads = reads;
    }

    fn add_read(&mut self, r: &KnownRead) {
        match &r.read {
            Read::Tensor(tokens) => {
                let node = self.builder.location;
                self.at(tokens.span(), tokens.clone());
                self.builder.input(text(tokens.clone()), None);
                self.builder.location = node;
            }
            Read::Host(tokens) => self.builder.module.scalars.push(ScalarInput {
                name: text(tokens.clone()),
                ty: r.ty,
            }),
        }
    }

    /// Walks the body along the script.
    pub fn function(mut self, body: &Block, returns: Option<&Returns>, specs: &[Spec]) -> Walked {
        let tail = self.statements(&body.stmts);
        let done = self.finish(tail, body, returns, specs);
        Walked {
            module: done.map(|()| self.builder.module),
            spans: self.spans,
            reads: self.reads,
            parameters: (self.tensors, self.scalars),
            decisions: self.decided.into_iter().map(|(_, taken)| taken).collect(),
        }
    }

    /// Makes the results of the graph out of the body's value.
    fn finish(&mut self, tail: Kind, body: &Block, returns: Option<&Returns>, specs: &[Spec]) -> Option<()> {
        let (kind, at) = match self.returned.take() {
            Some((kind, expr)) => (kind, Returned::of(&expr)),
            None => (tail, Returned::tail(body)),
        };
        let returns = returns?;
        let kind = match (kind, returns.fallible) {
            (Kind::Unknown, _) => {
                self.silent(&at.whole);
                return None;
            }
            (Kind::Try(inner), true) => *inner,
            (Kind::Try(_), false) => {
                let message = "the function returns a Result, which its return type does not say";
                self.fail(Diagnostic::new(code::RETURNED, at.whole, message).help("return Result<Tensor>"));
                return None;
            }
            (_, true) => {
                let message = "the function returns a value where its return type says `Result`";
                self.fail(Diagnostic::new(code::RETURNED, at.whole, message).help("write Ok(..)"));
                return None;
            }
            (kind, false) => kind,
        };
        let mut outputs = Vec::new();
        let fits = self.outputs(kind, &returns.tree, &at, &mut outputs);
        if fits {
            self.check_return_specs(&outputs, specs);
        }
        if !fits || !self.errors.is_empty() {
            return None;
        }
        let specs = specs
            .iter()
            .map(|s| Some(s.lower(&mut self.builder.module)))
            .collect::<Vec<_>>();
        let module = &mut self.builder.module;
        module.output_specs = specs;
        module.graph.outputs = outputs.into_iter().map(|(v, _)| v).collect();
        self.finish_updates();
        Some(())
    }

    /// The new values of inputs follow the results.
    fn finish_updates(&mut self) {
        let module = &mut self.builder.module;
        for (input, value) in std::mem::take(&mut self.updates) {
            if let NodeKind::Input(i) = module.graph.node(input).kind {
                module.updates.push(i);
                module.graph.outputs.push(value);
            }
        }
    }

    /// An unknown result without any error would be a function that silently stays uncompiled.
    fn silent(&self, at: &TokenStream) {
        if self.errors.is_empty() {
            self.fail(
                Diagnostic::new(code::RETURNED, at, "this value could not be captured")
                    .help("end the function with an operation on tensors"),
            );
        }
    }

    /// Takes the returned value apart as the return type says.
    fn outputs(
        &mut self,
        kind: Kind,
        tree: &ReturnTree,
        at: &Returned,
        out: &mut Vec<(Value, TokenStream)>,
    ) -> bool {
        match (tree, kind) {
            (_, Kind::Unknown) => {
                self.silent(&at.whole);
                false
            }
            (ReturnTree::Tuple(parts), Kind::List(kinds)) if parts.len() == kinds.len() => {
                let mut fits = true;
                for (i, (part, kind)) in parts.iter().zip(kinds).enumerate() {
                    fits &= self.outputs(kind, part, &at.part(i), out);
                }
                fits
            }
            (ReturnTree::Tensor, kind @ (Kind::Tensor(_) | Kind::Place(_))) => {
                match self.as_tensor(kind, &at.whole) {
                    Some(v) => {
                        out.push((v, at.whole.clone()));
                        true
                    }
                    None => false,
                }
            }
            (tree, kind) => {
                let message = format!(
                    "the return type says {}, this is {}",
                    tree.describe(),
                    kind.describe()
                );
                let help = match (&kind, tree) {
                    (Kind::Host(_), ReturnTree::Tensor) => {
                        "return a tensor, and compute the number outside of the function".to_string()
                    }
                    (Kind::List(l), _) if l.is_empty() => "end the function with its result".to_string(),
                    _ => format!("return {}, or change the return type", tree.describe()),
                };
                self.fail(Diagnostic::new(code::RETURNED, &at.whole, message).help(help));
                false
            }
        }
    }

    fn check_return_specs(&mut self, outputs: &[(Value, TokenStream)], specs: &[Spec]) {
        for ((v, at), spec) in outputs.iter().zip(specs) {
            let want = spec.lower(&mut self.builder.module);
            let got = self.builder.ty(*v).clone();
            if contradicts(&want, &got) {
                let symbols = &self.builder.module.symbols;
                let message = format!(
                    "`return`: expected {}, got {}",
                    want.display(symbols),
                    got.display(symbols)
                );
                self.fail(
                    Diagnostic::new(Code::SPEC, at, message)
                        .note(format!("the spec is `return = {}`", text(spec.tokens.clone())))
                        .help("change the spec or the body"),
                );
            }
        }
    }

    /// Appends an operation. `parts` are the tokens of each argument, `whole` those of the expression.
    fn call(&mut self, op: Op, args: Vec<Arg>, parts: &[TokenStream], whole: TokenStream, at: Span) -> Kind {
        self.at(at, whole.clone());
        match self.builder.call(op, args.clone()) {
            Ok(v) => match self.update(op, &args, parts) {
                true => Kind::Tensor(v),
                false => Kind::Unknown,
            },
            Err(e) => self.op_error(&e, &args, parts, whole),
        }
    }

    /// Records the new values that an operation gives variables; false if something was reported.
    fn update(&mut self, op: Op, args: &[Arg], parts: &[TokenStream]) -> bool {
        for &(i, new) in op.updates() {
            let name = op.row().params[i].name;
            let input = match &args[i] {
                Arg::Value(v) => match self.builder.module.graph.node(v.node).kind {
                    NodeKind::Input(_) => Some(v.node),
                    NodeKind::Call(..) => None,
                },
                _ => None,
            };
            let fault = match input {
                None => Some("is computed here, so its new value would be lost"),
                Some(n) if self.updates.iter().any(|(of, _)| *of == n) => Some("is updated twice"),
                Some(_) => None,
            };
            if let Some(fault) = fault {
                let at = parts.get(i).cloned().unwrap_or_default();
                self.fail(
                    Diagnostic::new(code::ARGUMENT_KIND, at, format!("`{name}` {fault}"))
                        .help("pass a variable that is a parameter or a field, once"),
                );
                return false;
            }
            // the rules are those of the operation itself, which they accepted
            if let (Some(n), Ok(v)) = (input, self.builder.call(new, args.to_vec())) {
                self.updates.push((n, v));
            }
        }
        true
    }

    /// Reports a broken rule at the arguments at fault.
    fn op_error(&self, e: &OpError, args: &[Arg], parts: &[TokenStream], whole: TokenStream) -> Kind {
        // what does not fit a tensor is at fault, and a note names that tensor; of two numbers, neither is
        let one = match e.args.as_slice() {
            [_] => true,
            several => several
                .iter()
                .any(|i| matches!(args.get(*i), Some(Arg::Value(_)))),
        };
        let at = e.args.iter().copied().max().filter(|_| one);
        let tokens = match at.and_then(|i| parts.get(i)) {
            Some(part) if !part.is_empty() => part.clone(),
            _ => whole,
        };
        let mut d = Diagnostic::from_op(e, tokens);
        for i in &e.args {
            if let (Some(Arg::Value(v)), Some(part)) = (args.get(*i), parts.get(*i)) {
                let mut note = self.describe_operand(*v, part);
                if Some(*i) != at {
                    note.push_str(&format!(", on line {}", line(part.span())));
                }
                d = d.note(note);
            }
        }
        if let Some(help) = &e.help {
            d = d.help(help);
        }
        self.fail(d)
    }

    fn describe_operand(&self, v: Value, part: &TokenStream) -> String {
        let module = &self.builder.module;
        let node = module.graph.node(v.node);
        let ty = self.builder.ty(v);
        let by = match &node.kind {
            NodeKind::Input(i) if module.specs.get(*i as usize).is_some_and(Option::is_some) => {
                ", by its spec"
            }
            _ => "",
        };
        format!("`{}` is {}{by}", text(part.clone()), ty.display(&module.symbols))
    }

    /// The tensor that `kind` is; a field becomes an input of the graph.
    fn as_tensor(&mut self, kind: Kind, at: &TokenStream) -> Option<Value> {
        match kind {
            Kind::Tensor(v) => Some(v),
            Kind::Place(p) if p.field => Some(self.read_tensor(&p)),
            Kind::Unknown => None,
            other => {
                let message = format!("expected a tensor, this is {}", other.describe());
                let d = Diagnostic::new(code::ARGUMENT_KIND, at, message);
                self.fail(match other {
                    Kind::Place(_) => d.help("pass the tensor as a parameter"),
                    Kind::Host(_) => d.help("make a tensor of it, as in Tensor::full((), 2.0, DType::F32)"),
                    other => d.help(other.instead("pass a tensor")),
                });
                None
            }
        }
    }

    /// The number that `kind` is; a const or field becomes an input of the graph, of type `guess`.
    fn as_host(&mut self, kind: Kind, at: &TokenStream, guess: HostType) -> Option<Expr> {
        match kind {
            Kind::Host(e) => Some(e),
            Kind::Place(p) => Some(self.read_host(&p, guess)),
            Kind::Unknown => None,
            other => {
                let message = format!("expected a number, this is {}", other.describe());
                let help = match other {
                    Kind::Tensor(_) => "write a literal, or take the number as a parameter of the function",
                    other => other.instead("pass a number"),
                };
                self.fail(Diagnostic::new(code::ARGUMENT_KIND, at, message).help(help));
                None
            }
        }
    }

    fn read_tensor(&mut self, p: &Place) -> Value {
        let read = Read::Tensor(p.tokens.clone());
        let at = match self.reads.position(&read) {
            Some(at) => at,
            None => self.push_read(read, HostType::Number),
        };
        self.builder.module.graph.inputs[self.tensors + at].into()
    }

    fn read_host(&mut self, p: &Place, guess: HostType) -> Expr {
        let read = Read::Host(p.tokens.clone());
        let at = match self.reads.position(&read) {
            Some(at) => at,
            None => self.push_read(read, guess),
        };
        let index = self.scalars + at;
        Expr::Param(index as u32, self.builder.module.scalars[index].ty)
    }

    /// Adds a read; its position among those of its sort.
    fn push_read(&mut self, read: Read, ty: HostType) -> usize {
        let known = KnownRead { read, ty };
        self.add_read(&known);
        let at = self.reads.of_sort(&known.read).count();
        self.reads.0.push(known);
        at
    }

    /// Names the node that a local is bound to.
    fn name(&mut self, name: &str, kind: &Kind) {
        let id = match kind {
            Kind::Tensor(v) if v.index == 0 => v.node,
            Kind::Pieces(p) => p.node,
            _ => return,
        };
        let node: &mut Node = &mut self.builder.module.graph.nodes[id.index()];
        let list = node
            .op()
            .is_some_and(|op| op.row().results == tensorplay_graph::op::row::Results::List);
        let wanted = list == matches!(kind, Kind::Pieces(_));
        if node.name.is_empty() && wanted {
            node.name = name.to_string();
        }
    }
}

/// Whether a spec and an inferred type surely differ.
fn contradicts(want: &TensorType, got: &TensorType) -> bool {
    let dtype = matches!((want.dtype, got.dtype), (Some(a), Some(b)) if a != b);
    let shape = match (&want.shape, &got.shape) {
        (Some(a), Some(b)) => a.len() != b.len() || a.iter().zip(b).any(|(a, b)| a.differs(*b)),
        _ => false,
    };
    dtype || shape
}

/// A returned expression, which diagnostics take apart as the value.
struct Returned {
    whole: TokenStream,
    parts: Vec<Syntax>,
}

impl Returned {
    fn of(e: &Syntax) -> Returned {
        let inner = match e {
            Syntax::Paren(p) => {
                return Returned {
                    whole: e.to_token_stream(),
                    ..Returned::of(&p.expr)
                };
            }
            Syntax::Group(p) => return Returned::of(&p.expr),
            Syntax::Call(c) if c.args.len() == 1 => match (&*c.func, c.args.first()) {
                (Syntax::Path(p), Some(arg)) if p.path.is_ident("Ok") => return Returned::of(arg),
                _ => e,
            },
            other => other,
        };
        let parts = match inner {
            Syntax::Tuple(t) => t.elems.iter().cloned().collect(),
            _ => Vec::new(),
        };
        Returned {
            whole: e.to_token_stream(),
            parts,
        }
    }

    fn tail(body: &Block) -> Returned {
        match body.stmts.last() {
            Some(syn::Stmt::Expr(e, None)) => Returned::of(e),
            Some(other) => Returned {
                whole: other.to_token_stream(),
                parts: Vec::new(),
            },
            None => Returned {
                whole: body.to_token_stream(),
                parts: Vec::new(),
            },
        }
    }

    fn part(&self, i: usize) -> Returned {
        match self.parts.get(i) {
            Some(e) => Returned::of(e),
            None => Returned {
                whole: self.whole.clone(),
                parts: Vec::new(),
            },
        }
    }
}
