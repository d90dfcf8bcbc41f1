//! Convolutions at their corners.

use crate::check::{both, row};
use tensorplay::{Result, compile, prelude::*};

#[test]
fn report_085_padding_of_a_strided_pointwise_convolution() {
    let x = Tensor::arange(1, 7, DType::F32);
    let (w, want) = (row([2.0f32]), row([0.0f32, 4.0, 8.0, 12.0]));
    exact!([x: f32 = x.reshape((1, 1, 6)), w: f32 = w.reshape((1, 1, 1))]
        x.conv1d(w, None, Conv1dOptions::default().stride(2).padding(1)) => want.reshape((1, 1, 4)));
    exact!([x: f32 = x.reshape((1, 1, 1, 6)), w: f32 = w.reshape((1, 1, 1, 1))]
        x.conv2d(w, None, Conv2dOptions::default().stride((1, 2)).padding((0, 1))) => want.reshape((1, 1, 1, 4)));
}

#[test]
fn report_086_a_strided_padded_dilated_convolution() {
    let (x, w) = (Tensor::arange(1, 8, DType::F32), row([1.0f32, 10.0, 100.0]));
    let want = row([310.0f32, 531.0, 753.0, 75.0]);
    exact!([x: f32 = x.reshape((1, 1, 7)), w: f32 = w.reshape((1, 1, 3))]
        x.conv1d(w, None, Conv1dOptions::default().stride(2).padding(2).dilation(2)) => want.reshape((1, 1, 4)));
    exact!([x: f32 = x.reshape((1, 1, 7, 1)), w: f32 = w.reshape((1, 1, 3, 1))]
        x.conv2d(w, None, Conv2dOptions::default().stride((2, 1)).padding((2, 0)).dilation((2, 1))) => want.reshape((1, 1, 4, 1)));
}

#[test]
fn report_086_an_image_without_a_batch() {
    #[compile]
    fn unbatched(x: &Tensor, w: &Tensor) -> Result<Tensor> {
        x.try_conv1d(w, None, Conv1dOptions::default().stride(2).padding(2).dilation(2))
    }
    let (x, w) = (Tensor::arange(1, 8, DType::F32), row([1.0f32, 10.0, 100.0]));
    for got in both(|| unbatched(&x.reshape((1, 7)), &w.reshape((1, 1, 3)))) {
        match got {
            Ok(y) => {
                assert_eq!(y.shape(), [1, 4]);
                assert_eq!(y.to_vec::<f32>(), [310.0, 531.0, 753.0, 75.0]);
            }
            Err(e) => assert!(e.to_string().contains("conv1d"), "{e}"),
        }
    }
}
