//! `Graph`: the program of one captured path, in SSA form.
//!
//! Invariants (checked by [`verify`](crate::verify())): nodes are in topological order, every argument
//! names an earlier value, argument kinds fit the op's row, outputs exist.

use crate::op::row::Lowering;
use crate::structure::{Aggregate, FieldPath, Write};
use crate::{DType, Expr, Host, HostType, Op, Symbol, TensorType};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A node of a graph.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The position in `Graph::nodes`.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A result of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Value {
    /// The node.
    pub node: NodeId,
    /// Which of its results.
    pub index: u32,
}

impl From<NodeId> for Value {
    fn from(node: NodeId) -> Value {
        Value { node, index: 0 }
    }
}

/// Prints `%3`, or `%3.1` for the second result.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.node.0)?;
        if self.index > 0 {
            write!(f, ".{}", self.index)?;
        }
        Ok(())
    }
}

/// An argument of a node.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Arg {
    /// A tensor.
    Value(Value),
    /// A host value: a scalar operand, a size, an index, a dtype.
    Host(Expr),
    /// A list: tensors of `cat`, sizes of a shape, dims.
    List(Vec<Arg>),
    /// A part of an aggregate argument, handed on to a callee.
    Field(FieldPath),
    /// An optional tensor that is absent.
    None,
}

impl Arg {
    /// An integer literal.
    pub fn int(v: i64) -> Arg {
        Arg::Host(Expr::int(v))
    }

    /// A float literal.
    pub fn float(v: f64) -> Arg {
        Arg::Host(Expr::float(v))
    }

    /// A list of integer literals.
    pub fn ints(v: impl IntoIterator<Item = i64>) -> Arg {
        Arg::List(v.into_iter().map(Arg::int).collect())
    }

    /// A dtype.
    pub fn dtype(v: DType) -> Arg {
        Arg::Host(Expr::Literal(Host::DType(v)))
    }

    /// Calls `f` with every tensor in the argument; host expressions are not entered.
    pub fn tensors(&self, f: &mut impl FnMut(Value)) {
        match self {
            Arg::Value(v) => f(*v),
            Arg::List(l) => l.iter().for_each(|a| a.tensors(f)),
            Arg::Host(_) | Arg::Field(_) | Arg::None => {}
        }
    }

    /// Calls `f` with every value that the argument depends on, metadata reads included.
    pub fn values(&self, f: &mut impl FnMut(Value)) {
        match self {
            Arg::Value(v) => f(*v),
            Arg::Host(e) => e.values(f),
            Arg::List(l) => l.iter().for_each(|a| a.values(f)),
            Arg::Field(_) | Arg::None => {}
        }
    }

    /// Replaces every value that the argument depends on.
    pub fn map_values(&mut self, f: &mut impl FnMut(Value) -> Value) {
        match self {
            Arg::Value(v) => *v = f(*v),
            Arg::Host(e) => e.map_values(f),
            Arg::List(l) => l.iter_mut().for_each(|a| a.map_values(f)),
            Arg::Field(_) | Arg::None => {}
        }
    }
}

impl From<Value> for Arg {
    fn from(v: Value) -> Arg {
        Arg::Value(v)
    }
}

impl From<NodeId> for Arg {
    fn from(n: NodeId) -> Arg {
        Arg::Value(n.into())
    }
}

/// What a node is.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum NodeKind {
    /// The tensor parameter of that number.
    Input(u32),
    /// An operation of the table.
    Call(Op, Vec<Arg>),
}

/// A node: one operation, or one tensor parameter.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Node {
    /// What it is.
    pub kind: NodeKind,
    /// The name of the variable that it is bound to, or empty.
    pub name: String,
    /// Index into `GraphModule::locations`.
    pub location: u32,
    /// One type a result, as far as known.
    pub types: Vec<TensorType>,
    /// Whether it is a step inside a composite, of which only the result is rounded to a half type. The text
    /// form leaves it out: graphs are written before composites are expanded.
    pub interior: bool,
}

impl Node {
    /// The operation, unless this is an input.
    pub fn op(&self) -> Option<Op> {
        if let NodeKind::Call(op, _) = &self.kind {
            Some(*op)
        } else {
            None
        }
    }

    /// The operation's name as the method is called; `input` for a parameter.
    pub fn op_name(&self) -> &'static str {
        self.op().map_or("input", Op::name)
    }

    /// The arguments; none for an input.
    pub fn args(&self) -> &[Arg] {
        if let NodeKind::Call(_, args) = &self.kind {
            args
        } else {
            &[]
        }
    }

    /// The regions that it calls, if it does.
    pub fn region_call(&self) -> Option<RegionCall> {
        let NodeKind::Call(op, args) = &self.kind else {
            return None;
        };
        let (carry, inputs, first, second) = match (op, args.as_slice()) {
            (Op::Cond, [_, inputs, a, b]) => (None, inputs, a, b),
            (Op::WhileLoop, [carry, inputs, a, b]) => (Some(carry), inputs, a, b),
            _ => return None,
        };
        let mut all = Vec::new();
        if let Some(carry) = carry {
            carry.tensors(&mut |v| all.push(v));
        }
        let carried = all.len();
        inputs.tensors(&mut |v| all.push(v));
        let number = |a: &Arg| match a {
            Arg::Host(e) => e
                .literal()
                .and_then(Host::as_int)
                .and_then(|n| usize::try_from(n).ok()),
            _ => None,
        };
        Some(RegionCall {
            inputs: all,
            carried,
            regions: [number(first)?, number(second)?],
        })
    }

    /// The call of a function or of a loop's body, if it is one.
    pub fn link(&self) -> Option<Link<'_>> {
        let NodeKind::Call(op, args) = &self.kind else {
            return None;
        };
        let number = |a: &Arg| match a {
            Arg::Host(e) => {
                let n = e.literal().and_then(Host::as_int);
                n.and_then(|n| usize::try_from(n).ok())
            }
            _ => None,
        };
        fn list(a: &Arg) -> Option<&[Arg]> {
            match a {
                Arg::List(l) => Some(l),
                _ => None,
            }
        }
        match (op, args.as_slice()) {
            (Op::Invoke, [callee, site, tensors, hosts, aggregates]) => Some(Link {
                callee: Callee::Function(number(callee)?),
                site: number(site)?,
                carry: &[],
                tensors: list(tensors)?,
                hosts: list(hosts)?,
                aggregates: list(aggregates)?,
            }),
            (Op::Each, [over, site, carry, tensors, hosts, aggregates, Arg::List(body)]) => Some(Link {
                callee: Callee::Body {
                    over,
                    regions: body.iter().map(number).collect::<Option<_>>()?,
                },
                site: number(site)?,
                carry: list(carry)?,
                tensors: list(tensors)?,
                hosts: list(hosts)?,
                aggregates: list(aggregates)?,
            }),
            _ => None,
        }
    }

    /// The arguments, mutably.
    pub fn args_mut(&mut self) -> &mut [Arg] {
        if let NodeKind::Call(_, args) = &mut self.kind {
            args
        } else {
            &mut []
        }
    }
}

/// A tensor program in SSA form. Nodes are in topological order.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Graph {
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The tensor parameters in order.
    pub inputs: Vec<NodeId>,
    /// The results in order.
    pub outputs: Vec<Value>,
    /// What holds where this path is taken, in the order in which the program asks. A later condition may read a
    /// value that exists only where the earlier ones hold.
    pub guards: Vec<Expr>,
}

impl Graph {
    /// The node behind an id.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// The type of a value.
    pub fn ty(&self, v: Value) -> &TensorType {
        &self.nodes[v.node.index()].types[v.index as usize]
    }

    /// Ids in order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + use<> {
        (0..self.nodes.len() as u32).map(NodeId)
    }

    /// Appends a node.
    pub fn push(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// The node whose elements a value shows, through any views.
    pub fn source(&self, v: Value) -> NodeId {
        let mut at = v.node;
        while let NodeKind::Call(op, args) = &self.node(at).kind
            && let (Lowering::View, Some(Arg::Value(of))) = (op.row().lowering, args.first())
        {
            at = of.node;
        }
        at
    }

    /// Whether a value is a step inside a composite, or a view of one.
    pub fn is_interior(&self, v: Value) -> bool {
        self.node(self.source(v)).interior
    }

    /// Takes a value, and what it is a view of, out of the composite that it is a step of.
    pub fn expose(&mut self, v: Value) {
        let at = self.source(v);
        self.nodes[at.index()].interior = false;
    }

    /// Whether a value stands for a list: what every step of a loop adds. Among the tensors of `cat`, and among the
    /// outputs, it is all of them.
    pub fn is_list(&self, v: Value) -> bool {
        match self.nodes.get(v.node.index()).and_then(Node::link) {
            Some(link) => matches!(link.callee, Callee::Body { .. }) && v.index as usize >= link.carry.len(),
            None => false,
        }
    }

    /// For every node, how many arguments and outputs use its results as tensors.
    pub fn use_counts(&self) -> Vec<u32> {
        let mut uses = vec![0; self.nodes.len()];
        for node in &self.nodes {
            for a in node.args() {
                a.tensors(&mut |v| uses[v.node.index()] += 1);
            }
        }
        for v in &self.outputs {
            uses[v.node.index()] += 1;
        }
        uses
    }
}

/// A place in the user's source.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Location {
    /// The file; empty if it is the module's.
    pub file: String,
    /// Line, from 1; 0 if unknown.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// The expression's source text, on one line.
    pub text: String,
}

impl Location {
    /// A location of one module as one of another.
    #[must_use]
    pub fn of(mut self, from: &GraphModule, to: &GraphModule) -> Location {
        match from.file_of(&self) {
            file if file == to.file => self.file.clear(),
            // a line of no file is none of the other's
            "" if self.line > 0 => {
                return Location {
                    text: from.in_words(&self),
                    ..Location::default()
                };
            }
            file => self.file = file.into(),
        }
        self
    }
}

/// A scalar parameter.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct ScalarInput {
    /// The parameter's name.
    pub name: String,
    /// Its Rust type.
    pub ty: HostType,
    /// The part of an aggregate that it is; `None` for a parameter of its own.
    pub source: Option<FieldPath>,
}

/// A graph with everything that gives it meaning: names, specs, symbols, source locations.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct GraphModule {
    /// The function's name.
    pub name: String,
    /// The source file as the compiler names it, or empty.
    pub file: String,
    /// The program.
    pub graph: Graph,
    /// Scalar parameters, referred to by `Expr::Param`.
    pub scalars: Vec<ScalarInput>,
    /// Parameters that are structs of tensors.
    pub aggregates: Vec<Aggregate>,
    /// The parts of aggregates that the last tensor parameters are.
    pub fields: Vec<FieldPath>,
    /// The functions that `invoke` nodes call, as written.
    pub callees: Vec<String>,
    /// Named dims.
    pub symbols: Vec<Symbol>,
    /// The spec of each tensor parameter, if it has one.
    pub specs: Vec<Option<TensorType>>,
    /// The tensor parameters whose values a call replaces, which are variables: the outputs behind the results are the
    /// new values.
    pub updates: Vec<u32>,
    /// What the caller lends as `&mut` and this path assigns: the last outputs are what it finds there when the call
    /// has succeeded. Of the elements of a list, the output is a list.
    pub writes: Vec<Write>,
    /// Dims of tensor parameters that `mark_static` makes a part of the key, by number where the call is dynamic.
    pub statics: Vec<(u32, i64)>,
    /// The spec of each result, if it has one.
    pub output_specs: Vec<Option<TensorType>>,
    /// Places in the source; entry 0 is the function itself.
    pub locations: Vec<Location>,
    /// The graphs inside `cond` and `while_loop` nodes, by number. They share the scalars, symbols and places.
    pub regions: Vec<GraphModule>,
}

/// A call that is replaced by the graph of its callee when a function is bound.
#[derive(Clone, PartialEq, Debug)]
pub struct Link<'a> {
    /// What is called.
    pub callee: Callee<'a>,
    /// A number of its own among the calls of a function.
    pub site: usize,
    /// What a loop carries: the first tensors that the body takes, and its results.
    pub carry: &'a [Arg],
    /// The tensors that the callee takes, behind those that are carried; an absent `Option` is `None`.
    pub tensors: &'a [Arg],
    /// Its numbers; a loop's body takes the step's number first.
    pub hosts: &'a [Arg],
    /// Its aggregates; the body of a loop over lists takes their elements first.
    pub aggregates: &'a [Arg],
}

/// What is called.
#[derive(Clone, PartialEq, Debug)]
pub enum Callee<'a> {
    /// A function, by its number in `GraphModule::callees`.
    Function(usize),
    /// The body of a loop.
    Body {
        /// The number of steps, or the lists whose elements it goes over, as far as the shortest has any.
        over: &'a Arg,
        /// The paths through the body, by region.
        regions: Vec<usize>,
    },
}

impl<'a> Callee<'a> {
    /// The lists that a loop goes over.
    pub fn lists(&self) -> impl Iterator<Item = &'a FieldPath> + use<'a> {
        let over: &'a [Arg] = match self {
            Callee::Body {
                over: Arg::List(lists),
                ..
            } => lists,
            Callee::Body { over, .. } => std::slice::from_ref(*over),
            Callee::Function(_) => &[],
        };
        over.iter().filter_map(|a| match a {
            Arg::Field(path) => Some(path),
            _ => None,
        })
    }
}

/// A call of regions, taken apart.
#[derive(Clone, PartialEq, Debug)]
pub struct RegionCall {
    /// What the regions are given: carried values first.
    pub inputs: Vec<Value>,
    /// How many of the inputs a loop carries; 0 for a condition.
    pub carried: usize,
    /// `yes` and `no`, or `pred` and `body`.
    pub regions: [usize; 2],
}

impl GraphModule {
    /// The nodes in order.
    pub fn nodes(&self) -> &[Node] {
        &self.graph.nodes
    }

    /// How many results the function returns; the outputs behind them are new values of parameters.
    pub fn returned(&self) -> usize {
        let news = self.updates.len() + self.writes.len();
        self.graph.outputs.len().saturating_sub(news)
    }

    /// The result types of a call of regions: both branches give them, or the loop carries them.
    pub fn region_types(&self, call: &RegionCall) -> Vec<TensorType> {
        let outputs = |r: usize| -> Vec<TensorType> {
            let region = self.regions.get(r).map(|m| &m.graph);
            // a graph that does not verify may give what it does not have
            let ty = |g: &Graph, v: &Value| {
                let node = g.nodes.get(v.node.index());
                node.and_then(|n| n.types.get(v.index as usize).cloned())
            };
            region.map_or_else(Vec::new, |g| {
                g.outputs.iter().map(|v| ty(g, v).unwrap_or_default()).collect()
            })
        };
        let mut types = outputs(call.regions[1]);
        let others = match call.carried {
            0 => outputs(call.regions[0]),
            n => call.inputs[..n]
                .iter()
                .map(|v| self.graph.ty(*v).clone())
                .collect(),
        };
        types.iter_mut().zip(&others).for_each(|(a, b)| a.refine(b));
        types
    }

    /// A node in words: its operation, what it is bound to, its line.
    pub fn describe(&self, node: &Node) -> String {
        let mut text = format!("`{}`", node.op_name());
        if !node.name.is_empty() {
            text.push_str(&format!(" (`{}`)", node.name));
        }
        if let Some(place) = self.locations.get(node.location as usize).filter(|l| l.line > 0) {
            text.push_str(&format!(" at {}", self.line_of(place)));
        }
        text
    }

    /// The file that a location is in; empty if it is not known.
    pub fn file_of<'a>(&'a self, location: &'a Location) -> &'a str {
        match &location.file[..] {
            "" => &self.file,
            file => file,
        }
    }

    /// `src/main.rs:8`.
    fn line_of(&self, location: &Location) -> String {
        match self.file_of(location) {
            "" => format!("line {}", location.line),
            file => format!("{file}:{}", location.line),
        }
    }

    /// One of the locations in words: `src/main.rs:8: h.matmul(w)`, or as much as is known of it.
    pub fn place(&self, location: u32) -> Option<String> {
        let place = self.locations.get(location as usize)?;
        Some(self.in_words(place)).filter(|words| !words.is_empty())
    }

    fn in_words(&self, place: &Location) -> String {
        match (place.line, &place.text[..]) {
            (0, text) => text.into(),
            (_, "") => self.line_of(place),
            (_, text) => format!("{}: {text}", self.line_of(place)),
        }
    }

    /// The place of a node in the source.
    pub fn location(&self, id: NodeId) -> Location {
        let at = self.graph.node(id).location as usize;
        self.locations.get(at).cloned().unwrap_or_default()
    }
}
