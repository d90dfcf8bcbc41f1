//! How a tensor's elements lie in its storage: shape, strides and offset, counted in elements.
//!
//! Problem: views must cost nothing and never read out of bounds. Method: a view is a new `Layout` over the
//! same storage, made by one of the functions below; each checks its arguments and every product. Invariants,
//! held by [`Layout::new`], through which all layouts come: there are as many strides as sizes; the element
//! count and the furthest element fit `isize`; the cached count and contiguity agree with the sizes. Strides
//! are never negative. The stride of a dim of size 1 has no meaning and may be any number.

use crate::error::{Error, Result};
use crate::shape::normal_dim;
use smallvec::SmallVec;
use tensorplay_graph::Code;

/// Sizes or strides; on the stack up to rank 6.
pub type Sizes = SmallVec<[usize; 6]>;

const LIMIT: usize = isize::MAX as usize;

/// Shape, strides and offset in elements.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Layout {
    /// The sizes, then the strides: one run of words to compare.
    dims: SmallVec<[usize; 12]>,
    offset: usize,
    count: usize,
    contiguous: bool,
}

/// The number of elements, or `None` if it or a stride of the row-major layout overflows.
pub fn checked_count(shape: &[usize]) -> Option<usize> {
    let nonzero = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d.max(1)))?;
    (nonzero <= LIMIT).then(|| if shape.contains(&0) { 0 } else { nonzero })
}

fn row_major(shape: &[usize]) -> Sizes {
    let mut strides: Sizes = SmallVec::from_elem(1, shape.len());
    for d in (1..shape.len()).rev() {
        strides[d - 1] = strides[d] * shape[d].max(1);
    }
    strides
}

fn too_large(op: &'static str, shape: &[usize]) -> Error {
    Error::shape(Code::SIZES, op, format!("shape {shape:?} has too many elements"))
}

impl Layout {
    /// A layout from its parts.
    pub fn new(shape: Sizes, strides: Sizes, offset: usize) -> Result<Layout> {
        if shape.len() != strides.len() {
            return Err(Error::shape(
                Code::RANK,
                "layout",
                format!("shape {shape:?} and strides {strides:?} differ in rank"),
            ));
        }
        let count = checked_count(&shape).ok_or_else(|| too_large("layout", &shape))?;
        let contiguous = is_row_major(&shape, &strides, count);
        let layout = Layout::of_parts(&shape, &strides, offset, count, contiguous);
        match layout.checked_end() {
            Some(end) if end <= LIMIT => Ok(layout),
            _ => Err(too_large("layout", &shape)),
        }
    }

    fn of_parts(shape: &[usize], strides: &[usize], offset: usize, count: usize, contiguous: bool) -> Layout {
        let mut dims = SmallVec::with_capacity(2 * shape.len());
        dims.extend_from_slice(shape);
        dims.extend_from_slice(strides);
        Layout {
            dims,
            offset,
            count,
            contiguous,
        }
    }

    /// The row-major layout of a shape.
    pub fn contiguous(shape: &[usize]) -> Result<Layout> {
        let count = checked_count(shape).ok_or_else(|| too_large("shape", shape))?;
        Ok(Layout::of_parts(shape, &row_major(shape), 0, count, true))
    }

    /// Sizes of the dims.
    #[inline]
    pub fn shape(&self) -> &[usize] {
        &self.dims[..self.rank()]
    }

    /// Distance in elements between neighbours along each dim.
    #[inline]
    pub fn strides(&self) -> &[usize] {
        &self.dims[self.rank()..]
    }

    /// The sizes, then the strides.
    #[inline]
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// Copies of the sizes and the strides, to be changed.
    fn parts(&self) -> (Sizes, Sizes) {
        (self.shape().into(), self.strides().into())
    }

    /// Position of the first element.
    #[inline]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Number of dims.
    #[inline]
    pub fn rank(&self) -> usize {
        self.dims.len() / 2
    }

    /// Number of elements.
    #[inline]
    pub fn elem_count(&self) -> usize {
        self.count
    }

    /// Whether the elements lie in row-major order without gaps (the offset may be anything).
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.contiguous
    }

    /// Whether the elements fill one range of storage, each position once, in any order of dims.
    pub fn is_dense(&self) -> bool {
        if self.contiguous {
            return true;
        }
        let mut dims: Sizes = (0..self.rank()).filter(|&d| self.shape()[d] != 1).collect();
        dims.sort_by_key(|&d| self.strides()[d]);
        let mut next = 1;
        dims.iter().all(|&d| {
            let fits = self.strides()[d] == next;
            next *= self.shape()[d];
            fits
        })
    }

    /// One past the furthest element that the layout reaches; the offset for an empty layout.
    pub fn end(&self) -> usize {
        self.checked_end().unwrap_or(usize::MAX)
    }

    fn checked_end(&self) -> Option<usize> {
        if self.count == 0 {
            return Some(self.offset);
        }
        let mut end = self.offset.checked_add(1)?;
        for (&n, &s) in self.shape().iter().zip(self.strides()) {
            end = end.checked_add((n - 1).checked_mul(s)?)?;
        }
        Some(end)
    }

    /// Swaps two dims.
    pub fn transpose(&self, a: i64, b: i64) -> Result<Layout> {
        let (a, b) = (
            normal_dim("transpose", a, self.rank())?,
            normal_dim("transpose", b, self.rank())?,
        );
        if self.rank() == 0 {
            return Ok(self.clone());
        }
        let (mut shape, mut strides) = self.parts();
        shape.swap(a, b);
        strides.swap(a, b);
        Layout::new(shape, strides, self.offset)
    }

    /// The transpose of a matrix; ranks 0 and 1 are unchanged.
    pub fn t(&self) -> Result<Layout> {
        match self.rank() {
            0 | 1 => Ok(self.clone()),
            2 => self.transpose(0, 1),
            r => Err(Error::shape(
                Code::RANK,
                "t",
                format!("takes a matrix, got rank {r} {:?}", self.shape()),
            )
            .with_help("write `transpose(-2, -1)`")),
        }
    }

    /// Reorders the dims: dim `i` of the result is dim `dims[i]`.
    pub fn permute(&self, dims: &[i64]) -> Result<Layout> {
        let rank = self.rank();
        let bad = |why: &str| {
            Error::shape(
                Code::REPEATED_DIM,
                "permute",
                format!("dims {dims:?} {why} for shape {:?}", self.shape()),
            )
        };
        if dims.len() != rank {
            return Err(bad("have the wrong length"));
        }
        let mut seen: SmallVec<[bool; 8]> = SmallVec::from_elem(false, rank);
        let (mut shape, mut strides) = (Sizes::new(), Sizes::new());
        for &d in dims {
            let d = normal_dim("permute", d, rank)?;
            if std::mem::replace(&mut seen[d], true) {
                return Err(bad("repeat a dim"));
            }
            shape.push(self.shape()[d]);
            strides.push(self.strides()[d]);
        }
        Layout::new(shape, strides, self.offset)
    }

    /// Moves one dim to another place; the others keep their order.
    pub fn movedim(&self, from: i64, to: i64) -> Result<Layout> {
        let (from, to) = (
            normal_dim("movedim", from, self.rank())?,
            normal_dim("movedim", to, self.rank())?,
        );
        if self.rank() == 0 {
            return Ok(self.clone());
        }
        let (mut shape, mut strides) = self.parts();
        let (n, s) = (shape.remove(from), strides.remove(from));
        shape.insert(to, n);
        strides.insert(to, s);
        Layout::new(shape, strides, self.offset)
    }

    /// Inserts a dim of size 1.
    pub fn unsqueeze(&self, dim: i64) -> Result<Layout> {
        let d = normal_dim("unsqueeze", dim, self.rank() + 1)?;
        let stride = if d < self.rank() {
            self.shape()[d].saturating_mul(self.strides()[d])
        } else {
            1
        };
        let (mut shape, mut strides) = self.parts();
        shape.insert(d, 1);
        strides.insert(d, stride);
        Layout::new(shape, strides, self.offset)
    }

    /// Drops a dim if its size is 1.
    pub fn squeeze(&self, dim: i64) -> Result<Layout> {
        let d = normal_dim("squeeze", dim, self.rank())?;
        if self.shape().get(d) != Some(&1) {
            return Ok(self.clone());
        }
        let (mut shape, mut strides) = self.parts();
        shape.remove(d);
        strides.remove(d);
        Layout::new(shape, strides, self.offset)
    }

    /// `len` positions of a dim from `start` on; a negative start counts from the end.
    pub fn narrow(&self, dim: i64, start: i64, len: i64) -> Result<Layout> {
        let d = self.existing_dim("narrow", dim)?;
        let size = self.shape()[d] as i64;
        let first = if start < 0 {
            start.saturating_add(size)
        } else {
            start
        };
        if first < 0 || len < 0 || first.checked_add(len).is_none_or(|end| end > size) {
            let message = format!(
                "start {start} and length {len} are out of range for dim {dim} of {:?}",
                self.shape()
            );
            return Err(Error::index(Code::BOUNDS, "narrow", message));
        }
        self.window(d, first as usize, len as usize, 1)
    }

    /// One position of a dim, which disappears; a negative index counts from the end.
    pub fn select(&self, dim: i64, index: i64) -> Result<Layout> {
        let d = self.existing_dim("select", dim)?;
        let size = self.shape()[d] as i64;
        if !(-size..size).contains(&index) {
            let message = format!(
                "index {index} is out of range for dim {dim} of {:?}",
                self.shape()
            );
            return Err(Error::index(Code::BOUNDS, "select", message));
        }
        let at = (if index < 0 { index + size } else { index }) as usize;
        let view = self.window(d, at, 1, 1)?;
        let (mut shape, mut strides) = view.parts();
        shape.remove(d);
        strides.remove(d);
        Layout::new(shape, strides, view.offset)
    }

    /// Every `step`-th position of a dim in `start..end`; both ends count from the end when negative and are
    /// clamped, as Python's slices are.
    pub fn slice(&self, dim: i64, start: i64, end: i64, step: i64) -> Result<Layout> {
        let d = self.existing_dim("slice", dim)?;
        if step <= 0 {
            let e = Error::value("slice", format!("step {step} is not positive"));
            return Err(e.with_help("write `flip(dim)` before a slice with a positive step"));
        }
        let size = self.shape()[d] as i64;
        let clamp = |v: i64| (if v < 0 { v.saturating_add(size) } else { v }).clamp(0, size);
        let (start, end) = (clamp(start), clamp(end));
        let len = if end > start {
            1 + (end - start - 1) / step
        } else {
            0
        };
        self.window(d, start as usize, len as usize, step as usize)
    }

    fn existing_dim(&self, op: &'static str, dim: i64) -> Result<usize> {
        if self.rank() == 0 {
            return Err(Error::index(
                Code::DIM_RANGE,
                op,
                format!("dim {dim} is out of range for rank 0"),
            ));
        }
        normal_dim(op, dim, self.rank())
    }

    fn window(&self, d: usize, start: usize, len: usize, step: usize) -> Result<Layout> {
        let (mut shape, mut strides) = self.parts();
        shape[d] = len;
        strides[d] = strides[d].saturating_mul(step);
        let offset = if self.count == 0 || len == 0 {
            self.offset
        } else {
            self.offset + start * self.strides()[d]
        };
        Layout::new(shape, strides, offset)
    }

    /// Repeats dims of size 1 and adds leading dims, without copying; -1 keeps a size.
    pub fn expand(&self, sizes: &[i64]) -> Result<Layout> {
        let bad = |why: String| {
            Error::shape(
                Code::RESHAPE,
                "expand",
                format!("shape {:?} does not expand to {sizes:?}{why}", self.shape()),
            )
        };
        let Some(lead) = sizes.len().checked_sub(self.rank()) else {
            return Err(bad(": it has more dims".into()));
        };
        let mut shape = Sizes::new();
        for (i, &n) in sizes.iter().enumerate() {
            shape.push(match usize::try_from(n) {
                Ok(n) => n,
                Err(_) if n == -1 && i >= lead => self.shape()[i - lead],
                Err(_) if n == -1 => return Err(bad(": -1 cannot stand for a new dim".into())),
                Err(_) => return Err(bad(format!(": size {n} is negative"))),
            });
        }
        self.broadcast_to("expand", &shape)
    }

    /// The layout of this tensor as an operand of an op whose result has `shape`.
    pub fn broadcast_to(&self, op: &'static str, shape: &[usize]) -> Result<Layout> {
        let bad = || {
            Error::shape(
                Code::BROADCAST,
                op,
                format!("shape {:?} does not broadcast to {shape:?}", self.shape()),
            )
        };
        let lead = shape.len().checked_sub(self.rank()).ok_or_else(bad)?;
        let mut strides: Sizes = SmallVec::from_elem(0, shape.len());
        for (d, (&n, &s)) in self.shape().iter().zip(self.strides()).enumerate() {
            match shape[lead + d] {
                to if to == n => strides[lead + d] = s,
                _ if n == 1 => {}
                _ => return Err(bad()),
            }
        }
        Layout::new(shape.into(), strides, self.offset)
    }

    /// The same elements under another shape of equal count, if no copy is needed (PyTorch's `computeStride`).
    pub fn reshaped(&self, shape: &[usize]) -> Option<Layout> {
        if self.contiguous || self.count == 0 {
            let layout = Layout::contiguous(shape).ok()?;
            return (layout.count == self.count).then_some(Layout {
                offset: self.offset,
                ..layout
            });
        }
        if checked_count(shape) != Some(self.count) {
            return None;
        }
        let mut strides: Sizes = SmallVec::from_elem(1, shape.len());
        let mut to = shape.len();
        let (mut base, mut old, mut new) = (*self.strides().last()?, 1usize, 1usize);
        for d in (0..self.rank()).rev() {
            old *= self.shape()[d];
            let chunk_ends =
                d == 0 || (self.shape()[d - 1] != 1 && self.strides()[d - 1] != old.saturating_mul(base));
            if !chunk_ends {
                continue;
            }
            while to > 0 && (new < old || shape[to - 1] == 1) {
                to -= 1;
                strides[to] = new.saturating_mul(base);
                new *= shape[to];
            }
            if new != old {
                return None;
            }
            if d > 0 {
                (base, old, new) = (self.strides()[d - 1], 1, 1);
            }
        }
        if to == 0 {
            Layout::new(shape.into(), strides, self.offset).ok()
        } else {
            None
        }
    }

    /// The sizes that `reshape(written)` means: one -1 is inferred.
    pub fn infer(&self, op: &'static str, written: &[i64]) -> Result<Sizes> {
        let bad = |why: String| {
            Error::shape(
                Code::RESHAPE,
                op,
                format!(
                    "shape {:?} ({} elements) to {written:?}: {why}",
                    self.shape(),
                    self.count
                ),
            )
        };
        let mut shape = Sizes::new();
        let mut hole = None;
        for (i, &n) in written.iter().enumerate() {
            match usize::try_from(n) {
                Ok(n) => shape.push(n),
                Err(_) if n == -1 && hole.is_none() => {
                    hole = Some(i);
                    shape.push(1);
                }
                Err(_) if n == -1 => return Err(bad("at most one size may be -1".into())),
                Err(_) => {
                    return Err(
                        bad(format!("size {n} is negative")).with_help("write -1 for the size to infer")
                    );
                }
            }
        }
        let known = checked_count(&shape).ok_or_else(|| bad("too many elements".into()))?;
        match hole {
            Some(_) if known == 0 => Err(bad("-1 could be any size beside a size of 0".into())),
            Some(i) if self.count.is_multiple_of(known) => {
                shape[i] = self.count / known;
                Ok(shape)
            }
            Some(_) => Err(bad(format!("{} is not a multiple of {known}", self.count))),
            None if known == self.count => Ok(shape),
            None => {
                Err(bad(format!("{known} elements asked for")).with_help("write -1 for the size to infer"))
            }
        }
    }

    /// The shape with dims `from..=to` merged into one.
    pub fn flattened(&self, from: i64, to: i64) -> Result<Sizes> {
        let (a, b) = (
            normal_dim("flatten", from, self.rank())?,
            normal_dim("flatten", to, self.rank())?,
        );
        if self.rank() == 0 {
            return Ok(SmallVec::from_slice(&[1]));
        }
        if a > b {
            return Err(Error::shape(
                Code::VALUE,
                "flatten",
                format!("dim {from} comes after dim {to} in {:?}", self.shape()),
            ));
        }
        let mut shape: Sizes = self.shape()[..a].into();
        shape.push(self.shape()[a..=b].iter().product());
        shape.extend_from_slice(&self.shape()[b + 1..]);
        Ok(shape)
    }
}

fn is_row_major(shape: &[usize], strides: &[usize], count: usize) -> bool {
    if count == 0 {
        return true;
    }
    let mut next = 1;
    shape.iter().zip(strides).rev().all(|(&n, &s)| {
        let fits = n == 1 || s == next;
        next *= n;
        fits
    })
}

impl std::fmt::Debug for Layout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Layout")
            .field("shape", &self.shape())
            .field("strides", &self.strides())
            .field("offset", &self.offset)
            .finish()
    }
}

#[cfg(test)]
mod tests;
