//! Light fuzzing of the parser and all that follows it.
//!
//! 1. Every input and output of the file tests is a seed.
//! 2. Seeds are mutated: bytes changed, removed, repeated, spliced from another seed; tokens swapped.
//! 3. `parse` must not panic. A graph that parses must print, parse again and print the same.
//! 4. A graph that verifies must go through every pass, and still verify.

use std::fs;
use std::path::Path;
use tensorplay_graph::passes::{PASSES, PassManager};
use tensorplay_graph::{Op, text::parse, verify};

struct Rng(u64);

impl Rng {
    fn next(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }
}

fn seeds(dir: &Path, out: &mut Vec<String>) {
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            seeds(&path, out);
        } else if path.extension().is_some_and(|e| e == "tpg") {
            let content = fs::read_to_string(&path).unwrap();
            out.extend(content.split("---\n").skip(1).map(str::to_string));
        }
    }
}

const WORDS: &[&str] = &[
    "%0",
    "%1.1",
    "%99",
    "$0",
    "$7",
    "?0",
    "graph",
    "return",
    "symbols",
    "none",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    "..",
    "..=",
    "->",
    ":",
    "=",
    ",",
    "@1:2",
    "\"",
    "\\u{",
    "-",
    "-1",
    "9223372036854775807",
    "1e400",
    "inf",
    "nan",
    "f32",
    "f32[..]",
    "dim(%0, 0)",
    "usize(",
    "%",
    "&&",
    "é",
    "chunk(%0, 1, 0)",
    "zeros([9223372036854775807, 9223372036854775807], f32)",
    "_[",
    "\n",
    "//",
    "0",
    "split(%0, 1, 0)",
];

fn mutate(rng: &mut Rng, seeds: &[String]) -> String {
    let seed = &seeds[rng.next(seeds.len())];
    if rng.next(3) > 0 {
        return swap_words(rng, seed);
    }
    let mut bytes = seed.clone().into_bytes();
    for _ in 0..=rng.next(4) {
        let at = rng.next(bytes.len() + 1);
        let len = rng.next(12).min(bytes.len() - at);
        match rng.next(6) {
            0 => {
                bytes.drain(at..at + len);
            }
            1 => {
                let part = bytes[at..at + len].to_vec();
                let to = rng.next(bytes.len() + 1);
                bytes.splice(to..to, part);
            }
            2 => {
                let other = seeds[rng.next(seeds.len())].as_bytes();
                let from = rng.next(other.len() + 1);
                let part = &other[from..(from + rng.next(60)).min(other.len())];
                bytes.splice(at..at + len, part.iter().copied());
            }
            3 => {
                let word = WORDS[rng.next(WORDS.len())].as_bytes();
                bytes.splice(at..at + len.min(3), word.iter().copied());
            }
            4 if at < bytes.len() => bytes[at] = rng.next(256) as u8,
            _ => {
                let word = WORDS[rng.next(WORDS.len())].as_bytes();
                bytes.splice(at..at, word.iter().copied());
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Puts words of the text in the places of others: other operations, values, sizes, types.
fn swap_words(rng: &mut Rng, seed: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '%' | '.' | '$');
    let mut words: Vec<String> = Vec::new();
    for c in seed.chars() {
        match words.last_mut() {
            Some(w) if is_word(c) && w.ends_with(is_word) => w.push(c),
            _ => words.push(c.to_string()),
        }
    }
    let places: Vec<usize> = (0..words.len())
        .filter(|&i| words[i].starts_with(is_word))
        .collect();
    for _ in 0..=rng.next(3) {
        if places.is_empty() {
            break;
        }
        let (to, from) = (places[rng.next(places.len())], places[rng.next(places.len())]);
        words[to] = match rng.next(4) {
            0 => Op::ALL[rng.next(Op::ALL.len())].to_string(),
            1 => WORDS[rng.next(WORDS.len())].to_string(),
            2 => (rng.next(9) as i64 - 2).to_string(),
            _ => words[from].clone(),
        };
    }
    words.concat()
}

#[test]
fn no_text_breaks_the_parser_or_the_passes() {
    let mut all = Vec::new();
    seeds(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests"), &mut all);
    assert!(all.len() > 100);
    let mut rng = Rng(0x0123_4567_89AB_CDEF);
    let rounds = std::env::var("TENSORPLAY_FUZZ")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(10_000);
    let (mut parsed, mut verified) = (0, 0);
    for _ in 0..rounds {
        let text = mutate(&mut rng, &all);
        let Ok(mut module) = parse(&text) else { continue };
        parsed += 1;
        let once = module.to_string();
        let again = parse(&once).unwrap_or_else(|e| panic!("{e}\n{once}\nfrom\n{text}"));
        assert_eq!(once, again.to_string(), "from\n{text}");
        if verify(&module).is_err() {
            continue;
        }
        verified += 1;
        let standard = PassManager::standard();
        // better types may break a rule, which the verifier reports
        if standard.run(&mut module).is_ok() {
            let after = module.to_string();
            assert!(
                !standard.run(&mut module).unwrap(),
                "a second run changes\n{after}\nto\n{module}"
            );
            for pass in PASSES {
                (pass.run)(&mut module);
                if let Err(e) = verify(&module) {
                    panic!("{} breaks\n{after}\n{module}\n{e:?}", pass.name);
                }
            }
        }
    }
    println!("{rounds} texts, {parsed} parsed, {verified} verified");
    assert!(verified > rounds / 100);
}

#[test]
fn deep_nesting_is_an_error() {
    for (open, close) in [
        ("(", ")"),
        ("neg(", ")"),
        ("[", "]"),
        ("1 + ", ""),
        ("1 - (", ")"),
    ] {
        let text = format!(
            "graph f(x) {{ %1 = add(%0, {}1{}) : _[..] return %1 }}",
            open.repeat(100_000),
            close.repeat(100_000)
        );
        let e = parse(&text).unwrap_err();
        assert!(e.to_string().contains("levels deep"), "{open}: {e}");
    }
}
