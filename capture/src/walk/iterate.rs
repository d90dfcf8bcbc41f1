//! Loops that the build unrolls: literal ranges, lists whose parts are known, and `while` on metadata.

use super::branch::{has_let, reads_data};
use super::each::{Loop, Over};
use super::{Jump, Walk};
use crate::diagnostic::{Diagnostic, code};
use crate::kind::Kind;
use crate::location::tokens;
use crate::model::Ty;
use quote::quote;
use syn::{Expr as Syntax, ExprForLoop, ExprWhile, Label, Lifetime, RangeLimits};
use tensorplay_graph::{Expr, Host, HostBinary, HostType};

/// A loop takes no more steps at build time.
const MOST_STEPS: usize = 1024;

/// A `while` whose condition only calls decide has no more paths of its own: each is walked from the start.
const MOST_OPEN: usize = 16;

/// What a loop goes over.
enum Items {
    /// Parts that the build knows.
    Known(Vec<Kind>),
    /// As many as a call tells.
    Open(Over),
}

/// `lo..hi` where the build does not know both.
fn open_range(lo: Expr, hi: Expr, ty: HostType, limits: &RangeLimits) -> Over {
    let binary = |op, a: Expr, b: Expr| Expr::Binary(op, Box::new(a), Box::new(b));
    let hi = match limits {
        RangeLimits::HalfOpen(_) => hi,
        RangeLimits::Closed(_) => binary(HostBinary::Add, hi, Expr::int(1)),
    };
    let ty = if ty == HostType::IntLiteral {
        HostType::I64
    } else {
        ty
    };
    let wide = |e: Expr| Expr::Cast(HostType::I64, Box::new(e));
    let count = binary(HostBinary::Sub, wide(hi), wide(lo.clone()));
    let count = binary(HostBinary::Max, count, Expr::int(0));
    Over::Range { lo, count, ty }
}

impl Walk {
    pub(super) fn for_loop(&mut self, f: &ExprForLoop) -> Kind {
        let items = match self.items(&f.expr) {
            Some(Items::Known(items)) => items,
            Some(Items::Open(over)) => return self.each(&Loop::of_for(f), Some(&f.pat), over),
            None => {
                self.poison(&Syntax::ForLoop(f.clone()));
                return Kind::Unknown;
            }
        };
        for item in items {
            self.scope.enter();
            self.bind_pattern(&f.pat, item);
            self.block(&f.body);
            self.scope.leave();
            if self.ends_loop(f.label.as_ref()) {
                break;
            }
        }
        Kind::unit()
    }

    pub(super) fn while_metadata(&mut self, w: &ExprWhile) -> Kind {
        let (mut changes, mut open) = (None, 0);
        for _ in 0..MOST_STEPS {
            // each open step is a path of its own
            if open > MOST_OPEN {
                break;
            }
            self.scope.enter();
            let decided = self.decided.len();
            let taken = match has_let(&w.cond) || reads_data(&w.cond).is_some() {
                true => self.condition(&w.cond),
                false => {
                    let (at, kind) = (tokens(&*w.cond), self.expr(&w.cond));
                    match self.as_host(kind, &at, HostType::Bool) {
                        Some(c) if self.decided.len() == decided && self.is_open(&c) => {
                            changes = self.changes_more_than_tensors(w);
                            if changes.is_none() {
                                self.scope.leave();
                                let over = Over::While(w.cond.clone());
                                return self.each(&Loop::of_while(w), None, over);
                            }
                            open += 1;
                            Some(self.decide(c))
                        }
                        c => c.map(|c| self.decide(c)),
                    }
                }
            };
            let known = self.errors.len();
            if taken == Some(true) {
                self.block(&w.body);
            }
            self.scope.leave();
            // no call takes so many steps that a number overflows
            if open > 0 && self.errors.only_behind(known, code::HOST_FAILS) {
                self.errors.truncate(known);
                break;
            }
            match taken {
                Some(true) if !self.ends_loop(w.label.as_ref()) => {}
                Some(_) => return Kind::unit(),
                None => {
                    self.poison(&Syntax::While(w.clone()));
                    return Kind::Unknown;
                }
            }
        }
        let (t, c) = (&w.while_token, &w.cond);
        match changes {
            None => self.too_long(quote!(#t #c)),
            Some((name, what)) => {
                let message = format!(
                    "`{name}` is {what}, which this loop changes, and only a call knows how many steps it takes"
                );
                self.fail(Diagnostic::new(code::PATHS, quote!(#t #c), message).help(
                    "change tensors only, loop over a range, as in `for i in 0..n`, or use `tensorplay::while_loop(..)`",
                ));
            }
        }
        self.poison(&Syntax::While(w.clone()));
        Kind::Unknown
    }

    /// What a loop changes besides tensors.
    fn changes_more_than_tensors(&self, w: &ExprWhile) -> Option<(String, &'static str)> {
        let names = self.assigned(&Syntax::While(w.clone()));
        names.into_iter().find_map(|name| match self.scope.get(&name) {
            Some(Kind::Tensor(_) | Kind::Unknown) | None => None,
            Some(other) => {
                let what = other.describe();
                Some((name, what))
            }
        })
    }

    fn too_long(&mut self, at: proc_macro2::TokenStream) {
        let message = format!("this loop takes more than {MOST_STEPS} steps at build time");
        self.fail(Diagnostic::new(code::PATHS, at, message).help(
            "loop over a dim of a tensor, as in `for i in 0..x.dim(0)`, or use `tensorplay::while_loop(..)`",
        ));
    }

    /// `break` and `continue`.
    pub(super) fn leave_loop(&mut self, _: &Syntax, label: Option<&Lifetime>, again: bool) -> Kind {
        if !self.leaves() {
            self.jump = Some(Jump {
                again,
                label: label.map(|l| l.ident.to_string()),
            });
        }
        Kind::Unknown
    }

    /// Whether a loop ends after a step: a jump out of it is on its way, or a `return`.
    fn ends_loop(&mut self, label: Option<&Label>) -> bool {
        let Some(jump) = &self.jump else {
            return self.returned.is_some();
        };
        let own = label.map(|l| l.name.ident.to_string());
        if jump.label.is_some() && jump.label != own {
            return true;
        }
        let again = jump.again;
        self.jump = None;
        !again
    }

    /// What a loop goes over.
    fn items(&mut self, e: &Syntax) -> Option<Items> {
        match e {
            Syntax::Paren(p) => self.items(&p.expr),
            Syntax::Group(p) => self.items(&p.expr),
            Syntax::Reference(r) if r.mutability.is_some() => self.lent_items(&r.expr, e),
            Syntax::Reference(r) => self.loaded(&r.expr),
            Syntax::Range(r) => {
                let (Some(lo), Some(hi)) = (&r.start, &r.end) else {
                    return self.endless(e);
                };
                let (lo, hi) = (self.bound(lo)?, self.bound(hi)?);
                let ty = lo.host_type().meet(hi.host_type());
                let (Some(first), Some(end)) = (self.known_int(&lo), self.known_int(&hi)) else {
                    return Some(Items::Open(open_range(lo, hi, ty, &r.limits)));
                };
                let end = match r.limits {
                    RangeLimits::HalfOpen(_) => end,
                    RangeLimits::Closed(_) => end.saturating_add(1),
                };
                if end.saturating_sub(first) > MOST_STEPS as i64 {
                    self.too_long(tokens(e));
                    return None;
                }
                let item = |i| match ty {
                    HostType::IntLiteral => Expr::int(i),
                    ty => Expr::Cast(ty, Box::new(Expr::int(i))),
                };
                Some(Items::Known((first..end).map(|i| Kind::Host(item(i))).collect()))
            }
            Syntax::MethodCall(m) if m.args.is_empty() => match m.method.to_string().as_str() {
                "iter_mut" => self.lent_items(&m.receiver, e),
                "into_iter" => self.items(&m.receiver),
                "iter" | "copied" | "cloned" => self.loaded(&m.receiver),
                "rev" => {
                    let items = self.known_items(&m.receiver)?;
                    Some(Items::Known(items.into_iter().rev().collect()))
                }
                "enumerate" => {
                    let items = match self.items(&m.receiver)? {
                        Items::Open(over) => match over.enumerate() {
                            Some(over) => return Some(Items::Open(over)),
                            None => return self.endless(e),
                        },
                        Items::Known(items) => items.into_iter().enumerate(),
                    };
                    let index = |i: usize| {
                        let ty = HostType::Usize;
                        Kind::Host(Expr::Cast(ty, Box::new(Expr::int(i as i64))))
                    };
                    Some(Items::Known(
                        items.map(|(i, k)| Kind::List(vec![index(i), k])).collect(),
                    ))
                }
                _ => self.listed(e),
            },
            Syntax::MethodCall(m) if m.method == "zip" && m.args.len() == 1 => {
                match (self.items(&m.receiver)?, self.items(&m.args[0])?) {
                    (Items::Known(a), Items::Known(b)) => {
                        let pairs = a.into_iter().zip(b).map(|(a, b)| Kind::List(vec![a, b]));
                        Some(Items::Known(pairs.collect()))
                    }
                    (Items::Open(a), Items::Open(b)) => match a.zip(b) {
                        Some(over) => Some(Items::Open(over)),
                        None => self.endless(e),
                    },
                    _ => self.endless(e),
                }
            }
            Syntax::MethodCall(m) if m.method == "step_by" && m.args.len() == 1 => {
                let items = self.known_items(&m.receiver)?;
                let step = self.bound(&m.args[0])?;
                match self.known_int(&step).and_then(|s| usize::try_from(s).ok()) {
                    Some(s) if s > 0 => Some(Items::Known(items.into_iter().step_by(s).collect())),
                    _ => self.endless(e),
                }
            }
            other => self.listed(other),
        }
    }

    /// Items that the loop may assign: those of a local would be copies.
    fn lent_items(&mut self, list: &Syntax, whole: &Syntax) -> Option<Items> {
        match self.items(list)? {
            Items::Known(kinds) if !kinds.iter().all(Walk::is_lent) => {
                let message = "a loop that may change the elements of a local list cannot be captured yet";
                self.fail(
                    Diagnostic::new(code::STATEMENT, tokens(whole), message)
                        .help("loop over `iter()`, and make a new list, or assign them by number"),
                );
                None
            }
            items => Some(items),
        }
    }

    fn known_items(&mut self, e: &Syntax) -> Option<Vec<Kind>> {
        match self.items(e)? {
            Items::Known(items) => Some(items),
            Items::Open(_) => self.endless(e),
        }
    }

    fn loaded(&mut self, e: &Syntax) -> Option<Items> {
        Some(match self.items(e)? {
            Items::Known(items) => Items::Known(items.into_iter().map(|k| self.load(k)).collect()),
            open => open,
        })
    }

    fn listed(&mut self, e: &Syntax) -> Option<Items> {
        let at = tokens(e);
        match self.raw(e) {
            Kind::Part(part) if matches!(part.ty, Ty::List(_)) => {
                if part.lent && (self.is_rewritten(part.path.root) || self.is_changed(part.path.root)) {
                    let message = format!(
                        "elements of `{}` were assigned above, which a loop over it cannot see yet",
                        part.name
                    );
                    self.fail(
                        Diagnostic::new(code::STATEMENT, at, message)
                            .help("assign them in one loop, or behind it"),
                    );
                    return None;
                }
                Some(Items::Open(Over::list(part)))
            }
            list @ (Kind::List(_) | Kind::Pieces(_)) => self.elements(list, &at).map(Items::Known),
            Kind::Unknown => None,
            _ => self.endless(e),
        }
    }

    fn bound(&mut self, e: &Syntax) -> Option<Expr> {
        let at = tokens(e);
        let kind = self.expr(e);
        self.as_host(kind, &at, HostType::IntLiteral)
    }

    fn known_int(&self, e: &Expr) -> Option<i64> {
        self.builder.known(e).and_then(Host::as_int)
    }

    fn endless<T>(&mut self, e: &Syntax) -> Option<T> {
        self.fail(
            Diagnostic::new(
                code::STATEMENT,
                tokens(e),
                "a loop over this cannot be captured yet",
            )
            .help("loop over a range, a list of tensors or layers, or lists side by side with `.zip(..)`"),
        );
        None
    }
}
