//! The dense layer.

pub use layer::Linear;

#[crate::model(crate = crate)]
mod layer {
    use crate::nn::state::State;
    use crate::nn::{VarBuilder, init};
    use crate::{Result, Tensor};
    use std::collections::HashMap;

    /// `x @ weight^T + bias`, with `weight: [out, in]`.
    #[derive(Clone, Debug)]
    pub struct Linear {
        weight: Tensor,
        bias: Option<Tensor>,
    }

    impl Linear {
        /// Takes `weight`, and `bias` if there is one.
        ///
        /// # Errors
        /// If a parameter is missing or has another shape.
        pub fn load(vb: &VarBuilder, in_features: usize, out_features: usize) -> Result<Linear> {
            Ok(Linear {
                weight: vb.parameter((out_features, in_features), "weight")?,
                bias: vb.optional(out_features, "bias")?,
            })
        }

        /// Draws weight and bias uniformly within `1 / sqrt(in_features)` of 0.
        pub fn new(in_features: usize, out_features: usize) -> Linear {
            let bound = init::kaiming_bound(in_features);
            Linear {
                weight: init::uniform((out_features, in_features), bound),
                bias: Some(init::uniform(out_features, bound)),
            }
        }

        /// `[.., in]` to `[.., out]`.
        pub fn forward(&self, x: &Tensor) -> Tensor {
            x.linear(&self.weight, self.bias.as_ref())
        }

        /// The same in training.
        pub fn forward_t(&self, x: &Tensor, _train: bool) -> Tensor {
            self.forward(x)
        }

        /// `[out, in]`.
        pub fn weight(&self) -> &Tensor {
            &self.weight
        }

        /// `[out]`.
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
