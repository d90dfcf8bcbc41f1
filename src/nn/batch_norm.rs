//! Normalisation by batch.

pub use layer::{BatchNorm1d, BatchNorm2d};

#[crate::model(crate = crate)]
mod layer {
    use crate::nn::state::State;
    use crate::nn::{VarBuilder, init};
    use crate::{DType, Result, Tensor};
    use std::collections::HashMap;

    const MOMENTUM: f64 = 0.1;
    const EPS: f64 = 1e-5;

    /// Normalises each channel of `[batch, channels]` or `[batch, channels, length]`: by the batch in training, else by the running statistics.
    #[derive(Clone, Debug)]
    pub struct BatchNorm1d {
        weight: Tensor,
        bias: Option<Tensor>,
        running_mean: Tensor,
        running_var: Tensor,
        momentum: f64,
        eps: f64,
    }

    impl BatchNorm1d {
        /// Takes `weight`, `running_mean`, `running_var`, and `bias` if there is one.
        ///
        /// # Errors
        /// If a parameter is missing or has another shape.
        pub fn load(vb: &VarBuilder, channels: usize) -> Result<BatchNorm1d> {
            Ok(BatchNorm1d {
                weight: vb.parameter(channels, "weight")?,
                bias: vb.optional(channels, "bias")?,
                running_mean: vb.statistic(channels, "running_mean")?,
                running_var: vb.statistic(channels, "running_var")?,
                momentum: MOMENTUM,
                eps: EPS,
            })
        }

        /// Weight and running variance are 1, bias and running mean 0.
        pub fn new(channels: usize) -> BatchNorm1d {
            BatchNorm1d {
                weight: init::ones(channels),
                bias: Some(init::zeros(channels)),
                running_mean: Tensor::zeros(channels, DType::F32).variable(),
                running_var: Tensor::ones(channels, DType::F32).variable(),
                momentum: MOMENTUM,
                eps: EPS,
            }
        }

        /// How much of a batch goes into the running statistics; 0.1 unless set.
        #[must_use]
        pub fn with_momentum(self, momentum: f64) -> BatchNorm1d {
            BatchNorm1d { momentum, ..self }
        }

        /// What is added to the variance; 1e-5 unless set.
        #[must_use]
        pub fn with_eps(self, eps: f64) -> BatchNorm1d {
            BatchNorm1d { eps, ..self }
        }

        /// Normalises by the running statistics.
        pub fn forward(&self, x: &Tensor) -> Tensor {
            self.forward_t(x, false)
        }

        /// Normalises by the batch and updates the running statistics if `train`, with the unbiased variance.
        pub fn forward_t(&self, x: &Tensor, train: bool) -> Tensor {
            if train {
                x.batch_norm_train(
                    &self.running_mean,
                    &self.running_var,
                    Some(&self.weight),
                    self.bias.as_ref(),
                    self.momentum,
                    self.eps,
                )
            } else {
                x.batch_norm(
                    &self.running_mean,
                    &self.running_var,
                    Some(&self.weight),
                    self.bias.as_ref(),
                    self.eps,
                )
            }
        }

        /// `[channels]`.
        pub fn weight(&self) -> &Tensor {
            &self.weight
        }

        /// `[channels]`.
        pub fn bias(&self) -> Option<&Tensor> {
            self.bias.as_ref()
        }

        /// `[channels]`.
        pub fn running_mean(&self) -> &Tensor {
            &self.running_mean
        }

        /// `[channels]`.
        pub fn running_var(&self) -> &Tensor {
            &self.running_var
        }

        /// Weight and bias.
        pub fn parameters(&self) -> Vec<Tensor> {
            self.state().parameters()
        }

        /// Gives each parameter and running statistic the value of its name; `num_batches_tracked` is ignored.
        ///
        /// # Errors
        /// If a name is missing or foreign, or a shape differs; nothing is written then.
        pub fn load_state_dict(&self, map: &HashMap<String, Tensor>) -> Result<()> {
            self.state().assign(map)
        }

        fn state(&self) -> State<'_> {
            State::new([("weight", Some(&self.weight)), ("bias", self.bias.as_ref())])
                .statistics([
                    ("running_mean", &self.running_mean),
                    ("running_var", &self.running_var),
                ])
                .ignoring("num_batches_tracked")
        }
    }

    /// Normalises each channel of `[batch, channels, h, w]`: by the batch in training, else by the running statistics.
    #[derive(Clone, Debug)]
    pub struct BatchNorm2d {
        weight: Tensor,
        bias: Option<Tensor>,
        running_mean: Tensor,
        running_var: Tensor,
        momentum: f64,
        eps: f64,
    }

    impl BatchNorm2d {
        /// Takes `weight`, `running_mean`, `running_var`, and `bias` if there is one.
        ///
        /// # Errors
        /// If a parameter is missing or has another shape.
        pub fn load(vb: &VarBuilder, channels: usize) -> Result<BatchNorm2d> {
            Ok(BatchNorm2d {
                weight: vb.parameter(channels, "weight")?,
                bias: vb.optional(channels, "bias")?,
                running_mean: vb.statistic(channels, "running_mean")?,
                running_var: vb.statistic(channels, "running_var")?,
                momentum: MOMENTUM,
                eps: EPS,
            })
        }

        /// Weight and running variance are 1, bias and running mean 0.
        pub fn new(channels: usize) -> BatchNorm2d {
            BatchNorm2d {
                weight: init::ones(channels),
                bias: Some(init::zeros(channels)),
                running_mean: Tensor::zeros(channels, DType::F32).variable(),
                running_var: Tensor::ones(channels, DType::F32).variable(),
                momentum: MOMENTUM,
                eps: EPS,
            }
        }

        /// How much of a batch goes into the running statistics; 0.1 unless set.
        #[must_use]
        pub fn with_momentum(self, momentum: f64) -> BatchNorm2d {
            BatchNorm2d { momentum, ..self }
        }

        /// What is added to the variance; 1e-5 unless set.
        #[must_use]
        pub fn with_eps(self, eps: f64) -> BatchNorm2d {
            BatchNorm2d { eps, ..self }
        }

        /// Normalises by the running statistics.
        pub fn forward(&self, x: &Tensor) -> Tensor {
            self.forward_t(x, false)
        }

        /// Normalises by the batch and updates the running statistics if `train`, with the unbiased variance.
        pub fn forward_t(&self, x: &Tensor, train: bool) -> Tensor {
            if train {
                x.batch_norm_train(
                    &self.running_mean,
                    &self.running_var,
                    Some(&self.weight),
                    self.bias.as_ref(),
                    self.momentum,
                    self.eps,
                )
            } else {
                x.batch_norm(
                    &self.running_mean,
                    &self.running_var,
                    Some(&self.weight),
                    self.bias.as_ref(),
                    self.eps,
                )
            }
        }

        /// `[channels]`.
        pub fn weight(&self) -> &Tensor {
            &self.weight
        }

        /// `[channels]`.
        pub fn bias(&self) -> Option<&Tensor> {
            self.bias.as_ref()
        }

        /// `[channels]`.
        pub fn running_mean(&self) -> &Tensor {
            &self.running_mean
        }

        /// `[channels]`.
        pub fn running_var(&self) -> &Tensor {
            &self.running_var
        }

        /// Weight and bias.
        pub fn parameters(&self) -> Vec<Tensor> {
            self.state().parameters()
        }

        /// Gives each parameter and running statistic the value of its name; `num_batches_tracked` is ignored.
        ///
        /// # Errors
        /// If a name is missing or foreign, or a shape differs; nothing is written then.
        pub fn load_state_dict(&self, map: &HashMap<String, Tensor>) -> Result<()> {
            self.state().assign(map)
        }

        fn state(&self) -> State<'_> {
            State::new([("weight", Some(&self.weight)), ("bias", self.bias.as_ref())])
                .statistics([
                    ("running_mean", &self.running_mean),
                    ("running_var", &self.running_var),
                ])
                .ignoring("num_batches_tracked")
        }
    }
}
