//! `Lists`: the cases that a runner excuses. They may only shrink.

use crate::Runner;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The most cases whose groups may split when a bound predicate fails.
pub const MAX_PREDICATES: usize = 10;

/// The most cases that a runner may ignore beside those that capture refuses. Lower it with the list; never raise it.
const fn max_ignored(runner: Runner) -> usize {
    match runner {
        Runner::Eager | Runner::Compiled | Runner::Tile => 0,
    }
}

/// The cases that a runner excuses, with the reason.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lists {
    ignored: BTreeMap<String, String>,
    predicates: BTreeMap<String, String>,
}

impl Lists {
    /// Reads `ignore/<runner>.txt` and `predicates.txt` in the crate's folder. `known` are all cases, if the vectors are the crate's own.
    ///
    /// # Errors
    /// A list is too long, not written as one, or names a case that does not exist.
    pub fn read(folder: &Path, runner: Runner, known: Option<&BTreeSet<&str>>) -> Result<Lists, String> {
        let read = |path: PathBuf, max: usize| {
            let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            parse(&text, max, known).map_err(|e| format!("{}: {e}", path.display()))
        };
        Ok(Lists {
            ignored: read(
                folder.join("ignore").join(format!("{runner}.txt")),
                max_ignored(runner),
            )?,
            predicates: read(folder.join("predicates.txt"), MAX_PREDICATES)?,
        })
    }

    /// Why the runner ignores a case.
    pub fn ignored(&self, id: &str) -> Option<&str> {
        self.ignored.get(id).map(String::as_str)
    }

    /// Whether groups of a case may split.
    pub fn splits(&self, id: &str) -> bool {
        self.predicates.contains_key(id)
    }
}

/// Lines of an id and a reason; `#` starts a comment.
fn parse(text: &str, max: usize, known: Option<&BTreeSet<&str>>) -> Result<BTreeMap<String, String>, String> {
    let mut list = BTreeMap::new();
    for (n, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let n = n + 1;
        let (id, reason) = line
            .split_once(char::is_whitespace)
            .ok_or_else(|| format!("line {n}: `{line}` has no reason; write `<case> <why>`"))?;
        if known.is_some_and(|k| !k.contains(id)) {
            return Err(format!("line {n}: there is no case `{id}`"));
        }
        if list.insert(id.to_string(), reason.trim().to_string()).is_some() {
            return Err(format!("line {n}: `{id}` is listed twice"));
        }
    }
    if list.len() > max {
        return Err(format!(
            "{} cases, at most {max} are allowed; the list may only shrink",
            list.len()
        ));
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_ids_with_reasons() {
        let known = BTreeSet::from(["a.b", "c"]);
        let list = parse("# why\n\na.b  is not built\n c for a reason\n", 2, Some(&known)).unwrap();
        assert_eq!(list["a.b"], "is not built");
        assert_eq!(list["c"], "for a reason");
    }

    #[test]
    fn bad_lists_are_refused() {
        let known = BTreeSet::from(["a"]);
        let error = |text: &str, max| parse(text, max, Some(&known)).unwrap_err();
        assert!(error("a", 9).contains("no reason"));
        assert!(error("b why", 9).contains("no case `b`"));
        assert!(error("a why\na why", 9).contains("twice"));
        assert!(error("a why", 0).contains("only shrink"));
        assert!(parse("b why", 9, None).is_ok());
    }
}
