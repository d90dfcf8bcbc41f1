//! `Named`: the steps that a function's schedule names for the inputs of a case.

use tensorplay::compiler::Explanation;
use tensorplay_graph::op::row::Lowering;
use tensorplay_graph::{
    DType, EvalArg, Expr, Host, Interpreter, Meta, Node, NodeId, Op, TensorType, TypeError, TypeInterpreter,
};
use tensorplay_stax::schedule::UnitKind;

/// The steps that a schedule names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Named {
    /// Element-wise and row groups.
    pub groups: u64,
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
        let module = &blob.module;
        let mut walk = Walk {
            types: TypeInterpreter {
                symbols: &module.symbols,
            },
            named,
        };
        let types = inputs.iter().map(|(d, s)| TensorType::known(*d, s)).collect();
        walk.run(&module.graph, types, &[])
            .map_err(|e| format!("the graph does not fit the inputs: {e}"))?;
        Ok(walk.named)
    }
}

/// Shapes node by node, to count what depends on them.
struct Walk<'a> {
    types: TypeInterpreter<'a>,
    named: Named,
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
            // operands of a runtime operation are made dense
            Lowering::Op | Lowering::Region | Lowering::Link => {
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
