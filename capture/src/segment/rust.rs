//! Statements that stay Rust: their record as breaks, and what they do to the locals.

use super::locals::Local;
use super::names::{Names, SHOWS, changed_in};
use super::trial::{Fault, Wanted};
use super::{Break, End, Splitter, inner, is_break, is_cfg, lets, names, uses};
use crate::words::words;
use syn::Stmt;

/// Macros that bind no local, though they are given names, beside those that show them.
const BINDS_NOTHING: &[&str] = &["dbg", "vec", "write", "writeln"];

impl Splitter<'_> {
    /// A statement that stays as it is, but for the blocks inside.
    pub(super) fn rust(
        &mut self,
        mut s: Stmt,
        fault: Option<Fault>,
        rest: &[Stmt],
        after: &Names,
        end: Option<End>,
    ) -> Stmt {
        let after = &names::union(rest, after);
        let recorded = self.breaks.len();
        let header = inner::header(&s).filter(|_| !is_cfg(fault.as_ref()));
        if let Some(header) = header {
            let outer = self.attempt(std::slice::from_ref(&header), Wanted::Nothing);
            if let Err(fault) = &outer {
                self.record(fault, &header);
            }
            if let Some(e) = inner::expression(&mut s) {
                self.inside(e, after, end.unwrap_or(End::Value));
            }
            if let (true, Some(fault)) = (self.breaks.len() == recorded, &fault) {
                self.record(fault, &s);
            }
        } else if let Some(fault) = &fault {
            self.record(fault, &s);
        }
        self.learn(&s, rest);
        if let (true, Stmt::Local(l)) = (self.breaks.len() > recorded, &s) {
            for b in names::bindings(&l.pat) {
                self.locals.stems_from(&b.ident, recorded);
            }
        }
        s
    }

    fn record(&mut self, fault: &Fault, s: &Stmt) {
        // what a break gives is no break again where it is read
        if let Fault::Opaque(name) = fault
            && let Some(at) = self.locals.get(name).and_then(|k| k.origin)
            && let Some(origin) = self.breaks.get_mut(at)
        {
            origin.is_read(name, s);
            return;
        }
        if let Some(b) = Break::of_fault(fault, s)
            && !self
                .breaks
                .iter()
                .any(|o| o.line == b.line && o.reason == b.reason)
        {
            self.breaks.push(b);
        }
    }

    /// Errors that no break explains.
    pub(super) fn mistakes(&mut self, fault: &Fault) {
        if let Fault::Reported(list) = fault {
            list.iter()
                .filter(|d| !is_break(d))
                .for_each(|d| self.errors.push(d.clone()));
        }
    }

    /// What a statement that stayed Rust does to the locals.
    pub(super) fn learn(&mut self, s: &Stmt, rest: &[Stmt]) {
        self.locals.change(&changed_in(s));
        self.locals.change(&self.locals.lent(&names::read_in(s)));
        let called = names::called_on(s);
        self.locals.change(&called.alone);
        self.locals.forget_sizes(&called.any);
        match s {
            Stmt::Local(l) => {
                let cfg = l.attrs.iter().any(|a| !a.path().is_ident("allow"));
                for (b, local) in lets::of_let(l, &self.locals) {
                    let local = match local {
                        Local::Opaque if l.init.is_none() => uses::assigned(&b.ident, rest, &self.locals),
                        local => local,
                    };
                    let there = self.locals.get(&b.ident.to_string()).map(|k| k.local.clone());
                    let local = match (local, there) {
                        // the statement may not be there
                        (Local::Tensor { refs: a }, Some(Local::Tensor { refs: b })) if cfg && a != b => {
                            Local::Opaque
                        }
                        (Local::Tensor { .. }, Some(Local::Number(_)) | Some(Local::Opaque)) if cfg => {
                            Local::Opaque
                        }
                        // its uses tell
                        (Local::Opaque, _)
                            if !b.by_ref
                                && uses::plain(l)
                                && uses::used_as_tensor(&b.ident, rest, &self.locals) =>
                        {
                            Local::Tensor { refs: 1 }
                        }
                        (local, _) => local,
                    };
                    self.locals.bind(b.ident, local);
                }
            }
            Stmt::Macro(m) => {
                // a macro may bind what it names: a new name, or one that is an argument of its own
                let known = m.mac.path.segments.last().map(|s| s.ident.to_string());
                let known = known.is_some_and(|n| BINDS_NOTHING.iter().chain(SHOWS).any(|m| *m == n));
                let alone = names::alone(m.mac.tokens.clone());
                for ident in words(m.mac.tokens.clone()) {
                    let name = ident.to_string();
                    let new = self.locals.get(&name).is_none() && !name.starts_with(char::is_uppercase);
                    if new || !known && alone.contains(&name) {
                        self.locals.bind(ident, Local::Opaque);
                    }
                }
            }
            _ => {}
        }
    }
}
