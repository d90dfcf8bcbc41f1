//! Scaled dot-product attention.
//!
//! Problem: `softmax(scale * q k^T + mask) v` without the L x S scores in memory. Method: a block of query rows at a time
//! makes its scores by `gemm` in scratch, turns each row into exponentials (less its maximum), multiplies them by `v`
//! and divides by their sums. The scale goes into the block's copy of `q`. Half types are widened before and rounded
//! once, after the division. Under a causal mask a block skips the keys behind its last row.
//!
//! Invariants: blocks depend on the shapes only, so results do not depend on the thread count. A row whose keys are all
//! masked (or that has none) is 0. A NaN score makes its row NaN; a NaN under a Bool or causal mask is no score, but a NaN
//! or infinity in `v` does reach the rows of its block that mask it, times 0.

use super::float::{Real, Shared, Wide, is_wide, narrow, product, with_float};
use super::{In, Out};
use crate::DType;
use crate::element::Element;
use crate::kernels::arena::Scratch;
use crate::kernels::gemm::Shape;
use crate::kernels::par::parts;
use crate::kernels::tier::{isa, per_isa};
use crate::lane::{Lane, Store, Tier};

/// Bytes of the scores of a block.
const BLOCK: usize = 512 << 10;
/// Sums and maxima of a row that run side by side.
const LANES: usize = 16;

/// Options of attention.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attention {
    /// Query i sees the keys up to i.
    pub causal: bool,
    /// What scores are multiplied by: 1 / sqrt(E) unless given.
    pub scale: Option<f64>,
}

/// A compute type with a row kernel.
trait Exponentials: Real {
    /// For arguments up to 0; may flush results that vanish beside 1.
    fn exp<T: Tier>(self) -> Self;
    fn exponentials() -> ExponentialsFn;
}

/// Replaces the `n` scores of a row by `exp(score - maximum)` and returns their sum: 0 where all are -infinity.
type ExponentialsFn = unsafe fn(row: *mut u8, n: usize) -> f64;

macro_rules! exponentials {
    ($($t:ident: $name:ident;)*) => {$(
        impl Exponentials for $t {
            #[inline(always)]
            fn exp<T: Tier>(self) -> $t { Lane::<$t, T>::new(self).$name().get() }
            fn exponentials() -> ExponentialsFn {
                per_isa!(exponentials::<$t>, fn(row: *mut u8, n: usize) -> f64)[isa() as usize]
            }
        }
    )*};
}
exponentials! {
    f32: exp_flush;
    f64: exp;
}

/// # Safety
/// `row` has `n` elements of type `E`, and nothing else touches them.
#[inline(always)]
unsafe fn exponentials<E: Exponentials, T: Tier>(row: *mut u8, n: usize) -> f64 {
    // SAFETY: the caller's contract.
    let row = unsafe { std::slice::from_raw_parts_mut(row.cast::<E>(), n) };
    let mut lanes = [E::NEG_INFINITY; LANES];
    for run in row.chunks(LANES) {
        for (max, &x) in lanes.iter_mut().zip(run) {
            *max = if x > *max { x } else { *max };
        }
    }
    let max = lanes
        .into_iter()
        .fold(E::NEG_INFINITY, |a, x| if x > a { x } else { a });
    // NaN is never a maximum; as an exponential it makes the sum NaN
    if max == E::NEG_INFINITY && row.iter().all(|&x| x == max) {
        row.fill(E::default());
        return 0.0;
    }
    let mut sums = [E::default(); LANES];
    for run in row.chunks_mut(LANES) {
        for (sum, x) in sums.iter_mut().zip(run) {
            *x = (*x - max).exp::<T>();
            *sum += *x;
        }
    }
    sums.iter().map(|s| s.to_f64()).sum()
}

/// A mask, and how it is broadcast to the scores: a stride for each of their dimensions.
struct Mask<'a> {
    mask: In<'a>,
    strides: Vec<usize>,
}

impl<'a> Mask<'a> {
    fn new(mask: In<'a>, rank: usize) -> Self {
        let mut strides = vec![0; rank];
        let mut stride = 1;
        for (to, &size) in strides.iter_mut().rev().zip(mask.shape.iter().rev()) {
            *to = if size == 1 { 0 } else { stride };
            stride *= size;
        }
        Mask { mask, strides }
    }

    /// The element at the first score of a batch.
    fn base(&self, mut batch: usize, leading: &[usize]) -> usize {
        let mut at = 0;
        for (&size, stride) in leading.iter().zip(&self.strides).rev() {
            at += batch % size * stride;
            batch /= size;
        }
        at
    }

    /// Masks the first scores of row `i`.
    fn apply<S: Store<Elem: Real> + Element>(&self, base: usize, i: usize, scores: &mut [S::Elem]) {
        let &[.., row, step] = &self.strides[..] else {
            return;
        };
        let from = base + i * row;
        let at = |j: usize| from + j * step;
        if self.mask.dtype == DType::Bool {
            let keep = self.mask.of::<bool>();
            for (j, s) in scores.iter_mut().enumerate() {
                *s = if keep[at(j)] { *s } else { Real::NEG_INFINITY };
            }
        } else {
            let add = self.mask.of::<S>();
            if step == 1 {
                let add = &add[from..from + scores.len()];
                scores.iter_mut().zip(add).for_each(|(s, m)| *s += m.load());
            } else {
                (scores.iter_mut().enumerate()).for_each(|(j, s)| *s += add[at(j)].load());
            }
        }
    }
}

/// Attention of `q` [.., L, E] over `k` [.., S, E] and `v` [.., S, Ev], into [.., L, Ev]. The mask broadcasts to [.., L, S]:
/// Bool (true keeps a key) or of the dtype of `q` (added to the scores). Floats.
pub(crate) fn attention(q: In, k: In, v: In, mask: Option<In>, o: &Attention, out: Out) {
    if out.count() == 0 {
        return;
    }
    with_float!(q.dtype, T => typed::<T>(q, k, v, mask, o, out))
}

fn typed<S: Store<Elem: Exponentials> + Element>(
    q: In,
    k: In,
    v: In,
    mask: Option<In>,
    o: &Attention,
    mut out: Out,
) {
    let rank = q.shape.len();
    let (leading, rows, e) = (&q.shape[..rank - 2], q.shape[rank - 2], q.shape[rank - 1]);
    let (keys, ev) = (v.shape[rank - 2], v.shape[rank - 1]);
    let batch: usize = leading.iter().product();
    let size = size_of::<S::Elem>();
    // without elements there is nothing to scale
    let scale = o.scale.unwrap_or(1.0 / (e.max(1) as f64).sqrt());
    let scale = <S::Elem as Element>::from_f64(scale);
    let step = (BLOCK / (keys * size).max(1)).clamp(16, 128).min(rows);
    let blocks = rows.div_ceil(step);
    let mask = mask.map(|m| Mask::new(m, rank));
    let (k, v) = (Wide::new::<S>(k), Wide::new::<S>(v));
    let (k, v) = (k.data(), v.data());
    let q = q.of::<S>();
    let out = Shared::<S>::new(out.of::<S>().as_mut_ptr());
    let exponentials = S::Elem::exponentials();
    let work = [batch, rows, keys, e + ev + 40];
    let work = work.iter().fold(1u64, |a, &b| a.saturating_mul(b as u64));
    parts(work / (160 / size as u64), batch * blocks, |range| {
        let queries = Scratch::new(step * e * size);
        let scores = Scratch::new(step * keys * size);
        let sums = Scratch::new(if is_wide::<S>() { 0 } else { step * ev * size });
        let (queries, scores) = (queries.ptr().cast::<S::Elem>(), scores.ptr().cast::<S::Elem>());
        for item in range {
            let (b, first) = (item / blocks, item % blocks * step);
            let n = step.min(rows - first);
            let seen = if o.causal { keys.min(first + n) } else { keys };
            let to = out.at((b * rows + first) * ev);
            let sums = if is_wide::<S>() {
                to.cast()
            } else {
                sums.ptr().cast::<S::Elem>()
            };
            let base = mask.as_ref().map_or(0, |m| m.base(b, leading));
            let mut totals = [0.0; 128];
            // SAFETY: the scratches have room for `step` rows; the rows of the output are this item's.
            unsafe {
                for (i, x) in q[(b * rows + first) * e..][..n * e].iter().enumerate() {
                    queries.add(i).write(x.load() * scale);
                }
                let shape = Shape {
                    m: n,
                    n: seen,
                    k: e,
                    a: [e as isize, 1],
                    b: [1, e as isize],
                    out: [seen as isize, 1],
                };
                product(shape, queries, k.at(b * keys * e), scores);
                for (i, total) in totals[..n].iter_mut().enumerate() {
                    let row = std::slice::from_raw_parts_mut(scores.add(i * seen), seen);
                    let visible = if o.causal { seen.min(first + i + 1) } else { seen };
                    let (row, hidden) = row.split_at_mut(visible);
                    if let Some(m) = &mask {
                        m.apply::<S>(base, first + i, row);
                    }
                    *total = exponentials(row.as_mut_ptr().cast(), visible);
                    hidden.fill(S::Elem::default());
                }
                let shape = Shape {
                    m: n,
                    n: ev,
                    k: seen,
                    a: [seen as isize, 1],
                    b: [ev as isize, 1],
                    out: [ev as isize, 1],
                };
                product(shape, scores, v.at(b * keys * ev), sums);
                for (i, &total) in totals[..n].iter().enumerate() {
                    let row = std::slice::from_raw_parts_mut(sums.add(i * ev), ev);
                    if total == 0.0 {
                        row.fill(S::Elem::default());
                    } else {
                        let total = <S::Elem as Element>::from_f64(total);
                        row.iter_mut().for_each(|x| *x = *x / total);
                    }
                }
                if !is_wide::<S>() {
                    narrow::<S>(sums, S::Elem::default(), to, n * ev);
                }
            }
        }
    });
}

#[cfg(test)]
mod tests;
