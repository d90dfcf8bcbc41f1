//! `Exported`: what a captured function or a struct tells other modules and crates about itself.
//!
//! It travels as a byte string inside a macro of the item's own name. The version is that of the format: another one
//! is refused where it is read.

use crate::marker::MarkerKind;
use crate::returns::ReturnTree;
use crate::walk::Mark;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tensorplay_graph::{GraphModule, HostType, Schema};

const VERSION: u32 = 3;

/// What a path stands for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Exported {
    /// A captured function.
    Function(FnExport),
    /// A struct of a `#[model]` module.
    Type(TypeExport),
    /// A function with a marker.
    Marked(MarkedExport),
}

/// A marked function.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MarkedExport {
    /// The marker's name.
    pub marker: String,
    /// `disable(reason = "..")`.
    pub reason: Option<String>,
}

impl MarkedExport {
    pub(crate) fn mark(&self) -> Mark {
        let kind = MarkerKind::ALL.into_iter().find(|k| k.name() == self.marker);
        Mark {
            kind: kind.unwrap_or(MarkerKind::DisallowInGraph),
            reason: self.reason.clone(),
        }
    }
}

/// A parameter of an exported function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExportParam {
    /// A tensor.
    Tensor,
    /// A number.
    Host(HostType),
    /// A const parameter: a number that a call has in angle brackets.
    Const(HostType),
    /// A tensor that may be absent: a tensor, and a flag among the numbers.
    OptTensor,
    /// Another structure, which callers cannot pass yet.
    Other,
}

impl ExportParam {
    /// Whether it is a const parameter.
    pub fn is_const(&self) -> bool {
        matches!(self, ExportParam::Const(_))
    }
}

/// A captured function.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FnExport {
    /// The function's name.
    pub name: String,
    /// Its parameters, without the receiver.
    pub params: Vec<ExportParam>,
    /// What it returns.
    pub returns: ReturnTree,
    /// For each path, how many results there are where the return type does not say.
    pub codes: Vec<Vec<u32>>,
    /// Whether it returns a `Result`.
    pub fallible: bool,
    /// Whether callers keep it as one unit.
    pub region: bool,
    /// How many consts its graphs read.
    pub consts: usize,
    /// Whether those are read by its own calls, so that no other function can hold it as a unit.
    pub at_call: bool,
    /// Its graphs, one a path.
    pub paths: Vec<GraphModule>,
}

impl FnExport {
    /// Whether its graphs can stand inside another function's.
    pub fn is_closed(&self) -> bool {
        let closed = |m: &GraphModule| m.callees.is_empty() && m.regions.is_empty() && m.updates.is_empty();
        !self.region && self.consts == 0 && self.paths.iter().all(closed)
    }
}

/// A struct of a `#[model]` module.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TypeExport {
    /// What it is flattened to.
    pub schema: Schema,
    /// Its captured methods.
    pub methods: BTreeMap<String, FnExport>,
}

impl Exported {
    /// The byte string.
    pub fn encode(&self) -> Vec<u8> {
        // the encoder fails on sequences of unknown length and on full buffers only; neither occurs here
        postcard::to_stdvec(&(VERSION, self)).unwrap_or_default()
    }

    /// Reads a byte string back; `None` if it is of another version.
    pub fn decode(bytes: &[u8]) -> Option<Exported> {
        let (version, rest) = postcard::take_from_bytes::<u32>(bytes).ok()?;
        if version != VERSION {
            return None;
        }
        postcard::from_bytes(rest).ok()
    }
}
