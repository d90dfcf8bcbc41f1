//! Locals of one name that rustc tells apart: one is of a macro, the other of its caller.
//!
//! Problem: capture, and what is emitted for it, know a local by its name alone; a `macro_rules!` may bind a name that what it
//! was given binds too.
//!
//! Method: where a function binds a name more than once, the contexts of the identifiers are compared. Rustc itself reports a
//! name that is read in a context where nothing binds it.
//!
//! Invariant: where the compiler shows no contexts, nothing is found.

use crate::diagnostic::{Diagnostic, code};
use crate::location::context;
use proc_macro2::Ident;
use std::collections::BTreeMap;
use syn::visit::{self, Visit};
use syn::{Block, Item, PatIdent, Signature};

/// The names of a function that are bound in two contexts, each once.
pub fn clashes(sig: &Signature, block: &Block) -> Vec<Diagnostic> {
    let mut bound = Bound::default();
    sig.inputs.iter().for_each(|i| bound.visit_fn_arg(i));
    bound.visit_block(block);
    let found = bound.0.iter().filter_map(|(name, places)| clash(name, places));
    found.collect()
}

fn clash(name: &str, places: &[Ident]) -> Option<Diagnostic> {
    let (first, again) = places.split_first().filter(|(_, again)| !again.is_empty())?;
    let own = written(first, name)?;
    let second = again
        .iter()
        .find(|i| written(i, name).is_some_and(|c| c != own))?;
    let message = format!(
        "`{name}` is the name of two locals here, one of a macro and one of its caller, which capture cannot tell apart"
    );
    Some(Diagnostic::new(code::HYGIENE, second, message).help("rename one of them"))
}

/// The context of an identifier that stands so in the source; one that a procedural macro made up has the context of its
/// call, which tells nothing.
fn written(i: &Ident, name: &str) -> Option<String> {
    let context = context(i.span())?;
    let text = i.span().source_text();
    text.is_none_or(|t| t == name).then_some(context)
}

/// Where names are bound.
#[derive(Default)]
struct Bound(BTreeMap<String, Vec<Ident>>);

impl<'ast> Visit<'ast> for Bound {
    fn visit_pat_ident(&mut self, i: &'ast PatIdent) {
        let name = i.ident.to_string();
        // a pattern of a const binds nothing
        if name.starts_with(|c: char| c == '_' || c.is_lowercase()) {
            self.0.entry(name).or_default().push(i.ident.clone());
        }
        visit::visit_pat_ident(self, i);
    }
    fn visit_item(&mut self, _: &'ast Item) {}
}
