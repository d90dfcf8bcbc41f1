//! Scans and sorting.

use crate::check::{assert_exact, both, counting, grid, one, row};
use tensorplay::{compile, prelude::*};

const INF: f32 = f32::INFINITY;

#[test]
fn report_016_a_scan_of_infinities() {
    for n in [4usize, 129, 4097] {
        exact!([x: f32 = row(vec![INF; n])] x.cumsum(0) => row(vec![INF; n]));
        exact!([x: f32 = row(vec![-INF; n]).reshape((n, 1))]
            x.cumsum(0)
            => row(vec![-INF; n]).reshape((n, 1)));
        exact!([x: f32 = row(vec![INF; n])] x.cumprod(0) => row(vec![INF; n]));
    }
}

#[test]
fn report_033_ties_stay_in_order() {
    #[compile]
    fn largest(x: &Tensor) -> (Tensor, Tensor) {
        x.topk(3, -1)
    }
    #[compile]
    fn sorted(x: &Tensor) -> (Tensor, Tensor, Tensor, Tensor) {
        let (down, from) = x.sort(1, true);
        let (up, of) = x.sort(-1, false);
        (down, from, up, of)
    }
    for dtype in [DType::F32, DType::I32, DType::I64, DType::U8] {
        let x = grid([[3i64, 7, 7, 1], [5, 5, 2, 5]]).to_dtype(dtype);
        for (values, indices) in both(|| largest(&x)) {
            assert_exact(&values, &grid([[7i64, 7, 3], [5, 5, 5]]).to_dtype(dtype));
            assert_exact(&indices, &grid([[1i64, 2, 0], [0, 1, 3]]));
        }
        for (down, from, up, of) in both(|| sorted(&x)) {
            assert_exact(&down, &grid([[7i64, 7, 3, 1], [5, 5, 5, 2]]).to_dtype(dtype));
            assert_exact(&from, &grid([[1i64, 2, 0, 3], [0, 1, 3, 2]]));
            assert_exact(&up, &grid([[1i64, 3, 7, 7], [2, 5, 5, 5]]).to_dtype(dtype));
            assert_exact(&of, &grid([[3i64, 0, 1, 2], [2, 0, 1, 3]]));
        }
    }
}

#[test]
fn report_036_a_scan_of_a_single_number() {
    exact!([] Tensor::full((), 5, DType::F32).cumsum(0) => one(5.0f32));
    exact!([x: f32 = one(5.0f32)] x.cumsum(-1) => one(5.0f32));
    exact!([x: i32 = one(5i32)] x.cumsum(0) => one(5i64));
}

#[test]
fn report_037_a_scan_without_elements() {
    let x = Tensor::zeros((0, 3), DType::F32);
    exact!([x: f32 = x] x.cumsum(0) => x);
    exact!([x: f32 = x] x.cumsum(1) => x);
    let turned = x.t();
    exact!([x: f32 = turned] x.cumprod(1) => turned);
}

#[test]
fn report_073_a_reversed_scan_of_an_odd_length() {
    let want = row([36i64, 36, 35, 33, 30, 26, 21, 15, 8]);
    let x = Tensor::arange(0, 9, DType::I64);
    exact!([x: i64 = x] x.flip(0).cumsum(0).flip(0) => want);
    exact!([x: f32 = x] x.flip(0).cumsum(0).flip(0) => want.to_dtype(DType::F32));
    exact!([x: f32 = x] x.sum_keepdim(0) - x.cumsum(0) + x => want.to_dtype(DType::F32));
}

#[test]
fn report_074_a_scan_of_a_broadcast_sum() {
    let x = Tensor::ones((129, 2), DType::F32);
    let want = counting(&[129, 1]) * row([2.0f32, 3.0]) + row([2.0f32, 3.0]);
    assert_eq!(want.select(0, 128).to_vec::<f32>(), [258.0, 387.0]);
    exact!([x: f32 = x, y: f32 = row([1.0f32, 2.0])] (x + y).cumsum(0) => want);
    exact!([x: f32 = x, y: f32 = row([1.0f32, 2.0])] (x + y).t().cumsum(1).t() => want);
}

#[test]
fn report_076_a_long_scan_does_not_drift() {
    let million = row([0.1f32]).expand(1_000_000);
    near!(1e-6, [x: f32 = million] x.cumsum(0).select(0, -1) => one(100_000f64));
    near!(1e-6, [x: f32 = million] x.reshape((-1, 1)).cumsum(0).select(0, -1) => row([100_000f64]));
}
