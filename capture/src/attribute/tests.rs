use super::{BackendName, Options, Setting, SettingValue};
use crate::diagnostic::Diagnostics;
use tensorplay_graph::Mode;

/// The arguments, and the first line of each error.
fn parse(attr: &str) -> (Options, Vec<String>) {
    let errors = Diagnostics::default();
    let options = Options::parse(attr.parse().expect("these are tokens"), &errors);
    let first = |d: &crate::Diagnostic| d.to_string().lines().next().unwrap_or_default().to_string();
    (options, errors.take().iter().map(first).collect())
}

fn setting(name: &str, value: SettingValue) -> Setting {
    Setting {
        name: name.into(),
        value,
    }
}

#[test]
fn every_argument_is_typed() {
    let (o, errors) = parse(
        "fullgraph, backend = \"eager\", mode = \"reduce-overhead\", name = \"f\", recompile_limit = 4, isolate_recompiles,
         strict_native = true, dynamic_shapes = true, dtypes(f32, f16), inline(a::b, c), grad(w, b), warn_breaks, self_test,
         spec(x = f32[B, 784], return = f32[B, 10]), specialize(x = f32[1, 784]), specialize(x = f32[8, 784]), crate = my::own",
    );
    assert!(o.fullgraph && o.isolate_recompiles && o.strict_native && o.warn_breaks && o.self_test);
    assert!(!o.disable);
    assert_eq!(o.dynamic, Some(true));
    assert!(matches!(&o.backend, Some(BackendName::Name(name)) if name == "eager"));
    assert_eq!(o.mode, Some(Mode::ReduceOverhead));
    assert_eq!(o.name.as_deref(), Some("f"));
    assert_eq!(o.recompile_limit, Some(4));
    assert_eq!(o.dtypes.map(|d| d.len()), Some(2));
    assert_eq!(o.inline.len(), 2);
    assert_eq!(o.grad.map(|g| g.len()), Some(2));
    assert_eq!((o.specs.len(), o.specialize.len()), (2, 2));
    assert_eq!(o.krate.map(|p| p.segments.len()), Some(2));
    assert_eq!(errors, ["[TP0090] `grad` is not available yet"]);
}

#[test]
fn nothing_written_is_nothing_set() {
    let (o, errors) = parse("");
    assert_eq!(errors, [""; 0]);
    assert!(!o.fullgraph && !o.warn_breaks && o.dynamic.is_none() && o.grad.is_none() && o.mode.is_none());
    assert!(o.settings.is_empty() && o.inline.is_empty() && o.specialize.is_empty());
}

#[test]
fn dynamic_has_two_names() {
    assert_eq!(parse("dynamic = true").0.dynamic, Some(true));
    assert_eq!(parse("dynamic_shapes = false").0.dynamic, Some(false));
    assert_eq!(parse("dynamic = true").1, [""; 0]);
    let (o, errors) = parse("dynamic_shapes = false, dynamic = true");
    assert_eq!(o.dynamic, Some(false), "the first one stands");
    assert_eq!(
        errors,
        ["[TP0009] write either dynamic_shapes or dynamic, not both"]
    );
}

#[test]
fn a_mode_is_one_of_four() {
    for mode in Mode::ALL {
        let (o, errors) = parse(&format!("mode = \"{}\"", mode.name()));
        assert_eq!(o.mode, Some(mode));
        assert_eq!(errors, [""; 0]);
    }
    let (o, errors) = parse("mode = \"max-autotune-no-cudagraph\"");
    assert_eq!(o.mode, None);
    assert_eq!(errors, ["[TP0002] unknown mode `max-autotune-no-cudagraph`"]);
}

#[test]
fn options_are_those_of_the_backend() {
    let (o, _) = parse("options(max_autotune, fusion = false)");
    let on = SettingValue::Bool(true);
    assert_eq!(
        o.settings,
        [
            setting("max_autotune", on.clone()),
            setting("fusion", SettingValue::Bool(false))
        ]
    );
    let (o, _) = parse("options(target = \"llvm\", parallel), backend = \"tvm\"");
    assert_eq!(
        o.settings,
        [
            setting("target", SettingValue::Str("llvm".into())),
            setting("parallel", on)
        ]
    );
    let (o, errors) = parse("backend = \"mine\", options(depth = 3)");
    assert_eq!(o.settings, [setting("depth", SettingValue::Int(3))]);
    assert_eq!(errors, [""; 0]);
    let (o, errors) = parse("backend = my::ENTRY, options(depth = 3)");
    assert!(matches!(&o.backend, Some(BackendName::Entry(path)) if path.segments.len() == 2));
    assert_eq!(o.settings, [setting("depth", SettingValue::Int(3))]);
    assert_eq!(errors, [""; 0]);
    let (o, errors) = parse("options(fast_math, native = false)");
    assert_eq!(
        o.settings,
        [
            setting("fast_math", SettingValue::Bool(true)),
            setting("native", SettingValue::Bool(false))
        ]
    );
    assert_eq!(errors, [""; 0]);
}

/// Shapes of tokens that an argument may have: nothing panics, and whatever is refused says so.
#[test]
fn nothing_panics() {
    let values = [
        "",
        "= 1",
        "= -1",
        "= 99999999999999999999",
        "= \"\"",
        "= \"x\"",
        "= true",
        "= yes",
        "= a::b",
        "= =",
        "()",
        "(1)",
        "(a)",
        "(a, a)",
        "(a = 1)",
        "(a = f32[1])",
        "(a = f32[1], a = f32[2])",
        "(return = (f32[1], (f32[2])))",
        "(return = ())",
        "(,)",
        "(a,, b)",
        "[a]",
        "{a}",
        "(a::b::<c>)",
        "(f32)",
        "(f32, f32)",
        "!",
        "= 1.5",
        "(a = )",
    ];
    for argument in super::table::COMPILE {
        for value in values {
            let attr = format!("{} {value}", argument.name);
            let (_, errors) = parse(&attr);
            assert_eq!(errors, parse(&attr).1, "the same tokens give the same errors");
            parse(&format!("{attr}, {attr}, fullgraph"));
        }
    }
}
