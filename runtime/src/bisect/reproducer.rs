//! The reproducer: a graph and its inputs as files.

use super::Culprit;
use crate::{Result, Tensor, safetensors};
use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use tensorplay_graph::GraphModule;

const FOLDER: &str = "TENSORPLAY_BISECT_DIR";

/// Writes the files into a folder of their own, below `TENSORPLAY_BISECT_DIR` or the folder for temporary files. Without
/// them the culprit is as good.
pub(super) fn write(culprit: &Culprit, graph: &GraphModule, inputs: &[Tensor]) -> Option<PathBuf> {
    match try_write(culprit, graph, inputs) {
        Ok(path) => Some(path),
        Err(e) => {
            crate::ladder::warn(format!(
                "the reproducer of `{}` cannot be written: {e}",
                culprit.function
            ));
            None
        }
    }
}

fn try_write(culprit: &Culprit, graph: &GraphModule, inputs: &[Tensor]) -> Result<PathBuf> {
    let root = std::env::var_os(FOLDER).map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = new_folder(&root)?;
    std::fs::write(folder.join("graph.txt"), graph.to_string())?;
    let named = inputs.iter().enumerate();
    let map: HashMap<String, Tensor> = named.map(|(i, t)| (format!("{i:03}"), t.snapshot())).collect();
    safetensors::save(folder.join("inputs.safetensors"), &map)?;
    std::fs::write(folder.join("README.txt"), format!("{culprit}\n\n{FILES}\n"))?;
    let program = format!(
        "{RESULTS}\nfn main() -> Result<()> {{\n    \
         let [got, want] = results({:?}, {:?})?;\n    \
         println!(\"compiled: {{got:?}}\\noperation by operation: {{want:?}}\");\n    \
         Ok(())\n}}\n",
        folder.to_string_lossy(),
        culprit.backend
    );
    std::fs::write(folder.join("main.rs"), program)?;
    Ok(folder)
}

const FILES: &str = "\
graph.txt is the graph as it was written, inputs.safetensors has its inputs by number, and main.rs is a program that runs both
ways; a backend that is neither built in nor submitted by a linked crate has to be registered in it first.";

/// Compiled by the tests of `bisect`.
const RESULTS: &str = include_str!("results.in.rs");

/// A folder that was not there.
fn new_folder(root: &Path) -> Result<PathBuf> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    std::fs::create_dir_all(root)?;
    loop {
        let n = NEXT.fetch_add(1, Relaxed);
        let folder = root.join(format!("tensorplay-bisect-{}-{n}", std::process::id()));
        match std::fs::create_dir(&folder) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            made => return made.map(|()| folder).map_err(Into::into),
        }
    }
}
