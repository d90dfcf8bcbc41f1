//! Views: the same storage under another layout.
//!
//! Problem: the ops of the view family cost nothing, except where `reshape` must copy. Method: each asks
//! [`Layout`] for the new layout. Invariant: a view of a variable is a plain tensor of its value at that
//! moment.

use super::Tensor;
use crate::error::Result;
use crate::layout::Layout;

impl Tensor {
    /// One -1 is inferred; copies when the layout has no view of that shape.
    pub(crate) fn view_reshape(&self, shape: &[i64]) -> Result<Tensor> {
        let shape = self.layout().infer("reshape", shape)?;
        self.reshaped(&shape)
    }

    pub(crate) fn view_flatten(&self, from: i64, to: i64) -> Result<Tensor> {
        let shape = self.layout().flattened(from, to)?;
        self.reshaped(&shape)
    }

    /// Reshapes to a shape of the same count.
    pub(crate) fn reshaped(&self, shape: &[usize]) -> Result<Tensor> {
        match self.layout().reshaped(shape) {
            Some(layout) => Ok(self.with_layout(layout)),
            None => Ok(self.copied()?.with_layout(Layout::contiguous(shape)?)),
        }
    }
}

macro_rules! views {
    ($($name:ident = $method:ident($($arg:ident: $t:ty),*);)*) => {
        impl Tensor {$(
            pub(crate) fn $name(&self, $($arg: $t),*) -> Result<Tensor> {
                Ok(self.with_layout(self.layout().$method($($arg),*)?))
            }
        )*}
    };
}
views! {
    view_transpose = transpose(a: i64, b: i64);
    view_t = t();
    view_permute = permute(dims: &[i64]);
    view_movedim = movedim(from: i64, to: i64);
    view_unsqueeze = unsqueeze(dim: i64);
    view_squeeze = squeeze(dim: i64);
    view_narrow = narrow(dim: i64, start: i64, len: i64);
    view_select = select(dim: i64, index: i64);
    view_slice = slice(dim: i64, start: i64, end: i64, step: i64);
    view_expand = expand(sizes: &[i64]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_share_and_reshape_copies_when_it_must() {
        let x = Tensor::from_vec((0..6).collect::<Vec<i32>>(), (2, 3));
        let id = |t: &Tensor| t.value().storage().id();
        let t = x.view_t().unwrap();
        assert_eq!((id(&t), t.shape()), (id(&x), &[3, 2][..]));
        assert_eq!(t.to_vec::<i32>(), [0, 3, 1, 4, 2, 5]);
        let flat = t.view_flatten(0, -1).unwrap();
        assert_ne!(id(&flat), id(&x));
        assert_eq!(flat.to_vec::<i32>(), [0, 3, 1, 4, 2, 5]);
        let again = x.view_reshape(&[-1]).unwrap();
        assert_eq!(id(&again), id(&x));
        let row = x.view_select(0, -1).unwrap();
        assert_eq!((id(&row), row.to_vec::<i32>()), (id(&x), vec![3, 4, 5]));
        assert_eq!(x.view_expand(&[2, 2, 3]).unwrap().elem_count(), 12);
        assert_eq!(
            x.view_squeeze(0).unwrap().view_movedim(0, 1).unwrap().shape(),
            [3, 2]
        );
        assert!(x.view_expand(&[3, 3]).unwrap_err().to_string().contains("[2, 3]"));
    }
}
