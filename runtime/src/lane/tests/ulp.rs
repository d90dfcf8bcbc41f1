//! Every 997th f32 bit pattern, both tiers. The unit is the spacing of f32 at the true value.
//! The true values come from std or, where the function under test itself computes with std's f64, from `libm`.
//! gelu and its relatives cancel on the negative side, so there the unit is that of the argument.
//! `cargo test -- lane::tests::ulp --nocapture` prints what is measured.

use crate::lane::{Fused, Lane, Portable, Tier};

const STRIDE: usize = 997;

/// The distance from |y| to the next f32.
fn spacing(y: f64) -> f64 {
    let exponent = (y.abs().to_bits() >> 52) as i32 - 1023;
    2f64.powi((exponent - 23).max(-149))
}

struct Domain {
    low: f32,
    high: f32,
    /// Measure in units of the argument.
    argument: bool,
}

const ALL: Domain = Domain {
    low: f32::NEG_INFINITY,
    high: f32::INFINITY,
    argument: false,
};

fn worst(f: impl Fn(f32) -> f32, exact: impl Fn(f64) -> f64, domain: &Domain) -> (f64, f32) {
    let mut worst = (0.0, 0.0);
    for bits in (0..=u32::MAX).step_by(STRIDE) {
        let x = f32::from_bits(bits);
        if !(domain.low <= x && x <= domain.high) {
            continue;
        }
        let (y, z) = (f(x), exact(f64::from(x)));
        if y.is_nan() && z.is_nan() || y == z as f32 && (y.is_infinite() || f64::from(y) == z) {
            continue;
        }
        let at = if domain.argument { f64::from(x) } else { z };
        let mut e = (f64::from(y) - z).abs() / spacing(at);
        if !e.is_finite() {
            e = if y.is_infinite() && z.abs() > f64::from(f32::MAX) * 0.999_999_9 {
                1.0
            } else {
                f64::INFINITY
            };
        }
        if e > worst.0 {
            worst = (e, x);
        }
    }
    worst
}

fn check<T: Tier>(
    name: &str,
    tier: &str,
    f: impl Fn(Lane<f32, T>) -> Lane<f32, T>,
    exact: impl Fn(f64) -> f64,
    domain: &Domain,
    bound: f64,
) {
    let (e, x) = worst(|x| f(Lane::new(x)).get(), exact, domain);
    println!("{name:12} {tier:8} {e:.2} at {x:e}");
    assert!(e <= bound, "{name} ({tier}): {e} ulp at {x:e}, bound {bound}");
}

macro_rules! bounds {
    ($($test:ident: $name:ident($($c:expr),*) $bound:expr, |$x:ident| $exact:expr, $domain:expr;)*) => {$(
        #[test]
        fn $test() {
            let domain = $domain;
            let exact = |$x: f64| $exact;
            check::<Fused>(stringify!($test), "fused", |x| x.$name($(Lane::new($c)),*), exact, &domain, $bound);
            check::<Portable>(stringify!($test), "portable", |x| x.$name($(Lane::new($c)),*), exact, &domain, $bound);
        }
    )*};
}

mod truth {
    pub fn sigmoid(x: f64) -> f64 {
        let e = (-x.abs()).exp();
        if x < 0.0 { e / (1.0 + e) } else { 1.0 / (1.0 + e) }
    }

    pub fn softplus(x: f64) -> f64 {
        x.max(0.0) + (-x.abs()).exp().ln_1p()
    }

    pub fn elu(x: f64) -> f64 {
        if x > 0.0 { x } else { x.exp_m1() }
    }

    pub fn silu(x: f64) -> f64 {
        x * sigmoid(x)
    }

    pub fn gelu(x: f64) -> f64 {
        0.5 * x * libm::erfc(x * -std::f64::consts::FRAC_1_SQRT_2)
    }

    pub fn gelu_tanh(x: f64) -> f64 {
        x * sigmoid(1.595_769_121_605_730_8 * (x + 0.044715 * x * x * x))
    }
}

bounds! {
    exp: exp() 1.0, |x| x.exp(), ALL;
    exp_flush: exp_flush() 1.0, |x| x.exp(), Domain { low: -86.9, ..ALL };
    exp2: exp2() 1.25, |x| x.exp2(), ALL;
    expm1: expm1() 1.75, |x| x.exp_m1(), ALL;
    log: log() 1.0, |x| x.ln(), ALL;
    log2: log2() 2.0, |x| x.log2(), ALL;
    log10: log10() 1.75, |x| x.log10(), ALL;
    log1p: log1p() 1.75, |x| x.ln_1p(), ALL;
    tanh: tanh() 2.5, |x| x.tanh(), ALL;
    erf: erf() 2.0, |x| libm::erf(x), ALL;
    erfc: erfc() 3.0, |x| libm::erfc(x), ALL;
    sigmoid: sigmoid() 2.25, |x| truth::sigmoid(x), Domain { low: -88.7, ..ALL };
    logsigmoid: logsigmoid() 2.25, |x| -truth::softplus(-x), ALL;
    softplus: softplus(1.0, 20.0) 2.0, |x| if x > 20.0 { x } else { truth::softplus(x) }, ALL;
    silu: silu() 2.25, |x| truth::silu(x), Domain { low: -88.7, ..ALL };
    mish: mish() 4.0, |x| x * truth::softplus(x).tanh(), Domain { low: -3e38, ..ALL };
    gelu: gelu() 6.0, |x| truth::gelu(x), Domain { low: 0.0, ..ALL };
    gelu_negative: gelu() 3.0, |x| truth::gelu(x), Domain { low: -3e38, high: 0.0, argument: true };
    gelu_tanh: gelu_tanh() 3.0, |x| truth::gelu_tanh(x), Domain { low: -1.0, ..ALL };
    gelu_tanh_negative: gelu_tanh() 0.5, |x| truth::gelu_tanh(x), Domain { low: -3e38, high: -1.0, argument: true };
    elu: elu(1.0) 1.75, |x| truth::elu(x), ALL;
    celu: celu(1.0) 1.75, |x| truth::elu(x), ALL;
    selu: selu() 3.0, |x| 1.050_700_987_355_480_5 * if x > 0.0 { x } else { 1.673_263_242_354_377_2 * x.exp_m1() }, ALL;
    hardsigmoid: hardsigmoid() 1.5, |x| (x + 3.0).clamp(0.0, 6.0) / 6.0, ALL;
    hardswish: hardswish() 2.5, |x| x * (x + 3.0).clamp(0.0, 6.0) / 6.0, Domain { low: -3e38, ..ALL };
    softsign: softsign() 1.5, |x| x / (1.0 + x.abs()), Domain { low: -3e38, high: 3e38, ..ALL };
    rsqrt: rsqrt() 1.5, |x| 1.0 / x.sqrt(), ALL;
    sin: sin() 1.0, |x| x.sin(), ALL;
    cos: cos() 1.0, |x| x.cos(), ALL;
    tan: tan() 1.25, |x| x.tan(), ALL;
    asin: asin() 1.0, |x| x.asin(), ALL;
    acos: acos() 1.0, |x| x.acos(), ALL;
    atan: atan() 1.0, |x| x.atan(), ALL;
    sinh: sinh() 2.0, |x| x.sinh(), ALL;
    cosh: cosh() 2.0, |x| x.cosh(), ALL;
    asinh: asinh() 0.51, |x| libm::asinh(x), ALL;
    acosh: acosh() 0.51, |x| libm::acosh(x), Domain { low: 1.0, ..ALL };
    atanh: atanh() 0.51, |x| libm::atanh(x), ALL;
    pow: pow(1.7) 0.51, |x| libm::pow(x, f64::from(1.7f32)), ALL;
}
