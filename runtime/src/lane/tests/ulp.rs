//! Errors of the f32 functions in both tiers, over a sample of the bit patterns or over all of them.
//!
//! Problem: a bound is worth what its sweep covers, and 2^32 arguments take minutes a function. Method: one table of
//! functions, true values and bounds; chunks of arguments go through the product's code as kernels run it, vectorised
//! for the instruction set, and threads share the chunks. `sample` takes every 997th pattern. `all`, ignored by
//! default, takes every one; `saturation` likewise for what is exact far out:
//! `cargo test --release -p tensorplay-runtime lane::tests::ulp::erf::all -- --ignored --nocapture` for one function.
//!
//! Invariants: the unit is the spacing of f32 at the true value; where a function cancels on its negative side
//! (gelu and its like), that at the argument. An infinity counts as 2^128. The true values come from std or, where
//! the function under test itself computes with std's f64, from `libm`. NaN gives NaN, in a domain or not.

use crate::kernels::par::parts;
use crate::kernels::tier::{Isa, per_isa};
use crate::lane::{Lane, Tier};
use std::ops::RangeInclusive;
use std::sync::Mutex;

/// The distance between the bit patterns of a sample.
const STRIDE: usize = 997;
const INF: f32 = f32::INFINITY;
/// Arguments of one call.
const CHUNK: usize = 2048;

type Chunk = [f32; CHUNK];
/// A function's values at a chunk, for each [`Isa`].
type Instances = [unsafe fn(x: &Chunk, y: &mut Chunk); 3];

/// The instances of a lane function.
macro_rules! instances {
    ($name:ident($($c:expr),*)) => {{
        #[inline(always)]
        unsafe fn apply<T: Tier>(x: &Chunk, y: &mut Chunk) {
            for (y, &x) in y.iter_mut().zip(x) {
                *y = Lane::<f32, T>::new(x).$name($(Lane::new($c)),*).get();
            }
        }
        per_isa!(apply, fn(x: &Chunk, y: &mut Chunk))
    }};
}

/// Calls `f` with every `stride`-th pattern and what the portable and the best instance make of it, a chunk at a time.
fn sweep(f: Instances, stride: usize, look: impl Fn(&Chunk, [&Chunk; 2]) + Sync) {
    let chunks = (1usize << 32).div_ceil(stride * CHUNK);
    parts(chunks as u64 * 10_000, chunks, |range| {
        let (mut x, mut y) = ([0.0; CHUNK], [[0.0; CHUNK]; 2]);
        for chunk in range {
            // past the end they wrap
            let at = |i| ((chunk * CHUNK + i) * stride) as u32;
            (0..CHUNK).for_each(|i| x[i] = f32::from_bits(at(i)));
            for (y, isa) in y.iter_mut().zip([Isa::Portable, Isa::best()]) {
                // SAFETY: the CPU has the instruction set.
                unsafe { f[isa as usize](&x, y) };
            }
            look(&x, [&y[0], &y[1]]);
        }
    });
}

/// The distance from |y| to the next f32.
fn spacing(y: f64) -> f64 {
    let exponent = (y.abs().to_bits() >> 52) as i64 - 1023;
    f64::from_bits(((exponent.clamp(-126, 127) - 23 + 1023) as u64) << 52)
}

/// The error of `y` where `z` is true, in spacings at `at`.
#[inline(always)]
fn error(y: f32, z: f64, at: f64) -> f64 {
    const TOP: f64 = (1u128 << 127) as f64 * 2.0;
    if y.is_nan() || z.is_nan() {
        return if y.is_nan() && z.is_nan() {
            0.0
        } else {
            f64::INFINITY
        };
    }
    (f64::from(y).clamp(-TOP, TOP) - z.clamp(-TOP, TOP)).abs() / spacing(at)
}

struct Domain {
    low: f32,
    high: f32,
    /// Measure in units of the argument.
    argument: bool,
}

const ALL: Domain = Domain {
    low: -INF,
    high: INF,
    argument: false,
};
const FINITE: Domain = Domain {
    low: f32::MIN,
    high: f32::MAX,
    argument: false,
};

fn check(
    name: &str,
    f: Instances,
    exact: impl Fn(f64) -> f64 + Sync,
    domain: &Domain,
    bound: f64,
    stride: usize,
) {
    let worst = Mutex::new([(0.0, 0.0); 2]);
    sweep(f, stride, |x, y| {
        let mut own = [(0.0, 0.0); 2];
        for (i, &x) in x.iter().enumerate() {
            let inside = domain.low <= x && x <= domain.high;
            let z = if inside { exact(f64::from(x)) } else { f64::NAN };
            let at = if domain.argument { f64::from(x) } else { z };
            for (own, y) in own.iter_mut().zip(y) {
                let e = if inside || x.is_nan() {
                    error(y[i], z, at)
                } else {
                    0.0
                };
                if e > own.0 {
                    *own = (e, x);
                }
            }
        }
        let mut worst = worst.lock().unwrap_or_else(|e| e.into_inner());
        for (worst, own) in worst.iter_mut().zip(own) {
            if own.0 > worst.0 {
                *worst = own;
            }
        }
    });
    let worst = worst.into_inner().unwrap_or_else(|e| e.into_inner());
    let what = if stride == 1 { "all" } else { "sample" };
    let [(p, px), (b, bx)] = worst;
    println!("{name:18} {what:6} fused {b:.3} at {bx:e}, portable {p:.3} at {px:e}");
    assert!(p.max(b) <= bound, "{name}: bound {bound}, {worst:?} measured");
}

macro_rules! bounds {
    ($($test:ident: $name:ident($($c:expr),*) $bound:expr, |$x:ident| $exact:expr, $domain:expr;)*) => {$(
        mod $test {
            use super::*;

            fn every(stride: usize) {
                check(stringify!($test), instances!($name($($c),*)), |$x| $exact, &$domain, $bound, stride);
            }

            #[test]
            fn sample() {
                every(STRIDE);
            }

            #[test]
            #[ignore = "2^32 arguments"]
            fn all() {
                every(1);
            }
        }
    )*};
}

/// What a function is, exactly, over a range.
#[derive(Clone, Copy, Debug)]
enum Is {
    Value(f32),
    Argument,
}
use Is::{Argument, Value};

fn check_exact(name: &str, f: Instances, ranges: &[(RangeInclusive<f32>, Is)], stride: usize) {
    sweep(f, stride, |x, y| {
        for (range, is) in ranges {
            for (i, &x) in x.iter().enumerate().filter(|(_, x)| range.contains(x)) {
                let want = match is {
                    Value(v) => *v,
                    Argument => x,
                };
                for y in y {
                    assert!(
                        y[i].to_bits() == want.to_bits(),
                        "{name}({x:e}) = {:e}, not {want:e}",
                        y[i]
                    );
                }
            }
        }
    });
}

macro_rules! saturations {
    ($($name:ident($($c:expr),*): $($range:expr => $is:expr),*;)*) => {
        mod saturation {
            use super::*;

            $(mod $name {
                use super::*;

                fn every(stride: usize) {
                    check_exact(stringify!($name), instances!($name($($c),*)), &[$(($range, $is)),*], stride);
                }

                #[test]
                fn sample() {
                    every(STRIDE);
                }

                #[test]
                #[ignore = "2^32 arguments"]
                fn all() {
                    every(1);
                }
            })*
        }
    };
}

saturations! {
    exp(): -INF..=-104.0 => Value(0.0), 89.0..=INF => Value(INF);
    exp_flush(): -INF..=-87.6 => Value(0.0), 89.0..=INF => Value(INF);
    exp2(): -INF..=-150.0 => Value(0.0), 128.0..=INF => Value(INF);
    expm1(): -INF..=-17.4 => Value(-1.0), 89.0..=INF => Value(INF);
    tanh(): -INF..=-9.1 => Value(-1.0), 9.1..=INF => Value(1.0);
    erf(): -INF..=-3.94 => Value(-1.0), 3.94..=INF => Value(1.0);
    sigmoid(): -INF..=-88.8 => Value(0.0), 17.4..=INF => Value(1.0);
    silu(): f32::MIN..=-88.8 => Value(-0.0), 17.4..=INF => Argument;
    gelu(): -INF..=-5.67 => Value(0.0), 5.67..=INF => Argument;
    gelu_tanh(): f32::MIN..=-10.2 => Value(-0.0), 5.2..=INF => Argument;
    softplus(1.0, 20.0): -INF..=-104.0 => Value(0.0), 20.1..=INF => Argument;
    logsigmoid(): -INF..=-20.0 => Argument;
    relu6(): -INF..=-1e-45 => Value(0.0), 6.0..=INF => Value(6.0);
    hardsigmoid(): -INF..=-3.0 => Value(0.0), 3.0..=INF => Value(1.0);
    hardswish(): f32::MIN..=-3.0 => Value(-0.0), 3.0..=INF => Argument;
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
    log2: log2() 1.5, |x| x.log2(), ALL;
    log10: log10() 2.0, |x| x.log10(), ALL;
    log1p: log1p() 1.75, |x| x.ln_1p(), ALL;
    tanh: tanh() 2.75, |x| x.tanh(), ALL;
    erf: erf() 2.0, |x| libm::erf(x), ALL;
    erfc: erfc() 3.5, |x| libm::erfc(x), ALL;
    sigmoid: sigmoid() 2.5, |x| truth::sigmoid(x), Domain { low: -88.7, ..ALL };
    logsigmoid: logsigmoid() 2.5, |x| -truth::softplus(-x), ALL;
    softplus: softplus(1.0, 20.0) 2.5, |x| if x > 20.0 { x } else { truth::softplus(x) }, ALL;
    silu: silu() 2.5, |x| truth::silu(x), Domain { low: -88.7, ..ALL };
    mish: mish() 4.75, |x| x * truth::softplus(x).tanh(), Domain { low: f32::MIN, ..ALL };
    gelu: gelu() 6.25, |x| truth::gelu(x), Domain { low: 0.0, ..ALL };
    gelu_negative: gelu() 3.25, |x| truth::gelu(x), Domain { low: f32::MIN, high: 0.0, argument: true };
    gelu_tanh: gelu_tanh() 3.0, |x| truth::gelu_tanh(x), Domain { low: -1.0, ..ALL };
    gelu_tanh_negative: gelu_tanh() 0.5, |x| truth::gelu_tanh(x), Domain { low: f32::MIN, high: -1.0, argument: true };
    elu: elu(1.0) 1.75, |x| truth::elu(x), ALL;
    celu: celu(1.0) 1.75, |x| truth::elu(x), ALL;
    selu: selu() 3.0, |x| 1.050_700_987_355_480_5 * if x > 0.0 { x } else { 1.673_263_242_354_377_2 * x.exp_m1() }, ALL;
    hardsigmoid: hardsigmoid() 1.5, |x| (x + 3.0).clamp(0.0, 6.0) / 6.0, ALL;
    hardswish: hardswish() 2.5, |x| x * (x + 3.0).clamp(0.0, 6.0) / 6.0, Domain { low: f32::MIN, ..ALL };
    softsign: softsign() 1.5, |x| x / (1.0 + x.abs()), FINITE;
    rsqrt: rsqrt() 1.5, |x| 1.0 / x.sqrt(), ALL;
    sin: sin() 1.0, |x| x.sin(), ALL;
    cos: cos() 1.0, |x| x.cos(), ALL;
    tan: tan() 1.5, |x| x.tan(), ALL;
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
