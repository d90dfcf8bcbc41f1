//! `self_test`: what a compiled function gives, against its operations one by one.
//!
//! Problem: a user wants to know that a function means on their machine what its source says. Method: each path is called
//! with inputs that its specs describe, until the call takes the path, and the results are compared with those of the graph
//! as it was written. Invariants: the inputs are the same in every run; no random numbers of the process are drawn.

use super::foreign::as_tensor;
use super::function::{Function, HostArg};
use super::state::State;
use crate::bisect::{self, Tolerance};
use crate::graph_api::Run;
use crate::plan::bind::Meta;
use crate::plan::link::{INLINE, link};
use crate::{DType, Result, Tensor, random};
use smallvec::SmallVec;
use tensorplay_graph::{Dim, GraphModule, Host, HostType, Symbol, TensorType};

/// Sizes of named dims, each name's its own.
const SIZES: [usize; 6] = [3, 5, 7, 2, 11, 13];
/// How often a path is tried, with other sizes and numbers each time.
const ROUNDS: usize = 2 * SIZES.len();
/// Elements of an input, at most.
const LARGEST: usize = 1 << 20;

/// Compares a compiled function with its operations.
#[track_caller]
pub fn self_test(f: &'static Function) {
    if let Err(message) = test(f) {
        panic!("self_test: `{}`: {message}", f.path());
    }
}

fn test(f: &'static Function) -> std::result::Result<(), String> {
    if !f.breaks.is_empty() {
        return Err("it has graph breaks; write `fullgraph` on it to see them".into());
    }
    let state = f.state().map_err(|e| e.to_string())?;
    let source = state.source().map_err(|e| e.to_string())?;
    let (mut reached, mut last) = (0, String::new());
    for (path, blob) in state.paths.iter().enumerate() {
        let written = blob.source().map_err(|e| e.to_string())?;
        let before = reached;
        for round in 0..ROUNDS {
            let Some(call) = Call::make(state, &written, round)? else {
                continue;
            };
            let metas: Vec<Meta> = call.tensors.iter().map(Meta::of).collect();
            let mut space = SmallVec::new();
            let (scalars, _) = state.scalars(&call.scalars, &mut space);
            let linked = match link(source, &metas, scalars, INLINE) {
                Ok(linked) => linked,
                Err(e) => {
                    last = format!(": {e}");
                    continue;
                }
            };
            if linked.path == path {
                reached += 1;
                call.compare(f, &linked.blob.module, scalars)?;
                call.compare_groups(f)?;
                break;
            }
        }
        if reached == before {
            let guards = state.guards(path).source();
            eprintln!(
                "self_test: `{}`: no call was found that takes the path where {guards}",
                f.path()
            );
        }
    }
    match reached {
        0 => Err(format!(
            "no call with tensors of its specs takes a path of it{last}"
        )),
        _ => Ok(()),
    }
}

struct Call {
    tensors: Vec<Tensor>,
    scalars: Vec<HostArg>,
}

impl Call {
    /// A call that the specs of a path allow, unless it is too large.
    fn make(state: &State, path: &GraphModule, round: usize) -> std::result::Result<Option<Call>, String> {
        if let Some(a) = path.aggregates.first() {
            return Err(format!(
                "`{}` is a struct or a list, whose parts have no specs; put `self_test` on a function that takes them as \
                 parameters",
                a.name
            ));
        }
        let mut random = 0x9e37_79b9_7f4a_7c15_u64.wrapping_add(round as u64);
        let mut tensors = Vec::new();
        for (i, id) in path.graph.inputs.iter().enumerate() {
            let name = &path.graph.node(*id).name;
            // of an `Option`, only the paths where it is there say what it is
            let paths = std::iter::once(path).chain(state.paths.iter().map(|b| &b.module));
            let spec = paths.filter_map(|p| p.specs.get(i)?.as_ref()).next();
            let Some((spec, dims)) = spec.and_then(|s| Some((s, s.shape.as_ref()?))) else {
                return Err(format!(
                    "`{name}` has no shape to test with; write its spec, as in spec({name} = f32[B, 784])"
                ));
            };
            let sizes: Vec<usize> = dims.iter().map(|d| size(*d, &path.symbols, round)).collect();
            if sizes
                .iter()
                .try_fold(1, |n: usize, d| n.checked_mul(*d))
                .is_none_or(|n| n > LARGEST)
            {
                return Ok(None);
            }
            let t = tensor(spec, &sizes, &mut random).map_err(|e| e.to_string())?;
            tensors.push(if path.updates.contains(&(i as u32)) {
                t.variable()
            } else {
                t
            });
        }
        let own = path.scalars.iter().filter(|s| s.source.is_none());
        let own = own
            .take(path.scalars.len() - state.declared.consts.len())
            .enumerate();
        let mut scalars: Vec<HostArg> = own.map(|(k, s)| HostArg::of(number(s.ty, k, round))).collect();
        if state.function.settings.isolated {
            scalars.push(HostArg::from(0usize));
        }
        Ok(Some(Call { tensors, scalars }))
    }

    /// Each fused group against its operations.
    fn compare_groups(&self, f: &'static Function) -> std::result::Result<(), String> {
        let half = self.tensors.iter().any(|t| t.dtype().is_half());
        let tolerance = match half {
            true => Tolerance {
                rtol: 5e-2,
                atol: 5e-2,
            },
            false => Tolerance {
                rtol: 1e-4,
                atol: 1e-4,
            },
        };
        match bisect::groups(f, &self.tensors, &self.scalars, tolerance) {
            Ok(None) => Ok(()),
            Ok(Some(culprit)) => Err(culprit.to_string()),
            Err(e) => Err(e.to_string()),
        }
    }

    fn compare(
        &self,
        f: &'static Function,
        graph: &GraphModule,
        scalars: &[Host],
    ) -> std::result::Result<(), String> {
        let inputs = self.tensors.iter().map(Tensor::snapshot);
        let numbers = graph.scalars.iter().zip(scalars);
        let numbers = numbers.map(|(s, h)| as_tensor(s.ty, *h));
        let inputs: Vec<Tensor> = inputs.chain(numbers).collect();
        // both draw the same random numbers
        let start = random::state();
        let expected = random::drawing_from(start, || graph.run(&inputs));
        // what the call assigns is then unshared, as where a user gives it away
        drop(inputs);
        let tensors: Vec<&Tensor> = self.tensors.iter().collect();
        let compiled = random::drawing_from(start, || f.call(&tensors, &self.scalars));
        let (expected, mut outputs) = match (expected, compiled) {
            (Ok(expected), Some(Ok(outputs))) => (expected, outputs),
            (Err(_), Some(Err(_))) => return Ok(()),
            (Err(e), _) => return Err(format!("its operations fail, compiled it does not: {e}")),
            (Ok(_), Some(Err(e))) => return Err(e.to_string()),
            (Ok(_), None) => return Err("compiled functions are switched off on this thread".into()),
        };
        let returned = graph.returned();
        let updated = returned..returned + graph.updates.len();
        for (i, expected) in expected.iter().enumerate() {
            let got = match updated.contains(&i) {
                true => self.tensors[graph.updates[i - returned] as usize].snapshot(),
                false => outputs.tensor(),
            };
            if let Some(problem) = differ(&got, expected).map_err(|e| e.to_string())? {
                let inputs: Vec<String> = tensors
                    .iter()
                    .map(|t| format!("{}", TensorType::known(t.dtype(), t.shape()).display(&[])))
                    .collect();
                return Err(format!(
                    "result {i} of a call with {}: {problem}",
                    inputs.join(", ")
                ));
            }
        }
        Ok(())
    }
}

/// How two results differ, if they do by more than rounding explains.
fn differ(got: &Tensor, expected: &Tensor) -> Result<Option<String>> {
    let types = [got, expected].map(|t| TensorType::known(t.dtype(), t.shape()));
    if types[0] != types[1] {
        let [a, b] = types.each_ref().map(|t| t.display(&[]).to_string());
        return Ok(Some(format!("it is {a}, its operations give {b}")));
    }
    let tolerance = match got.dtype() {
        DType::F64 => 1e-9,
        DType::F32 => 1e-4,
        DType::F16 => 1e-2,
        DType::BF16 => 5e-2,
        _ => 0.0,
    };
    let [a, b] = [got, expected].map(|t| t.try_to_dtype(DType::F64).map(|t| t.to_vec::<f64>()));
    let (a, b) = (a?, b?);
    let close =
        |a: f64, b: f64| a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= tolerance * (1.0 + b.abs());
    let at = a.iter().zip(&b).position(|(a, b)| !close(*a, *b));
    Ok(at.map(|i| format!("element {i} is {}, its operations give {}", a[i], b[i])))
}

fn size(dim: Dim, symbols: &[Symbol], round: usize) -> usize {
    let scale = if round < SIZES.len() { 1 } else { 16 };
    match dim {
        Dim::Known(n) => n,
        Dim::Unknown => 4 * scale,
        Dim::Symbol(s) => {
            let n = SIZES[(s as usize + round) % SIZES.len()] * scale;
            symbols
                .get(s as usize)
                .map_or(n, |s| n.max(s.lo).min(s.hi.unwrap_or(n.max(s.lo))))
        }
    }
}

/// Floats around 0, integers from 0 to 2, either bool.
fn tensor(spec: &TensorType, sizes: &[usize], random: &mut u64) -> Result<Tensor> {
    let dtype = spec.dtype.unwrap_or(DType::F32);
    let mut next = || {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        let unit = (*random >> 40) as f32 / (1u32 << 24) as f32;
        match dtype {
            _ if dtype.is_float() => 2.0 * unit - 1.0,
            DType::Bool => (2.0 * unit).floor(),
            _ => (3.0 * unit).floor(),
        }
    };
    let values: Vec<f32> = (0..sizes.iter().product()).map(|_| next()).collect();
    Tensor::from_vec(values, sizes).try_to_dtype(dtype)
}

/// The number of an argument.
fn number(ty: HostType, place: usize, round: usize) -> Host {
    match ty {
        HostType::Bool => Host::Bool((round >> (place % 3)) & 1 == 0),
        HostType::DType => Host::DType(DType::F32),
        HostType::F32 | HostType::F64 | HostType::FloatLiteral => Host::Float(0.5 + round as f64),
        _ => Host::Int(((1 + place + round) % 4) as i64),
    }
}
