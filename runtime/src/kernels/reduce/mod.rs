//! The reducers: folds of contiguous chunks.
//!
//! Problem: a row may be read whole, in L1-sized chunks, or in pieces by several threads, and the result must be
//! accurate, fast and the same. Method: [`Folder`] is a function per (fold, dtype, instruction set) that adds
//! one chunk to an [`Acc`]; floats accumulate in f64, integers in i64, and the result is rounded once by
//! [`Folder::store`]. f32 and f64 sums, sums of squares and extremes use explicit vectors
//! ([`float`]); the rest are loops that LLVM vectorises. A sum over a row that is one chunk can leave its [`Moments`],
//! which spare the squares around the mean a pass of their own.
//!
//! Invariants: the accumulation order depends on the chunk lengths only, which callers derive from the row
//! length, never from the thread count. NaN wins a maximum, minimum, argmax and argmin; the first of ties wins.

mod float;
#[cfg(test)]
mod tests;
mod vector;

use super::tier::{isa, per_isa};
use crate::lane::Tier;
use half::{bf16, f16};
use tensorplay_graph::DType;
use tensorplay_stax::kernel::ReduceKind;

/// The state of one fold.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Acc {
    /// The value of a float source.
    f: f64,
    /// The value of an integer or bool source.
    i: i64,
    /// The index of an arg fold; -1 before the first element.
    at: i64,
}

/// Adds `n` elements at `p`, the first of which has index `base`, to the state.
///
/// # Safety
/// `p` is readable for `n` elements of the source dtype, and the CPU has the instruction set.
pub(crate) type ChunkFn = unsafe fn(p: *const u8, n: usize, base: i64, center: f64, acc: &mut Acc);

impl Acc {
    /// Becomes the state of a sum, of squares or not, that is known.
    pub(crate) fn know(&mut self, sum: f64) {
        self.f = sum;
    }
}

/// The sum of a row, and what it leaves for the squares around a value near the mean.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moments {
    pub(crate) sum: f64,
    mean: f64,
    /// The sum of squares around the mean; NaN if it is not accurate.
    squares: f64,
}

impl Moments {
    /// The sum of the squares of `n` elements around any centre, as accurate as a pass over them, if it is known.
    pub(crate) fn around(&self, center: f64, n: usize) -> Option<f64> {
        let shift = self.mean - center;
        let squares = self.squares + n as f64 * (shift * shift);
        squares.is_finite().then_some(squares)
    }
}

/// Finds the moments of rows of 1 to [`float::BLOCK`] elements.
///
/// # Safety
/// Every `pitch` bytes, `n` elements of the source dtype are readable; `moments` is writable for `rows`; the CPU has
/// the instruction set.
pub(crate) type MomentsFn =
    unsafe fn(p: *const u8, pitch: usize, rows: usize, n: usize, moments: *mut Moments);

/// The sum with moments over a source type, one instance for each instruction set.
pub(crate) fn moments(src: DType) -> Option<[MomentsFn; 3]> {
    match src {
        DType::F32 => Some(float::table!(moments_f32)),
        DType::F64 => Some(float::table!(moments_f64)),
        _ => None,
    }
}

/// The fold of one reduction step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Folder {
    kind: ReduceKind,
    float: bool,
    result: Outcome,
    fns: [ChunkFn; 3],
}

/// Which part of an [`Acc`] is the result.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Outcome {
    Float,
    Int,
    Place,
}

impl Folder {
    /// The fold of `kind` over a source of type `src`; panics on f16 and bf16, which the kernel IR excludes.
    pub(crate) fn new(kind: ReduceKind, src: DType) -> Folder {
        use ReduceKind::*;
        let result = match kind {
            ArgMax | ArgMin => Outcome::Place,
            Any | All => Outcome::Int,
            _ if src.is_float() => Outcome::Float,
            _ => Outcome::Int,
        };
        Folder {
            kind,
            float: src.is_float(),
            result,
            fns: functions(kind, src),
        }
    }

    /// What it folds.
    pub(crate) fn kind(&self) -> ReduceKind {
        self.kind
    }

    /// The state before the first element.
    pub(crate) fn start(&self) -> Acc {
        use ReduceKind::*;
        let (f, i) = match self.kind {
            Sum | SumSquares { .. } | Any => (0.0, 0),
            Prod => (1.0, 1),
            All => (0.0, 1),
            Max | ArgMax => (f64::NEG_INFINITY, i64::MIN),
            Min | ArgMin => (f64::INFINITY, i64::MAX),
        };
        Acc { f, i, at: -1 }
    }

    /// The chunk function for the instruction set in use.
    pub(crate) fn chunk(&self) -> ChunkFn {
        self.fns[isa() as usize]
    }

    /// Adds the state of a later piece of the row.
    pub(crate) fn merge(&self, a: &mut Acc, b: Acc) {
        use ReduceKind::*;
        let (fmax, imax) = (b.f.is_nan() || b.f > a.f, b.i > a.i);
        let (fmin, imin) = (b.f.is_nan() || b.f < a.f, b.i < a.i);
        let (greater, less) = if self.float { (fmax, fmin) } else { (imax, imin) };
        let replace = match self.kind {
            Sum | SumSquares { .. } => {
                (a.f, a.i) = (a.f + b.f, a.i.wrapping_add(b.i));
                false
            }
            Prod => {
                (a.f, a.i) = (a.f * b.f, a.i.wrapping_mul(b.i));
                false
            }
            Any => {
                a.i |= b.i;
                false
            }
            All => {
                a.i &= b.i;
                false
            }
            Max => greater && !a.f.is_nan(),
            Min => less && !a.f.is_nan(),
            ArgMax => b.at >= 0 && (a.at < 0 || (greater && !a.f.is_nan())),
            ArgMin => b.at >= 0 && (a.at < 0 || (less && !a.f.is_nan())),
        };
        if replace {
            *a = b;
        }
    }

    /// Writes the result as `dtype`, rounded once.
    ///
    /// # Safety
    /// `p` is writable for one element of `dtype`, aligned.
    #[inline]
    pub(crate) unsafe fn store(&self, acc: &Acc, dtype: DType, p: *mut u8) {
        // SAFETY: the contract of this function.
        unsafe {
            match (dtype, self.result) {
                (DType::F32, Outcome::Float) => p.cast::<f32>().write(acc.f as f32),
                _ => self.store_any(acc, dtype, p),
            }
        }
    }

    /// # Safety
    /// That of [`store`](Self::store).
    unsafe fn store_any(&self, acc: &Acc, dtype: DType, p: *mut u8) {
        let float = self.result == Outcome::Float;
        let i = if self.result == Outcome::Place {
            acc.at
        } else {
            acc.i
        };
        macro_rules! put {
            ($t:ty, $f:expr, $i:expr) => {
                // SAFETY: the contract of this function.
                unsafe { p.cast::<$t>().write(if float { $f } else { $i }) }
            };
        }
        match dtype {
            DType::F32 => put!(f32, acc.f as f32, i as f32),
            DType::F64 => put!(f64, acc.f, i as f64),
            DType::F16 => put!(f16, f16::from_f64(acc.f), f16::from_f64(i as f64)),
            DType::BF16 => put!(bf16, bf16::from_f64(acc.f), bf16::from_f64(i as f64)),
            DType::I32 => put!(i32, acc.f as i32, i as i32),
            DType::I64 => put!(i64, acc.f as i64, i),
            DType::U8 => put!(u8, acc.f as u8, i as u8),
            DType::Bool => put!(bool, acc.f != 0.0, i != 0),
        }
    }
}

/// An element of a source that has no vectors of its own, and the loops over it.
trait Elem: Copy + PartialEq + 'static {
    fn int(self) -> i64;
    fn float(self) -> f64;
    fn truth(self) -> bool;
}
macro_rules! elem {
    ($($t:ty: |$x:ident| $int:expr, $float:expr, $truth:expr;)*) => {$(
        impl Elem for $t {
            #[inline(always)]
            fn int(self) -> i64 { let $x = self; $int }
            #[inline(always)]
            fn float(self) -> f64 { let $x = self; $float }
            #[inline(always)]
            fn truth(self) -> bool { let $x = self; $truth }
        }
    )*};
}
elem! {
    f32: |x| x as i64, f64::from(x), x != 0.0;
    f64: |x| x as i64, x, x != 0.0;
    i32: |x| i64::from(x), f64::from(x), x != 0;
    i64: |x| x, x as f64, x != 0;
    u8: |x| i64::from(x), f64::from(x), x != 0;
    bool: |x| i64::from(x), f64::from(u8::from(x)), x;
}

/// # Safety
/// That of [`ChunkFn`].
#[inline(always)]
unsafe fn slice<'a, E>(p: *const u8, n: usize) -> &'a [E] {
    // SAFETY: the caller's contract.
    unsafe { std::slice::from_raw_parts(p.cast(), n) }
}

macro_rules! loops {
    ($($name:ident |$x:ident, $center:ident, $acc:ident| $body:expr;)*) => {$(
        /// # Safety
        /// That of [`ChunkFn`].
        #[inline(always)]
        #[allow(clippy::extra_unused_type_parameters)] // what `per_isa!` passes
        unsafe fn $name<E: Elem, T: Tier>(p: *const u8, n: usize, _base: i64, $center: f64, $acc: &mut Acc) {
            // SAFETY: the caller's contract.
            let $x = unsafe { slice::<E>(p, n) };
            $body
        }
    )*};
}
loops! {
    int_sum |x, _c, acc| acc.i = x.iter().fold(acc.i, |s, e| s.wrapping_add(e.int()));
    int_prod |x, _c, acc| acc.i = x.iter().fold(acc.i, |s, e| s.wrapping_mul(e.int()));
    int_max |x, _c, acc| acc.i = x.iter().fold(acc.i, |s, e| s.max(e.int()));
    int_min |x, _c, acc| acc.i = x.iter().fold(acc.i, |s, e| s.min(e.int()));
    int_squares |x, c, acc| acc.i = x.iter().fold(acc.i, |s, e| {
        let d = e.int().wrapping_sub(c as i64);
        s.wrapping_add(d.wrapping_mul(d))
    });
    any |x, _c, acc| for block in x.chunks(1024) {
        acc.i |= i64::from(block.iter().fold(false, |s, e| s | e.truth()));
        if acc.i != 0 { break }
    };
    all |x, _c, acc| for block in x.chunks(1024) {
        acc.i &= i64::from(block.iter().fold(true, |s, e| s & e.truth()));
        if acc.i == 0 { break }
    };
    float_prod |x, _c, acc| {
        let mut s = [1.0; 8];
        let blocks = x.chunks_exact(8);
        let rest = blocks.remainder();
        for b in blocks {
            for k in 0..8 { s[k] *= b[k].float(); }
        }
        let r = rest.iter().fold(1.0, |r, e| r * e.float());
        acc.f *= ((s[0] * s[4]) * (s[2] * s[6])) * ((s[1] * s[5]) * (s[3] * s[7])) * r;
    };
}

/// The index of an extreme: blocks whose extreme beats the best so far are searched for its place.
///
/// # Safety
/// That of [`ChunkFn`], also for `extreme`.
#[inline(always)]
unsafe fn arg<E: Elem>(
    p: *const u8,
    n: usize,
    base: i64,
    acc: &mut Acc,
    folder: Folder,
    float: bool,
    extreme: ChunkFn,
) {
    const BLOCK: usize = 1024;
    let mut at = 0;
    while at < n && !(float && acc.f.is_nan()) {
        let m = (n - at).min(BLOCK);
        let mut best = folder.start();
        // SAFETY: the caller's contract.
        let x = unsafe {
            let q = p.add(at * size_of::<E>());
            extreme(q, m, 0, 0.0, &mut best);
            slice::<E>(q, m)
        };
        let place = || {
            x.iter().position(|e| {
                if float {
                    e.float() == best.f || (best.f.is_nan() && e.float().is_nan())
                } else {
                    e.int() == best.i
                }
            })
        };
        let max = folder.kind == ReduceKind::Max;
        let beats = if float {
            best.f.is_nan() || if max { best.f > acc.f } else { best.f < acc.f }
        } else if max {
            best.i > acc.i
        } else {
            best.i < acc.i
        };
        if (beats || acc.at < 0)
            && let Some(i) = place()
        {
            *acc = Acc {
                at: base + (at + i) as i64,
                ..best
            };
        }
        at += m;
    }
}

macro_rules! arg_fns {
    ($e:ty, $dtype:ident, $kind:ident) => {{
        unsafe fn run(p: *const u8, n: usize, base: i64, _c: f64, acc: &mut Acc) {
            let folder = Folder::new(ReduceKind::$kind, DType::$dtype);
            // SAFETY: the contract of `ChunkFn`.
            unsafe { arg::<$e>(p, n, base, acc, folder, DType::$dtype.is_float(), folder.chunk()) }
        }
        [run as ChunkFn; 3]
    }};
}

fn functions(kind: ReduceKind, src: DType) -> [ChunkFn; 3] {
    use ReduceKind::*;
    macro_rules! looped {
        ($body:ident, $e:ty) => {
            per_isa!($body::<$e>, fn(p: *const u8, n: usize, base: i64, center: f64, acc: &mut Acc))
        };
    }
    macro_rules! floats {
        ($e:ty, $d:ident, $sum:ident $squares:ident $max:ident $min:ident) => {
            match kind {
                Sum => float::table!($sum),
                SumSquares { .. } => float::table!($squares),
                Max => float::table!($max),
                Min => float::table!($min),
                Prod => looped!(float_prod, $e),
                Any => looped!(any, $e),
                All => looped!(all, $e),
                ArgMax => arg_fns!($e, $d, Max),
                ArgMin => arg_fns!($e, $d, Min),
            }
        };
    }
    macro_rules! ints {
        ($e:ty, $d:ident) => {
            match kind {
                Sum => looped!(int_sum, $e),
                SumSquares { .. } => looped!(int_squares, $e),
                Max => looped!(int_max, $e),
                Min => looped!(int_min, $e),
                Prod => looped!(int_prod, $e),
                Any => looped!(any, $e),
                All => looped!(all, $e),
                ArgMax => arg_fns!($e, $d, Max),
                ArgMin => arg_fns!($e, $d, Min),
            }
        };
    }
    match src {
        DType::F32 => floats!(f32, F32, sum_f32 squares_f32 max_f32 min_f32),
        DType::F64 => floats!(f64, F64, sum_f64 squares_f64 max_f64 min_f64),
        DType::I32 => ints!(i32, I32),
        DType::I64 => ints!(i64, I64),
        DType::U8 => ints!(u8, U8),
        DType::Bool => ints!(bool, Bool),
        DType::F16 | DType::BF16 => panic!("a reduction reads f16 or bf16: the kernel lacks the conversion"),
    }
}
