//! f16 and bf16 in memory, f32 in registers.
//!
//! The conversions of the `half` crate test for CPU features at run time and call; a loop over them does not
//! vectorise. These are integer arithmetic and selects on the bit patterns (after F. Giesen, "float->half
//! variants"), so they do. Narrowing rounds to nearest even, overflows to infinity, rounds into the
//! subnormals and keeps NaN with its upper payload bits, bit for bit as `half` does.

use super::Store;
use tensorplay_graph::DType;

/// Bits of f32 infinity.
const INF: u32 = 0x7f80_0000;

/// The value of an f16 bit pattern.
#[inline(always)]
pub(super) fn f16_to_f32(h: u16) -> f32 {
    let h = u32::from(h);
    let magnitude = (h & 0x7fff) << 13;
    let exponent = magnitude & 0x0f80_0000;
    let normal = magnitude + (112 << 23);
    // infinity and NaN have the exponent of 2^16 by now and need that of f32
    let special = magnitude + (224 << 23);
    // a subnormal is its mantissa in units of 2^-24: give it the exponent of 2^-14 and take 2^-14 away
    let subnormal = (f32::from_bits(magnitude + (113 << 23)) - f32::from_bits(113 << 23)).to_bits();
    let bits = if exponent == 0x0f80_0000 { special } else { normal };
    let bits = if exponent == 0 { subnormal } else { bits };
    f32::from_bits(bits | (h & 0x8000) << 16)
}

/// The nearest f16 bit pattern.
#[inline(always)]
pub(super) fn f32_to_f16(x: f32) -> u16 {
    let bits = x.to_bits();
    let magnitude = bits & 0x7fff_ffff;
    let odd = (magnitude >> 13) & 1;
    let normal = magnitude.wrapping_sub(112 << 23).wrapping_add(0xfff + odd) >> 13;
    // adding 0.5 leaves the mantissa in units of 2^-24, rounded by the adder
    let subnormal = (f32::from_bits(magnitude) + 0.5)
        .to_bits()
        .wrapping_sub(0.5f32.to_bits());
    let nan = 0x7e00 | (magnitude >> 13 & 0x3ff);
    let h = if magnitude < 113 << 23 { subnormal } else { normal };
    let h = if magnitude >= 143 << 23 { 0x7c00 } else { h };
    let h = if magnitude > INF { nan } else { h };
    (h | (bits >> 16 & 0x8000)) as u16
}

/// The value of a bf16 bit pattern.
#[inline(always)]
pub(super) fn bf16_to_f32(h: u16) -> f32 {
    f32::from_bits(u32::from(h) << 16)
}

/// The nearest bf16 bit pattern.
#[inline(always)]
pub(super) fn f32_to_bf16(x: f32) -> u16 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    let nan = bits >> 16 | 0x40;
    (if bits & 0x7fff_ffff > INF { nan } else { rounded }) as u16
}

impl Store for ::half::f16 {
    type Elem = f32;
    const DTYPE: DType = DType::F16;
    #[inline(always)]
    fn load(self) -> f32 {
        f16_to_f32(self.to_bits())
    }
    #[inline(always)]
    fn store(e: f32) -> Self {
        ::half::f16::from_bits(f32_to_f16(e))
    }
}

impl Store for ::half::bf16 {
    type Elem = f32;
    const DTYPE: DType = DType::BF16;
    #[inline(always)]
    fn load(self) -> f32 {
        bf16_to_f32(self.to_bits())
    }
    #[inline(always)]
    fn store(e: f32) -> Self {
        ::half::bf16::from_bits(f32_to_bf16(e))
    }
}
