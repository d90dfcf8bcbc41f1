//! NaN, infinities and the sign of zero.

use crate::check::{grid, one, row};
use tensorplay::{compile, prelude::*};

const NAN: f32 = f32::NAN;
const INF: f32 = f32::INFINITY;

#[test]
fn report_001_maximum_keeps_nan_of_either_operand() {
    let (a, b) = (row([NAN, -2.0, 3.0]), row([0.0, NAN, 1.0]));
    floats!([x = a, y = b] x.maximum(y) => row([NAN, NAN, 3.0]));
    floats!([x = a, y = b] y.maximum(x) => row([NAN, NAN, 3.0]));
    floats!([x = a, y = b] x.minimum(y) => row([NAN, NAN, 1.0]));
    floats!([x = a, y = b] y.minimum(x) => row([NAN, NAN, 1.0]));
    floats!([x = a] x.clamp_min(0.5) => row([NAN, 0.5, 3.0]));
    floats!([x = a] x.clamp_max(0.5) => row([NAN, -2.0, 0.5]));
    floats!([x = a] x.clamp(-1.0, 1.0) => row([NAN, -1.0, 1.0]));
    floats!([x = a] x.max(0) => one(NAN));
    floats!([x = b] x.min(0) => one(NAN));
}

#[test]
fn report_002_the_first_nan_is_the_argmax() {
    exact!([x: f32 = row([NAN, 4.6151])] x.argmax(0) => one(0i64));
    exact!([x: f64 = row([4.0, NAN, 5.0, NAN])] x.argmax(0) => one(1i64));
    exact!([x: f16 = row([4.0, NAN, -5.0, NAN])] x.argmin(0) => one(1i64));
}

#[test]
fn report_002_the_first_nan_of_a_long_row_is_the_argmax() {
    for at in [0, 1, 31, 63, 64, 200, 999] {
        let mut values: Vec<f32> = (0..1000).map(|i| (i * 37 % 101) as f32).collect();
        values[at] = NAN;
        values[999] = NAN;
        exact!([x: f32 = row(&values)] x.argmax(0) => one(at as i64));
        exact!([x: f32 = row(&values)] x.argmin(0) => one(at as i64));
    }
}

#[test]
fn report_004_infinities_and_nan_as_constants() {
    let x = row([-1.0f32, 0.2, 1e30]);
    floats!([x = x] x.clamp(-0.5, f64::INFINITY) => row([-0.5f32, 0.2, 1e30]));
    floats!([x = x] x.clamp(f64::NEG_INFINITY, 0.125) => row([-1.0f32, 0.125, 0.125]));
    floats!([x = x] x.clamp(f32::NEG_INFINITY, f32::INFINITY) => row([-1.0f32, 0.2, 1e30]));
    floats!([x = x] x * f64::NEG_INFINITY => row([INF, -INF, -INF]));
    floats!([x = x] x.maximum(f64::NAN) => row([NAN; 3]));
    floats!([x = x] x + f32::NAN => row([NAN; 3]));
    floats!([x = x] x.isnan().where_cond(x, -f64::INFINITY) => row([-INF; 3]));
    exact!([]
        Tensor::full(2, f64::NEG_INFINITY, DType::F16) + f64::INFINITY
        => row([NAN; 2]).to_dtype(DType::F16));
    exact!([] Tensor::full(1, f64::INFINITY, DType::F64) * -2.0 => row([f64::NEG_INFINITY]));
}

#[test]
fn report_005_nan_from_constants() {
    let nan = grid([[NAN; 2]; 2]);
    exact!([]
        Tensor::ones((2, 2), DType::F32).atan2(&Tensor::ones((2, 2), DType::F32)).log2().acosh().softmax(1)
        => nan);
    exact!([x: f32 = Tensor::ones((2, 2), DType::F32)] x.atan2(x).log2().acosh().softmax(1) => nan);
}

#[test]
fn report_006_casts_of_constants_saturate() {
    let sum = one(4_294_967_294i64);
    exact!([] Tensor::full(2, f64::INFINITY, DType::F32).to_dtype(DType::I32).sum_all() => sum);
    exact!([x: f32 = row([INF, INF])] x.to_dtype(DType::I32).sum_all() => sum);
    let x = row([INF, -INF, NAN, 300.7, -1.5]);
    exact!([x: f32 = x] x.to_dtype(DType::I32) => row([i32::MAX, i32::MIN, 0, 300, -1]));
    exact!([x: f64 = x] x.to_dtype(DType::I64) => row([i64::MAX, i64::MIN, 0, 300, -1]));
    exact!([x: f16 = x] x.to_dtype(DType::U8) => row([255u8, 0, 0, 255, 0]));
    exact!([] Tensor::full(1, f64::NAN, DType::F64).to_dtype(DType::I64) => row([0i64]));
}

#[test]
fn report_008_adding_zero_is_an_addition() {
    let x = row([-0.5f32]);
    floats!([x = x] 1.0 / (x.ceil() + 0.0) => row([INF]));
    floats!([x = x] 1.0 / (x.ceil() + 0) => row([INF]));
    floats!([x = x] 1.0 / (0.0 + x.ceil()) => row([INF]));
    floats!([x = x] 1.0 / (x.ceil() - 0.0) => row([-INF]));
    floats!([x = x] 1.0 / (x.ceil() + -0.0) => row([-INF]));
    floats!([x = x] 1.0 / (x.ceil() + x.zeros_like()) => row([INF]));
    floats!([x = x] 1.0 / (x.ceil() * 1.0) => row([-INF]));
    exact!([] 1.0 / (Tensor::full(1, -0.5, DType::F32).ceil() + 0.0) => row([INF]));
    floats!([x = row([NAN, INF, -1.0])] x * 0.0 => row([NAN, NAN, -0.0]));
    floats!([x = row([NAN, INF, -1.0])] x - x => row([NAN, NAN, 0.0]));
}

#[test]
fn report_009_negation_flips_the_sign_of_zero() {
    let x = row([0.0f32, -0.0]);
    floats!([x = x] -x => row([-0.0f32, 0.0]));
    floats!([x = x] x.neg() => row([-0.0f32, 0.0]));
    floats!([x = x] 0.0 - x => row([0.0f32, 0.0]));
    floats!([x = x] x * -1.0 => row([-0.0f32, 0.0]));
    floats!([x = x] -(-x) => x);
}

#[test]
fn report_010_the_fraction_of_a_whole_number_is_plus_zero() {
    floats!([x = row([-0.0f32, -2.0, 3.0])] 1.0 / x.frac() => row([INF; 3]));
    floats!([x = row([-1.5f32, 2.25])] x.frac() => row([-0.5f32, 0.25]));
}

#[test]
fn report_012_of_zeros_of_both_signs_the_first_wins() {
    let (a, b) = (row([-0.0f32, 0.0]), row([0.0f32, -0.0]));
    floats!([x = a, y = b] x.minimum(y) => a);
    floats!([x = a, y = b] x.maximum(y) => a);
    floats!([x = a, y = b] y.minimum(x) => b);
    floats!([x = a, y = b] y.maximum(x) => b);
    floats!([x = a] x.clamp(0.0, 0.0) => a);
}

#[test]
fn report_013_the_sign_of_minus_zero() {
    floats!([x = row([-0.0f32, 0.0])] x.ones_like().copysign(x) => row([-1.0f32, 1.0]));
}

#[test]
fn report_014_softmax_of_infinities() {
    let x = grid([[INF, 0.0], [-INF, 0.0], [-INF, -INF]]);
    let want = grid([[NAN, NAN], [0.0, 1.0], [NAN, NAN]]);
    floats!([x = x] x.softmax(1) => want);
    floats!([x = x.t()] x.softmax(0) => want.t());
    let want = grid([[NAN, NAN], [-INF, 0.0], [NAN, NAN]]);
    floats!([x = x] x.log_softmax(-1) => want);
}

#[test]
fn report_017_floor_division_of_infinity() {
    floats!([x = row([INF, -INF])] x.floor_div(1.0) => row([NAN, NAN]));
    floats!([x = row([INF]), y = row([1.0f32])] x.floor_div(y) => row([NAN]));
    floats!([x = row([5.0f32, -5.0])] x.remainder(f64::INFINITY) => row([5.0, INF]));
    floats!([x = row([5.0f32, -5.0]), y = row([INF])] x.remainder(y) => row([5.0, INF]));
    floats!([x = row([5.0f32, -5.0]), y = row([INF])] x.fmod(y) => row([5.0f32, -5.0]));
}
