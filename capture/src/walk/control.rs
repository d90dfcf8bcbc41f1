//! `cond` and `while_loop`: closures become graphs inside the module.
//!
//! Problem: a closure reads whatever locals it likes, and its body is a graph of its own. Method: the body is walked
//! where it stands, so that shapes and errors are those of any code; then its nodes are cut off the end of the graph and
//! renumbered. What they read from before the cut are the region's inputs; fields that were met inside stay
//! outside. Invariant: both closures of a call take the same inputs, carried values first.

use super::Walk;
use crate::diagnostic::{Diagnostic, code};
use crate::kind::Kind;
use crate::location::tokens;
use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::{Expr as Syntax, ExprCall, ExprClosure};
use tensorplay_graph::{
    Arg, Code, Graph, GraphModule, Node, NodeId, NodeKind, Op, RegionCall, TensorType, Value, contradict,
};

/// The closures of a call that is one of control flow.
pub(super) fn closures<'a>(args: &[&'a Syntax]) -> Option<[&'a ExprClosure; 2]> {
    match args {
        [_, Syntax::Closure(a), Syntax::Closure(b)] => Some([a, b]),
        _ => None,
    }
}

/// A body that was cut off: its nodes refer to what was before `mark` and to each other.
pub(super) struct Body {
    pub nodes: Vec<Node>,
    pub outputs: Vec<Value>,
    pub regions: Vec<GraphModule>,
    pub mark: usize,
    /// The tree of its results.
    kind: Kind,
}

impl Body {
    /// The type of a value of the body, or of what was before it.
    pub fn type_of(&self, v: Value, before: &Graph) -> TensorType {
        match v.node.index().checked_sub(self.mark) {
            Some(i) => self.nodes[i].types[v.index as usize].clone(),
            None => before.ty(v).clone(),
        }
    }
}

impl Walk {
    /// `cond(&pred, || .., || ..)`.
    pub(super) fn cond(&mut self, c: &ExprCall, pred: &Syntax, [yes, no]: [&ExprClosure; 2]) -> Kind {
        let at = tokens(pred);
        let kind = self.expr(pred);
        let pred = self.as_tensor(kind, &at);
        let bodies = [self.body(yes, &Kind::unit()), self.body(no, &Kind::unit())];
        let ([Some(yes_body), Some(no_body)], Some(pred)) = (bodies, pred) else {
            return Kind::Unknown;
        };
        let shown = no.body.to_token_stream();
        if !self.same_tree(&yes_body.kind, &no_body.kind, &shown) {
            return Kind::Unknown;
        }
        let tree = yes_body.kind.clone();
        let (inputs, regions) = self.regions(&[], [("yes", yes_body), ("no", no_body)]);
        let args = vec![
            pred.into(),
            Arg::List(inputs),
            Arg::int(regions[0] as i64),
            Arg::int(regions[1] as i64),
        ];
        let parts = [at, TokenStream::new(), yes.body.to_token_stream(), shown];
        self.call_regions(Op::Cond, args, &parts, c, &tree)
    }

    /// `while_loop(carry, |c| .., |c| ..)`.
    pub(super) fn while_loop(
        &mut self,
        c: &ExprCall,
        carry: &Syntax,
        [pred, body]: [&ExprClosure; 2],
    ) -> Kind {
        let at = tokens(carry);
        let kind = self.expr(carry);
        let mut carried = Vec::new();
        let Some(tree) = self.tree(kind, &at, &mut carried) else {
            return Kind::Unknown;
        };
        let bodies = [self.body(pred, &tree), self.body(body, &tree)];
        let [Some(pred_body), Some(body_body)] = bodies else {
            return Kind::Unknown;
        };
        let shown = body.body.to_token_stream();
        if !matches!(pred_body.kind, Kind::Tensor(_)) {
            let message = format!(
                "the condition of a loop is a bool tensor, this is {}",
                pred_body.kind.describe()
            );
            return self.fail(
                Diagnostic::new(code::ARGUMENT_KIND, &pred.body, message)
                    .help("compare, as in |c| c.gt(0.0)"),
            );
        }
        if !self.same_tree(&tree, &body_body.kind, &shown) {
            return Kind::Unknown;
        }
        let (inputs, regions) = self.regions(&carried, [("pred", pred_body), ("body", body_body)]);
        let args = vec![
            Arg::List(carried.into_iter().map(Arg::Value).collect()),
            Arg::List(inputs),
            Arg::int(regions[0] as i64),
            Arg::int(regions[1] as i64),
        ];
        let parts = [at, TokenStream::new(), pred.body.to_token_stream(), shown];
        self.call_regions(Op::WhileLoop, args, &parts, c, &tree)
    }

    /// The tensors of a tuple or array, which replace it in the tree.
    fn tree(&mut self, kind: Kind, at: &TokenStream, out: &mut Vec<Value>) -> Option<Kind> {
        match kind {
            Kind::List(kinds) => {
                let parts: Vec<Option<Kind>> = kinds.into_iter().map(|k| self.tree(k, at, out)).collect();
                parts.into_iter().collect::<Option<Vec<_>>>().map(Kind::List)
            }
            kind => {
                let v = self.as_tensor(kind, at)?;
                out.push(v);
                Some(Kind::Tensor(v))
            }
        }
    }

    /// Walks a closure whose parameter, if it has one, is a copy of `carry`, and cuts its nodes off.
    fn body(&mut self, c: &ExprClosure, carry: &Kind) -> Option<Body> {
        let takes = usize::from(!matches!(carry, Kind::List(l) if l.is_empty()));
        if c.inputs.len() != takes {
            let message = format!("this closure has {} parameters, expected {takes}", c.inputs.len());
            self.fail(
                Diagnostic::new(code::ARGUMENT_COUNT, c, message).help("write |c| in a loop and || in cond"),
            );
            return None;
        }
        let mark = self.builder.module.graph.nodes.len();
        let (region_mark, updates) = (self.builder.module.regions.len(), self.updates.len());
        let decided = self.builder.module.graph.guards.len();
        let returned = self.returned.take();
        let parameter = self.copies(carry);
        self.scope.enter_closure();
        self.in_closure += 1;
        if let Some(p) = c.inputs.first() {
            self.bind_pattern(p, parameter);
        }
        let kind = self.expr(&c.body);
        self.in_closure -= 1;
        let assigns = self.scope.leave_closure();
        let at = c.body.to_token_stream();
        let (mut outputs, left) = (Vec::new(), self.returned.take());
        self.returned = returned;
        let kind = self.tree(kind, &at, &mut outputs);
        let fault = if left.is_some() {
            Some((
                "`return` in a closure cannot be captured yet",
                "end the closure with its result",
            ))
        } else if self.updates.len() > updates {
            Some((
                "variables cannot be updated in a closure yet",
                "update them outside of cond and while_loop",
            ))
        } else if assigns {
            Some((
                "an assignment to a local of the function in a closure cannot be captured yet",
                "give the value back as a result",
            ))
        } else {
            None
        };
        if let Some((message, help)) = fault {
            self.fail(Diagnostic::new(code::STATEMENT, &at, message).help(help));
        }
        let cut = self.cut(mark, region_mark, outputs);
        let mut inside = false;
        for guard in &self.builder.module.graph.guards[decided..] {
            guard.values(&mut |v| inside |= v.node.index() >= cut.mark);
        }
        if inside {
            let message =
                "a branch on the metadata of a value that a closure computes cannot be captured yet";
            self.fail(
                Diagnostic::new(code::STATEMENT, &at, message)
                    .help("read the metadata of a value from outside of the closure"),
            );
            self.builder.module.graph.guards.truncate(decided);
        }
        match (kind, fault) {
            (Some(kind), None) => Some(Body { kind, ..cut }),
            _ => None,
        }
    }

    /// A tree of new nodes that stand for carried values.
    fn copies(&mut self, carry: &Kind) -> Kind {
        match carry {
            Kind::List(l) => Kind::List(l.iter().map(|k| self.copies(k)).collect()),
            Kind::Tensor(v) => {
                let node = Node {
                    kind: NodeKind::Call(Op::Detach, vec![Arg::Value(*v)]),
                    name: self.builder.module.graph.node(v.node).name.clone(),
                    location: self.builder.location,
                    types: vec![self.builder.ty(*v).clone()],
                    interior: false,
                };
                Kind::Tensor(self.builder.module.graph.push(node).into())
            }
            other => other.clone(),
        }
    }

    /// Cuts the nodes from `mark` on off the graph. Inputs that were met among them stay.
    fn cut(&mut self, mark: usize, region_mark: usize, outputs: Vec<Value>) -> Body {
        self.cut_where(mark, region_mark, outputs, &|_| true).0
    }

    /// The same, where of the inputs those of such numbers stay; with where each value went.
    pub(super) fn cut_where(
        &mut self,
        mark: usize,
        region_mark: usize,
        mut outputs: Vec<Value>,
        stays: &dyn Fn(u32) -> bool,
    ) -> (Body, Box<dyn Fn(Value) -> Value>) {
        let module = &mut self.builder.module;
        let tail = module.graph.nodes.split_off(mark);
        let regions = module.regions.split_off(region_mark);
        let stays = |n: &Node| matches!(n.kind, NodeKind::Input(i) if stays(i));
        // inputs move to the front of what was cut, which is behind what is left
        let inputs = tail.iter().filter(|n| stays(n)).count();
        let (mut next_input, mut next) = (mark, mark + inputs);
        let mut place = Vec::with_capacity(tail.len());
        for node in &tail {
            let at = if stays(node) { &mut next_input } else { &mut next };
            place.push(NodeId(*at as u32));
            *at += 1;
        }
        let moved = move |v: Value| match v.node.index().checked_sub(mark).and_then(|i| place.get(i)) {
            Some(&node) => Value { node, ..v },
            None => v,
        };
        let mut nodes = Vec::new();
        for mut node in tail {
            node.args_mut()
                .iter_mut()
                .for_each(|a| a.map_values(&mut |v| moved(v)));
            let numbers = match (node.op(), node.args_mut()) {
                (Some(Op::Cond | Op::WhileLoop), [_, _, numbers @ ..]) => numbers,
                (Some(Op::Each), [.., Arg::List(numbers)]) => numbers.as_mut_slice(),
                _ => &mut [],
            };
            for a in numbers {
                if let Some(n) = literal(a) {
                    *a = Arg::int(n - region_mark as i64);
                }
            }
            if stays(&node) {
                module.graph.push(node);
            } else {
                nodes.push(node);
            }
        }
        outputs.iter_mut().for_each(|v| *v = moved(*v));
        for guard in &mut module.graph.guards {
            guard.map_values(&mut |v| moved(v));
        }
        for id in &mut module.graph.inputs {
            *id = moved(Value::from(*id)).node;
        }
        let body = Body {
            nodes,
            outputs,
            regions,
            mark: mark + inputs,
            kind: Kind::Unknown,
        };
        (body, Box::new(moved))
    }

    /// Makes regions of two bodies; what they take besides the carried values, and their numbers.
    fn regions(&mut self, carried: &[Value], bodies: [(&str, Body); 2]) -> (Vec<Arg>, [usize; 2]) {
        let mut captured: Vec<Value> = Vec::new();
        for (_, body) in &bodies {
            let mut read = |v: Value| {
                if v.node.index() < body.mark && !captured.contains(&v) {
                    captured.push(v);
                }
            };
            for node in body.nodes.iter().skip(carried.len()) {
                node.args().iter().for_each(|a| a.values(&mut read));
            }
            body.outputs.iter().for_each(|v| read(*v));
        }
        let numbers = bodies.map(|(name, body)| {
            let region = self.region(name, carried.len(), &captured, body);
            self.builder.module.regions.push(region);
            self.builder.module.regions.len() - 1
        });
        (captured.into_iter().map(Arg::Value).collect(), numbers)
    }

    /// A graph whose inputs are what is carried, then what is captured.
    pub(super) fn region_inputs(&self, carried: &[Node], captured: &[Value]) -> Graph {
        let mut graph = Graph::default();
        for node in carried {
            push_input(&mut graph, &node.name, node.types[0].clone());
        }
        for v in captured {
            let name = &self.builder.module.graph.node(v.node).name;
            push_input(&mut graph, name, self.builder.ty(*v).clone());
        }
        graph
    }

    fn region(&self, name: &str, carried: usize, captured: &[Value], body: Body) -> GraphModule {
        let inputs = carried + captured.len();
        let place = |v: Value| match v.node.index().checked_sub(body.mark) {
            Some(k) if k < carried => Value::from(NodeId(k as u32)),
            Some(k) => Value {
                node: NodeId((inputs + k - carried) as u32),
                ..v
            },
            None => {
                let k = captured.iter().position(|c| *c == v).unwrap_or(0);
                NodeId((carried + k) as u32).into()
            }
        };
        let mut graph = self.region_inputs(&body.nodes[..carried], captured);
        for mut node in body.nodes.into_iter().skip(carried) {
            node.args_mut()
                .iter_mut()
                .for_each(|a| a.map_values(&mut |v| place(v)));
            graph.push(node);
        }
        graph.outputs = body.outputs.into_iter().map(place).collect();
        GraphModule {
            name: name.into(),
            specs: vec![None; inputs],
            graph,
            regions: body.regions,
            ..GraphModule::default()
        }
    }

    /// Whether two results are taken apart alike.
    fn same_tree(&mut self, a: &Kind, b: &Kind, at: &TokenStream) -> bool {
        fn alike(a: &Kind, b: &Kind) -> bool {
            match (a, b) {
                (Kind::Tensor(_), Kind::Tensor(_)) => true,
                (Kind::List(a), Kind::List(b)) => {
                    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b))
                }
                _ => false,
            }
        }
        if alike(a, b) {
            return true;
        }
        self.fail(
            Diagnostic::new(
                code::RETURNED,
                at,
                "this closure gives another tuple of tensors than is expected",
            )
            .help("give as many tensors, in the same tuples"),
        );
        false
    }

    fn call_regions(
        &mut self,
        op: Op,
        args: Vec<Arg>,
        parts: &[TokenStream],
        c: &ExprCall,
        tree: &Kind,
    ) -> Kind {
        let whole = c.to_token_stream();
        self.at(
            Span::call_site().located_at(syn::spanned::Spanned::span(&c.func)),
            whole.clone(),
        );
        let trial = Node {
            kind: NodeKind::Call(op, args.clone()),
            name: String::new(),
            location: 0,
            types: Vec::new(),
            interior: false,
        };
        let Some(call) = trial.region_call() else {
            return Kind::Unknown;
        };
        if !self.regions_agree(op, &call, &parts[3]) {
            return Kind::Unknown;
        }
        let types = self.builder.module.region_types(&call);
        match self.builder.call_regions(op, args.clone(), types) {
            Ok(values) => rebuilt(tree, &mut values.into_iter()),
            Err(e) => self.op_error(&e, &args, parts, whole),
        }
    }

    /// Whether the types that both branches give, or a loop carries and its body gives, may be the same.
    fn regions_agree(&mut self, op: Op, call: &RegionCall, at: &TokenStream) -> bool {
        let module = &self.builder.module;
        let outputs = |r: usize| -> Vec<TensorType> {
            let g = &module.regions[r].graph;
            g.outputs.iter().map(|v| g.ty(*v).clone()).collect()
        };
        let expected = match call.carried {
            0 => outputs(call.regions[0]),
            n => call.inputs[..n]
                .iter()
                .map(|v| module.graph.ty(*v).clone())
                .collect(),
        };
        let given = outputs(call.regions[1]);
        for (a, b) in expected.iter().zip(&given) {
            if contradict(a, b, &module.symbols) {
                let (a, b) = (a.display(&module.symbols), b.display(&module.symbols));
                let message = match op {
                    Op::Cond => format!("{op}: the branches give {a} and {b}"),
                    _ => format!("{op}: the carried value is {a}, the body gives {b}"),
                };
                let d = Diagnostic::new(Code::SIZES, at, message);
                self.fail(d.help("give the same shape and dtype; convert with to_dtype(..) or reshape(..)"));
                return false;
            }
        }
        true
    }
}

fn literal(a: &Arg) -> Option<i64> {
    match a {
        Arg::Host(e) => e.literal().and_then(tensorplay_graph::Host::as_int),
        _ => None,
    }
}

/// The tree with other tensors.
fn rebuilt(tree: &Kind, values: &mut impl Iterator<Item = Value>) -> Kind {
    match tree {
        Kind::List(l) => Kind::List(l.iter().map(|k| rebuilt(k, values)).collect()),
        _ => values.next().map_or(Kind::Unknown, Kind::Tensor),
    }
}

/// One more input of a region.
pub(super) fn push_input(graph: &mut Graph, name: &str, ty: TensorType) {
    let index = graph.inputs.len() as u32;
    let id = graph.push(Node {
        kind: NodeKind::Input(index),
        name: name.to_string(),
        location: 0,
        types: vec![ty],
        interior: false,
    });
    graph.inputs.push(id);
}
