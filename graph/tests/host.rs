//! Host expressions: values and failures are those of the same Rust.

use tensorplay_graph::{
    Arg, DType, Env, Expr, GraphModule, Host, HostError, HostType, HostUnary, NodeKind, ScalarInput, Value,
    text::parse,
};

/// One tensor `f32[6, 4]`, scalars of every type.
struct Fixed(Vec<Host>);

impl Env for Fixed {
    fn param(&self, index: u32) -> Option<Host> {
        self.0.get(index as usize).copied()
    }
    fn rank(&self, _: Value) -> Option<usize> {
        Some(2)
    }
    fn dim(&self, _: Value, i: usize) -> Option<usize> {
        Some([6, 4][i])
    }
    fn dtype(&self, _: Value) -> Option<DType> {
        Some(DType::F32)
    }
}

/// Parses an expression in a graph with parameters `$0: usize, $1: i64, $2: i32, $3: u8, $4: f32, $5: f64, $6: bool`.
fn expr(text: &str) -> Expr {
    let params = "$0 a: usize, $1 b: i64, $2 c: i32, $3 d: u8, $4 e: f32, $5 f: f64, $6 g: bool";
    let module = parse(&format!(
        "graph t(x: f32[6, 4], {params}) {{ %1 = add(%0, {text}) : _[..] return %1 }}"
    ))
    .unwrap_or_else(|e| panic!("{text}: {e}"));
    match &module.graph.nodes[1].args()[1] {
        Arg::Host(e) => e.clone(),
        other => panic!("{text} is {other:?}"),
    }
}

fn eval(text: &str) -> Result<Host, String> {
    let scalars = vec![
        Host::Int(5),
        Host::Int(-3),
        Host::Int(i64::from(i32::MAX)),
        Host::Int(250),
        Host::Float(f64::from(0.1f32)),
        Host::Float(0.1),
        Host::Bool(true),
    ];
    match expr(text).eval(&Fixed(scalars)) {
        Ok(h) => Ok(h),
        Err(HostError::Failed(m)) => Err(m),
        Err(HostError::Unknown) => Err("unknown".into()),
    }
}

fn int(text: &str) -> i64 {
    match eval(text) {
        Ok(Host::Int(v)) => v,
        other => panic!("{text}: {other:?}"),
    }
}

fn float(text: &str) -> f64 {
    match eval(text) {
        Ok(Host::Float(v)) => v,
        other => panic!("{text}: {other:?}"),
    }
}

fn fails(text: &str, message: &str) {
    assert_eq!(eval(text), Err(message.to_string()), "{text}");
}

#[test]
fn metadata() {
    assert_eq!(int("dim(%0, -1) / 2"), 2);
    assert_eq!(int("elem_count(%0) % (rank(%0) + 5)"), 3);
    assert_eq!(eval("dtype(%0) == f32"), Ok(Host::Bool(true)));
    fails("dim(%0, 2)", "dim 2 is out of range for a tensor of rank 2");
    fails("dim(%0, -3)", "dim -3 is out of range for a tensor of rank 2");
}

#[test]
fn integers_fail_where_debug_rust_panics() {
    fails("$0 - 6", "5 - 6 overflows usize");
    fails("dim(%0, 1) - dim(%0, 0)", "4 - 6 overflows usize");
    assert_eq!(int("i64($0) - 6"), -1);
    assert_eq!(int("$1 - 6"), -9);
    fails("usize($1)", "-3 as usize is not a size");
    fails("$2 + 1", "2147483647 + 1 overflows integer");
    assert_eq!(int("i64($2) + 1"), 1 << 31);
    fails("$3 + 6", "250 + 6 overflows integer");
    fails(
        "9223372036854775807 + 1",
        "9223372036854775807 + 1 overflows integer",
    );
    fails(
        "neg(-9223372036854775808)",
        "-(-9223372036854775808) overflows an integer",
    );
    fails("neg(i32(-2147483648))", "-(-2147483648) overflows an integer");
    fails("pow($1, 64)", "-3 pow 64 overflows integer");
    assert_eq!(int("pow($1, 3)"), -27);
    fails("7 / ($0 - 5)", "7 / 0 divides by zero");
    fails("7 % ($0 - 5)", "7 % 0 divides by zero");
    assert_eq!(int("-7 / 2"), -3);
    assert_eq!(int("-7 % 2"), -1);
    assert_eq!(int("min($1, 2) + max($1, 2)"), -1);
}

#[test]
fn precedence_and_grouping() {
    assert_eq!(int("2 + 3 * 4 - 1"), 13);
    assert_eq!(int("2 - 3 - 4"), -5);
    assert_eq!(int("2 - (3 - 4)"), 3);
    assert_eq!(int("7 / 2 * 2"), 6);
    assert_eq!(eval("1 + 1 == 2 && not(3 < 2) || false"), Ok(Host::Bool(true)));
    assert_eq!(eval("$6 && 1 >= 2"), Ok(Host::Bool(false)));
}

#[test]
fn f32_rounds_after_every_operation_and_literals_take_its_type() {
    assert_eq!(float("$4 * 3.0"), f64::from(0.1f32 * 3.0));
    assert_eq!(float("$5 * 3.0"), 0.1f64 * 3.0);
    assert_eq!(float("$4 * 0.7"), f64::from(0.1f32 * 0.7f32));
    assert_eq!(float("$4 * (0.1 + 0.2)"), f64::from(0.1f32 * (0.1f32 + 0.2f32)));
    assert_eq!(float("sqrt(f32($0))"), f64::from(5f32.sqrt()));
    assert_eq!(
        float("ln(f32($0)) / exp($4)"),
        f64::from(5f32.ln() / 0.1f32.exp())
    );
    assert_eq!(float("f32(16777217)"), 16777216.0);
    assert_eq!(float("f64(f32(0.1))"), f64::from(0.1f32));
    assert_eq!(eval("$4 == 0.1"), Ok(Host::Bool(true)));
    assert_eq!(eval("f64($4) == 0.1"), Ok(Host::Bool(false)));
    // one rounding from i64 to f32, not two by way of f64
    assert_eq!(
        float("f32(9007199791611905)"),
        f64::from(9007199791611905i64 as f32)
    );
}

#[test]
fn casts_are_those_of_rust() {
    assert_eq!(int("i32(2147483648)"), i64::from(i32::MIN));
    assert_eq!(int("u8(-1)"), 255);
    assert_eq!(int("u8(300.7)"), 255);
    assert_eq!(int("usize(-1.5)"), 0);
    assert_eq!(int("i64(nan)"), 0);
    assert_eq!(int("i64(-inf)"), i64::MIN);
    assert_eq!(float("f64($3)"), 250.0);
}

/// Evaluates with `$0` a `usize`, the rest as in [`eval`].
fn with_size(text: &str, n: usize) -> Result<Host, String> {
    let scalars = vec![Host::size(n), Host::Int(-3), Host::Int(7)];
    expr(text).eval(&Fixed(scalars)).map_err(|e| match e {
        HostError::Failed(m) => m,
        HostError::Unknown => "unknown".into(),
    })
}

#[test]
fn sizes_above_the_largest_i64_are_those_of_rust() {
    let top = usize::MAX;
    assert_eq!(with_size("$0 / 2", top), Ok(Host::Int((top / 2) as i64)));
    assert_eq!(with_size("$0 % 10", top), Ok(Host::Int((top % 10) as i64)));
    assert_eq!(with_size("min($0, dim(%0, 0))", top), Ok(Host::Int(6)));
    assert_eq!(with_size("$0 > dim(%0, 0)", top), Ok(Host::Bool(true)));
    assert_eq!(with_size("$0 - 1 == $0", top), Ok(Host::Bool(false)));
    assert_eq!(with_size("$0 * 2 / 4", 1 << 62), Ok(Host::Int(1 << 61)));
    assert_eq!(with_size("f64($0)", top), Ok(Host::Float(top as f64)));
    assert_eq!(
        with_size("f32($0)", top - (1 << 39)),
        Ok(Host::Float(f64::from((top - (1 << 39)) as f32)))
    );
    assert_eq!(with_size("i64($0)", top - 4), Ok(Host::Int(-5)));
    assert_eq!(with_size("i32($0)", top - 4), Ok(Host::Int(-5)));
    assert_eq!(with_size("u8($0)", top - 4), Ok(Host::Int(251)));
    assert_eq!(with_size("usize(1e30) / 2", 0), Ok(Host::Int(i64::MAX)));
    assert_eq!(
        with_size("$0 + 1", top),
        Err(format!("{top} + 1 overflows usize"))
    );
    assert_eq!(
        with_size("$0 - 1", top),
        Err(format!(
            "{} is above 9223372036854775807, the largest integer that an operation takes",
            top - 1
        ))
    );
    fails(
        "i64(-9223372036854775808) % -1",
        "-9223372036854775808 % -1 overflows integer",
    );
}

/// Compares functions of floats with those of the standard library, for inputs that no compiler knows.
#[test]
fn functions_of_floats_are_those_of_rust() {
    let f32_of = |text: &str, x: f32, n: i32| {
        let scalars = [0, 0, 0, 0].map(Host::Int);
        let mut scalars = scalars.to_vec();
        scalars[2] = Host::Int(n.into());
        scalars.extend([Host::Float(x.into()), Host::Float(x.into())]);
        match expr(text).eval(&Fixed(scalars)) {
            Ok(Host::Float(v)) => v,
            other => panic!("{text}: {other:?}"),
        }
    };
    let mut rng = 0x2545_F491_4F6C_DD1Du64;
    let powi64 = expr("powi($5, $2)");
    for i in 0..20_000 {
        let n = match i % 4 {
            0 => next(&mut rng, 9) as i32 - 4,
            1 => next(&mut rng, 2000) as i32 - 1000,
            2 => [i32::MIN, i32::MAX, 0, -1][next(&mut rng, 4) as usize],
            _ => next(&mut rng, u64::MAX) as i32,
        };
        let x = match i % 3 {
            0 => f64::from_bits(next(&mut rng, u64::MAX)),
            1 => 1.0 + (next(&mut rng, 2000) as f64 - 1000.0) * 1e-4,
            _ => next(&mut rng, 2000) as f64 * 0.37 - 400.0,
        };
        let mut scalars = [0, 0, 0, 0].map(Host::Int).to_vec();
        scalars[2] = Host::Int(n.into());
        scalars.extend([Host::Float(0.0), Host::Float(x)]);
        let Ok(Host::Float(got)) = powi64.eval(&Fixed(scalars)) else {
            panic!("{x}.powi({n}) has no value")
        };
        let (x64, n) = std::hint::black_box((x, n));
        let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
        assert!(same(got, x64.powi(n)), "{x64:?}.powi({n}) is {got:?}");
        let x = x64 as f32;
        for (text, want) in [
            ("powi($4, $2)", x.powi(n)),
            ("exp($4)", x.exp()),
            ("ln($4)", x.ln()),
            ("sqrt($4)", x.sqrt()),
            ("pow($4, $4)", x.powf(x)),
        ] {
            let got = f32_of(text, x, n);
            assert!(
                same(got, want.into()),
                "{text} of {x:?} and {n} is {got:?}, not {want:?}"
            );
        }
    }
}

#[test]
fn what_is_unknown_stays_unknown() {
    let e = expr("$0 + 1");
    assert_eq!(e.eval(&Fixed(Vec::new())), Err(HostError::Unknown));
    assert_eq!(e.host_type(), HostType::Usize);
    assert_eq!(expr("1 + 2").host_type(), HostType::IntLiteral);
    assert_eq!(expr("$0 < 2").host_type(), HostType::Bool);
    assert_eq!(expr("2.0 * $4").host_type(), HostType::F32);
}

#[test]
fn shapes_are_compared_as_far_as_they_are_known() {
    let same = |x: &str, y: &str| {
        let text =
            format!("graph t(x: {x}, y: {y}) {{ %2 = add(%0, same_shape(%0, %1)) : _[..] return %2 }}");
        let module = parse(&text).unwrap();
        let Arg::Host(e) = &module.graph.nodes[2].args()[1] else {
            panic!("a host expression")
        };
        e.eval(&tensorplay_graph::TypeEnv(&module.graph))
    };
    assert_eq!(same("f32[2, 3]", "f32[2, 3]"), Ok(Host::Bool(true)));
    assert_eq!(same("f32[2, 3]", "f32[3, 2]"), Ok(Host::Bool(false)));
    assert_eq!(same("f32[2, 3]", "f32[2]"), Ok(Host::Bool(false)));
    assert_eq!(same("f32[_, 3]", "f32[_, 4]"), Ok(Host::Bool(false)));
    assert_eq!(same("f32[_, 3]", "f32[_, 3]"), Err(HostError::Unknown));
    assert_eq!(same("f32[..]", "f32[2]"), Err(HostError::Unknown));
}

#[test]
fn mixed_types_do_not_evaluate() {
    fails("1 + 2.0", "+ does not take Int(1) and Float(2.0)");
    fails("not(1)", "Not does not take Int(1)");
}

/// Printing and parsing keep the tree, for random trees.
#[test]
fn random_expressions_parse_back() {
    let mut rng = 0x9E37_79B9_7F4A_7C15u64;
    for _ in 0..2000 {
        let e = random(&mut rng, 5);
        let mut module = parse("graph t(x: f32[6, 4]) { %1 = add(%0, 1) : _[..] return %1 }").unwrap();
        for (i, ty) in [HostType::Usize, HostType::F32].into_iter().enumerate() {
            let name = format!("p{i}");
            module.scalars.push(ScalarInput {
                name,
                ty,
                source: None,
            });
        }
        if let NodeKind::Call(_, args) = &mut module.graph.nodes[1].kind {
            args[1] = Arg::Host(e);
        }
        let parsed: GraphModule = parse(&module.to_string()).unwrap_or_else(|e| panic!("{module}\n{e}"));
        assert_eq!(parsed, module, "{module}");
    }
}

fn next(rng: &mut u64, n: u64) -> u64 {
    *rng ^= *rng << 13;
    *rng ^= *rng >> 7;
    *rng ^= *rng << 17;
    *rng % n
}

fn random(rng: &mut u64, depth: u32) -> Expr {
    use tensorplay_graph::HostBinary::*;
    let x = Value::from(tensorplay_graph::NodeId(0));
    let kind = if depth == 0 { next(rng, 7) } else { next(rng, 11) };
    let sub = |rng: &mut u64| Box::new(random(rng, depth.saturating_sub(1)));
    match kind {
        0 => Expr::int(next(rng, u64::MAX) as i64),
        1 => Expr::int(next(rng, 5) as i64 - 2),
        2 => {
            let v = f64::from_bits(next(rng, u64::MAX));
            Expr::float(if v.is_nan() { -0.0 } else { v })
        }
        3 => Expr::Literal(Host::Bool(next(rng, 2) == 0)),
        4 => Expr::Literal(Host::DType(DType::ALL[next(rng, 8) as usize])),
        5 => match next(rng, 2) {
            0 => Expr::Param(0, HostType::Usize),
            _ => Expr::Param(1, HostType::F32),
        },
        6 => match next(rng, 4) {
            0 => Expr::Rank(x),
            1 => Expr::ElemCount(x),
            2 => Expr::SameShape(x, x),
            _ => Expr::DTypeOf(x),
        },
        7 => Expr::Dim(x, sub(rng)),
        8 => {
            let types = ["usize", "i64", "i32", "u8", "f32", "f64", "bool", "DType"];
            let ty = HostType::from_name(types[next(rng, 8) as usize]).unwrap();
            Expr::Cast(ty, sub(rng))
        }
        9 => {
            use HostUnary::*;
            Expr::Unary(
                [Neg, Not, Sqrt, Ln, Exp, Probability][next(rng, 6) as usize],
                sub(rng),
            )
        }
        _ => {
            let ops = [
                Add, Sub, Mul, Div, Rem, Min, Max, Pow, Powi, Eq, Ne, Lt, Le, Gt, Ge, And, Or,
            ];
            Expr::Binary(ops[next(rng, 17) as usize], sub(rng), sub(rng))
        }
    }
}
