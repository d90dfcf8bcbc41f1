//! A layer's variables by name.
//!
//! Problem: a layer must list its parameters and take new values by PyTorch's names, all or none. Method: each
//! layer states its names once; assignment checks every value before it writes the first. Invariant: values are
//! published to the cells that the layer already has, so that clones see them and the given tensors stay as
//! they are.

use super::var_builder::nearest;
use crate::{Error, Result, Tensor};
use std::collections::HashMap;

/// Names and variables of a layer, in PyTorch's order.
pub(super) struct State<'a> {
    parameters: Vec<(&'static str, &'a Tensor)>,
    statistics: Vec<(&'static str, &'a Tensor)>,
    ignored: Option<&'static str>,
}

impl<'a> State<'a> {
    /// The trainable ones; absent ones are left out.
    pub(super) fn new<const N: usize>(parameters: [(&'static str, Option<&'a Tensor>); N]) -> Self {
        let present = |(name, tensor): (_, Option<_>)| tensor.map(|t| (name, t));
        State {
            parameters: parameters.into_iter().filter_map(present).collect(),
            statistics: Vec::new(),
            ignored: None,
        }
    }

    /// Adds variables that are not trained.
    pub(super) fn statistics<const N: usize>(mut self, of: [(&'static str, &'a Tensor); N]) -> Self {
        self.statistics.extend(of);
        self
    }

    /// A name that PyTorch writes and the layer has no use for.
    pub(super) fn ignoring(mut self, name: &'static str) -> Self {
        self.ignored = Some(name);
        self
    }

    /// Handles of the trainable ones.
    pub(super) fn parameters(&self) -> Vec<Tensor> {
        self.parameters.iter().map(|(_, t)| (*t).clone()).collect()
    }

    fn all(&self) -> impl Iterator<Item = (&'static str, &'a Tensor)> + '_ {
        self.parameters.iter().chain(&self.statistics).copied()
    }

    /// Gives every variable the map's value of its name, converted to its float dtype and device.
    pub(super) fn assign(&self, map: &HashMap<String, Tensor>) -> Result<()> {
        let mut values = Vec::new();
        for (name, variable) in self.all() {
            let value = map.get(name).ok_or_else(|| Error::Layer {
                name: name.into(),
                message: "the map has no such name".into(),
                help: nearest(name, map.keys().map(String::as_str), "the map"),
            })?;
            values.push((variable, converted(name, variable, value)?));
        }
        let known = |name: &String| self.all().any(|(n, _)| n == name) || self.ignored == Some(name);
        if let Some(name) = map.keys().filter(|n| !known(n)).min() {
            return Err(Error::Layer {
                name: name.clone(),
                message: "the layer has no such parameter".into(),
                help: nearest(name, self.all().map(|(n, _)| n), "the layer"),
            });
        }
        for (variable, value) in values {
            variable.try_assign(&value)?;
        }
        Ok(())
    }
}

/// The value as the variable can take it.
fn converted(name: &str, variable: &Tensor, value: &Tensor) -> Result<Tensor> {
    let (to, from) = (variable.dtype(), value.dtype());
    if value.shape() != variable.shape() {
        return Err(Error::Layer {
            name: name.into(),
            message: format!("expected shape {:?}, got {:?}", variable.shape(), value.shape()),
            help: "give the values of a layer of the same sizes".into(),
        });
    }
    if to != from && !from.is_float() {
        return Err(Error::Layer {
            name: name.into(),
            message: format!("expected dtype {to}, got {from}"),
            help: format!("write `.to_dtype(DType::{to:?})` on the value"),
        });
    }
    value.try_to_dtype(to)?.try_to_device(variable.device())
}
