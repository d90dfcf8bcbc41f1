//! Whether a run of statements can be a segment: it is captured as a function of the locals that it reads.

use super::Splitter;
use super::key::{keyed, used};
use super::locals::{Known, Local};
use super::names::{Names, bindings, read_in};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::paths::{Traced, trace};
use crate::walk::{Ended, Walk};
use quote::quote;
use std::cell::RefCell;
use std::rc::Rc;
use syn::visit::{self, Visit};
use syn::{Block, Expr, Stmt, token};
use tensorplay_graph::op::row::Lowering;

/// What a run is to yield.
#[derive(Clone, Copy)]
pub enum Wanted<'a> {
    /// Nothing: whether it is captured is all that is asked.
    Nothing,
    /// These results.
    Results {
        /// The locals from before that it assigns.
        assigned: &'a [String],
        /// The tensors among these locals that it binds.
        bound: &'a Names,
        /// The value of its last statement.
        gives: bool,
    },
    /// The value of the function: the run is all that is left of it.
    Function,
}

/// A run that can be a segment.
pub struct Trial {
    /// Its graphs.
    pub traced: Traced,
    /// How it ended, along its first path; absent at the end of a function.
    pub ended: Option<Ended>,
    /// Its inputs.
    pub inputs: Vec<Known>,
    /// How many operations there are, on all paths.
    pub operations: usize,
    /// How many of them do more than look at tensors otherwise, or may fail where failures are the caller's.
    pub work: usize,
    /// The numbers that its branches and sizes read.
    pub keyed: Vec<bool>,
}

/// Why a run is none.
#[derive(Debug)]
pub enum Fault {
    /// What capture says against it.
    Reported(Vec<Diagnostic>),
    /// It is left by `return`, `break` or `continue`.
    Leaves,
    /// Its paths end with different sorts of values.
    Mixed,
    /// It reads a local of a type that capture does not know.
    Opaque(String),
    /// A branch or size reads a number that is known only when the function runs.
    Unstable(String),
    /// Later code reads what it binds or assigns, which is borrowed or not one tensor.
    Kept,
    /// `?` in a function that does not return a `Result`.
    Question,
}

/// What is read in a run before it is bound there.
pub fn free(stmts: &[Stmt]) -> Names {
    let (mut reads, mut bound) = (Names::new(), Names::new());
    for s in stmts {
        reads.extend(read_in(s).into_iter().filter(|n| !bound.contains(n)));
        if let Stmt::Local(l) = s {
            bound.extend(bindings(&l.pat).into_iter().map(|b| b.ident.to_string()));
        }
    }
    reads
}

impl Splitter<'_> {
    /// Captures a run that begins here.
    pub fn attempt(&self, stmts: &[Stmt], wanted: Wanted<'_>) -> Result<Trial, Fault> {
        let reads = free(stmts);
        if let Some(name) = self.locals.opaque(&reads) {
            // what capture says against it names the construct
            return Err(match self.walk(stmts, wanted, &reads) {
                Err(Fault::Reported(d)) if !d.is_empty() => Fault::Reported(d),
                _ => Fault::Opaque(name.clone()),
            });
        }
        if !self.scene.fallible && asks(stmts) {
            return Err(Fault::Question);
        }
        let trial = self.walk(stmts, wanted, &reads)?;
        let numbers = trial
            .inputs
            .iter()
            .flat_map(|k| std::iter::repeat_n(k, k.numbers()));
        for (k, keyed) in numbers.zip(&trial.keyed) {
            let unstable = matches!(&k.local, Local::Number(n) if !n.stable);
            if *keyed && unstable {
                return Err(Fault::Unstable(k.ident.to_string()));
            }
        }
        Ok(trial)
    }

    /// The same run without the inputs that nothing uses: they would still be part of the key.
    pub fn pruned(&self, stmts: &[Stmt], wanted: Wanted<'_>, trial: Trial) -> Trial {
        let flags = used(&trial.traced.modules);
        let (mut tensors, mut scalars) = (flags.tensors.iter(), flags.scalars.iter());
        let mut used = Names::new();
        for k in &trial.inputs {
            let own = tensors.by_ref().take(k.tensors());
            let own = own.chain(scalars.by_ref().take(k.numbers()));
            // a question about another type is no input
            if own.fold(matches!(k.local, Local::Parts(_)), |any, used| any | used) {
                used.insert(k.ident.to_string());
            }
        }
        if trial.inputs.iter().all(|k| used.contains(&k.ident.to_string())) {
            return trial;
        }
        if free(stmts).contains("self") {
            used.insert("self".into());
        }
        match self.walk(stmts, wanted, &used) {
            // locals that only such an input tells of are known by the first walk
            Ok(pruned) => Trial {
                ended: trial.ended,
                ..pruned
            },
            Err(_) => trial,
        }
    }

    /// The same with these locals as inputs, if they are tensors or numbers.
    fn walk(&self, stmts: &[Stmt], wanted: Wanted<'_>, inputs: &Names) -> Result<Trial, Fault> {
        let errors = Rc::new(Diagnostics::default());
        let ends = RefCell::new(Vec::new());
        let scene = self.scene;
        let (head, ident) = (&scene.function.sig.fn_token, &scene.function.sig.ident);
        let name = format!("{}_{}", scene.name, self.segments.len());
        let traced = trace(ident, &errors, 0, |_, script, reads| {
            let receiver = scene.env.receiver.clone();
            let mut walk = Walk::new(
                name.clone(),
                scene.env.clone(),
                receiver,
                errors.clone(),
                script,
                reads,
            );
            walk.of_record = scene.env.complete;
            walk.place_function(ident, quote!(#head #ident));
            if self.locals.receiver && inputs.contains("self") {
                walk.bind_self();
            }
            for k in self.locals.visible() {
                let name = k.ident.to_string();
                match (&k.local, &k.param) {
                    (Local::Tensor { .. } | Local::Number(_) | Local::Parts(_), Some((p, written)))
                        if inputs.contains(&name) =>
                    {
                        walk.bind_param(p, written, &k.specs);
                    }
                    (Local::Tensor { .. }, None) if inputs.contains(&name) => {
                        walk.bind_tensor(&k.ident, k.specs.first())
                    }
                    (Local::Number(n), _) if n.value.is_some() || inputs.contains(&name) => {
                        walk.bind_number(&k.ident, n.ty, n.value.as_ref());
                    }
                    _ => walk.bind_unknown(&name),
                }
            }
            walk.bind_items(&self.items);
            walk.bind_reads();
            match wanted {
                Wanted::Nothing => {
                    let (walked, ended) = walk.run(stmts, &[], &Names::new(), false);
                    ends.borrow_mut().push(ended);
                    walked
                }
                Wanted::Results {
                    assigned,
                    bound,
                    gives,
                } => {
                    let (walked, ended) = walk.run(stmts, assigned, bound, gives);
                    ends.borrow_mut().push(ended);
                    walked
                }
                Wanted::Function => {
                    let body = Block {
                        brace_token: token::Brace::default(),
                        stmts: stmts.to_vec(),
                    };
                    walk.function(&body, scene.returns.as_ref(), &scene.return_specs)
                }
            }
        });
        let reported = errors.take();
        let Some(traced) = traced else {
            return Err(Fault::Reported(reported));
        };
        let ends = ends.into_inner();
        if ends.iter().any(|e| e.leaves) {
            return Err(Fault::Leaves);
        }
        let mut ends = ends.into_iter();
        let mut ended = ends.next();
        for other in ends {
            ended = Some(match ended.and_then(|e| e.meet(&other)) {
                Some(met) => met,
                None => return Err(Fault::Mixed),
            });
        }
        let inputs = self.locals.visible().filter(|k| match &k.local {
            Local::Tensor { .. } | Local::Parts(_) => inputs.contains(&k.ident.to_string()),
            Local::Number(n) => n.value.is_none() && inputs.contains(&k.ident.to_string()),
            Local::Opaque => false,
        });
        let inputs: Vec<Known> = inputs.cloned().collect();
        let calls = traced.modules.iter().flat_map(|m| &m.graph.nodes);
        let ops: Vec<_> = calls.filter_map(|n| n.op()).collect();
        // a view whose shape does not fit is an `Err` of the call, not a panic of plain Rust
        let idle = |l: Lowering| match l {
            Lowering::View => !self.scene.fallible,
            Lowering::Create => true,
            _ => false,
        };
        let numbers = inputs.iter().map(Known::numbers).sum();
        Ok(Trial {
            ended,
            operations: ops.len(),
            work: ops.iter().filter(|op| !idle(op.row().lowering)).count(),
            keyed: keyed(&traced.modules, numbers),
            inputs,
            traced,
        })
    }
}

/// Whether there is a `?`.
fn asks(stmts: &[Stmt]) -> bool {
    struct Find(bool);
    impl<'a> Visit<'a> for Find {
        fn visit_expr_try(&mut self, t: &'a syn::ExprTry) {
            self.0 = true;
            visit::visit_expr_try(self, t);
        }
    }
    let mut find = Find(false);
    stmts.iter().for_each(|s| find.visit_stmt(s));
    find.0
}

/// The value of a run's last statement, if that is an expression.
pub fn tail(stmts: &[Stmt]) -> Option<&Expr> {
    match stmts.last() {
        Some(Stmt::Expr(e, None)) => Some(e),
        _ => None,
    }
}
