//! The second walk: the expanded graphs of the chosen paths become one.

use super::choose::{Calls, Chosen};
use super::substitute::{
    GONE, close, last_location, move_locations, renamed, share_locations, substitute, typed,
};
use super::{Callable, Opaque, Strips};
use crate::kernels::strip::Strip;
use crate::plan::bind::Meta;
use crate::{DType, Error, Result};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::Arc;
use tensorplay_graph::op::row::{LaneClass, Lowering};
use tensorplay_graph::{
    Aggregate, Arg, Callee, Expr, FieldPath, Graph, GraphModule, Host, Link, Location, Node, NodeId,
    NodeKind, Op, ScalarInput, Schema, TensorType, Tree, Value, Write,
};
use tensorplay_stax::blob::{Blob, Instance};
use tensorplay_stax::kernel::Space;
use tensorplay_stax::lower::Lowered;
use tensorplay_stax::schedule::{Member, Schedule, Unit, UnitKind};

type Kernel = Option<(Arc<Lowered>, u32)>;

/// A result of a path or call.
enum Output {
    One(Value),
    /// What the steps of a loop add to a list.
    List(Vec<Value>),
}

impl Output {
    fn values(&self) -> &[Value] {
        match self {
            Output::One(v) => std::slice::from_ref(v),
            Output::List(l) => l,
        }
    }
}

/// Of a path or call: its results, and its units in order.
type Spliced = (Vec<Output>, Vec<Placed>);

/// A unit on its way into the linked schedule.
struct Placed {
    unit: Unit,
    kernel: Kernel,
    strips: &'static [Strip],
}

/// A call of a path.
struct Frame<'a, 'p> {
    callable: &'a dyn Callable,
    blob: &'p Blob,
    chosen: &'a Chosen,
    /// Its own tensor parameters, in the linked graph.
    tensors: SmallVec<[Option<Value>; 6]>,
    /// Its own numbers, over the linked graph.
    hosts: SmallVec<[Expr; 4]>,
    trees: SmallVec<[&'a Tree; 2]>,
}

#[derive(Default)]
struct Splicer<'p> {
    module: GraphModule,
    written: Graph,
    regions: Vec<Blob>,
    /// The node of each flattened tensor.
    inputs: Vec<NodeId>,
    /// Places are numbered anew for each path, so that operations of two calls are told apart: how many there are.
    locations: u32,
    /// Which path they are of, each with the number of its first.
    paths: Vec<(u32, &'p Blob)>,
    /// New values of inputs.
    updates: Vec<(u32, Value)>,
    /// Nodes that stand for absent inputs.
    created: Vec<NodeId>,
    /// Calls that run on backends of their own.
    opaque: Vec<Arc<Opaque>>,
}

/// A linked path.
pub(super) struct LinkedPath<'a> {
    pub blob: Blob,
    /// The paths that are in it, each with the number of its first location.
    pub locations: Vec<(u32, &'a Blob)>,
    pub strips: Strips,
    /// How many tensors each of its results is.
    pub lengths: Vec<u32>,
}

/// Links the path of a function that was chosen.
pub(super) fn splice<'a>(
    f: &'a dyn Callable,
    chosen: &Chosen,
    inputs: &[Meta],
    trees: &[Tree],
) -> Result<LinkedPath<'a>> {
    let blob = &f.paths()[chosen.path];
    let source = &blob.module;
    let own = source.graph.inputs.len() - source.fields.len();
    let mut s = Splicer {
        module: GraphModule {
            name: source.name.clone(),
            file: source.file.clone(),
            symbols: source.symbols.clone(),
            statics: source.statics.clone(),
            scalars: source
                .scalars
                .iter()
                .filter(|s| s.source.is_none())
                .cloned()
                .collect(),
            ..GraphModule::default()
        },
        ..Splicer::default()
    };
    for (i, id) in source.graph.inputs[..own].iter().enumerate() {
        s.input(
            source.graph.node(*id).name.clone(),
            source.specs.get(i).cloned().flatten(),
        );
    }
    for (aggregate, tree) in source.aggregates.iter().zip(trees) {
        s.fields(aggregate, tree);
    }
    let frame = Frame {
        callable: f,
        blob,
        chosen,
        tensors: s.inputs[..own].iter().map(|&id| Some(id.into())).collect(),
        hosts: s
            .module
            .scalars
            .iter()
            .enumerate()
            .map(|(i, s)| Expr::Param(i as u32, s.ty))
            .collect(),
        trees: trees.iter().collect(),
    };
    let (outputs, placed) = s.path(&frame)?;
    let (returned, written) = outputs.split_at(source.returned());
    let mut lengths = Vec::with_capacity(returned.len());
    for (k, output) in returned.iter().enumerate() {
        let values = output.values();
        if values.contains(&GONE) {
            return Err(lost(&frame));
        }
        lengths.push(values.len() as u32);
        s.module.graph.outputs.extend(values);
        if let Some(spec) = source.output_specs.get(k) {
            let specs = std::iter::repeat_n(spec.clone(), values.len());
            s.module.output_specs.extend(specs);
        }
    }
    for (input, value) in std::mem::take(&mut s.updates) {
        s.module.updates.push(input);
        s.module.graph.outputs.push(value);
    }
    // the caller is given them in the order of the inputs
    let mut writes: Vec<(u32, Value)> = Vec::new();
    for (write, output) in source.writes.iter().zip(written) {
        let places = s.places(&frame, write).ok_or_else(|| lost(&frame))?;
        let news = places.into_iter().zip(output.values().iter().copied());
        writes.extend(news.filter_map(|(place, new)| Some((place?, new))));
    }
    writes.sort_by_key(|(input, _)| *input);
    for (input, value) in writes {
        s.module.writes.push(Write::Input(input));
        s.module.graph.outputs.push(value);
    }
    s.module.graph.inputs = s.inputs.clone();
    let (mut units, mut kernels, mut strips) = (Vec::new(), Vec::new(), Vec::new());
    let constants = std::mem::take(&mut s.created).into_iter().map(|node| Placed {
        unit: Unit {
            kind: UnitKind::Create,
            members: vec![Member {
                node,
                space: Space::Elem,
                kept: false,
            }],
            outputs: vec![node.into()],
        },
        kernel: None,
        strips: f.strips(),
    });
    for p in constants.chain(placed) {
        units.push(p.unit);
        kernels.push(p.kernel);
        strips.push(p.strips);
    }
    let instance = Instance {
        inputs: inputs.iter().map(|m| m.dtype).collect(),
        kernels,
    };
    share_locations(&mut s.module.regions, &mut s.regions, &s.module.locations);
    let linked = Blob::linked(s.module, s.written, Schedule { units }, instance, s.regions);
    Ok(LinkedPath {
        blob: linked,
        locations: s.paths,
        strips: Strips::Each(strips, s.opaque),
        lengths,
    })
}

impl<'p> Splicer<'p> {
    fn input(&mut self, name: String, spec: Option<tensorplay_graph::TensorType>) {
        let id = self.module.graph.push(Node {
            kind: NodeKind::Input(self.inputs.len() as u32),
            name,
            location: 0,
            types: vec![spec.clone().unwrap_or_default()],
            interior: false,
        });
        self.inputs.push(id);
        self.module.specs.push(spec);
    }

    /// The tensors of an aggregate, under their paths.
    fn fields(&mut self, aggregate: &Aggregate, tree: &Tree) {
        fn walk(s: &mut Splicer<'_>, name: String, schema: &Schema, tree: &Tree) {
            match (schema, tree) {
                (_, Tree::Tensor(_)) => s.input(name, None),
                (Schema::Option(inner), Tree::Option(_, Some(tree))) => walk(s, name, inner, tree),
                (Schema::List(inner), Tree::List(_, items)) => {
                    for (i, tree) in items.iter().enumerate() {
                        walk(s, format!("{name}[{i}]"), inner, tree);
                    }
                }
                (Schema::Struct(fields), Tree::Struct(trees)) => {
                    for ((field, schema), tree) in fields.iter().zip(trees) {
                        walk(s, format!("{name}.{field}"), schema, tree);
                    }
                }
                _ => {}
            }
        }
        walk(self, aggregate.name.clone(), &aggregate.schema, tree);
    }

    /// The inputs that a path assigns; what an absent `Option` would hold is none.
    fn places(&self, f: &Frame<'_, '_>, write: &Write) -> Option<Vec<Option<u32>>> {
        match write {
            Write::Input(i) => match self.argument(f, *i as usize) {
                Some(v) => match self.module.graph.node(v.node).kind {
                    NodeKind::Input(k) => Some(vec![Some(k)]),
                    NodeKind::Call(..) => None,
                },
                None => Some(vec![None]),
            },
            Write::Elements(list, part) => {
                let Tree::List(_, items) = f.trees.get(list.root as usize)?.at(&list.steps)? else {
                    return None;
                };
                let place = |item: &Tree| match item.at(part) {
                    Some(Tree::Tensor(t)) => Some(*t),
                    _ => None,
                };
                Some(items.iter().map(place).collect())
            }
        }
    }

    /// Copies a path and its calls.
    fn path(&mut self, f: &Frame<'_, 'p>) -> Result<Spliced> {
        let graph = &f.blob.module.graph;
        let base = self.locations;
        let last = last_location(f.blob);
        self.locations += last + 1;
        self.paths.push((base, f.blob));
        // only graphs as they were written have places
        if !f.blob.module.locations.is_empty() {
            self.module.locations.resize(base as usize, Location::default());
            let from = &f.blob.module;
            let own = from.locations.iter().take(last as usize + 1);
            let moved: Vec<Location> = own.map(|l| l.clone().of(from, &self.module)).collect();
            self.module.locations.extend(moved);
        }
        self.written
            .nodes
            .extend(f.blob.written.nodes.iter().cloned().map(|mut n| {
                n.location += base;
                n
            }));
        let hosts = self.scalars(f);
        let first_region = self.regions.len();
        let known: Vec<Expr> = f.chosen.scalars.iter().map(|h| Expr::Literal(*h)).collect();
        for region in &f.blob.regions {
            let mut region = region.clone();
            close(&mut region, &known);
            if region.module.locations.is_empty() || region.module.locations == f.blob.module.locations {
                move_locations(&mut region, base);
            }
            // what types the nodes that have regions
            self.module.regions.push(region.module.clone());
            self.regions.push(region);
        }
        // the values that it begins with where it gives new ones
        let mut begun: BTreeMap<u32, Option<Value>> = BTreeMap::new();
        let mut map: Vec<Vec<Value>> = Vec::with_capacity(graph.nodes.len());
        let mut inside: BTreeMap<NodeId, Vec<Placed>> = BTreeMap::new();
        let mut lists: BTreeMap<Value, Vec<Value>> = BTreeMap::new();
        for (id, node) in graph.ids().zip(&graph.nodes) {
            let values = match &node.kind {
                NodeKind::Input(i) => match self.argument(f, *i as usize) {
                    // who gives a variable a new value begins with the last one
                    Some(v) if f.blob.module.updates.contains(i) => {
                        let new = self.updated(v);
                        begun.insert(*i, new);
                        vec![new.unwrap_or(v)]
                    }
                    Some(v) => vec![v],
                    None => self.neutral(f, id).into_iter().collect(),
                },
                NodeKind::Call(..) => {
                    let mut node = node.clone();
                    let mut to = |v: Value| {
                        let of = map.get(v.node.index()).and_then(|l| l.get(v.index as usize));
                        of.copied().unwrap_or(GONE)
                    };
                    for a in node.args_mut() {
                        substitute(a, &hosts, &lists, &mut to);
                        if *a == Arg::Value(GONE) {
                            *a = Arg::None;
                        }
                    }
                    if let Some(link) = node.link() {
                        let (outputs, placed) = self.link(f, id, &link)?;
                        inside.insert(id, placed);
                        let mut values = Vec::with_capacity(outputs.len());
                        for (index, output) in (0..).zip(outputs) {
                            values.push(output.values().last().copied().unwrap_or(GONE));
                            if let Output::List(list) = output {
                                lists.insert(Value { node: id, index }, list);
                            }
                        }
                        values
                    } else {
                        node.location += base;
                        node.map_regions(|r| first_region + r);
                        let n = node.types.len() as u32;
                        let new = self.module.graph.push(node);
                        (0..n).map(|index| Value { node: new, index }).collect()
                    }
                }
            };
            map.push(values);
        }
        let to = |v: Value| map[v.node.index()].get(v.index as usize).copied();
        let placed = self.units(f, &hosts, &to, inside)?;
        let mut outputs = Vec::with_capacity(graph.outputs.len());
        for v in &graph.outputs {
            outputs.push(match lists.get(v) {
                Some(list) => Output::List(list.clone()),
                None => match to(*v) {
                    Some(v) => Output::One(v),
                    // what an absent `Option` would hold, as it came
                    None if graph.node(v.node).op().is_none() => Output::One(GONE),
                    None => return Err(lost(f)),
                },
            });
        }
        let returned = f.blob.module.returned();
        for (&i, output) in f.blob.module.updates.iter().zip(&outputs[returned..]) {
            let input = self
                .argument(f, i as usize)
                .map(|v| &self.module.graph.node(v.node).kind);
            match (input, output) {
                (Some(NodeKind::Input(k)), Output::One(value)) => {
                    let (k, v) = (*k, self.inputs[*k as usize]);
                    if begun.get(&i) != Some(&self.updated(v.into())) {
                        let name = f.callable.name();
                        let message =
                            format!("`{name}` updates a variable, and so does a region that it calls");
                        return Err(Error::value("call", message).with_help("update it in regions alone"));
                    }
                    self.updates.retain(|(of, _)| *of != k);
                    self.updates.push((k, *value));
                }
                _ => {
                    let message = format!(
                        "`{}` updates a tensor that is computed, so its new value would be lost",
                        f.callable.name()
                    );
                    return Err(Error::value("call", message).with_help("pass a variable"));
                }
            }
        }
        outputs.drain(returned..returned + f.blob.module.updates.len());
        Ok((outputs, placed))
    }

    /// The new value that an input was given so far.
    fn updated(&self, input: Value) -> Option<Value> {
        let NodeKind::Input(k) = self.module.graph.node(input.node).kind else {
            return None;
        };
        let found = self.updates.iter().find(|(of, _)| *of == k);
        found.map(|(_, new)| *new)
    }

    /// The expression of each scalar of a path.
    fn scalars(&self, f: &Frame<'_, '_>) -> Vec<Expr> {
        let mut own = f.hosts.iter();
        let scalars = f.blob.module.scalars.iter().zip(&f.chosen.scalars);
        let of = |(s, value): (&ScalarInput, &Host)| match s.source {
            None => own
                .next()
                .map(|e| typed(e, s.ty))
                .unwrap_or(Expr::Literal(*value)),
            Some(_) => typed(&Expr::Literal(*value), s.ty),
        };
        scalars.map(of).collect()
    }

    /// What an input of a path is, if it is there.
    fn argument(&self, f: &Frame<'_, '_>, i: usize) -> Option<Value> {
        let module = &f.blob.module;
        let own = module.graph.inputs.len() - module.fields.len();
        match i.checked_sub(own) {
            None => f.tensors.get(i).copied().flatten(),
            Some(k) => {
                let path = &module.fields[k];
                match f.trees.get(path.root as usize)?.at(&path.steps)? {
                    Tree::Tensor(t) => self.inputs.get(*t as usize).map(|&id| id.into()),
                    _ => None,
                }
            }
        }
    }

    /// What stands for an absent bias or scale, whose operation was expanded as if it were there: x + -0 and x * 1 are x,
    /// bit for bit. Operations with a kernel of their own know that it is absent.
    fn neutral(&mut self, f: &Frame<'_, '_>, input: NodeId) -> Option<Value> {
        let graph = &f.blob.module.graph;
        let mut same = vec![Value::from(input)];
        let mut value = None;
        for (id, node) in graph.ids().zip(&graph.nodes) {
            let reads = node
                .args()
                .iter()
                .any(|a| matches!(a, Arg::Value(v) if same.contains(v)));
            match node.op() {
                Some(Op::Add) if reads => value = Some(-0.0),
                Some(Op::Mul) if reads => value = Some(1.0),
                Some(op) if reads && matches!(op.row().lowering, Lowering::Lane(LaneClass::Cast)) => {
                    same.push(id.into());
                }
                _ => {}
            }
        }
        let value = value?;
        // the narrowest float of the arguments does not widen what it meets
        let floats = f.chosen.dtypes.iter().flatten().copied().filter(|d| d.is_float());
        let dtype = floats.min_by_key(|d| d.size()).unwrap_or(DType::F32);
        let node = self.module.graph.push(Node {
            kind: NodeKind::Call(
                Op::Full,
                vec![Arg::List(Vec::new()), Arg::float(value), Arg::dtype(dtype)],
            ),
            name: String::new(),
            location: 0,
            types: vec![tensorplay_graph::TensorType::default()],
            interior: false,
        });
        self.created.push(node);
        Some(node.into())
    }

    /// A call, whose arguments are over the linked graph already.
    fn link(&mut self, f: &Frame<'_, 'p>, node: NodeId, link: &Link<'_>) -> Result<Spliced> {
        let tensor = |a: &Arg| match a {
            Arg::Value(v) => Some(*v),
            _ => None,
        };
        let number = |a: &Arg| match a {
            Arg::Host(e) => e.clone(),
            _ => Expr::Literal(Host::Bool(false)),
        };
        let tree = |a: &Arg| match a {
            Arg::Field(path) => f.trees.get(path.root as usize).and_then(|t| t.at(&path.steps)),
            _ => None,
        };
        let tensors: SmallVec<[Option<Value>; 6]> = link.tensors.iter().map(tensor).collect();
        let hosts: SmallVec<[Expr; 4]> = link.hosts.iter().map(number).collect();
        let trees: SmallVec<[&Tree; 2]> = link.aggregates.iter().filter_map(tree).collect();
        match (&link.callee, f.chosen.calls.get(&link.site)) {
            (
                Callee::Function(_),
                Some(Calls::Function {
                    callable,
                    chosen,
                    own: Some(results),
                    ..
                }),
            ) => self.apart(f, *callable, chosen, results, (&tensors, &trees)),
            (Callee::Function(_), Some(Calls::Function { callable, chosen, .. })) => {
                let consts = callable.declared().consts.iter().map(|c| Expr::Literal(*c));
                let blob = callable.paths().get(chosen.path).ok_or_else(|| lost(f))?;
                if !blob.module.writes.is_empty() {
                    let message = format!("`{}` assigns a `&mut` parameter", callable.name());
                    return Err(Error::value("call", message)
                        .with_help("return the new value, and assign it where the function is called"));
                }
                self.path(&Frame {
                    callable: *callable,
                    blob,
                    chosen,
                    tensors,
                    hosts: hosts.into_iter().chain(consts).collect(),
                    trees,
                })
            }
            (Callee::Body { regions, .. }, Some(Calls::Body(steps))) => {
                let list = |path: &FieldPath| f.trees.get(path.root as usize).and_then(|t| t.at(&path.steps));
                let elements: SmallVec<[&[Tree]; 2]> = link
                    .callee
                    .lists()
                    .filter_map(|path| match list(path) {
                        Some(Tree::List(_, items)) => Some(items.as_slice()),
                        _ => None,
                    })
                    .collect();
                let mut carry: Vec<Option<Value>> = link.carry.iter().map(tensor).collect();
                let added = f
                    .blob
                    .module
                    .graph
                    .node(node)
                    .types
                    .len()
                    .saturating_sub(carry.len());
                let (mut placed, mut added) = (Vec::new(), vec![Vec::new(); added]);
                for (i, chosen) in steps.iter().enumerate() {
                    let region = regions.get(chosen.path).and_then(|r| f.blob.regions.get(*r));
                    let element = elements.iter().filter_map(|l| l.get(i));
                    let (values, units) = self.path(&Frame {
                        callable: f.callable,
                        blob: region.ok_or_else(|| lost(f))?,
                        chosen,
                        tensors: carry.iter().chain(&tensors).copied().collect(),
                        hosts: std::iter::once(Expr::int(i as i64))
                            .chain(hosts.iter().cloned())
                            .collect(),
                        trees: element.chain(trees.iter().copied()).collect(),
                    })?;
                    let mut values = values.iter().flat_map(Output::values).copied();
                    carry = values.by_ref().take(carry.len()).map(Some).collect();
                    added.iter_mut().zip(values).for_each(|(list, v)| list.push(v));
                    placed.extend(units);
                }
                let carried = carry
                    .into_iter()
                    .map(|v| v.map(Output::One).ok_or_else(|| lost(f)));
                let lists = added.into_iter().map(|l| Ok(Output::List(l)));
                Ok((carried.chain(lists).collect::<Result<_>>()?, placed))
            }
            _ => Err(lost(f)),
        }
    }

    /// A call that runs on a backend of its own: one node here, and a graph for that backend.
    fn apart(
        &mut self,
        f: &Frame<'_, 'p>,
        callable: &'static dyn Callable,
        chosen: &Chosen,
        results: &[TensorType],
        (tensors, trees): (&[Option<Value>], &[&Tree]),
    ) -> Result<Spliced> {
        let blob = callable.paths().get(chosen.path).ok_or_else(|| lost(f))?;
        if blob.module.updates.len() + blob.module.writes.len() > 0 {
            let message = format!(
                "`{}` has a backend of its own and gives tensors new values",
                callable.name()
            );
            return Err(Error::value("call", message).with_help("return the new values"));
        }
        let mut inside = Splicer {
            module: GraphModule {
                name: blob.module.name.clone(),
                file: blob.module.file.clone(),
                symbols: blob.module.symbols.clone(),
                ..GraphModule::default()
            },
            ..Splicer::default()
        };
        // the tensors of the call by their numbers, for the fields; then those that are passed
        let mut outer: Vec<Value> = Vec::new();
        for &id in &self.inputs {
            inside.input(self.module.graph.node(id).name.clone(), None);
            outer.push(id.into());
        }
        let mut passed: SmallVec<[Option<Value>; 6]> = SmallVec::new();
        let names = blob
            .module
            .graph
            .inputs
            .iter()
            .map(|id| &blob.module.graph.node(*id).name);
        for (value, name) in tensors.iter().zip(names) {
            passed.push(value.map(|v| {
                inside.input(name.clone(), None);
                outer.push(v);
                inside.inputs[inside.inputs.len() - 1].into()
            }));
        }
        let (outputs, _) = inside.path(&Frame {
            callable,
            blob,
            chosen,
            tensors: passed,
            hosts: chosen.scalars.iter().map(|h| Expr::Literal(*h)).collect(),
            trees: trees.iter().copied().collect(),
        })?;
        if let Some(nested) = inside.opaque.first() {
            let message = format!(
                "`{}` has a backend of its own, and so has `{}` inside it",
                callable.name(),
                nested.callable.name()
            );
            return Err(Error::value("call", message).with_help("name a backend for one of them"));
        }
        share_locations(
            &mut inside.module.regions,
            &mut inside.regions,
            &inside.module.locations,
        );
        inside.module.graph.outputs = outputs.iter().flat_map(Output::values).copied().collect();
        inside.module.graph.inputs.clone_from(&inside.inputs);
        inside.module.drop_unused_regions();
        let kept = inside.module.drop_unread_inputs(0);
        let arguments = kept.iter().map(|&i| Arg::Value(outer[i as usize])).collect();
        let number = self.opaque.len() as i64;
        let (callee, site) = (Arg::int(number), Arg::int(number));
        let args = vec![
            callee,
            site,
            Arg::List(arguments),
            Arg::List(Vec::new()),
            Arg::List(Vec::new()),
        ];
        let node = self.module.graph.push(Node {
            kind: NodeKind::Call(Op::Invoke, args),
            name: String::new(),
            location: 0,
            types: results.to_vec(),
            interior: false,
        });
        self.module.callees.push(callable.name().into());
        self.opaque.push(Arc::new(Opaque {
            callable,
            graph: Arc::new(inside.module),
            results: results.to_vec(),
        }));
        let values = (0..results.len() as u32).map(|index| Value { node, index });
        let unit = Unit {
            kind: UnitKind::Link,
            members: vec![Member {
                node,
                space: Space::Elem,
                kept: false,
            }],
            outputs: values.clone().collect(),
        };
        let placed = Placed {
            unit,
            kernel: None,
            strips: &[],
        };
        Ok((values.map(Output::One).collect(), vec![placed]))
    }

    /// The units of a path, with those of its calls in their places.
    fn units(
        &self,
        f: &Frame<'_, 'p>,
        hosts: &[Expr],
        to: &dyn Fn(Value) -> Option<Value>,
        mut inside: BTreeMap<NodeId, Vec<Placed>>,
    ) -> Result<Vec<Placed>> {
        let fits = |i: &&Instance| {
            let dtypes = i.inputs.iter().zip(&f.chosen.dtypes);
            i.inputs.len() == f.chosen.dtypes.len()
                && dtypes.into_iter().all(|(a, b)| b.is_none_or(|b: DType| *a == b))
        };
        let instance = f.blob.instances.iter().find(fits);
        let mut placed = Vec::with_capacity(f.blob.schedule.units.len());
        let moved = |v: Value| to(v).ok_or_else(|| lost(f));
        for (u, unit) in f.blob.schedule.units.iter().enumerate() {
            if unit.kind == UnitKind::Link {
                placed.extend(
                    unit.members
                        .first()
                        .and_then(|m| inside.remove(&m.node))
                        .unwrap_or_default(),
                );
                continue;
            }
            let mut unit = unit.clone();
            for m in &mut unit.members {
                m.node = moved(m.node.into())?.node;
            }
            for v in &mut unit.outputs {
                *v = moved(*v)?;
            }
            let kernel = instance.and_then(|i| i.kernels[u].as_ref());
            let kernel = match kernel {
                Some((l, first)) => Some((Arc::new(renamed(l, hosts, &moved)?), *first)),
                None => None,
            };
            placed.push(Placed {
                unit,
                kernel,
                strips: f.callable.strips(),
            });
        }
        Ok(placed)
    }
}

fn lost(f: &Frame<'_, '_>) -> Error {
    Error::msg(format!(
        "`{}` could not be linked; this is a bug, please report it",
        f.callable.name()
    ))
}
