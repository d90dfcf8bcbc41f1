//! The first walk: which path every call takes, by shapes alone.

use super::{Callable, INLINE};
use crate::example::Example;
use crate::plan::bind::{Meta, PathTypes};
use crate::plan::spec::Binding;
use crate::{DType, Error, Result};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tensorplay_graph::{
    Aggregate, Arg, Callee, Demand, EvalArg, EvalError, Expr, GraphModule, Host, HostError, Interpreter,
    Link, Node, NodeId, Op, Schema, Step, TensorType, Tree, TypeError, Value, Write,
};
use tensorplay_stax::blob::Blob;

/// What a call brings, flattened.
pub(super) struct Chooser<'a> {
    pub inputs: &'a [Meta],
    pub hosts: &'a [Host],
    /// The backend that the caller is linked for.
    pub backend: &'a str,
}

/// A call of a function or of a loop's body.
pub(super) struct Frame<'a> {
    pub callable: &'a dyn Callable,
    pub paths: SmallVec<[&'a Blob; 2]>,
    /// The types of its own tensor parameters; `None` for an absent `Option`.
    pub tensors: SmallVec<[Option<TensorType>; 6]>,
    /// Its own numbers.
    pub hosts: SmallVec<[Host; 4]>,
    pub trees: SmallVec<[&'a Tree; 2]>,
}

/// The path that a call takes, and those of the calls inside it.
#[derive(Debug)]
pub(super) struct Chosen {
    pub path: usize,
    /// The dtypes of the path's inputs.
    pub dtypes: Vec<Option<DType>>,
    /// The values of the path's scalars.
    pub scalars: Vec<Host>,
    /// By site: one call, or one a step of a loop.
    pub calls: BTreeMap<usize, Calls>,
}

#[derive(Debug)]
pub(super) enum Calls {
    Function {
        callable: &'static dyn Callable,
        pattern: String,
        /// What `reuse_hash_fn` makes of the arguments.
        hash: Option<u64>,
        chosen: Box<Chosen>,
        /// The types of the results where it runs on a backend of its own.
        own: Option<Vec<TensorType>>,
    },
    Body(Vec<Chosen>),
}

impl Chosen {
    /// What each callee inside is entered for.
    pub fn entries(&self, out: &mut Vec<CalleeEntry>) {
        for calls in self.calls.values() {
            match calls {
                Calls::Function {
                    callable,
                    pattern,
                    hash,
                    chosen,
                    ..
                } => {
                    let entry = CalleeEntry {
                        callable: *callable,
                        path: chosen.path,
                        pattern: pattern.clone(),
                        hash: *hash,
                    };
                    if !out.iter().any(|e| e.is(&entry)) {
                        out.push(entry);
                    }
                    chosen.entries(out);
                }
                Calls::Body(steps) => steps.iter().for_each(|c| c.entries(out)),
            }
        }
    }
}

/// What a callee is held for.
#[derive(Clone, Debug)]
pub(crate) struct CalleeEntry {
    pub callable: &'static dyn Callable,
    pub path: usize,
    pub pattern: String,
    hash: Option<u64>,
}

impl CalleeEntry {
    fn is(&self, other: &CalleeEntry) -> bool {
        self.is_of(other) && self.path == other.path && self.pattern == other.pattern
    }

    fn is_of(&self, other: &CalleeEntry) -> bool {
        std::ptr::addr_eq(self.callable, other.callable)
    }

    /// Whether both count as one against the limit.
    fn is_kind_of(&self, other: &CalleeEntry) -> bool {
        match (self.hash, other.hash) {
            (Some(a), Some(b)) => a == b,
            _ => self.path == other.path && self.pattern == other.pattern,
        }
    }
}

/// A region that one plan would hold for too many kinds of arguments is an error.
pub(super) fn check_reuse(entries: &[CalleeEntry]) -> Result<()> {
    for entry in entries {
        let Some(limit) = entry.callable.declared().reuse_limit else {
            continue;
        };
        let mut kinds: Vec<&CalleeEntry> = Vec::new();
        for other in entries.iter().filter(|e| e.is_of(entry)) {
            if !kinds.iter().any(|k| k.is_kind_of(other)) {
                kinds.push(other);
            }
        }
        let n = kinds.len();
        if n > limit {
            return Err(Error::GraphCapture(format!(
                "`{}`: reuse limit reached: one call needs it for {n} kinds of arguments, max_reuse_entries is {limit}",
                entry.callable.name()
            )));
        }
    }
    Ok(())
}

/// A loop on a condition takes no more steps.
const MOST_STEPS: usize = 1 << 16;

impl Chooser<'_> {
    /// The path that a call takes, and the types of its results.
    pub fn choose(&self, frame: &Frame<'_>) -> Result<(Chosen, Vec<TensorType>)> {
        self.find(frame)?.ok_or_else(|| {
            Error::msg(format!(
                "no path of `{}` fits the call; this is a bug, please report it",
                frame.callable.name()
            ))
        })
    }

    /// The same, if a path fits.
    fn find(&self, frame: &Frame<'_>) -> Result<Option<(Chosen, Vec<TensorType>)>> {
        let last = frame.paths.len().saturating_sub(1);
        // a spec that is broken on every path is an error; one of an absent `Option` is on the other paths only
        let mut broken = None;
        for (path, &blob) in frame.paths.iter().enumerate() {
            let module = &blob.module;
            let inputs = self.types(frame, module);
            if let Err(e) = self.check_specs(module, &inputs) {
                broken.get_or_insert(e);
                continue;
            }
            let scalars = self.scalars(frame, module);
            let asks = path < last || !blob.written.guards.is_empty();
            if asks && !self.holds(frame, blob, &inputs, &scalars)? {
                continue;
            }
            in_bounds(frame, module)?;
            let mut walk = Walk::new(self, frame, blob, &scalars);
            let types: Vec<TensorType> = inputs.iter().map(|t| t.clone().unwrap_or_default()).collect();
            // binding names the operation that has too few results
            let results = match walk.run(&blob.written, types, &scalars) {
                Err(Stop::Type(TypeError::Eval(EvalError::Results { .. }))) => Vec::new(),
                other => other.map_err(|stop| stop.into_error(blob))?,
            };
            let chosen = Chosen {
                path,
                dtypes: inputs.iter().map(|t| t.as_ref().and_then(|t| t.dtype)).collect(),
                calls: walk.calls,
                scalars,
            };
            return Ok(Some((chosen, results)));
        }
        broken.map_or(Ok(None), Err)
    }

    /// The types of a path's inputs; `None` where an `Option` on the way is absent.
    fn types(&self, frame: &Frame<'_>, module: &GraphModule) -> Vec<Option<TensorType>> {
        let own = module.graph.inputs.len() - module.fields.len();
        let of = |i: usize| match i.checked_sub(own) {
            None => frame.tensors.get(i).cloned().flatten(),
            Some(k) => {
                let path = &module.fields[k];
                match frame.trees.get(path.root as usize)?.at(&path.steps)? {
                    Tree::Tensor(t) => {
                        let meta = self.inputs.get(*t as usize)?;
                        Some(TensorType::known(meta.dtype, &meta.shape))
                    }
                    _ => None,
                }
            }
        };
        (0..module.graph.inputs.len()).map(of).collect()
    }

    fn check_specs(&self, module: &GraphModule, inputs: &[Option<TensorType>]) -> Result<()> {
        let mut specs = Binding::new(module);
        for (i, (spec, ty)) in module.specs.iter().zip(inputs).enumerate() {
            if let (Some(spec), Some(ty)) = (spec, ty)
                && let (Some(dtype), Some(sizes)) = (ty.dtype, ty.sizes())
            {
                let name = &module.graph.node(module.graph.inputs[i]).name;
                specs.check(name, spec, dtype, &sizes)?;
            }
        }
        Ok(())
    }

    /// The values of a path's scalars; those behind an absent `Option` have any.
    fn scalars(&self, frame: &Frame<'_>, module: &GraphModule) -> Vec<Host> {
        let mut own = frame.hosts.iter();
        let of = |s: &tensorplay_graph::ScalarInput| match &s.source {
            None => own.next().copied(),
            Some(path) => {
                let tree = frame.trees.get(path.root as usize)?.at(&path.steps)?;
                self.hosts.get(tree.host()? as usize).copied()
            }
        };
        let values = module.scalars.iter().map(of);
        values.map(|v| v.unwrap_or(Host::Bool(false))).collect()
    }

    /// What the callee's own function makes of its arguments.
    fn hash(&self, frame: &Frame<'_>, chosen: &Chosen) -> Result<Option<u64>> {
        let Some(hash) = frame.callable.declared().reuse_hash else {
            return Ok(None);
        };
        let types = self.types(frame, &frame.paths[chosen.path].module);
        let examples: Vec<Example> = types.iter().flatten().filter_map(Example::of_type).collect();
        match catch_unwind(AssertUnwindSafe(|| hash(&examples))) {
            Ok(hash) => Ok(Some(hash)),
            Err(_) => {
                let message = format!("`{}`: reuse_hash_fn panicked", frame.callable.name());
                Err(Error::GraphCapture(message))
            }
        }
    }

    /// What tells a callee's entries apart: the types of its inputs, and its numbers.
    fn pattern(&self, frame: &Frame<'_>, chosen: &Chosen) -> String {
        let module = &frame.paths[chosen.path].module;
        let types = self.types(frame, module);
        let inputs = module.graph.inputs.iter().zip(&types);
        let mut parts: Vec<String> = inputs
            .filter_map(|(id, ty)| {
                let name = &module.graph.node(*id).name;
                ty.as_ref().map(|t| format!("{name}: {}", t.display(&[])))
            })
            .collect();
        for (s, v) in module.scalars.iter().zip(&chosen.scalars) {
            parts.push(format!("{} == {}", s.name, Expr::Literal(*v)));
        }
        parts.join(", ")
    }

    fn holds<'a>(
        &self,
        frame: &Frame<'a>,
        blob: &'a Blob,
        inputs: &[Option<TensorType>],
        scalars: &[Host],
    ) -> Result<bool> {
        let types = inputs.iter().map(|t| t.clone().unwrap_or_default());
        let mut demand = Demand::new(&blob.written, types.collect(), scalars);
        let mut walk = Walk::new(self, frame, blob, scalars);
        for guard in &blob.written.guards {
            is_there(frame, &blob.module, guard)?;
            match demand
                .host(&mut walk, guard)
                .map_err(|stop| stop.into_error(blob))?
            {
                Ok(Host::Bool(true)) => {}
                Ok(_) => return Ok(false),
                Err(HostError::Failed(message)) => return Err(Error::value("branch", message)),
                Err(HostError::Unknown) => {
                    let message = format!(
                        "the condition `{guard}` reads a size that is not known when the call is bound"
                    );
                    return Err(Error::value("branch", message).with_help(
                        "branch on metadata of tensors whose shapes follow from those of the parameters",
                    ));
                }
            }
        }
        Ok(true)
    }
}

/// Whether the lists of a call have the elements that a path reads by number.
fn in_bounds(frame: &Frame<'_>, module: &GraphModule) -> Result<()> {
    let graph = &module.graph;
    let fields = &graph.inputs[graph.inputs.len() - module.fields.len()..];
    let own = graph.inputs.len() - module.fields.len();
    for (k, (id, path)) in fields.iter().zip(&module.fields).enumerate() {
        let short = frame
            .trees
            .get(path.root as usize)
            .and_then(|t| t.short(&path.steps));
        let Some(short) = short else { continue };
        let written = module.writes.contains(&Write::Input((own + k) as u32));
        let mut read = written || graph.outputs.iter().any(|v| v.node == *id);
        let mut see = |v: Value| read |= v.node == *id;
        graph
            .nodes
            .iter()
            .for_each(|n| n.args().iter().for_each(|a| a.values(&mut see)));
        if read {
            return Err(missing(&graph.node(*id).name, short));
        }
    }
    for node in &graph.nodes {
        // a loop's body is given all numbers
        let given = |i: usize| i == 4 && node.op() == Some(Op::Each);
        let args = node.args().iter().enumerate();
        for (_, arg) in args.filter(|(i, _)| !given(*i)) {
            numbers_are_there(frame, module, arg)?;
        }
    }
    Ok(())
}

fn numbers_are_there(frame: &Frame<'_>, module: &GraphModule, arg: &Arg) -> Result<()> {
    match arg {
        Arg::Host(e) => is_there(frame, module, e),
        Arg::List(l) => l.iter().try_for_each(|a| numbers_are_there(frame, module, a)),
        Arg::Value(_) | Arg::Field(_) | Arg::None => Ok(()),
    }
}

/// Whether what a number reads of lists is there.
fn is_there(frame: &Frame<'_>, module: &GraphModule, e: &Expr) -> Result<()> {
    let mut found = None;
    e.params(&mut |i| {
        let Some(s) = module.scalars.get(i as usize) else {
            return;
        };
        let short = s.source.as_ref().and_then(|path| {
            let tree = frame.trees.get(path.root as usize)?;
            tree.short(&path.steps)
        });
        if let Some(short) = short {
            found = Some(missing(&s.name, short));
        }
    });
    found.map_or(Ok(()), Err)
}

/// What is read of a list by a number that it does not have.
fn missing(name: &str, (index, len): (usize, usize)) -> Error {
    let message = format!("`{name}` does not exist: the index is {index}, the list has {len} elements");
    Error::value("index", message).with_help("ask for `len()` first")
}

/// Shape evaluation of one path, which enters calls.
struct Walk<'a, 'c> {
    chooser: &'c Chooser<'c>,
    frame: &'c Frame<'a>,
    blob: &'a Blob,
    scalars: &'c [Host],
    calls: BTreeMap<usize, Calls>,
    /// The types of what the steps of loops add to lists.
    lists: BTreeMap<Value, Vec<TensorType>>,
}

enum Stop {
    Type(TypeError),
    Run(Error),
}

impl From<EvalError> for Stop {
    fn from(e: EvalError) -> Stop {
        Stop::Type(e.into())
    }
}

impl Stop {
    /// What the call of a path reports.
    fn into_error(self, blob: &Blob) -> Error {
        match self {
            Stop::Type(e) => PathTypes::error(e, &blob.written).located(|at| super::place(blob, at)),
            Stop::Run(e) => e,
        }
    }
}

impl Interpreter<TensorType> for Walk<'_, '_> {
    type Error = Stop;

    fn call(
        &mut self,
        id: NodeId,
        node: &Node,
        op: Op,
        mut args: Vec<EvalArg<TensorType>>,
    ) -> std::result::Result<Vec<TensorType>, Stop> {
        self.expand(node, &mut args);
        match node.link() {
            Some(link) => self.link(&link, (id, node), args).map_err(Stop::Run),
            None => PathTypes::new(self.blob, self.scalars)
                .call(id, node, op, args)
                .map_err(Stop::Type),
        }
    }

    fn unknown(&mut self, _: NodeId, _: Op, _: &Expr) -> std::result::Result<EvalArg<TensorType>, Stop> {
        Ok(EvalArg::Unknown)
    }
}

impl<'a, 'c> Walk<'a, 'c> {
    fn new(chooser: &'c Chooser<'c>, frame: &'c Frame<'a>, blob: &'a Blob, scalars: &'c [Host]) -> Self {
        Walk {
            chooser,
            frame,
            blob,
            scalars,
            calls: BTreeMap::new(),
            lists: BTreeMap::new(),
        }
    }

    fn link(
        &mut self,
        link: &Link<'_>,
        (id, node): (NodeId, &Node),
        args: Vec<EvalArg<TensorType>>,
    ) -> Result<Vec<TensorType>> {
        let mut args = args.into_iter();
        let over = args.next();
        // the site
        args.next();
        let mut carry = match link.callee {
            Callee::Function(_) => SmallVec::new(),
            Callee::Body { .. } => types(args.next()),
        };
        let tensors = types(args.next());
        let hosts = numbers(args.next());
        let trees = link
            .aggregates
            .iter()
            .map(|a| self.tree(a))
            .collect::<Result<SmallVec<_>>>()?;
        match &link.callee {
            Callee::Function(number) => {
                let mut callable = self.frame.callable.callee(*number)?;
                let outer = self.chooser.backend;
                let apart = outer != INLINE && callable.declared().backend.is_some_and(|own| own != outer);
                if apart {
                    callable = callable.as_written()?;
                }
                let mut hosts = hosts;
                hosts.extend_from_slice(&callable.declared().consts);
                let frame = Frame {
                    callable,
                    paths: callable.paths().iter().collect(),
                    tensors,
                    hosts,
                    trees,
                };
                let (chosen, results) = self.chooser.choose(&frame)?;
                let pattern = self.chooser.pattern(&frame, &chosen);
                let hash = self.chooser.hash(&frame, &chosen)?;
                let chosen = Box::new(chosen);
                let call = Calls::Function {
                    callable,
                    pattern,
                    hash,
                    chosen,
                    own: apart.then(|| results.clone()),
                };
                self.calls.insert(link.site, call);
                Ok(results)
            }
            Callee::Body {
                over: written,
                regions,
            } => {
                let on_condition = matches!(written, Arg::None);
                let mut elements: SmallVec<[&[Tree]; 2]> = SmallVec::new();
                for path in link.callee.lists() {
                    elements.push(match self.tree(&Arg::Field(path.clone()))? {
                        Tree::List(_, items) => items,
                        _ => &[],
                    });
                }
                let shortest = elements.iter().map(|l| l.len()).min();
                let n = match over {
                    _ if on_condition => MOST_STEPS + 1,
                    Some(EvalArg::Host(h)) => h.as_int().and_then(|n| usize::try_from(n).ok()).unwrap_or(0),
                    _ => shortest.unwrap_or(0),
                };
                let blob = self.blob;
                let mut steps = Vec::new();
                let carried = carry.len();
                let added = self.blob.written.node(id).types.len().saturating_sub(carried);
                let mut lists: Vec<Vec<TensorType>> = vec![Vec::new(); added];
                for i in 0..n {
                    if on_condition && i == MOST_STEPS {
                        return Err(self.endless(node));
                    }
                    let element = elements.iter().filter_map(|l| l.get(i));
                    let step = Host::Int(i as i64);
                    let frame = Frame {
                        callable: self.frame.callable,
                        paths: regions.iter().filter_map(|r| blob.regions.get(*r)).collect(),
                        tensors: carry.iter().chain(&tensors).cloned().collect(),
                        hosts: std::iter::once(step).chain(hosts.iter().copied()).collect(),
                        trees: element.chain(trees.iter().copied()).collect(),
                    };
                    let (chosen, mut results) = match on_condition {
                        false => self.chooser.choose(&frame)?,
                        true => match self.chooser.find(&frame)? {
                            Some(step) => step,
                            None => break,
                        },
                    };
                    for (list, ty) in lists.iter_mut().zip(results.drain(carried.min(results.len())..)) {
                        list.push(ty);
                    }
                    carry = results.into_iter().map(Some).collect();
                    steps.push(chosen);
                }
                self.calls.insert(link.site, Calls::Body(steps));
                let mut results: Vec<TensorType> = carry.into_iter().map(Option::unwrap_or_default).collect();
                for (k, list) in lists.into_iter().enumerate() {
                    results.push(list.last().cloned().unwrap_or_default());
                    let index = (carried + k) as u32;
                    self.lists.insert(Value { node: id, index }, list);
                }
                Ok(results)
            }
        }
    }

    /// A list among the tensors of an operation is all of them.
    fn expand(&self, node: &Node, args: &mut [EvalArg<TensorType>]) {
        for (arg, written) in args.iter_mut().zip(node.args()) {
            let (EvalArg::List(types), Arg::List(written)) = (arg, written) else {
                continue;
            };
            if !written
                .iter()
                .any(|a| matches!(a, Arg::Value(v) if self.lists.contains_key(v)))
            {
                continue;
            }
            let old = std::mem::take(types);
            for (ty, a) in old.into_iter().zip(written) {
                match a {
                    Arg::Value(v) if self.lists.contains_key(v) => {
                        types.extend(self.lists[v].iter().cloned().map(EvalArg::Value));
                    }
                    _ => types.push(ty),
                }
            }
        }
    }

    /// A loop whose condition does not cease to hold.
    fn endless(&self, node: &Node) -> Error {
        let source = self.blob.source().ok();
        let location = source
            .as_ref()
            .and_then(|m| m.locations.get(node.location as usize));
        let what = match location {
            Some(l) if l.line > 0 => format!("`{}` on line {}", l.text, l.line),
            _ => format!("a loop of `{}`", self.frame.callable.name()),
        };
        Error::value("while", format!("{what} takes more than {MOST_STEPS} steps"))
            .with_help("change what the condition reads in every step, or use `tensorplay::while_loop(..)`")
    }

    fn tree(&self, arg: &Arg) -> Result<&'a Tree> {
        let mut found = None;
        if let Arg::Field(path) = arg
            && let Some(root) = self.frame.trees.get(path.root as usize).copied()
        {
            if let Some(short) = root.short(&path.steps) {
                let aggregate = self.blob.module.aggregates.get(path.root as usize);
                let name = aggregate.map_or_else(|| arg.to_string(), |a| named(a, &path.steps));
                return Err(missing(&name, short));
            }
            found = root.at(&path.steps);
        }
        found.ok_or_else(|| {
            Error::msg(format!(
                "`{}`: {arg} is not there; this is a bug, please report it",
                self.frame.callable.name()
            ))
        })
    }
}

/// A part of an aggregate as it is written: `self.blocks[0].conv`.
fn named(aggregate: &Aggregate, steps: &[Step]) -> String {
    let (mut name, mut schema) = (aggregate.name.clone(), Some(&aggregate.schema));
    for step in steps {
        schema = match (schema, step) {
            (Some(Schema::Struct(fields)), Step::Field(i)) => {
                let field = fields.get(*i as usize);
                name.push_str(&field.map_or_else(|| format!(".{i}"), |(f, _)| format!(".{f}")));
                field.map(|(_, s)| s)
            }
            (Some(Schema::List(inner)), Step::Index(i)) => {
                name.push_str(&format!("[{i}]"));
                Some(inner)
            }
            (Some(Schema::Option(inner)), Step::Some) => Some(inner),
            _ => None,
        };
    }
    name
}

fn types(arg: Option<EvalArg<TensorType>>) -> SmallVec<[Option<TensorType>; 6]> {
    let Some(EvalArg::List(list)) = arg else {
        return SmallVec::new();
    };
    let one = |a| match a {
        EvalArg::Value(t) => Some(t),
        _ => None,
    };
    list.into_iter().map(one).collect()
}

fn numbers(arg: Option<EvalArg<TensorType>>) -> SmallVec<[Host; 4]> {
    let Some(EvalArg::List(list)) = arg else {
        return SmallVec::new();
    };
    let one = |a| match a {
        EvalArg::Host(h) => h,
        _ => Host::Bool(false),
    };
    list.into_iter().map(one).collect()
}
