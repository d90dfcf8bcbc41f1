//! Images of another size.
//!
//! Problem: every output mixes four inputs at a fractional position. Method: positions and weights of the columns are
//! computed once; the rows of outputs are shared out, and a part keeps the two input rows that it mixed last, resampled
//! along the columns, so that rows between the same two inputs cost one vectorised pass each.
//!
//! Invariants: positions are computed in the compute type, by PyTorch's formulas and in its order (f32 positions in f64
//! would differ by more than the tolerance in large images); columns are mixed before rows. Half types are rounded once.

use super::float::{Real, Shared, with_float};
use super::{In, Out};
use crate::element::Element;
use crate::kernels::arena::Scratch;
use crate::kernels::par::parts;
use crate::lane::Store;
use std::mem::MaybeUninit;

/// Two neighbours that an output lies between, and the weight of the second.
#[derive(Clone, Copy, Debug)]
struct Position<E> {
    from: usize,
    to: usize,
    weight: E,
}

/// The positions of `outputs` among `inputs` elements.
fn positions<E: Real>(inputs: usize, outputs: usize, align_corners: bool) -> Vec<Position<E>> {
    let real = |n: usize| E::from_f64(n as f64);
    let half = E::from_f64(0.5);
    let scale = match (align_corners, outputs) {
        (true, 0 | 1) => E::default(),
        (true, _) => real(inputs - 1) / real(outputs - 1),
        (false, _) => real(inputs) / real(outputs),
    };
    let position = |i: usize| {
        let at = match align_corners {
            true => scale * real(i),
            false => scale * (real(i) + half) - half,
        };
        // not below 0, so truncation is the floor
        let at = if at < E::default() { E::default() } else { at };
        let from = (at.to_f64() as usize).min(inputs - 1);
        let weight = at - real(from);
        let one = real(1);
        Position {
            from,
            to: (from + 1).min(inputs - 1),
            weight: if weight > one { one } else { weight },
        }
    };
    (0..outputs).map(position).collect()
}

/// Resamples `x` [N, C, H, W] to [N, C, OH, OW] by the two nearest rows and columns. Floats.
pub(crate) fn bilinear(x: In, align_corners: bool, out: Out) {
    if out.count() == 0 {
        return;
    }
    with_float!(x.dtype, S => typed::<S>(x, align_corners, out))
}

fn typed<S: Store<Elem: Real> + Element>(x: In, align_corners: bool, mut out: Out) {
    let (h, w, rows, cols) = (x.shape[2], x.shape[3], out.shape[2], out.shape[3]);
    let ys = positions::<S::Elem>(h, rows, align_corners);
    let xs = positions::<S::Elem>(w, cols, align_corners);
    let one = <S::Elem as Element>::from_f64(1.0);
    let (x, count) = (x.of::<S>(), out.count());
    let out = Shared::<S>::new(out.of::<S>().as_mut_ptr());
    parts(count as u64 * 2, count / cols, |range| {
        let scratch = Scratch::new(2 * cols * size_of::<S::Elem>());
        // SAFETY: the scratch has two rows; any bytes are a number.
        let kept = unsafe { std::slice::from_raw_parts_mut(scratch.ptr().cast::<S::Elem>(), 2 * cols) };
        let (mut upper, mut lower) = kept.split_at_mut(cols);
        // the input rows (of all planes) that they hold
        let mut held = [usize::MAX; 2];
        let fill = |row: usize, to: &mut [S::Elem]| {
            let row = &x[row * w..][..w];
            for (to, p) in to.iter_mut().zip(&xs) {
                *to = (one - p.weight) * row[p.from].load() + p.weight * row[p.to].load();
            }
        };
        for row in range {
            let (plane, y) = (row / rows * h, ys[row % rows]);
            let wanted = [plane + y.from, plane + y.to];
            if held[0] != wanted[0] && held[1] == wanted[0] {
                std::mem::swap(&mut upper, &mut lower);
                held.swap(0, 1);
            }
            if held[0] != wanted[0] {
                fill(wanted[0], upper);
            }
            if held[1] != wanted[1] {
                fill(wanted[1], lower);
            }
            held = wanted;
            // SAFETY: the row lies in the output and is this part's.
            let to =
                unsafe { std::slice::from_raw_parts_mut(out.at(row * cols).cast::<MaybeUninit<S>>(), cols) };
            for ((to, &a), &b) in to.iter_mut().zip(&*upper).zip(&*lower) {
                to.write(S::store((one - y.weight) * a + y.weight * b));
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::super::float::testing::{close, input, output, values};
    use super::*;
    use half::{bf16, f16};

    fn check<S: Store<Elem: Real> + Element>() {
        for (planes, [h, w], [oh, ow]) in [
            ([1, 1], [1, 1], [1, 1]),
            ([1, 1], [1, 1], [3, 4]),
            ([2, 3], [4, 5], [8, 10]),
            ([2, 3], [7, 9], [3, 5]),
            ([1, 2], [5, 4], [5, 4]),
            ([3, 1], [3, 200], [211, 67]),
            ([0, 1], [3, 2], [2, 3]),
            ([1, 2], [6, 7], [1, 1]),
        ] {
            let x = values::<S>(planes[0] * planes[1] * h * w, 1);
            for align_corners in [false, true] {
                let shape = [planes[0], planes[1], oh, ow];
                let got = output::<S>(&shape, |out| {
                    bilinear(input(&[planes[0], planes[1], h, w], &x), align_corners, out)
                });
                let at = |i: usize, n: usize, m: usize| {
                    let at = match align_corners {
                        true if m == 1 => 0.0,
                        true => i as f64 * (n - 1) as f64 / (m - 1) as f64,
                        false => ((i as f64 + 0.5) * n as f64 / m as f64 - 0.5).max(0.0),
                    };
                    let from = (at.floor() as usize).min(n - 1);
                    (from, (from + 1).min(n - 1), at - from as f64)
                };
                let mut want = vec![];
                for i in 0..planes[0] * planes[1] * oh * ow {
                    let (y, x_) = (at(i / ow % oh, h, oh), at(i % ow, w, ow));
                    let v = |r: usize, c: usize| x[(i / (oh * ow) * h + r) * w + c].to_f64();
                    let mix = |r: usize| (1.0 - x_.2) * v(r, x_.0) + x_.2 * v(r, x_.1);
                    want.push((1.0 - y.2) * mix(y.0) + y.2 * mix(y.1));
                }
                // positions up to 200 are rounded to 2^-17
                let scale = if w < 100 { 1.0 } else { 32.0 };
                close(&got, &want, scale, &(h, w, oh, ow, align_corners));
            }
        }
    }

    #[test]
    fn sizes_and_dtypes() {
        check::<f32>();
        check::<f64>();
        check::<f16>();
        check::<bf16>();
    }

    #[test]
    fn known_values() {
        let x = [1.0f32, 2.0, 3.0, 4.0];
        let run = |align, n: usize| {
            output::<f32>(&[1, 1, n, n], |out| {
                bilinear(input(&[1, 1, 2, 2], &x), align, out)
            })
        };
        let want = [
            1.0, 1.25, 1.75, 2.0, 1.5, 1.75, 2.25, 2.5, 2.5, 2.75, 3.25, 3.5, 3.0, 3.25, 3.75, 4.0,
        ];
        assert_eq!(run(false, 4), want);
        assert_eq!(run(true, 3), [1.0, 1.5, 2.0, 2.0, 2.5, 3.0, 3.0, 3.5, 4.0]);
        assert_eq!(run(false, 1), [2.5]);
        assert_eq!(run(true, 1), [1.0]);
    }

    #[test]
    fn nan_stays_between_its_neighbours() {
        let mut x = [1.0f32; 16];
        x[0] = f32::NAN;
        let got = output::<f32>(&[1, 1, 8, 8], |out| {
            bilinear(input(&[1, 1, 4, 4], &x), false, out)
        });
        for (i, v) in got.iter().enumerate() {
            assert_eq!(v.is_nan(), i / 8 < 3 && i % 8 < 3, "{i}: {v}");
        }
    }
}
