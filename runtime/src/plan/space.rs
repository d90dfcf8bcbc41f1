//! Iteration spaces: whether a scheduled group is legal for real shapes, and over what it iterates.
//!
//! The predicates, in this order: all folds reduce the same axes of one shape; every element value
//! has that shape (a producer is not recomputed by broadcasting); every row value has it without the
//! reduced axes; a row value that meets elements lines up with them; ranks are within the driver's limit.

use crate::layout::{Layout, Sizes};
use smallvec::SmallVec;
use tensorplay_graph::op::row::Lowering;
use tensorplay_graph::{Arg, Graph, NodeId, Value};
use tensorplay_stax::kernel::Space;
use tensorplay_stax::schedule::{Unit, fold_dims};

/// The largest rank of an iteration space.
pub(crate) const MAX_RANK: usize = 16;

/// What a group iterates over.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct IterSpace {
    pub shape: Sizes,
    /// The reduced axes, ascending; empty for element-wise groups.
    pub reduced: SmallVec<[usize; 6]>,
    pub has_rows: bool,
}

/// What binding knows of a graph's values.
pub(crate) trait Shapes {
    fn graph(&self) -> &Graph;
    fn shape(&self, v: Value) -> &[usize];
    fn ints(&self, arg: &Arg) -> Vec<i64>;
}

impl IterSpace {
    /// The space of a unit, or the predicate that fails.
    pub(crate) fn of(unit: &Unit, s: &dyn Shapes) -> Result<IterSpace, String> {
        let graph = s.graph();
        let mut folded: Option<(Sizes, SmallVec<[usize; 6]>)> = None;
        for m in &unit.members {
            let node = graph.node(m.node);
            let (Some(op), Some(Arg::Value(x))) = (node.op(), node.args().first()) else {
                continue;
            };
            if !matches!(op.row().lowering, Lowering::Reduce(_)) {
                continue;
            }
            let shape: Sizes = s.shape(*x).into();
            let dims = fold_dims(op, node.args()).map(|a| s.ints(a)).unwrap_or_default();
            let axes = axes(&dims, shape.len());
            match &folded {
                None => folded = Some((shape, axes)),
                Some((s0, a0)) if *s0 != shape || *a0 != axes => {
                    return Err(format!(
                        "folds over {:?} of {:?} and {:?} of {shape:?} in one group",
                        a0, s0, axes
                    ));
                }
                Some(_) => {}
            }
        }
        let has_rows = folded.is_some();
        let first = unit.members.first().map_or(&[][..], |m| s.shape(m.node.into()));
        let (shape, reduced) = folded.unwrap_or_else(|| (first.into(), SmallVec::new()));
        let space = IterSpace {
            shape,
            reduced,
            has_rows,
        };
        if space.shape.len() > MAX_RANK {
            return Err(format!("rank {} is above {MAX_RANK}", space.shape.len()));
        }
        for m in &unit.members {
            space.check(unit, m.node, m.space, s)?;
        }
        Ok(space)
    }

    fn check(&self, unit: &Unit, node: NodeId, member: Space, s: &dyn Shapes) -> Result<(), String> {
        let shape = s.shape(node.into());
        let name = s.graph().node(node).op_name();
        match member {
            Space::Elem if shape != &self.shape[..] => Err(format!(
                "`{name}` has shape {shape:?}, the group iterates over {:?}",
                self.shape
            )),
            Space::Row if shape != &self.kept()[..] && shape != &self.dropped()[..] => Err(format!(
                "`{name}` has shape {shape:?}, the group's rows have {:?}",
                self.dropped()
            )),
            Space::Elem if self.has_rows => self.rows_line_up(unit, node, s),
            _ => Ok(()),
        }
    }

    /// A row value that an element node reads broadcasts to the space exactly along the reduced axes.
    fn rows_line_up(&self, unit: &Unit, node: NodeId, s: &dyn Shapes) -> Result<(), String> {
        let mut bad = None;
        for a in s.graph().node(node).args() {
            a.tensors(&mut |v| {
                let row = unit
                    .members
                    .iter()
                    .any(|m| m.node == v.node && m.space == Space::Row);
                if row && padded(s.shape(v), self.shape.len()) != self.kept() {
                    bad = Some(format!(
                        "row values of shape {:?} do not line up with {:?}",
                        s.shape(v),
                        self.shape
                    ));
                }
            });
        }
        bad.map_or(Ok(()), Err)
    }

    /// The shape of row values that keep the reduced axes at size 1.
    pub(crate) fn kept(&self) -> Sizes {
        let keep = |(i, &n): (usize, &usize)| if self.reduced.contains(&i) { 1 } else { n };
        self.shape.iter().enumerate().map(keep).collect()
    }

    /// The shape of row values without the reduced axes.
    pub(crate) fn dropped(&self) -> Sizes {
        self.outer_axes().map(|i| self.shape[i]).collect()
    }

    fn outer_axes(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.shape.len()).filter(|i| !self.reduced.contains(i))
    }

    /// The space with the reduced axes moved last.
    pub(crate) fn permuted(&self) -> Sizes {
        self.outer_axes()
            .chain(self.reduced.iter().copied())
            .map(|i| self.shape[i])
            .collect()
    }

    /// The strides of an element tensor over the permuted space.
    pub(crate) fn elem_strides(&self, layout: &Layout) -> SmallVec<[isize; 6]> {
        let strides = broadcast_strides(layout, self.shape.len());
        self.outer_axes()
            .chain(self.reduced.iter().copied())
            .map(|i| strides[i])
            .collect()
    }

    /// The strides over the rows of a tensor that is read by a row value of shape `reader`.
    pub(crate) fn row_strides(&self, layout: &Layout, reader: &[usize]) -> SmallVec<[isize; 6]> {
        let strides = broadcast_strides(layout, reader.len());
        if reader.len() == self.shape.len() && reader == &self.kept()[..] {
            self.outer_axes().map(|i| strides[i]).collect()
        } else {
            strides
        }
    }
}

fn axes(dims: &[i64], rank: usize) -> SmallVec<[usize; 6]> {
    let mut axes: SmallVec<[usize; 6]> = if dims.is_empty() {
        (0..rank).collect()
    } else if rank == 0 {
        SmallVec::new()
    } else {
        dims.iter()
            .map(|&d| {
                if d < 0 {
                    (d + rank as i64) as usize
                } else {
                    d as usize
                }
            })
            .collect()
    };
    axes.sort_unstable();
    axes
}

fn padded(shape: &[usize], rank: usize) -> Sizes {
    std::iter::repeat_n(1, rank.saturating_sub(shape.len()))
        .chain(shape.iter().copied())
        .collect()
}

/// Strides as an operand of a result of rank `rank`: 0 along axes that the tensor lacks or broadcasts.
pub(crate) fn broadcast_strides(layout: &Layout, rank: usize) -> SmallVec<[isize; 6]> {
    let lead = rank.saturating_sub(layout.rank());
    let own = layout
        .shape()
        .iter()
        .zip(layout.strides())
        .map(|(&n, &s)| if n == 1 { 0 } else { s as isize });
    std::iter::repeat_n(0, lead).chain(own).collect()
}
