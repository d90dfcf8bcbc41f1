//! Names that no other node has.

use std::collections::{HashMap, HashSet};

/// Every name of a session, those of erased nodes too.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    taken: HashSet<String>,
    /// For each stem the next suffix to try.
    next: HashMap<String, u32>,
}

impl Names {
    pub(super) fn new<'a>(names: impl Iterator<Item = &'a str>) -> Names {
        Names {
            taken: names.filter(|n| !n.is_empty()).map(str::to_string).collect(),
            next: HashMap::new(),
        }
    }

    /// The stem as an identifier, with a number behind it where the name is taken.
    pub(super) fn take(&mut self, stem: &str) -> String {
        let mut name: String = stem
            .chars()
            .map(|c| if c.is_alphanumeric() { c } else { '_' })
            .collect();
        if name.is_empty() || name.starts_with(|c: char| c.is_numeric()) {
            name.insert(0, '_');
        }
        if self.taken.insert(name.clone()) {
            return name;
        }
        let next = self.next.entry(name.clone()).or_default();
        loop {
            let numbered = format!("{name}_{next}");
            *next += 1;
            if self.taken.insert(numbered.clone()) {
                return numbered;
            }
        }
    }
}
