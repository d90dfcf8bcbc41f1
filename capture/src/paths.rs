//! Paths: a body is walked once for every way through it.
//!
//! Problem: `if x.dim(0) > 2` reads metadata that only a call knows, and what follows depends on it.
//!
//! Method: a path is a straight line. A walk takes each branch that the build cannot decide as a script says, the
//! first way where the script ends, and records the condition as a guard. The next script is the decisions of this
//! walk with the last first way turned, so that paths come in source order, `then` before `else`.
//!
//! Invariants: a call takes the first path that fits, and one does; without special sizes no other would; all paths of a function have the same inputs and scalars, used or not;
//! the number of paths is bounded, and more are an error.

use crate::diagnostic::{Diagnostic, Diagnostics, code};
use crate::loops;
use crate::reads::Reads;
use crate::walk::Walked;
use proc_macro2::TokenStream;
use quote::ToTokens;
use tensorplay_graph::passes::decompose;
use tensorplay_graph::{GraphModule, Node, NodeId, NodeKind, Value};

/// A function has no more paths.
pub(crate) const MOST: usize = 64;

/// What all walks of a function yield.
pub(crate) struct Traced {
    pub modules: Vec<GraphModule>,
    /// The tokens behind each module's locations.
    pub spans: Vec<Vec<TokenStream>>,
    pub reads: Reads,
    /// How many results each path has where the return type does not say.
    pub codes: Vec<Vec<u32>>,
}

/// Walks every path of a function, under each of its special sizes and then under all; `None` if something was reported.
pub(crate) fn trace(
    at: impl ToTokens,
    errors: &Diagnostics,
    specials: usize,
    walk: impl Fn(Option<usize>, Vec<bool>, Reads) -> Walked,
) -> Option<Traced> {
    let mut script = Some(Vec::new());
    let mut special = (specials > 0).then_some(0);
    let mut traced = Traced {
        modules: Vec::new(),
        spans: Vec::new(),
        reads: Reads::default(),
        codes: Vec::new(),
    };
    let (mut walks, mut complete) = (0, Vec::new());
    while let Some(decisions) = script {
        // where something is wrong anyway, that is what to mend first
        if walks == MOST && !errors.is_empty() {
            break;
        }
        if walks == MOST {
            let message = format!("the branches on metadata give this function more than {MOST} paths");
            errors.push(
                Diagnostic::new(code::PATHS, &at, message)
                    .help("choose values with `where_cond(..)`, or split the function"),
            );
            break;
        }
        walks += 1;
        let walked = walk(special, decisions, std::mem::take(&mut traced.reads));
        traced.reads = walked.reads;
        script = next(walked.decisions);
        if let (Some(k), true) = (special, script.is_none()) {
            special = Some(k + 1).filter(|k| *k < specials);
            script = Some(Vec::new());
        }
        if let Some(module) = walked.module {
            complete.push((walked.parameters, walked.looped));
            traced.modules.push(module);
            traced.spans.push(walked.spans);
            traced.codes.push(walked.codes);
        }
    }
    if !errors.is_empty() || traced.modules.is_empty() {
        return None;
    }
    let paths = traced.modules.iter_mut().zip(&mut traced.spans);
    for ((module, spans), ((tensors, scalars), looped)) in paths.zip(complete) {
        traced.reads.complete(module, tensors, scalars);
        spans.resize(module.locations.len(), TokenStream::new());
        inputs_first(module);
        loops::close(module, &looped);
        expands(module, spans, errors);
    }
    errors.is_empty().then_some(traced)
}

/// The decisions of the path after the one that took these.
pub(crate) fn next(mut decisions: Vec<bool>) -> Option<Vec<bool>> {
    while decisions.pop_if(|taken| !*taken).is_some() {}
    *decisions.last_mut()? = false;
    Some(decisions)
}

/// Reports composite operations that cannot be expanded: some need a value at build time.
fn expands(module: &GraphModule, spans: &[TokenStream], errors: &Diagnostics) {
    let mut trial = module.clone();
    let Err(e) = decompose::try_run(&mut trial) else {
        module.regions.iter().for_each(|r| expands(r, spans, errors));
        return;
    };
    let node = module.graph.nodes.get(e.node.index());
    let at = node.and_then(|n| spans.get(n.location as usize)).cloned();
    let mut d = Diagnostic::from_op(&e.error, at.unwrap_or_default());
    if let Some(help) = &e.error.help {
        d = d.help(help);
    }
    errors.push(d);
}

/// Moves inputs that were met in the body before all other nodes.
fn inputs_first(module: &mut GraphModule) {
    let graph = &mut module.graph;
    let is_input = |n: &Node| matches!(n.kind, NodeKind::Input(_));
    let mut order: Vec<usize> = (0..graph.nodes.len()).collect();
    order.sort_by_key(|&i| !is_input(&graph.nodes[i]));
    if order.is_sorted() {
        return;
    }
    let mut place = vec![NodeId(0); order.len()];
    for (new, &old) in order.iter().enumerate() {
        place[old] = NodeId(new as u32);
    }
    let mut moved = |v: Value| Value {
        node: place[v.node.index()],
        index: v.index,
    };
    for node in &mut graph.nodes {
        for a in node.args_mut() {
            a.map_values(&mut moved);
        }
    }
    for v in &mut graph.outputs {
        *v = moved(*v);
    }
    for id in &mut graph.inputs {
        *id = place[id.index()];
    }
    let old = std::mem::take(&mut graph.nodes);
    let mut old: Vec<Option<Node>> = old.into_iter().map(Some).collect();
    graph.nodes = order.into_iter().filter_map(|i| old[i].take()).collect();
}
