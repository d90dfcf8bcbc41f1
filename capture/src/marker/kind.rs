//! `MarkerKind`: the attributes that say how captured code treats a function.

use crate::attribute::table::{Argument, Takes, acts};

/// An attribute that says how captured code treats a call of its function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkerKind {
    /// `#[allow_in_graph]`: one opaque node.
    AllowInGraph,
    /// `#[nonstrict_trace]`: one opaque node, whose arguments and results are flattened.
    NonstrictTrace,
    /// `#[disallow_in_graph]`: a graph break.
    DisallowInGraph,
    /// `#[disable]`: a graph break, with plain bodies of compiled functions inside.
    Disable,
    /// `#[unused]`: a graph break, like `#[disable(recursive = false)]`.
    Unused,
    /// `#[assume_constant_result]`: evaluated once a call site.
    AssumeConstantResult,
    /// `#[substitute_in_graph(original)]`: stands in for `original`.
    SubstituteInGraph,
    /// `#[export]`.
    Export,
    /// `#[overload_method]`.
    OverloadMethod,
}

const DISABLE: &[Argument] = &[
    acts("recursive", Takes::Bool),
    acts("reason", Takes::Str),
    acts("crate", Takes::Path),
];
const SUBSTITUTE: &[Argument] = &[
    acts("can_constant_fold_through", Takes::Bool),
    acts("skip_signature_check", Takes::Bool),
    acts("crate", Takes::Path),
];
const OTHERS: &[Argument] = &[acts("crate", Takes::Path)];

impl MarkerKind {
    /// All markers.
    pub const ALL: [MarkerKind; 9] = [
        MarkerKind::AllowInGraph,
        MarkerKind::NonstrictTrace,
        MarkerKind::DisallowInGraph,
        MarkerKind::Disable,
        MarkerKind::Unused,
        MarkerKind::AssumeConstantResult,
        MarkerKind::SubstituteInGraph,
        MarkerKind::Export,
        MarkerKind::OverloadMethod,
    ];

    /// The attribute's name.
    pub fn name(self) -> &'static str {
        match self {
            MarkerKind::AllowInGraph => "allow_in_graph",
            MarkerKind::NonstrictTrace => "nonstrict_trace",
            MarkerKind::DisallowInGraph => "disallow_in_graph",
            MarkerKind::Disable => "disable",
            MarkerKind::Unused => "unused",
            MarkerKind::AssumeConstantResult => "assume_constant_result",
            MarkerKind::SubstituteInGraph => "substitute_in_graph",
            MarkerKind::Export => "export",
            MarkerKind::OverloadMethod => "overload_method",
        }
    }

    /// Whether the marker does something to calls that capture does not see.
    pub fn acts_when_run(self) -> bool {
        matches!(
            self,
            MarkerKind::Disable | MarkerKind::Unused | MarkerKind::AssumeConstantResult
        )
    }

    pub(super) fn arguments(self) -> &'static [Argument] {
        match self {
            MarkerKind::Disable => DISABLE,
            MarkerKind::SubstituteInGraph => SUBSTITUTE,
            _ => OTHERS,
        }
    }
}
