//! Shapes with 0 and 1, ranks, views, and sizes that are large.

use crate::check::{assert_exact, assert_near, both, counting, grid, one, row};
use tensorplay::{Result, compile, compiler, explain, prelude::*};

#[test]
fn report_037_reductions_without_elements() {
    let x = Tensor::zeros((0, 3), DType::F32);
    exact!([x: f32 = x] x.argmin(1) => row([0i64; 0]));
    exact!([x: f32 = x] x.argmin(1).reshape((0, 3)) => Tensor::zeros((0, 3), DType::I64));
    exact!([x: f32 = x] x.sum(0) => row([0.0f32; 3]));
    exact!([x: f32 = x] x.prod(0) => row([1.0f32; 3]));
    exact!([x: f32 = x] x.sum_all() => one(0.0f32));
    exact!([x: i32 = x] x.prod((0, 1)) => one(1i64));
    exact!([x: f32 = x.t()] x.sum_keepdim(1) => grid([[0.0f32]; 3]));
    exact!([x: f32 = x] x.max(1) => row([0.0f32; 0]));
    exact!([x: f32 = x] x.any(0) => row([false; 3]));
    exact!([x: f32 = x] x.all(0) => row([true; 3]));
    refused!([x: f32 = x] x.try_max(0) => "max", "dim 0", "[0, 3]");
    refused!([x: f32 = x] x.try_min_all() => "min_all", "[0, 3]");
    refused!([x: f32 = x] x.try_argmin(0) => "argmin", "dim 0", "[0, 3]");
}

#[test]
fn report_040_a_size_of_one_is_broadcast_at_run_time() {
    #[compile]
    fn product(#[spec(f32[A, 4])] x: &Tensor, #[spec(f32[B, 4])] y: &Tensor) -> Tensor {
        x * y
    }
    let (one, two) = (grid([[1.0f32, 2.0, 3.0, 4.0]]), grid([[1.0f32; 4], [2.0; 4]]));
    let twice = grid([[1.0f32, 2.0, 3.0, 4.0], [2.0, 4.0, 6.0, 8.0]]);
    let none = Tensor::zeros((0, 4), DType::F32);
    for _ in 0..2 {
        for (x, y, want) in [
            (&one, &two, &twice),
            (
                &twice,
                &two,
                &grid([[1.0f32, 2.0, 3.0, 4.0], [4.0, 8.0, 12.0, 16.0]]),
            ),
            (&two, &one, &twice),
            (&none, &one, &none),
        ] {
            for got in both(|| product(x, y)) {
                assert_exact(&got, want);
            }
        }
    }
}

#[test]
fn report_041_a_batch_of_one_is_an_entry_of_its_own() {
    #[compile(spec(x = f32[B, 3]))]
    fn centred(x: &Tensor) -> Tensor {
        x - x.max_keepdim(0)
    }
    for (n, entries, binds) in [(1, 1, 1), (2, 2, 2), (1, 2, 2), (3, 2, 3), (2, 2, 3)] {
        let x = counting(&[n, 3]);
        let want = Tensor::arange(0, n as i64, DType::F32)
            .reshape((n, 1))
            .expand((n, 3))
            * 3.0
            - 3.0 * (n - 1) as f64;
        assert_exact(&centred(&x), &want);
        let told = explain!(centred);
        assert_eq!((told.entries.len(), told.calls.bound), (entries, binds), "{n}");
    }
}

#[test]
fn report_042_broadcast_products_of_an_odd_size() {
    let scale = row([1.0f32, 1000.0]).reshape((1, 2, 1, 1));
    let x = counting(&[2, 2, 17, 2]);
    exact!([x: f32 = x, y: f32 = scale] (x * y).sum_all() => one(5_749_434.0f32));
    exact!([x: i64 = x, y: i64 = scale] (x * y).sum_all() => one(5_749_434i64));
    exact!([x: f32 = x, y: f32 = scale]
        (x * y).select(0, 0).select(0, 1).select(0, 0)
        => row([34_000.0f32, 35_000.0]));
    exact!([x: f32 = x, y: f32 = scale]
        (x * y).select(0, 1).select(0, 1).select(0, 16)
        => row([134_000.0f32, 135_000.0]));
    for n in 1..70usize {
        let want: Vec<f32> = (0..4 * n).map(|i| (i * [1, 1000][i / n % 2]) as f32).collect();
        let x = counting(&[2, 2, n, 1]);
        exact!([x: f32 = x, y: f32 = scale] x * y => Tensor::from_slice(&want, (2, 2, n, 1)));
    }
}

#[test]
fn report_044_argmax_of_single_elements() {
    exact!([x: f32 = Tensor::ones((32, 1), DType::F32)] x.argmax(1) => row([0i64; 32]));
    exact!([x: f32 = Tensor::ones((1, 32), DType::F32)] x.argmin(0) => row([0i64; 32]));
}

#[test]
fn report_045_products_with_transposed_views() {
    let (a, b) = (
        Tensor::ones((64, 32), DType::F32),
        Tensor::ones((1, 32), DType::F32),
    );
    exact!([a: f32 = a, b: f32 = b] a.matmul(&b.t()) => Tensor::full((64, 1), 32, DType::F32));
    exact!([a: f32 = a, b: f32 = b.t()] a.matmul(b) => Tensor::full((64, 1), 32, DType::F32));
    let (a, b) = (counting(&[7, 5]), counting(&[7, 3]));
    let want = Tensor::from_slice(&a.t().to_vec::<f32>(), (5, 7)).matmul(&b);
    assert_eq!(want.to_vec::<f32>()[..3], [1365.0, 1470.0, 1575.0]);
    exact!([a: f32 = a, b: f32 = b] a.t().matmul(b) => want);
    exact!([a: f32 = a.t(), b: f32 = b] a.matmul(b) => want);
    exact!([a: i64 = a, b: i64 = b] a.t().matmul(b) => want.to_dtype(DType::I64));
}

#[test]
fn report_046_products_with_many_rows() {
    #[compile]
    fn product(#[spec(f32[M, 64])] a: &Tensor, #[spec(f32[64, N])] b: &Tensor) -> Tensor {
        a.matmul(b)
    }
    for m in [1usize, 63, 64, 65, 499, 500, 512, 1025] {
        for n in [1usize, 8] {
            let (a, b) = (
                Tensor::ones((m, 64), DType::F32),
                Tensor::ones((64, n), DType::F32),
            );
            for got in both(|| product(&a, &b)) {
                assert_exact(&got, &Tensor::full((m, n), 64, DType::F32));
            }
        }
    }
}

#[test]
fn report_048_a_full_slice_of_a_permuted_view() {
    let x = Tensor::arange(0, 24, DType::F32);
    let want = row([1.0f32, 5.0, 9.0, 13.0, 17.0, 21.0, 2.0, 6.0]);
    exact!([x: f32 = x]
        (x.reshape((2, 3, 4)).permute((2, 0, 1)).slice(0, 0, 4, 1) + 1).flatten_all().narrow(0, 0, 8)
        => want);
    let x = x.reshape((2, 3, 4)).permute((2, 0, 1));
    exact!([x: f32 = x] (x.slice(0, 0, 4, 1) + 1).flatten_all().slice(0, 0, 8, 1) => want);
}

#[test]
fn report_049_a_strided_operand_is_not_the_output() {
    let x = counting(&[2, 3]);
    let y = grid([[1.0f32], [2.0], [3.0]]);
    let want = grid([[1.0f32, 4.0], [3.0, 6.0], [5.0, 8.0]]);
    exact!([x: f32 = x, y: f32 = y] x.t() + y => want);
    exact!([x: f32 = x.t(), y: f32 = y] x + y => want);
    exact!([x: f32 = x, y: f32 = y] (x + 0.0).t() + y => want);
}

#[test]
fn report_050_several_reshapes_of_one_tensor() {
    let x = Tensor::arange(0, 6, DType::F32);
    let want = grid([[0.0f32, 11.0, 22.0], [33.0, 44.0, 55.0]]);
    exact!([x: f32 = x] x.reshape((2, 3)) + x.reshape((1, 6)).reshape((2, 3)) * 10 => want);
}

#[test]
fn report_050_a_layer_norm_between_swapped_axes() {
    #[compile(dtypes(f32, f64))]
    fn swapped(x: &Tensor, w: &Tensor) -> Tensor {
        let y = x
            .reshape((2, 3, 20))
            .transpose(1, 2)
            .layer_norm(1, Some(w), None, 1e-5);
        y.transpose(1, 2).reshape((6, 4, 5)) * 2.0
    }
    let x = (counting(&[2, 3, 4, 5]) * 0.7).sin();
    let w = row([0.5f32, 1.0, -2.0]);
    let right = compiler::disable_capture(|| swapped(&x.to_dtype(DType::F64), &w.to_dtype(DType::F64)));
    for got in both(|| swapped(&x, &w)) {
        assert_near(&got, &right, 1e-4);
    }
}

#[test]
fn report_053_a_leading_axis_of_seventy_thousand() {
    let values = Tensor::arange(-35_000, 35_000, DType::F32);
    let want: Vec<f32> = (-35_000..35_000).map(|i| i.max(0) as f32).collect();
    let want = row(&want);
    exact!([x: f32 = values.reshape((70_000, 1, 1))] x.relu() => want.reshape((70_000, 1, 1)));
    exact!([x: f32 = values.reshape((1, 1, 70_000)).permute((2, 0, 1))]
        x.relu()
        => want.reshape((70_000, 1, 1)));
    exact!([x: f32 = values.reshape((70_000, 1, 1))] x.relu().sum((1, 2)) => want);
}
