use tensorplay::compiler::{CompileOptions, Example, lookup_backend};
use tensorplay::graph::GraphModule;
use tensorplay::{Result, prelude::*, safetensors};

/// What a backend makes of the graph in a folder, and what its operations give one by one.
pub fn results(folder: &str, backend: &str) -> Result<[Vec<Tensor>; 2]> {
    let graph: GraphModule = std::fs::read_to_string(format!("{folder}/graph.txt"))?.parse()?;
    let inputs = safetensors::load(format!("{folder}/inputs.safetensors"))?;
    let inputs: Vec<Tensor> = (0..inputs.len())
        .map(|i| inputs[&format!("{i:03}")].clone())
        .collect();
    let examples: Vec<Example> = inputs.iter().map(Example::of).collect();
    let compiled = lookup_backend(backend)?.compile(&graph, &examples, &CompileOptions::default())?;
    Ok([compiled.run(&inputs)?, graph.run(&inputs)?])
}
