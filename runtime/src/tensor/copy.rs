//! Copies between any two layouts of one shape.
//!
//! Problem: `contiguous`, `to_vec` and `cat` meet contiguous, transposed, sliced and broadcast operands of
//! every element size. Method: drop dims of size 1 and merge dims that are adjacent on both sides; then rows
//! are memory copies if the last dim is dense on both sides, square tiles if the sides are dense along
//! different dims, and plain loops otherwise. Invariant: elements are moved as unsigned integers of their
//! size, so NaN payloads survive.

use super::Tensor;
use crate::error::Result;
use crate::layout::Layout;
use crate::storage::Storage;
use smallvec::SmallVec;
use std::mem::MaybeUninit;

#[derive(Clone, Copy)]
struct Axis {
    n: usize,
    src: usize,
    dst: usize,
}

type Axes = SmallVec<[Axis; 6]>;

/// Side of a tile, in elements; whole cache lines even for bytes, and the widest tile stays in a first-level
/// cache.
const TILE: usize = 64;

/// Axes below this length are not worth a tile or an inner loop.
const SHORT: usize = 8;

/// Copies every element of `shape`; strides are in elements of `size` bytes (1, 2, 4 or 8).
///
/// # Safety `src` is readable and `dst` writable at every element of its strides, both are aligned to `size`,
/// the two do not overlap, and no two elements of `dst` are the same memory.
pub(crate) unsafe fn strided_copy(
    size: usize,
    shape: &[usize],
    src: *const u8,
    src_strides: &[usize],
    dst: *mut u8,
    dst_strides: &[usize],
) {
    let Some(axes) = merge(shape, src_strides, dst_strides) else {
        return;
    };
    // SAFETY: the caller's contract; the casts keep the element size.
    unsafe {
        match size {
            1 => copy(&axes, src, dst),
            2 => copy(&axes, src.cast::<u16>(), dst.cast::<u16>()),
            4 => copy(&axes, src.cast::<u32>(), dst.cast::<u32>()),
            _ => copy(&axes, src.cast::<u64>(), dst.cast::<u64>()),
        }
    }
}

/// The axes that matter, outermost first; `None` if there are no elements.
fn merge(shape: &[usize], src: &[usize], dst: &[usize]) -> Option<Axes> {
    let mut axes = Axes::new();
    for ((&n, &src), &dst) in shape.iter().zip(src).zip(dst) {
        match (n, axes.last_mut()) {
            (0, _) => return None,
            (1, _) => {}
            (_, Some(outer)) if outer.src == src * n && outer.dst == dst * n => {
                *outer = Axis {
                    n: outer.n * n,
                    src,
                    dst,
                };
            }
            _ => axes.push(Axis { n, src, dst }),
        }
    }
    if axes.is_empty() {
        axes.push(Axis { n: 1, src: 1, dst: 1 });
    }
    Some(axes)
}

/// How the innermost axes are walked; the others are an odometer.
enum Inner {
    /// Dense on both sides.
    Row(usize),
    Line(Axis),
    /// `from` is dense in the source, `to` in the destination.
    Tiles {
        from: Axis,
        to: Axis,
    },
}

fn plan(axes: &[Axis]) -> Option<(Axes, Inner)> {
    let (&row, outer) = axes.split_last()?;
    if row.src == 1 && row.dst == 1 {
        return Some((outer.into(), Inner::Row(row.n)));
    }
    if let Some(k) = outer.iter().rposition(|a| a.src == 1 || a.dst == 1) {
        let across = outer[k];
        let mut rest: Axes = outer[..k].iter().chain(&outer[k + 1..]).copied().collect();
        if row.n.min(across.n) >= SHORT {
            match (across.src, row.dst, row.src, across.dst) {
                (1, 1, ..) => {
                    return Some((
                        rest,
                        Inner::Tiles {
                            from: across,
                            to: row,
                        },
                    ));
                }
                (.., 1, 1) => {
                    return Some((
                        rest,
                        Inner::Tiles {
                            from: row,
                            to: across,
                        },
                    ));
                }
                _ => {}
            }
        } else if row.n < across.n {
            rest.push(row);
            return Some((rest, Inner::Line(across)));
        }
    }
    Some((outer.into(), Inner::Line(row)))
}

unsafe fn copy<T: Copy>(axes: &[Axis], src: *const T, dst: *mut T) {
    let Some((rest, inner)) = plan(axes) else { return };
    // SAFETY: the odometer visits each combination of the other axes once, so every access is one of the elements
    // that the caller vouches for.
    unsafe {
        for_each(&rest, |s, d| {
            let (src, dst) = (src.add(s), dst.add(d));
            match inner {
                Inner::Row(n) => src.copy_to_nonoverlapping(dst, n),
                Inner::Line(axis) => line(axis, src, dst),
                Inner::Tiles { from, to } => tiles(from, to, src, dst),
            }
        });
    }
}

unsafe fn line<T: Copy>(axis: Axis, src: *const T, dst: *mut T) {
    // SAFETY: `i` stays inside the axis.
    unsafe {
        if axis.src == 0 && axis.dst == 1 {
            let value = *src;
            (0..axis.n).for_each(|i| *dst.add(i) = value);
        } else {
            (0..axis.n).for_each(|i| *dst.add(i * axis.dst) = *src.add(i * axis.src));
        }
    }
}

/// Transposes through a tile on the stack: each cache line of either side is touched once, whole, so strides
/// that are powers of two do not evict what the tile still needs.
unsafe fn tiles<T: Copy>(from: Axis, to: Axis, src: *const T, dst: *mut T) {
    let mut tile = [MaybeUninit::<T>::uninit(); TILE * TILE];
    for t0 in (0..to.n).step_by(TILE) {
        let across = TILE.min(to.n - t0);
        for f0 in (0..from.n).step_by(TILE) {
            let along = TILE.min(from.n - f0);
            for t in 0..across {
                // SAFETY: `t0 + t < to.n` and `f0 + along <= from.n`.
                let line = unsafe { src.add((t0 + t) * to.src + f0) };
                for f in 0..along {
                    // SAFETY: as above.
                    tile[f * TILE + t].write(unsafe { *line.add(f) });
                }
            }
            for f in 0..along {
                let ready = tile[f * TILE..][..across].as_ptr().cast::<T>();
                // SAFETY: the loop above wrote these `across` elements; the destination holds them.
                unsafe { ready.copy_to_nonoverlapping(dst.add((f0 + f) * from.dst + t0), across) }
            }
        }
    }
}

/// Calls `f` with both offsets for every combination of indices.
fn for_each(axes: &[Axis], mut f: impl FnMut(usize, usize)) {
    let mut index: SmallVec<[usize; 6]> = SmallVec::from_elem(0, axes.len());
    let (mut s, mut d) = (0, 0);
    loop {
        f(s, d);
        let mut k = axes.len();
        loop {
            if k == 0 {
                return;
            }
            k -= 1;
            let a = axes[k];
            index[k] += 1;
            if index[k] < a.n {
                s += a.src;
                d += a.dst;
                break;
            }
            index[k] = 0;
            s -= a.src * (a.n - 1);
            d -= a.dst * (a.n - 1);
        }
    }
}

/// Calls `f` with the offset in elements of every element of a layout, in logical order.
pub(crate) fn for_each_offset(shape: &[usize], strides: &[usize], mut f: impl FnMut(usize)) {
    let Some(axes) = merge(shape, strides, strides) else {
        return;
    };
    for_each(&axes, |s, _| f(s));
}

impl Tensor {
    /// The same elements in row-major order: itself if it is contiguous, else a copy.
    pub(crate) fn to_contiguous(&self) -> Result<Tensor> {
        if self.is_contiguous() {
            Ok(self.clone())
        } else {
            self.copied()
        }
    }

    /// A row-major copy in storage of its own.
    pub(crate) fn copied(&self) -> Result<Tensor> {
        let size = self.dtype().size();
        let bytes = self
            .elem_count()
            .checked_mul(size)
            .ok_or(crate::Error::OutOfMemory { bytes: usize::MAX })?;
        let layout = Layout::contiguous(self.shape())?;
        // SAFETY: the copy writes every element.
        let storage = unsafe { Storage::uninit(bytes)? };
        // SAFETY: the new storage is ours and holds the row-major layout.
        unsafe { self.copy_to(storage.as_mut_ptr(), layout.strides()) }
        Ok(Tensor::from_parts(storage, layout, self.dtype()))
    }

    /// Writes the elements to `dst` under other strides.
    ///
    /// # Safety `dst` is writable and aligned at every element of `strides`, no two of which are the same
    /// memory, and not part of this tensor's storage.
    pub(crate) unsafe fn copy_to(&self, dst: *mut u8, strides: &[usize]) {
        let value = self.value();
        // SAFETY: a tensor's layout stays in its storage; the rest is the caller's contract.
        unsafe {
            strided_copy(
                self.dtype().size(),
                self.shape(),
                value.data_ptr(),
                self.strides(),
                dst,
                strides,
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::{Element, with_element};
    use tensorplay_graph::DType;

    /// Logical elements read one at a time.
    fn slow<T: Element>(x: &Tensor) -> Vec<T> {
        let mut at = vec![0usize];
        for (&n, &s) in x.shape().iter().zip(x.strides()) {
            at = at.iter().flat_map(|&p| (0..n).map(move |i| p + i * s)).collect();
        }
        let value = x.value();
        // SAFETY: positions of the layout.
        at.iter()
            .map(|&p| unsafe { *value.data_ptr().cast::<T>().add(p) })
            .collect()
    }

    #[test]
    fn every_size_and_layout() {
        for dtype in DType::ALL {
            with_element!(dtype, T => for n in [0usize, 1, 7, 33, 65] {
                let data: Vec<T> = (0..3 * n * 5).map(|i| T::from_i64((i * 7 % 251) as i64)).collect();
                let x = Tensor::from_vec(data, (3, n, 5));
                let mut views = vec![x.clone(), x.view_unsqueeze(1).unwrap().view_expand(&[3, 4, -1, -1]).unwrap()];
                for p in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
                    views.push(x.view_permute(&p).unwrap());
                }
                views.push(x.view_slice(1, 1, i64::MAX, 3).unwrap());
                views.push(x.view_slice(2, 0, 5, 2).unwrap().view_transpose(0, 2).unwrap());
                views.push(x.view_narrow(2, 1, 3).unwrap());
                for v in views {
                    let c = v.to_contiguous().unwrap();
                    assert!(c.is_contiguous());
                    assert_eq!(slow::<T>(&c), slow::<T>(&v), "{dtype} {:?}", v.layout());
                    let back = v.copied().unwrap();
                    assert_eq!(slow::<T>(&back), slow::<T>(&v));
                }
            });
        }
    }

    #[test]
    fn into_strided_destinations() {
        let (n, m) = (70, 41);
        let x = Tensor::from_vec((0..(n * m) as i32).collect(), (n, m));
        let mut out = vec![-1i32; n * m];
        // SAFETY: the strides are those of the transpose of a dense matrix of `n * m` elements.
        unsafe { x.copy_to(out.as_mut_ptr().cast(), &[1, n]) }
        for i in 0..n {
            for j in 0..m {
                assert_eq!(out[j * n + i], (i * m + j) as i32);
            }
        }
    }
}
