//! Reductions and functions whose precision is easily lost.

use crate::check::{both, counting, grid, one, row};
use tensorplay::{compile, prelude::*};

const NAN: f32 = f32::NAN;
const INF: f32 = f32::INFINITY;

#[test]
fn report_054_variance_with_a_correction_of_all_elements() {
    exact!([x: f32 = row([3.0f32])] x.var(0, 1) => one(NAN));
    exact!([x: f32 = row([3.0f32])] x.var(0, 0) => one(0.0f32));
    exact!([x: f32 = row([1.0f32, 2.0])] x.var(0, 3) => one(INF));
    exact!([x: f64 = row([1.0f32, 2.0])] x.var(0, 2) => one(f64::INFINITY));
    exact!([x: f32 = row([1.0f32, 2.0])] x.std_dev(0, 3) => one(INF));
    exact!([x: f32 = row([3.0f32])] x.std_dev(0, 1) => one(NAN));
}

#[test]
fn report_056_layer_norm_of_large_numbers() {
    let (x, want) = (row([8.5f64, -8.5, 8.5, -8.5]), row([1.0f32, -1.0, 1.0, -1.0]));
    near!(1e-6, [x: f32 = &x * 1e17] x.layer_norm(1, None, None, 1e-5) => want);
    near!(1e-12, [x: f64 = &x * 1e37] x.layer_norm(1, None, None, 1e-5) => want);
    near!(1e-2, [x: f16 = &x * 4e3] x.layer_norm(1, None, None, 1e-5) => want);
}

#[test]
fn report_056_layer_norm_of_huge_numbers() {
    let x = row([8.5e37f32, -8.5e37, 8.5e37, -8.5e37]);
    near!(1e-6, [x: f32 = x] x.layer_norm(1, None, None, 1e-5) => row([1.0f32, -1.0, 1.0, -1.0]));
}

#[test]
fn report_057_a_normalised_constant_is_zero() {
    for n in [1usize, 3, 7, 64, 1000] {
        for value in [1.0, 0.1, 1e6] {
            let (x, zero) = (
                Tensor::full((2, n), value, DType::F32),
                Tensor::zeros((2, n), DType::F32),
            );
            exact!([x: f32 = x] x.layer_norm(1, None, None, 1e-5) => zero);
            exact!([x: f64 = x] x.layer_norm(2, None, None, 0.1) => zero.to_dtype(DType::F64));
        }
    }
}

#[test]
fn report_060_a_written_cast_is_a_rounding() {
    let x = row([5000.0f32]);
    exact!([x: f16 = x, y: f16 = x] (x * y).to_dtype(DType::F32) => row([INF]));
    exact!([x: f32 = x] (x.to_dtype(DType::F16) * x.to_dtype(DType::F16)).to_dtype(DType::F32) => row([INF]));
    exact!([x: f16 = x, y: f16 = x] (x * y).to_dtype(DType::I32) => row([i32::MAX]));
    exact!([x: bf16 = row([257.0f32]), y: bf16 = row([3.0f32])]
        (x * y).to_dtype(DType::F16)
        => row([768.0f32]).to_dtype(DType::F16));
    exact!([x: f32 = row([2049.0f32])] x.to_dtype(DType::F16).to_dtype(DType::F32) => row([2048.0f32]));
    exact!([x: f32 = row([2049.0f32])] x.to_dtype(DType::F16).to_dtype(DType::F32) + 1 => row([2049.0f32]));
    exact!([x: f32 = row([257.0f32])] x.to_dtype(DType::BF16).to_dtype(DType::F32) * 2 => row([512.0f32]));
    exact!([x: f64 = row([16_777_217.0f64])]
        x.to_dtype(DType::F32).to_dtype(DType::F64)
        => row([16_777_216.0f64]));
}

#[test]
fn report_060_products_of_two_dtypes_in_one_group() {
    let (x, y) = (row([683.0f32]), row([3.0f32]));
    exact!([x: f16 = x, y: f16 = y]
        (x * y).to_dtype(DType::F32) - x.to_dtype(DType::F32) * y.to_dtype(DType::F32)
        => row([-1.0f32]));
    exact!([x: f16 = x, y: f16 = y]
        x.to_dtype(DType::F32) * y.to_dtype(DType::F32) - (x * y).to_dtype(DType::F32)
        => row([1.0f32]));
    exact!([x: f16 = x, y: f16 = y]
        (x * y).to_dtype(DType::F32) - (x.to_dtype(DType::F32) * y.to_dtype(DType::F32)).to_dtype(DType::F16).to_dtype(DType::F32)
        => row([0.0f32]));
    exact!([x: f16 = x, y: f16 = y]
        (x * y).to_dtype(DType::F32) * 0.0 + (x.to_dtype(DType::F32) * y.to_dtype(DType::F32)).to_dtype(DType::I32)
        => row([2049.0f32]));
}

#[test]
fn report_061_products_of_f16_accumulate_in_f32() {
    let mut values = [1e-4f32; 1001];
    values[0] = 1.0;
    let ones = Tensor::ones(1001, DType::F32);
    near!(1e-3, [x: f16 = row(values), y: f16 = ones] x.matmul(y) => one(1.1f32));
    near!(1e-3, [x: f16 = row(values), y: f16 = ones] (x * y).sum_all() => one(1.1f32));
    near!(5e-3, [x: bf16 = row(values), y: bf16 = ones] x.matmul(y) => one(1.1f32));
    near!(1e-3, [x: f16 = row(values).reshape((1, 1001)), w: f16 = ones.reshape((1, 1001))]
        x.linear(w, None)
        => grid([[1.1f32]]));
}

#[test]
fn report_062_softmax_of_large_scaled_numbers() {
    let (x, want) = (row([1.0f32, 2.0, -3.0]), row([0.0f32, 1.0, 0.0]));
    exact!([x: f32 = x] (x * 1e14).softmax(0) => want);
    exact!([x: f64 = x] (x * 1e14).softmax(0) => want.to_dtype(DType::F64));
    exact!([x: f32 = x, s: f32 = one(1e14f32)] (x * s).softmax(-1) => want);
    exact!([x: f32 = x] (x * 1e14).softmax(0).sum(0) => one(1.0f32));
}

#[test]
fn report_064_log_softmax_with_a_large_offset() {
    let want = row([-1.5514447f32, -0.5514447, -1.5514447]);
    near!(2e-7, [x: f32 = row([-1e7f32, -9_999_999.0, -1e7])] x.log_softmax(0) => want);
    near!(1e-7, [x: f32 = row([1000.0f32, 1000.0])] x.logsumexp(0) => one(1000.6931f32));
    exact!([x: f32 = row([-INF, -INF])] x.logsumexp(0) => one(-INF));
    exact!([x: f32 = row([INF, 1.0])] x.logsumexp(0) => one(INF));
}

#[test]
fn report_065_a_sum_of_softmax_is_computed() {
    exact!([x: f32 = row([NAN, 1.0])] x.softmax(0).sum(0).floor() => one(NAN));
    exact!([x: f32 = Tensor::zeros((2, 0), DType::F32)] x.softmax(1).sum(1).floor() => row([0.0f32; 2]));
    #[compile]
    fn sums(x: &Tensor) -> Tensor {
        x.softmax(1).sum(1).floor()
    }
    let x = (counting(&[1000, 7]) * 1.7).sin() * 3.0;
    for got in both(|| sums(&x)) {
        let below = got.eq(0.0).sum_all().item::<i64>();
        assert!(below > 10 && below < 990, "{below} sums are below 1");
    }
}

#[test]
fn report_066_products_are_rounded_before_they_are_added() {
    let (x, y, z) = (row([1e20f32, 1.1]), row([1e10f32, 1.3]), row([-1e20f32, -1.1]));
    exact!([x: f32 = x, y: f32 = y, z: f32 = z] x * y + z * y => row([0.0f32, 0.0]));
    exact!([x: f32 = x, y: f32 = y] x * y - x * y => row([0.0f32, 0.0]));
    exact!([x: f32 = x] x * 1e10 + x * -1e10 => row([0.0f32, 0.0]));
    exact!([x: f64 = x, y: f64 = y, z: f64 = z] x * y + z * y => row([0.0f64, 0.0]));
}

#[test]
fn report_068_hyperbolic_functions_near_the_largest_number() {
    let x = [88.85f32, 89.2, -89.0];
    let want = [1.9321198e38f32, 2.7418043e38, -2.2448064e38];
    near!(5e-7, [x: f32 = row(x)] x.sinh() => row(want));
    near!(5e-7, [x: f32 = row(x)] x.cosh() => row(want.map(f32::abs)));
    exact!([x: f32 = row([90.0f32, -90.0])] x.sinh() => row([INF, -INF]));
}

#[test]
fn report_069_gelu_in_its_tail() {
    near!(1e-13, [x: f64 = row([-5.533907f64])] x.gelu() => row([-8.665_408_587_618_62e-8f64]));
    #[compile]
    fn tail(x: &Tensor) -> Tensor {
        x.gelu()
    }
    for got in both(|| tail(&row([-5.533907f32]))) {
        let error = got.item::<f32>() + 8.6654e-8;
        assert!(error.abs() <= 3.0 * 4.8e-7, "{got}");
    }
    exact!([x: f32 = row([-6.0f32, -100.0, 6.0, 100.0])] x.gelu().abs() => row([0.0f32, 0.0, 6.0, 100.0]));
}

#[test]
fn report_069_gelu_and_its_tanh_form_differ() {
    near!(2e-4, [x: f32 = row([-3.0f32])] x.gelu() => row([-0.00404969f32]));
    near!(2e-4, [x: f32 = row([-3.0f32])] x.gelu_tanh() => row([-0.00363739f32]));
    near!(2e-6, [x: f64 = row([-3.0f32])] x.gelu() => row([-0.00404969f64]));
    near!(2e-6, [x: f64 = row([-3.0f32])] x.gelu_tanh() => row([-0.00363739f64]));
}

#[test]
fn report_070_elu_near_zero() {
    near!(3e-7, [x: f32 = row([-1e-10f32])] x.elu(0.52) => row([-5.2e-11f32]));
    near!(1e-6, [x: f32 = row([-1e-38f32])] x.elu(0.52) => row([-5.2e-39f32]));
    near!(1e-15, [x: f64 = row([-1e-10f64])] x.elu(0.52) => row([-5.2e-11 * (1.0 - 0.5e-10)]));
}

#[test]
fn report_072_exp_is_within_a_unit_in_the_last_place() {
    let points: Vec<f32> = (0..8192).map(|i| -87.0 + 175.0 * i as f32 / 8191.0).collect();
    #[compile]
    fn exp(x: &Tensor) -> Tensor {
        x.exp()
    }
    for got in both(|| exp(&row(&points))) {
        for (x, y) in points.iter().zip(got.to_vec::<f32>()) {
            let right = f64::from(*x).exp();
            let unit = f64::from((right as f32).next_up()) - f64::from(right as f32);
            assert!((f64::from(y) - right).abs() <= unit, "exp({x}) = {y}");
        }
    }
}

#[test]
fn report_072_sigmoid_saturates() {
    exact!([x: f32 = row([100.0f32, -200.0, INF, -INF])] x.sigmoid() => row([1.0f32, 0.0, 1.0, 0.0]));
    exact!([x: f32 = row([-200.0f32])] x.logsigmoid() => row([-200.0f32]));
    near!(1e-12, [x: f64 = row([-88.8f64])] x.sigmoid() => row([(-88.8f64).exp()]));
    #[compile]
    fn sigmoid(x: &Tensor) -> Tensor {
        x.sigmoid()
    }
    // results below 2^-125.5 are flushed
    for got in both(|| sigmoid(&row([-88.8f32]))) {
        assert!((0.0..=2.7206e-39).contains(&got.item::<f32>()), "{got}");
    }
}

#[test]
fn report_076_long_sums_do_not_drift() {
    let (million, many) = (1_000_000i64, 20_000_000i64);
    near!(1e-6, [x: f32 = row([0.1f32]).expand(million)] x.sum(0) => one(100_000f32));
    near!(1e-6, [x: f32 = row([0.1f32]).expand(million)]
        x.contiguous().sum(0)
        => one(100_000f32));
    near!(1e-6, [x: f32 = row([0.1f32]).expand(million)] x.mean(0) => one(0.1f32));
    let ones = Tensor::ones(1, DType::F32).expand(many);
    exact!([x: f32 = ones] x.sum(0) => one(2e7f32));
    let by_column = Tensor::ones((1, 1), DType::F32).expand((many / 2, 2));
    exact!([x: f32 = by_column] x.sum(0) => row([1e7f32; 2]));
    exact!([x: f32 = Tensor::ones((many + 4, 1), DType::F32)] x.sum(0) => row([20_000_004.0f32]));
}
