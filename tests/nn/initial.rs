//! New layers: PyTorch's initial values.

use super::{tensor, wide};
use tensorplay::nn::{
    BatchNorm2d, Conv1d, Conv2d, ConvTranspose2d, Dropout, Embedding, GroupNorm, LayerNorm, Linear,
    MultiheadAttention, RmsNorm,
};
use tensorplay::prelude::*;

/// Uniform within the bound: no value beyond, some near both ends, a mean near 0.
#[track_caller]
fn uniform(t: &Tensor, bound: f64) {
    assert!(t.requires_grad());
    let v = wide(t);
    let (low, high) = v.iter().fold((0.0f64, 0.0f64), |(a, b), &x| (a.min(x), b.max(x)));
    assert!(low >= -bound && high <= bound, "{low} {high} {bound}");
    if v.len() >= 500 {
        assert!(low < -0.95 * bound && high > 0.95 * bound, "{low} {high} {bound}");
        assert!((v.iter().sum::<f64>() / v.len() as f64).abs() < 0.15 * bound);
    }
}

#[track_caller]
fn both(weight: &Tensor, bias: Option<&Tensor>, bound: f64) {
    uniform(weight, bound);
    uniform(bias.expect("a bias"), bound);
}

#[test]
fn uniform_layers() {
    let layer = Linear::new(25, 40);
    assert_eq!(layer.weight().shape(), [40, 25]);
    both(layer.weight(), layer.bias(), 0.2);
    let layer = Conv1d::new(8, 64, 5, Conv1dOptions::default().groups(2));
    assert_eq!(layer.weight().shape(), [64, 4, 5]);
    both(layer.weight(), layer.bias(), 1.0 / 20f64.sqrt());
    let layer = Conv2d::new(4, 16, (3, 5), Conv2dOptions::default());
    assert_eq!(layer.weight().shape(), [16, 4, 3, 5]);
    both(layer.weight(), layer.bias(), 1.0 / 60f64.sqrt());
    let layer = ConvTranspose2d::new(16, 8, 3, ConvTranspose2dOptions::default().groups(2));
    assert_eq!(layer.weight().shape(), [16, 4, 3, 3]);
    both(layer.weight(), layer.bias(), 1.0 / 36f64.sqrt());
    both(Linear::new(0, 3).weight(), Linear::new(0, 3).bias(), 0.0);
    let layer = MultiheadAttention::new(16, 4);
    let [w, b, out_w, out_b] = &layer.parameters()[..] else {
        panic!("four parameters")
    };
    uniform(w, (6.0 / 64f64).sqrt());
    uniform(out_w, 0.25);
    assert!(wide(b).iter().chain(&wide(out_b)).all(|v| *v == 0.0));
    assert_ne!(
        Linear::new(3, 2).weight().to_vec::<f32>(),
        Linear::new(3, 2).weight().to_vec::<f32>()
    );
}

#[test]
fn normal_and_constant_layers() {
    let v = wide(Embedding::new(100, 50).weight());
    let mean = v.iter().sum::<f64>() / 5000.0;
    let var = v.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 5000.0;
    assert!(mean.abs() < 0.08 && (var - 1.0).abs() < 0.1, "{mean} {var}");
    let norm = BatchNorm2d::new(3);
    let layer = LayerNorm::new(3, 1e-5);
    let group = GroupNorm::new(3, 3, 1e-5);
    for ones in [
        norm.weight(),
        norm.running_var(),
        layer.weight(),
        group.weight(),
        RmsNorm::new(3, 1e-5).weight(),
    ] {
        assert_eq!(ones.to_vec::<f32>(), [1.0; 3]);
    }
    let biases = [norm.bias(), layer.bias(), group.bias()];
    for zeros in biases.into_iter().flatten().chain([norm.running_mean()]) {
        assert_eq!(zeros.to_vec::<f32>(), [0.0; 3]);
    }
    let x = tensor(&[2, 3, 4, 4], 1);
    assert!(
        norm.forward(&x)
            .allclose(&(x / (1.0f64 + 1e-5).sqrt()), 1e-6, 1e-6)
    );
}

#[test]
#[should_panic(
    expected = "error[TP0913]: `Dropout`: the probability is 1.5\n  help: write a number from 0 to 1"
)]
fn a_probability_is_one() {
    Dropout::new(1.5);
}

#[test]
#[should_panic(
    expected = "`GroupNorm`: groups is 2, channels is 3\n  help: write a number of groups that divides channels"
)]
fn groups_divide_channels() {
    GroupNorm::new(2, 3, 1e-5);
}
