//! `Program`: a graph that was made at run time, on the tile VM.

use super::parted;
use crate::backend::CompileOptions;
use crate::config;
use crate::dispatch::how;
use crate::plan::Plan;
use crate::plan::bind::{How, Kernels, Meta, bind, check_written};
use crate::plan::link::Strips;
use crate::sync::lock;
use crate::{Error, Result, Tensor};
use std::sync::{Arc, Mutex};
use tensorplay_graph::{GraphModule, Host};
use tensorplay_stax::blob::Blob;

/// Plans kept; the least recently used goes first.
const KEPT: usize = 16;

/// A graph that has no kernels in the binary: fused as those of compiled functions, its groups on the tile VM.
#[derive(Debug)]
pub struct Program {
    module: GraphModule,
    blob: Blob,
    how: How,
    plans: Mutex<Vec<(PlanKey, Arc<Plan>)>>,
}

#[derive(Clone, PartialEq, Debug)]
struct PlanKey {
    metas: Vec<Meta>,
    hosts: Vec<Host>,
}

impl Program {
    /// Schedules a graph.
    ///
    /// # Errors
    /// An option that does not exist, a graph that cannot be compiled, or `strict_native`: there are no native kernels.
    pub fn new(graph: &GraphModule, options: &CompileOptions) -> Result<Program> {
        let how = how(options, &graph.name)?;
        config::checked()?;
        if options.strict_native {
            return Err(Error::NotNative {
                function: graph.name.clone(),
                reason: "a graph that was made at run time has no kernels in the binary".into(),
            });
        }
        let blob = tensorplay_stax::analyse(graph).map_err(|e| Error::GraphCapture(e.to_string()))?;
        Ok(Program {
            module: graph.clone(),
            blob,
            how: How {
                kernels: Kernels::Tile,
                ..how
            },
            plans: Mutex::default(),
        })
    }

    /// The results for `inputs`, as [`Run::run`](super::Run::run) gives them.
    ///
    /// # Errors
    /// The same.
    pub fn run(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        let (inputs, hosts) = parted(&self.module, inputs)?;
        let results = self.plan(inputs, &hosts).and_then(|plan| {
            let inputs: Vec<&Tensor> = inputs.iter().collect();
            plan.run(&inputs, &hosts)
        });
        let results = results.map_err(|e| e.located(|at| self.module.place(at)))?;
        Ok(results.into_vec())
    }

    fn plan(&self, inputs: &[Tensor], hosts: &[Host]) -> Result<Arc<Plan>> {
        let key = PlanKey {
            metas: inputs.iter().map(Meta::of).collect(),
            hosts: hosts.to_vec(),
        };
        let plans = || lock(&self.plans);
        {
            let mut plans = plans();
            if let Some(i) = plans.iter().position(|(k, _)| *k == key) {
                let found = plans.remove(i);
                let plan = found.1.clone();
                plans.push(found);
                return Ok(plan);
            }
        }
        check_written(&self.blob, &key.metas, hosts)?;
        let known: Vec<Option<Host>> = hosts.iter().copied().map(Some).collect();
        let strips = Strips::One(&[]);
        let plan = Arc::new(bind(
            &self.blob,
            &strips,
            &key.metas,
            &known,
            Some(hosts),
            self.how,
        )?);
        let mut plans = plans();
        if plans.len() >= KEPT {
            plans.remove(0);
        }
        plans.push((key, plan.clone()));
        Ok(plan)
    }
}
