//! Loops whose length only a call knows: over a list of layers, over the dims of a tensor, or while a condition on
//! metadata holds.
//!
//! The body is walked once for each way through it, and its nodes are cut off: they become regions of one `each` node.
//! What the body assigns of the outer locals is carried from step to step; the types of carried values are those that a
//! step leaves as they are. Numbers and parts of aggregates keep marks that [`loops`](crate::loops) replaces at the end.

use super::callee::common;
use super::control::Body;
use super::lent::Slot;
use super::{Jump, Walk};
use crate::diagnostic::{Diagnostic, code};
use crate::kind::{Kind, Many, PartOf};
use crate::loops::{ELEMENT, INDEX, LOOP_SHIFT, Looped};
use crate::model::Ty;
use crate::paths;
use crate::reads::Part;
use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned;
use syn::{Block, Expr as Syntax, ExprForLoop, ExprWhile, Pat};
use tensorplay_graph::{
    Arg, Expr, FieldPath, Graph, GraphModule, HostBinary, HostType, Node, NodeId, NodeKind, Op, TensorType,
    Value,
};

/// A loop as written.
pub(super) struct Loop<'a> {
    /// `for` or `while`.
    pub word: TokenStream,
    /// `for b in &self.blocks`.
    pub head: TokenStream,
    /// All of it.
    pub whole: Syntax,
    pub body: &'a Block,
}

impl<'a> Loop<'a> {
    pub fn of_for(f: &'a ExprForLoop) -> Loop<'a> {
        let (a, b, c, d) = (&f.for_token, &f.pat, &f.in_token, &f.expr);
        Loop {
            word: quote!(#a),
            head: quote!(#a #b #c #d),
            whole: Syntax::ForLoop(f.clone()),
            body: &f.body,
        }
    }

    pub fn of_while(w: &'a ExprWhile) -> Loop<'a> {
        let (a, b) = (&w.while_token, &w.cond);
        Loop {
            word: quote!(#a),
            head: quote!(#a #b),
            whole: Syntax::While(w.clone()),
            body: &w.body,
        }
    }
}

/// What a loop goes over.
pub(super) enum Over {
    /// As long as this holds.
    While(Box<Syntax>),
    /// Layers; with their numbers?
    Layers(PartOf, bool),
    /// `lo..lo + count`.
    Range { lo: Expr, count: Expr, ty: HostType },
}

/// What a loop changes.
struct Changed {
    /// Tensors, with their values before the loop.
    carried: Vec<(Slot, Value)>,
    /// Lists, with their lengths before the loop.
    lists: Vec<(String, usize)>,
}

/// A loop that is being walked.
#[derive(Debug, Default)]
pub(super) struct LoopFrame {
    /// Tensors of the element, with their nodes on the present path.
    tensors: Vec<(Part, Option<NodeId>)>,
    /// Numbers of the element.
    hosts: Vec<(Part, HostType)>,
    /// What the caller lends and the loop carries.
    pub cells: Vec<usize>,
}

/// What a walk through the body yields.
enum Through {
    Step(Box<Step>),
    /// The condition of the loop does not hold there.
    Ends,
    /// Something was reported.
    Failed,
}

/// A path through the body.
struct Step {
    body: Body,
    guards: Vec<Expr>,
    /// The node of each tensor of the element.
    elements: Vec<Option<NodeId>>,
}

impl Walk {
    pub(super) fn each(&mut self, f: &Loop<'_>, pat: Option<&Pat>, over: Over) -> Kind {
        let at = f.head.clone();
        if self.in_closure > 0 {
            let message = "a loop of unknown length in a closure cannot be captured yet";
            return self.refuse_loop(
                f,
                Diagnostic::new(code::STATEMENT, at, message).help("write it outside of the closure"),
            );
        }
        let names = self.assigned(&f.whole);
        let mut carried: Vec<(Slot, Value)> = Vec::new();
        let mut lists: Vec<(String, usize)> = Vec::new();
        for name in names {
            let slots = self.slots(&name);
            match self.scope.get(&name) {
                Some(Kind::Unknown) | None => {}
                Some(_) if !slots.is_empty() => {
                    for slot in slots {
                        if !carried.iter().any(|(s, _)| *s == slot)
                            && let Some(v) = self.slot(&slot)
                        {
                            carried.push((slot, v));
                        }
                    }
                }
                Some(Kind::List(kinds)) if !matches!(over, Over::While(_)) => lists.push((name, kinds.len())),
                Some(other) => {
                    let message = format!("`{name}` is {}, which this loop changes", other.describe());
                    return self.refuse_loop(
                        f,
                        Diagnostic::new(code::STATEMENT, at, message)
                            .help("change tensors only, or loop over a literal range"),
                    );
                }
            }
        }
        let changed = Changed { carried, lists };
        let slots = changed.carried.iter();
        let mut types: Vec<TensorType> = slots.map(|(_, v)| self.builder.ty(*v).clone()).collect();
        // types only get wider: shapes that a step changes become unknown
        for _ in 0..4 {
            let mark = self.mark();
            let errors = self.errors.len();
            let Some((steps, frame)) = self.body_paths(f, (pat, &over), &changed, &types) else {
                return self.refuse_loop_silently(f);
            };
            if self.errors.len() > errors {
                return self.refuse_loop_silently(f);
            }
            let mut wider = types.clone();
            for step in &steps {
                for (ty, out) in wider.iter_mut().zip(&step.body.outputs) {
                    common(ty, &step.body.type_of(*out, &self.builder.module.graph));
                }
            }
            if wider == types && steps.is_empty() {
                return Kind::unit();
            }
            if wider == types {
                return self.push_each(f, over, changed, types, steps, frame);
            }
            types = wider;
            self.rewind(mark);
        }
        Kind::Unknown
    }

    /// Walks the body along all its paths.
    fn body_paths(
        &mut self,
        f: &Loop<'_>,
        over: (Option<&Pat>, &Over),
        changed: &Changed,
        types: &[TensorType],
    ) -> Option<(Vec<Step>, LoopFrame)> {
        let facts = self.facts.len();
        self.facts.extend(self.decided.iter().cloned());
        let outer = (
            std::mem::take(&mut self.script),
            std::mem::take(&mut self.decided),
            std::mem::take(&mut self.builder.module.graph.guards),
        );
        let k = self.loops.len() as u32;
        self.loops.push(LoopFrame {
            cells: changed
                .carried
                .iter()
                .filter_map(|(slot, _)| slot.cell())
                .collect(),
            ..LoopFrame::default()
        });
        let mut steps = Vec::new();
        let mut script = Some(Vec::new());
        let (mut fine, mut walks) = (true, 0);
        while let Some(decisions) = script {
            walks += 1;
            if walks > 2 * paths::MOST || steps.len() == paths::MOST {
                fine = false;
                let message = format!(
                    "the branches in this loop give it more than {} paths",
                    paths::MOST
                );
                self.fail(Diagnostic::new(code::PATHS, &f.word, message).help("split the loop"));
                break;
            }
            self.script = decisions;
            let step = self.body_path(f, over, k, changed, types);
            let taken = std::mem::take(&mut self.decided)
                .into_iter()
                .map(|(_, t)| t)
                .collect();
            script = paths::next(taken);
            match step {
                Through::Step(step) => steps.push(*step),
                Through::Ends => {}
                Through::Failed => fine = false,
            }
        }
        let frame = self.loops.pop().unwrap_or_default();
        (self.script, self.decided, self.builder.module.graph.guards) = outer;
        self.facts.truncate(facts);
        fine.then_some((steps, frame))
    }

    fn body_path(
        &mut self,
        f: &Loop<'_>,
        (pat, over): (Option<&Pat>, &Over),
        k: u32,
        Changed { carried, lists }: &Changed,
        types: &[TensorType],
    ) -> Through {
        let mark = self.builder.module.graph.nodes.len();
        let region_mark = self.builder.module.regions.len();
        let known_updates = self.updates.len();
        if let Some(frame) = self.loops.last_mut() {
            frame.tensors.iter_mut().for_each(|(_, node)| *node = None);
        }
        self.scope.enter();
        let before: Vec<Kind> = carried.iter().map(|(_, v)| Kind::Tensor(*v)).collect();
        let lists_before: Vec<Option<Kind>> = lists.iter().map(|(n, _)| self.scope.get(n).cloned()).collect();
        for ((slot, v), ty) in carried.iter().zip(types) {
            let node = Node {
                kind: NodeKind::Call(Op::Detach, vec![Arg::Value(*v)]),
                name: self.slot_name(slot),
                location: self.builder.location,
                types: vec![ty.clone()],
                interior: false,
            };
            let id = self.builder.module.graph.push(node);
            self.fill(slot, Kind::Tensor(id.into()));
        }
        let mut holds = Some(true);
        let item = match over {
            Over::While(condition) => {
                holds = self.condition(condition);
                Kind::unit()
            }
            Over::Layers(part, numbered) => {
                let inner = match &part.ty {
                    Ty::List(inner) => (**inner).clone(),
                    other => other.clone(),
                };
                let element = self.part(PartOf {
                    path: FieldPath::root(ELEMENT + k),
                    ty: inner,
                    name: format!("{}[_]", part.name),
                    tokens: part.tokens.clone(),
                });
                let index = Expr::Param(INDEX + k, HostType::Usize);
                match numbered {
                    true => Kind::List(vec![Kind::Host(index), element]),
                    false => element,
                }
            }
            Over::Range { lo, ty, .. } => {
                let index = Expr::Cast(*ty, Box::new(Expr::Param(INDEX + k, HostType::Usize)));
                Kind::Host(match lo.literal().and_then(tensorplay_graph::Host::as_int) {
                    Some(0) => index,
                    _ => Expr::Binary(HostBinary::Add, Box::new(lo.clone()), Box::new(index)),
                })
            }
        };
        if let Some(pat) = pat {
            self.bind_pattern(pat, item);
        }
        if holds == Some(true) {
            self.block(f.body);
        }
        self.scope.leave();
        let mut outputs = Vec::with_capacity(carried.len());
        for (slot, _) in carried {
            outputs.push(self.slot(slot).unwrap_or(Value {
                node: NodeId(0),
                index: 0,
            }));
        }
        let known = carried.iter().all(|(slot, _)| self.slot(slot).is_some());
        let mut grown = Vec::with_capacity(lists.len());
        for ((name, len), before) in lists.iter().zip(lists_before) {
            let added = match self.scope.get(name) {
                Some(Kind::List(kinds)) => kinds.get(*len..).map(<[Kind]>::to_vec),
                _ => None,
            };
            grown.push(match added.as_deref() {
                Some([Kind::Tensor(v)]) => {
                    let row = self
                        .builder
                        .call(Op::Unsqueeze, vec![Arg::Value(*v), Arg::int(0)]);
                    outputs.extend([*v, row.unwrap_or(*v)]);
                    1
                }
                Some(added) => added.len(),
                None => usize::MAX,
            });
            if let Some(before) = before {
                self.scope.assign(name, before);
            }
        }
        for ((slot, _), kind) in carried.iter().zip(before) {
            self.fill(slot, kind);
        }
        let leaves = match self.jump.take() {
            // the last word of a step
            Some(Jump {
                again: true,
                label: None,
            }) => false,
            Some(_) => true,
            None => self.returned.take().is_some(),
        };
        let updates = self.updates.len() > known_updates;
        self.updates.truncate(known_updates);
        let guards = std::mem::take(&mut self.builder.module.graph.guards);
        let (body, guards, elements) = self.cut_loop(k, mark, region_mark, outputs, guards);
        let problem = match (leaves, updates) {
            (true, _) => Some("leaving a loop whose length the build does not know cannot be captured yet"),
            (_, true) => Some("an update of a variable in a loop of unknown length cannot be captured yet"),
            _ => None,
        };
        if let Some(message) = problem {
            self.fail(
                Diagnostic::new(code::STATEMENT, &f.word, message)
                    .help("take every step, or use `tensorplay::while_loop(..)`"),
            );
            return Through::Failed;
        }
        if grown.iter().any(|n| *n != 1) {
            self.fail(
                Diagnostic::new(
                    code::STATEMENT,
                    &f.word,
                    "a loop of unknown length adds one tensor a step to each list that it changes",
                )
                .help("push one tensor in every step, into a list of its own"),
            );
            return Through::Failed;
        }
        let step = Step {
            body,
            guards,
            elements,
        };
        match holds {
            Some(true) if known => Through::Step(Box::new(step)),
            Some(false) => Through::Ends,
            _ => Through::Failed,
        }
    }

    /// The loop, by its number, whose element a path begins with.
    pub(super) fn element(&self, path: &FieldPath) -> Option<u32> {
        path.root.checked_sub(ELEMENT)
    }

    /// A tensor of a loop's element.
    pub(super) fn read_element(&mut self, k: u32, part: Part) -> Value {
        let Some(frame) = self.loops.get(k as usize) else {
            return Value {
                node: NodeId(0),
                index: 0,
            };
        };
        let at = frame.tensors.iter().position(|(p, _)| p.path == part.path);
        if let Some(Some(id)) = at.map(|i| frame.tensors[i].1) {
            return id.into();
        }
        let at = at.unwrap_or(frame.tensors.len());
        let id = self.builder.module.graph.push(Node {
            kind: NodeKind::Input(ELEMENT | k << LOOP_SHIFT | at as u32),
            name: part.name.clone(),
            location: self.builder.location,
            types: vec![TensorType::default()],
            interior: false,
        });
        if let Some(frame) = self.loops.get_mut(k as usize) {
            match frame.tensors.get_mut(at) {
                Some(known) => known.1 = Some(id),
                None => frame.tensors.push((part, Some(id))),
            }
        }
        id.into()
    }

    /// A number of a loop's element.
    pub(super) fn read_element_host(&mut self, k: u32, part: Part, ty: HostType) -> Expr {
        let Some(frame) = self.loops.get_mut(k as usize) else {
            return Expr::int(0);
        };
        let at = frame.hosts.iter().position(|(p, _)| p.path == part.path);
        let at = at.unwrap_or_else(|| {
            frame.hosts.push((part, ty));
            frame.hosts.len() - 1
        });
        Expr::Param(ELEMENT | k << LOOP_SHIFT | at as u32, ty)
    }

    /// Cuts a body off, and keeps the nodes of tensors of outer elements.
    fn cut_loop(
        &mut self,
        k: u32,
        mark: usize,
        region_mark: usize,
        outputs: Vec<Value>,
        guards: Vec<Expr>,
    ) -> (Body, Vec<Expr>, Vec<Option<NodeId>>) {
        let own = |n: u32| n & ELEMENT != 0 && (n & !ELEMENT) >> LOOP_SHIFT == k;
        let (body, moved) = self.cut_where(mark, region_mark, outputs, &|n| !own(n));
        let mut guards = guards;
        for g in &mut guards {
            g.map_values(&mut |v| moved(v));
        }
        for frame in &mut self.loops {
            for (_, node) in &mut frame.tensors {
                *node = node.map(|id| moved(id.into()).node);
            }
        }
        let elements = self
            .loops
            .last()
            .map(|f| f.tensors.iter().map(|(_, n)| *n).collect());
        (body, guards, elements.unwrap_or_default())
    }

    #[allow(clippy::too_many_arguments)]
    fn push_each(
        &mut self,
        f: &Loop<'_>,
        over: Over,
        Changed { carried, lists }: Changed,
        mut types: Vec<TensorType>,
        steps: Vec<Step>,
        frame: LoopFrame,
    ) -> Kind {
        let mut captured: Vec<Value> = Vec::new();
        for step in &steps {
            let mut read = |v: Value| {
                if v.node.index() < step.body.mark && !captured.contains(&v) {
                    captured.push(v);
                }
            };
            let nodes = step.body.nodes.iter().skip(carried.len());
            nodes.for_each(|n| n.args().iter().for_each(|a| a.values(&mut read)));
            step.body.outputs.iter().for_each(|v| read(*v));
            step.guards.iter().for_each(|g| g.values(&mut read));
        }
        // what is added to a list has the type that all paths have in common; a step may be of any size
        for k in 0..2 * lists.len() {
            let mut all = steps.iter().map(|s| {
                let v = s.body.outputs[carried.len() + k];
                s.body.type_of(v, &self.builder.module.graph)
            });
            let mut ty = all.next().unwrap_or_default();
            all.for_each(|other| common(&mut ty, &other));
            types.push(ty);
        }
        let first = self.builder.module.regions.len();
        let n = steps.len();
        for (i, step) in steps.into_iter().enumerate() {
            let name = if n == 1 {
                "body".to_string()
            } else {
                format!("body_{i}")
            };
            let region = self.loop_region(name, carried.len(), &captured, step, &frame);
            self.builder.module.regions.push(region);
        }
        let site = self.site();
        let count = match &over {
            // only lists ask
            _ if lists.is_empty() => Expr::int(0),
            Over::While(_) => Expr::int(0),
            Over::Range { count, .. } => count.clone(),
            Over::Layers(part, _) => {
                let name = format!("{}.len()", part.name);
                let path = part.path.clone();
                self.read_part_host(Part { path, name }, HostType::Usize)
            }
        };
        let at = f.head.clone();
        let over = match &over {
            Over::While(_) => Arg::None,
            Over::Layers(part, _) => Arg::Field(part.path.clone()),
            Over::Range { count, .. } => Arg::Host(count.clone()),
        };
        self.at(f.word.span(), at.clone());
        self.looped.push(Looped {
            site,
            hosts: frame
                .hosts
                .into_iter()
                .map(|(p, t)| (p.name, p.path, t))
                .collect(),
        });
        let values = |l: &mut dyn Iterator<Item = Value>| Arg::List(l.map(Arg::Value).collect());
        let args = vec![
            over,
            Arg::int(site),
            values(&mut carried.iter().map(|(_, v)| *v)),
            values(&mut captured.iter().copied()),
            Arg::List(Vec::new()),
            Arg::List(Vec::new()),
            Arg::ints((first..first + n).map(|r| r as i64)),
        ];
        match self.builder.call_regions(Op::Each, args, types) {
            Ok(values) => {
                let added = values[carried.len()..].to_vec();
                for ((slot, _), v) in carried.iter().zip(values) {
                    self.fill(slot, Kind::Tensor(v));
                }
                for ((name, _), pair) in lists.iter().zip(added.chunks(2)) {
                    if let (Some(Kind::List(kinds)), [list, rows]) = (self.scope.get(name), pair) {
                        let mut kinds = kinds.clone();
                        kinds.push(Kind::Many(Many {
                            list: *list,
                            rows: *rows,
                            count: count.clone(),
                        }));
                        self.scope.assign(name, Kind::List(kinds));
                    }
                }
                Kind::unit()
            }
            Err(e) => self.op_error(&e, &[], &[], at),
        }
    }

    fn loop_region(
        &self,
        name: String,
        carried: usize,
        captured: &[Value],
        step: Step,
        frame: &LoopFrame,
    ) -> GraphModule {
        let Step {
            body,
            guards,
            elements,
        } = step;
        let own = carried + captured.len();
        let inputs = own + frame.tensors.len();
        // the nodes of the element's tensors are inputs of the region, the others follow them
        let mut place: Vec<NodeId> = Vec::with_capacity(body.nodes.len());
        let mut next = inputs;
        for (i, _) in body.nodes.iter().enumerate() {
            let id = NodeId((body.mark + i) as u32);
            let element = elements.iter().position(|e| *e == Some(id));
            place.push(match element {
                _ if i < carried => NodeId(i as u32),
                Some(e) => NodeId((own + e) as u32),
                None => {
                    next += 1;
                    NodeId(next as u32 - 1)
                }
            });
        }
        let to = |v: Value| match v.node.index().checked_sub(body.mark) {
            Some(i) => Value { node: place[i], ..v },
            None => {
                let k = captured.iter().position(|c| *c == v).unwrap_or(0);
                NodeId((carried + k) as u32).into()
            }
        };
        let mut graph = Graph::default();
        let mut input = |name: &str, ty: TensorType| {
            let index = graph.inputs.len() as u32;
            let id = graph.push(Node {
                kind: NodeKind::Input(index),
                name: name.to_string(),
                location: 0,
                types: vec![ty],
                interior: false,
            });
            graph.inputs.push(id);
        };
        for node in &body.nodes[..carried] {
            input(&node.name, node.types[0].clone());
        }
        for v in captured {
            let name = &self.builder.module.graph.node(v.node).name;
            input(name, self.builder.ty(*v).clone());
        }
        for (part, _) in &frame.tensors {
            input(&part.name, TensorType::default());
        }
        for (i, mut node) in body.nodes.into_iter().enumerate().skip(carried) {
            let id = NodeId((body.mark + i) as u32);
            if elements.contains(&Some(id)) {
                continue;
            }
            node.args_mut()
                .iter_mut()
                .for_each(|a| a.map_values(&mut |v| to(v)));
            graph.push(node);
        }
        graph.outputs = body.outputs.into_iter().map(to).collect();
        graph.guards = guards
            .into_iter()
            .map(|mut g| {
                g.map_values(&mut |v| to(v));
                g
            })
            .collect();
        GraphModule {
            name,
            specs: vec![None; inputs],
            fields: frame.tensors.iter().map(|(p, _)| p.path.clone()).collect(),
            graph,
            regions: body.regions,
            ..GraphModule::default()
        }
    }

    fn refuse_loop(&mut self, f: &Loop<'_>, d: Diagnostic) -> Kind {
        self.fail(d);
        self.refuse_loop_silently(f)
    }

    fn refuse_loop_silently(&mut self, f: &Loop<'_>) -> Kind {
        self.poison(&f.whole);
        Kind::Unknown
    }

    /// How much of the graph there is.
    fn mark(&self) -> (usize, usize, usize) {
        let module = &self.builder.module;
        (module.graph.nodes.len(), module.regions.len(), self.looped.len())
    }

    /// Forgets what was added behind a mark, but for inputs, which stay.
    fn rewind(&mut self, (_, regions, looped): (usize, usize, usize)) {
        // bodies were cut off: only inputs stand behind the mark
        self.builder.module.regions.truncate(regions);
        self.looped.truncate(looped);
    }
}
