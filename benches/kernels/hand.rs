//! Hand-written loops: what an expert writes for AVX-512, over the product's own vector functions.

use std::mem::MaybeUninit;
use tensorplay::__private::{Fused, Lane, Portable, Tier};

type L<T> = Lane<f32, T>;

fn lane<T: Tier>(v: f32) -> L<T> {
    Lane::new(v)
}

macro_rules! hand {
    ($($name:ident($x:ident: $xt:ty $(, $arg:ident: $t:ty)*; $out:ident) = $body:ident;)*) => {$(
        pub fn $name($x: $xt $(, $arg: $t)*) -> Vec<f32> {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma")]
            fn avx512($x: $xt, $($arg: $t,)* out: &mut [MaybeUninit<f32>]) { $body::<Fused>($x, $($arg,)* out) }
            let n = $x.len();
            let mut $out: Vec<f32> = Vec::with_capacity(n);
            let out = &mut $out.spare_capacity_mut()[..n];
            #[cfg(target_arch = "x86_64")]
            if std::is_x86_feature_detected!("avx512dq") && std::is_x86_feature_detected!("avx512bw") {
                // SAFETY: the CPU has the features.
                unsafe { avx512($x, $($arg,)* out) };
                // SAFETY: the body wrote all n elements.
                unsafe { $out.set_len(n) };
                return $out;
            }
            $body::<Portable>($x, $($arg,)* out);
            // SAFETY: the body wrote all n elements.
            unsafe { $out.set_len(n) };
            $out
        }
    )*};
}

hand! {
    gelu_affine(x: &[f32], w: &[f32], b: &[f32]; out) = gelu_affine_body;
    softmax(x: &[f32], n: usize; out) = softmax_body;
    layer_norm(x: &[f32], w: &[f32], b: &[f32]; out) = layer_norm_body;
}

#[inline(always)]
fn gelu_affine_body<T: Tier>(x: &[f32], w: &[f32], b: &[f32], out: &mut [MaybeUninit<f32>]) {
    let n = w.len();
    let b = &b[..n];
    for (x, out) in x.chunks_exact(n).zip(out.chunks_exact_mut(n)) {
        for i in 0..n {
            out[i].write((lane::<T>(x[i]) * lane(w[i]) + lane(b[i])).gelu().get());
        }
    }
}

const LANES: usize = 16;

/// Kept out of line, or the accumulators are torn into narrow shuffles.
#[inline(never)]
fn total(a: &[f32; LANES]) -> f32 {
    let mut t = *a;
    let mut half = LANES / 2;
    while half > 0 {
        for i in 0..half {
            t[i] += t[i + half];
        }
        half /= 2;
    }
    t[0]
}

#[inline(never)]
fn largest(a: &[f32; LANES]) -> f32 {
    a.iter()
        .fold(f32::NEG_INFINITY, |m, &v| if m > v { m } else { v })
}

#[inline(always)]
fn softmax_body<T: Tier>(x: &[f32], n: usize, out: &mut [MaybeUninit<f32>]) {
    for (x, out) in x.chunks_exact(n).zip(out.chunks_exact_mut(n)) {
        let mut m = [[f32::NEG_INFINITY; LANES]; 4];
        let mut chunks = x.chunks_exact(4 * LANES);
        for c in &mut chunks {
            for k in 0..4 {
                for l in 0..LANES {
                    let v = c[k * LANES + l];
                    m[k][l] = if m[k][l] > v { m[k][l] } else { v };
                }
            }
        }
        let pair = |a: f32, b: f32| if a > b { a } else { b };
        let mut max = largest(&std::array::from_fn(|l| {
            pair(pair(m[0][l], m[1][l]), pair(m[2][l], m[3][l]))
        }));
        for &v in chunks.remainder() {
            max = pair(max, v);
        }
        let mut s = [[0.0f32; LANES]; 2];
        let whole = n / (2 * LANES) * (2 * LANES);
        for (c, o) in x[..whole]
            .chunks_exact(2 * LANES)
            .zip(out[..whole].chunks_exact_mut(2 * LANES))
        {
            for k in 0..2 {
                for l in 0..LANES {
                    let e = lane::<T>(c[k * LANES + l] - max).exp().get();
                    o[k * LANES + l].write(e);
                    s[k][l] += e;
                }
            }
        }
        let mut sum = total(&std::array::from_fn(|l| s[0][l] + s[1][l]));
        for i in whole..n {
            let e = lane::<T>(x[i] - max).exp().get();
            out[i].write(e);
            sum += e;
        }
        let r = 1.0 / sum;
        for o in out {
            // SAFETY: the pass before wrote every element of the row.
            let e = unsafe { o.assume_init() };
            o.write(e * r);
        }
    }
}

/// One pass of sums about a pivot, one affine pass.
#[inline(always)]
fn layer_norm_body<T: Tier>(x: &[f32], w: &[f32], b: &[f32], out: &mut [MaybeUninit<f32>]) {
    let n = w.len();
    let b = &b[..n];
    let fma = |a: f32, b: f32, c: f32| if T::FMA { a.mul_add(b, c) } else { a * b + c };
    for (x, out) in x.chunks_exact(n).zip(out.chunks_exact_mut(n)) {
        let pivot = x[0];
        let mut s = [[0.0f32; LANES]; 4];
        let mut q = [[0.0f32; LANES]; 4];
        let mut chunks = x.chunks_exact(4 * LANES);
        for c in &mut chunks {
            for k in 0..4 {
                for l in 0..LANES {
                    let d = c[k * LANES + l] - pivot;
                    s[k][l] += d;
                    q[k][l] = fma(d, d, q[k][l]);
                }
            }
        }
        let four = |a: &[[f32; LANES]; 4]| {
            total(&std::array::from_fn(|l| {
                (a[0][l] + a[1][l]) + (a[2][l] + a[3][l])
            }))
        };
        let (mut sum, mut squares) = (four(&s), four(&q));
        for &v in chunks.remainder() {
            let d = v - pivot;
            sum += d;
            squares = fma(d, d, squares);
        }
        let shift = sum / n as f32;
        let var = (squares / n as f32 - shift * shift).max(0.0);
        let (r, mean) = (1.0 / (var + 1e-5).sqrt(), pivot + shift);
        for i in 0..n {
            out[i].write(((lane::<T>(x[i]) - lane(mean)) * lane(r) * lane(w[i]) + lane(b[i])).get());
        }
    }
}
