//! `Shared`: the steps that are alike in the runners `compiled` and `tile`, carried from one process to the other in a file.

use crate::Moved;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Contractions, `copy` and `op` steps of a call.
type Steps = [u64; 3];

/// The steps of every case that passed under `compiled`.
#[derive(Debug, Default)]
pub struct Shared {
    file: Option<PathBuf>,
    cases: Mutex<BTreeMap<String, Steps>>,
}

fn steps(moved: &Moved) -> Steps {
    [moved.contractions, moved.copies, moved.ops]
}

impl Shared {
    /// For the runner that writes the file. Without a file nothing is carried.
    pub fn empty(file: Option<PathBuf>) -> Shared {
        Shared {
            file,
            cases: Mutex::default(),
        }
    }

    /// For the runner that reads it.
    ///
    /// # Errors
    /// The file is not what [`write`](Shared::write) writes.
    pub fn read(file: Option<PathBuf>) -> Result<Shared, String> {
        let Some(path) = &file else {
            return Ok(Shared::empty(None));
        };
        let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let cases = text
            .lines()
            .map(|l| parse(l).ok_or_else(|| format!("{}: `{l}` is no case", path.display())));
        Ok(Shared {
            cases: Mutex::new(cases.collect::<Result<_, _>>()?),
            file,
        })
    }

    /// Writes the file.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self) -> Result<(), String> {
        let Some(path) = &self.file else { return Ok(()) };
        let mut text = String::new();
        for (id, [contractions, copies, ops]) in &*self.cases.lock().unwrap_or_else(PoisonError::into_inner) {
            // writing to a String does not fail
            let _ = writeln!(text, "{id} {contractions} {copies} {ops}");
        }
        fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
    }

    /// Notes a case.
    pub fn note(&self, id: &str, moved: &Moved) {
        self.cases
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(id.into(), steps(moved));
    }

    /// Compares a case with what was noted, if it was.
    ///
    /// # Errors
    /// The steps differ.
    pub fn compare(&self, id: &str, moved: &Moved) -> Result<(), String> {
        let cases = self.cases.lock().unwrap_or_else(PoisonError::into_inner);
        match cases.get(id) {
            Some(noted) if *noted != steps(moved) => Err(format!(
                "contractions, copies, ops are {:?}, and {noted:?} on emitted kernels",
                steps(moved)
            )),
            _ => Ok(()),
        }
    }
}

fn parse(line: &str) -> Option<(String, Steps)> {
    let mut words = line.split(' ');
    let id = words.next()?.to_string();
    let mut number = || words.next()?.parse().ok();
    Some((id, [number()?, number()?, number()?]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_that_differ_are_reported() {
        let moved = Moved {
            contractions: 1,
            copies: 2,
            ..Moved::default()
        };
        let shared = Shared::empty(None);
        shared.note("a", &moved);
        assert_eq!(shared.compare("a", &moved), Ok(()));
        assert_eq!(shared.compare("b", &Moved::default()), Ok(()));
        assert!(
            shared
                .compare("a", &Moved { copies: 3, ..moved })
                .unwrap_err()
                .contains("[1, 3, 0]")
        );
        assert_eq!(parse("a 1 2 0"), Some(("a".into(), [1, 2, 0])));
        assert_eq!(parse("a 1 2"), None);
    }
}
