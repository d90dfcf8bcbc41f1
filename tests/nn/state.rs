//! Parameters and running statistics as variables.

use super::{builder, close, file, named, tensor, text, wide};
use tensorplay::nn::{BatchNorm1d, BatchNorm2d, Dropout, Linear, MultiheadAttention, VarBuilder};
use tensorplay::prelude::*;

#[test]
fn training_updates_running_statistics() {
    let layer = BatchNorm2d::new(3);
    let x = tensor(&[4, 3, 5, 2], 1);
    layer.forward(&x);
    assert_eq!(
        (layer.running_mean().version(), layer.running_var().version()),
        (0, 0)
    );
    let (mut mean, mut var) = (vec![0.0; 3], vec![1.0; 3]);
    for step in 1..=3 {
        let x = tensor(&[4, 3, 5, 2], step);
        layer.forward_t(&x, true);
        for c in 0..3 {
            let v = wide(&x.narrow(1, c, 1).contiguous());
            let m = v.iter().sum::<f64>() / 40.0;
            let unbiased = v.iter().map(|v| (v - m).powi(2)).sum::<f64>() / 39.0;
            mean[c] += 0.1 * (m - mean[c]);
            var[c] += 0.1 * (unbiased - var[c]);
        }
        close(layer.running_mean(), &[3], &mean);
        close(layer.running_var(), &[3], &var);
        assert_eq!(layer.running_mean().version(), step as u64);
        assert_eq!(layer.running_var().version(), step as u64);
    }
    assert_eq!(layer.weight().version(), 0);
    let faster = BatchNorm1d::new(1).with_momentum(1.0);
    faster.forward_t(&Tensor::from_slice(&[1.0f32, 3.0], (2, 1)), true);
    close(faster.running_mean(), &[1], &[2.0]);
    close(faster.running_var(), &[1], &[2.0]);
}

#[test]
fn parameters_take_gradients_and_statistics_do_not() {
    let layer = BatchNorm2d::new(3);
    let parameters = layer.parameters();
    assert_eq!(parameters.len(), 2);
    assert!(parameters.iter().all(Tensor::requires_grad));
    assert!(layer.running_mean().is_variable() && !layer.running_mean().requires_grad());
    assert!(layer.running_var().is_variable() && !layer.running_var().requires_grad());
    let shapes: Vec<Vec<usize>> = MultiheadAttention::new(4, 2)
        .parameters()
        .iter()
        .map(|t| t.shape().to_vec())
        .collect();
    assert_eq!(shapes, [vec![12, 4], vec![12], vec![4, 4], vec![4]]);
}

#[test]
fn clones_share_and_layers_of_one_file_do_not() {
    let path = file(
        "shared",
        &[("weight", tensor(&[2, 3], 1)), ("bias", tensor(&[2], 2))],
    );
    let map = tensorplay::safetensors::load(&path).expect("a file");
    for vb in [
        VarBuilder::from_safetensors(&path).expect("a file"),
        VarBuilder::from_tensors(map.clone()),
    ] {
        let (one, other) = (
            Linear::load(&vb, 3, 2).expect("a layer"),
            Linear::load(&vb, 3, 2).expect("a layer"),
        );
        let clone = one.clone();
        let handles = one.parameters();
        handles[0].assign(&Tensor::zeros((2, 3), DType::F32));
        close(clone.weight(), &[2, 3], &[0.0; 6]);
        assert_eq!(clone.weight().version(), 1);
        close(other.weight(), &[2, 3], &wide(&tensor(&[2, 3], 1)));
        close(
            &vb.get((2, 3), "weight").expect("a weight"),
            &[2, 3],
            &wide(&tensor(&[2, 3], 1)),
        );
        close(&map["weight"], &[2, 3], &wide(&tensor(&[2, 3], 1)));
    }
    // a variable in the map stays its owner's
    let owner = tensor(&[2, 3], 1).variable();
    let layer = Linear::load(
        &VarBuilder::from_tensors(named(&[("weight", owner.clone())])),
        3,
        2,
    )
    .expect("a layer");
    owner.assign(&Tensor::zeros((2, 3), DType::F32));
    close(layer.weight(), &[2, 3], &wide(&tensor(&[2, 3], 1)));
    assert!(!owner.requires_grad() && layer.weight().requires_grad());
}

#[test]
fn load_state_dict_assigns_by_name() {
    let layer = Linear::new(3, 2);
    let (weight, clone) = (layer.weight().clone(), layer.clone());
    let map = named(&[
        ("weight", tensor(&[2, 3], 1)),
        ("bias", tensor(&[2], 2).to_dtype(DType::F64)),
    ]);
    layer.load_state_dict(&map).expect("all names");
    close(&weight, &[2, 3], &wide(&tensor(&[2, 3], 1)));
    close(clone.bias().expect("a bias"), &[2], &wide(&tensor(&[2], 2)));
    assert!(weight.requires_grad() && weight.dtype() == DType::F32 && weight.version() == 1);
    // the map keeps its own values
    weight.assign(&Tensor::zeros((2, 3), DType::F32));
    close(&map["weight"], &[2, 3], &wide(&tensor(&[2, 3], 1)));

    let norm = BatchNorm1d::new(2);
    let mut map = named(&[
        ("weight", tensor(&[2], 1)),
        ("bias", tensor(&[2], 2)),
        ("running_mean", tensor(&[2], 3)),
        ("running_var", tensor(&[2], 4)),
    ]);
    norm.load_state_dict(&map).expect("all names");
    map.insert("num_batches_tracked".into(), Tensor::from_slice(&[7i64], ()));
    norm.load_state_dict(&map).expect("PyTorch's names");
    close(norm.running_var(), &[2], &wide(&tensor(&[2], 4)));
    assert_eq!(norm.running_mean().version(), 2);
}

#[test]
fn load_state_dict_is_strict() {
    let layer = Linear::new(3, 2);
    let (w, b) = (tensor(&[2, 3], 1), tensor(&[2], 2));
    let load = |tensors: &[(&str, Tensor)]| text(layer.load_state_dict(&named(tensors)));
    assert_eq!(
        load(&[("weight", w.clone()), ("bais", b.clone())]),
        "error[TP0913]: `bias`: the map has no such name\n  help: the nearest names are `bais`, `weight`"
    );
    assert_eq!(
        load(&[("weight", w.clone()), ("bias", b.clone()), ("scale", b.clone())]),
        "error[TP0913]: `scale`: the layer has no such parameter\n  help: the nearest names are `bias`, `weight`"
    );
    assert_eq!(
        load(&[("weight", w.clone()), ("bias", w.clone())]),
        "error[TP0913]: `bias`: expected shape [2], got [2, 3]\n  \
         help: give the values of a layer of the same sizes"
    );
    assert_eq!(
        load(&[("weight", w.clone()), ("bias", b.to_dtype(DType::I64))]),
        "error[TP0913]: `bias`: expected dtype f32, got i64\n  help: write `.to_dtype(DType::F32)` on the value"
    );
    assert_eq!(layer.weight().version(), 0, "nothing was written");
    let plain = Linear::load(&builder("no_bias", &[("weight", w.clone())]), 3, 2).expect("a layer");
    assert!(
        text(plain.load_state_dict(&named(&[("weight", w), ("bias", b.clone())])))
            .contains("`bias`: the layer has")
    );
    assert!(Dropout::new(0.5).load_state_dict(&named(&[])).is_ok());
    assert!(
        text(Dropout::new(0.5).load_state_dict(&named(&[("p", b)])))
            .contains("the layer has no names at all")
    );
}

#[tensorplay::compile]
fn dense(x: &Tensor, w: &Tensor, b: &Tensor) -> Tensor {
    x.linear(w, Some(b)).gelu()
}

#[test]
fn compiled_functions_take_parameters() {
    let layer = Linear::new(8, 5);
    let (w, b, x) = (layer.weight(), layer.bias().expect("a bias"), tensor(&[3, 8], 1));
    for step in 0..3 {
        w.assign(&tensor(&[5, 8], step));
        let got = dense(&x, w, b);
        assert!(!got.is_variable());
        assert_eq!(
            got.to_vec::<f32>(),
            dense(&x, &w.detach(), &b.detach()).to_vec::<f32>()
        );
        assert!(got.allclose(&layer.forward(&x).gelu(), 1e-6, 1e-6));
    }
}
