//! Transposed convolutions.

pub use layer::ConvTranspose2d;

#[crate::model(crate = crate)]
mod layer {
    use crate::nn::state::State;
    use crate::nn::{VarBuilder, check, init};
    use crate::prelude::ConvTranspose2dOptions;
    use crate::{Result, Tensor};
    use std::collections::HashMap;
    use tensorplay_runtime::Pair;

    /// Transposed convolution along two axes, with `weight: [in, out / groups, kh, kw]`.
    #[derive(Clone, Debug)]
    pub struct ConvTranspose2d {
        weight: Tensor,
        bias: Option<Tensor>,
        options: ConvTranspose2dOptions,
    }

    impl ConvTranspose2d {
        /// Takes `weight`, and `bias` if there is one.
        ///
        /// # Errors
        /// If a parameter is missing or has another shape, or the groups do not divide the channels.
        pub fn load(
            vb: &VarBuilder,
            cin: usize,
            cout: usize,
            kernel: impl Pair,
            options: ConvTranspose2dOptions,
        ) -> Result<ConvTranspose2d> {
            let layer = vb.layer("ConvTranspose2d");
            let n = check::grouped(&layer, cin, cout, options.group_count(), cout)?;
            let [kh, kw] = check::kernel(&layer, kernel.pair())?;
            Ok(ConvTranspose2d {
                weight: vb.parameter((cin, n, kh, kw), "weight")?,
                bias: vb.optional(cout, "bias")?,
                options,
            })
        }

        /// Draws weight and bias uniformly within `1 / sqrt(n)` of 0, where `n` is
        /// `out / groups` times the size of the kernel.
        ///
        /// # Panics
        /// If the groups do not divide the channels, or the kernel is empty.
        #[track_caller]
        pub fn new(
            cin: usize,
            cout: usize,
            kernel: impl Pair,
            options: ConvTranspose2dOptions,
        ) -> ConvTranspose2d {
            let n = check::or_raise(check::grouped(
                "ConvTranspose2d",
                cin,
                cout,
                options.group_count(),
                cout,
            ));
            let [kh, kw] = check::or_raise(check::kernel("ConvTranspose2d", kernel.pair()));
            let bound = init::kaiming_bound(n.saturating_mul(kh).saturating_mul(kw));
            ConvTranspose2d {
                weight: init::uniform((cin, n, kh, kw), bound),
                bias: Some(init::uniform(cout, bound)),
                options,
            }
        }

        /// `[batch, in, h, w]` to `[batch, out, h, w]`, larger by the stride.
        pub fn forward(&self, x: &Tensor) -> Tensor {
            x.conv_transpose2d(&self.weight, self.bias.as_ref(), self.options)
        }

        /// The same in training.
        pub fn forward_t(&self, x: &Tensor, _train: bool) -> Tensor {
            self.forward(x)
        }

        /// `[in, out / groups, kh, kw]`.
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
