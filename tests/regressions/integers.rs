//! Integers: widths, wrapping, division, ties.

use crate::check::{grid, one, row};
use tensorplay::{Result, compile, prelude::*};

#[test]
fn report_020_u8_wraps_before_it_is_widened() {
    let x = row([128u8, 200]);
    exact!([x: u8 = x] (x + x).to_dtype(DType::I32) => row([0i32, 144]));
    exact!([x: u8 = x] (x * x).to_dtype(DType::I64) => row([0i64, 64]));
    exact!([x: u8 = x] (x - 201).to_dtype(DType::F32) => row([183.0f32, 255.0]));
    exact!([x: u8 = x] x.square().to_dtype(DType::I64) => row([0i64, 64]));
}

#[test]
fn report_021_negated_u8_wraps() {
    exact!([x: u8 = row([6u8])] (-x).lt(4) => row([false]));
    exact!([x: u8 = row([6u8])] x.neg() => row([250u8]));
    exact!([x: u8 = row([7u8])] -x + 1.541 => row([249.0f32 + 1.541]));
    exact!([x: u8 = row([7u8]), y: f32 = row([1.541f32])] x.neg() + y => row([249.0f32 + 1.541]));
}

#[test]
fn report_022_abs_of_u8_stays_u8() {
    let x = row([200u8, 200]);
    exact!([x: u8 = x] Tensor::cat(&[-x.abs(), -x.abs()], 0).sum_all() => one(224i64));
    exact!([x: u8 = x] (-x.abs()).sum_all() => one(112i64));
}

#[test]
fn report_024_signed_overflow_wraps() {
    let x = row([i32::MAX]);
    exact!([x: i32 = x] (x + 1).to_dtype(DType::I64) => row([-2_147_483_648i64]));
    exact!([x: i32 = x] (x + 1).gt(x) => row([false]));
    exact!([x: i32 = x] (x * 2).to_dtype(DType::I64) => row([-2i64]));
    exact!([x: i32 = row([i32::MIN])] (-x).to_dtype(DType::I64) => row([-2_147_483_648i64]));
    exact!([x: i32 = row([i32::MIN])] x.abs().to_dtype(DType::I64) => row([-2_147_483_648i64]));
    exact!([x: i64 = row([i64::MIN])] x - 1 => row([i64::MAX]));
    exact!([] (Tensor::full(1, i32::MAX, DType::I32) + 1).to_dtype(DType::I64) => row([-2_147_483_648i64]));
}

#[test]
fn report_025_wrapping_products_distribute() {
    let (x, y) = (row([20u8]), row([30u8]));
    exact!([x: u8 = x, y: u8 = y] (x + y) * 6 => row([44u8]));
    exact!([x: u8 = x, y: u8 = y] x * 6 + y * 6 => row([44u8]));
    let (x, y) = (row([400_000_000i32]), row([500_000_000i32]));
    exact!([x: i32 = x, y: i32 = y] (x + y) * 6 => row([1_105_032_704i32]));
    exact!([x: i32 = x, y: i32 = y] x * 6 + y * 6 => row([1_105_032_704i32]));
}

#[test]
fn report_026_products_of_i64_are_64_bits_wide() {
    let want: Vec<i64> = (0..9).map(|i| i * 1_500_000_000).collect();
    exact!([] Tensor::arange(0, 9, DType::I64) * 1_500_000_000 => row(&want));
    exact!([x: i64 = Tensor::arange(0, 9, DType::I64)] x * 1_500_000_000 => row(&want));
    exact!([x: i64 = row([3_000_000_000i64])] x + 3_000_000_000i64 => row([6_000_000_000i64]));
}

#[test]
fn report_028_division_of_integers_by_zero_is_an_error() {
    let x = row([0i64, 7]);
    refused!([x: i64 = x, y: i64 = row([0i64])] x.try_floor_div(y) => "floor_div", "zero");
    refused!([x: i32 = x, y: i32 = row([1i32, 0])] x.try_floor_div(y) => "floor_div", "zero");
    refused!([x: u8 = x, y: u8 = row([0u8])] x.try_remainder(y) => "remainder", "zero");
    refused!([x: i64 = x, y: i64 = row([0i64])] x.try_fmod(y) => "fmod", "zero");
    refused!([x: i64 = x] x.try_floor_div(&x.zeros_like()) => "floor_div", "zero");
    refused!([]
        Tensor::zeros(1, DType::I64).try_floor_div(&Tensor::zeros(1, DType::I64))
        => "floor_div", "zero");
    exact!([x: i64 = row([i64::MIN])] x.floor_div(-1) => row([i64::MIN]));
    exact!([x: i64 = row([i64::MIN]), y: i64 = row([-1i64])] x.remainder(y) => row([0i64]));
    exact!([x: i32 = row([i32::MIN]), y: i32 = row([-1i32])] x.fmod(y) => row([0i32]));
}

#[test]
fn report_029_floor_division_by_literal_and_by_tensor() {
    let want = row([-2i64, -2, -2, -1, -1, -1, 0, 0, 0, 1, 1, 1, 2]);
    let x = Tensor::arange(-6, 7, DType::I64);
    exact!([x: i64 = x] x.floor_div(3) => want);
    exact!([x: i64 = x, y: i64 = one(3i64)] x.floor_div(y) => want);
    exact!([x: i64 = x] x.floor_div(&Tensor::full((), 3, DType::I64)) => want);
    let want = want.to_dtype(DType::I32);
    exact!([x: i32 = x] x.floor_div(3) => want);
    exact!([x: i32 = x, y: i32 = one(3i32)] x.floor_div(y) => want);
}

#[test]
fn report_030_signs_of_remainders() {
    let (x, y) = (row([-7i64, 7, -7, 7]), row([3i64, -3, -3, 3]));
    exact!([x: i64 = x, y: i64 = y] x.remainder(y) => row([2i64, -2, -1, 1]));
    exact!([x: i32 = x, y: i32 = y] x.remainder(y) => row([2i32, -2, -1, 1]));
    floats!([x = x, y = y] x.remainder(y) => row([2i64, -2, -1, 1]));
    exact!([x: i64 = x, y: i64 = y] x.fmod(y) => row([-1i64, 1, -1, 1]));
    floats!([x = x, y = y] x.fmod(y) => row([-1i64, 1, -1, 1]));
    let y = row([2i64, -2, -2, 2]);
    exact!([x: i64 = x, y: i64 = y] x.floor_div(y) => row([-4i64, -4, 3, 3]));
    floats!([x = x, y = y] x.floor_div(y) => row([-4i64, -4, 3, 3]));
}

#[test]
fn report_032_truncated_quotients_are_of_true_division() {
    let (x, y) = (
        row([14.999999f32, 26.999999, 13.999999, 148.0]),
        row([3.0f32, 3.0, 7.0, 37.0]),
    );
    exact!([x: f32 = x, y: f32 = y] (x / y).trunc() => row([4.0f32, 8.0, 1.0, 4.0]));
    exact!([x: f32 = row([14.999999f32, 26.999999])] (x / 3.0).trunc() => row([4.0f32, 8.0]));
}

#[test]
fn report_033_the_first_of_ties_is_the_argmax() {
    let x = grid([[3i64, 7, 7, 1], [5, 5, 2, 5]]);
    exact!([x: i64 = x] x.argmax(1) => row([1i64, 0]));
    exact!([x: i32 = x] x.argmax(1) => row([1i64, 0]));
    exact!([x: u8 = x] x.argmax(-1) => row([1i64, 0]));
    exact!([x: f32 = x] x.argmax(1) => row([1i64, 0]));
    exact!([x: f16 = x.t()] x.argmax(0) => row([1i64, 0]));
    exact!([x: i64 = -x] x.argmin(1) => row([1i64, 0]));
    exact!([x: f32 = Tensor::ones((3, 1000), DType::F32)] x.argmin(1) => row([0i64; 3]));
}

#[test]
fn report_034_comparisons_know_the_sign() {
    exact!([x: u8 = row([200u8]), y: u8 = row([1u8])] x.gt(y) => row([true]));
    exact!([x: u8 = row([200u8])] x.gt(1) => row([true]));
    exact!([x: i32 = row([-1i32]), y: i32 = row([0i32])] x.lt(y) => row([true]));
    exact!([x: i64 = row([-1i64])] x.lt(0) => row([true]));
    exact!([x: u8 = row([200u8]), y: u8 = row([1u8])] x.maximum(y) => row([200u8]));
    exact!([x: u8 = row([1u8, 200])] x.max(0) => one(200u8));
}
