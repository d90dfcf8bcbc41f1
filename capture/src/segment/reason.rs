//! What a graph break is called: the construct that capture does not hold, on its tokens.

use super::trial::Fault;
use crate::diagnostic::{Diagnostic, code};
use crate::walk::READS_DATA;
use crate::words::word;
use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::{Expr, ExprMacro, Stmt, StmtMacro};
use tensorplay_graph::Code;

/// A place where capture stopped.
#[derive(Clone, Debug)]
pub struct Break {
    /// The construct.
    pub tokens: TokenStream,
    /// Its line.
    pub line: u32,
    /// What it is, in words.
    pub reason: String,
    /// What it gives, and the lines that read that.
    reads: Vec<(String, u32)>,
}

/// What capture does not hold: without `fullgraph` a break, for the rest of the function is none the worse for it. All
/// other codes are mistakes: in the attribute and its specs, in shapes and dtypes, in numbers that cannot exist. Where
/// tokens are to blame that rustc would not take either, such as a misspelt method, it says so itself.
const BREAKABLE: &[Code] = &[
    code::GENERICS,
    code::RECEIVER,
    code::PARAMETER,
    code::RETURN_TYPE,
    code::STATEMENT,
    code::CALL,
    code::METHOD,
    code::DATA_READ,
    code::ARGUMENT_KIND,
    code::RETURNED,
    code::INDEX,
    code::PATTERN,
    code::QUESTION_MARK,
    code::UNKNOWN_RANK,
    code::CFG,
    code::HOST,
    code::DATA_DEPENDENT,
    code::PATHS,
    code::OPAQUE,
];

/// Whether an error is a break in a function that may have some.
pub fn is_break(d: &Diagnostic) -> bool {
    BREAKABLE.contains(&d.code)
}

impl Break {
    pub(super) fn new(tokens: TokenStream, reason: String) -> Break {
        Break {
            line: crate::location::line(tokens.span()),
            tokens,
            reason,
            reads: Vec::new(),
        }
    }

    /// A statement reads what it gives, and stays Rust for that.
    pub(super) fn is_read(&mut self, name: &str, s: &Stmt) {
        let read = (name.to_string(), crate::location::line(s.span()));
        if !self.reads.contains(&read) {
            self.reads.push(read);
        }
    }

    /// Says what stays Rust with it.
    pub(super) fn finish(&mut self) {
        for (name, line) in std::mem::take(&mut self.reads) {
            let more = format!(
                ", and with it line {line}, for nothing tells whether `{name}` is a tensor or a number"
            );
            self.reason.push_str(&more);
        }
    }

    /// What a diagnostic calls the construct.
    pub(super) fn of(d: &Diagnostic) -> Break {
        let message = d.message.as_str();
        let ends = [
            " cannot be captured yet",
            ", which a graph does not have",
            " is known only when the function runs",
        ];
        let end = ends.iter().filter_map(|e| message.find(e)).min();
        Break::new(
            d.tokens.clone(),
            message[..end.unwrap_or(message.len())].to_string(),
        )
    }

    /// Why a statement stays Rust.
    pub(super) fn of_fault(fault: &Fault, s: &Stmt) -> Option<Break> {
        let whole = || -> TokenStream { s.to_token_stream().into_iter().take(1).collect() };
        Some(match fault {
            Fault::Reported(d) => {
                let mut b = Break::of(d.first()?);
                // what a macro is given is no more than tokens
                if let Stmt::Macro(StmtMacro { mac, .. }) | Stmt::Expr(Expr::Macro(ExprMacro { mac, .. }), _) =
                    s
                    && let Some(read) = read_of_data(mac.tokens.clone())
                {
                    b.reason
                        .push_str(&format!(", which reads tensor data by `{read}`"));
                }
                b
            }
            Fault::Leaves => return None,
            Fault::Mixed => Break::new(whole(), "branches with different sorts of values".into()),
            Fault::Opaque(name) => {
                let message = format!("`{name}` is neither a tensor nor a number, as far as tokens tell");
                Break::new(
                    word(s.to_token_stream(), name).map_or_else(whole, Ident::into_token_stream),
                    message,
                )
            }
            Fault::Unstable(name) => {
                let message =
                    format!("a branch or size that reads `{name}`, which changes while the function runs");
                Break::new(
                    word(s.to_token_stream(), name).map_or_else(whole, Ident::into_token_stream),
                    message,
                )
            }
            Fault::Kept => Break::new(whole(), "a value that is borrowed, or not one tensor".into()),
            Fault::Question => Break::new(
                whole(),
                "`?` in a function that does not return a `Result`".into(),
            ),
        })
    }
}

/// The first method among tokens that reads tensor data.
fn read_of_data(tokens: TokenStream) -> Option<String> {
    use proc_macro2::TokenTree;
    let mut method = false;
    for t in tokens {
        match t {
            TokenTree::Ident(i) if method && READS_DATA.contains(&i.to_string().as_str()) => {
                return Some(i.to_string());
            }
            TokenTree::Group(g) => {
                if let Some(read) = read_of_data(g.stream()) {
                    return Some(read);
                }
                method = false;
            }
            TokenTree::Punct(p) => method = p.as_char() == '.',
            _ => method = false,
        }
    }
    None
}
