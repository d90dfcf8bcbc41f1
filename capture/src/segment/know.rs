//! What the locals are behind statements: by what capture saw of them, and by their form.

use super::locals::{Local, Locals};
use super::names::{Binding, Names, changed_in};
use super::trial::{Trial, Wanted};
use super::{Splitter, form, lets};
use syn::{Expr, Stmt};

impl Splitter<'_> {
    /// The locals behind some statements, by their form.
    pub(super) fn after(&self, stmts: &[Stmt]) -> Locals {
        let mut known = self.locals.clone();
        for s in stmts {
            if let Stmt::Local(l) = s {
                for (b, local) in lets::of_let(l, &known) {
                    known.bind(b.ident, local);
                }
            }
        }
        known
    }

    /// What the names that each statement of a run binds are, by their form.
    pub(super) fn forms(&self, run: &[Stmt]) -> Vec<Vec<(Binding, Local)>> {
        let mut known = self.locals.clone();
        let mut all = Vec::new();
        for s in run {
            let Stmt::Local(l) = s else {
                all.push(Vec::new());
                continue;
            };
            let value = l.init.as_ref().map(|i| &*i.expr);
            let mut names = lets::of_let(l, &known);
            for (b, local) in &mut names {
                *local = confirmed(local.clone(), value, &l.pat);
                known.bind(b.ident.clone(), local.clone());
            }
            all.push(names);
        }
        all
    }

    pub(super) fn form_behind(&self, before: &[Stmt], e: &Expr) -> Local {
        match (form::of(e, &self.after(before)), e) {
            (Local::Opaque, Expr::MethodCall(_) | Expr::Binary(_) | Expr::Call(_)) => {
                Local::Tensor { refs: 0 }
            }
            (local, _) => local,
        }
    }

    /// What the locals are behind statements that capture takes.
    pub(super) fn know(&mut self, run: &[Stmt]) {
        let Ok(trial) = self.attempt(run, Wanted::Nothing) else {
            return run.iter().for_each(|s| self.learn(s, &[]));
        };
        self.know_of(run, &trial);
    }

    pub(super) fn know_of(&mut self, run: &[Stmt], trial: &Trial) {
        let stable = trial.inputs.iter().all(|k| match &k.local {
            Local::Number(n) => n.stable,
            _ => true,
        });
        let Some(ended) = &trial.ended else { return };
        let mut changed: Names = ended.assigned.iter().map(|(n, _)| n.clone()).collect();
        changed.extend(self.locals.lent(&changed_in(run)));
        let mut bound = Vec::new();
        for names in self.forms(run) {
            for (b, form) in names {
                let name = b.ident.to_string();
                let seen = ended.bound.iter().find(|(n, _)| *n == name).map(|(_, s)| s);
                let local = Locals::of_seen(seen, form, stable, b.mutable);
                bound.push((b.ident.clone(), local, b.mutable));
            }
        }
        self.locals.change(&changed);
        for (ident, local, mutable) in bound {
            let promise = ended.promises.iter().rev().find(|(n, _)| ident == *n);
            self.locals.bind(ident, local);
            // no one can tell what changes a local that is `mut`
            if let (Some((_, spec)), false) = (promise, mutable) {
                self.locals.promise(spec);
            }
        }
    }
}

/// A tensor for certain: what a call or an operator makes is owned.
fn confirmed(form: Local, value: Option<&Expr>, pat: &syn::Pat) -> Local {
    let plain = matches!(pat, syn::Pat::Ident(_));
    match (form, value) {
        (Local::Opaque, Some(Expr::MethodCall(_) | Expr::Binary(_) | Expr::Call(_))) if plain => {
            Local::Tensor { refs: 0 }
        }
        (form, _) => form,
    }
}
