//! The table of vectors.

pub use layer::Embedding;

#[crate::model(crate = crate)]
mod layer {
    use crate::nn::state::State;
    use crate::nn::{VarBuilder, init};
    use crate::{Result, Tensor};
    use std::collections::HashMap;

    /// A vector for each index, with `weight: [rows, dim]`.
    #[derive(Clone, Debug)]
    pub struct Embedding {
        weight: Tensor,
    }

    impl Embedding {
        /// Takes `weight`.
        ///
        /// # Errors
        /// If it is missing or has another shape.
        pub fn load(vb: &VarBuilder, rows: usize, dim: usize) -> Result<Embedding> {
            let weight = vb.parameter((rows, dim), "weight")?;
            Ok(Embedding { weight })
        }

        /// Draws normal vectors of mean 0 and variance 1.
        pub fn new(rows: usize, dim: usize) -> Embedding {
            let weight = init::normal((rows, dim));
            Embedding { weight }
        }

        /// Indices `[..]` to vectors `[.., dim]`.
        pub fn forward(&self, x: &Tensor) -> Tensor {
            self.weight.embedding(x)
        }

        /// The same in training.
        pub fn forward_t(&self, x: &Tensor, _train: bool) -> Tensor {
            self.forward(x)
        }

        /// `[rows, dim]`.
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
}
