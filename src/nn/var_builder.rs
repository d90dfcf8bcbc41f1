//! Parameters by name from a file.
//!
//! Problem: a model of nested layers names its parameters by path, and a wrong name or size should be found with
//! one look at the message. Method: all builders of one file share its tensors; each adds a prefix and
//! conversions, which act when a tensor is asked for. Invariant: what a layer makes of a tensor is a cell of its
//! own, never shared with the file or another layer.

use crate::{DType, Device, Error, Result, Tensor, safetensors};
use std::collections::HashMap;
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;
use tensorplay_runtime::Shape;
use tensorplay_runtime::private::distance;

/// Hands out the tensors of a file by name, under a prefix. Cloning is cheap.
///
/// ```no_run
/// use tensorplay::nn::{Linear, VarBuilder};
/// # fn main() -> tensorplay::Result<()> {
/// let vb = VarBuilder::from_safetensors("model.safetensors")?;
/// let head = Linear::load(&vb.pp("layers").pp(3).pp("head"), 64, 10)?; // layers.3.head.weight, ..
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct VarBuilder {
    source: Arc<Source>,
    prefix: Arc<str>,
    dtype: Option<DType>,
    device: Option<Device>,
}

#[derive(Debug)]
struct Source {
    name: String,
    tensors: HashMap<String, Tensor>,
}

impl VarBuilder {
    /// Maps a file; nothing is read until it is used, see [`safetensors::load`].
    ///
    /// # Errors
    /// If the file cannot be read, or is not a safetensors file.
    pub fn from_safetensors(path: impl AsRef<Path>) -> Result<VarBuilder> {
        let path = path.as_ref();
        let name = path.display().to_string();
        Ok(VarBuilder::over(name, safetensors::load(path)?))
    }

    /// Takes tensors by name.
    pub fn from_tensors(tensors: HashMap<String, Tensor>) -> VarBuilder {
        VarBuilder::over("the map".into(), tensors)
    }

    fn over(name: String, tensors: HashMap<String, Tensor>) -> VarBuilder {
        VarBuilder {
            source: Arc::new(Source { name, tensors }),
            prefix: "".into(),
            dtype: None,
            device: None,
        }
    }

    /// The same tensors under one more prefix: names, paths (`"downsample.0"`) or numbers.
    #[must_use]
    pub fn pp(&self, prefix: impl Display) -> VarBuilder {
        VarBuilder {
            prefix: self.full(&prefix.to_string()).into(),
            ..self.clone()
        }
    }

    /// The same tensors, with floats converted to `dtype` when asked for; others stay as they are.
    #[must_use]
    pub fn to_dtype(&self, dtype: DType) -> VarBuilder {
        VarBuilder {
            dtype: Some(dtype),
            ..self.clone()
        }
    }

    /// The same tensors, moved to `device` when asked for.
    #[must_use]
    pub fn to_device(&self, device: Device) -> VarBuilder {
        VarBuilder {
            device: Some(device),
            ..self.clone()
        }
    }

    /// Whether there is a tensor of this name under the prefix.
    pub fn contains(&self, name: &str) -> bool {
        self.source.tensors.contains_key(&self.full(name))
    }

    /// The tensor of this name under the prefix, of this shape.
    ///
    /// # Errors
    /// If there is none, or it has another shape; the message has the full name and what to do.
    pub fn get(&self, shape: impl Shape, name: &str) -> Result<Tensor> {
        let full = self.full(name);
        let Some(tensor) = self.source.tensors.get(&full) else {
            let names = self.source.tensors.keys().map(String::as_str);
            return Err(Error::Layer {
                message: format!("{} has no such name", self.source.name),
                help: nearest(&full, names, &self.source.name),
                name: full,
            });
        };
        let expected = shape.sizes();
        let got = tensor.shape();
        if !got
            .iter()
            .map(|&n| i64::try_from(n))
            .eq(expected.iter().map(|&n| Ok(n)))
        {
            return Err(Error::Layer {
                message: format!("expected shape {expected:?}, got {got:?} in {}", self.source.name),
                help: "load the layer with the sizes that it was saved with".into(),
                name: full,
            });
        }
        let tensor = match self.dtype {
            Some(dtype) if tensor.dtype().is_float() => tensor.try_to_dtype(dtype)?,
            _ => tensor.detach(),
        };
        match self.device {
            Some(device) => tensor.try_to_device(device),
            None => Ok(tensor),
        }
    }

    /// A trainable variable of this name.
    pub(super) fn parameter(&self, shape: impl Shape, name: &str) -> Result<Tensor> {
        Ok(self.float(shape, name)?.requires_grad_(true))
    }

    /// A trainable variable of this name, if there is one.
    pub(super) fn optional(&self, shape: impl Shape, name: &str) -> Result<Option<Tensor>> {
        let present = self.contains(name);
        present.then(|| self.parameter(shape, name)).transpose()
    }

    /// A variable of this name that is not trained.
    pub(super) fn statistic(&self, shape: impl Shape, name: &str) -> Result<Tensor> {
        Ok(self.float(shape, name)?.variable())
    }

    fn float(&self, shape: impl Shape, name: &str) -> Result<Tensor> {
        let tensor = self.get(shape, name)?;
        let dtype = tensor.dtype();
        if dtype.is_float() {
            return Ok(tensor);
        }
        Err(Error::Layer {
            name: self.full(name),
            message: format!("expected a float dtype, got {dtype} in {}", self.source.name),
            help: "convert it with `to_dtype(DType::F32)` before it is saved".into(),
        })
    }

    /// What messages call a layer: its prefix, or else its type.
    pub(super) fn layer(&self, kind: &str) -> String {
        if self.prefix.is_empty() {
            kind.into()
        } else {
            self.prefix.to_string()
        }
    }

    fn full(&self, name: &str) -> String {
        match (&*self.prefix, name) {
            ("", name) => name.into(),
            (prefix, "") => prefix.into(),
            (prefix, name) => format!("{prefix}.{name}"),
        }
    }
}

/// Up to three names that resemble `name`, as a help line.
pub(super) fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>, source: &str) -> String {
    let mut all: Vec<(usize, &str)> = names.map(|n| (distance(name, n), n)).collect();
    all.sort_unstable();
    let shown: Vec<String> = all.iter().take(3).map(|(_, n)| format!("`{n}`")).collect();
    match shown.len() {
        0 => format!("{source} has no names at all"),
        1 => format!("the nearest name is {}", shown[0]),
        _ => format!("the nearest names are {}", shown.join(", ")),
    }
}
