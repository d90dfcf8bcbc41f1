//! Rust names from case ids: stable, and unique in a module.

use std::collections::BTreeSet;

/// Names that are taken.
#[derive(Default)]
pub struct Names(BTreeSet<String>);

impl Names {
    /// `case_neg_f32` from `neg.f32`. The prefix keeps keywords and the macros of std away.
    pub fn function(&mut self, id: &str) -> String {
        self.unique(format!("case_{}", identifier(id)))
    }

    /// A module name from a family.
    pub fn module(&mut self, family: &str) -> String {
        let name = identifier(family);
        let plain = syn::parse_str::<syn::Ident>(&name).is_ok();
        self.unique(if plain { name } else { format!("family_{name}") })
    }

    fn unique(&mut self, base: String) -> String {
        let mut name = base.clone();
        let mut n = 2;
        while !self.0.insert(name.clone()) {
            name = format!("{base}_{n}");
            n += 1;
        }
        name
    }
}

/// Lower case, `-` spelled out, everything else that no identifier has as `_`.
fn identifier(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            'a'..='z' | '0'..='9' | '_' => out.push(c),
            'A'..='Z' => out.push(c.to_ascii_lowercase()),
            '-' => out.push_str("minus_"),
            _ => out.push('_'),
        }
    }
    out
}
