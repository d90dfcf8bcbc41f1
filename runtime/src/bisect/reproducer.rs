//! The reproducer: a graph and its inputs as files.

use super::Culprit;
use crate::{Result, Tensor, safetensors};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use tensorplay_graph::GraphModule;

const FOLDER: &str = "TENSORPLAY_BISECT_DIR";

/// Writes the files into a folder of their own, below `TENSORPLAY_BISECT_DIR` or the folder for temporary files. Without
/// them the culprit is as good.
pub(super) fn write(culprit: &Culprit, graph: &GraphModule, inputs: &[Tensor]) -> Option<PathBuf> {
    match try_write(culprit, graph, inputs) {
        Ok(path) => Some(path),
        Err(e) => {
            log::warn!("the reproducer of `{}` cannot be written: {e}", culprit.function);
            None
        }
    }
}

fn try_write(culprit: &Culprit, graph: &GraphModule, inputs: &[Tensor]) -> Result<PathBuf> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let root = std::env::var_os(FOLDER).map_or_else(std::env::temp_dir, PathBuf::from);
    let name = format!(
        "tensorplay-bisect-{}-{}",
        std::process::id(),
        NEXT.fetch_add(1, Relaxed)
    );
    let folder = root.join(name);
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("graph.txt"), graph.to_string())?;
    let named = inputs.iter().enumerate();
    let map: HashMap<String, Tensor> = named.map(|(i, t)| (format!("{i:03}"), t.snapshot())).collect();
    safetensors::save(folder.join("inputs.safetensors"), &map)?;
    let how = format!(
        "{culprit}\n\n\
         graph.txt is the graph as it was written; inputs.safetensors has its inputs by number.\n\
         let graph: tensorplay::graph::GraphModule = std::fs::read_to_string(\"graph.txt\")?.parse()?;\n\
         let want = graph.run(&inputs)?;\n\
         let backend = tensorplay::compiler::lookup_backend({:?})?;\n",
        culprit.backend
    );
    std::fs::write(folder.join("README.txt"), how)?;
    Ok(folder)
}
