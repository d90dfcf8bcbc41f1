//! Indices, and axes that are meant.

use crate::check::{assert_near, both, counting, grid, row};
use tensorplay::{Result, compile, prelude::*};

#[test]
fn report_078_a_constant_index_out_of_range_is_an_error() {
    let x = counting(&[3, 1, 4]);
    refused!([x: f32 = x] x.try_select(1, 1) => "select", "1");
    refused!([x: f32 = x] x.try_select(1, -2) => "select", "-2");
    refused!([x: f32 = x] x.try_narrow(2, 2, 3) => "narrow");
    exact!([x: f32 = x] x.select(1, -1).select(0, 2) => row([8.0f32, 9.0, 10.0, 11.0]));
}

#[test]
fn report_081_columns_of_a_product_are_products_of_columns() {
    let a = grid([[1.0f32, 2.0], [3.0, 4.0]]);
    let want = grid([[10.0f32], [22.0]]);
    exact!([a: f32 = a, b: f32 = a] a.matmul(b).narrow(1, 1, 1) => want);
    exact!([a: f32 = a, b: f32 = a] a.matmul(&b.narrow(1, 1, 1)) => want);
    exact!([a: f32 = a, b: f32 = a] a.matmul(&b.select(1, 1)) => row([10.0f32, 22.0]));
}

#[test]
fn report_089_slopes_broadcast_over_their_axis() {
    let x = grid([[-1.0f32, 2.0], [-3.0, -4.0]]);
    let want = grid([[-0.1f32, 2.0], [-3.0 * 0.1f32, -2.0]]);
    exact!([x: f32 = x, w: f32 = row([0.1f32, 0.5])] x.gt(0.0).where_cond(x, &(x * w)) => want);
    exact!([x: f32 = x, w: f32 = grid([[0.1f32, 0.5]; 2])] x.gt(0.0).where_cond(x, &(x * w)) => want);
    let by_row = grid([[-0.1f32, 2.0], [-1.5, -2.0]]);
    exact!([x: f32 = x, w: f32 = row([0.1f32, 0.5])] x.gt(0).where_cond(x, &(x * w.unsqueeze(1))) => by_row);
    let single = grid([[-0.5f32, 2.0], [-1.5, -2.0]]);
    exact!([x: f32 = x, w: f32 = grid([[0.5f32]])] x.gt(0.0).where_cond(x, &(x * w)) => single);
    exact!([x: f32 = row([-1.0f32, 2.0]), w: f32 = row([0.5f32])]
        x.gt(0).where_cond(x, &(x * w))
        => row([-0.5f32, 2.0]));
    exact!([x: f32 = x] x.leaky_relu(0.5) => single);
}

#[test]
fn report_090_softmax_of_the_last_axis() {
    #[compile]
    fn along(x: &Tensor) -> (Tensor, Tensor) {
        (x.softmax(-1).sum(-1), x.softmax(1).sum(1))
    }
    let x = (counting(&[1, 2, 2, 3]) * 2.3).sin() * 4.0;
    for (last, channel) in both(|| along(&x)) {
        assert_near(&last, &Tensor::ones((1, 2, 2), DType::F32), 1e-6);
        assert_near(&channel, &Tensor::ones((1, 2, 3), DType::F32), 1e-6);
    }
    let z = 1.0 + 1f32.exp() + 2f32.exp();
    let want = [1.0, 1f32.exp(), 2f32.exp()].map(|v| v / z);
    let want = Tensor::from_slice(&[want; 4].concat(), (1, 2, 2, 3));
    near!(1e-6, [x: f32 = counting(&[1, 2, 2, 3])] x.softmax(-1) => want);
}
