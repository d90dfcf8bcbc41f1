//! Graph breaks: a function that capture does not hold whole becomes segments with the user's own Rust between them.
//!
//! Problem: `println!`, a read of data or a foreign call ends a graph, and what stands before and after it should stay
//! compiled, while moves, `mut`, `?`, `return` and the borrow checker see the function that the user wrote.
//!
//! Method: the statements of a block are taken in order. The longest run that is captured as a function of the locals
//! that it reads is a segment; a statement that is not captured stays, and blocks inside it are segmented in
//! turn. What a run computes and later code reads are the segment's results. In the expansion a segment is a `match`: one
//! arm takes the results of the kernels, another holds the run as it was.
//!
//! Invariants: without segments a body is token for token the user's; a result is an owned tensor for certain; what is
//! not captured is recorded once, on its tokens; a mistake that no break explains is an error as ever.

mod form;
mod hoist;
mod inner;
mod key;
mod know;
mod lets;
mod locals;
mod names;
mod outputs;
mod place;
mod reason;
mod rust;
mod segmented;
mod trial;
mod uses;

use crate::Options;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::env::Env;
use crate::parameter::Param;
use crate::returns::Returns;
use crate::spec::Spec;
use locals::{Local, Locals};
use names::{Binding, Names, bindings};
use proc_macro2::TokenStream;
use quote::ToTokens;
pub use reason::Break;
pub(crate) use reason::is_break;
pub use segmented::{Bound, Gives, Input, Segment, Segmented};
use std::rc::Rc;
use syn::{Item, ItemFn, Pat, Stmt};
use trial::{Fault, Trial, Wanted};

/// Bodies with expressions that nest deeper are not segmented: the compiler's stack is finite.
const DEEPEST: usize = 300;

/// The function around the statements.
pub(crate) struct Scene<'a> {
    pub function: &'a ItemFn,
    /// What it is captured with.
    pub env: &'a Rc<Env>,
    /// The name of its graphs.
    pub name: String,
    /// `None` if capture does not know the return type.
    pub returns: Option<Returns>,
    pub return_specs: Vec<Spec>,
    pub fallible: bool,
    pub method: bool,
    pub options: &'a Options,
}

/// A parameter or the receiver.
pub(crate) enum Entry<'a> {
    Receiver,
    Param(&'a Param, TokenStream, &'a [Spec]),
    Unknown(&'a Pat),
}

/// What the value of a block is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// Whatever its last expression is.
    Value,
    /// What the function returns.
    Function,
}

/// The walk over the statements.
struct Splitter<'a> {
    scene: &'a Scene<'a>,
    locals: Locals,
    /// The items of the enclosing blocks.
    items: Vec<Stmt>,
    segments: Vec<Segment>,
    breaks: Vec<Break>,
    errors: &'a Diagnostics,
    temporaries: usize,
}

/// Segments a function; `reported` is what kept it from being captured whole. Mistakes go to `errors`.
pub(crate) fn segment(
    scene: &Scene<'_>,
    entries: &[Entry<'_>],
    reported: &[Diagnostic],
    errors: &Diagnostics,
) -> Option<Box<Segmented>> {
    if names::deeper(&scene.function.block.stmts, DEEPEST) {
        return None;
    }
    let mut s = Splitter {
        scene,
        locals: Locals::default(),
        items: Vec::new(),
        segments: Vec::new(),
        breaks: Vec::new(),
        errors,
        temporaries: 0,
    };
    for e in entries {
        match e {
            Entry::Receiver => s.locals.receiver = true,
            Entry::Unknown(pat) => s.bind_opaque(bindings(pat)),
            Entry::Param(p, written, specs) => s.locals.bind_param(p, written.clone(), specs),
        }
    }
    let signature = reported.iter().filter(|d| d.code == crate::code::PARAMETER);
    s.breaks.extend(signature.map(Break::of));
    let mut item = scene.function.clone();
    let end = match scene.returns {
        Some(_) => End::Function,
        None => End::Value,
    };
    item.block.stmts = s.block(item.block.stmts, &Names::new(), end);
    if s.breaks.is_empty() {
        s.breaks.extend(reported.iter().map(Break::of).take(1));
    }
    s.breaks.iter_mut().for_each(Break::finish);
    s.breaks.sort_by_key(|b| b.line);
    let checked = s.segments.iter().any(|s| matches!(s.gives, Gives::Function(_)));
    if let (Some(spec), false) = (scene.return_specs.first(), checked) {
        let message = "this spec cannot be checked: what the function returns is not computed in a graph";
        errors.push(
            Diagnostic::new(crate::code::SPEC_NAME, &spec.tokens, message)
                .help("end the function with an operation on tensors, or remove the spec"),
        );
    }
    let opaque = |e: &Entry<'_>| match e {
        Entry::Param(p, ..) => p.tree.is_opaque(),
        Entry::Unknown(_) | Entry::Receiver => false,
    };
    Some(Box::new(Segmented {
        opaque: entries.iter().any(opaque),
        item,
        segments: s.segments,
        breaks: s.breaks,
        fallible: scene.fallible,
        method: scene.method,
        owner: scene.env.owner(),
        options: scene.options.clone(),
    }))
}

impl Splitter<'_> {
    /// Segments the statements of a block, of which the names of `after` may be read later.
    fn block(&mut self, stmts: Vec<Stmt>, after: &Names, end: End) -> Vec<Stmt> {
        self.locals.enter();
        let outer = self.items.len();
        let items = stmts.iter().filter(|s| matches!(s, Stmt::Item(_)));
        self.items.extend(items.cloned());
        let (mut rest, mut out) = (stmts, Vec::new());
        while !rest.is_empty() {
            if matches!(rest[0], Stmt::Item(_)) {
                out.push(rest.remove(0));
                continue;
            }
            if self.last(&mut rest, &mut out, end) {
                break;
            }
            match self.grow(&mut rest, end) {
                (0, fault) => {
                    let s = rest.remove(0);
                    let is_end = rest.is_empty().then_some(end);
                    out.push(self.rust(s, fault, &rest, after, is_end));
                }
                (n, _) => self.run(n, &mut rest, &mut out, after),
            }
        }
        self.items.truncate(outer);
        self.locals.leave();
        out
    }

    /// All that is left of a function, if it is captured.
    fn last(&mut self, rest: &mut Vec<Stmt>, out: &mut Vec<Stmt>, end: End) -> bool {
        let returns = matches!(rest.last(), Some(Stmt::Expr(syn::Expr::Return(_), _)));
        let Some(tree) = self.scene.returns.as_ref().map(|r| r.tree.clone()) else {
            return false;
        };
        if end != End::Function && !returns {
            return false;
        }
        match self.attempt(rest, Wanted::Function) {
            Ok(trial) if trial.work > 0 => {
                let trial = self.pruned(rest, Wanted::Function, trial);
                let (items, statements) = apart(std::mem::take(rest));
                out.extend(items);
                let statement = self.segment(trial, statements, |s| s.gives = Gives::Function(tree));
                out.push(statement);
                true
            }
            Ok(_) => false,
            Err(fault) => {
                self.mistakes(&fault);
                false
            }
        }
    }

    /// How many statements from here on are captured together, and why the next one is not. Tensor parts of statements
    /// that read data become statements on the way.
    fn grow(&mut self, rest: &mut Vec<Stmt>, end: End) -> (usize, Option<Fault>) {
        // statements are added by the doubled number, from one again where that fails
        let (mut n, mut step) = (0, 1);
        loop {
            let ends = rest[n..].iter().position(ends_run).map(|i| n + i);
            let finish = end == End::Function && trial::tail(rest).is_some();
            let most = ends.unwrap_or(rest.len() - usize::from(finish)).max(n);
            let to = (n + step).min(most);
            if to > n {
                match self.attempt(&rest[..to], Wanted::Nothing) {
                    Ok(_) => (n, step) = (to, 2 * step),
                    Err(_) if to > n + 1 => step = 1,
                    Err(fault) => {
                        self.mistakes(&fault);
                        if is_cfg(Some(&fault)) || !self.hoist(rest, n) {
                            return (n, Some(fault));
                        }
                        (n, step) = (n + 1, 1);
                    }
                }
                continue;
            }
            if n == rest.len() || ends == Some(n) {
                return (n, None);
            }
            // the value of a function is no segment of its own
            let fault = self.attempt(&rest[..=n], Wanted::Nothing).err();
            fault.iter().for_each(|f| self.mistakes(f));
            if !self.hoist(rest, n) {
                return (n, fault);
            }
            n += 1;
        }
    }

    /// Names of a pattern, which their uses may tell for tensors.
    fn bind_by_uses(&mut self, names: Vec<Binding>, stmts: &[Stmt]) {
        for b in names {
            let tensor = !b.by_ref && uses::used_as_tensor(&b.ident, stmts, &self.locals);
            let local = match tensor {
                true => Local::Tensor { refs: 1 },
                false => Local::Opaque,
            };
            self.locals.bind(b.ident, local);
        }
    }

    fn bind_opaque(&mut self, names: Vec<Binding>) {
        for b in names {
            self.locals.bind(b.ident, Local::Opaque);
        }
    }

    /// Adds a segment; its placeholder.
    fn segment(&mut self, trial: Trial, statements: Vec<Stmt>, set: impl FnOnce(&mut Segment)) -> Stmt {
        let traced = trial.traced;
        let inputs = place::inputs(&trial.inputs, &key::used(&traced.modules));
        let this = self
            .scene
            .function
            .sig
            .receiver()
            .map(|r| r.self_token.to_token_stream());
        let model = traced.modules.iter().any(|m| !m.aggregates.is_empty());
        let mut segment = Segment {
            inputs,
            reads: traced.reads.written(),
            reads_consts: self.scene.env.complete || model && !traced.reads.of_a_call(),
            receiver: this.filter(|_| model),
            callees: traced.reads.callees,
            codes: traced.codes,
            paths: traced.modules,
            spans: traced.spans,
            statements,
            assigned: Vec::new(),
            bound: Vec::new(),
            again: Vec::new(),
            gives: Gives::Nothing,
        };
        set(&mut segment);
        self.segments.push(segment);
        place::placeholder(self.segments.len() - 1)
    }
}

fn is_cfg(fault: Option<&Fault>) -> bool {
    matches!(fault, Some(Fault::Reported(d)) if d.iter().any(|d| d.code == crate::code::CFG))
}

/// Whether a statement is in no run: macros are in reach behind their definition, and a declaration is what its
/// assignments are.
fn ends_run(s: &Stmt) -> bool {
    matches!(
        s,
        Stmt::Item(Item::Macro(_)) | Stmt::Local(syn::Local { init: None, .. })
    )
}

/// Items, and what is left.
fn apart(stmts: Vec<Stmt>) -> (Vec<Stmt>, Vec<Stmt>) {
    stmts.into_iter().partition(|s| matches!(s, Stmt::Item(_)))
}
