//! Operations with one right answer, against std: roundings over a stride of all f32 patterns, casts at and next
//! to their limits, integers over a grid with the extremes.

use crate::lane::{Fused, Lane, Portable, Tier};

fn same(x: f64, y: f64) -> bool {
    x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan()
}

fn roundings_of<T: Tier>(x: f32) {
    let (a, b) = (Lane::<f32, T>::new(x), Lane::<f64, T>::new(f64::from(x)));
    let pairs = [
        (a.floor(), b.floor(), x.floor()),
        (a.ceil(), b.ceil(), x.ceil()),
        (a.trunc(), b.trunc(), x.trunc()),
        (a.round(), b.round(), x.round_ties_even()),
    ];
    for (i, (a, b, exact)) in pairs.into_iter().enumerate() {
        assert!(
            same(a.get().into(), exact.into()),
            "rounding {i} of {x:e}: {:e}",
            a.get()
        );
        assert!(
            same(b.get(), exact.into()),
            "rounding {i} of {x:e}: {:e}",
            b.get()
        );
    }
}

#[test]
fn roundings() {
    for bits in (0..=u32::MAX).step_by(4099) {
        roundings_of::<Portable>(f32::from_bits(bits));
        roundings_of::<Fused>(f32::from_bits(bits));
    }
    for i in -4096..4096 {
        let x = i as f32 / 4.0;
        for x in [x, x.next_up(), x.next_down(), x + 8_388_608.0, x - 8_388_608.0] {
            roundings_of::<Portable>(x);
        }
    }
    let big = 4_503_599_627_370_496.0f64;
    for x in [
        0.5,
        1.5,
        big - 0.5,
        big - 1.5,
        big + 1.0,
        -big + 0.5,
        0.49999999999999994,
    ] {
        let lane = Lane::<f64, Portable>::new(x);
        assert_eq!((lane.floor().get(), lane.ceil().get()), (x.floor(), x.ceil()));
        assert_eq!(
            (lane.trunc().get(), lane.round().get()),
            (x.trunc(), x.round_ties_even())
        );
    }
}

#[test]
fn casts() {
    let mut values = vec![
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        0.0,
        -0.0,
        0.9,
        -0.9,
        1e-310,
        1e300,
        -1e300,
    ];
    for p in [0, 7, 8, 31, 32, 62, 63, 64] {
        let x = 2f64.powi(p);
        values.extend([x, x - 1.0, x + 1.0, x.next_down(), x.next_up(), x - 0.5, x + 0.5]);
        values.extend([-x, 1.0 - x, -x - 1.0, -x.next_down(), -x.next_up(), 0.5 - x]);
    }
    for x in values {
        let y = x as f32;
        let (a, b) = (Lane::<f64, Portable>::new(x), Lane::<f32, Portable>::new(y));
        assert_eq!(
            (a.to_i32().get(), a.to_i64().get(), a.to_u8().get()),
            (x as i32, x as i64, x as u8),
            "{x}"
        );
        assert_eq!(
            (b.to_i32().get(), b.to_i64().get(), b.to_u8().get()),
            (y as i32, y as i64, y as u8),
            "{y}"
        );
        assert_eq!((a.to_bool().get(), b.to_bool().get()), (x != 0.0, y != 0.0));
    }
    let i = Lane::<i64, Portable>::new(-(1 << 40) - 3);
    assert_eq!(
        (i.to_i32().get(), i.to_u8().get(), i.to_f32().get()),
        (-3, 253, -1_099_511_627_779i64 as f32)
    );
    let t = Lane::<bool, Portable>::new(true);
    assert_eq!(
        (
            t.to_f32().get(),
            t.to_i64().get(),
            t.to_u8().get(),
            t.to_bool().get()
        ),
        (1.0, 1, 1, true)
    );
}

macro_rules! integers {
    ($name:ident $e:ty, $wide:ty) => {
        #[test]
        fn $name() {
            let new = Lane::<$e, Portable>::new;
            let grid = [
                <$e>::MIN,
                <$e>::MIN.wrapping_add(1),
                0,
                1,
                2,
                3,
                5,
                7,
                (0 as $e).wrapping_sub(1),
                (0 as $e).wrapping_sub(3),
                <$e>::MAX,
            ];
            for a in grid {
                for b in grid {
                    let (x, y, wide_a, wide_b) = (new(a), new(b), a as $wide, b as $wide);
                    assert_eq!((x + y).get(), a.wrapping_add(b));
                    assert_eq!((x * y).get(), a.wrapping_mul(b));
                    assert_eq!(
                        (x.maximum(y).get(), x.minimum(y).get()),
                        (a.max(b), a.min(b))
                    );
                    assert_eq!(
                        (x.lt(y).get(), x.eq(y).get(), x.ge(y).get()),
                        (a < b, a == b, a >= b)
                    );
                    if b == 0 {
                        assert_eq!(
                            (x.fmod(y).get(), x.remainder(y).get(), x.floor_div(y).get()),
                            (0, 0, 0)
                        );
                        continue;
                    }
                    let (q, r) = (wide_a.div_euclid(wide_b), wide_a.rem_euclid(wide_b));
                    let (q, r) = if r != 0 && wide_b < 0 {
                        (q - 1, r + wide_b)
                    } else {
                        (q, r)
                    };
                    assert_eq!(x.fmod(y).get(), (wide_a % wide_b) as $e, "fmod {a} {b}");
                    assert_eq!(x.remainder(y).get(), r as $e, "remainder {a} {b}");
                    assert_eq!(x.floor_div(y).get(), q as $e, "floor_div {a} {b}");
                }
                for e in 0..70u8 {
                    assert_eq!(
                        new(a).pow(new(e as $e)).get(),
                        a.wrapping_pow(e.into()),
                        "{a}^{e}"
                    );
                }
            }
        }
    };
}
integers!(integers_i32 i32, i128);
integers!(integers_i64 i64, i128);
integers!(integers_u8 u8, i128);

#[test]
fn negative_integer_powers() {
    let pow = |a: i32, e: i32| Lane::<i32, Portable>::new(a).pow(Lane::new(e)).get();
    assert_eq!(
        [
            pow(1, -5),
            pow(-1, -5),
            pow(-1, -4),
            pow(2, -1),
            pow(-3, -2),
            pow(0, -1)
        ],
        [1, -1, 1, 0, 0, 0]
    );
    assert_eq!(pow(-1, i32::MIN), 1);
}

#[test]
fn truth_values() {
    let new = Lane::<bool, Portable>::new;
    for (a, b) in [(false, false), (false, true), (true, false), (true, true)] {
        let (x, y) = (new(a), new(b));
        assert_eq!(
            (
                x.logical_and(y).get(),
                x.logical_or(y).get(),
                x.logical_xor(y).get()
            ),
            (a & b, a | b, a ^ b)
        );
        assert_eq!(
            (x.maximum(y).get(), x.minimum(y).get(), x.bitwise_not().get()),
            (a | b, a & b, !a)
        );
        assert_eq!(
            (x.lt(y).get(), x.ge(y).get(), x.ne(y).get()),
            (!a & b, a | !b, a != b)
        );
        assert_eq!(
            x.where_cond(Lane::<f32, Portable>::new(1.0), Lane::new(2.0))
                .get(),
            if a { 1.0 } else { 2.0 }
        );
    }
}

#[test]
fn products_and_sums_are_not_contracted() {
    let new = Lane::<f32, Fused>::new;
    let a = 1.0 + f32::EPSILON;
    let separate = a * a - (1.0 + 2.0 * f32::EPSILON);
    assert_eq!((new(a) * new(a) - new(1.0 + 2.0 * f32::EPSILON)).get(), separate);
}
