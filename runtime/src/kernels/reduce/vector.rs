//! Vectors of floats for the reducers: explicit AVX-512 and AVX2, arrays elsewhere.
//!
//! Invariant: the x86 types are used only inside functions that enable their features; every method is
//! `#[inline(always)]`, so that nothing is compiled without them.

/// A register of floats.
///
/// # Safety
/// Methods of the x86 types need a CPU, and a caller, with their features; pointers must be readable for
/// `LANES` elements (`load`) or `n` (`tail`).
pub(super) trait Vector: Copy {
    type Elem: Copy + Into<f64>;
    /// Which pairs of lanes had no NaN.
    type Ordered: Copy;
    const LANES: usize;
    unsafe fn splat(e: Self::Elem) -> Self;
    unsafe fn load(p: *const Self::Elem) -> Self;
    /// The first `n < LANES` elements, then `fill`.
    unsafe fn tail(p: *const Self::Elem, n: usize, fill: Self::Elem) -> Self;
    unsafe fn add(self, o: Self) -> Self;
    unsafe fn sub(self, o: Self) -> Self;
    /// `self * self + o`.
    unsafe fn square_add(self, o: Self) -> Self;
    /// Lanes where either is NaN are unspecified.
    unsafe fn max(self, o: Self) -> Self;
    /// Lanes where either is NaN are unspecified.
    unsafe fn min(self, o: Self) -> Self;
    unsafe fn ordered() -> Self::Ordered;
    /// Clears the lanes where `a` or `b` is NaN.
    unsafe fn order(o: Self::Ordered, a: Self, b: Self) -> Self::Ordered;
    unsafe fn all_ordered(o: Self::Ordered) -> bool;
    /// The sum of the lanes, added in f64.
    unsafe fn total(self) -> f64;
    /// The largest lane; no lane is NaN.
    unsafe fn largest(self) -> f64;
    /// The smallest lane; no lane is NaN.
    unsafe fn smallest(self) -> f64;
}

/// Baseline vectors.
#[derive(Clone, Copy)]
pub(super) struct Array<E>([E; 8]);

macro_rules! array {
    ($($e:ty)*) => {$(
        impl Vector for Array<$e> {
            type Elem = $e;
            type Ordered = [bool; 8];
            const LANES: usize = 8;
            #[inline(always)]
            unsafe fn splat(e: $e) -> Self { Array([e; 8]) }
            #[inline(always)]
            unsafe fn load(p: *const $e) -> Self {
                // SAFETY: the contract of the trait.
                Array(unsafe { p.cast::<[$e; 8]>().read_unaligned() })
            }
            #[inline(always)]
            unsafe fn tail(p: *const $e, n: usize, fill: $e) -> Self {
                // SAFETY: the contract of the trait.
                Array(std::array::from_fn(|i| if i < n { unsafe { *p.add(i) } } else { fill }))
            }
            #[inline(always)]
            unsafe fn add(self, o: Self) -> Self { Array(std::array::from_fn(|i| self.0[i] + o.0[i])) }
            #[inline(always)]
            unsafe fn sub(self, o: Self) -> Self { Array(std::array::from_fn(|i| self.0[i] - o.0[i])) }
            #[inline(always)]
            unsafe fn square_add(self, o: Self) -> Self {
                Array(std::array::from_fn(|i| self.0[i] * self.0[i] + o.0[i]))
            }
            #[inline(always)]
            unsafe fn max(self, o: Self) -> Self {
                Array(std::array::from_fn(|i| if self.0[i] > o.0[i] { self.0[i] } else { o.0[i] }))
            }
            #[inline(always)]
            unsafe fn min(self, o: Self) -> Self {
                Array(std::array::from_fn(|i| if self.0[i] < o.0[i] { self.0[i] } else { o.0[i] }))
            }
            #[inline(always)]
            unsafe fn ordered() -> [bool; 8] { [true; 8] }
            #[inline(always)]
            unsafe fn order(o: [bool; 8], a: Self, b: Self) -> [bool; 8] {
                #[allow(clippy::eq_op)]
                std::array::from_fn(|i| o[i] & (a.0[i] == a.0[i]) & (b.0[i] == b.0[i]))
            }
            #[inline(always)]
            unsafe fn all_ordered(o: [bool; 8]) -> bool { o == [true; 8] }
            #[inline(always)]
            unsafe fn total(self) -> f64 {
                let a = self.0.map(f64::from);
                ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]))
            }
            #[inline(always)]
            unsafe fn largest(self) -> f64 { self.0.into_iter().fold(f64::NEG_INFINITY, |m, v| m.max(f64::from(v))) }
            #[inline(always)]
            unsafe fn smallest(self) -> f64 { self.0.into_iter().fold(f64::INFINITY, |m, v| m.min(f64::from(v))) }
        }
    )*};
}
array!(f32 f64);

#[cfg(target_arch = "x86_64")]
#[allow(clippy::undocumented_unsafe_blocks)] // one comment for all methods of a type
mod x86 {
    use super::Vector;
    use std::arch::x86_64::*;

    /// # Safety
    /// That of the trait.
    #[inline(always)]
    unsafe fn total_512(v: __m512) -> f64 {
        // SAFETY: the features are the caller's.
        unsafe {
            let (lo, hi) = (_mm512_castps512_ps256(v), _mm512_extractf32x8_ps::<1>(v));
            _mm512_reduce_add_pd(_mm512_add_pd(_mm512_cvtps_pd(lo), _mm512_cvtps_pd(hi)))
        }
    }

    /// # Safety
    /// That of the trait.
    #[inline(always)]
    unsafe fn total_256(v: __m256) -> f64 {
        // SAFETY: the features are the caller's.
        unsafe {
            let (lo, hi) = (_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
            total_256d(_mm256_add_pd(_mm256_cvtps_pd(lo), _mm256_cvtps_pd(hi)))
        }
    }

    /// # Safety
    /// That of the trait.
    #[inline(always)]
    unsafe fn total_256d(v: __m256d) -> f64 {
        // SAFETY: the features are the caller's.
        unsafe {
            let pair = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd::<1>(v));
            _mm_cvtsd_f64(_mm_add_sd(pair, _mm_unpackhi_pd(pair, pair)))
        }
    }

    macro_rules! avx512 {
        ($v:ty, $e:ty, $mask:ty, $n:literal, $set:ident $load:ident $tail:ident $add:ident $sub:ident $fma:ident
            $max:ident $min:ident $cmp:ident $total:ident $largest:ident $smallest:ident) => {
            impl Vector for $v {
                type Elem = $e;
                type Ordered = $mask;
                const LANES: usize = $n;
                // SAFETY (of all methods): the contract of the trait; the features are the caller's.
                #[inline(always)]
                unsafe fn splat(e: $e) -> Self { unsafe { $set(e) } }
                #[inline(always)]
                unsafe fn load(p: *const $e) -> Self { unsafe { $load(p) } }
                #[inline(always)]
                unsafe fn tail(p: *const $e, n: usize, fill: $e) -> Self {
                    unsafe { $tail($set(fill), ((1u32 << n) - 1) as $mask, p) }
                }
                #[inline(always)]
                unsafe fn add(self, o: Self) -> Self { unsafe { $add(self, o) } }
                #[inline(always)]
                unsafe fn sub(self, o: Self) -> Self { unsafe { $sub(self, o) } }
                #[inline(always)]
                unsafe fn square_add(self, o: Self) -> Self { unsafe { $fma(self, self, o) } }
                #[inline(always)]
                unsafe fn max(self, o: Self) -> Self { unsafe { $max(self, o) } }
                #[inline(always)]
                unsafe fn min(self, o: Self) -> Self { unsafe { $min(self, o) } }
                #[inline(always)]
                unsafe fn ordered() -> $mask { <$mask>::MAX }
                #[inline(always)]
                unsafe fn order(o: $mask, a: Self, b: Self) -> $mask {
                    unsafe { $cmp::<_CMP_ORD_Q>(o, a, b) }
                }
                #[inline(always)]
                unsafe fn all_ordered(o: $mask) -> bool { o == <$mask>::MAX }
                #[inline(always)]
                unsafe fn total(self) -> f64 { unsafe { $total(self) } }
                #[inline(always)]
                unsafe fn largest(self) -> f64 { unsafe { f64::from($largest(self)) } }
                #[inline(always)]
                unsafe fn smallest(self) -> f64 { unsafe { f64::from($smallest(self)) } }
            }
        };
    }
    avx512!(__m512, f32, u16, 16, _mm512_set1_ps _mm512_loadu_ps _mm512_mask_loadu_ps _mm512_add_ps _mm512_sub_ps
        _mm512_fmadd_ps _mm512_max_ps _mm512_min_ps _mm512_mask_cmp_ps_mask total_512 _mm512_reduce_max_ps _mm512_reduce_min_ps);
    avx512!(__m512d, f64, u8, 8, _mm512_set1_pd _mm512_loadu_pd _mm512_mask_loadu_pd _mm512_add_pd _mm512_sub_pd
        _mm512_fmadd_pd _mm512_max_pd _mm512_min_pd _mm512_mask_cmp_pd_mask _mm512_reduce_add_pd _mm512_reduce_max_pd _mm512_reduce_min_pd);

    macro_rules! avx2 {
        ($v:ty, $e:ty, $n:literal, $set:ident $load:ident $add:ident $sub:ident $fma:ident $max:ident $min:ident
            $cmp:ident $or:ident $zero:ident $movemask:ident $total:ident) => {
            impl Vector for $v {
                type Elem = $e;
                /// All ones where a NaN was seen.
                type Ordered = $v;
                const LANES: usize = $n;
                // SAFETY (of all methods): the contract of the trait; the features are the caller's.
                #[inline(always)]
                unsafe fn splat(e: $e) -> Self { unsafe { $set(e) } }
                #[inline(always)]
                unsafe fn load(p: *const $e) -> Self { unsafe { $load(p) } }
                #[inline(always)]
                unsafe fn tail(p: *const $e, n: usize, fill: $e) -> Self {
                    let mut a = [fill; $n];
                    unsafe {
                        for i in 0..n.min($n) {
                            a[i] = *p.add(i);
                        }
                        $load(a.as_ptr())
                    }
                }
                #[inline(always)]
                unsafe fn add(self, o: Self) -> Self { unsafe { $add(self, o) } }
                #[inline(always)]
                unsafe fn sub(self, o: Self) -> Self { unsafe { $sub(self, o) } }
                #[inline(always)]
                unsafe fn square_add(self, o: Self) -> Self { unsafe { $fma(self, self, o) } }
                #[inline(always)]
                unsafe fn max(self, o: Self) -> Self { unsafe { $max(self, o) } }
                #[inline(always)]
                unsafe fn min(self, o: Self) -> Self { unsafe { $min(self, o) } }
                #[inline(always)]
                unsafe fn ordered() -> Self { unsafe { $zero() } }
                #[inline(always)]
                unsafe fn order(o: Self, a: Self, b: Self) -> Self {
                    unsafe { $or(o, $cmp::<_CMP_UNORD_Q>(a, b)) }
                }
                #[inline(always)]
                unsafe fn all_ordered(o: Self) -> bool { unsafe { $movemask(o) == 0 } }
                #[inline(always)]
                unsafe fn total(self) -> f64 { unsafe { $total(self) } }
                #[inline(always)]
                unsafe fn largest(self) -> f64 {
                    // SAFETY: plain data of the same size.
                    let a: [$e; $n] = unsafe { std::mem::transmute(self) };
                    f64::from(a.into_iter().fold(<$e>::NEG_INFINITY, <$e>::max))
                }
                #[inline(always)]
                unsafe fn smallest(self) -> f64 {
                    // SAFETY: plain data of the same size.
                    let a: [$e; $n] = unsafe { std::mem::transmute(self) };
                    f64::from(a.into_iter().fold(<$e>::INFINITY, <$e>::min))
                }
            }
        };
    }
    avx2!(__m256, f32, 8, _mm256_set1_ps _mm256_loadu_ps _mm256_add_ps _mm256_sub_ps _mm256_fmadd_ps _mm256_max_ps
        _mm256_min_ps _mm256_cmp_ps _mm256_or_ps _mm256_setzero_ps _mm256_movemask_ps total_256);
    avx2!(__m256d, f64, 4, _mm256_set1_pd _mm256_loadu_pd _mm256_add_pd _mm256_sub_pd _mm256_fmadd_pd _mm256_max_pd
        _mm256_min_pd _mm256_cmp_pd _mm256_or_pd _mm256_setzero_pd _mm256_movemask_pd total_256d);
}
