//! Layers of `tensorplay::nn`: values against f64 by hand, parameters from files, variables.

mod attention;
mod convolution;
mod initial;
mod layers;
mod state;
mod var_builder;

use std::collections::HashMap;
use tensorplay::nn::VarBuilder;
use tensorplay::prelude::*;
use tensorplay::safetensors;

/// A tensor of small distinct numbers.
fn tensor(shape: &[usize], seed: usize) -> Tensor {
    let n = shape.iter().product();
    let at = |i: usize| ((i * 37 + seed * 11 + 5) % 41) as f32 / 13.0 - 1.5;
    Tensor::from_vec((0..n).map(at).collect::<Vec<f32>>(), shape)
}

fn named(tensors: &[(&str, Tensor)]) -> HashMap<String, Tensor> {
    tensors
        .iter()
        .map(|(n, t)| ((*n).to_string(), t.clone()))
        .collect()
}

/// The path of a file with these tensors.
fn file(name: &str, tensors: &[(&str, Tensor)]) -> String {
    let path = format!("{}/nn_{name}.safetensors", env!("CARGO_TARGET_TMPDIR"));
    safetensors::save(&path, &named(tensors)).expect("a file");
    path
}

fn builder(name: &str, tensors: &[(&str, Tensor)]) -> VarBuilder {
    VarBuilder::from_safetensors(file(name, tensors)).expect("a file")
}

/// The values as f64, in row-major order.
fn wide(t: &Tensor) -> Vec<f64> {
    t.to_dtype(DType::F64).to_vec()
}

#[track_caller]
fn close(got: &Tensor, shape: &[usize], want: &[f64]) {
    assert_eq!(got.shape(), shape);
    for (i, (a, b)) in wide(got).iter().zip(want).enumerate() {
        assert!((a - b).abs() <= 1e-5 * (1.0 + b.abs()), "{i}: {a} != {b}");
    }
    assert_eq!(got.elem_count(), want.len());
}

#[track_caller]
fn text<T>(result: tensorplay::Result<T>) -> String {
    match result {
        Ok(_) => panic!("an error was expected"),
        Err(e) => {
            assert_eq!(e.code(), "TP0913", "{e}");
            e.to_string()
        }
    }
}
