//! Parameters by name from files.

use super::{builder, close, file, tensor, text, wide};
use tensorplay::nn::{BatchNorm2d, LayerNorm, Linear, VarBuilder};
use tensorplay::prelude::*;
use tensorplay::{Error, safetensors};

fn net(name: &str) -> (String, VarBuilder) {
    let tensors = [
        ("net.layers.0.head.weight", tensor(&[3, 4], 1)),
        ("net.layers.0.head.bias", tensor(&[3], 2)),
        ("net.layers.1.head.weight", tensor(&[3, 4], 3)),
        ("net.ids", Tensor::from_slice(&[1i64, 2], 2)),
    ];
    let path = file(name, &tensors);
    let vb = VarBuilder::from_safetensors(&path).expect("a file");
    (path, vb)
}

#[test]
fn prefixes_nest() {
    let (_, vb) = net("prefixes");
    let layers = vb.pp("net").pp("layers");
    for (i, bias, seed) in [(0, true, 1), (1, false, 3)] {
        let head = layers.pp(i).pp("head");
        assert_eq!(head.contains("bias"), bias);
        close(
            &head.get((3, 4), "weight").expect("a weight"),
            &[3, 4],
            &wide(&tensor(&[3, 4], seed)),
        );
        let path = vb.pp(format!("net.layers.{i}.head"));
        assert_eq!(Linear::load(&path, 4, 3).expect("a layer").bias().is_some(), bias);
    }
    assert!(vb.contains("net.layers.0.head.bias") && !vb.contains("head.bias"));
    assert!(vb.get([3, 4], "net.layers.0.head.weight").is_ok() && vb.pp("").contains("net.ids"));
    // what is made from a builder leaves it as it is
    assert!(vb.clone().pp("net").contains("ids") && !vb.contains("ids"));
}

#[test]
fn a_wrong_shape_names_parameter_and_shapes() {
    let (path, vb) = net("shapes");
    let head = vb.pp("net.layers").pp(0).pp("head");
    assert_eq!(
        text(Linear::load(&head, 5, 3)),
        format!(
            "error[TP0913]: `net.layers.0.head.weight`: expected shape [3, 5], got [3, 4] in {path}\n  \
             help: load the layer with the sizes that it was saved with"
        )
    );
    assert!(text(head.get(12, "weight")).contains("expected shape [12], got [3, 4]"));
    assert!(text(head.get((3, -1), "weight")).contains("expected shape [3, -1], got [3, 4]"));
    let error = head.get((), "bias").expect_err("a vector");
    assert!(matches!(error, Error::Layer { ref name, .. } if name == "net.layers.0.head.bias"));
}

#[test]
fn a_missing_name_names_the_nearest() {
    let (path, vb) = net("missing");
    assert_eq!(
        text(Linear::load(&vb.pp("net.layers.2.head"), 4, 3)),
        format!(
            "error[TP0913]: `net.layers.2.head.weight`: {path} has no such name\n  \
             help: the nearest names are `net.layers.0.head.weight`, `net.layers.1.head.weight`, \
             `net.layers.0.head.bias`"
        )
    );
    assert!(
        text(BatchNorm2d::load(&builder("one", &[("a", tensor(&[1], 1))]), 1))
            .ends_with("the nearest name is `a`")
    );
    assert!(text(LayerNorm::load(&builder("none", &[]), 1, 1e-5)).ends_with("has no names at all"));
    assert!(matches!(
        VarBuilder::from_safetensors("no such file"),
        Err(Error::Io(_))
    ));
}

#[test]
fn floats_are_converted_when_asked_for() {
    let (_, vb) = net("converted");
    let half = vb.to_dtype(DType::BF16).pp("net");
    let layer = Linear::load(&half.pp("layers.0.head"), 4, 3).expect("a layer");
    assert!(layer.parameters().iter().all(|t| t.dtype() == DType::BF16));
    let y = layer.forward(&tensor(&[2, 4], 5).to_dtype(DType::BF16));
    let want = Linear::load(&vb.pp("net.layers.0.head"), 4, 3)
        .expect("a layer")
        .forward(&tensor(&[2, 4], 5));
    assert_eq!(y.dtype(), DType::BF16);
    assert!(y.to_dtype(DType::F32).allclose(&want, 5e-2, 5e-2));
    assert_eq!(half.get(2, "ids").expect("numbers").dtype(), DType::I64);
    assert_eq!(
        vb.get(3, "net.layers.0.head.bias").expect("a bias").dtype(),
        DType::F32
    );
}

#[test]
fn a_parameter_is_a_float() {
    let vb = builder("integers", &[("weight", Tensor::ones(3, DType::I64))]);
    let error = text(LayerNorm::load(&vb, 3, 1e-5));
    assert!(
        error.contains("`weight`: expected a float dtype, got i64 in "),
        "{error}"
    );
}

#[test]
fn devices() {
    let (_, vb) = net("devices");
    assert!(vb.to_device(Device::Cpu).get(2, "net.ids").is_ok());
    let there = vb.to_device(Device::Cuda(0)).get(2, "net.ids");
    assert!(matches!(there, Err(Error::Device(_))) || Device::cuda_if_available(0) != Device::Cpu);
}

#[test]
fn tensors_need_no_file() {
    let (path, _) = net("map");
    let vb = VarBuilder::from_tensors(safetensors::load(&path).expect("a file")).pp("net");
    assert!(Linear::load(&vb.pp("layers.0.head"), 4, 3).is_ok());
    assert!(
        text(vb.get(1, "id"))
            .contains("`net.id`: the map has no such name\n  help: the nearest names are `net.ids`")
    );
}
