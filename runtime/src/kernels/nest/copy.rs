//! Gathering strided operands into dense tiles, and scattering tiles into strided outputs.
//!
//! Method: a tile is `rows` rows of `n` lanes, `pitch` bytes apart. Rows that are contiguous in memory are
//! copied, constant ones filled; a source whose *rows* are contiguous is read along them, a cache line at a time,
//! which is several times faster than strided loads inside a kernel.

/// A strided 2-D block; strides in bytes.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub rows: usize,
    pub n: usize,
    /// Between rows of the tensor.
    pub row: isize,
    /// Between lanes of the tensor.
    pub lane: isize,
    /// Between rows of the tile.
    pub pitch: usize,
}

/// Lanes whose rows are moved together by the transposing loops.
const STEP: usize = 16;

/// # Safety
/// All elements of the block are readable at `src`, and `dst` has room for the tile; both are aligned.
#[inline(always)]
unsafe fn gather_as<T: Copy>(src: *const u8, dst: *mut u8, b: Block) {
    // SAFETY: offsets stay inside the block and the tile.
    unsafe {
        let size = size_of::<T>() as isize;
        let at = |r: usize, c: usize| src.offset(r as isize * b.row + c as isize * b.lane).cast::<T>();
        let to = |r: usize| dst.add(r * b.pitch).cast::<T>();
        if b.lane == size || b.n == 1 {
            for r in 0..b.rows {
                at(r, 0).copy_to_nonoverlapping(to(r), b.n);
            }
        } else if b.lane == 0 {
            for r in 0..b.rows {
                let v = std::mem::MaybeUninit::new(*at(r, 0));
                std::slice::from_raw_parts_mut(to(r).cast(), b.n).fill(v);
            }
        } else if b.row == size && b.rows >= 4 {
            let mut c = 0;
            while c < b.n {
                let m = (b.n - c).min(STEP);
                let mut r = 0;
                while r < b.rows {
                    let k = (b.rows - r).min(STEP);
                    if m == STEP && k == STEP {
                        // a full square through registers
                        let mut square = [[*at(r, c); STEP]; STEP];
                        for (j, line) in square.iter_mut().enumerate() {
                            *line = at(r, c + j).cast::<[T; STEP]>().read_unaligned();
                        }
                        for i in 0..STEP {
                            let line = square.map(|column| column[i]);
                            to(r + i).add(c).cast::<[T; STEP]>().write_unaligned(line);
                        }
                    } else {
                        for j in 0..m {
                            for i in 0..k {
                                *to(r + i).add(c + j) = *at(r + i, c + j);
                            }
                        }
                    }
                    r += k;
                }
                c += m;
            }
        } else {
            for r in 0..b.rows {
                for c in 0..b.n {
                    *to(r).add(c) = *at(r, c);
                }
            }
        }
    }
}

/// # Safety
/// All elements of the block are writable at `dst`, and `src` holds the tile; both are aligned.
#[inline(always)]
unsafe fn scatter_as<T: Copy>(src: *const u8, dst: *mut u8, b: Block) {
    // SAFETY: offsets stay inside the block and the tile.
    unsafe {
        let at = |r: usize, c: usize| dst.offset(r as isize * b.row + c as isize * b.lane).cast::<T>();
        let from = |r: usize| src.add(r * b.pitch).cast::<T>();
        if b.lane == size_of::<T>() as isize || b.n == 1 {
            for r in 0..b.rows {
                at(r, 0).copy_from_nonoverlapping(from(r), b.n);
            }
        } else if b.row.abs() < b.lane.abs() {
            for c in 0..b.n {
                for r in 0..b.rows {
                    *at(r, c) = *from(r).add(c);
                }
            }
        } else {
            for r in 0..b.rows {
                for c in 0..b.n {
                    *at(r, c) = *from(r).add(c);
                }
            }
        }
    }
}

macro_rules! by_size {
    ($(#[$doc:meta])* $name:ident, $body:ident) => {
        $(#[$doc])*
        unsafe fn $name(size: usize, src: *const u8, dst: *mut u8, b: Block) {
            // SAFETY: the caller's contract.
            unsafe {
                match size {
                    1 => $body::<u8>(src, dst, b),
                    2 => $body::<u16>(src, dst, b),
                    4 => $body::<u32>(src, dst, b),
                    _ => $body::<u64>(src, dst, b),
                }
            }
        }
    };
}
by_size!(
    /// # Safety
    /// That of [`gather_as`] for elements of `size` bytes.
    gather_block, gather_as
);
by_size!(
    /// # Safety
    /// That of [`scatter_as`] for elements of `size` bytes.
    scatter_block, scatter_as
);

/// Lanes that span several axes.
#[derive(Clone, Copy)]
pub(super) struct Lanes<'a> {
    pub dims: &'a [usize],
    pub strides: &'a [isize],
    /// The first lane, counted over all axes.
    pub start: usize,
    pub n: usize,
}

/// Calls `f(offset in the tensor, lane in the tile, count, stride)` for each run along the last axis.
#[inline]
fn runs(l: Lanes<'_>, mut f: impl FnMut(isize, usize, usize, isize)) {
    let Some((&inner, outer)) = l.dims.split_last() else {
        return f(0, 0, l.n, 0);
    };
    let stride = l.strides[outer.len()];
    if outer.is_empty() {
        return f(l.start as isize * stride, 0, l.n, stride);
    }
    let mut done = 0;
    while done < l.n {
        let lane = l.start + done;
        let (mut rest, first) = (lane / inner, lane % inner);
        let mut offset = first as isize * stride;
        for (d, s) in outer.iter().zip(l.strides).rev() {
            offset += (rest % d) as isize * s;
            rest /= d;
        }
        let m = (inner - first).min(l.n - done);
        f(offset, done, m, stride);
        done += m;
    }
}

/// Fills a dense tile from a strided tensor.
///
/// # Safety
/// `src` points to lane 0 of row 0 of a tensor that has `rows` rows and all lanes of `l`; `dst` has room for `rows`
/// rows `pitch` bytes apart.
pub(super) unsafe fn gather(
    size: usize,
    src: *const u8,
    dst: *mut u8,
    rows: usize,
    row: isize,
    pitch: usize,
    l: Lanes<'_>,
) {
    runs(l, |offset, at, n, lane| {
        // SAFETY: the caller's contract; a run is part of the lanes.
        unsafe {
            gather_block(
                size,
                src.offset(offset),
                dst.add(at * size),
                Block {
                    rows,
                    n,
                    row,
                    lane,
                    pitch,
                },
            );
        }
    });
}

/// Writes a dense tile into a strided tensor.
///
/// # Safety
/// As [`gather`], with `dst` the tensor.
pub(super) unsafe fn scatter(
    size: usize,
    src: *const u8,
    dst: *mut u8,
    rows: usize,
    row: isize,
    pitch: usize,
    l: Lanes<'_>,
) {
    runs(l, |offset, at, n, lane| {
        // SAFETY: the caller's contract; a run is part of the lanes.
        unsafe {
            scatter_block(
                size,
                src.add(at * size),
                dst.offset(offset),
                Block {
                    rows,
                    n,
                    row,
                    lane,
                    pitch,
                },
            );
        }
    });
}
