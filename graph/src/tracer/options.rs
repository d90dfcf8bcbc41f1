//! `Options`: settings of traced operations.

use super::{HostList, TraceArg};
use crate::error::{Code, OpErrorKind};
use crate::op::options::{Form, Initial, OptionsRow};
use crate::{Arg, Expr, Op, OpError};

/// Settings by name, for the operations that take a struct of them or an enum.
///
/// ```
/// use tensorplay_graph::Tracer;
/// use tensorplay_graph::tracer::Options;
/// let m = Tracer::trace(2, |i| {
///     let h = i[0].conv2d(&i[1], None, Options::new().set("stride", 2).set("padding", (1, 0)));
///     h.pad([1, 1], Options::variant("Reflect"))
/// })?;
/// assert_eq!(
///     m.nodes()[2].to_string(),
///     "conv2d(%0, %1, none, {stride=[2, 2], padding=[1, 0], dilation=[1, 1], groups=1})"
/// );
/// # Ok::<(), tensorplay_graph::TraceError>(())
/// ```
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Options {
    fields: Vec<(String, Vec<Expr>)>,
    variant: Option<(String, Option<Expr>)>,
}

impl Options {
    /// All settings at their defaults.
    pub fn new() -> Options {
        Options::default()
    }

    /// Sets a field: to one value, or to one for each of the last two axes.
    #[must_use]
    pub fn set(mut self, field: impl Into<String>, value: impl HostList) -> Options {
        let values = match value.list() {
            TraceArg::Host(e) => vec![e],
            TraceArg::List(l) => l.into_iter().filter_map(TraceArg::host).collect(),
            _ => Vec::new(),
        };
        self.fields.push((field.into(), values));
        self
    }

    /// Sets a field that is a flag or a float.
    #[must_use]
    pub fn with(mut self, field: impl Into<String>, value: impl Into<Expr>) -> Options {
        self.fields.push((field.into(), vec![value.into()]));
        self
    }

    /// A variant of an enum without a value.
    pub fn variant(name: impl Into<String>) -> Options {
        Options {
            variant: Some((name.into(), None)),
            ..Options::default()
        }
    }

    /// A variant of an enum with its value.
    pub fn variant_of(name: impl Into<String>, value: impl Into<Expr>) -> Options {
        Options {
            variant: Some((name.into(), Some(value.into()))),
            ..Options::default()
        }
    }

    /// The list that an operation takes.
    pub(super) fn arguments(&self, op: Op, row: &OptionsRow) -> Result<Arg, OpError> {
        let error = |message: String, names: Vec<&str>| {
            OpError::new(Code::ARGUMENTS, OpErrorKind::Value, op.name(), message).help(format!(
                "{} has {}",
                row.name,
                names.join(", ")
            ))
        };
        if let Form::Enum(variants) = row.form {
            let names = || variants.iter().map(|v| v.name).collect();
            if let Some((field, _)) = self.fields.first() {
                return Err(error(
                    format!("there is no setting `{field}`, but variants"),
                    names(),
                ));
            }
            let name = self.variant.as_ref().map_or("", |(n, _)| n);
            let Some(i) = variants.iter().position(|v| v.name == name) else {
                return Err(error(format!("there is no variant `{name}`"), names()));
            };
            let value = self.variant.as_ref().and_then(|(_, v)| v.clone());
            let value = value.map_or(Arg::None, Arg::Host);
            return Ok(Arg::List(vec![Arg::int(i as i64), value]));
        }
        if let Some((variant, _)) = &self.variant {
            let names = row.fields().map(|(_, f)| f.name).collect();
            return Err(error(
                format!("there is no variant `{variant}`, but settings"),
                names,
            ));
        }
        let new = row.fields().find(|(_, f)| f.initial == Initial::New);
        let new = new.and_then(|(_, f)| self.fields.iter().find(|(n, _)| n == f.name));
        let mut list = row.initial(new.map_or(&[], |(_, e)| e));
        for (name, values) in &self.fields {
            let Some((at, field)) = row.fields().find(|(_, f)| f.name == name) else {
                let names = row.fields().map(|(_, f)| f.name).collect();
                return Err(error(format!("there is no setting `{name}`"), names));
            };
            if values.len() != 1 && values.len() != field.len {
                let message = format!("`{name}` takes {}, got {}", field.len, values.len());
                return Err(error(message, vec![field.name]));
            }
            for i in 0..field.len {
                if let Some(e) = values.get(i).or(values.first()) {
                    list[at + i] = Arg::Host(e.clone());
                }
            }
        }
        Ok(Arg::List(list))
    }
}
