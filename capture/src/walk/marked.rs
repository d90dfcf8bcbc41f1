//! Calls of functions with a marker: none of them joins the graph of its caller.

use super::Walk;
use crate::diagnostic::{Diagnostic, code};
use crate::kind::Kind;
use crate::marker::MarkerKind;
use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::Expr;

/// What a marker says about calls of its function.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    pub kind: MarkerKind,
    /// `disable(reason = "..")`.
    pub reason: Option<String>,
}

impl Walk {
    pub(super) fn marked_call(&mut self, mark: &Mark, callee: impl ToTokens, args: &[&Expr]) -> Kind {
        // what the call is given may be wrong as well
        args.iter().for_each(|a| {
            self.expr(a);
        });
        let at: TokenStream = callee.to_token_stream();
        let shown = crate::location::text(at.clone());
        let name = mark.kind.name();
        let d = match mark.kind {
            MarkerKind::AllowInGraph | MarkerKind::NonstrictTrace => {
                let message = format!(
                    "the call of `{shown}`, marked `#[{name}]`: a node that a graph does not look into is not available yet"
                );
                Diagnostic::new(code::CALL, at, message)
                    .help("leave `fullgraph` out: the call then stands between two graphs")
            }
            MarkerKind::SubstituteInGraph => {
                let message =
                    format!("the call of `{shown}`: what stands in for it in graphs cannot be captured");
                Diagnostic::new(code::CALL, at, message)
                    .help("look at `#[substitute_in_graph]`; its function is captured under `#[compile(fullgraph)]`")
            }
            _ => {
                let because = match &mark.reason {
                    Some(reason) => format!(": {reason}"),
                    None => String::new(),
                };
                let message = format!("the call of `{shown}`, marked `#[{name}]`{because}");
                let help = match mark.kind {
                    MarkerKind::AssumeConstantResult => {
                        "pass its result as a parameter, or leave `fullgraph` out"
                    }
                    _ => "call it outside of the compiled function, or leave `fullgraph` out",
                };
                Diagnostic::new(code::CALL, at, message).help(help)
            }
        };
        self.fail(d)
    }
}
