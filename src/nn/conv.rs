//! Convolutions.

pub use layer::{Conv1d, Conv2d};

#[crate::model(crate = crate)]
mod layer {
    use crate::nn::state::State;
    use crate::nn::{VarBuilder, check, init};
    use crate::prelude::{Conv1dOptions, Conv2dOptions};
    use crate::{Result, Tensor};
    use std::collections::HashMap;
    use tensorplay_runtime::Pair;

    /// Convolution along one axis, with `weight: [out, in / groups, k]`.
    #[derive(Clone, Debug)]
    pub struct Conv1d {
        weight: Tensor,
        bias: Option<Tensor>,
        options: Conv1dOptions,
    }

    impl Conv1d {
        /// Takes `weight`, and `bias` if there is one.
        ///
        /// # Errors
        /// If a parameter is missing or has another shape, or the groups do not divide the channels.
        pub fn load(
            vb: &VarBuilder,
            cin: usize,
            cout: usize,
            kernel: usize,
            options: Conv1dOptions,
        ) -> Result<Conv1d> {
            let layer = vb.layer("Conv1d");
            let n = check::grouped(&layer, cin, cout, options.group_count(), cin)?;
            let [k] = check::kernel(&layer, [kernel])?;
            Ok(Conv1d {
                weight: vb.parameter((cout, n, k), "weight")?,
                bias: vb.optional(cout, "bias")?,
                options,
            })
        }

        /// Draws weight and bias uniformly within `1 / sqrt(n)` of 0, where `n` is
        /// the number of elements that one output sees.
        ///
        /// # Panics
        /// If the groups do not divide the channels, or the kernel is empty.
        #[track_caller]
        pub fn new(cin: usize, cout: usize, kernel: usize, options: Conv1dOptions) -> Conv1d {
            let n = check::or_raise(check::grouped("Conv1d", cin, cout, options.group_count(), cin));
            let [k] = check::or_raise(check::kernel("Conv1d", [kernel]));
            let bound = init::kaiming_bound(n.saturating_mul(k));
            Conv1d {
                weight: init::uniform((cout, n, k), bound),
                bias: Some(init::uniform(cout, bound)),
                options,
            }
        }

        /// `[batch, in, length]` to `[batch, out, windows]`.
        pub fn forward(&self, x: &Tensor) -> Tensor {
            x.conv1d(&self.weight, self.bias.as_ref(), self.options)
        }

        /// The same in training.
        pub fn forward_t(&self, x: &Tensor, _train: bool) -> Tensor {
            self.forward(x)
        }

        /// `[out, in / groups, k]`.
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

    /// Convolution along two axes, with `weight: [out, in / groups, kh, kw]`.
    #[derive(Clone, Debug)]
    pub struct Conv2d {
        weight: Tensor,
        bias: Option<Tensor>,
        options: Conv2dOptions,
    }

    impl Conv2d {
        /// Takes `weight`, and `bias` if there is one.
        ///
        /// # Errors
        /// If a parameter is missing or has another shape, or the groups do not divide the channels.
        pub fn load(
            vb: &VarBuilder,
            cin: usize,
            cout: usize,
            kernel: impl Pair,
            options: Conv2dOptions,
        ) -> Result<Conv2d> {
            let layer = vb.layer("Conv2d");
            let n = check::grouped(&layer, cin, cout, options.group_count(), cin)?;
            let [kh, kw] = check::kernel(&layer, kernel.pair())?;
            Ok(Conv2d {
                weight: vb.parameter((cout, n, kh, kw), "weight")?,
                bias: vb.optional(cout, "bias")?,
                options,
            })
        }

        /// Draws weight and bias uniformly within `1 / sqrt(n)` of 0, where `n` is
        /// the number of elements that one output sees.
        ///
        /// # Panics
        /// If the groups do not divide the channels, or the kernel is empty.
        #[track_caller]
        pub fn new(cin: usize, cout: usize, kernel: impl Pair, options: Conv2dOptions) -> Conv2d {
            let n = check::or_raise(check::grouped("Conv2d", cin, cout, options.group_count(), cin));
            let [kh, kw] = check::or_raise(check::kernel("Conv2d", kernel.pair()));
            let bound = init::kaiming_bound(n.saturating_mul(kh).saturating_mul(kw));
            Conv2d {
                weight: init::uniform((cout, n, kh, kw), bound),
                bias: Some(init::uniform(cout, bound)),
                options,
            }
        }

        /// `[batch, in, h, w]` to `[batch, out, h, w]` of windows.
        pub fn forward(&self, x: &Tensor) -> Tensor {
            x.conv2d(&self.weight, self.bias.as_ref(), self.options)
        }

        /// The same in training.
        pub fn forward_t(&self, x: &Tensor, _train: bool) -> Tensor {
            self.forward(x)
        }

        /// `[out, in / groups, kh, kw]`.
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
