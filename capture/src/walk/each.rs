//! Loops whose length only a call knows: over lists, side by side, over the dims of a tensor, or while a condition on
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
use crate::kind::{Kind, PartOf};
use crate::loops::{ELEMENT, INDEX, LOOP_SHIFT};
use crate::model::Ty;
use crate::paths;
use crate::reads::Part;
use proc_macro2::TokenStream;
use quote::quote;
use syn::visit::{self, Visit};
use syn::{Block, Expr as Syntax, ExprBlock, ExprForLoop, ExprWhile, Pat};
use tensorplay_graph::{
    Arg, Expr, FieldPath, HostBinary, HostType, Node, NodeId, NodeKind, Op, TensorType, Value,
};

/// A loop as written.
pub(super) struct Loop<'a> {
    /// `for` or `while`.
    pub word: TokenStream,
    /// `for b in &self.blocks`.
    pub head: TokenStream,
    /// All of it.
    pub whole: Syntax,
    /// What each step runs.
    changing: Syntax,
    pub body: &'a Block,
}

impl<'a> Loop<'a> {
    pub fn of_for(f: &'a ExprForLoop) -> Loop<'a> {
        let (a, b, c, d) = (&f.for_token, &f.pat, &f.in_token, &f.expr);
        Loop {
            word: quote!(#a),
            head: quote!(#a #b #c #d),
            whole: Syntax::ForLoop(f.clone()),
            changing: Syntax::Block(ExprBlock {
                attrs: Vec::new(),
                label: None,
                block: f.body.clone(),
            }),
            body: &f.body,
        }
    }

    pub fn of_while(w: &'a ExprWhile) -> Loop<'a> {
        let (a, b) = (&w.while_token, &w.cond);
        Loop {
            word: quote!(#a),
            head: quote!(#a #b),
            whole: Syntax::While(w.clone()),
            changing: Syntax::While(w.clone()),
            body: &w.body,
        }
    }
}

/// What a loop goes over.
pub(super) enum Over {
    /// As long as this holds.
    While(Box<Syntax>),
    /// The elements of lists, as far as the shortest has any.
    Lists { lists: Vec<PartOf>, item: Item },
    /// `lo..lo + count`.
    Range { lo: Expr, count: Expr, ty: HostType },
}

/// What a loop over lists gives each step.
#[derive(Clone)]
pub(super) enum Item {
    /// An element of the list of that number.
    Element(usize),
    /// The number of the step.
    Number,
    Pair(Box<Item>, Box<Item>),
}

impl Item {
    /// The same behind so many lists.
    fn behind(self, n: usize) -> Item {
        match self {
            Item::Element(i) => Item::Element(i + n),
            Item::Number => Item::Number,
            Item::Pair(a, b) => Item::Pair(Box::new(a.behind(n)), Box::new(b.behind(n))),
        }
    }
}

impl Over {
    /// The elements of a list.
    pub fn list(part: PartOf) -> Over {
        Over::Lists {
            lists: vec![part],
            item: Item::Element(0),
        }
    }

    /// With the number of each step; `None` where the steps have one already.
    pub fn enumerate(self) -> Option<Over> {
        match self {
            Over::Lists { lists, item } => Some(Over::Lists {
                lists,
                item: Item::Pair(Box::new(Item::Number), Box::new(item)),
            }),
            Over::While(_) | Over::Range { .. } => None,
        }
    }

    /// Two loops side by side, if both are over lists.
    pub fn zip(self, other: Over) -> Option<Over> {
        match (self, other) {
            (Over::Lists { mut lists, item: a }, Over::Lists { lists: more, item: b }) => {
                let b = b.behind(lists.len());
                lists.extend(more);
                Some(Over::Lists {
                    lists,
                    item: Item::Pair(Box::new(a), Box::new(b)),
                })
            }
            _ => None,
        }
    }
}

/// What a loop changes.
pub(super) struct Changed {
    /// Tensors, with their values before the loop.
    pub carried: Vec<(Slot, Value)>,
    /// Lists that it adds to.
    pub lists: Vec<String>,
    /// Locals of which nobody knows what they are, and that stay so.
    pub unknown: Vec<String>,
    /// What it assigns of the elements that it goes over.
    pub parts: Vec<Part>,
}

/// A loop that is being walked.
#[derive(Debug, Default)]
pub(super) struct LoopFrame {
    /// Tensors of the element, with their nodes on the present path.
    pub tensors: Vec<(Part, Option<NodeId>)>,
    /// Numbers of the element.
    pub hosts: Vec<(Part, HostType)>,
    /// What the caller lends and the loop carries.
    pub cells: Vec<usize>,
    /// Parts of the element that a step assigned.
    assigned: Vec<Part>,
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
pub(super) struct Step {
    pub body: Body,
    pub guards: Vec<Expr>,
    /// The node of each tensor of the element.
    pub elements: Vec<Option<NodeId>>,
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
        let mut names = self.assigned(&f.changing);
        // what the loop binds itself is another local
        if let Some(pat) = pat {
            let own = names_of(pat);
            names.retain(|n| !own.contains(n));
        }
        let mut carried: Vec<(Slot, Value)> = Vec::new();
        let mut lists: Vec<String> = Vec::new();
        let mut unknown: Vec<String> = Vec::new();
        for name in names {
            let slots = self.slots(&name);
            match self.scope.get(&name) {
                None => {}
                Some(Kind::Unknown) => unknown.push(name),
                Some(_) if !slots.is_empty() => {
                    for slot in slots {
                        if !carried.iter().any(|(s, _)| *s == slot)
                            && let Some(v) = self.slot(&slot)
                        {
                            carried.push((slot, v));
                        }
                    }
                }
                Some(Kind::List(_)) if !matches!(over, Over::While(_)) => lists.push(name),
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
        let mut changed = Changed {
            carried,
            lists,
            unknown,
            parts: Vec::new(),
        };
        let slots = changed.carried.iter();
        let mut types: Vec<TensorType> = slots.map(|(_, v)| self.builder.ty(*v).clone()).collect();
        // types only get wider: shapes that a step changes become unknown
        let mut rounds = 0;
        while rounds < 4 {
            let mark = self.mark();
            let errors = self.errors.len();
            let Some((steps, frame)) = self.body_paths(f, (pat, &over), &changed, &types) else {
                return self.refuse_loop_silently(f);
            };
            if self.errors.len() > errors {
                return self.refuse_loop_silently(f);
            }
            if !frame.assigned.is_empty() {
                changed.parts.extend(frame.assigned);
                self.rewind(mark);
                continue;
            }
            rounds += 1;
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
        Changed {
            carried,
            lists,
            unknown,
            parts,
        }: &Changed,
        types: &[TensorType],
    ) -> Through {
        let known_cells = self.cells_so_far();
        let known_errors = self.errors.len();
        let mark = self.builder.module.graph.nodes.len();
        let region_mark = self.builder.module.regions.len();
        let known_updates = self.updates.len();
        if let Some(frame) = self.loops.last_mut() {
            frame.tensors.iter_mut().for_each(|(_, node)| *node = None);
        }
        self.scope.enter();
        let before: Vec<Kind> = carried.iter().map(|(_, v)| Kind::Tensor(*v)).collect();
        let lists_before: Vec<Option<Kind>> = lists.iter().map(|n| self.scope.get(n).cloned()).collect();
        for name in lists {
            self.scope.assign(name, Kind::Growing(Vec::new()));
        }
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
            Over::Lists { lists, item } => self.loop_item(k, lists, item),
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
        for (name, before) in lists.iter().zip(lists_before) {
            let added = match self.scope.get(name) {
                Some(Kind::Growing(kinds)) => Some(kinds.clone()),
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
                // nothing, several, or no tensor
                _ => 0,
            });
            if let Some(before) = before {
                self.scope.assign(name, before);
            }
        }
        for ((slot, _), kind) in carried.iter().zip(before) {
            self.fill(slot, kind);
        }
        for name in unknown {
            self.scope.assign(name, Kind::Unknown);
        }
        let assigned: Vec<(Part, Kind)> = self.assigned_parts(k).collect();
        for part in parts {
            let new = assigned.iter().find(|(p, _)| p.path == part.path);
            outputs.push(match new {
                Some((_, Kind::Tensor(v))) => *v,
                // the path leaves it as it is
                _ => self.read_element(k, part.clone()),
            });
        }
        let unknown = assigned.iter().any(|(_, kind)| !matches!(kind, Kind::Tensor(_)));
        let known = known && !unknown;
        let new = assigned.into_iter().map(|(p, _)| p);
        if let Some(frame) = self.loops.last_mut() {
            for part in new {
                let is = |p: &Part| p.path == part.path;
                if !parts.iter().any(is) && !frame.assigned.iter().any(is) {
                    frame.assigned.push(part);
                }
            }
        }
        self.forget_cells(known_cells);
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
            if self.errors.len() > known_errors {
                return Through::Failed;
            }
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

    /// What a step of a loop over lists goes over.
    fn loop_item(&mut self, k: u32, lists: &[PartOf], item: &Item) -> Kind {
        match item {
            Item::Number => Kind::Host(Expr::Param(INDEX + k, HostType::Usize)),
            Item::Pair(a, b) => {
                let (a, b) = (self.loop_item(k, lists, a), self.loop_item(k, lists, b));
                Kind::List(vec![a, b])
            }
            Item::Element(i) => {
                let list = &lists[*i];
                let ty = match &list.ty {
                    Ty::List(inner) => (**inner).clone(),
                    other => other.clone(),
                };
                self.part(PartOf {
                    path: FieldPath::root(ELEMENT | k << LOOP_SHIFT | *i as u32),
                    ty,
                    name: format!("{}[_]", list.name),
                    tokens: list.tokens.clone(),
                    lent: list.lent,
                })
            }
        }
    }

    /// The loop, by its number, whose element a path begins with.
    pub(super) fn element(&self, path: &FieldPath) -> Option<u32> {
        path.root.checked_sub(ELEMENT).map(|mark| mark >> LOOP_SHIFT)
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

/// The names that a pattern binds.
fn names_of(pat: &Pat) -> Vec<String> {
    struct Find(Vec<String>);
    impl<'a> Visit<'a> for Find {
        fn visit_pat_ident(&mut self, i: &'a syn::PatIdent) {
            self.0.push(i.ident.to_string());
            visit::visit_pat_ident(self, i);
        }
    }
    let mut find = Find(Vec::new());
    find.visit_pat(pat);
    find.0
}
