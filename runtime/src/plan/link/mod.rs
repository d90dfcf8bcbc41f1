//! Linking: calls and loops of a function are replaced by the graphs of their callees.
//!
//! Problem: how often a loop runs, which path a callee takes and which layers a model has depend on the call; but a plan
//! is to hold the whole function, with memory and layouts planned over all of it, and no kernel is built twice.
//!
//! Method: two walks. [`choose`](choose::Chooser) evaluates shapes over the graphs as written, from the function inwards:
//! each call finds its path by the guards, each loop its number of steps. [`splice`](splice::Splicer) then copies the
//! expanded graphs of the chosen paths into one, with the units of their schedules in order and the kernels that their
//! functions have in the binary.
//!
//! Invariants: a linked blob has no calls; its inputs are the tensors of the call as they were flattened; a unit keeps
//! its kernel, so nothing fuses across a call.

mod choose;
mod opaque;
mod splice;
mod substitute;

use super::bind::Meta;
use crate::example::ReuseHash;
use crate::kernels::strip::Strip;
use crate::{Error, Result, Tensor};
pub(crate) use choose::CalleeEntry;
use choose::{Chooser, Frame};
pub(crate) use opaque::Opaque;
use smallvec::SmallVec;
use std::sync::Arc;
pub(crate) use substitute::typed;
use tensorplay_graph::{GraphModule, Host, TensorType, Tree};
use tensorplay_stax::blob::Blob;

/// Stands for the backend of a caller that holds all of its callees, whatever backend they name.
pub(crate) const INLINE: &str = "";

/// A compiled function as linking sees it.
pub(crate) trait Callable: Sync + std::fmt::Debug {
    /// What it says of itself.
    fn declared(&self) -> &Declared;
    /// The name in messages.
    fn name(&self) -> &'static str {
        self.declared().name
    }
    /// The paths in source order.
    fn paths(&self) -> &[Blob];
    /// Its strips.
    fn strips(&self) -> &'static [Strip];
    /// The callee of that number.
    fn callee(&self, number: usize) -> Result<&'static dyn Callable>;
    /// Notes that a plan holds a path of it for arguments of that pattern.
    fn note_entry(&self, path: usize, pattern: &str);
    /// The same function as it was written.
    fn as_written(&self) -> Result<&'static dyn Callable>;
    /// Runs a graph of it on its own backend, which compiles it if it was not yet.
    fn run_on_own(&self, graph: &Arc<GraphModule>, inputs: &[Tensor]) -> Result<Vec<Tensor>>;
}

/// What a function says of itself, with kernels or as it was written.
#[derive(Clone, Debug)]
pub(crate) struct Declared {
    pub name: &'static str,
    /// The consts that follow its own numbers.
    pub consts: Vec<Host>,
    /// How many kinds of arguments one plan may hold it for.
    pub reuse_limit: Option<usize>,
    /// What tells these kinds apart; without it, the pattern.
    pub reuse_hash: Option<ReuseHash>,
    /// The backend that compiles it wherever it is called, if it names one.
    pub backend: Option<&'static str>,
}

/// Where the strips of a blob's kernels are.
#[derive(Clone, Debug)]
pub(crate) enum Strips {
    /// In one table.
    One(&'static [Strip]),
    /// In a table for each unit; and what runs on other backends, by the numbers of the calls.
    Each(Vec<&'static [Strip]>, Vec<Arc<Opaque>>),
}

impl Strips {
    pub(crate) fn of(&self, unit: u32) -> &'static [Strip] {
        match self {
            Strips::One(strips) => strips,
            Strips::Each(list, _) => list.get(unit as usize).copied().unwrap_or(&[]),
        }
    }

    /// The call of that number, which runs on another backend.
    pub(crate) fn opaque(&self, number: usize) -> Option<&Arc<Opaque>> {
        match self {
            Strips::One(_) => None,
            Strips::Each(_, calls) => calls.get(number),
        }
    }
}

/// The path of a function that a call takes, without calls.
#[derive(Debug)]
pub(crate) struct Linked<'a> {
    pub path: usize,
    pub blob: LinkedBlob<'a>,
    pub locations: Locations<'a>,
    pub strips: Strips,
    /// How many tensors each result of the path is, if some are lists.
    pub lengths: Vec<u32>,
    /// What each callee was linked for.
    pub entries: Vec<CalleeEntry>,
}

#[derive(Clone, Debug)]
pub(crate) enum LinkedBlob<'a> {
    /// The path as it is.
    Own(&'a Blob),
    /// A copy with the callees in it.
    Spliced(Arc<Blob>),
}

impl std::ops::Deref for LinkedBlob<'_> {
    type Target = Blob;
    fn deref(&self) -> &Blob {
        match self {
            LinkedBlob::Own(b) => b,
            LinkedBlob::Spliced(b) => b,
        }
    }
}

/// Which path each location of a linked graph is of.
#[derive(Clone, Debug)]
pub(crate) struct Locations<'a>(Arc<[(u32, &'a Blob)]>);

impl<'a> Locations<'a> {
    /// Those of a path from a number on, in order.
    fn of(paths: &[(u32, &'a Blob)]) -> Self {
        Locations(paths.into())
    }

    /// A location in words. The text is read from the graph as it was written.
    pub(crate) fn place(&self, location: u32) -> Option<String> {
        let path = self.0.partition_point(|(first, _)| *first <= location);
        let (first, blob) = self.0.get(path.checked_sub(1)?)?;
        place(blob, location - first)
    }
}

/// A location of a path in words.
fn place(blob: &Blob, location: u32) -> Option<String> {
    blob.module
        .place(location)
        .or_else(|| blob.source().ok()?.place(location))
}

/// Chooses the path for a call with these flattened arguments, and links it for a backend.
///
/// # Errors
/// A broken spec or rule, before any kernel runs.
pub(crate) fn link<'a>(
    f: &'a dyn Callable,
    inputs: &[Meta],
    hosts: &[Host],
    backend: &str,
) -> Result<Linked<'a>> {
    let paths = f.paths();
    let Some(first) = paths.first() else {
        return Err(Error::msg(format!("`{}` has no paths", f.name())));
    };
    let plain = |b: &Blob| b.module.aggregates.is_empty() && !has_links(b);
    let module = &first.module;
    let own_tensors = module.graph.inputs.len() - module.fields.len();
    let own_hosts = module.scalars.iter().filter(|s| s.source.is_none()).count();
    let (mut tensors, mut numbers) = (own_tensors as u32, own_hosts as u32);
    let mut trees = Vec::with_capacity(module.aggregates.len());
    for a in &module.aggregates {
        let tree = Tree::build(&a.schema, &mut tensors, &mut numbers, hosts);
        trees.push(
            tree.ok_or_else(|| Error::msg(format!("`{}`: `{}` has another structure", f.name(), a.name)))?,
        );
    }
    if tensors as usize != inputs.len() || numbers as usize != hosts.len() {
        let message = format!("`{}` was called with another number of arguments", f.name());
        return Err(Error::msg(message));
    }
    let chooser = Chooser {
        inputs,
        hosts,
        backend,
    };
    let frame = Frame {
        callable: f,
        paths: paths.iter().collect(),
        tensors: inputs[..own_tensors]
            .iter()
            .map(|m| Some(TensorType::known(m.dtype, &m.shape)))
            .collect(),
        hosts: hosts[..own_hosts]
            .iter()
            .copied()
            .collect::<SmallVec<[Host; 4]>>(),
        trees: trees.iter().collect(),
    };
    let (chosen, _) = chooser.choose(&frame)?;
    let blob = &paths[chosen.path];
    if plain(blob) {
        return Ok(Linked {
            path: chosen.path,
            blob: LinkedBlob::Own(blob),
            locations: Locations::of(&[(0, blob)]),
            strips: Strips::One(f.strips()),
            lengths: Vec::new(),
            entries: Vec::new(),
        });
    }
    let mut entries = Vec::new();
    chosen.entries(&mut entries);
    choose::check_reuse(&entries)?;
    let path = chosen.path;
    let spliced = splice::splice(f, &chosen, inputs, &trees)?;
    Ok(Linked {
        path,
        blob: LinkedBlob::Spliced(Arc::new(spliced.blob)),
        locations: Locations::of(&spliced.locations),
        strips: spliced.strips,
        lengths: spliced.lengths,
        entries,
    })
}

fn has_links(b: &Blob) -> bool {
    b.module.graph.nodes.iter().any(|n| n.link().is_some())
}
