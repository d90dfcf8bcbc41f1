//! Attention over several heads.

pub use layer::MultiheadAttention;

#[crate::model(crate = crate)]
mod layer {
    use crate::nn::state::State;
    use crate::nn::{VarBuilder, check, init};
    use crate::prelude::AttentionOptions;
    use crate::{Result, Tensor};
    use std::collections::HashMap;

    /// PyTorch's `nn.MultiheadAttention` with `batch_first`: projections, scaled dot products, a projection.
    #[derive(Clone, Debug)]
    pub struct MultiheadAttention {
        dim: usize,
        heads: usize,
        in_proj_weight: Tensor,
        in_proj_bias: Option<Tensor>,
        out_proj_weight: Tensor,
        out_proj_bias: Option<Tensor>,
    }

    impl MultiheadAttention {
        /// Takes `in_proj_weight`, `out_proj.weight`, and `in_proj_bias` and `out_proj.bias` if there are any.
        ///
        /// # Errors
        /// If a parameter is missing or has another shape, or the heads do not divide the width.
        pub fn load(vb: &VarBuilder, dim: usize, heads: usize) -> Result<MultiheadAttention> {
            check::divides(&vb.layer("MultiheadAttention"), ("heads", heads), ("dim", dim))?;
            Ok(MultiheadAttention {
                dim,
                heads,
                in_proj_weight: vb.parameter((3 * dim, dim), "in_proj_weight")?,
                in_proj_bias: vb.optional(3 * dim, "in_proj_bias")?,
                out_proj_weight: vb.parameter((dim, dim), "out_proj.weight")?,
                out_proj_bias: vb.optional(dim, "out_proj.bias")?,
            })
        }

        /// Draws the input projection with Xavier's bound and the output projection as `Linear` does; biases are 0.
        ///
        /// # Panics
        /// If the heads do not divide the width.
        #[track_caller]
        pub fn new(dim: usize, heads: usize) -> MultiheadAttention {
            check::or_raise(check::divides(
                "MultiheadAttention",
                ("heads", heads),
                ("dim", dim),
            ));
            MultiheadAttention {
                dim,
                heads,
                in_proj_weight: init::uniform((3 * dim, dim), init::xavier_bound(dim, 3 * dim)),
                in_proj_bias: Some(init::zeros(3 * dim)),
                out_proj_weight: init::uniform((dim, dim), init::kaiming_bound(dim)),
                out_proj_bias: Some(init::zeros(dim)),
            }
        }

        /// Queries `[batch, tokens, dim]`, keys and values `[batch, keys, dim]` to `[batch, tokens, dim]`.
        ///
        /// The mask broadcasts to `[batch, heads, tokens, keys]`; it is Bool, true where a query sees a key (the
        /// opposite of PyTorch's layer), or is added to the scores.
        pub fn forward(&self, q: &Tensor, k: &Tensor, v: &Tensor, mask: Option<&Tensor>) -> Tensor {
            let (batch, tokens) = (q.dim(0), q.dim(1));
            let (q, k, v) = (self.project(q, 0), self.project(k, 1), self.project(v, 2));
            let mixed = q.scaled_dot_product_attention(&k, &v, mask, AttentionOptions::default());
            let joined = mixed.transpose(1, 2).reshape((batch, tokens, self.dim));
            joined.linear(&self.out_proj_weight, self.out_proj_bias.as_ref())
        }

        /// The same in training.
        pub fn forward_t(
            &self,
            q: &Tensor,
            k: &Tensor,
            v: &Tensor,
            mask: Option<&Tensor>,
            _train: bool,
        ) -> Tensor {
            self.forward(q, k, v, mask)
        }

        /// One of the three input projections, by head: `[batch, heads, tokens, dim / heads]`.
        fn project(&self, x: &Tensor, part: usize) -> Tensor {
            let weight = self.in_proj_weight.narrow(0, part * self.dim, self.dim);
            let y = match &self.in_proj_bias {
                Some(bias) => x.linear(&weight, Some(&bias.narrow(0, part * self.dim, self.dim))),
                None => x.linear(&weight, None),
            };
            y.reshape((x.dim(0), x.dim(1), self.heads, self.dim / self.heads))
                .transpose(1, 2)
        }

        /// Weight and bias of the input projection, then of the output projection.
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
            State::new([
                ("in_proj_weight", Some(&self.in_proj_weight)),
                ("in_proj_bias", self.in_proj_bias.as_ref()),
                ("out_proj.weight", Some(&self.out_proj_weight)),
                ("out_proj.bias", self.out_proj_bias.as_ref()),
            ])
        }
    }
}
