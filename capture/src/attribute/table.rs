//! The arguments that attributes take: a row each.

/// What an argument takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    Flag,
    Bool,
    Str,
    Backend,
    Int,
    DTypes,
    Specs,
    Paths,
    Settings,
    Names,
    Path,
}

impl Takes {
    /// In words.
    pub fn what(self) -> &'static str {
        match self {
            Takes::Flag => "no value, or a bool",
            Takes::Bool => "a bool",
            Takes::Str => "a string",
            Takes::Backend => "a string, or the path of a `static` BackendEntry",
            Takes::Int => "an integer above 0",
            Takes::DTypes => "a list of float dtypes",
            Takes::Specs => "a list of specs",
            Takes::Paths => "a list of paths",
            Takes::Settings => "a list of options",
            Takes::Names => "nothing, or a list of parameters",
            Takes::Path => "a path",
        }
    }

    /// As it is written.
    pub fn example(self, name: &str) -> String {
        match self {
            Takes::Flag => name.to_string(),
            Takes::Bool => format!("{name} = true"),
            Takes::Str if name == "mode" => "mode = \"max-autotune\"".into(),
            Takes::Str => format!("{name} = \"..\""),
            Takes::Backend => format!("{name} = \"..\", or {name} = path::to::ENTRY"),
            Takes::Int => format!("{name} = 8"),
            Takes::DTypes => format!("{name}(f32, f16)"),
            Takes::Specs => format!("{name}(x = f32[B, 784])"),
            Takes::Paths => format!("{name}(path::to::function)"),
            Takes::Settings => format!("{name}(max_autotune), or {name}(fusion = false)"),
            Takes::Names => format!("{name}, or {name}(w, b)"),
            Takes::Path => format!("{name} = path"),
        }
    }
}

/// An argument of an attribute.
#[derive(Clone, Copy)]
pub(crate) struct Argument {
    pub name: &'static str,
    pub takes: Takes,
    /// Whether it has an effect already.
    pub acts: bool,
    /// Whether it may be written several times.
    pub repeats: bool,
}

pub(crate) const fn acts(name: &'static str, takes: Takes) -> Argument {
    Argument {
        name,
        takes,
        acts: true,
        repeats: false,
    }
}

const fn later(name: &'static str, takes: Takes) -> Argument {
    Argument {
        acts: false,
        ..acts(name, takes)
    }
}

/// The arguments of `#[compile(..)]`.
pub(crate) const COMPILE: &[Argument] = &[
    acts("fullgraph", Takes::Flag),
    acts("dynamic", Takes::Bool),
    acts("backend", Takes::Backend),
    acts("mode", Takes::Str),
    acts("options", Takes::Settings),
    acts("name", Takes::Str),
    acts("disable", Takes::Flag),
    acts("recompile_limit", Takes::Int),
    acts("isolate_recompiles", Takes::Flag),
    acts("strict_native", Takes::Flag),
    acts("dynamic_shapes", Takes::Bool),
    acts("dtypes", Takes::DTypes),
    acts("inline", Takes::Paths),
    later("grad", Takes::Names),
    acts("spec", Takes::Specs),
    Argument {
        repeats: true,
        ..acts("specialize", Takes::Specs)
    },
    acts("warn_breaks", Takes::Flag),
    acts("self_test", Takes::Flag),
    acts("crate", Takes::Path),
];

/// Two arguments that exclude each other, and why.
pub(crate) const EXCLUSIVE: &[(&str, &str, &str)] = &[
    ("mode", "options", "keep one; a mode is a set of options"),
    (
        "dynamic",
        "dynamic_shapes",
        "keep one; `dynamic_shapes` is another name of `dynamic`",
    ),
];

/// The options of the TVM backend.
pub(crate) const TVM: &[&str] = &["target", "parallel"];

/// The arguments of `#[nested_compile_region(..)]`.
pub(crate) const REGION: &[Argument] = &[
    acts("max_reuse_entries", Takes::Int),
    acts("options", Takes::Path),
    acts("reuse_hash_fn", Takes::Path),
    acts("crate", Takes::Path),
];
