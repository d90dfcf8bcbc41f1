//! Dropout.

pub use layer::Dropout;

#[crate::model(crate = crate)]
mod layer {
    use crate::nn::check;
    use crate::nn::state::State;
    use crate::{Result, Tensor};
    use std::collections::HashMap;

    /// In training, each element is 0 with probability `p`, and divided by `1 - p` otherwise; else nothing.
    #[derive(Clone, Debug)]
    pub struct Dropout {
        p: f64,
    }

    impl Dropout {
        /// Drops with probability `p`.
        ///
        /// # Panics
        /// If `p` is not from 0 to 1.
        #[track_caller]
        pub fn new(p: f64) -> Dropout {
            let p = check::or_raise(check::probability("Dropout", p));
            Dropout { p }
        }

        /// `x` itself.
        pub fn forward(&self, x: &Tensor) -> Tensor {
            self.forward_t(x, false)
        }

        /// Drops elements if `train`.
        pub fn forward_t(&self, x: &Tensor, train: bool) -> Tensor {
            x.dropout(self.p, train)
        }

        /// None.
        pub fn parameters(&self) -> Vec<Tensor> {
            self.state().parameters()
        }

        /// Takes an empty map.
        ///
        /// # Errors
        /// If the map has a name.
        pub fn load_state_dict(&self, map: &HashMap<String, Tensor>) -> Result<()> {
            self.state().assign(map)
        }

        fn state(&self) -> State<'_> {
            State::new([])
        }
    }
}
