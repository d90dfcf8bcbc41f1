//! `Demand`: evaluates only the nodes that a question needs.
//!
//! Problem: which path of a function a call takes depends on metadata of a few values; the nodes behind later guards
//! may break their rules where an earlier guard does not hold.
//!
//! Method: each value that is asked for is computed with what it depends on, in node order, once.

use super::{EvalArg, EvalError, Interpreter, Meta};
use crate::{Arg, DType, Env, Expr, Graph, Host, HostError, NodeId, NodeKind, Op, Value};

/// The values of a graph that were needed so far.
#[derive(Debug)]
pub struct Demand<'a, V> {
    graph: &'a Graph,
    inputs: Vec<V>,
    scalars: &'a [Host],
    values: Vec<Option<Vec<V>>>,
}

impl<'a, V: Meta> Demand<'a, V> {
    /// Nothing is computed yet. `scalars` may be shorter than the function's list, the rest is unknown.
    pub fn new(graph: &'a Graph, inputs: Vec<V>, scalars: &'a [Host]) -> Self {
        Demand {
            graph,
            inputs,
            scalars,
            values: vec![None; graph.nodes.len()],
        }
    }

    /// The value of a host expression, after the values that it reads.
    ///
    /// # Errors
    /// The first error of a hook; an expression that fails or that reads something unknown.
    pub fn host<I: Interpreter<V>>(
        &mut self,
        by: &mut I,
        e: &Expr,
    ) -> Result<Result<Host, HostError>, I::Error> {
        let mut wanted = Vec::new();
        e.values(&mut |v| wanted.push(v.node));
        self.compute(by, wanted)?;
        Ok(e.eval(self))
    }

    fn compute<I: Interpreter<V>>(&mut self, by: &mut I, mut wanted: Vec<NodeId>) -> Result<(), I::Error> {
        let mut needed = Vec::new();
        while let Some(id) = wanted.pop() {
            let Some(slot) = self.values.get_mut(id.index()).filter(|s| s.is_none()) else {
                continue;
            };
            // entered once: the results replace it below
            *slot = Some(Vec::new());
            needed.push(id);
            for a in self.graph.node(id).args() {
                a.values(&mut |v| wanted.push(v.node));
            }
        }
        needed.sort_unstable();
        for id in needed {
            let node = self.graph.node(id);
            let results = match &node.kind {
                NodeKind::Input(i) => self.inputs.get(*i as usize).cloned().into_iter().collect(),
                NodeKind::Call(op, args) => {
                    let mut evaluated = Vec::with_capacity(args.len());
                    for a in args {
                        evaluated.push(self.argument(by, (id, *op), a)?);
                    }
                    by.call(id, node, *op, evaluated)?
                }
            };
            self.values[id.index()] = Some(results);
        }
        Ok(())
    }

    fn argument<I: Interpreter<V>>(
        &self,
        by: &mut I,
        (node, op): (NodeId, Op),
        arg: &Arg,
    ) -> Result<EvalArg<V>, I::Error> {
        Ok(match arg {
            Arg::Value(v) => match self.value(*v) {
                Some(value) => EvalArg::Value(value.clone()),
                None => return Err(EvalError::Results { value: *v }.into()),
            },
            Arg::Field(_) | Arg::None => EvalArg::None,
            Arg::Host(e) => match e.eval(self) {
                Ok(h) => EvalArg::Host(h),
                Err(HostError::Unknown) => by.unknown(node, op, e)?,
                Err(error) => return Err(EvalError::Host { node, op, error }.into()),
            },
            Arg::List(l) => {
                let each = l.iter().map(|a| self.argument(by, (node, op), a));
                EvalArg::List(each.collect::<Result<_, _>>()?)
            }
        })
    }

    fn value(&self, v: Value) -> Option<&V> {
        self.values.get(v.node.index())?.as_ref()?.get(v.index as usize)
    }
}

impl<V: Meta> Env for Demand<'_, V> {
    fn param(&self, index: u32) -> Option<Host> {
        self.scalars.get(index as usize).copied()
    }
    fn rank(&self, v: Value) -> Option<usize> {
        self.value(v)?.rank()
    }
    fn dim(&self, v: Value, i: usize) -> Option<usize> {
        self.value(v)?.dim(i)
    }
    fn dtype(&self, v: Value) -> Option<DType> {
        self.value(v)?.dtype()
    }
}
