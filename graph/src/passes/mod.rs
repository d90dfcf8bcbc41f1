//! Passes: functions from graph to graph, in a table with names.
//!
//! A pass takes a verified graph and leaves one that means the same (`README.md` is the law of what "the
//! same" is). It says whether it changed anything, runs in time near linear in the graph's size, and is
//! deterministic: equal graphs give equal graphs.
//!
//! Invariants: [`verify()`] holds between passes; a second run of [`PassManager::standard`] changes nothing.

pub mod cse;
pub mod dce;
pub mod decompose;
pub mod fold;
pub mod normalise;
mod rewrite;
pub mod shape_prop;

pub(crate) use rewrite::ValueMap;

use crate::{GraphModule, VerifyError, verify};
use std::fmt;

/// A pass of the table.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// The name, as file tests and `bisect` write it.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// Runs it; whether the graph changed.
    pub run: fn(&mut GraphModule) -> bool,
}

/// Every pass. [`PassManager::standard`] runs all but `decompose`, in this order.
pub static PASSES: &[Pass] = &[
    Pass {
        name: "shape_prop",
        about: "infers all types again from those of the inputs",
        run: shape_prop::run,
    },
    Pass {
        name: "fold",
        about: "host expressions that types tell become literals; identity views and casts go",
        run: fold::run,
    },
    Pass {
        name: "normalise",
        about: "dims count from the front, single dims and sizes are lists",
        run: normalise::run,
    },
    Pass {
        name: "cse",
        about: "equal calls are made once",
        run: cse::run,
    },
    Pass {
        name: "dce",
        about: "calls that nothing depends on go",
        run: dce::run,
    },
    Pass {
        name: "decompose",
        about: "composite operations are expanded by their rule",
        run: decompose::run,
    },
];

impl Pass {
    /// The pass of that name.
    pub fn from_name(name: &str) -> Option<&'static Pass> {
        PASSES.iter().find(|p| p.name == name)
    }
}

/// A sequence of passes.
#[derive(Clone, Debug, Default)]
pub struct PassManager {
    passes: Vec<&'static Pass>,
}

/// A graph that does not verify: before the first pass, or after a pass that broke it.
#[derive(Clone, PartialEq, Debug)]
pub struct PassError {
    /// The pass, or `None` for the graph as given.
    pub pass: Option<&'static str>,
    /// What is broken.
    pub errors: Vec<VerifyError>,
}

impl fmt::Display for PassError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pass {
            Some(name) => write!(f, "after pass `{name}`:")?,
            None => f.write_str("before the first pass:")?,
        }
        self.errors.iter().try_for_each(|e| write!(f, "\n{e}"))
    }
}

impl std::error::Error for PassError {}

impl PassManager {
    /// No passes.
    pub fn new() -> PassManager {
        PassManager::default()
    }

    /// What every backend may rely on: shape_prop, fold, normalise, cse, dce.
    ///
    /// Types come first because the others read them; `fold` before `normalise`, which knows only
    /// literal dims; `cse` once equal calls look equal; `dce` last, for what the others left unused.
    pub fn standard() -> PassManager {
        PassManager {
            passes: PASSES.iter().filter(|p| p.name != "decompose").collect(),
        }
    }

    /// The standard passes but `dce`: a call that nothing depends on still fails where its rules are broken.
    pub fn source() -> PassManager {
        let mut all = PassManager::standard();
        all.passes.retain(|p| p.name != "dce");
        all
    }

    /// What runs before scheduling: composites expanded, and what that leaves cleaned up.
    pub fn lowering() -> PassManager {
        ["decompose", "fold", "normalise", "cse", "dce"]
            .into_iter()
            .filter_map(Pass::from_name)
            .fold(PassManager::new(), PassManager::with)
    }

    /// Adds a pass at the end.
    #[must_use]
    pub fn with(mut self, pass: &'static Pass) -> PassManager {
        self.passes.push(pass);
        self
    }

    /// The passes in order.
    pub fn passes(&self) -> &[&'static Pass] {
        &self.passes
    }

    /// Runs the passes; whether any changed the graph. Debug builds verify the graph as given and after each pass.
    ///
    /// # Errors
    /// A graph that does not verify.
    pub fn run(&self, module: &mut GraphModule) -> Result<bool, PassError> {
        check(module, None)?;
        let mut changed = false;
        for pass in &self.passes {
            changed |= (pass.run)(module);
            check(module, Some(pass.name))?;
        }
        for region in &mut module.regions {
            changed |= self.run(region)?;
        }
        Ok(changed)
    }
}

fn check(module: &GraphModule, pass: Option<&'static str>) -> Result<(), PassError> {
    if cfg!(debug_assertions) {
        verify(module).map_err(|errors| PassError { pass, errors })?;
    }
    Ok(())
}
