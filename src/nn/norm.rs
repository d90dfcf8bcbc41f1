//! Normalisations that know no batch.

pub use layer::{GroupNorm, LayerNorm, RmsNorm};

#[crate::model(crate = crate)]
mod layer {
    use crate::nn::state::State;
    use crate::nn::{VarBuilder, check, init};
    use crate::{Result, Tensor};
    use std::collections::HashMap;

    /// `(x - mean) / sqrt(var + eps) * weight + bias` along the last dim.
    #[derive(Clone, Debug)]
    pub struct LayerNorm {
        weight: Tensor,
        bias: Option<Tensor>,
        eps: f64,
    }

    impl LayerNorm {
        /// Takes `weight`, and `bias` if there is one.
        ///
        /// # Errors
        /// If a parameter is missing or has another shape.
        pub fn load(vb: &VarBuilder, dim: usize, eps: f64) -> Result<LayerNorm> {
            Ok(LayerNorm {
                weight: vb.parameter(dim, "weight")?,
                bias: vb.optional(dim, "bias")?,
                eps,
            })
        }

        /// Weight is 1, bias 0.
        pub fn new(dim: usize, eps: f64) -> LayerNorm {
            LayerNorm {
                weight: init::ones(dim),
                bias: Some(init::zeros(dim)),
                eps,
            }
        }

        /// `[.., dim]`, each row by itself.
        pub fn forward(&self, x: &Tensor) -> Tensor {
            x.layer_norm(1, Some(&self.weight), self.bias.as_ref(), self.eps)
        }

        /// The same in training.
        pub fn forward_t(&self, x: &Tensor, _train: bool) -> Tensor {
            self.forward(x)
        }

        /// `[dim]`.
        pub fn weight(&self) -> &Tensor {
            &self.weight
        }

        /// `[dim]`.
        pub fn bias(&self) -> Option<&Tensor> {
            self.bias.as_ref()
        }

        /// Weight and bias.
        pub fn parameters(&self) -> Vec<Tensor> {
            self.state().parameters()
        }

        /// Gives each parameter the value of its name.
        ///
        /// # Errors
        /// If a name is missing or foreign, or a shape differs; nothing is written then.
        pub fn load_state_dict(&self, map: &HashMap<String, Tensor>) -> Result<()> {
            self.state().assign(map)
        }

        fn state(&self) -> State<'_> {
            State::new([("weight", Some(&self.weight)), ("bias", self.bias.as_ref())])
        }
    }

    /// `x / sqrt(mean(x^2) + eps) * weight` along the last dim.
    #[derive(Clone, Debug)]
    pub struct RmsNorm {
        weight: Tensor,
        eps: f64,
    }

    impl RmsNorm {
        /// Takes `weight`.
        ///
        /// # Errors
        /// If it is missing or has another shape.
        pub fn load(vb: &VarBuilder, dim: usize, eps: f64) -> Result<RmsNorm> {
            let weight = vb.parameter(dim, "weight")?;
            Ok(RmsNorm { weight, eps })
        }

        /// Weight is 1.
        pub fn new(dim: usize, eps: f64) -> RmsNorm {
            let weight = init::ones(dim);
            RmsNorm { weight, eps }
        }

        /// `[.., dim]`, each row by itself.
        pub fn forward(&self, x: &Tensor) -> Tensor {
            x.rms_norm(&self.weight, self.eps)
        }

        /// The same in training.
        pub fn forward_t(&self, x: &Tensor, _train: bool) -> Tensor {
            self.forward(x)
        }

        /// `[dim]`.
        pub fn weight(&self) -> &Tensor {
            &self.weight
        }

        /// The weight.
        pub fn parameters(&self) -> Vec<Tensor> {
            self.state().parameters()
        }

        /// Gives the weight the value of its name.
        ///
        /// # Errors
        /// If a name is missing or foreign, or the shape differs; nothing is written then.
        pub fn load_state_dict(&self, map: &HashMap<String, Tensor>) -> Result<()> {
            self.state().assign(map)
        }

        fn state(&self) -> State<'_> {
            State::new([("weight", Some(&self.weight))])
        }
    }

    /// Normalises groups of channels, then scales and shifts each channel.
    #[derive(Clone, Debug)]
    pub struct GroupNorm {
        groups: usize,
        weight: Tensor,
        bias: Option<Tensor>,
        eps: f64,
    }

    impl GroupNorm {
        /// Takes `weight`, and `bias` if there is one.
        ///
        /// # Errors
        /// If a parameter is missing or has another shape, or the groups do not divide the channels.
        pub fn load(vb: &VarBuilder, groups: usize, channels: usize, eps: f64) -> Result<GroupNorm> {
            check::divides(&vb.layer("GroupNorm"), ("groups", groups), ("channels", channels))?;
            Ok(GroupNorm {
                groups,
                weight: vb.parameter(channels, "weight")?,
                bias: vb.optional(channels, "bias")?,
                eps,
            })
        }

        /// Weight is 1, bias 0.
        ///
        /// # Panics
        /// If the groups do not divide the channels.
        #[track_caller]
        pub fn new(groups: usize, channels: usize, eps: f64) -> GroupNorm {
            check::or_raise(check::divides(
                "GroupNorm",
                ("groups", groups),
                ("channels", channels),
            ));
            GroupNorm {
                groups,
                weight: init::ones(channels),
                bias: Some(init::zeros(channels)),
                eps,
            }
        }

        /// `[batch, channels, ..]`, each sample by itself.
        pub fn forward(&self, x: &Tensor) -> Tensor {
            x.group_norm(self.groups, Some(&self.weight), self.bias.as_ref(), self.eps)
        }

        /// The same in training.
        pub fn forward_t(&self, x: &Tensor, _train: bool) -> Tensor {
            self.forward(x)
        }

        /// `[channels]`.
        pub fn weight(&self) -> &Tensor {
            &self.weight
        }

        /// `[channels]`.
        pub fn bias(&self) -> Option<&Tensor> {
            self.bias.as_ref()
        }

        /// Weight and bias.
        pub fn parameters(&self) -> Vec<Tensor> {
            self.state().parameters()
        }

        /// Gives each parameter the value of its name.
        ///
        /// # Errors
        /// If a name is missing or foreign, or a shape differs; nothing is written then.
        pub fn load_state_dict(&self, map: &HashMap<String, Tensor>) -> Result<()> {
            self.state().assign(map)
        }

        fn state(&self) -> State<'_> {
            State::new([("weight", Some(&self.weight)), ("bias", self.bias.as_ref())])
        }
    }
}
