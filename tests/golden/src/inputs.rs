//! `Vectors`: the tensors of a folder, and arguments in the layouts that cases ask for.

use crate::host::{bits, poison, tensor};
use crate::{Case, Input, Layout};
use std::collections::HashMap;
use std::path::Path;
use tensorplay::{DType, Tensor, safetensors};

/// The tensors of a folder.
#[derive(Debug, Default)]
pub struct Vectors {
    tensors: HashMap<String, Tensor>,
}

impl Vectors {
    /// Opens `tensors.safetensors` in a folder.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn open(folder: &Path) -> Result<Vectors, String> {
        let path = folder.join("tensors.safetensors");
        let tensors = safetensors::load(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Vectors { tensors })
    }

    /// Tensors that are not from a file: for tests of the runners.
    pub fn from_pairs(pairs: impl IntoIterator<Item = (&'static str, Tensor)>) -> Vectors {
        Vectors {
            tensors: pairs.into_iter().map(|(k, t)| (k.to_string(), t)).collect(),
        }
    }

    /// A tensor, which is of the dtype and shape that the case says.
    ///
    /// # Errors
    /// It is missing, or is something else.
    pub fn tensor(&self, key: &str, dtype: DType, shape: &[usize]) -> Result<&Tensor, String> {
        let t = self
            .tensors
            .get(key)
            .ok_or_else(|| format!("the vectors have no tensor `{key}`"))?;
        if t.dtype() != dtype || t.shape() != shape {
            let (is, of) = (t.dtype(), t.shape());
            return Err(format!(
                "the vectors have {is}{of:?} as `{key}`, the case says {dtype}{shape:?}"
            ));
        }
        Ok(t)
    }

    /// The arguments of a case, in their layouts.
    ///
    /// # Errors
    /// A tensor is missing or cannot have the layout.
    pub fn inputs(&self, case: &Case) -> Result<Vec<Tensor>, String> {
        case.inputs.iter().map(|i| self.input(i)).collect()
    }

    fn input(&self, input: &Input) -> Result<Tensor, String> {
        let t = self.tensor(input.key, input.dtype, input.shape)?;
        let view = match input.layout {
            Layout::Contiguous => return Ok(t.clone()),
            Layout::Transposed => transposed(t)?,
            Layout::Strided => strided(t)?,
        };
        if view.shape() != t.shape() || bits(&view) != bits(t) {
            return Err(format!(
                "`{}` as a {:?} view has other values",
                input.key, input.layout
            ));
        }
        if view.is_contiguous() {
            return Err(format!(
                "`{}` of shape {:?} has no {:?} view",
                input.key, input.shape, input.layout
            ));
        }
        Ok(view)
    }
}

/// The same values, stored with the last two dims swapped.
fn transposed(t: &Tensor) -> Result<Tensor, String> {
    let mut shape = t.shape().to_vec();
    let r = shape.len();
    if r < 2 {
        return Err(format!("a tensor of rank {r} cannot be transposed"));
    }
    let (rows, columns) = (shape[r - 2], shape[r - 1]);
    let data = bits(t);
    let mut stored = Vec::with_capacity(data.len());
    for matrix in data.chunks_exact((rows * columns).max(1)) {
        for c in 0..columns {
            stored.extend((0..rows).map(|row| matrix[row * columns + c]));
        }
    }
    shape.swap(r - 2, r - 1);
    let base = tensor(t.dtype(), &stored, &shape)?;
    base.try_transpose(-1, -2).map_err(|e| e.to_string())
}

/// The same values, with a poisoned element after each.
fn strided(t: &Tensor) -> Result<Tensor, String> {
    let mut shape = t.shape().to_vec();
    let Some(last) = shape.last_mut() else {
        return Err("a tensor of rank 0 cannot be strided".into());
    };
    *last *= 2;
    let end = *last;
    let stored: Vec<u64> = bits(t)
        .into_iter()
        .flat_map(|b| [b, poison(t.dtype(), b)])
        .collect();
    let base = tensor(t.dtype(), &stored, &shape)?;
    base.try_slice(-1, 0, end, 2).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: &[usize] = &[2, 3, 4];

    fn input(layout: Layout) -> Input {
        Input {
            key: "a",
            dtype: DType::I32,
            shape: SHAPE,
            layout,
        }
    }

    fn vectors() -> Vectors {
        Vectors::from_pairs([("a", Tensor::from_vec((0..24).collect::<Vec<i32>>(), SHAPE))])
    }

    #[test]
    fn layouts_keep_values_and_change_strides() {
        let v = vectors();
        let strides = |layout| v.input(&input(layout)).unwrap().strides().to_vec();
        assert_eq!(strides(Layout::Contiguous), [12, 4, 1]);
        assert_eq!(strides(Layout::Transposed), [12, 1, 3]);
        assert_eq!(strides(Layout::Strided), [24, 8, 2]);
    }

    #[test]
    fn data_that_is_not_what_the_case_says_is_reported() {
        let v = vectors();
        assert!(
            v.tensor("b", DType::I32, SHAPE)
                .unwrap_err()
                .contains("no tensor `b`")
        );
        assert!(v.tensor("a", DType::I64, SHAPE).unwrap_err().contains("i64"));
        assert!(v.tensor("a", DType::I32, &[24]).unwrap_err().contains("[24]"));
    }

    #[test]
    fn a_layout_that_cannot_be_is_reported() {
        let v = Vectors::from_pairs([("a", Tensor::from_slice(&[1.0f32], (1, 1)))]);
        let one = Input {
            key: "a",
            dtype: DType::F32,
            shape: &[1, 1],
            layout: Layout::Transposed,
        };
        assert!(v.input(&one).unwrap_err().contains("no Transposed view"));
    }
}
