//! Values with PyTorch's answers: NaN, infinities, signed zeros, subnormals, saturation. Compared bit for bit, so
//! that the sign of 0 counts; any NaN equals any other.

use crate::lane::{Fused, Lane, Portable, Tier};
use std::f32::consts::LN_2;

const INF: f32 = f32::INFINITY;
const NAN: f32 = f32::NAN;

fn expect(name: &str, pairs: &[(f32, f32)], f: impl Fn(f32) -> f32) {
    for &(x, y) in pairs {
        let z = f(x);
        assert!(
            z.to_bits() == y.to_bits() || z.is_nan() && y.is_nan(),
            "{name}({x:e}) = {z:e}, expected {y:e}"
        );
    }
}

macro_rules! unary {
    ($($name:ident($($c:expr),*): $($x:expr => $y:expr),*;)*) => {
        fn unary_in<T: Tier>() {$(
            expect(stringify!($name), &[(NAN, NAN), $(($x, $y)),*], |x| Lane::<f32, T>::new(x).$name($(Lane::new($c)),*).get());
        )*}
    };
}
unary! {
    exp(): INF => INF, -INF => 0.0, -1e30 => 0.0, -104.0 => 0.0, -103.9 => 1e-45, 89.0 => INF, 1e30 => INF, 0.0 => 1.0, -0.0 => 1.0;
    exp_flush(): INF => INF, -INF => 0.0, -1e30 => 0.0, -88.0 => 0.0, 89.0 => INF, 0.0 => 1.0;
    exp2(): INF => INF, -INF => 0.0, -149.0 => 1e-45, -150.0 => 0.0, -126.0 => f32::MIN_POSITIVE, 127.0 => 1.701_411_8e38, 128.0 => INF, 3.0 => 8.0;
    expm1(): INF => INF, -INF => -1.0, -0.0 => -0.0, 0.0 => 0.0, -30.0 => -1.0, 1e-40 => 1e-40, 89.0 => INF;
    log(): 0.0 => -INF, -0.0 => -INF, -1.0 => NAN, -INF => NAN, INF => INF, 1.0 => 0.0, 1e-45 => -103.278_93, 2.0 => LN_2;
    log2(): 0.0 => -INF, -1.0 => NAN, INF => INF, 1.0 => 0.0, 8.0 => 3.0, 1e-45 => -149.0, f32::MIN_POSITIVE => -126.0;
    log10(): 0.0 => -INF, -1.0 => NAN, INF => INF, 1.0 => 0.0, 1000.0 => 3.0;
    log1p(): -1.0 => -INF, -2.0 => NAN, -INF => NAN, INF => INF, 0.0 => 0.0, -0.0 => -0.0, 1e-40 => 1e-40, 1.0 => LN_2;
    tanh(): INF => 1.0, -INF => -1.0, 9.1 => 1.0, -1e30 => -1.0, 0.0 => 0.0, -0.0 => -0.0, 1e-40 => 1e-40;
    erf(): INF => 1.0, -INF => -1.0, 3.94 => 1.0, -4.0 => -1.0, 4.2 => 1.0, 0.0 => 0.0, -0.0 => -0.0;
    sigmoid(): INF => 1.0, -INF => 0.0, 17.5 => 1.0, -89.0 => 0.0, 0.0 => 0.5;
    logsigmoid(): INF => 0.0, -INF => -INF, 0.0 => -LN_2, -1e30 => -1e30;
    silu(): INF => INF, -INF => NAN, -1e30 => -0.0, 1e30 => 1e30, -0.0 => -0.0, 0.0 => 0.0;
    mish(): INF => INF, -INF => NAN, -1e30 => -0.0, 3e38 => 3e38, -0.0 => -0.0;
    gelu(): INF => INF, -INF => 0.0, 6.0 => 6.0, -6.0 => 0.0, 3e38 => 3e38, -3e38 => 0.0, 0.0 => 0.0, -0.0 => -0.0;
    gelu_tanh(): INF => INF, 12.0 => 12.0, -1e20 => -0.0, 3e38 => 3e38, 0.0 => 0.0, -0.0 => -0.0;
    softplus(1.0, 20.0): INF => INF, -INF => 0.0, 21.0 => 21.0, 0.0 => LN_2, 1e30 => 1e30;
    softplus(2.0, 100.0): 40.0 => 40.0, 60.0 => 60.0;
    elu(1.5): INF => INF, -INF => -1.5, 0.0 => 0.0, -0.0 => -0.0, -1e30 => -1.5;
    celu(1.3): INF => INF, -INF => -1.3, 0.0 => 0.0, -1e30 => -1.3;
    acosh(): 1.0 => 0.0, 0.5 => NAN, -3.0 => NAN, -6500.0 => NAN, -INF => NAN, INF => INF;
    atanh(): 1.0 => INF, -1.0 => -INF, 1.5 => NAN, -0.0 => -0.0;
    asinh(): -0.0 => -0.0, INF => INF, -INF => -INF;
    relu(): INF => INF, -INF => 0.0, -0.0 => -0.0, -1.0 => 0.0;
    relu6(): INF => 6.0, -INF => 0.0, 7.0 => 6.0;
    hardtanh(-1.0, 1.0): INF => 1.0, -INF => -1.0, 0.5 => 0.5;
    hardswish(): INF => INF, -INF => NAN, 3.0 => 3.0, 1e30 => 1e30, -1e30 => -0.0;
    hardsigmoid(): INF => 1.0, -INF => 0.0, 3.0 => 1.0, -3.0 => 0.0, 0.0 => 0.5;
    softsign(): INF => NAN, -INF => NAN, 1e30 => 1.0;
    frac(): INF => NAN, -INF => NAN, -1.5 => -0.5, 2.0 => 0.0;
    clamp(2.0, -1.0): 0.0 => -1.0, 5.0 => -1.0, -5.0 => -1.0;
    clamp(NAN, 1.0): 0.0 => NAN;
    clamp(0.0, NAN): 0.5 => NAN;
    clamp_min(0.25): -INF => 0.25, INF => INF;
    clamp_max(0.25): INF => 0.25, -INF => -INF;
    rsqrt(): 0.0 => INF, INF => 0.0, -1.0 => NAN;
    pow(0.5): 4.0 => 2.0, -1.0 => NAN, -INF => INF;
    powf(0.5): 4.0 => 2.0, -1.0 => NAN, -INF => NAN;
    powf(3.0): 2.0 => 8.0, -INF => -INF;
    powi(-2.0): 2.0 => 0.25, -0.0 => INF;
}

#[test]
fn unary() {
    unary_in::<Portable>();
    unary_in::<Fused>();
}

#[test]
fn constants() {
    expect(
        "sign",
        &[(NAN, 0.0), (-0.0, 0.0), (-INF, -1.0), (1e-45, 1.0)],
        |x| Lane::<f32, Portable>::new(x).sign().get(),
    );
    let pairs = [(NAN, 0.5), (INF, 9.0), (-INF, -9.0), (-0.0, -0.0), (3.0, 3.0)];
    expect("nan_to_num", &pairs, |x| {
        Lane::<f32, Portable>::new(x)
            .nan_to_num(Lane::new(0.5), Lane::new(9.0), Lane::new(-9.0))
            .get()
    });
    expect("pow 0", &[(NAN, 1.0), (INF, 1.0), (0.0, 1.0)], |x| {
        Lane::<f32, Portable>::new(x).pow(Lane::new(0.0)).get()
    });
    let x = Lane::<f64, Portable>::new(f64::NEG_INFINITY);
    assert_eq!(
        (x.gelu().get(), x.sigmoid().get(), x.erf().get()),
        (0.0, 0.0, -1.0)
    );
    for y in [0.5, -1.5, -6500.0, f64::NEG_INFINITY] {
        assert!(Lane::<f64, Portable>::new(y).acosh().get().is_nan());
    }
    assert!(x.isinf().get() && !x.isfinite().get() && !x.isnan().get());
}

#[test]
fn binary() {
    type L = Lane<f32, Portable>;
    type Case = (&'static str, fn(L, L) -> L, &'static [(f32, f32, f32)]);
    let cases: &[Case] = &[
        (
            "maximum",
            L::maximum,
            &[
                (1.0, NAN, NAN),
                (NAN, 1.0, NAN),
                (0.0, -0.0, 0.0),
                (-0.0, 0.0, -0.0),
                (1.0, 2.0, 2.0),
            ],
        ),
        (
            "minimum",
            L::minimum,
            &[
                (1.0, NAN, NAN),
                (NAN, 1.0, NAN),
                (0.0, -0.0, 0.0),
                (-0.0, 0.0, -0.0),
                (1.0, 2.0, 1.0),
            ],
        ),
        (
            "fmax",
            L::fmax,
            &[(1.0, NAN, 1.0), (NAN, 1.0, 1.0), (NAN, NAN, NAN), (1.0, 2.0, 2.0)],
        ),
        (
            "fmin",
            L::fmin,
            &[(1.0, NAN, 1.0), (NAN, 1.0, 1.0), (NAN, NAN, NAN), (1.0, 2.0, 1.0)],
        ),
        (
            "hypot",
            L::hypot,
            &[
                (3.0, -4.0, 5.0),
                (INF, NAN, INF),
                (NAN, 1.0, NAN),
                (2e38, 2e38, 2.828_427e38),
                (1e-30, 0.0, 1e-30),
            ],
        ),
        (
            "fmod",
            L::fmod,
            &[
                (5.0, -3.0, 2.0),
                (-5.0, 3.0, -2.0),
                (5.0, 0.0, NAN),
                (INF, 1.0, NAN),
                (5.0, INF, 5.0),
                (-6.0, 3.0, -0.0),
            ],
        ),
        (
            "remainder",
            L::remainder,
            &[
                (5.0, -3.0, -1.0),
                (-5.0, 3.0, 1.0),
                (5.0, 0.0, NAN),
                (5.0, INF, 5.0),
                (-5.0, INF, INF),
            ],
        ),
        (
            "floor_div",
            L::floor_div,
            &[
                (5.0, -3.0, -2.0),
                (-5.0, 3.0, -2.0),
                (5.0, 0.0, INF),
                (0.0, 0.0, NAN),
                (5.0, INF, 0.0),
                (-5.0, INF, -1.0),
                (-0.0, 3.0, -0.0),
            ],
        ),
        ("copysign", L::copysign, &[(1.0, -0.0, -1.0), (-2.0, 3.0, 2.0)]),
        (
            "atan2",
            L::atan2,
            &[
                (0.0, -0.0, std::f32::consts::PI),
                (-0.0, 0.0, -0.0),
                (NAN, 1.0, NAN),
            ],
        ),
    ];
    for (name, f, rows) in cases {
        for &(a, b, y) in *rows {
            expect(name, &[(a, y)], |a| f(Lane::new(a), Lane::new(b)).get());
        }
    }
}

#[test]
fn lerp_is_exact_at_its_ends() {
    let lerp = |a: f32, b: f32, w: f32| {
        Lane::<f32, Portable>::new(a)
            .lerp(Lane::new(b), Lane::new(w))
            .get()
    };
    assert_eq!(
        (lerp(0.1, 0.7, 0.0), lerp(0.1, 0.7, 1.0), lerp(-3e38, 1.0, 1.0)),
        (0.1, 0.7, 1.0)
    );
}
