//! Data checks that run before a kernel writes: integer division by zero.

use super::Ref;
use crate::layout::{Layout, Sizes};
use crate::{DType, Error, Result};

/// A divisor of an integer operation.
#[derive(Debug)]
pub(crate) struct Divisor {
    pub op: &'static str,
    /// Where the operation is, among the locations of the graph.
    pub place: u32,
    pub at: Ref,
    pub dtype: DType,
    pub shape: Sizes,
    pub strides: Sizes,
}

impl Divisor {
    pub(crate) fn new(op: &'static str, place: u32, at: Ref, dtype: DType, layout: &Layout) -> Divisor {
        Divisor {
            op,
            place,
            at,
            dtype,
            shape: layout.shape().into(),
            strides: layout.strides().into(),
        }
    }

    /// # Safety
    /// `base` plus the offset is readable at every element of the layout.
    pub(crate) unsafe fn check(&self, base: *const u8) -> Result<()> {
        let p = base.wrapping_add(self.at.offset);
        let size = self.dtype.size();
        let mut zero = false;
        crate::tensor::copy::for_each_offset(&self.shape, &self.strides, |at| {
            let e = p.wrapping_add(at * size);
            // SAFETY: the caller's contract; element alignment is an invariant of tensors.
            zero |= unsafe {
                match size {
                    1 => *e == 0,
                    4 => *e.cast::<u32>() == 0,
                    _ => *e.cast::<u64>() == 0,
                }
            };
        });
        match zero {
            true => Err(by_zero(self.op).placed(self.place)),
            false => Ok(()),
        }
    }
}

pub(crate) fn by_zero(op: &'static str) -> Error {
    Error::value(op, "integer division by zero").with_help(
        "convert to a float dtype for infinities and NaN, or replace zeros with where_cond(..) first",
    )
}
