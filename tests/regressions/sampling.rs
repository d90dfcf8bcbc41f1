//! Padding and resampling.

use crate::check::row;
use tensorplay::{Result, compile, prelude::*};

#[test]
fn report_038_no_image_is_made_of_nothing() {
    let x = Tensor::zeros((1, 1, 0, 4), DType::F32);
    refused!([x: f32 = x] x.try_interpolate((2, 2), Interpolate::Nearest) => "interpolate");
    refused!([x: f32 = x]
        x.try_interpolate((2, 2), Interpolate::Bilinear { align_corners: false })
        => "interpolate");
    refused!([x: f32 = x]
        x.try_interpolate((2, 2), Interpolate::Bilinear { align_corners: true })
        => "interpolate");
}

#[test]
fn report_082_pads_at_both_ends() {
    let x = row([1.0f32, 2.0, 3.0]).reshape((1, 3));
    let reflected = row([3.0f32, 2.0, 1.0, 2.0, 3.0, 2.0, 1.0]).reshape((1, 7));
    exact!([x: f32 = x] x.pad(&[2, 2], PadMode::Reflect) => reflected);
    let replicated = row([1.0f32, 1.0, 1.0, 2.0, 3.0, 3.0, 3.0]).reshape((1, 7));
    exact!([x: f32 = x] x.pad(&[2, 2], PadMode::Replicate) => replicated);
    let constant = row([0.5f32, 0.5, 1.0, 2.0, 3.0, 0.5, 0.5]).reshape((1, 7));
    exact!([x: f32 = x] x.pad(&[2, 2], PadMode::Constant(0.5)) => constant);
    refused!([x: f32 = x] x.try_pad(&[3, 0], PadMode::Reflect) => "pad");
    refused!([x: f32 = x] x.try_pad(&[0, 3], PadMode::Reflect) => "pad");
}

#[test]
fn report_084_bilinear_sizes() {
    let x = row([0.0f32, 10.0, 20.0, 30.0]).reshape((1, 1, 1, 4));
    let image = |values: &[f32]| row(values).reshape((1, 1, 1, -1));
    exact!([x: f32 = x]
        x.interpolate((1, 1), Interpolate::Bilinear { align_corners: false })
        => image(&[15.0]));
    exact!([x: f32 = x]
        x.interpolate((1, 1), Interpolate::Bilinear { align_corners: true })
        => image(&[0.0]));
    let half = [
        0.0f32,
        25.0 / 7.0,
        65.0 / 7.0,
        15.0,
        145.0 / 7.0,
        185.0 / 7.0,
        30.0,
    ];
    near!(1e-6, [x: f32 = x]
        x.interpolate((1, 7), Interpolate::Bilinear { align_corners: false })
        => image(&half));
    let aligned = [0.0f32, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0];
    near!(1e-6, [x: f32 = x]
        x.interpolate((1, 7), Interpolate::Bilinear { align_corners: true })
        => image(&aligned));
    let column = row([0.0f32, 10.0, 20.0, 30.0]).reshape((1, 1, 4, 1));
    near!(1e-6, [x: f32 = column]
        x.interpolate((7, 1), Interpolate::Bilinear { align_corners: false })
        => image(&half).transpose(2, 3));
}
