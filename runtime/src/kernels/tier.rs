//! Which instruction set kernels run on.
//!
//! Problem: one binary serves CPUs with and without AVX2 and AVX-512. Method: every kernel exists once per
//! [`Isa`]; the best one that the CPU has is chosen at the first kernel and kept in one atomic byte.
//! `TENSORPLAY_ISA=portable|avx2|avx512` chooses a lower one. Invariant: [`isa`] never names a set that the CPU
//! lacks, so calling a kernel of that set is sound.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// An instruction set that kernels are compiled for, weakest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Isa {
    /// The target's baseline: SSE2 on x86-64, NEON on AArch64.
    Portable = 0,
    /// AVX2 and FMA.
    Avx2 = 1,
    /// AVX-512 F, VL, BW and DQ.
    Avx512 = 2,
}

impl Isa {
    /// All sets, weakest first; kernels are tables indexed by `isa as usize`.
    pub const ALL: [Isa; 3] = [Isa::Portable, Isa::Avx2, Isa::Avx512];

    /// The name in `TENSORPLAY_ISA`.
    pub const fn name(self) -> &'static str {
        match self {
            Isa::Portable => "portable",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512",
        }
    }

    /// The best set of this CPU.
    pub fn best() -> Isa {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            let avx2 = has!("avx2") && has!("fma");
            if avx2 && has!("avx512f") && has!("avx512vl") && has!("avx512bw") && has!("avx512dq") {
                return Isa::Avx512;
            }
            if avx2 {
                return Isa::Avx2;
            }
        }
        Isa::Portable
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

const UNKNOWN: u8 = u8::MAX;
static CHOSEN: AtomicU8 = AtomicU8::new(UNKNOWN);

/// The set in use.
#[inline]
pub fn isa() -> Isa {
    match CHOSEN.load(Relaxed) {
        0 => Isa::Portable,
        1 => Isa::Avx2,
        2 => Isa::Avx512,
        _ => choose(),
    }
}

#[cold]
fn choose() -> Isa {
    let asked = std::env::var("TENSORPLAY_ISA").ok();
    let chosen = select(asked.as_deref(), Isa::best());
    CHOSEN.store(chosen as u8, Relaxed);
    chosen
}

/// The set to use when the environment asks for `asked` on a CPU whose best set is `best`.
fn select(asked: Option<&str>, best: Isa) -> Isa {
    let Some(asked) = asked.map(str::trim).filter(|s| !s.is_empty()) else {
        return best;
    };
    match Isa::ALL.into_iter().find(|i| i.name() == asked) {
        Some(isa) if isa <= best => isa,
        Some(isa) => {
            crate::ladder::warn(format!("TENSORPLAY_ISA={isa}: this CPU lacks it, using {best}"));
            best
        }
        None => {
            crate::ladder::warn(format!(
                "TENSORPLAY_ISA={asked}: expected portable, avx2 or avx512; using {best}"
            ));
            best
        }
    }
}

/// Makes `isa` the set in use if the CPU has it. For tests: kernels that already run keep theirs.
#[doc(hidden)]
pub fn force(isa: Isa) -> bool {
    let ok = isa <= Isa::best();
    if ok {
        CHOSEN.store(isa as u8, Relaxed);
    }
    ok
}

/// Defines `pub(crate) static NAME: [unsafe fn(..) -> R; 3]` from an `#[inline(always)]` body that is generic over
/// the lane tier: one instance for each [`Isa`].
macro_rules! per_isa {
    ($($body:ident)::+ $(::<$($g:ty),+>)?, fn($($p:ident: $t:ty),*) $(-> $r:ty)?) => {{
        unsafe fn portable($($p: $t),*) $(-> $r)? {
            // SAFETY: the caller of the table's functions upholds the contract of the body.
            unsafe { $($body)::+::<$($($g,)+)? $crate::lane::Portable>($($p),*) }
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        unsafe fn avx2($($p: $t),*) $(-> $r)? {
            // SAFETY: as above.
            unsafe { $($body)::+::<$($($g,)+)? $crate::lane::Fused>($($p),*) }
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma")]
        unsafe fn avx512($($p: $t),*) $(-> $r)? {
            // SAFETY: as above.
            unsafe { $($body)::+::<$($($g,)+)? $crate::lane::Fused>($($p),*) }
        }
        #[cfg(target_arch = "x86_64")]
        let table: [unsafe fn($($t),*) $(-> $r)?; 3] = [portable, avx2, avx512];
        #[cfg(not(target_arch = "x86_64"))]
        let table: [unsafe fn($($t),*) $(-> $r)?; 3] = [portable, portable, portable];
        table
    }};
}
pub(crate) use per_isa;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_overrides_downward_only() {
        assert_eq!(select(None, Isa::Avx512), Isa::Avx512);
        assert_eq!(select(Some("avx2"), Isa::Avx512), Isa::Avx2);
        assert_eq!(select(Some("portable"), Isa::Avx2), Isa::Portable);
        assert_eq!(select(Some("avx512"), Isa::Avx2), Isa::Avx2);
        assert_eq!(select(Some("mmx"), Isa::Avx2), Isa::Avx2);
        assert_eq!(select(Some(""), Isa::Avx512), Isa::Avx512);
    }
}
