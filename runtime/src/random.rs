//! Random numbers by counting.
//!
//! Problem: the same numbers for eager and compiled code, any thread count and any schedule. Method: Philox
//! 4x32-10 (Salmon et al., 2011) as a pure function of (seed, op, element): the seed is the key, the op
//! number and the element's block are the counter. Four f32 or half values share a block, or two f64 values.
//! Invariants: op numbers are process-wide, start at 0 with [`manual_seed`] and are never used twice under
//! one seed, but for code that is run again to be compared (`drawing_from`); uniform values are in `[0, 1)` and exact in their dtype.

use crate::element::Element;
use crate::sync::lock;
use half::{bf16, f16};
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::Mutex;

/// What one random op draws with: the seed and the op's number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RandomKey {
    seed: u64,
    op: u64,
}

impl RandomKey {
    /// The key of the `i`-th op of a reservation.
    #[inline]
    pub fn nth(self, i: u64) -> RandomKey {
        RandomKey {
            op: self.op.wrapping_add(i),
            ..self
        }
    }

    /// The seed.
    pub fn seed(self) -> u64 {
        self.seed
    }

    /// The op's number since the seed was set.
    pub fn op(self) -> u64 {
        self.op
    }
}

/// The next op number; the seed of a process that sets none is PyTorch's.
static NEXT: Mutex<RandomKey> = Mutex::new(RandomKey {
    seed: 67_280_421_310_721,
    op: 0,
});

thread_local! {
    /// The next op number of code that draws apart from the rest of the process.
    static APART: Cell<Option<RandomKey>> = const { Cell::new(None) };
}

/// Starts the process's random numbers anew.
pub fn manual_seed(seed: u64) {
    let first = RandomKey { seed, op: 0 };
    if APART.get().is_some() {
        APART.set(Some(first));
    } else {
        *lock(&NEXT) = first;
    }
}

/// The next op number.
pub(crate) fn state() -> RandomKey {
    APART.get().unwrap_or_else(|| *lock(&NEXT))
}

/// Runs `f` with its random ops numbered from `start`, apart from the rest of the process: what others draw meanwhile
/// changes nothing for `f`, and `f` nothing for them. It holds for this thread alone.
pub(crate) fn drawing_from<R>(start: RandomKey, f: impl FnOnce() -> R) -> R {
    struct Back(Option<RandomKey>, PhantomData<*const ()>);
    impl Drop for Back {
        fn drop(&mut self) {
            APART.set(self.0);
        }
    }
    let _back = Back(APART.replace(Some(start)), PhantomData);
    f()
}

/// Reserves the number of one random op.
pub fn reserve_op() -> RandomKey {
    reserve_ops(1)
}

/// Reserves the numbers of `n` random ops at once; see [`RandomKey::nth`].
pub fn reserve_ops(n: u64) -> RandomKey {
    if let Some(key) = APART.get() {
        APART.set(Some(key.nth(n)));
        return key;
    }
    let mut next = lock(&NEXT);
    let key = *next;
    *next = key.nth(n);
    key
}

/// Philox 4x32-10 of a block of an op.
#[inline]
fn philox(key: RandomKey, block: u64) -> [u32; 4] {
    let mul = |a: u32, b: u32| {
        let p = u64::from(a) * u64::from(b);
        ((p >> 32) as u32, p as u32)
    };
    let mut c = [
        block as u32,
        (block >> 32) as u32,
        key.op as u32,
        (key.op >> 32) as u32,
    ];
    let mut k = [key.seed as u32, (key.seed >> 32) as u32];
    for _ in 0..10 {
        let (h0, l0) = mul(0xD251_1F53, c[0]);
        let (h1, l1) = mul(0xCD9E_8D57, c[2]);
        c = [h1 ^ c[1] ^ k[0], l1, h0 ^ c[3] ^ k[1], l0];
        k = [k[0].wrapping_add(0x9E37_79B9), k[1].wrapping_add(0xBB67_AE85)];
    }
    c
}

/// 53 bits of the lower (0) or upper (1) half of a block, in `[0, 1)`.
#[inline]
fn wide(words: [u32; 4], half: usize) -> f64 {
    let bits = u64::from(words[2 * half + 1]) << 32 | u64::from(words[2 * half]);
    (bits >> 11) as f64 * ULP_53
}

const ULP_53: f64 = 1.0 / (1u64 << 53) as f64;
const ULP_32: f64 = 1.0 / (1u64 << 32) as f64;

/// Two normal values of `u` in `(0, 1]` and `v` in `[0, 1)`.
#[inline]
fn box_muller(u: f64, v: f64) -> [f64; 2] {
    let radius = (-2.0 * u.ln()).sqrt();
    let (sin, cos) = (std::f64::consts::TAU * v).sin_cos();
    [radius * cos, radius * sin]
}

/// The four normal values of a block, for f32 and the half types.
#[inline]
fn normals(words: [u32; 4]) -> [f64; 4] {
    let pair = |i: usize| {
        box_muller(
            (f64::from(words[i]) + 1.0) * ULP_32,
            f64::from(words[i + 1]) * ULP_32,
        )
    };
    let ([a, b], [c, d]) = (pair(0), pair(2));
    [a, b, c, d]
}

/// Float types that random ops draw.
pub(crate) trait Draw: Element {
    /// The values of one block.
    type Block: AsRef<[Self]>;
    const PER_BLOCK: u64;
    fn uniform(words: [u32; 4]) -> Self::Block;
    fn normal(words: [u32; 4]) -> Self::Block;
}

impl Draw for f32 {
    type Block = [f32; 4];
    const PER_BLOCK: u64 = 4;
    #[inline]
    fn uniform(words: [u32; 4]) -> [f32; 4] {
        words.map(|w| (w >> 8) as f32 * (1.0 / (1u32 << 24) as f32))
    }
    #[inline]
    fn normal(words: [u32; 4]) -> [f32; 4] {
        normals(words).map(|v| v as f32)
    }
}

impl Draw for f64 {
    type Block = [f64; 2];
    const PER_BLOCK: u64 = 2;
    #[inline]
    fn uniform(words: [u32; 4]) -> [f64; 2] {
        [wide(words, 0), wide(words, 1)]
    }
    #[inline]
    fn normal(words: [u32; 4]) -> [f64; 2] {
        box_muller(wide(words, 0) + ULP_53, wide(words, 1))
    }
}

impl Draw for f16 {
    type Block = [f16; 4];
    const PER_BLOCK: u64 = 4;
    #[inline]
    fn uniform(words: [u32; 4]) -> [f16; 4] {
        words.map(|w| f16::from_f32((w >> 21) as f32 / 2048.0))
    }
    #[inline]
    fn normal(words: [u32; 4]) -> [f16; 4] {
        normals(words).map(f16::from_f64)
    }
}

impl Draw for bf16 {
    type Block = [bf16; 4];
    const PER_BLOCK: u64 = 4;
    #[inline]
    fn uniform(words: [u32; 4]) -> [bf16; 4] {
        words.map(|w| bf16::from_f32((w >> 24) as f32 / 256.0))
    }
    #[inline]
    fn normal(words: [u32; 4]) -> [bf16; 4] {
        normals(words).map(bf16::from_f64)
    }
}

/// Uniform in `[0, 1)`, 24 bits.
#[inline]
pub fn uniform_f32(key: RandomKey, element: u64) -> f32 {
    f32::uniform(philox(key, element / 4))[(element % 4) as usize]
}

/// Uniform in `[0, 1)`, 53 bits.
#[inline]
pub fn uniform_f64(key: RandomKey, element: u64) -> f64 {
    f64::uniform(philox(key, element / 2))[(element % 2) as usize]
}

/// Standard normal.
#[inline]
pub fn normal_f32(key: RandomKey, element: u64) -> f32 {
    f32::normal(philox(key, element / 4))[(element % 4) as usize]
}

/// Standard normal.
#[inline]
pub fn normal_f64(key: RandomKey, element: u64) -> f64 {
    f64::normal(philox(key, element / 2))[(element % 2) as usize]
}

/// Elements `first ..` of an op, in order; neighbours share a block.
fn stream<T: Draw>(
    key: RandomKey,
    first: u64,
    block: impl Fn([u32; 4]) -> T::Block,
) -> impl FnMut(usize) -> T {
    let mut at = first / T::PER_BLOCK;
    let mut values = block(philox(key, at));
    move |i| {
        let element = first + i as u64;
        if element / T::PER_BLOCK != at {
            at = element / T::PER_BLOCK;
            values = block(philox(key, at));
        }
        values.as_ref()[(element % T::PER_BLOCK) as usize]
    }
}

/// Elements `first ..` of a uniform op, in order.
pub(crate) fn uniform_from<T: Draw>(key: RandomKey, first: u64) -> impl FnMut(usize) -> T {
    stream(key, first, T::uniform)
}

/// Elements `first ..` of a normal op, in order.
pub(crate) fn normal_from<T: Draw>(key: RandomKey, first: u64) -> impl FnMut(usize) -> T {
    stream(key, first, T::normal)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vectors of the authors' `kat_vectors` for philox4x32-10.
    #[test]
    fn known_answers() {
        let zero = RandomKey { seed: 0, op: 0 };
        assert_eq!(philox(zero, 0), [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
        let ones = RandomKey {
            seed: u64::MAX,
            op: u64::MAX,
        };
        assert_eq!(
            philox(ones, u64::MAX),
            [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]
        );
        let pi = RandomKey {
            seed: 0x299f31d0_a4093822,
            op: 0x03707344_13198a2e,
        };
        assert_eq!(
            philox(pi, 0x85a308d3_243f6a88),
            [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1]
        );
    }

    #[test]
    fn code_that_draws_apart_neither_sees_nor_disturbs_others() {
        let start = RandomKey { seed: 5, op: 7 };
        let keys = |n: usize| drawing_from(start, || (0..n).map(|_| reserve_op()).collect::<Vec<_>>());
        let alone = keys(4);
        assert_eq!(alone, [0, 1, 2, 3].map(|i| start.nth(i)));
        let inside = drawing_from(start, || {
            let others: Vec<_> =
                std::thread::scope(|s| s.spawn(|| reserve_ops(3)).join().into_iter().collect());
            assert!(others.iter().all(|k| k.seed() != 5));
            let again = keys(2);
            let next = reserve_op();
            manual_seed(9);
            (again, next, reserve_op())
        });
        assert_eq!(inside, (alone[..2].to_vec(), start, RandomKey { seed: 9, op: 0 }));
        assert_ne!(state().seed(), 9);
    }

    #[test]
    fn elements_do_not_depend_on_where_a_run_starts() {
        let key = RandomKey { seed: 7, op: 3 };
        for first in [0u64, 1, 2, 3, 5, 1 << 40] {
            let (mut u, mut n) = (uniform_from::<f32>(key, first), normal_from::<f64>(key, first));
            for i in 0..33 {
                assert_eq!(u(i), uniform_f32(key, first + i as u64));
                assert_eq!(n(i), normal_f64(key, first + i as u64));
            }
        }
        assert_ne!(uniform_f64(key, 0), uniform_f64(key.nth(1), 0));
    }

    #[test]
    fn moments_and_ranges() {
        let key = RandomKey { seed: 1, op: 0 };
        fn moments(v: impl Iterator<Item = f64>) -> (f64, f64) {
            let v: Vec<f64> = v.collect();
            let m = v.iter().sum::<f64>() / v.len() as f64;
            (
                m,
                v.iter().map(|x| (x - m) * (x - m)).sum::<f64>() / v.len() as f64,
            )
        }
        fn check<T: Draw>(key: RandomKey) {
            let n = 40_000;
            let (mut u, mut g) = (uniform_from::<T>(key, 0), normal_from::<T>(key.nth(1), 0));
            let us: Vec<f64> = (0..n).map(|i| u(i).to_f64()).collect();
            assert!(us.iter().all(|v| (0.0..1.0).contains(v)));
            let (m, v) = moments(us.into_iter());
            assert!(
                (m - 0.5).abs() < 0.01 && (v - 1.0 / 12.0).abs() < 0.005,
                "{m} {v}"
            );
            let (m, v) = moments((0..n).map(|i| g(i).to_f64()));
            assert!(m.abs() < 0.03 && (v - 1.0).abs() < 0.03, "{m} {v}");
        }
        check::<f32>(key);
        check::<f64>(key);
        check::<f16>(key);
        check::<bf16>(key);
    }
}
