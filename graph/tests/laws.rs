//! The inputs of `src/passes/README.md`: each shows that a rewrite changes a result.

/// Different bits; two NaNs are equal.
fn differ(left: f32, right: f32) {
    let same = left.to_bits() == right.to_bits() || left.is_nan() && right.is_nan();
    assert!(!same, "{left:?} and {right:?} are the same");
}

#[test]
#[allow(clippy::eq_op)]
fn illegal_rewrites_change_a_result() {
    let one = std::hint::black_box(1.0f32);
    let (zero, inf, nan, big) = (one - one, f32::INFINITY, f32::NAN, 1e20f32);
    differ(-zero + 0.0, -zero);
    differ(0.0 - zero, -zero);
    differ(one - one, -(one - one));
    differ(inf * zero, 0.0);
    differ(-one * 0.0, 0.0);
    differ(one * 0.0, one * -0.0);
    differ(inf - inf, 0.0);
    differ(zero / zero, 1.0);
    differ(5.0 * one / 3.0, 5.0 * (one / 3.0));
    differ((one + big) - big, one);
    differ((one + big) + -big, one + (big + -big));
    differ(big * big + big * -big, big * (big + -big));
    let a = 1.0001 * one;
    differ(a * a + -1.0002, a.mul_add(a, -1.0002));
    differ((-one).sqrt() * (-one).sqrt(), -one);
    differ((1000.0 * one).exp().ln(), 1000.0);
    differ((-inf).powf(0.5 * one), (-inf).sqrt());
    let third = one / 3.0;
    differ(
        (5.0 * one + 0.0 + 0.0) / 3.0,
        5.0 * third + 0.0 * third + 0.0 * third,
    );
    let (e0, e1) = ((inf - inf).exp(), (zero - inf).exp());
    differ(e0 / (e0 + e1) + e1 / (e0 + e1), 1.0);
    assert_eq!((nan == nan, nan < one, nan >= one), (false, false, false));
    let x = std::hint::black_box(0.1f64);
    assert_ne!(f64::from(x as f32), x);
    let x = std::hint::black_box(16_777_217i64);
    assert_ne!(x as f32 as i64, x);
}
