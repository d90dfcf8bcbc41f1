//! `Walk`: goes through a body in source order, appends a node for every operation, and follows what each
//! local is.

mod argument;
mod assign;
mod branch;
mod call;
mod callee;
mod control;
mod each;
mod expression;
mod host;
mod iterate;
mod lent;
mod list;
mod loop_node;
mod marked;
mod operator;
mod options;
mod part;
mod pattern;
mod question;
mod record;
mod results;
mod segment;
mod shape;
mod statement;

pub(crate) use branch::READS_DATA;
pub(crate) use call::is_known_method;
pub(crate) use marked::Mark;
pub(crate) use question::names_variant;
pub(crate) use segment::{Ended, Seen};

use crate::diagnostic::{Diagnostic, Diagnostics, code};
use crate::env::Env;
use crate::kind::{Kind, PartOf, Place};
use crate::location::{line, location, source_file, text};
use crate::loops::Looped;
use crate::model::Ty;
use crate::parameter;
use crate::reads::{KnownRead, Read, Reads};
use crate::returns::Returns;
use crate::scope::Scope;
use crate::spec::Spec;
use each::LoopFrame;
use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::quote;
use std::rc::Rc;
use syn::spanned::Spanned;
use syn::{Block, Expr as Syntax};
use tensorplay_graph::{
    Aggregate, Arg, Builder, Expr, FieldPath, GraphModule, HostType, Node, NodeId, NodeKind, Op, OpError,
    Value,
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
    /// What is decided around the loop that is being walked.
    facts: Vec<(Expr, bool)>,
    /// What the function is captured with.
    env: Rc<Env>,
    /// Its name.
    own: String,
    /// Whether what is read is read where no call is in reach.
    pub of_record: bool,
    /// The struct whose method is being walked.
    receiver: Option<String>,
    /// The names of items in the blocks around, which hide those of the module.
    hidden: Vec<String>,
    /// How many functions of the module are being walked inside each other, and how many closures.
    inside: usize,
    in_closure: usize,
    /// The loops that are being walked, and those that were.
    loops: Vec<LoopFrame>,
    looped: Vec<Looped>,
    /// The number of the next call.
    sites: i64,
    /// The inputs of a segment whose sizes are known from what is above the break.
    above: Vec<Value>,
    tensors: usize,
    scalars: usize,
    /// Where each tensor of the parameters is.
    places: Vec<parameter::Place>,
    /// The tensors that the caller lends for assignment.
    cells: Vec<lent::Cell>,
    /// The lists whose elements a loop assigned.
    rewritten: Vec<lent::Rewritten>,
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
    /// The loops of the graph.
    pub looped: Vec<Looped>,
    /// How many tensors and scalars the parameters are.
    pub parameters: (usize, usize),
    /// How many results there are where the return type does not say.
    pub codes: Vec<u32>,
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
    pub fn new(
        name: String,
        env: Rc<Env>,
        receiver: Option<String>,
        errors: Rc<Diagnostics>,
        script: Vec<bool>,
        reads: Reads,
    ) -> Walk {
        Walk {
            builder: Builder::new(name),
            errors,
            scope: Scope::default(),
            reads,
            script,
            decided: Vec::new(),
            facts: Vec::new(),
            env,
            own: String::new(),
            of_record: false,
            receiver,
            hidden: Vec::new(),
            inside: 0,
            in_closure: 0,
            loops: Vec::new(),
            looped: Vec::new(),
            sites: 0,
            above: Vec::new(),
            tensors: 0,
            scalars: 0,
            places: Vec::new(),
            cells: Vec::new(),
            rewritten: Vec::new(),
            returned: None,
            jump: None,
            updates: Vec::new(),
            depth: 0,
            nested: 0,
            spans: vec![TokenStream::new()],
        }
    }

    /// The function's own place.
    pub fn place_function(&mut self, name: &Ident, tokens: TokenStream) {
        let span = name.span();
        self.own = name.to_string();
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
        if let (Some(name), Some(_)) = (&self.receiver, &self.env.model) {
            let this = self.aggregate("self", Ty::Struct(name.clone()), tokens, false);
            self.scope.bind("self", this);
            return;
        }
        self.scope.bind(
            "self",
            Kind::Place(Place {
                tokens,
                field: true,
                borrowed: true,
            }),
        );
    }

    /// A parameter whose parts follow the tensors and numbers of the others.
    fn aggregate(&mut self, name: &str, ty: Ty, tokens: TokenStream, lent: bool) -> Kind {
        let path = FieldPath::root(self.builder.module.aggregates.len() as u32);
        let schema = self.env.schema(&ty);
        let name = name.to_string();
        self.builder.module.aggregates.push(Aggregate {
            name: name.clone(),
            schema,
        });
        Kind::Part(PartOf {
            path,
            ty,
            name,
            tokens,
            lent,
        })
    }

    pub fn bind_unknown(&mut self, name: &str) {
        self.scope.bind(name, Kind::Unknown);
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
        for read in &self.reads.list {
            Reads::add(read, &mut self.builder.module, 0);
        }
    }

    /// Walks the body along the script.
    pub fn function(mut self, body: &Block, returns: Option<&Returns>, specs: &[Spec]) -> Walked {
        let tail = self.statements(&body.stmts);
        let done = self.finish(tail, body, returns, specs);
        Walked {
            module: done.is_some().then_some(self.builder.module),
            codes: done.unwrap_or_default(),
            spans: self.spans,
            reads: self.reads,
            looped: self.looped,
            parameters: (self.tensors, self.scalars),
            decisions: self.decided.into_iter().map(|(_, taken)| taken).collect(),
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
                let line = (Some(*i) != at).then(|| line(part.span()));
                d = d.note(self.describe_operand(*v, part, line));
            }
        }
        if let Some(help) = &e.help {
            d = d.help(help);
        }
        self.fail(d)
    }

    fn describe_operand(&self, v: Value, part: &TokenStream, line: Option<u32>) -> String {
        let module = &self.builder.module;
        let node = module.graph.node(v.node);
        let ty = self.builder.ty(v);
        let by = match &node.kind {
            NodeKind::Input(_) if self.above.contains(&v) => ", by what is above the break",
            NodeKind::Input(i) if module.specs.get(*i as usize).is_some_and(Option::is_some) => {
                ", by its spec"
            }
            _ => "",
        };
        let on = line.map_or_else(String::new, |n| format!(" on line {n}"));
        let (part, ty) = (text(part.clone()), ty.display(&module.symbols));
        format!("`{part}`{on} is {ty}{by}")
    }

    /// The tensor that `kind` is; a field becomes an input of the graph.
    fn as_tensor(&mut self, kind: Kind, at: &TokenStream) -> Option<Value> {
        match kind {
            Kind::Tensor(v) => Some(v),
            Kind::Place(p) if p.field => Some(self.read_tensor(&p)),
            Kind::Unknown => None,
            Kind::Opaque(value) => {
                self.refuse_opaque(&value, at);
                None
            }
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
            Kind::Opaque(value) => {
                self.refuse_opaque(&value, at);
                None
            }
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
        self.read_input(
            Read::Tensor(p.tokens.clone()),
            text(p.tokens.clone()),
            p.tokens.clone(),
        )
    }

    /// The input of the graph that a read is.
    fn read_input(&mut self, read: Read, name: String, tokens: TokenStream) -> Value {
        let at = match self.reads.position(&read) {
            Some(at) => at,
            None => {
                let node = self.builder.location;
                self.at(tokens.span(), tokens);
                let at = self.push_read(read, name, HostType::Number);
                self.builder.location = node;
                at
            }
        };
        self.builder.module.graph.inputs[self.tensors + at].into()
    }

    fn read_host(&mut self, p: &Place, guess: HostType) -> Expr {
        self.read_scalar(&Read::Host(p.tokens.clone()), text(p.tokens.clone()), guess)
    }

    /// The scalar of the graph that a read is.
    fn read_scalar(&mut self, read: &Read, name: String, ty: HostType) -> Expr {
        let at = match self.reads.position(read) {
            Some(at) => at,
            None => self.push_read(read.clone(), name, ty),
        };
        let index = self.scalars + at;
        Expr::Param(index as u32, self.builder.module.scalars[index].ty)
    }

    /// Adds a read; its position among those of its sort.
    fn push_read(&mut self, read: Read, name: String, ty: HostType) -> usize {
        if let Some(tokens) = read.tokens().filter(|_| self.of_record && read.of_a_call()) {
            let kept = "in a region, or in a function that calls what was captured elsewhere";
            self.fail(match &read {
                Read::Asked(question) => {
                    // the `match` of a question is not the user's
                    let own = |t: &TokenTree| matches!(t, TokenTree::Ident(i) if i == "match");
                    let at: TokenStream = question.clone().into_iter().skip_while(own).take(1).collect();
                    let message = format!("a parameter of this type cannot be asked about {kept}");
                    Diagnostic::new(code::OPAQUE, at, message)
                        .help("take a bool or a number as a parameter, and ask where the function is called")
                }
                _ => Diagnostic::new(code::HOST, tokens, format!("`{name}` cannot be read {kept}"))
                    .help("take it as a parameter"),
            });
        }
        let at = self.reads.count(read.is_tensor());
        let known = KnownRead { read, name, ty };
        Reads::add(&known, &mut self.builder.module, self.builder.location);
        self.reads.list.push(known);
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
