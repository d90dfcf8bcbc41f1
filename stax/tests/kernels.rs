//! Text tests: `kernels/*.tpg` hold a graph and, below `---`, its units, kernel IR and emitted strips.
//! `TENSORPLAY_BLESS=1` rewrites what is below the line. The first line of a file may be `dtypes: f32 f16`, or `fast_math`.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use tensorplay_graph::{DType, GraphModule};
use tensorplay_stax::blob::Paths;
use tensorplay_stax::kernel::Space;
use tensorplay_stax::lower::lower;
use tensorplay_stax::schedule::schedule;
use tensorplay_stax::typing::Typing;
use tensorplay_stax::{CompileOptions, compile, emit};

fn render(text: &str) -> String {
    let (fast_math, text) = match text.strip_prefix("fast_math\n") {
        Some(graph) => (true, graph),
        None => (false, text),
    };
    let (mut options, graph) = match text.strip_prefix("dtypes:") {
        Some(rest) => {
            let (names, graph) = rest.split_once('\n').unwrap_or((rest, ""));
            let dtypes: Vec<DType> = names.split_whitespace().map(|n| n.parse().unwrap()).collect();
            let options = CompileOptions {
                dtypes,
                ..CompileOptions::default()
            };
            (options, graph)
        }
        None => (CompileOptions::default(), text),
    };
    options.fast_math = fast_math;
    let module: GraphModule = graph.parse().unwrap_or_else(|e| panic!("{graph}{e}"));
    let compiled = match compile(std::slice::from_ref(&module), &options) {
        Ok(compiled) => compiled,
        Err(e) => return format!("{e}\n"),
    };
    let blob = &Paths::decode(&compiled.blob).unwrap().0[0];
    let mut out = String::new();
    for unit in &blob.schedule.units {
        let ops: Vec<&str> = unit
            .members
            .iter()
            .map(|m| blob.module.graph.node(m.node).op_name())
            .collect();
        let _ = writeln!(out, "{:?}: {}", unit.kind, ops.join(" "));
    }
    for instance in &blob.instances {
        for (lowered, _) in instance.kernels.iter().flatten() {
            let _ = write!(out, "\n{}", emit::tile::kernel(&lowered.kernel));
        }
    }
    let _ = write!(out, "\n{}", compiled.strips);
    out
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|f| f.unwrap().path())
        .collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "tpg"));
    files.sort();
    files
}

#[test]
fn kernels_are_the_ones_on_file() {
    let bless = std::env::var_os("TENSORPLAY_BLESS").is_some();
    let files = files();
    assert!(files.len() >= 10, "the files are missing");
    let mut wrong = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let (graph, expected) = text.split_once("---\n").unwrap_or((&text, ""));
        let got = render(graph);
        if bless {
            std::fs::write(&path, format!("{graph}---\n{got}")).unwrap();
        } else if got != expected {
            wrong.push(format!("{}\nexpected:\n{expected}\ngot:\n{got}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_same_graph_gives_the_same_bytes() {
    for path in files() {
        let text = std::fs::read_to_string(&path).unwrap();
        let graph = text.split_once("---\n").map_or(&text[..], |(g, _)| g);
        if let Ok(module) = graph.trim_start_matches(|c| c != 'g').parse::<GraphModule>() {
            let (a, b) = (
                compile(std::slice::from_ref(&module), &CompileOptions::default()),
                compile(std::slice::from_ref(&module), &CompileOptions::default()),
            );
            if let (Ok(a), Ok(b)) = (a, b) {
                assert_eq!((a.blob, a.strips), (b.blob, b.strips), "{}", path.display());
            }
        }
    }
}

#[test]
fn a_unit_of_two_spaces_is_an_error() {
    let module: GraphModule = "graph f(x: f32[3]) {
        %1 = exp(%0)
        %2 = sum_all(%1)
        %3 = sub(%1, %2)
        return %3
    }"
    .parse()
    .unwrap();
    let typing = Typing::infer(&module, &[DType::F32], &[]).unwrap();
    let mut schedule = schedule(&module.graph);
    let unit = &mut schedule.units[0];
    assert_eq!(unit.members.len(), 3);
    assert!(lower(&module, &typing, unit, &|_| false).is_ok());
    unit.members[2].space = Space::Row;
    let error = lower(&module, &typing, unit, &|_| false).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`sub` is a row value and follows from element values"
    );
    unit.members.remove(2);
    let error = lower(&module, &typing, unit, &|_| false).unwrap_err();
    assert_eq!(error.to_string(), "`sub` is not computed in it");
}
