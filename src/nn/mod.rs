//! Layers: parameters under PyTorch's names, and the operations that use them.
//!
//! A layer comes from a file, `Linear::load(&vb, 64, 10)?` with a [`VarBuilder`], or is drawn at random as PyTorch
//! draws it, `Linear::new(64, 10)`. `forward` evaluates, `forward_t(&x, true)` trains. A loaded layer has a bias if
//! the file has one, a new one has it always.
//!
//! Parameters and running statistics are variables: clones of a layer share them, and what an optimizer or a
//! training step writes into one is seen by all. Two layers that were loaded from one file share nothing.
//!
//! ```
//! use tensorplay::{nn::Linear, prelude::*};
//! let layer = Linear::new(64, 10);
//! let y = layer.forward(&Tensor::zeros((32, 64), DType::F32));
//! assert_eq!(y.shape(), [32, 10]);
//! assert_eq!(layer.parameters().len(), 2);
//! ```

mod attention;
mod batch_norm;
mod check;
mod conv;
mod conv_transpose;
mod dropout;
mod embedding;
mod init;
mod linear;
mod norm;
mod state;
mod var_builder;

pub use attention::MultiheadAttention;
pub use batch_norm::{BatchNorm1d, BatchNorm2d};
pub use conv::{Conv1d, Conv2d};
pub use conv_transpose::ConvTranspose2d;
pub use dropout::Dropout;
pub use embedding::Embedding;
pub use linear::Linear;
pub use norm::{GroupNorm, LayerNorm, RmsNorm};
pub use var_builder::VarBuilder;
