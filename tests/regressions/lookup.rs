//! Tensors as indices.

use crate::check::{counting, grid, row};
use tensorplay::{Result, compile, prelude::*};

#[test]
fn report_077_negative_indices_are_out_of_range() {
    let x = row([10.0f32, 20.0, 30.0]);
    refused!([x: f32 = x, i: i64 = row([-1i64])]
        x.try_index_select(i, 0)
        => "index_select", "-1", "out of range");
    refused!([x: f32 = x, i: i64 = row([-1i64])] x.try_gather(i, 0) => "gather", "-1", "out of range");
    refused!([x: f32 = x.reshape((3, 1)), i: i64 = row([-1i64])]
        x.try_embedding(i)
        => "embedding", "-1", "out of range");
    exact!([x: f32 = x, i: i64 = row([2i64, 0, 2])] x.index_select(i, 0) => row([30.0f32, 10.0, 30.0]));
}

#[test]
fn report_078_an_index_out_of_range_is_an_error() {
    let x = counting(&[3, 1, 4]);
    refused!([x: f32 = x, i: i64 = row([1i64])]
        x.try_index_select(i, 1)
        => "index_select", "1", "out of range");
    refused!([x: f32 = x, i: i64 = row([0i64, 3])]
        x.try_index_select(i, 0)
        => "index_select", "3", "out of range");
    refused!([x: f32 = x]
        x.try_index_select(&Tensor::full(1, 4, DType::I64), 2)
        => "index_select", "4", "out of range");
}

#[test]
fn report_080_gathered_elements() {
    let x = grid([[1.0f32, 2.0], [3.0, 4.0]]);
    let want = grid([[1.0f32, 1.0], [4.0, 3.0]]);
    exact!([x: f32 = x, i: i64 = grid([[0i64, 0], [1, 0]])] x.gather(i, 1) => want);
    exact!([x: f32 = x]
        x.gather(&(x - 1).floor_div(3).to_dtype(DType::I64), 1)
        => grid([[1.0f32, 1.0], [3.0, 4.0]]));
    exact!([x: f32 = x] x.gather(&x.argmax_keepdim(1), 1) => grid([[2.0f32], [4.0]]));
    exact!([x: f32 = x.t(), i: i64 = grid([[0i64, 0], [1, 0]]).t()] x.gather(i, 0) => want.t());
}

#[test]
fn report_081_a_column_that_an_index_names() {
    let a = grid([[1.0f32, 2.0], [3.0, 4.0]]);
    let want = grid([[10.0f32], [22.0]]);
    exact!([a: f32 = a, b: f32 = a, i: i64 = row([1i64])] a.matmul(b).index_select(i, 1) => want);
    exact!([a: f32 = a, b: f32 = a, i: i64 = row([1i64])] a.matmul(&b.index_select(i, 1)) => want);
}
