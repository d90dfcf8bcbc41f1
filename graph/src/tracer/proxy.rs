//! `Trace` and `Proxy`: a graph that grows, and a tensor of it.

use super::{TraceArg, TraceFault, TraceFaultKind};
use crate::error::{Code, OpErrorKind};
use crate::op::row::{ParamKind, Results};
use crate::{
    Arg, Builder, Expr, GraphModule, Host, Location as Place, Node, NodeId, NodeKind, Op, OpError,
    TensorType, Value,
};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::panic::Location;
use std::rc::Rc;

#[derive(Debug, Default)]
struct State {
    builder: Builder,
    faults: Vec<TraceFault>,
    places: HashMap<(&'static str, u32, u32), u32>,
    /// New values of inputs.
    updates: Vec<(NodeId, Value)>,
}

/// A graph that grows while a function runs. Cheap to clone.
#[derive(Clone)]
pub struct Trace(Rc<RefCell<State>>);

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trace")
    }
}

/// A tensor of a trace: a value that a call will have. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Proxy {
    trace: Trace,
    value: Value,
}

impl Proxy {
    /// The trace that the tensor is of.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The value in the graph.
    pub fn value(&self) -> Value {
        self.value
    }

    /// The type, as far as known.
    pub fn ty(&self) -> TensorType {
        self.trace.ty(self.value)
    }

    /// A size, as a host expression; a negative index counts from the end.
    pub fn dim(&self, index: impl Into<Expr>) -> Expr {
        Expr::Dim(self.value, Box::new(index.into()))
    }

    /// The number of axes, as a host expression.
    pub fn rank(&self) -> Expr {
        Expr::Rank(self.value)
    }

    /// The number of elements, as a host expression.
    pub fn elem_count(&self) -> Expr {
        Expr::ElemCount(self.value)
    }

    /// The dtype, as a host expression.
    pub fn dtype(&self) -> Expr {
        Expr::DTypeOf(self.value)
    }

    /// The sizes, as host expressions; `None` if the rank is not known.
    pub fn shape(&self) -> Option<Vec<Expr>> {
        let rank = self.ty().shape?.len() as i64;
        Some((0..rank).map(|i| self.dim(i)).collect())
    }

    /// Joins tensors along an existing axis.
    #[track_caller]
    pub fn cat(tensors: &[Proxy], dim: impl Into<Expr>) -> Proxy {
        Trace::of(tensors).cat(tensors, dim)
    }

    /// Joins tensors along a new axis.
    #[track_caller]
    pub fn stack(tensors: &[Proxy], dim: impl Into<Expr>) -> Proxy {
        Trace::of(tensors).stack(tensors, dim)
    }

    /// Any operation with this tensor as its first argument; the others follow.
    #[track_caller]
    pub fn call(&self, op: Op, args: impl IntoIterator<Item = TraceArg>) -> Vec<Proxy> {
        let args = std::iter::once(self.into()).chain(args).collect();
        self.trace.call(op, args)
    }
}

impl Trace {
    pub(super) fn new(builder: Builder) -> Trace {
        Trace(Rc::new(RefCell::new(State {
            builder,
            ..State::default()
        })))
    }

    /// The trace of some tensors; of none, one that leads nowhere.
    fn of(tensors: &[Proxy]) -> Trace {
        match tensors.first() {
            Some(p) => p.trace.clone(),
            None => Trace::new(Builder::new("")),
        }
    }

    pub(super) fn proxy(&self, value: Value) -> Proxy {
        let trace = self.clone();
        Proxy { trace, value }
    }

    /// The scalar parameter of that number, as a host expression.
    pub fn scalar(&self, index: u32) -> Expr {
        let scalars = &self.0.borrow().builder.module.scalars;
        let ty = scalars.get(index as usize).map(|s| s.ty);
        Expr::Param(index, ty.unwrap_or(crate::HostType::Number))
    }

    fn ty(&self, v: Value) -> TensorType {
        let graph = &self.0.borrow().builder.module.graph;
        let node = graph.nodes.get(v.node.index());
        let ty = node.and_then(|n| n.types.get(v.index as usize));
        ty.cloned().unwrap_or_default()
    }

    /// Any operation; all its results.
    #[track_caller]
    pub fn call(&self, op: Op, args: Vec<TraceArg>) -> Vec<Proxy> {
        let here = Location::caller();
        let pieces = match args.get(1) {
            Some(TraceArg::Host(e)) => e.literal().and_then(Host::as_int),
            _ => None,
        };
        let values = self.record(op, args, here).unwrap_or_else(|kind| {
            let state = &mut *self.0.borrow_mut();
            state.faults.push(TraceFault::new(here, kind));
            state.unknown(op, pieces)
        });
        values.into_iter().map(|v| self.proxy(v)).collect()
    }

    #[track_caller]
    pub(super) fn one(&self, op: Op, args: Vec<TraceArg>) -> Proxy {
        let results = self.call(op, args);
        let unknown = || self.proxy(NodeId(u32::MAX).into());
        results.into_iter().next().unwrap_or_else(unknown)
    }

    #[track_caller]
    pub(super) fn two(&self, op: Op, args: Vec<TraceArg>) -> (Proxy, Proxy) {
        let mut results = self.call(op, args).into_iter();
        let mut next = || {
            results
                .next()
                .unwrap_or_else(|| self.proxy(NodeId(u32::MAX).into()))
        };
        (next(), next())
    }

    fn record(
        &self,
        op: Op,
        args: Vec<TraceArg>,
        here: &'static Location<'static>,
    ) -> Result<Vec<Value>, TraceFaultKind> {
        let params = op.row().params;
        let args = args.into_iter().enumerate().map(|(i, arg)| {
            let kind = params.get(i).map(|p| p.kind);
            self.lower(op, kind, arg)
        });
        let args: Vec<Arg> = args.collect::<Result<_, _>>()?;
        let state = &mut *self.0.borrow_mut();
        state.check(op, &args)?;
        state.builder.location = state.place(here);
        state.add(op, args).map_err(TraceFaultKind::Rule)
    }

    fn lower(&self, op: Op, kind: Option<ParamKind>, arg: TraceArg) -> Result<Arg, TraceFaultKind> {
        Ok(match arg {
            TraceArg::Tensor(p) if Rc::ptr_eq(&p.trace.0, &self.0) => Arg::Value(p.value),
            TraceArg::Tensor(_) => return Err(TraceFaultKind::Foreign { op: op.name() }),
            TraceArg::Host(e) => Arg::Host(e),
            TraceArg::None => Arg::None,
            TraceArg::List(l) => {
                let items = l.into_iter().map(|a| self.lower(op, None, a));
                Arg::List(items.collect::<Result<_, _>>()?)
            }
            TraceArg::Options(o) => match kind {
                Some(ParamKind::Options(row)) => o.arguments(op, row).map_err(TraceFaultKind::Rule)?,
                _ => {
                    let message = "settings are given to a parameter that takes none";
                    let e = OpError::new(Code::ARGUMENTS, OpErrorKind::Value, op.name(), message);
                    return Err(TraceFaultKind::Rule(e.help("give the value itself")));
                }
            },
        })
    }

    /// Takes the graph out, with these results. Proxies that are left lead nowhere from here on.
    pub(super) fn finish(&self, results: &[Proxy], here: &Location<'_>) -> (GraphModule, Vec<TraceFault>) {
        let mut state = std::mem::take(&mut *self.0.borrow_mut());
        for p in results {
            if Rc::ptr_eq(&p.trace.0, &self.0) {
                state.builder.module.graph.outputs.push(p.value);
            } else {
                let kind = TraceFaultKind::Foreign { op: "return" };
                state.faults.push(TraceFault::new(here, kind));
            }
        }
        let mut module = state.builder.module;
        for (input, value) in state.updates {
            if let NodeKind::Input(i) = module.graph.node(input).kind {
                module.updates.push(i);
                module.graph.outputs.push(value);
            }
        }
        (module, state.faults)
    }
}

impl State {
    /// Whether every value that the arguments name is there: a size may be of another trace's tensor.
    fn check(&self, op: Op, args: &[Arg]) -> Result<(), TraceFaultKind> {
        let graph = &self.builder.module.graph;
        let mut there = true;
        for arg in args {
            arg.values(&mut |v| {
                let node = graph.nodes.get(v.node.index());
                there &= node.is_some_and(|n| (v.index as usize) < n.types.len());
            });
        }
        match there {
            true => Ok(()),
            false => Err(TraceFaultKind::Foreign { op: op.name() }),
        }
    }

    /// The number of a place in the source.
    fn place(&mut self, here: &'static Location<'static>) -> u32 {
        let module = &mut self.builder.module;
        let key = (here.file(), here.line(), here.column());
        *self.places.entry(key).or_insert_with(|| {
            let file = match here.file() == module.file {
                true => String::new(),
                false => here.file().into(),
            };
            module.locations.push(Place {
                file,
                line: here.line(),
                column: here.column(),
                text: String::new(),
            });
            module.locations.len() as u32 - 1
        })
    }

    fn add(&mut self, op: Op, args: Vec<Arg>) -> Result<Vec<Value>, OpError> {
        let error = |message: String, help: &str| {
            OpError::new(Code::ARGUMENTS, OpErrorKind::Value, op.name(), message).help(help)
        };
        let b = &mut self.builder;
        let mut updates = Vec::new();
        for &(i, new) in op.updates() {
            let input = match args.get(i) {
                Some(Arg::Value(v)) if b.module.graph.inputs.contains(&v.node) => v.node,
                _ => {
                    let message = format!(
                        "`{}` is no input, its new value would be lost",
                        op.row().params[i].name
                    );
                    return Err(error(message, "pass an input of the trace"));
                }
            };
            if self.updates.iter().chain(&updates).any(|(of, _)| *of == input) {
                let message = format!("`{}` has a new value already", op.row().params[i].name);
                return Err(error(message, "pass an input that nothing updates, once"));
            }
            updates.push((input, b.call(new, args.clone())?));
        }
        self.updates.extend(updates);
        match op.row().results {
            Results::One => Ok(vec![b.call(op, args)?]),
            Results::Indexed => b.call_list(op, args, 2),
            Results::List if b.is_open(op, &args)? => Err(error(
                "how many pieces there are is not known".into(),
                "give the trace's input a type with the size of that axis",
            )),
            Results::List => b.call_list(op, args, 0),
            Results::Regions => Err(error(
                "regions and loops are not traced".into(),
                "build the module with a Builder",
            )),
        }
    }

    /// Values of unknown type, in the place of those of a call that failed. The trace is an error by now.
    fn unknown(&mut self, op: Op, pieces: Option<i64>) -> Vec<Value> {
        let results = match op.row().results {
            Results::One => 1,
            Results::Indexed => 2,
            // the program goes on as if it had got what it asked for
            _ => pieces.map_or(1, |n| n.clamp(1, 1024) as usize),
        };
        let node = self.builder.module.graph.push(Node {
            kind: NodeKind::Input(u32::MAX),
            name: String::new(),
            location: 0,
            types: vec![TensorType::default(); results],
            interior: false,
        });
        (0..results as u32).map(|index| Value { node, index }).collect()
    }
}
