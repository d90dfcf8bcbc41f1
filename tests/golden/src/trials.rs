//! The target `golden`: three processes of itself, one a runner, each with one trial a case.

use crate::shared::Shared;
use crate::{Entry, Lists, Runner, Vectors};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::collections::BTreeSet;
use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};
use std::sync::Arc;

/// Names the runner of a child process.
const RUNNER: &str = "TENSORPLAY_GOLDEN_RUNNER";
/// The file that carries what `tile` compares with `compiled`.
const STEPS: &str = "TENSORPLAY_GOLDEN_STEPS";
const KERNELS: &str = "TENSORPLAY_KERNELS";
/// The exit code of failed tests, as that of libtest.
const FAILED: u8 = 101;

/// Where everything lies.
#[derive(Clone, Copy, Debug)]
struct Places<'a> {
    /// The folder of the crate, with its lists.
    manifest: &'a Path,
    /// The folder of the vectors.
    vectors: &'a Path,
}

/// Runs the target. The vectors lie in `vectors`, the lists in `manifest`.
pub fn main(manifest: &str, vectors: &str, families: &[&'static [Entry]]) -> ExitCode {
    let args = Arguments::from_args();
    let entries: Vec<&'static Entry> = families.iter().copied().flatten().collect();
    let places = Places {
        manifest: Path::new(manifest),
        vectors: Path::new(vectors),
    };
    let Ok(name) = env::var(RUNNER) else {
        return parent(&args, entries.len());
    };
    match Runner::from_name(&name) {
        Some(runner) => {
            child(runner, &args, places, &entries).unwrap_or_else(|e| broken(runner, entries.len(), &e))
        }
        None => {
            eprintln!("{RUNNER}={name}: the runners are eager, compiled and tile");
            ExitCode::from(FAILED)
        }
    }
}

/// Starts the runners one after another; their arguments are ours.
fn parent(args: &Arguments, cases: usize) -> ExitCode {
    let steps = env::temp_dir().join(format!("tensorplay-golden-{}.txt", std::process::id()));
    let mut failed = false;
    for runner in Runner::ALL {
        if !args.list {
            println!("\nrunner {runner}");
        }
        match start(runner, &steps) {
            Ok(status) if status.success() => {}
            // it has printed its closing line
            Ok(status) if status.code() == Some(i32::from(FAILED)) => failed = true,
            Ok(status) => {
                failed = true;
                broken(runner, cases, &format!("the process ended with {status}"));
            }
            Err(e) => {
                failed = true;
                broken(runner, cases, &format!("the process did not start: {e}"));
            }
        }
    }
    // a file that was never written is no loss
    let _ = std::fs::remove_file(steps);
    if failed {
        ExitCode::from(FAILED)
    } else {
        ExitCode::SUCCESS
    }
}

fn start(runner: Runner, steps: &Path) -> io::Result<ExitStatus> {
    let mut command = Command::new(env::current_exe()?);
    command
        .args(env::args_os().skip(1))
        .env(RUNNER, runner.name())
        .env(STEPS, steps);
    match runner.kernels() {
        Some(kernels) => command.env(KERNELS, kernels),
        None => command.env_remove(KERNELS),
    };
    command.status()
}

/// One runner, in this process.
fn child(
    runner: Runner,
    args: &Arguments,
    at: Places<'_>,
    entries: &[&'static Entry],
) -> Result<ExitCode, String> {
    let vectors = Arc::new(Vectors::open(at.vectors)?);
    let ids: BTreeSet<&str> = entries.iter().map(|e| e.id()).collect();
    let own = at.vectors == at.manifest.join("vectors");
    let lists = Arc::new(Lists::read(at.manifest, runner, own.then_some(&ids))?);
    let file = env::var_os(STEPS).map(PathBuf::from);
    let shared = Arc::new(match runner {
        Runner::Tile if !args.list => Shared::read(file)?,
        Runner::Compiled => Shared::empty(file),
        _ => Shared::empty(None),
    });
    let trials = entries.iter().map(|&entry| {
        let (vectors, lists, shared) = (vectors.clone(), lists.clone(), shared.clone());
        let run = move || trial(runner, entry, &vectors, &lists, &shared);
        Trial::ignorable_test(format!("{runner}::{}", entry.id()), run)
    });
    let conclusion = libtest_mimic::run(args, trials.collect());
    if args.list {
        return Ok(ExitCode::SUCCESS);
    }
    if runner == Runner::Compiled {
        shared.write()?;
    }
    println!(
        "golden {runner}: {} passed, {} failed, {} ignored",
        conclusion.num_passed, conclusion.num_failed, conclusion.num_ignored
    );
    Ok(if conclusion.has_failed() {
        ExitCode::from(FAILED)
    } else {
        ExitCode::SUCCESS
    })
}

fn trial(
    runner: Runner,
    entry: &Entry,
    vectors: &Vectors,
    lists: &Lists,
    shared: &Shared,
) -> Result<Completion, Failed> {
    let id = entry.id();
    let list = format!("remove it from ignore/{runner}.txt");
    let case = match entry {
        Entry::Built(case) => case,
        Entry::Ignored { .. } if lists.ignored(id).is_some() => {
            return Err(format!("capture refuses this case, which ignores it already: {list}").into());
        }
        Entry::Ignored { reason, .. } => return Ok(Completion::ignored_with(reason)),
    };
    let result = runner.check(case, vectors, lists.splits(id)).and_then(|report| {
        let moved = &report.ran.moved;
        match runner {
            Runner::Compiled => shared.note(id, moved),
            Runner::Tile => shared.compare(id, moved)?,
            Runner::Eager => {}
        }
        Ok(())
    });
    match (lists.ignored(id), result) {
        (None, Ok(())) => Ok(Completion::Completed),
        (None, Err(e)) => Err(e.into()),
        (Some(reason), Err(_)) => Ok(Completion::ignored_with(reason)),
        (Some(_), Ok(())) => Err(format!("this case passes: {list}").into()),
    }
}

/// The closing line of a runner that proved nothing.
fn broken(runner: Runner, cases: usize, why: &str) -> ExitCode {
    println!("golden {runner}: {why}");
    println!("golden {runner}: 0 passed, {cases} failed, 0 ignored");
    ExitCode::from(FAILED)
}
