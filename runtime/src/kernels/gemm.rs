//! Matrix products of any dtype and any strides.
//!
//! Problem: `out[m, n] = a[m, k] * b[k, n]` for operands that are transposed, sliced or broadcast, in eight dtypes,
//! on several threads. Method: f32 and f64 go to the `gemm` crate, single-threaded inside
//! [`parts`]; f16 and bf16 are widened to f32 panels, accumulate in f32 and are rounded once;
//! integers wrap, in i-k-j loops over packed rows. Bool is refused: the dtype rule excludes it.
//!
//! Invariants: the pieces that threads share out depend on the shapes only, so results do not depend on the
//! thread count; `k = 0` gives zeros; without elements nothing is touched.

use super::arena::Scratch;
use super::par::parts;
use super::tier::{isa, per_isa};
use crate::lane::{Store, Tier};
use half::{bf16, f16};
use tensorplay_graph::DType;

/// Rows and columns of a shared-out piece are multiples of this.
const ALIGN: usize = 64;
/// Multiply-adds below which a product is one piece.
const SMALL: usize = 1 << 22;

/// One product: sizes, and strides in elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Rows of `a` and of the output.
    pub m: usize,
    /// Columns of `b` and of the output.
    pub n: usize,
    /// Columns of `a`, rows of `b`.
    pub k: usize,
    /// Row and column stride of `a`.
    pub a: [isize; 2],
    /// Row and column stride of `b`.
    pub b: [isize; 2],
    /// Row and column stride of the output.
    pub out: [isize; 2],
}

#[derive(Clone, Copy)]
struct Pointers {
    a: *const u8,
    b: *const u8,
    out: *mut u8,
}
// SAFETY: `a` and `b` are only read, and threads write disjoint pieces of `out` (the contract of `matmul`).
unsafe impl Send for Pointers {}
// SAFETY: as above.
unsafe impl Sync for Pointers {}

impl Pointers {
    fn offset(self, [a, b, out]: [isize; 3], size: usize) -> Pointers {
        let at = |p: *mut u8, d: isize| p.wrapping_offset(d * size as isize);
        Pointers {
            a: at(self.a.cast_mut(), a),
            b: at(self.b.cast_mut(), b),
            out: at(self.out, out),
        }
    }
}

/// Estimated nanoseconds on one thread.
fn cost(dtype: DType, s: &Shape) -> u64 {
    let rate = match dtype {
        DType::F32 | DType::F16 | DType::BF16 => 40,
        DType::F64 => 20,
        _ => 4,
    };
    (s.m as u64).saturating_mul(s.n as u64).saturating_mul(s.k as u64) / rate
}

/// Lets the library read the cache sizes, which it does at its first product.
pub(crate) fn warm_up() {
    let (a, mut out) = ([1f32; 256], [0f32; 256]);
    let p = a.as_ptr().cast();
    // SAFETY: the arrays are 16 by 16, and the output is another one.
    unsafe {
        matmul(
            DType::F32,
            16,
            16,
            16,
            p,
            [16, 1],
            p,
            [16, 1],
            out.as_mut_ptr().cast(),
            [16, 1],
        )
    }
}

/// `out = a * b`.
///
/// # Safety
/// `a` and `b` are readable and `out` is writable at all elements that sizes and strides (in elements) name,
/// aligned; `out` overlaps neither, and its elements are distinct.
#[allow(clippy::too_many_arguments)]
pub unsafe fn matmul(
    dtype: DType,
    m: usize,
    n: usize,
    k: usize,
    a: *const u8,
    a_strides: [isize; 2],
    b: *const u8,
    b_strides: [isize; 2],
    out: *mut u8,
    out_strides: [isize; 2],
) {
    let shape = Shape {
        m,
        n,
        k,
        a: a_strides,
        b: b_strides,
        out: out_strides,
    };
    // SAFETY: the caller's contract.
    unsafe { batched(dtype, shape, a, b, out, 1, |_| [0; 3]) }
}

/// A product for each of `batch` offsets, in elements, of `a`, `b` and `out`.
///
/// # Safety
/// That of [`matmul`] for every offset; the outputs do not overlap.
pub unsafe fn batched(
    dtype: DType,
    s: Shape,
    a: *const u8,
    b: *const u8,
    out: *mut u8,
    batch: usize,
    offsets: impl Fn(usize) -> [isize; 3] + Sync,
) {
    assert!(dtype != DType::Bool, "a matrix product of bool tensors");
    if s.m == 0 || s.n == 0 {
        return;
    }
    let all = Pointers { a, b, out };
    // pieces of the longer side, from the shapes alone
    let by_rows = s.m >= s.n;
    let side = if by_rows { s.m } else { s.n };
    let work = s.m.saturating_mul(s.n).saturating_mul(s.k);
    let pieces = if work < SMALL || batch >= 16 {
        1
    } else {
        (side / (4 * ALIGN)).clamp(1, 4)
    };
    let step = side.div_ceil(pieces).next_multiple_of(ALIGN);
    let pieces = side.div_ceil(step);
    parts(
        cost(dtype, &s).saturating_mul(batch as u64),
        batch * pieces,
        |range| {
            let all = &all;
            for item in range {
                let (i, from) = (item / pieces, item % pieces * step);
                let len = step.min(side - from);
                let mut piece = s;
                let mut at = all.offset(offsets(i), dtype.size());
                if by_rows {
                    piece.m = len;
                    at = at.offset(
                        [from as isize * s.a[0], 0, from as isize * s.out[0]],
                        dtype.size(),
                    );
                } else {
                    piece.n = len;
                    at = at.offset(
                        [0, from as isize * s.b[1], from as isize * s.out[1]],
                        dtype.size(),
                    );
                }
                // SAFETY: the caller's contract; the piece is a part of the product.
                unsafe { product(dtype, &piece, at) };
            }
        },
    );
}

/// # Safety
/// That of [`matmul`].
unsafe fn product(dtype: DType, s: &Shape, p: Pointers) {
    // SAFETY: the caller's contract.
    unsafe {
        match dtype {
            DType::F32 => float::<f32>(s, p, 0.0, 1.0),
            DType::F64 => float::<f64>(s, p, 0.0, 1.0),
            DType::F16 => half_product::<f16>(s, p),
            DType::BF16 => half_product::<bf16>(s, p),
            DType::I32 => integers::<i32>(s, p),
            DType::I64 => integers::<i64>(s, p),
            DType::U8 => integers::<u8>(s, p),
            DType::Bool => unreachable!("refused by `batched`"),
        }
    }
}

/// # Safety
/// That of [`matmul`].
unsafe fn float<T: 'static + Copy>(s: &Shape, p: Pointers, zero: T, one: T) {
    // SAFETY: the caller's contract; `out` is not read.
    unsafe {
        gemm::gemm(
            s.m,
            s.n,
            s.k,
            p.out.cast::<T>(),
            s.out[1],
            s.out[0],
            false,
            p.a.cast::<T>(),
            s.a[1],
            s.a[0],
            p.b.cast::<T>(),
            s.b[1],
            s.b[0],
            zero,
            one,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

/// Widens a strided matrix to dense f32 rows.
///
/// # Safety
/// `src` is readable at all elements; `dst` has room for them.
unsafe fn widen<S: Store<Elem = f32>>(
    src: *const u8,
    rows: usize,
    cols: usize,
    [r, c]: [isize; 2],
    dst: *mut f32,
) {
    let src = src.cast::<S>();
    for i in 0..rows {
        for j in 0..cols {
            // SAFETY: the caller's contract.
            unsafe { *dst.add(i * cols + j) = (*src.offset(i as isize * r + j as isize * c)).load() };
        }
    }
}

/// # Safety
/// That of [`matmul`].
unsafe fn half_product<S: Store<Elem = f32>>(s: &Shape, p: Pointers) {
    let (na, nb) = ((s.m * s.k).next_multiple_of(16), (s.k * s.n).next_multiple_of(16));
    let scratch = Scratch::new((na + nb + s.m * s.n) * 4);
    let base = scratch.ptr().cast::<f32>();
    // SAFETY: three dense matrices in the scratch; the caller's contract for the rest.
    unsafe {
        let (a, b, out) = (base, base.add(na), base.add(na + nb));
        widen::<S>(p.a, s.m, s.k, s.a, a);
        widen::<S>(p.b, s.k, s.n, s.b, b);
        let dense = |cols: usize| [cols as isize, 1];
        let wide = Shape {
            a: dense(s.k),
            b: dense(s.n),
            out: dense(s.n),
            ..*s
        };
        float::<f32>(
            &wide,
            Pointers {
                a: a.cast(),
                b: b.cast(),
                out: out.cast(),
            },
            0.0,
            1.0,
        );
        let to = p.out.cast::<S>();
        for i in 0..s.m {
            for j in 0..s.n {
                *to.offset(i as isize * s.out[0] + j as isize * s.out[1]) = S::store(*out.add(i * s.n + j));
            }
        }
    }
}

/// An integer with wrapping arithmetic.
trait Wrapping: Copy + 'static {
    const ZERO: Self;
    fn multiply_add(self, a: Self, b: Self) -> Self;
}
macro_rules! wrapping {
    ($($t:ty)*) => {$(
        impl Wrapping for $t {
            const ZERO: $t = 0;
            #[inline(always)]
            fn multiply_add(self, a: $t, b: $t) -> $t { self.wrapping_add(a.wrapping_mul(b)) }
        }
    )*};
}
wrapping!(i32 i64 u8);

/// Columns of the output that stay in L1 while `k` runs.
const COLUMNS: usize = 512;

/// `sums[j] += a * b[j]`.
///
/// # Safety
/// `b` and `sums` have `n` elements and do not overlap.
#[inline(always)]
#[allow(clippy::extra_unused_type_parameters)] // what `per_isa!` passes
unsafe fn axpy<I: Wrapping, T: Tier>(a: *const u8, b: *const u8, sums: *mut u8, n: usize) {
    #[inline(always)]
    fn lanes<I: Wrapping>(a: I, b: &[I], sums: &mut [I]) {
        for (s, b) in sums.iter_mut().zip(b) {
            *s = s.multiply_add(a, *b);
        }
    }
    // SAFETY: the caller's contract.
    unsafe {
        lanes(
            *a.cast::<I>(),
            std::slice::from_raw_parts(b.cast(), n),
            std::slice::from_raw_parts_mut(sums.cast(), n),
        )
    }
}

/// # Safety
/// That of [`matmul`].
unsafe fn integers<I: Wrapping + Axpy>(s: &Shape, p: Pointers) {
    let size = size_of::<I>();
    // a panel of b, rows contiguous, and one row of sums
    let scratch = Scratch::new((s.k + 1) * COLUMNS.min(s.n) * size);
    let axpy = I::axpy()[isa() as usize];
    let (a, b, out) = (p.a.cast::<I>(), p.b.cast::<I>(), p.out.cast::<I>());
    // SAFETY: the caller's contract; the panel has room for `k` rows of `w` elements, and the sums for one.
    unsafe {
        let mut j = 0;
        while j < s.n {
            let w = COLUMNS.min(s.n - j);
            let panel = scratch.ptr().cast::<I>();
            let sums = panel.add(s.k * w);
            for l in 0..s.k {
                for c in 0..w {
                    *panel.add(l * w + c) = *b.offset(l as isize * s.b[0] + (j + c) as isize * s.b[1]);
                }
            }
            for i in 0..s.m {
                std::slice::from_raw_parts_mut(sums, w).fill(I::ZERO);
                for l in 0..s.k {
                    let x = a.offset(i as isize * s.a[0] + l as isize * s.a[1]);
                    axpy(x.cast(), panel.add(l * w).cast(), sums.cast(), w);
                }
                for c in 0..w {
                    *out.offset(i as isize * s.out[0] + (j + c) as isize * s.out[1]) = *sums.add(c);
                }
            }
            j += w;
        }
    }
}

type AxpyFn = unsafe fn(a: *const u8, b: *const u8, sums: *mut u8, n: usize);

/// The instances of `axpy`.
trait Axpy {
    fn axpy() -> [AxpyFn; 3];
}
macro_rules! axpys {
    ($($t:ty)*) => {$(
        impl Axpy for $t {
            fn axpy() -> [AxpyFn; 3] {
                per_isa!(axpy::<$t>, fn(a: *const u8, b: *const u8, sums: *mut u8, n: usize))
            }
        }
    )*};
}
axpys!(i32 i64 u8);

#[cfg(test)]
mod tests {
    use super::super::par::with_threads;
    use super::*;

    fn check<T: Copy + PartialEq + std::fmt::Debug + Send + Sync>(
        dtype: DType,
        from: impl Fn(i64) -> T,
        dot: impl Fn(&[(T, T)]) -> T,
        close: impl Fn(T, T) -> bool,
        poison: T,
    ) {
        for (m, n, k) in [
            (0, 3, 2),
            (3, 0, 2),
            (2, 3, 0),
            (1, 1, 1),
            (1, 33, 7),
            (33, 1, 7),
            (7, 33, 65),
            (65, 70, 130),
        ] {
            let value = |i: usize, salt: usize| from(((i * 31 + salt) % 13) as i64 - 6);
            for transposed in 0..4 {
                let (ta, tb) = (transposed & 1 == 1, transposed & 2 == 2);
                let strides = |t: bool, r: usize, c: usize| if t { [1, r as isize] } else { [c as isize, 1] };
                let (sa, sb) = (strides(ta, m, k), strides(tb, k, n));
                let a: Vec<T> = (0..m * k).map(|i| value(i, 1)).collect();
                let b: Vec<T> = (0..k * n).map(|i| value(i, 5)).collect();
                let mut out = vec![poison; 2 * m * n];
                // SAFETY: the strides describe the vectors.
                unsafe {
                    let o = out.as_mut_ptr().cast();
                    matmul(
                        dtype,
                        m,
                        n,
                        k,
                        a.as_ptr().cast(),
                        sa,
                        b.as_ptr().cast(),
                        sb,
                        o,
                        [2 * n as isize, 2],
                    );
                }
                for i in 0..m {
                    for j in 0..n {
                        let pairs: Vec<(T, T)> = (0..k)
                            .map(|l| {
                                let at = |s: [isize; 2], r: usize, c: usize| {
                                    (r as isize * s[0] + c as isize * s[1]) as usize
                                };
                                (a[at(sa, i, l)], b[at(sb, l, j)])
                            })
                            .collect();
                        let (got, want) = (out[2 * (i * n + j)], dot(&pairs));
                        assert!(
                            close(got, want),
                            "{dtype} {m}x{n}x{k} {transposed}: {got:?} {want:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn every_dtype_and_layout() {
        check(
            DType::F32,
            |i| i as f32,
            |p| p.iter().map(|(a, b)| a * b).sum(),
            |x, y| x == y,
            f32::NAN,
        );
        check(
            DType::F64,
            |i| i as f64,
            |p| p.iter().map(|(a, b)| a * b).sum(),
            |x, y| x == y,
            f64::NAN,
        );
        check(
            DType::I32,
            |i| i as i32,
            |p| p.iter().map(|(a, b)| a * b).sum(),
            |x, y| x == y,
            -1,
        );
        check(
            DType::I64,
            |i| i << 60,
            |p| {
                p.iter()
                    .fold(0i64, |s, (a, b)| s.wrapping_add(a.wrapping_mul(*b)))
            },
            |x, y| x == y,
            -1,
        );
        check(
            DType::U8,
            |i| i as u8,
            |p| p.iter().fold(0u8, |s, (a, b)| s.wrapping_add(a.wrapping_mul(*b))),
            |x, y| x == y,
            9,
        );
        let dot = |p: &[(f16, f16)]| f16::from_f32(p.iter().map(|(a, b)| a.to_f32() * b.to_f32()).sum());
        check(
            DType::F16,
            |i| f16::from_f32(i as f32),
            dot,
            |x, y| x == y,
            f16::NAN,
        );
        let dot = |p: &[(bf16, bf16)]| bf16::from_f32(p.iter().map(|(a, b)| a.to_f32() * b.to_f32()).sum());
        check(
            DType::BF16,
            |i| bf16::from_f32(i as f32),
            dot,
            |x, y| x == y,
            bf16::NAN,
        );
    }

    #[test]
    fn nan_and_infinity_propagate() {
        let (a, b) = ([1.0f32, f32::INFINITY, 0.0, f32::NAN], [0.0f32, 1.0, 1.0, 1.0]);
        let mut out = [0.0f32; 4];
        // SAFETY: 2x2 matrices.
        unsafe {
            matmul(
                DType::F32,
                2,
                2,
                2,
                a.as_ptr().cast(),
                [2, 1],
                b.as_ptr().cast(),
                [2, 1],
                out.as_mut_ptr().cast(),
                [2, 1],
            );
        }
        assert!(
            out[0].is_infinite() && out[1].is_infinite() && out[2].is_nan() && out[3].is_nan(),
            "{out:?}"
        );
    }

    #[test]
    fn threads_and_batches_do_not_change_bits() {
        let (m, n, k) = (600, 300, 257);
        let a: Vec<f32> = (0..2 * m * k)
            .map(|i| (i * 37 % 101) as f32 * 0.013 - 0.6)
            .collect();
        let b: Vec<f32> = (0..k * n).map(|i| (i * 53 % 103) as f32 * 0.017 - 0.8).collect();
        let run = |threads: usize| {
            let mut out = vec![f32::NAN; 2 * m * n];
            let s = Shape {
                m,
                n,
                k,
                a: [k as isize, 1],
                b: [n as isize, 1],
                out: [n as isize, 1],
            };
            let o = Pointers {
                a: a.as_ptr().cast(),
                b: b.as_ptr().cast(),
                out: out.as_mut_ptr().cast(),
            };
            // SAFETY: two products with a common right side.
            with_threads(threads, || unsafe {
                batched(DType::F32, s, o.a, o.b, o.out, 2, |i| {
                    [(i * m * k) as isize, 0, (i * m * n) as isize]
                })
            });
            out
        };
        assert_eq!(run(1), run(2));
        assert!(run(2).iter().all(|v| v.is_finite()));
    }
}
