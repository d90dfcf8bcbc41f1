//! What a run yields: which of its locals are results, which statements are done again behind it, for numbers and
//! borrows, and where the run must end because a local that later code reads is neither.

use super::locals::Local;
use super::names::{Binding, Names, bindings, changed_in, moved_in, read_in, union};
use super::trial::{Fault, Trial, Wanted, tail};
use super::{Bound, Gives, Splitter, apart};
use crate::walk::Seen;
use crate::words::words;
use syn::{Item, Stmt, parse_quote};

/// What becomes of a run of statements.
enum Plan {
    /// A segment with these results.
    Segment {
        trial: Box<Trial>,
        live: Names,
        assigned: Vec<String>,
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
                    assigned,
                    again,
                    gives,
                } => {
                    let run: Vec<Stmt> = rest.drain(..n).collect();
                    self.finish(run, *trial, (&assigned, &live), &again, gives, out);
                    return;
                }
            }
        }
        let s = rest.remove(0);
        let fault = self.attempt(std::slice::from_ref(&s), Wanted::Nothing);
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
        // what a macro of the block names may be read wherever it is called
        let named = self.named_by_macros();
        let mut outer = union(&rest[n..], after);
        outer.extend(named.iter().cloned());
        // what the run binds is gone behind its block: a name that is read there is another's
        let mut live = match n == rest.len() {
            true => Names::new(),
            false => union(&rest[n..], &named),
        };
        let Ok(trial) = self.attempt(run, Wanted::Nothing) else {
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
            let shorter = self.attempt(&run[..n - 1], Wanted::Nothing);
            if shorter.is_ok_and(|t| t.operations == trial.operations) {
                return Plan::Cut(n - 1);
            }
        }
        for (name, seen) in ended.assigned.iter().filter(|(n, _)| outer.contains(n)) {
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
        // what is done again reads tensors, which are results then
        loop {
            let mut grown = false;
            for (name, seen) in &ended.bound {
                if !live.contains(name) {
                    continue;
                }
                let at = binds(name);
                match seen {
                    Seen::Tensor if owned(&forms[at], name) => {}
                    _ if again.contains(&at) => {}
                    _ if repeatable(run, at) && (matches!(seen, Seen::Number(_)) || self.idle(run, at)) => {
                        again.push(at);
                        live.extend(read_in(&run[at]));
                        outer.extend(read_in(&run[at]));
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
        for (name, _) in &ended.bound {
            if again.contains(&binds(name)) {
                live.remove(name);
            }
        }
        let assigned = ended.assigned.iter().map(|(n, _)| n.clone());
        let assigned: Vec<String> = assigned.filter(|n| outer.contains(n)).collect();
        let wanted = Wanted::Results {
            assigned: &assigned,
            bound: &live,
            gives,
        };
        match self.attempt(run, wanted) {
            Ok(trial) => Plan::Segment {
                trial: Box::new(self.pruned(run, wanted, trial)),
                live,
                assigned,
                again,
                gives,
            },
            Err(_) => Plan::Cut(n - 1),
        }
    }

    /// The words of the macros among the items in reach.
    fn named_by_macros(&self) -> Names {
        let of = |s: &Stmt| match s {
            Stmt::Item(Item::Macro(m)) => words(m.mac.tokens.clone()),
            _ => Vec::new(),
        };
        self.items.iter().flat_map(of).map(|i| i.to_string()).collect()
    }

    /// Whether a statement makes no operation and moves nothing.
    fn idle(&self, run: &[Stmt], at: usize) -> bool {
        let operations = |n| match n {
            0 => Some(0),
            n => self
                .attempt(&run[..n], Wanted::Nothing)
                .ok()
                .map(|t| t.operations),
        };
        moved_in(&run[at..=at]).is_empty() && operations(at).is_some_and(|n| operations(at + 1) == Some(n))
    }

    fn finish(
        &mut self,
        run: Vec<Stmt>,
        trial: Trial,
        (assigned, live): (&[String], &Names),
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
        // what the run itself does not read is only done behind it: there its uses tell its type
        let elsewhere: Vec<usize> = match again {
            [] => Vec::new(),
            _ => {
                let reads: Vec<Names> = run.iter().map(read_in).collect();
                let read = |i: usize, b: &Binding| {
                    let name = b.ident.to_string();
                    (0..)
                        .zip(&reads)
                        .any(|(other, names)| other != i && names.contains(&name))
                };
                let unread = |i: &usize| !bound_by(&run[*i]).iter().any(|b| read(*i, b));
                again.iter().copied().filter(unread).collect()
            }
        };
        for (i, s) in run.into_iter().enumerate() {
            if elsewhere.contains(&i) {
                continue;
            }
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

/// Whether statement `at` means the same behind the run: nothing that it reads or binds is bound, changed or moved after it.
fn repeatable(run: &[Stmt], at: usize) -> bool {
    let (s, behind) = (&run[at], &run[at + 1..]);
    let reads = read_in(s);
    let changed = changed_in(behind);
    let kept = bound_by(s)
        .iter()
        .all(|b| !changed.contains(&b.ident.to_string()));
    let mut gone = changed;
    gone.extend(moved_in(behind));
    gone.extend(behind.iter().flat_map(bound_by).map(|b| b.ident.to_string()));
    kept && reads.is_disjoint(&gone) && changed_in(s).is_empty()
}

/// A `let` that stands twice, so that it may be idle in one of the places.
fn quiet(s: &Stmt) -> Stmt {
    let mut s = s.clone();
    if let Stmt::Local(l) = &mut s {
        l.attrs.push(parse_quote!(#[allow(unused_mut, unused_variables)]));
    }
    s
}
