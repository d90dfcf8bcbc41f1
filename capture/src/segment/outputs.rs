//! What a run yields: which of its locals are results, which numbers are computed again, and where the run must end
//! because a local that later code reads is neither.

use super::locals::{Local, Locals};
use super::names::{Binding, Names, bindings, changed_in, moved_in, read_in, union};
use super::trial::{Fault, Trial, Wanted, tail};
use super::{Bound, Gives, Splitter, apart, form, lets};
use crate::walk::Seen;
use syn::{Expr, Stmt, parse_quote};

/// What becomes of a run of statements.
enum Plan {
    /// A segment with these results.
    Segment {
        trial: Box<Trial>,
        live: Names,
        again: Vec<usize>,
        gives: bool,
    },
    /// The run is to end before this statement.
    Cut(usize),
    /// The same, for later code reads what it binds or assigns, which cannot be a result.
    Kept(usize),
}

impl Splitter<'_> {
    /// Makes a segment of the first `n` statements, or of fewer; if there is none, what is there stays Rust.
    pub(super) fn run(&mut self, n: usize, rest: &mut Vec<Stmt>, out: &mut Vec<Stmt>, after: &Names) {
        let mut n = n;
        while n > 0 {
            if matches!(rest[n - 1], Stmt::Item(_)) {
                n -= 1;
                continue;
            }
            match self.plan(n, rest, after) {
                Plan::Cut(at) => n = at,
                // its parts can be results
                Plan::Kept(at) => {
                    n = at;
                    while self.hoist(rest, n) {
                        n += 1;
                    }
                }
                Plan::Segment { trial, .. }
                    if trial.work == 0 && trial.traced.modules.iter().all(|m| m.updates.is_empty()) =>
                {
                    for s in rest.drain(..n).collect::<Vec<_>>() {
                        self.know(std::slice::from_ref(&s));
                        out.push(s);
                    }
                    return;
                }
                Plan::Segment {
                    trial,
                    live,
                    again,
                    gives,
                } => {
                    let run: Vec<Stmt> = rest.drain(..n).collect();
                    self.finish(run, *trial, &live, &again, gives, out);
                    return;
                }
            }
        }
        let s = rest.remove(0);
        let fault = self.attempt(std::slice::from_ref(&s), Wanted::Locals(&Names::new(), false));
        match fault {
            Ok(trial) if trial.work == 0 => {
                self.know(std::slice::from_ref(&s));
                out.push(s);
            }
            Ok(_) => out.push(self.rust(s, Some(Fault::Kept), rest, after, None)),
            Err(fault) => out.push(self.rust(s, Some(fault), rest, after, None)),
        }
    }

    fn plan(&self, n: usize, rest: &[Stmt], after: &Names) -> Plan {
        let run = &rest[..n];
        let mut live = union(&rest[n..], after);
        let none = Names::new();
        let Ok(trial) = self.attempt(run, Wanted::Locals(&none, false)) else {
            return Plan::Cut(n - 1);
        };
        let Some(ended) = &trial.ended else {
            return Plan::Cut(n - 1);
        };
        // a last expression is the value of the block
        let gives = match (tail(run).filter(|_| n == rest.len()), &ended.value) {
            (Some(e), Seen::Tensor) => match self.form_behind(&run[..n - 1], e) {
                Local::Tensor { refs: 0 } => true,
                _ => return Plan::Kept(n - 1),
            },
            (Some(_), Seen::Number(_) | Seen::Input | Seen::Other) => return Plan::Cut(n - 1),
            _ => false,
        };
        // what makes no operation is as well behind the segment
        if !gives && n > 1 {
            let shorter = self.attempt(&run[..n - 1], Wanted::Locals(&none, false));
            if shorter.is_ok_and(|t| t.operations == trial.operations) {
                return Plan::Cut(n - 1);
            }
        }
        for (name, seen) in ended.assigned.iter().filter(|(n, _)| live.contains(n)) {
            let owned = self
                .locals
                .get(name)
                .is_some_and(|k| matches!(k.local, Local::Tensor { refs: 0 }));
            if !(owned && matches!(seen, Seen::Tensor)) {
                return Plan::Kept(last(run, |s| changed_in(s).contains(name)));
            }
        }
        let forms = self.forms(run);
        let binds = |name: &str| last(run, |s| bound_by(s).iter().any(|b| b.ident == name));
        let mut again = Vec::new();
        // numbers that are computed again read tensors, and those read no more
        loop {
            let mut grown = false;
            for (name, seen) in &ended.bound {
                if !live.contains(name) {
                    continue;
                }
                let at = binds(name);
                match seen {
                    Seen::Tensor if owned(&forms[at], name) => {}
                    Seen::Number(_) if again.contains(&at) => {}
                    Seen::Number(_) if repeatable(run, at) => {
                        again.push(at);
                        live.extend(read_in(&run[at]));
                        grown = true;
                    }
                    _ => return Plan::Kept(at),
                }
            }
            if !grown {
                break;
            }
        }
        again.sort_unstable();
        match self.attempt(run, Wanted::Locals(&live, gives)) {
            Ok(trial) => Plan::Segment {
                trial: Box::new(self.pruned(run, Wanted::Locals(&live, gives), trial)),
                live,
                again,
                gives,
            },
            Err(_) => Plan::Cut(n - 1),
        }
    }

    /// What the names that each statement of a run binds are, by their form.
    fn forms(&self, run: &[Stmt]) -> Vec<Vec<(Binding, Local)>> {
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

    fn form_behind(&self, before: &[Stmt], e: &Expr) -> Local {
        match (form::of(e, &self.after(before)), e) {
            (Local::Opaque, Expr::MethodCall(_) | Expr::Binary(_) | Expr::Call(_)) => {
                Local::Tensor { refs: 0 }
            }
            (local, _) => local,
        }
    }

    /// What the locals are behind statements that capture takes.
    pub(super) fn know(&mut self, run: &[Stmt]) {
        let Ok(trial) = self.attempt(run, Wanted::Locals(&Names::new(), false)) else {
            return run.iter().for_each(|s| self.learn(s, &[]));
        };
        self.know_of(run, &trial);
    }

    fn know_of(&mut self, run: &[Stmt], trial: &Trial) {
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
                bound.push((b.ident.clone(), Locals::of_seen(seen, form, stable, b.mutable)));
            }
        }
        self.locals.change(&changed);
        for (ident, local) in bound {
            self.locals.bind(ident, local);
        }
    }

    fn finish(
        &mut self,
        run: Vec<Stmt>,
        trial: Trial,
        live: &Names,
        again: &[usize],
        gives: bool,
        out: &mut Vec<Stmt>,
    ) {
        let Some(ended) = trial.ended.clone() else { return };
        let results = |list: &[(String, Seen)]| -> Vec<String> {
            let tensors = list
                .iter()
                .filter(|(n, s)| live.contains(n) && matches!(s, Seen::Tensor));
            tensors.map(|(n, _)| n.clone()).collect()
        };
        let assigned = results(&ended.assigned);
        let assigned = assigned.iter().filter_map(|n| self.locals.ident(n)).collect();
        self.know_of(&run, &trial);
        let bindings: Vec<Binding> = run.iter().flat_map(bound_by).collect();
        let bound = results(&ended.bound);
        let bound: Vec<Bound> = bound
            .iter()
            .filter_map(|n| bindings.iter().rev().find(|b| b.ident == *n))
            .map(|b| Bound {
                ident: b.ident.clone(),
                mutable: b.mutable,
            })
            .collect();
        let repeated: Vec<Stmt> = again.iter().map(|i| quiet(&run[*i])).collect();
        let mut statements = Vec::new();
        for (i, s) in run.into_iter().enumerate() {
            let result = |b: &Binding| b.mutable && bound.iter().any(|o| o.ident == b.ident);
            let twice = again.contains(&i) || bound_by(&s).iter().any(result);
            statements.push(if twice { quiet(&s) } else { s });
        }
        let (items, statements) = apart(statements);
        out.extend(items);
        let statement = self.segment(trial, statements, |s| {
            s.assigned = assigned;
            s.bound = bound;
            s.again = repeated;
            if gives {
                s.gives = Gives::Value;
            }
        });
        out.push(statement);
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

/// Whether a name is that of an owned tensor.
fn owned(forms: &[(Binding, Local)], name: &str) -> bool {
    let form = forms.iter().rev().find(|(b, _)| b.ident == name);
    matches!(form, Some((_, Local::Tensor { refs: 0 })))
}

fn bound_by(s: &Stmt) -> Vec<Binding> {
    match s {
        Stmt::Local(l) => bindings(&l.pat),
        _ => Vec::new(),
    }
}

fn last(run: &[Stmt], is: impl Fn(&Stmt) -> bool) -> usize {
    run.iter().rposition(is).unwrap_or(0)
}

/// Whether statement `at` means the same behind the run: nothing that it reads is bound, assigned or moved after it.
fn repeatable(run: &[Stmt], at: usize) -> bool {
    let (s, behind) = (&run[at], &run[at + 1..]);
    let reads = read_in(s);
    let mut gone = changed_in(behind);
    gone.extend(moved_in(behind));
    gone.extend(behind.iter().flat_map(bound_by).map(|b| b.ident.to_string()));
    reads.is_disjoint(&gone) && changed_in(s).is_empty()
}

/// A `let` that stands twice, so that it may be idle in one of the places.
fn quiet(s: &Stmt) -> Stmt {
    let mut s = s.clone();
    if let Stmt::Local(l) = &mut s {
        l.attrs.push(parse_quote!(#[allow(unused_mut, unused_variables)]));
    }
    s
}
