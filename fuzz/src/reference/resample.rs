//! `interpolate`: the element before a position, or a blend of its four neighbours.

use super::cell::{Cell, round_to, ulp};
use super::contract::finish;
use super::view::gather;
use super::window::target;
use super::{Array, Eval, floats, refuse, val};
use crate::case::{A, count, each};
use tensorplay_graph::{DType, Host};

/// A position among the elements of an axis and by how much it may be off.
fn position(i: usize, n: usize, out: usize, corners: bool, c: DType) -> (f64, f64) {
    let (i, len, to) = (i as f64, n as f64, out as f64);
    let at = match corners {
        true if out == 1 => 0.0,
        true => i * (len - 1.0) / (to - 1.0),
        false => (i + 0.5) * len / to - 0.5,
    };
    (at.clamp(0.0, len - 1.0), 4.0 * ulp(c, at.abs() + 1.0))
}

/// `interpolate`.
pub fn eval(args: &[A], v: &[Array]) -> Eval {
    let x = val(&args[0], v)?;
    let A::O(mode) = &args[2] else {
        return refuse("not a mode");
    };
    let nearest = mode[0] == Some(Host::Int(0));
    if !nearest {
        floats(&[Some(x)])?;
    }
    if x.shape.len() != 4 {
        return refuse("rank");
    }
    let (h, w) = (x.shape[2], x.shape[3]);
    let size = target(&args[1], [h, w])?;
    let shape = vec![x.shape[0], x.shape[1], size[0], size[1]];
    if nearest {
        return Ok(gather(x, shape, |at| {
            vec![at[0], at[1], at[2] * h / size[0], at[3] * w / size[1]]
        }));
    }
    let corners = mode[1] == Some(Host::Bool(true));
    let (d, c) = (x.dtype, x.dtype.compute());
    let mut cells = Vec::with_capacity(count(&shape));
    each(&shape, |at| {
        let plane = &x.cells[(at[0] * x.shape[1] + at[1]) * h * w..][..h * w];
        let (y, dy) = position(at[2], h, size[0], corners, c);
        let (z, dz) = position(at[3], w, size[1], corners, c);
        let (i, j) = (y as usize, z as usize);
        // the position may lie in a neighbouring square as well
        let (mut big, mut err) = (0.0f64, 0.0f64);
        for p in i.saturating_sub(1)..(i + 3).min(h) {
            for q in j.saturating_sub(1)..(j + 3).min(w) {
                let cell = plane[p * w + q];
                big = big.max(if cell.v.is_finite() {
                    cell.v.abs()
                } else {
                    f64::INFINITY
                });
                err = err.max(cell.e);
            }
        }
        if !(big + err).is_finite() || big + err > super::cell::largest(c) * 0.2 {
            return cells.push(Cell::any());
        }
        let (a, b) = (y - i as f64, z - j as f64);
        let of = |p: usize, q: usize| plane[p.min(h - 1) * w + q.min(w - 1)].v;
        let upper = of(i, j) * (1.0 - b) + of(i, j + 1) * b;
        let lower = of(i + 1, j) * (1.0 - b) + of(i + 1, j + 1) * b;
        let value = upper * (1.0 - a) + lower * a;
        let e = 2.0 * big * (dy + dz) + 8.0 * ulp(c, big) + err;
        let e = if d == DType::F64 { 2.0 * e } else { e };
        debug_assert!(round_to(d, value).is_finite() || d.is_half());
        cells.push(finish(d, value, e, value.abs(), 1.0));
    });
    Ok(Array::of(d, shape, cells))
}
