//! Steps with a kernel of their own: an operation of the table, its attributes, and dense operands.

use super::Ref;
use crate::error::Error;
use crate::kernels::op::attention::{Attention, attention};
use crate::kernels::op::axis_map::{self, Along, Pad, axis_map};
use crate::kernels::op::conv::{Conv2d, conv_transpose2d, conv2d};
use crate::kernels::op::index::{gather, index_select, one_hot};
use crate::kernels::op::index_add::index_add;
use crate::kernels::op::pool::{Pool, adaptive_avg_pool2d, avg_pool2d, max_pool2d};
use crate::kernels::op::resample::bilinear;
use crate::kernels::op::scan::{cumprod, cumsum};
use crate::kernels::op::scatter::{Combine, scatter};
use crate::kernels::op::sort::{sort, topk};
use crate::kernels::op::triangle::{tril, triu};
use crate::kernels::op::{In, Out};
use crate::layout::Sizes;
use crate::shape::normal_dim;
use crate::{DType, Result};
use smallvec::SmallVec;
use tensorplay_graph::{Host, Op, Scalar};

/// An argument of an operation, bound.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Attribute {
    /// The operand of that number.
    Operand(usize),
    /// An optional tensor or setting that is absent.
    Absent,
    Host(Host),
    List(Vec<Option<Host>>),
}

/// A row-major tensor of a step.
#[derive(Clone, Debug)]
pub(crate) struct Dense {
    pub at: Ref,
    pub dtype: DType,
    pub shape: Sizes,
}

/// An operation on dense operands.
#[derive(Debug)]
pub(crate) struct OpStep {
    pub op: Op,
    /// The operation that the user wrote, for messages.
    pub written: Op,
    /// Where that is, among the locations of the graph.
    pub place: u32,
    pub attributes: Vec<Attribute>,
    pub operands: SmallVec<[Dense; 4]>,
    pub outputs: SmallVec<[Dense; 2]>,
}

impl OpStep {
    /// # Errors
    /// An index out of range.
    ///
    /// # Safety
    /// `at` gives the memory that the step was bound to: operands are readable, outputs writable and overlap nothing.
    pub(crate) unsafe fn run(&self, at: impl Fn(Ref) -> *mut u8) -> Result<()> {
        // SAFETY: the caller's contract.
        let operands: SmallVec<[In<'_>; 4]> = self
            .operands
            .iter()
            .map(|d| unsafe { In::new(d.dtype, &d.shape, at(d.at)) })
            .collect();
        // SAFETY: as above.
        let mut outputs = self
            .outputs
            .iter()
            .map(|d| unsafe { Out::new(d.dtype, &d.shape, at(d.at)) });
        let bug = || {
            Error::msg(format!(
                "`{}` has no output; this is a bug, please report it",
                self.op
            ))
        };
        let out = outputs.next().ok_or_else(bug)?;
        let call = Call {
            step: self,
            operands: &operands,
        };
        call.run(out, outputs.next()).map_err(|e| e.placed(self.place))
    }
}

/// A call of a kernel.
struct Call<'a> {
    step: &'a OpStep,
    operands: &'a [In<'a>],
}

impl<'a> Call<'a> {
    /// The kernel of each operation: one arm a row.
    fn run(&self, out: Out<'_>, second: Option<Out<'_>>) -> Result<()> {
        let op = self.step.op;
        let bug = || Error::msg(format!("`{op}` has no kernel; this is a bug, please report it"));
        let x = self.operands.first().copied().ok_or_else(bug)?;
        // the tables of these are as long as axes, which may be long where there are no elements
        let moves = matches!(op, Op::Flip | Op::Roll | Op::Repeat | Op::Pad | Op::Interpolate);
        if moves && out.count() == 0 {
            return Ok(());
        }
        match op {
            Op::Conv2d => conv2d(x, self.tensor(1)?, self.optional(2), &self.convolution(), out),
            Op::ConvTranspose2d => {
                conv_transpose2d(x, self.tensor(1)?, self.optional(2), &self.convolution(), out);
            }
            Op::MaxPool2d => max_pool2d(x, &self.pool(), out),
            Op::AvgPool2d => avg_pool2d(x, &self.pool(), out),
            Op::AdaptiveAvgPool2d => adaptive_avg_pool2d(x, out),
            Op::ScaledDotProductAttention => {
                let options = self.list(4);
                let attributes = Attention {
                    causal: options.first() == Some(&Some(Host::Bool(true))),
                    scale: options.get(1).copied().flatten().and_then(Host::as_float),
                };
                attention(
                    x,
                    self.tensor(1)?,
                    self.tensor(2)?,
                    self.optional(3),
                    &attributes,
                    out,
                );
            }
            Op::Interpolate => match self.ints(2).first() {
                Some(0) => {
                    let rank = x.shape.len();
                    let maps: Vec<Along> = (0..rank)
                        .map(|d| {
                            if d + 2 < rank {
                                Along::Same
                            } else {
                                axis_map::nearest(x.shape[d], out.shape[d])
                            }
                        })
                        .collect();
                    axis_map(x, &maps, Scalar::Int(0), out);
                }
                _ => bilinear(x, self.list(2).get(1) == Some(&Some(Host::Bool(true))), out),
            },
            Op::Flip => {
                let rank = x.shape.len();
                let mut maps = vec![Along::Same; rank];
                for d in self.axes(1, rank)? {
                    maps[d] = axis_map::flip(x.shape[d]);
                }
                axis_map(x, &maps, Scalar::Int(0), out);
            }
            Op::Roll => {
                let mut maps = vec![Along::Same; x.shape.len()];
                let d = self.axis(2)?;
                if let Some(map) = maps.get_mut(d) {
                    *map = axis_map::roll(x.shape[d], self.int(1));
                }
                axis_map(x, &maps, Scalar::Int(0), out);
            }
            Op::Repeat => {
                let times = self.ints(1);
                let new = times.len().saturating_sub(x.shape.len());
                let mut shape: Sizes = SmallVec::from_elem(1, new);
                shape.extend_from_slice(x.shape);
                let maps: Vec<Along> = shape
                    .iter()
                    .zip(&times)
                    .map(|(&n, &t)| axis_map::repeat(n, t.max(0) as usize))
                    .collect();
                axis_map(x.reshaped(&shape), &maps, Scalar::Int(0), out);
            }
            Op::Pad => {
                let rank = x.shape.len();
                let mode = self.list(2);
                let value = mode.get(1).copied().flatten().and_then(Host::as_scalar);
                let kind = match self.ints(2).first() {
                    Some(1) => Pad::Reflect,
                    Some(2) => Pad::Replicate,
                    _ => Pad::Constant,
                };
                let mut maps = vec![Along::Same; rank];
                for (k, p) in self.ints(1).chunks_exact(2).enumerate() {
                    let d = rank - 1 - k;
                    maps[d] = axis_map::pad(x.shape[d], p[0], p[1], kind);
                }
                axis_map(x, &maps, value.unwrap_or(Scalar::Int(0)), out);
            }
            Op::Tril => tril(x, self.int(1), out),
            Op::Triu => triu(x, self.int(1), out),
            Op::IndexSelect => index_select(self.name(), x, self.tensor(1)?, self.axis(2)?, out)?,
            Op::Embedding => index_select(self.name(), x, self.tensor(1)?, 0, out)?,
            Op::Gather => gather(self.name(), x, self.tensor(1)?, self.axis(2)?, out)?,
            Op::Scatter | Op::ScatterAdd => {
                let combine = if op == Op::Scatter {
                    Combine::Set
                } else {
                    Combine::Add
                };
                let (idx, src) = (self.tensor(1)?, self.tensor(2)?);
                scatter(self.name(), x, idx, src, self.axis(3)?, combine, out)?;
            }
            Op::IndexAdd => index_add(x, self.tensor(1)?, self.tensor(2)?, self.axis(3)?, out)?,
            Op::OneHot => one_hot(x, self.int(1).max(0) as usize, out)?,
            Op::Topk => topk(
                x,
                self.int(1).max(0) as usize,
                self.axis(2)?,
                out,
                second.ok_or_else(bug)?,
            ),
            Op::Sort => {
                let descending = matches!(
                    self.step.attributes.get(2),
                    Some(Attribute::Host(Host::Bool(true)))
                );
                sort(x, self.axis(1)?, descending, out, second.ok_or_else(bug)?);
            }
            Op::Cumsum => cumsum(x, self.axis(1)?, out),
            Op::Cumprod => cumprod(x, self.axis(1)?, out),
            _ => return Err(bug()),
        }
        Ok(())
    }

    fn name(&self) -> &'static str {
        self.step.written.name()
    }

    fn optional(&self, i: usize) -> Option<In<'a>> {
        match self.step.attributes.get(i) {
            Some(Attribute::Operand(k)) => self.operands.get(*k).copied(),
            _ => None,
        }
    }

    fn tensor(&self, i: usize) -> Result<In<'a>> {
        self.optional(i).ok_or_else(|| {
            Error::msg(format!(
                "`{}` lacks a tensor; this is a bug, please report it",
                self.step.op
            ))
        })
    }

    fn int(&self, i: usize) -> i64 {
        match self.step.attributes.get(i) {
            Some(Attribute::Host(h)) => h.as_int().unwrap_or(0),
            _ => 0,
        }
    }

    fn list(&self, i: usize) -> &[Option<Host>] {
        match self.step.attributes.get(i) {
            Some(Attribute::List(l)) => l,
            _ => &[],
        }
    }

    fn ints(&self, i: usize) -> Vec<i64> {
        let int = |h: &Option<Host>| h.and_then(Host::as_int).unwrap_or(0);
        match self.step.attributes.get(i) {
            Some(Attribute::Host(h)) => vec![h.as_int().unwrap_or(0)],
            _ => self.list(i).iter().map(int).collect(),
        }
    }

    /// The dim argument `i` of the first operand.
    fn axis(&self, i: usize) -> Result<usize> {
        let rank = self.operands.first().map_or(0, |x| x.shape.len());
        normal_dim(self.name(), self.int(i), rank)
    }

    /// The dims argument `i`; none for an empty list.
    fn axes(&self, i: usize, rank: usize) -> Result<Vec<usize>> {
        let dims = self.ints(i).into_iter();
        dims.map(|d| normal_dim(self.name(), d, rank)).collect()
    }

    fn pair(l: &[i64], at: usize) -> [usize; 2] {
        [at, at + 1].map(|i| l.get(i).map_or(0, |&n| n.max(0) as usize))
    }

    fn convolution(&self) -> Conv2d {
        let l = self.ints(3);
        let dilation = if self.step.op == Op::Conv2d { 4 } else { 6 };
        Conv2d {
            stride: Self::pair(&l, 0),
            padding: Self::pair(&l, 2),
            dilation: Self::pair(&l, dilation),
            groups: Self::pair(&l, dilation + 2)[0],
        }
    }

    fn pool(&self) -> Pool {
        let l = self.ints(1);
        Pool {
            kernel: Self::pair(&l, 0),
            stride: Self::pair(&l, 2),
            padding: Self::pair(&l, 4),
        }
    }
}
