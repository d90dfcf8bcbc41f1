//! `Builder`: appends nodes to a graph, with inferred types. Capture, decompositions and eager
//! composites all build through it, so a rule is checked at the call that breaks it.

use crate::error::{Code, OpError, OpErrorKind};
use crate::op::row::{ArgType, Call, Lowering, Results};
use crate::{
    Arg, DType, Dim, Env, Expr, Graph, GraphModule, Host, HostError, HostType, Node, NodeKind, Op, Symbol,
    TensorType, Value,
};

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
        Arg::Host(e) => match (e.eval(env), e) {
            (Ok(h), _) => ArgType::Host(Some(h)),
            (Err(_), Expr::Dim(v, i)) => match size(i, env, ty(*v)) {
                Some(Dim::Symbol(s)) => ArgType::Symbol(s),
                _ => ArgType::Open(HostType::Usize),
            },
            (Err(_), e) => ArgType::Open(e.host_type()),
        },
        Arg::List(l) => ArgType::List(l.iter().map(|a| arg_type(a, env, ty)).collect()),
        Arg::Field(_) | Arg::None => ArgType::None,
    }
}

fn size(index: &Expr, env: &dyn Env, ty: TensorType) -> Option<Dim> {
    let shape = ty.shape?;
    let i = index.eval(env).ok()?.as_int()?;
    let at = if i < 0 { i + shape.len() as i64 } else { i };
    shape.get(usize::try_from(at).ok()?).copied()
}

/// A host argument that surely fails, as Rust would.
fn failure(arg: &Arg, env: &dyn Env) -> Option<String> {
    match arg {
        Arg::Host(e) => match e.eval(env) {
            Err(HostError::Failed(message)) => Some(message),
            _ => None,
        },
        Arg::List(l) => l.iter().find_map(|a| failure(a, env)),
        Arg::Value(_) | Arg::Field(_) | Arg::None => None,
    }
}

/// The result types of a call, from the recorded types of its arguments; for a list of unknown length,
/// `wanted` results.
pub(crate) fn infer_call(
    graph: &Graph,
    symbols: &[Symbol],
    op: Op,
    args: &[Arg],
    wanted: usize,
) -> Result<Vec<TensorType>, OpError> {
    let env = TypeEnv(graph);
    if let Some((i, message)) = args
        .iter()
        .enumerate()
        .find_map(|(i, a)| Some((i, failure(a, &env)?)))
    {
        return Err(OpError::new(Code::VALUE, OpErrorKind::Value, op.name(), message)
            .help("change the operands so that the number exists")
            .at([i]));
    }
    let types: Vec<ArgType> = args
        .iter()
        .map(|a| arg_type(a, &env, &|v| graph.ty(v).clone()))
        .collect();
    let mut results = infer_types(symbols, op, &types, wanted)?;
    if let (Op::Cat, Some(Arg::List(list)), Some(ty)) = (op, args.first(), results.first_mut())
        && list
            .iter()
            .any(|a| matches!(a, Arg::Value(v) if graph.is_list(*v)))
    {
        open_axis(ty, args.get(1), &env);
    }
    Ok(results)
}

/// The size along an axis that tensors of unknown number are joined along is not known.
fn open_axis(ty: &mut TensorType, dim: Option<&Arg>, env: &dyn Env) {
    let dim = match dim {
        Some(Arg::Host(e)) => e.eval(env).ok().and_then(Host::as_int),
        _ => None,
    };
    if let Some(shape) = &mut ty.shape {
        let rank = shape.len() as i64;
        match dim.map(|d| if d < 0 { d + rank } else { d }) {
            Some(d) if d >= 0 && d < rank => shape[d as usize] = Dim::Unknown,
            _ => shape.fill(Dim::Unknown),
        }
    }
}

/// Like [`infer_call`], from the types of the arguments.
pub(crate) fn infer_types(
    symbols: &[Symbol],
    op: Op,
    args: &[ArgType],
    wanted: usize,
) -> Result<Vec<TensorType>, OpError> {
    let row = op.row();
    let mut types = row.infer(&Call { op, args, symbols })?;
    if types.is_empty() {
        types = match row.results {
            Results::One => vec![TensorType::default()],
            Results::Indexed => vec![TensorType::default(); 2],
            Results::List => vec![piece_type(args); wanted],
            Results::Regions => vec![TensorType::default(); wanted],
        };
    }
    Ok(types)
}

/// The type of a result of `chunk` or `split` while their number is not known: the operand's, with the
/// axis open.
pub(crate) fn piece_type(args: &[ArgType]) -> TensorType {
    let Some(ArgType::Tensor(ty)) = args.first() else {
        return TensorType::default();
    };
    let mut ty = ty.clone();
    let dim = match args.get(2) {
        Some(ArgType::Host(Some(h))) => h.as_int(),
        _ => None,
    };
    if let Some(s) = &mut ty.shape {
        let rank = s.len() as i64;
        match dim.map(|d| if d < 0 { d + rank } else { d }) {
            Some(d) if d >= 0 && d < rank => s[d as usize] = Dim::Unknown,
            _ => s.fill(Dim::Unknown),
        }
    }
    ty
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
            interior: false,
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
        let types = self.infer(op, &args, 1)?;
        if self.expand
            && let Lowering::Composite(rule) = op.row().lowering
        {
            return rule(self, op, &args).map_err(|e| e.within(op));
        }
        Ok(self.push(op, args, types).into())
    }

    /// Adds an operation with a list of results; `wanted` is the number that the caller names, used
    /// while the shape rule cannot tell.
    ///
    /// # Errors
    /// A broken rule, or fewer results than wanted.
    pub fn call_list(&mut self, op: Op, args: Vec<Arg>, wanted: usize) -> Result<Vec<Value>, OpError> {
        let types = self.infer(op, &args, wanted)?;
        if types.len() < wanted {
            let message = format!("result {} is used, but there are {}", wanted - 1, types.len());
            return Err(OpError::new(Code::BOUNDS, OpErrorKind::Index, op.name(), message)
                .help("use the results that there are"));
        }
        let n = types.len() as u32;
        let node = self.push(op, args, types);
        Ok((0..n).map(|index| Value { node, index }).collect())
    }

    /// Whether the shape rule cannot tell how many results a call with a list of them has.
    ///
    /// # Errors
    /// A broken rule.
    pub fn is_open(&self, op: Op, args: &[Arg]) -> Result<bool, OpError> {
        Ok(self.infer(op, args, 1)?.len() < self.infer(op, args, 2)?.len())
    }

    /// Adds a call of regions, whose results have these types as far as known.
    ///
    /// # Errors
    /// A broken rule.
    pub fn call_regions(
        &mut self,
        op: Op,
        args: Vec<Arg>,
        types: Vec<TensorType>,
    ) -> Result<Vec<Value>, OpError> {
        self.infer(op, &args, types.len())?;
        let n = types.len() as u32;
        let node = self.push(op, args, types);
        Ok((0..n).map(|index| Value { node, index }).collect())
    }

    fn infer(&self, op: Op, args: &[Arg], wanted: usize) -> Result<Vec<TensorType>, OpError> {
        infer_call(&self.module.graph, &self.module.symbols, op, args, wanted)
    }

    fn push(&mut self, op: Op, args: Vec<Arg>, types: Vec<TensorType>) -> crate::NodeId {
        self.module.graph.push(Node {
            kind: NodeKind::Call(op, args),
            name: String::new(),
            location: self.location,
            types,
            interior: false,
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
