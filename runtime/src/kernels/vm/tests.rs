//! Every instruction that the op table yields, on every instruction set, against the lane methods of the tier.

use super::super::tier::Isa;
use super::instructions::*;
use super::*;
use crate::lane::{Fused, Lane, Portable, Tier};
use tensorplay_graph::Op;

const SIZES: [usize; 5] = [1, 7, 33, 64, 1025];

fn values(n: usize, salt: usize, dtype: DType) -> Vec<u8> {
    let mut out = vec![];
    for i in 0..n {
        let k = ((i * 37 + salt * 11) % 61) as i64 - 30;
        let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 1e30, 1e-30];
        let f = if i % 29 == salt {
            special[i % 6]
        } else {
            k as f64 * 0.31
        };
        match dtype {
            DType::F32 => out.extend((f as f32).to_ne_bytes()),
            DType::F64 => out.extend(f.to_ne_bytes()),
            DType::I32 => out.extend((k as i32).to_ne_bytes()),
            DType::I64 => out.extend(k.to_ne_bytes()),
            DType::U8 => out.extend((k as u8).to_ne_bytes()),
            _ => out.push(u8::from(k > 0)),
        }
    }
    out
}

fn call(fns: &InstFns, isa: Isa, args: &[&[u8]], n: usize, out: usize) -> Vec<u8> {
    let mut result = vec![0xa5u8; n * out];
    let mut p = [std::ptr::null(); 4];
    // aligned copies
    let copies: Vec<Vec<u64>> = args
        .iter()
        .map(|a| {
            let mut v = vec![0u64; a.len().div_ceil(8)];
            // SAFETY: the copy has room.
            unsafe { a.as_ptr().copy_to_nonoverlapping(v.as_mut_ptr().cast(), a.len()) };
            v
        })
        .collect();
    copies
        .iter()
        .zip(&mut p)
        .for_each(|(c, p)| *p = c.as_ptr().cast());
    let mut aligned = vec![0u64; (n * out).div_ceil(8)];
    // SAFETY: all vectors have `n` elements.
    unsafe {
        fns[isa as usize](&p, aligned.as_mut_ptr().cast(), n);
        aligned
            .as_ptr()
            .cast::<u8>()
            .copy_to_nonoverlapping(result.as_mut_ptr(), n * out);
    }
    result
}

/// The bits, but for NaN, whose sign and payload are nobody's promise.
fn bits(bytes: &[u8], dtype: DType, predicate: bool) -> Vec<u64> {
    let each = |size: usize| bytes.chunks(size);
    match dtype {
        DType::F32 if !predicate => each(4)
            .map(|b| f32::from_ne_bytes(b.try_into().unwrap()))
            .map(|v| {
                if v.is_nan() {
                    u64::MAX
                } else {
                    u64::from(v.to_bits())
                }
            })
            .collect(),
        DType::F64 if !predicate => each(8)
            .map(|b| f64::from_ne_bytes(b.try_into().unwrap()))
            .map(|v| if v.is_nan() { u64::MAX } else { v.to_bits() })
            .collect(),
        _ => bytes.iter().map(|b| u64::from(*b)).collect(),
    }
}

/// Every op and dtype: long calls equal calls of one lane, so loops and tails agree; AVX2 equals AVX-512.
#[test]
fn every_instruction_maps_lane_by_lane() {
    let mut count = 0;
    for op in Op::ALL {
        for dtype in DType::ALL {
            let Some(fns) = op_fns(*op, dtype) else { continue };
            count += 1;
            let masked = *op == Op::WhereCond;
            let predicate = matches!(
                op,
                Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge | Op::Isnan | Op::Isinf | Op::Isfinite
            );
            let out = if predicate { 1 } else { dtype.size() };
            for n in SIZES {
                let data: Vec<Vec<u8>> = (0..4)
                    .map(|k| values(n, k, if masked && k == 0 { DType::Bool } else { dtype }))
                    .collect();
                let args: Vec<&[u8]> = data.iter().map(Vec::as_slice).collect();
                let mut all = vec![];
                for isa in Isa::ALL.into_iter().filter(|i| *i <= Isa::best()) {
                    let long = call(&fns, isa, &args, n, out);
                    for i in 0..n {
                        let one: Vec<&[u8]> = args
                            .iter()
                            .map(|a| &a[i * a.len() / n..(i + 1) * a.len() / n])
                            .collect();
                        let (got, want) = (&long[i * out..][..out], call(&fns, isa, &one, 1, out));
                        let bits = |b: &[u8]| bits(b, dtype, predicate);
                        assert_eq!(bits(got), bits(&want), "{op} {dtype} {isa} {i}/{n}");
                    }
                    all.push(bits(&long, dtype, predicate));
                }
                if all.len() == 3 {
                    assert!(all[1] == all[2], "{op} {dtype}: avx2 and avx512 differ");
                }
            }
        }
    }
    assert!(count > 150, "{count} instructions");
}

#[test]
fn instructions_are_the_lane_methods() {
    fn check<T: Tier>(isa: Isa) {
        for i in -40..40 {
            let (x, y) = (i as f32 * 0.37, (i * 7 % 11) as f32 - 4.5);
            let (a, b) = (Lane::<f32, T>::new(x), Lane::<f32, T>::new(y));
            let f32s = |op: Op| {
                let fns = op_fns(op, DType::F32).unwrap();
                f32::from_ne_bytes(
                    call(&fns, isa, &[&x.to_ne_bytes(), &y.to_ne_bytes()], 1, 4)
                        .try_into()
                        .unwrap(),
                )
            };
            let same =
                |got: f32, want: Lane<f32, T>| assert_eq!(got.to_bits(), want.get().to_bits(), "{x} {y}");
            same(f32s(Op::Add), a + b);
            same(f32s(Op::Div), a / b);
            same(f32s(Op::Exp), a.exp());
            same(f32s(Op::Gelu), a.gelu());
            same(f32s(Op::Tanh), a.tanh());
            same(f32s(Op::Pow), a.pow(b));
            same(f32s(Op::Maximum), a.maximum(b));
            same(f32s(Op::Round), a.round());
        }
    }
    check::<Portable>(Isa::Portable);
    if Isa::best() > Isa::Portable {
        check::<Fused>(Isa::Avx2);
    }
}

#[test]
fn casts_saturate_and_halves_round() {
    for isa in Isa::ALL.into_iter().filter(|i| *i <= Isa::best()) {
        for (v, want) in [(f32::NAN, 0), (1e20, i32::MAX), (-1e20, i32::MIN), (-2.7, -2)] {
            let fns = cast_fns(DType::F32, DType::I32).unwrap();
            assert_eq!(call(&fns, isa, &[&v.to_ne_bytes()], 1, 4), want.to_ne_bytes());
            let b = call(
                &cast_fns(DType::F32, DType::Bool).unwrap(),
                isa,
                &[&v.to_ne_bytes()],
                1,
                1,
            );
            assert_eq!(b, [1]);
        }
        let x = 1.0009766f32 + 1e-4;
        let h = call(&store_fns(DType::F16).unwrap(), isa, &[&x.to_ne_bytes()], 1, 2);
        assert_eq!(h, half::f16::from_f32(x).to_ne_bytes());
        let back = call(&load_fns(DType::F16).unwrap(), isa, &[&h], 1, 4);
        assert_eq!(
            back,
            call(&round_fns(DType::F16).unwrap(), isa, &[&x.to_ne_bytes()], 1, 4)
        );
    }
}
