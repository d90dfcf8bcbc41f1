//! `Builder`: appends nodes to a graph, with inferred types. Capture, decompositions and eager
//! composites all build through it, so a rule is checked at the call that breaks it.

use crate::error::{Code, OpError, OpErrorKind};
use crate::op::row::{ArgType, Call, Lowering, Results};
use crate::{Arg, DType, Dim, Env, Graph, GraphModule, Host, Node, NodeKind, Op, TensorType, Value};

/// A graph under construction.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    /// The module so far.
    pub module: GraphModule,
    /// Index into `module.locations` for the nodes to come.
    pub location: u32,
    /// Whether composite operations are expanded as they are added.
    pub expand: bool,
}

/// What types alone tell about host expressions.
#[derive(Clone, Copy, Debug)]
pub struct TypeEnv<'a>(pub &'a Graph);

impl Env for TypeEnv<'_> {
    fn param(&self, _: u32) -> Option<Host> {
        None
    }
    fn rank(&self, v: Value) -> Option<usize> {
        self.0.ty(v).shape.as_ref().map(Vec::len)
    }
    fn dim(&self, v: Value, i: usize) -> Option<usize> {
        self.0.ty(v).shape.as_ref().and_then(|s| s[i].known())
    }
    fn dtype(&self, v: Value) -> Option<DType> {
        self.0.ty(v).dtype
    }
}

/// The type of an argument as the rules see it, with host expressions evaluated against `env`.
pub fn arg_type(arg: &Arg, env: &dyn Env, ty: &dyn Fn(Value) -> TensorType) -> ArgType {
    match arg {
        Arg::Value(v) => ArgType::Tensor(ty(*v)),
        Arg::Host(e) => ArgType::Host(e.eval(env).ok()),
        Arg::List(l) => ArgType::List(l.iter().map(|a| arg_type(a, env, ty)).collect()),
        Arg::None => ArgType::None,
    }
}

impl Builder {
    /// A builder for a function of that name.
    pub fn new(name: impl Into<String>) -> Builder {
        let mut b = Builder::default();
        b.module.name = name.into();
        b.module.locations.push(crate::Location::default());
        b
    }

    /// Adds a tensor parameter.
    pub fn input(&mut self, name: impl Into<String>, spec: Option<TensorType>) -> Value {
        let index = self.module.graph.inputs.len() as u32;
        let id = self.module.graph.push(Node {
            kind: NodeKind::Input(index),
            name: name.into(),
            location: self.location,
            types: vec![spec.clone().unwrap_or_default()],
        });
        self.module.graph.inputs.push(id);
        self.module.specs.push(spec);
        id.into()
    }

    /// The type of a value, as far as known.
    pub fn ty(&self, v: Value) -> &TensorType {
        self.module.graph.ty(v)
    }

    /// The value of a host expression, if types alone tell it.
    pub fn known(&self, e: &crate::Expr) -> Option<Host> {
        e.eval(&TypeEnv(&self.module.graph)).ok()
    }

    /// Adds an operation and returns its first result.
    ///
    /// # Errors
    /// A broken shape or dtype rule; nothing is added then.
    pub fn call(&mut self, op: Op, args: Vec<Arg>) -> Result<Value, OpError> {
        let types = self.infer(op, &args)?;
        if self.expand
            && let Lowering::Composite(rule) = op.row().lowering
        {
            return rule(self, op, &args);
        }
        Ok(self.push(op, args, types).into())
    }

    /// Adds an operation with a list of results; `wanted` is the number that the caller names, used
    /// while the shape rule cannot tell.
    ///
    /// # Errors
    /// A broken rule, or fewer results than wanted.
    pub fn call_list(&mut self, op: Op, args: Vec<Arg>, wanted: usize) -> Result<Vec<Value>, OpError> {
        let mut types = self.infer(op, &args)?;
        if types.is_empty() {
            let dtype = self.tensor_dtype(&args);
            types = vec![TensorType { dtype, shape: None }; wanted];
        } else if types.len() < wanted {
            let message = format!("result {} is used, but there are {}", wanted - 1, types.len());
            return Err(OpError::new(Code::BOUNDS, OpErrorKind::Index, op.name(), message));
        }
        let n = types.len() as u32;
        let node = self.push(op, args, types);
        Ok((0..n).map(|index| Value { node, index }).collect())
    }

    fn tensor_dtype(&self, args: &[Arg]) -> Option<DType> {
        args.first().and_then(|a| {
            if let Arg::Value(v) = a {
                self.ty(*v).dtype
            } else {
                None
            }
        })
    }

    fn infer(&self, op: Op, args: &[Arg]) -> Result<Vec<TensorType>, OpError> {
        let graph = &self.module.graph;
        let env = TypeEnv(graph);
        let args: Vec<ArgType> = args
            .iter()
            .map(|a| arg_type(a, &env, &|v| graph.ty(v).clone()))
            .collect();
        let row = op.row();
        let mut types = row.infer(&Call {
            op,
            args: &args,
            symbols: &self.module.symbols,
        })?;
        if types.is_empty() && row.results == Results::One {
            types.push(TensorType::default());
        }
        Ok(types)
    }

    fn push(&mut self, op: Op, args: Vec<Arg>, types: Vec<TensorType>) -> crate::NodeId {
        self.module.graph.push(Node {
            kind: NodeKind::Call(op, args),
            name: String::new(),
            location: self.location,
            types,
        })
    }

    /// Whether a value is surely a scalar tensor.
    pub fn is_rank(&self, v: Value, rank: usize) -> Option<bool> {
        self.ty(v).shape.as_ref().map(|s| s.len() == rank)
    }

    /// The size of an axis, if its rank and index are known.
    pub fn dim(&self, v: Value, i: usize) -> Option<Dim> {
        self.ty(v).shape.as_ref().and_then(|s| s.get(i).copied())
    }
}
