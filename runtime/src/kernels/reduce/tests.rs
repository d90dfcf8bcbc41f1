use super::super::tier::Isa;
use super::*;
use ReduceKind::*;

fn fold<E>(kind: ReduceKind, dtype: DType, x: &[E], isa: Isa, center: f64) -> Acc {
    let f = Folder::new(kind, dtype);
    let mut acc = f.start();
    // SAFETY: the slice is readable and the caller filters the instruction sets.
    unsafe { f.fns[isa as usize](x.as_ptr().cast(), x.len(), 0, center, &mut acc) };
    acc
}

fn isas() -> impl Iterator<Item = Isa> {
    Isa::ALL.into_iter().filter(|i| *i <= Isa::best())
}

const SIZES: [usize; 12] = [0, 1, 7, 15, 16, 33, 127, 128, 129, 1025, 4096, 9001];

#[test]
fn float_sums_are_accurate() {
    for n in SIZES {
        let x: Vec<f32> = (0..n).map(|i| ((i * 37 % 101) as f32 - 40.0) * 0.1).collect();
        let d: Vec<f64> = x.iter().map(|&v| f64::from(v)).collect();
        let sum: f64 = d.iter().sum();
        let squares: f64 = d.iter().map(|v| (v - 0.5) * (v - 0.5)).sum();
        for isa in isas() {
            let eps = 1e-6 * (n as f64 + 1.0);
            assert!(
                (fold(Sum, DType::F32, &x, isa, 0.0).f - sum).abs() <= eps,
                "{n} {isa}"
            );
            assert!(
                (fold(Sum, DType::F64, &d, isa, 0.0).f - sum).abs() <= 1e-9,
                "{n} {isa}"
            );
            let k = SumSquares { center: None };
            assert!(
                (fold(k, DType::F32, &x, isa, 0.5).f - squares).abs() <= 1e-6 * squares,
                "{n} {isa}"
            );
            assert!(
                (fold(k, DType::F64, &d, isa, 0.5).f - squares).abs() <= 1e-12 * squares,
                "{n} {isa}"
            );
        }
    }
}

#[test]
fn moments_match_two_passes_or_are_not_given() {
    let noise = |i: usize| (i * 37 % 101) as f32 * 0.01 - 0.5;
    for n in SIZES.into_iter().filter(|n| (1..=4096).contains(n)) {
        let rows: [(bool, Vec<f32>); 6] = [
            (n >= 33, (0..n).map(noise).collect()),
            (n >= 33, (0..n).map(|i| 1e6 + noise(i) * 16.0).collect()),
            (true, vec![0.1; n]),
            (
                false,
                (0..n).map(|i| if i < 16 { 1e6 } else { noise(i) }).collect(),
            ),
            (
                false,
                (0..n).map(|i| if i == n / 2 { f32::NAN } else { 1.0 }).collect(),
            ),
            (
                false,
                (0..n)
                    .map(|i| if i == n - 1 { f32::INFINITY } else { 1.0 })
                    .collect(),
            ),
        ];
        for (r, (known, x)) in rows.iter().enumerate() {
            let mean = x.iter().map(|v| f64::from(*v)).sum::<f64>() / n as f64;
            let center = f64::from(mean as f32);
            let want: f64 = x.iter().map(|v| (f64::from(*v) - center).powi(2)).sum();
            for isa in isas() {
                let mut m = Moments {
                    sum: 0.0,
                    mean: 0.0,
                    squares: 0.0,
                };
                let fns = moments(DType::F32).expect("f32 has moments");
                // SAFETY: the slice is readable and the CPU has the instruction set.
                unsafe { fns[isa as usize](x.as_ptr().cast(), 0, 1, n, &mut m) };
                let sum: f64 = x.iter().map(|v| f64::from(*v)).sum();
                let scale = if sum.is_finite() {
                    (want * n as f64).sqrt() + sum.abs()
                } else {
                    0.0
                };
                assert!(
                    m.sum == sum || (m.sum.is_nan() && sum.is_nan()) || (m.sum - sum).abs() <= 4e-7 * scale,
                    "{} {sum} {n} {r} {isa}",
                    m.sum
                );
                match m.around(center, n) {
                    Some(got) => assert!(
                        (got - want).abs() <= 2e-6 * want + 1e-12,
                        "{got} {want} {n} {r} {isa}"
                    ),
                    None => assert!(!*known, "{n} {r} {isa}"),
                }
            }
        }
    }
}

#[test]
fn extremes_find_every_place_and_nan_wins() {
    for n in SIZES.into_iter().filter(|&n| n > 0) {
        for place in [0, n / 3, n / 2, n - 1] {
            let mut x: Vec<f32> = (0..n).map(|i| ((i * 37) % 101) as f32 * -0.1 - 1.0).collect();
            for isa in isas() {
                x[place] = 3.0;
                assert_eq!(fold(Max, DType::F32, &x, isa, 0.0).f, 3.0);
                assert_eq!(fold(ArgMax, DType::F32, &x, isa, 0.0).at, place as i64);
                x[place] = -300.0;
                assert_eq!(fold(Min, DType::F32, &x, isa, 0.0).f, -300.0);
                assert_eq!(fold(ArgMin, DType::F32, &x, isa, 0.0).at, place as i64);
                x[place] = f32::NAN;
                for k in [Max, Min] {
                    assert!(fold(k, DType::F32, &x, isa, 0.0).f.is_nan(), "{n} {place} {isa}");
                }
                for k in [ArgMax, ArgMin] {
                    assert_eq!(fold(k, DType::F32, &x, isa, 0.0).at, place as i64);
                }
                let d: Vec<f64> = x.iter().map(|&v| f64::from(v)).collect();
                assert!(
                    fold(Max, DType::F64, &d, isa, 0.0).f.is_nan(),
                    "{n} {place} {isa}"
                );
            }
        }
    }
}

#[test]
fn the_first_of_two_zeros_is_the_extreme() {
    for n in SIZES.into_iter().filter(|&n| n > 1) {
        for (first, second) in [(0, n - 1), (n / 3, n / 2), (n - 2, n - 1)] {
            if first == second {
                continue;
            }
            for (sign, isa) in [0.0f32, -0.0]
                .into_iter()
                .flat_map(|s| isas().map(move |i| (s, i)))
            {
                for (kind, other) in [(Max, -1.0), (Min, 1.0)] {
                    let mut x = vec![other; n];
                    (x[first], x[second]) = (sign, -sign);
                    let got = fold(kind, DType::F32, &x, isa, 0.0).f;
                    assert_eq!(
                        got.to_bits(),
                        f64::from(sign).to_bits(),
                        "{kind:?} {n} {first} {isa}"
                    );
                    let wide: Vec<f64> = x.iter().map(|v| f64::from(*v)).collect();
                    let got = fold(kind, DType::F64, &wide, isa, 0.0).f;
                    assert_eq!(
                        got.to_bits(),
                        f64::from(sign).to_bits(),
                        "{kind:?} {n} {first} {isa}"
                    );
                }
            }
        }
    }
}

#[test]
fn integers_and_truth_values() {
    for n in SIZES {
        let x: Vec<i32> = (0..n).map(|i| (i as i32 * 7919) % 1000 - 500).collect();
        let b: Vec<bool> = x.iter().map(|v| *v > 300).collect();
        for isa in isas() {
            let i32s = |k| fold(k, DType::I32, &x, isa, 0.0).i;
            assert_eq!(i32s(Sum), x.iter().map(|&v| i64::from(v)).sum::<i64>());
            assert_eq!(
                i32s(Prod),
                x.iter().fold(1i64, |p, &v| p.wrapping_mul(i64::from(v)))
            );
            assert_eq!(
                i32s(Max),
                x.iter().map(|&v| i64::from(v)).max().unwrap_or(i64::MIN)
            );
            let bools = |k| fold(k, DType::Bool, &b, isa, 0.0).i;
            assert_eq!(bools(Sum), b.iter().filter(|v| **v).count() as i64);
            assert_eq!(bools(Any), i64::from(b.iter().any(|v| *v)));
            assert_eq!(bools(All), i64::from(b.iter().all(|v| *v)));
            let first = x
                .iter()
                .enumerate()
                .rev()
                .max_by_key(|(_, v)| **v)
                .map_or(-1, |(i, _)| i as i64);
            assert_eq!(fold(ArgMax, DType::I32, &x, isa, 0.0).at, first);
        }
    }
}

#[test]
fn merging_pieces_equals_one_piece() {
    let x: Vec<f64> = (0..5000).map(|i| f64::from(i * 31 % 1009)).collect();
    for k in [Sum, Max, Min, ArgMax, ArgMin, Any, All] {
        let f = Folder::new(k, DType::F64);
        let (mut whole, mut parts) = (f.start(), f.start());
        // SAFETY: within the slice.
        unsafe {
            f.chunk()(x.as_ptr().cast(), x.len(), 0, 0.0, &mut whole);
            for (c, piece) in x.chunks(777).enumerate() {
                let mut acc = f.start();
                f.chunk()(
                    piece.as_ptr().cast(),
                    piece.len(),
                    (c * 777) as i64,
                    0.0,
                    &mut acc,
                );
                f.merge(&mut parts, acc);
            }
        }
        assert_eq!(whole, parts, "{k:?}");
    }
}
