//! Start-up: what costs a process once is paid by its first tensor, not by its first call.
//!
//! Asking a virtual machine for CPU features and cache sizes takes up to a millisecond, and code that was never run
//! is paged in piece by piece. So the first tensor reads the CPU, and binds and runs one small graph.

use crate::kernels::{gemm, tier};
use crate::plan::bind::{Kernels, Meta, bind};
use crate::plan::link::Strips;
use crate::{DType, Tensor};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use tensorplay_graph::{Arg, Builder, Op};
use tensorplay_stax::blob::Paths;

/// Runs once a process, in the thread that makes the first tensor.
#[cold]
pub(crate) fn once() {
    static DONE: AtomicBool = AtomicBool::new(false);
    if !DONE.swap(true, Relaxed) {
        tier::isa();
        gemm::warm_up();
        let _ = small_graph();
    }
}

/// `linear(x, w, b).gelu()` at the size of a small layer, by way of a blob: the pages that a first call needs of the
/// allocator, the arena and the packing buffers are then this thread's.
fn small_graph() -> Option<()> {
    let mut b = Builder::new("start");
    let inputs = ["x", "w", "b"].map(|name| b.input(name, None));
    let y = b.call(Op::Linear, inputs.map(Arg::Value).to_vec()).ok()?;
    let y = b.call(Op::Gelu, vec![y.into()]).ok()?;
    b.module.graph.outputs.push(y);
    let paths = Paths(vec![tensorplay_stax::analyse(&b.module).ok()?]);
    let paths = Paths::decode(&paths.encode()).ok()?;
    let blob = paths.0.first()?;
    let x = Tensor::try_zeros((64, 128), DType::F32).ok()?;
    let w = Tensor::try_zeros((128, 128), DType::F32).ok()?;
    let bias = Tensor::try_zeros(128, DType::F32).ok()?;
    let tensors = [&x, &w, &bias];
    let plan = bind(
        blob,
        &Strips::One(&[]),
        &tensors.map(Meta::of),
        &[],
        Some(&[]),
        Kernels::Tile,
    )
    .ok()?;
    plan.run(&tensors, &[]).ok().map(drop)
}
