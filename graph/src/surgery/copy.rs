//! Copies of one graph inside another.
//!
//! What a graph refers to by number is numbered anew: scalars by name and type, callees by name, regions behind those
//! that there are, call sites behind those of the function. Named dims become the dims of the values that are given.

use super::{Edit, EditError};
use crate::op::row::ParamKind;
use crate::{Arg, Dim, Expr, GraphModule, Host, Node, NodeId, NodeKind, Op, TensorType, Value, contradict};
use std::collections::HashMap;

/// Where the values of a copied graph are.
#[derive(Clone, PartialEq, Debug)]
pub struct Copied {
    /// What stands for the outputs of the copied graph, new values of its parameters included.
    pub outputs: Vec<Value>,
    map: HashMap<Value, Value>,
}

impl Copied {
    /// What stands for a value of the copied graph.
    pub fn value(&self, v: Value) -> Option<Value> {
        self.map.get(&v).copied()
    }
}

/// How nodes of a source are written in the target.
struct Tables<'a> {
    scalars: &'a [Expr],
    symbols: Vec<Dim>,
    callees: Vec<i64>,
    regions: i64,
    sites: i64,
}

impl Edit<'_> {
    /// Copies a graph in front of a node: its inputs are the given values, its guards are added to those of this graph.
    ///
    /// ```
    /// use tensorplay_graph::{GraphModule, NodeId};
    /// let mut m: GraphModule = "graph f(x: f32[2]) { %1 = exp(%0) return %1 }".parse()?;
    /// let double: GraphModule = "graph d(x) { %1 = add(%0, %0) return %1 }".parse()?;
    /// let mut edit = m.edit()?;
    /// let copied = edit.copy_before(NodeId(1), &double, &[NodeId(0).into()])?;
    /// edit.replace_uses(NodeId(0).into(), copied.outputs[0], |u| u == tensorplay_graph::surgery::User::Node(NodeId(1)))?;
    /// edit.finish()?;
    /// assert_eq!(m.nodes()[2].to_string(), "exp(%1)");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A rule that breaks over the given values, a given value that is later in the graph or of which an input's spec
    /// does not hold, or a graph over structs that this one does not have.
    pub fn copy_before(
        &mut self,
        node: NodeId,
        source: &GraphModule,
        inputs: &[Value],
    ) -> Result<Copied, EditError> {
        self.check(node)?;
        self.copy(Some(node), source, inputs)
    }

    /// Copies a graph behind all nodes, like [`copy_before`](Edit::copy_before).
    ///
    /// # Errors
    /// The same.
    pub fn copy_at_end(&mut self, source: &GraphModule, inputs: &[Value]) -> Result<Copied, EditError> {
        self.copy(None, source, inputs)
    }

    fn copy(
        &mut self,
        before: Option<NodeId>,
        source: &GraphModule,
        inputs: &[Value],
    ) -> Result<Copied, EditError> {
        crate::verify(source).map_err(EditError::Invalid)?;
        let (scalars, callees) = (self.work.scalars.len(), self.work.callees.len());
        let params = self.import_scalars(source);
        let copied = self.copy_nodes(before, source, inputs, &params, &mut |_, _| {});
        match &copied {
            Ok(copied) => {
                for guard in &source.graph.guards {
                    let scalar = |i: u32| params.get(i as usize).cloned();
                    let guard = guard.substituted(&scalar, &mut |v| copied.map.get(&v).copied().unwrap_or(v));
                    let i = self.work.graph.guards.len() as u32;
                    guard.values(&mut |v| self.users.add(v, super::User::Guard(i)));
                    self.work.graph.guards.push(guard);
                }
                let (scalars, regions) = (self.work.scalars.clone(), &mut self.work.regions);
                regions.iter_mut().for_each(|r| share_scalars(r, &scalars));
            }
            Err(_) => {
                self.work.scalars.truncate(scalars);
                self.work.callees.truncate(callees);
            }
        }
        copied
    }

    /// The expressions that stand for the scalars of a source: those of the same name and type.
    fn import_scalars(&mut self, source: &GraphModule) -> Vec<Expr> {
        let mut params = Vec::new();
        for scalar in &source.scalars {
            let known = self.work.scalars.iter().position(|s| s == scalar);
            let at = known.unwrap_or_else(|| {
                self.work.scalars.push(scalar.clone());
                self.work.scalars.len() - 1
            });
            params.push(Expr::Param(at as u32, scalar.ty));
        }
        params
    }

    /// Copies the nodes of a verified source; `change` sees each before it is added. Nothing is added if one fails.
    pub(super) fn copy_nodes(
        &mut self,
        before: Option<NodeId>,
        source: &GraphModule,
        inputs: &[Value],
        scalars: &[Expr],
        change: &mut dyn FnMut(NodeId, &mut Node),
    ) -> Result<Copied, EditError> {
        if !source.aggregates.is_empty() && source.aggregates != self.work.aggregates {
            return Err(EditError::Aggregates);
        }
        if source.graph.inputs.len() != inputs.len() {
            let (expected, got) = (source.graph.inputs.len(), inputs.len());
            return Err(EditError::Inputs { expected, got });
        }
        for &v in inputs {
            self.check_order(v, before)?;
            if self.work.graph.is_list(v) {
                return Err(EditError::List(v));
            }
        }
        let tables = self.tables(source, inputs, scalars)?;
        let regions = self.work.regions.len();
        for region in &source.regions {
            let region = tables.region(region.clone());
            self.work.regions.push(region);
        }
        let mut map = HashMap::new();
        let mut added = Vec::new();
        for (id, node) in source.graph.ids().zip(source.nodes()) {
            let new = match &node.kind {
                NodeKind::Input(i) => {
                    map.insert(id.into(), inputs[*i as usize]);
                    continue;
                }
                NodeKind::Call(op, args) => {
                    let mut value = |v: Value| map.get(&v).copied().unwrap_or(v);
                    let args = tables.args(*op, args, &mut value);
                    let mut new = Node {
                        kind: NodeKind::Call(*op, args),
                        types: node.types.iter().map(|t| tables.ty(t)).collect(),
                        location: self.import_place(source, node.location),
                        ..node.clone()
                    };
                    change(id, &mut new);
                    self.insert(before, new)
                }
            };
            match new {
                Ok(new) => {
                    added.push(new);
                    let name = std::mem::take(&mut self.work.graph.nodes[new.index()].name);
                    self.rename(new, &name)?;
                    let results = self.work.graph.node(new).types.len() as u32;
                    map.extend((0..results).map(|index| {
                        let from = Value { node: id, index };
                        (from, Value { node: new, index })
                    }));
                }
                Err(e) => {
                    // the last ones first, so that nothing uses what goes
                    added.into_iter().rev().try_for_each(|n| self.erase(n))?;
                    self.work.regions.truncate(regions);
                    return Err(e);
                }
            }
        }
        let outputs = source.graph.outputs.iter();
        let outputs = outputs.map(|v| map.get(v).copied().unwrap_or(*v)).collect();
        Ok(Copied { outputs, map })
    }

    fn tables<'a>(
        &mut self,
        source: &GraphModule,
        inputs: &[Value],
        scalars: &'a [Expr],
    ) -> Result<Tables<'a>, EditError> {
        let mut symbols = vec![Dim::Unknown; source.symbols.len()];
        for (i, (spec, v)) in source.specs.iter().zip(inputs).enumerate() {
            let Some(TensorType { shape, dtype }) = spec else {
                continue;
            };
            let got = self.work.graph.ty(*v).clone();
            for (dim, given) in shape.iter().flatten().zip(got.shape.iter().flatten()) {
                if let Dim::Symbol(s) = dim {
                    symbols[*s as usize] = symbols[*s as usize].refine(*given);
                }
            }
            let shape = shape
                .as_ref()
                .map(|s| s.iter().map(|d| bound(&symbols, *d)).collect());
            let spec = TensorType { shape, dtype: *dtype };
            if contradict(&spec, &got, &self.work.symbols) {
                return Err(EditError::spec(("input", i), &spec, &got, &self.work.symbols));
            }
        }
        let mut callees = Vec::new();
        for callee in &source.callees {
            let known = self.work.callees.iter().position(|c| c == callee);
            callees.push(known.unwrap_or_else(|| {
                self.work.callees.push(callee.clone());
                self.work.callees.len() - 1
            }) as i64);
        }
        let linked = source.nodes().iter().any(|n| n.link().is_some()) || !source.regions.is_empty();
        Ok(Tables {
            scalars,
            symbols,
            callees,
            regions: self.work.regions.len() as i64,
            sites: if linked { next_site(&self.work) } else { 0 },
        })
    }

    fn import_place(&mut self, source: &GraphModule, location: u32) -> u32 {
        match source.locations.get(location as usize) {
            Some(place) if location > 0 => {
                let place = place.clone().of(source, &self.work);
                self.place(place)
            }
            _ => 0,
        }
    }
}

impl Tables<'_> {
    fn ty(&self, ty: &TensorType) -> TensorType {
        let shape = ty.shape.as_ref();
        TensorType {
            dtype: ty.dtype,
            shape: shape.map(|s| s.iter().map(|d| bound(&self.symbols, *d)).collect()),
        }
    }

    fn arg(&self, arg: &Arg, value: &mut dyn FnMut(Value) -> Value) -> Arg {
        match arg {
            Arg::Value(v) => Arg::Value(value(*v)),
            Arg::Host(e) => Arg::Host(e.substituted(&|i| self.scalars.get(i as usize).cloned(), value)),
            Arg::List(l) => Arg::List(l.iter().map(|a| self.arg(a, value)).collect()),
            Arg::Field(_) | Arg::None => arg.clone(),
        }
    }

    /// The arguments of a call of the graph itself.
    fn args(&self, op: Op, args: &[Arg], value: &mut dyn FnMut(Value) -> Value) -> Vec<Arg> {
        let callee = |n: i64| usize::try_from(n).ok().and_then(|n| self.callees.get(n).copied());
        let numbered = args
            .iter()
            .zip(op.row().params)
            .map(|(arg, p)| match (op, p.name) {
                _ if p.kind == ParamKind::Region => number(arg, &|n| n + self.regions),
                (Op::Invoke, "callee") => number(arg, &|n| callee(n).unwrap_or(n)),
                (Op::Invoke | Op::Each, "site") => number(arg, &|n| n + self.sites),
                (Op::Each, "body") => number(arg, &|n| n + self.regions),
                _ => self.arg(arg, value),
            });
        numbered.collect()
    }

    /// A region with the scalars, dims and call sites of the target.
    fn region(&self, mut region: GraphModule) -> GraphModule {
        for node in &mut region.graph.nodes {
            node.types = node.types.iter().map(|t| self.ty(t)).collect();
            if let NodeKind::Call(op, args) = &mut node.kind {
                let params = op.row().params;
                for (arg, p) in args.iter_mut().zip(params) {
                    *arg = match (*op, p.name) {
                        (Op::Invoke | Op::Each, "site") => number(arg, &|n| n + self.sites),
                        _ => self.arg(arg, &mut |v| v),
                    };
                }
            }
        }
        let scalar = |i: u32| self.scalars.get(i as usize).cloned();
        for guard in &mut region.graph.guards {
            *guard = guard.substituted(&scalar, &mut |v| v);
        }
        for spec in region.specs.iter_mut().chain(&mut region.output_specs).flatten() {
            *spec = self.ty(spec);
        }
        region.regions = region.regions.into_iter().map(|r| self.region(r)).collect();
        region
    }
}

fn bound(symbols: &[Dim], dim: Dim) -> Dim {
    match dim {
        Dim::Symbol(s) => symbols.get(s as usize).copied().unwrap_or(Dim::Unknown),
        d => d,
    }
}

/// The literal, or the literals of a list, changed.
fn number(arg: &Arg, f: &dyn Fn(i64) -> i64) -> Arg {
    match arg {
        Arg::Host(Expr::Literal(Host::Int(n))) => Arg::int(f(*n)),
        Arg::List(l) => Arg::List(l.iter().map(|a| number(a, f)).collect()),
        other => other.clone(),
    }
}

/// The first number behind those of the calls of a function.
fn next_site(module: &GraphModule) -> i64 {
    let own = module.nodes().iter().filter_map(Node::link);
    let own = own.map(|l| l.site as i64 + 1);
    own.chain(module.regions.iter().map(next_site)).max().unwrap_or(0)
}

fn share_scalars(region: &mut GraphModule, scalars: &[crate::ScalarInput]) {
    region.scalars = scalars.to_vec();
    region.regions.iter_mut().for_each(|r| share_scalars(r, scalars));
}
