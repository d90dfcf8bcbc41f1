//! Speed of nests against hand-written loops over the same lane functions, interleaved, one thread:
//! `cargo test --release -p tensorplay-runtime speed -- --ignored --nocapture`.
#![cfg(target_arch = "x86_64")]

use super::super::par::with_threads;
use super::super::strip::{Strip, strip};
use super::super::tier::{isa, per_isa};
use super::tests::{AFFINE, NORM, SOFTMAX, affine_kernel, norm_kernel, softmax_kernel};
use super::{Code, Nest, Scalar, View};
use crate::lane::{Lane, Tier};
use std::hint::black_box;
use std::time::Instant;
use tensorplay_graph::Op;
use tensorplay_stax::kernel::{Kernel, LaneOp, Step};

const W: usize = 16;

crate::strip! {
    fn gelu_affine(x: [f32], w: [f32], b: [f32]; scale: f32) -> (y: f32 = out) {
        let half: f32 = 0.5;
        let mul = x * w;
        let add = mul + b;
        let act = add.gelu();
        let scaled = act * scale;
        let out = scaled - half;
    }
}
static GELU: [Strip; 1] = [strip::<gelu_affine>()];

/// `(x * w + b).gelu() * scale - 0.5`.
fn gelu_kernel() -> Kernel {
    let mut k = affine_kernel();
    if let Step::Map(m) = &mut k.steps[0] {
        m.program.insts[3].op = LaneOp::Op(Op::Gelu);
    }
    k
}

#[inline(never)]
fn total(a: &[f32; W]) -> f32 {
    a.iter().sum()
}
#[inline(never)]
fn largest(a: &[f32; W]) -> f32 {
    a.iter().copied().fold(f32::NEG_INFINITY, f32::max)
}
#[inline(always)]
fn max(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}
#[inline(always)]
fn fma<T: Tier>(a: f32, b: f32, c: f32) -> f32 {
    if T::FMA { a.mul_add(b, c) } else { a * b + c }
}

#[inline(always)]
fn softmax_row<T: Tier>(x: &[f32], o: &mut [f32]) {
    let o = &mut o[..x.len()];
    let mut m = [[f32::NEG_INFINITY; W]; 4];
    for c in x.chunks_exact(4 * W) {
        for k in 0..4 {
            for l in 0..W {
                m[k][l] = max(m[k][l], c[k * W + l]);
            }
        }
    }
    let m = largest(&std::array::from_fn(|l| {
        max(max(m[0][l], m[1][l]), max(m[2][l], m[3][l]))
    }));
    for i in 0..x.len() {
        o[i] = Lane::<f32, T>::new(x[i] - m).exp().get();
    }
    let mut s = [[0.0f32; W]; 4];
    for c in o.chunks_exact(4 * W) {
        for k in 0..4 {
            for l in 0..W {
                s[k][l] += c[k * W + l];
            }
        }
    }
    let r = 1.0
        / total(&std::array::from_fn(|l| {
            (s[0][l] + s[1][l]) + (s[2][l] + s[3][l])
        }));
    for v in o {
        *v *= r;
    }
}

#[inline(always)]
fn norm_rows<T: Tier>(x: &[f32], w: &[f32], b: &[f32], o: &mut [f32]) {
    let n = w.len();
    let b = &b[..n];
    for (x, o) in x.chunks_exact(n).zip(o.chunks_exact_mut(n)) {
        let pivot = x[0];
        let (mut s, mut q) = ([[0.0f32; W]; 4], [[0.0f32; W]; 4]);
        for c in x.chunks_exact(4 * W) {
            for k in 0..4 {
                for l in 0..W {
                    let d = c[k * W + l] - pivot;
                    s[k][l] += d;
                    q[k][l] = fma::<T>(d, d, q[k][l]);
                }
            }
        }
        let st = total(&std::array::from_fn(|l| {
            (s[0][l] + s[1][l]) + (s[2][l] + s[3][l])
        }));
        let qt = total(&std::array::from_fn(|l| {
            (q[0][l] + q[1][l]) + (q[2][l] + q[3][l])
        }));
        let md = st / n as f32;
        let r = 1.0 / ((qt / n as f32 - md * md).max(0.0) + 1e-5).sqrt();
        let mu = pivot + md;
        for i in 0..n {
            o[i] = (x[i] - mu) * r * w[i] + b[i];
        }
    }
}

#[inline(always)]
fn affine_rows<T: Tier>(x: &[f32], w: &[f32], b: &[f32], o: &mut [f32]) {
    let n = w.len();
    let b = &b[..n];
    for (x, o) in x.chunks_exact(n).zip(o.chunks_exact_mut(n)) {
        for i in 0..n {
            o[i] = Lane::<f32, T>::new(x[i] * w[i] + b[i]).gelu().get() * 1.5 - 0.5;
        }
    }
}

#[inline(always)]
unsafe fn hand<T: Tier>(which: usize, x: &[f32], w: &[f32], b: &[f32], o: &mut [f32]) {
    match which {
        0 => {
            // a closure would be compiled without the wrapper's target features
            for (x, o) in x.chunks_exact(w.len()).zip(o.chunks_exact_mut(w.len())) {
                softmax_row::<T>(x, o);
            }
        }
        1 => norm_rows::<T>(x, w, b, o),
        _ => affine_rows::<T>(x, w, b, o),
    }
}

#[test]
#[ignore = "a measurement"]
fn speed() {
    let hand = per_isa!(
        hand,
        fn(which: usize, x: &[f32], w: &[f32], b: &[f32], o: &mut [f32])
    )[isa() as usize];
    for (rows, cols) in [(1024usize, 1024usize), (32, 1024), (4096, 64), (16, 16384)] {
        let n = rows * cols;
        let x: Vec<f32> = (0..n).map(|i| (i % 977) as f32 * 0.01 - 4.0).collect();
        let w: Vec<f32> = (0..cols).map(|i| (i % 13) as f32 * 0.1).collect();
        let b = w.clone();
        let full = View {
            strides: [cols as isize, 1].into_iter().collect(),
        };
        let row = View {
            strides: [0, 1].into_iter().collect(),
        };
        let kernels = [
            (softmax_kernel(), &SOFTMAX[..], 1),
            (norm_kernel(), &NORM[..], 1),
            (gelu_kernel(), &GELU[..], 0),
        ];
        let scalars = [
            vec![],
            vec![Scalar::Float(1.0 / cols as f64), Scalar::Float(1e-5)],
            vec![Scalar::Float(1.5)],
        ];
        for (which, name) in ["softmax", "layer_norm", "gelu"].into_iter().enumerate() {
            let (k, strips, reduced) = &kernels[which];
            let views: Vec<View> = [full.clone(), row.clone(), row.clone()][..k.operands.len()].to_vec();
            let pointers: Vec<*const u8> = [&x, &w, &b][..k.operands.len()]
                .iter()
                .map(|v| v.as_ptr().cast())
                .collect();
            let nest = Nest::bind(k, &[rows, cols], *reduced, &views, std::slice::from_ref(&full));
            let (mut times, reps) = ([vec![], vec![], vec![]], ((1 << 20) / n).max(1));
            for _ in 0..61 {
                for (mode, times) in times.iter_mut().enumerate() {
                    let start = Instant::now();
                    for _ in 0..reps {
                        let mut out: Vec<f32> = Vec::with_capacity(n);
                        // SAFETY: the output has room for the space; all of it is written.
                        unsafe {
                            match mode {
                                0 => hand(
                                    which,
                                    &x,
                                    &w,
                                    &b,
                                    std::slice::from_raw_parts_mut(out.as_mut_ptr(), n),
                                ),
                                m => with_threads(1, || {
                                    let code = if m == 1 { Code::Emitted(strips) } else { Code::Tile };
                                    nest.run(k, code, &pointers, &[out.as_mut_ptr().cast()], &scalars[which]);
                                }),
                            }
                            out.set_len(n);
                        }
                        black_box(out);
                    }
                    times.push(start.elapsed().as_secs_f64() * 1e6 / reps as f64);
                }
            }
            let median = |t: &mut Vec<f64>| {
                t.sort_by(f64::total_cmp);
                t[t.len() / 2]
            };
            let [h, e, t] = &mut times;
            let (h, e, t) = (median(h), median(e), median(t));
            println!(
                "{} {rows}x{cols} {name}: hand {h:.1} us, emitted {e:.1} ({:.3}), tile {t:.1} ({:.2})",
                isa(),
                e / h,
                t / h
            );
        }
    }
    let (k, n) = (affine_kernel(), 64);
    let x = vec![1.0f32; n];
    let mut out = vec![0.0f32; n];
    let v = View {
        strides: [1].into_iter().collect(),
    };
    let nest = Nest::bind(&k, &[n], 0, &[v.clone(), v.clone(), v.clone()], &[v]);
    let p: *const u8 = x.as_ptr().cast();
    for (name, code) in [("emitted", Code::Emitted(&AFFINE)), ("tile", Code::Tile)] {
        let best = (0..50)
            .map(|_| {
                let start = Instant::now();
                for _ in 0..1000 {
                    // SAFETY: vectors of `n` elements.
                    unsafe {
                        nest.run(
                            &k,
                            code,
                            &[p, p, p],
                            &[out.as_mut_ptr().cast()],
                            &[Scalar::Float(1.5)],
                        )
                    };
                    black_box(&mut out);
                }
                start.elapsed().as_secs_f64() * 1e6
            })
            .fold(f64::INFINITY, f64::min);
        println!("64 elements, {name}: {best:.0} ns");
    }
    // the reducers: loads a cycle at 3 GHz
    use super::super::reduce::Folder;
    use tensorplay_graph::DType;
    use tensorplay_stax::kernel::ReduceKind;
    let x = vec![1.0f32; 1024];
    for kind in [
        ReduceKind::Sum,
        ReduceKind::Max,
        ReduceKind::SumSquares { center: None },
    ] {
        let f = Folder::new(kind, DType::F32);
        let chunk = f.chunk();
        let ns = (0..200)
            .map(|_| {
                let start = Instant::now();
                for _ in 0..1000 {
                    let mut acc = f.start();
                    // SAFETY: 1024 elements.
                    unsafe { chunk(x.as_ptr().cast(), 1024, 0, 0.5, &mut acc) };
                    black_box(acc);
                }
                start.elapsed().as_secs_f64() * 1e6
            })
            .fold(f64::INFINITY, f64::min);
        println!(
            "{kind:?} of 1024 f32 in L1: {ns:.1} ns, {:.2} loads of 64 bytes a ns",
            64.0 / ns
        );
    }
    use super::super::strip::{Arg, Raw};
    let mut y = vec![0.0f32; 1024 + 48];
    let one = 1.0f32;
    let arg = |p: *const u8| Arg { ptr: p, step: 0 };
    for (name, strip) in [("exp", &SOFTMAX[0]), ("scale", &SOFTMAX[2])] {
        let Some(f) = strip.function() else { continue };
        let operands = [
            arg(x.as_ptr().cast()),
            arg((&raw const one).cast()),
            arg(y.as_mut_ptr().wrapping_add(32).cast_const().cast()),
        ];
        for n in [64, 1024] {
            let ns = (0..200)
                .map(|_| {
                    let start = Instant::now();
                    for _ in 0..1000 {
                        // SAFETY: 1024 elements each.
                        unsafe {
                            f(&Raw {
                                operands: black_box(&operands),
                                rows: 1,
                                n,
                            })
                        };
                    }
                    start.elapsed().as_secs_f64() * 1e6
                })
                .fold(f64::INFINITY, f64::min);
            println!("strip {name} of {n} f32 in L1: {ns:.1} ns");
        }
    }
}
