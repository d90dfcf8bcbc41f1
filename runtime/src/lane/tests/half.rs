//! Widening: every pattern. Narrowing: every representable value, every midpoint of neighbours and the floats next
//! to it, and a stride over all patterns; all 2^32 in the ignored test.

use crate::lane::{Lane, Portable, Store};
use half::{bf16, f16};

fn same_f16(x: f32) {
    let (ours, theirs) = (<f16 as Store>::store(x), f16::from_f32(x));
    assert!(
        ours.to_bits() == theirs.to_bits() || x.is_nan() && ours.is_nan(),
        "f16 of {x:e} ({:#x})",
        x.to_bits()
    );
}

fn same_bf16(x: f32) {
    let (ours, theirs) = (<bf16 as Store>::store(x), bf16::from_f32(x));
    assert!(
        ours.to_bits() == theirs.to_bits() || x.is_nan() && ours.is_nan(),
        "bf16 of {x:e} ({:#x})",
        x.to_bits()
    );
}

#[test]
fn widening() {
    for h in 0..=u16::MAX {
        let (ours, theirs) = (f16::from_bits(h).load(), f16::from_bits(h).to_f32());
        assert!(
            ours.to_bits() == theirs.to_bits() || ours.is_nan() && theirs.is_nan(),
            "f16 {h:#x}"
        );
        let (ours, theirs) = (bf16::from_bits(h).load(), bf16::from_bits(h).to_f32());
        assert!(
            ours.to_bits() == theirs.to_bits() || ours.is_nan() && theirs.is_nan(),
            "bf16 {h:#x}"
        );
    }
}

#[test]
fn narrowing() {
    for h in 0..u16::MAX {
        let (a, b) = (
            f16::from_bits(h).to_f32(),
            f16::from_bits(h.wrapping_add(1)).to_f32(),
        );
        for x in [
            a,
            (a + b) / 2.0,
            ((a + b) / 2.0).next_up(),
            ((a + b) / 2.0).next_down(),
        ] {
            same_f16(x);
        }
        let bits = u32::from(h) << 16;
        for low in [0, 1, 0x7fff, 0x8000, 0x8001, 0xffff] {
            same_bf16(f32::from_bits(bits | low));
            same_f16(f32::from_bits(bits | low));
        }
    }
    for bits in (0..=u32::MAX).step_by(257) {
        same_f16(f32::from_bits(bits));
        same_bf16(f32::from_bits(bits));
    }
}

#[test]
#[ignore = "all 2^32 patterns: a minute"]
fn narrowing_all() {
    for bits in 0..=u32::MAX {
        same_f16(f32::from_bits(bits));
        same_bf16(f32::from_bits(bits));
    }
}

#[test]
fn rounding_in_place() {
    for bits in (0..=u32::MAX).step_by(9973) {
        let x = Lane::<f32, Portable>::new(f32::from_bits(bits));
        let (h, b) = (f16::from_f32(x.get()).to_f32(), bf16::from_f32(x.get()).to_f32());
        assert!(x.round_f16().get() == h || h.is_nan());
        assert!(x.round_bf16().get() == b || b.is_nan());
    }
}
