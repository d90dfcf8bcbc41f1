//! Calls on a backend other than the built-in compiler.
//!
//! Problem: a backend compiles graphs, but the graph of a function calls other functions, loops over fields whose number
//! the call tells, and has one path of several. Method: the graphs as they were written are linked as those of the
//! built-in compiler are, with composites whole; what the key fixes becomes literal, what nothing reads is dropped. The
//! result is given to the backend once for an entry, or for a layout where sizes are numbers.
//! Invariants: an executable is run with tensors of the metadata that it was compiled for (but for symbolic sizes), and
//! what it gives is checked against the shape rules before the caller sees it.

use super::bound::{Exec, publish, updated};
use super::entries::EntryKey;
use super::function::Function;
use super::key::Key;
use super::limits::check_limits;
use super::native::{Made, linked};
use super::pattern::{dim, pattern};
use super::source::Compiled;
use super::state::State;
use crate::backend::registry::Slot;
use crate::backend::{Codegen, failed};
use crate::config::Config;
use crate::device::same_device;
use crate::example::Example;
use crate::plan::bind::{Meta, PathTypes};
use crate::plan::link::{INLINE, Strips, link, typed};
use crate::plan::{Results, StepCounts};
use crate::sync::lock;
use crate::{DType, Error, Result, Tensor};
use smallvec::SmallVec;
use std::sync::Arc;
use tensorplay_graph::passes::shape_prop;
use tensorplay_graph::{Arg, Expr, GraphModule, Host, HostType, Interpreter, TensorType};
use tensorplay_stax::blob::Blob;

/// What a call on a backend runs.
#[derive(Debug)]
pub(super) struct Foreign {
    function: &'static Function,
    compiled: Arc<Compiled>,
    inputs: Inputs,
    /// What it gives, as far as the shape rules tell.
    outputs: Vec<TensorType>,
}

/// Which tensors and numbers of a call a graph takes.
#[derive(Debug)]
struct Inputs {
    tensors: Vec<u32>,
    /// The first numbers, with their types.
    scalars: Vec<HostType>,
}

impl Inputs {
    fn of(&self, tensors: &[&Tensor], scalars: &[Host]) -> Vec<Tensor> {
        let tensors = self.tensors.iter().map(|&i| tensors[i as usize].snapshot());
        let numbers = self.scalars.iter().zip(scalars);
        tensors.chain(numbers.map(|(ty, h)| as_tensor(*ty, *h))).collect()
    }
}

/// A number as a tensor of one element.
pub(super) fn as_tensor(ty: HostType, value: Host) -> Tensor {
    let dtype = match (ty, value) {
        (HostType::F32, _) => DType::F32,
        (HostType::F64 | HostType::FloatLiteral, _) => DType::F64,
        (HostType::Bool, _) => DType::Bool,
        (HostType::I32, _) => DType::I32,
        (HostType::Number, Host::Float(_)) => DType::F64,
        (HostType::Number, Host::Bool(_)) => DType::Bool,
        _ => DType::I64,
    };
    match (dtype, value) {
        (DType::F32, v) => Tensor::from_slice(&[v.as_float().unwrap_or(0.0) as f32], ()),
        (DType::F64, v) => Tensor::from_slice(&[v.as_float().unwrap_or(0.0)], ()),
        (DType::Bool, v) => Tensor::from_slice(&[matches!(v, Host::Bool(true))], ()),
        (DType::I32, v) => Tensor::from_slice(&[v.as_int().unwrap_or(0) as i32], ()),
        (_, Host::DType(d)) => Tensor::from_slice(&[d as i64], ()),
        (_, v) => Tensor::from_slice(&[v.as_int().unwrap_or(0)], ()),
    }
}

impl Foreign {
    pub(super) fn module(&self) -> &GraphModule {
        &self.compiled.module
    }

    pub(super) fn codegen(&self) -> Codegen {
        self.compiled.codegen()
    }

    pub(super) fn run(&self, tensors: &[&Tensor], scalars: &[Host]) -> Result<Results> {
        let module = self.module();
        let updated = updated(module, |i| tensors[self.inputs.tensors[i] as usize])?;
        let inputs = self.inputs.of(tensors, scalars);
        let results = self.compiled.run(self.function, &inputs)?;
        self.check(&results)?;
        publish(module, &updated, Results::from_vec(results))
    }

    fn check(&self, results: &[Tensor]) -> Result<()> {
        let wrong = |message: String| {
            Err(failed(
                self.compiled.name,
                self.function.path(),
                Error::msg(message),
            ))
        };
        if results.len() != self.module().graph.outputs.len() {
            return wrong(format!(
                "it gave {} tensors, the graph has {} outputs",
                results.len(),
                self.module().graph.outputs.len()
            ));
        }
        for (i, (t, ty)) in results.iter().zip(&self.outputs).enumerate() {
            let fits = ty.dtype.is_none_or(|d| d == t.dtype()) && ty.sizes().is_none_or(|s| s == t.shape());
            if !fits {
                let got = TensorType::known(t.dtype(), t.shape());
                return wrong(format!(
                    "output {i} is {}, the graph gives {}",
                    got.display(&[]),
                    ty.display(&[])
                ));
            }
        }
        Ok(())
    }
}

/// The graph of a call as it was written, for its own sizes, and its inputs.
pub(super) fn written(
    state: &'static State,
    tensors: &[&Tensor],
    scalars: &[Host],
) -> Result<(GraphModule, Vec<Tensor>)> {
    let metas: SmallVec<[Meta; 6]> = tensors.iter().map(|t| Meta::of(t)).collect();
    let linked = link(state.source()?, &metas, scalars, INLINE)?;
    let key = Key::of(tensors, scalars, &state.key_params, (0, 0));
    let (graph, inputs) = graph(state, linked.path, &linked.blob, &key, false);
    let inputs = inputs.of(tensors, scalars);
    Ok((graph, inputs))
}

/// Links a call, and has it compiled unless that was done for its entry.
pub(super) fn prepare(
    state: &'static State,
    slot: &'static Slot,
    tensors: &[&Tensor],
    scalars: &[Host],
    of: (u64, u64),
    config: &Config,
) -> Result<Made> {
    same_device("call", tensors)?;
    let settings = &state.function.settings;
    let dynamic = settings.is_dynamic(config);
    let source = state.source()?;
    let metas: SmallVec<[Meta; 6]> = tensors.iter().map(|t| Meta::of(t)).collect();
    let linked = linked(state, source, &metas, scalars, slot.name())?;
    let key = Key::of(tensors, scalars, &state.key_params, of);
    let (module, inputs) = graph(state, linked.path, &linked.blob, &key, dynamic);
    let types = metas.iter().map(|m| TensorType::known(m.dtype, &m.shape));
    let outputs = PathTypes::new(&linked.blob, scalars)
        .run(&linked.blob.module.graph, types.collect(), scalars)
        .map_err(|e| {
            let e = PathTypes::error(e, &linked.blob.module.graph);
            e.located(|at| linked.locations.place(at))
        })?;
    let pattern = pattern(&linked.blob.module, &key, dynamic);
    // a backend is not asked for what would be refused
    let entry = EntryKey {
        path: linked.path,
        pattern: &pattern,
        backend: (slot.id, slot.name()),
        instance: of.1,
    };
    check_limits(state, &lock(&state.entries), &entry, config)?;
    let symbolic = |m: &GraphModule| {
        let types = m
            .graph
            .inputs
            .iter()
            .filter_map(|id| m.graph.node(*id).types.first());
        types.into_iter().any(|t| t.sizes().is_none())
    };
    let options = settings.options(dynamic || symbolic(&module));
    let examples = inputs.of(tensors, scalars);
    let examples: Vec<Example> = examples.iter().map(Example::of).collect();
    let calls = match &linked.strips {
        Strips::Each(_, calls) => calls.as_slice(),
        Strips::One(_) => &[],
    };
    // where sizes are numbers, a backend may rely on the strides that it was shown
    let made_for = match options.dynamic {
        true => pattern.clone(),
        false => {
            let strides: Vec<&[usize]> = examples.iter().map(Example::strides).collect();
            format!("{pattern}, strides {strides:?}")
        }
    };
    let compiled = source.compiled(
        state,
        slot,
        made_for,
        &Arc::new(module),
        (&examples, calls),
        &options,
    )?;
    Ok(Made {
        key,
        pattern,
        path: linked.path,
        linked: linked.blob,
        locations: linked.locations,
        lengths: linked.lengths,
        counts: StepCounts::default(),
        fresh: None,
        codegen: compiled.codegen(),
        exec: Exec::Foreign(Foreign {
            function: state.function,
            compiled,
            inputs,
            outputs,
        }),
    })
}

/// The graph that a backend is given: what the key fixes is literal, and inputs that nothing reads are gone.
fn graph(state: &State, path: usize, blob: &Blob, key: &Key, dynamic: bool) -> (GraphModule, Inputs) {
    let mut module = blob.module.clone();
    let consts = state.declared.consts.len();
    let given = module.scalars.len().saturating_sub(consts);
    let hosts: Vec<Expr> = module
        .scalars
        .iter()
        .enumerate()
        .map(|(i, s)| match key.scalars.get(i).copied().flatten() {
            Some(value) => typed(&Expr::Literal(value), s.ty),
            None => state
                .declared
                .consts
                .get(i.wrapping_sub(given))
                .map_or(Expr::Param(i as u32, s.ty), |c| typed(&Expr::Literal(*c), s.ty)),
        })
        .collect();
    module.drop_unused_regions();
    close(&mut module, &hosts);
    module.scalars.truncate(given);
    module.graph.guards.clear();
    module.aggregates.clear();
    module.fields.clear();
    if let Some(name) = state.function.settings.name {
        module.name = name.into();
    }
    for (i, k) in key.tensors.iter().enumerate() {
        let rank = k.shape.len();
        let dims = k.shape.iter().enumerate();
        let shape = dims
            .map(|(d, &n)| dim(&blob.module, i, (d, rank), n, dynamic))
            .collect();
        let id = module.graph.inputs[i];
        module.graph.nodes[id.index()].types = vec![TensorType {
            dtype: Some(k.dtype),
            shape: Some(shape),
        }];
    }
    shape_prop::run(&mut module);
    let source = &state.paths[path].module;
    let own = source.graph.inputs.len() - source.fields.len();
    let tensors = module.drop_unread_inputs(own);
    let scalars = module.scalars.iter().map(|s| s.ty).collect();
    (module, Inputs { tensors, scalars })
}

/// Puts expressions in the places of the numbers.
fn close(module: &mut GraphModule, hosts: &[Expr]) {
    fn arg(a: &mut Arg, hosts: &[Expr]) {
        match a {
            Arg::Host(e) => *e = e.substituted(&|i| hosts.get(i as usize).cloned(), &mut |v| v),
            Arg::List(l) => l.iter_mut().for_each(|a| arg(a, hosts)),
            Arg::Value(_) | Arg::Field(_) | Arg::None => {}
        }
    }
    for node in &mut module.graph.nodes {
        node.args_mut().iter_mut().for_each(|a| arg(a, hosts));
    }
    module.regions.iter_mut().for_each(|r| close(r, hosts));
}
