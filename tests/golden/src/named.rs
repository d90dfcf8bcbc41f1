//! `Named`: the steps that a function's schedule names for the inputs of a case.

use tensorplay::compiler::Explanation;
use tensorplay_graph::op::row::Lowering;
use tensorplay_graph::{
    Callee, DType, EvalArg, Expr, Host, Interpreter, Meta, Node, NodeId, Op, TensorType, TypeError,
    TypeInterpreter,
};
use tensorplay_stax::blob::Blob;
use tensorplay_stax::schedule::UnitKind;

/// The steps that a schedule names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Named {
    /// Element-wise and row groups, those of a loop's body once a step.
    pub groups: u64,
    /// Element-wise and row groups, those of a loop's body once.
    pub kernels: u64,
    /// Matrix products.
    pub contractions: u64,
    /// Runtime operations: those with a kernel of their own, and random tensors.
    pub ops: u64,
    /// Copies that must happen: one for every part of a `cat` or `stack` that is not empty.
    pub copies: u64,
    /// Copies that happen if a layout needs them: `reshape`, `flatten`, `contiguous`.
    pub may_copy: u64,
}

impl Named {
    /// Schedules the graph of a path that `explain!` shows, as the macro did, for inputs of known types.
    ///
    /// # Errors
    /// The function has no such path, or it does not fit the inputs.
    pub fn of(explanation: &Explanation, path: usize, inputs: &[(DType, &[usize])]) -> Result<Named, String> {
        let Some(source) = explanation.graphs.get(path) else {
            let n = explanation.graphs.len();
            return Err(format!("the function has {n} graphs, the call took path {path}"));
        };
        let blob =
            tensorplay_stax::analyse(source).map_err(|e| format!("the graph does not schedule: {e}"))?;
        let module = &blob.module;
        let mut walk = Walk {
            types: TypeInterpreter {
                symbols: &module.symbols,
            },
            named: Named::of_units(&blob),
            bodies: &blob.regions,
        };
        let types = inputs.iter().map(|(d, s)| TensorType::known(*d, s)).collect();
        walk.run(&module.graph, types, &[])
            .map_err(|e| format!("the graph does not fit the inputs: {e}"))?;
        Ok(walk.named)
    }

    fn of_units(blob: &Blob) -> Named {
        let mut named = Named::default();
        for unit in &blob.schedule.units {
            match unit.kind {
                UnitKind::Map | UnitKind::Row => named.groups += 1,
                UnitKind::Contract => named.contractions += 1,
                UnitKind::Create
                | UnitKind::View
                | UnitKind::Copy
                | UnitKind::Op
                | UnitKind::Region
                | UnitKind::Link => {}
            }
        }
        named.kernels = named.groups;
        named
    }

    /// Adds the steps of a loop whose body names `step`.
    fn add(&mut self, step: Named, trips: u64) {
        self.groups += step.groups * trips;
        self.kernels += step.kernels;
        self.contractions += step.contractions * trips;
        self.ops += step.ops * trips;
        self.copies += step.copies * trips;
        self.may_copy += step.may_copy * trips;
    }
}

/// Shapes node by node, to count what depends on them.
struct Walk<'a> {
    types: TypeInterpreter<'a>,
    named: Named,
    /// The regions of the graph, among them the bodies of its loops.
    bodies: &'a [Blob],
}

impl Walk<'_> {
    /// The steps of a loop with one body.
    fn each(&mut self, node: &Node, args: &[EvalArg<TensorType>]) -> Result<(), TypeError> {
        let Some(Callee::Body { regions, .. }) = node.link().map(|l| l.callee) else {
            return Ok(());
        };
        let (Some(EvalArg::Host(Host::Int(trips))), [body]) = (args.first(), regions.as_slice()) else {
            panic!("only loops over sizes, with one path through the body, are counted: {node:?}");
        };
        let body = &self.bodies[*body];
        let graph = &body.module.graph;
        let given = args[2..].iter().flat_map(|a| match a {
            EvalArg::List(l) => l.as_slice(),
            _ => &[],
        });
        let types = given.filter_map(|a| match a {
            EvalArg::Value(t) => Some(t.clone()),
            _ => None,
        });
        let types = types.chain(std::iter::repeat(TensorType::default()));
        let mut walk = Walk {
            types: TypeInterpreter {
                symbols: self.types.symbols,
            },
            named: Named::of_units(body),
            bodies: &body.regions,
        };
        walk.run(graph, types.take(graph.inputs.len()).collect(), &[])?;
        self.named.add(walk.named, u64::try_from(*trips).unwrap_or(0));
        Ok(())
    }
}

impl Interpreter<TensorType> for Walk<'_> {
    type Error = TypeError;

    fn call(
        &mut self,
        id: NodeId,
        node: &Node,
        op: Op,
        args: Vec<EvalArg<TensorType>>,
    ) -> Result<Vec<TensorType>, TypeError> {
        match op.row().lowering {
            Lowering::Copy => self.named.copies += parts(&args),
            Lowering::Create if op.is_random() => self.named.ops += 1,
            Lowering::Link => self.each(node, &args)?,
            // operands of a runtime operation are made dense
            Lowering::Op | Lowering::Region => {
                self.named.ops += 1;
                self.named.may_copy += args.iter().filter(|a| matches!(a, EvalArg::Value(_))).count() as u64;
            }
            Lowering::View if matches!(op, Op::Reshape | Op::Flatten | Op::FlattenAll | Op::Contiguous) => {
                self.named.may_copy += 1;
            }
            _ => {}
        }
        self.types.call(id, node, op, args)
    }

    fn unknown(&mut self, node: NodeId, op: Op, expr: &Expr) -> Result<EvalArg<TensorType>, TypeError> {
        self.types.unknown(node, op, expr)
    }
}

/// The joined tensors that have elements along the axis; one for an operation that joins none.
fn parts(args: &[EvalArg<TensorType>]) -> u64 {
    let (Some(EvalArg::List(list)), Some(EvalArg::Host(Host::Int(dim)))) = (args.first(), args.get(1)) else {
        return 1;
    };
    let filled = |a: &&EvalArg<TensorType>| {
        let EvalArg::Value(t) = a else { return false };
        let rank = t.rank().unwrap_or(0);
        let axis = if *dim < 0 { dim + rank as i64 } else { *dim };
        usize::try_from(axis).ok().and_then(|axis| t.dim(axis)) != Some(0)
    };
    list.iter().filter(filled).count() as u64
}
