//! The instruction strips of the tile VM: one loop per (op, dtype, instruction set), from the op table.
//!
//! Problem: an op must be added in one place. Method: `op_table!` hands every row to a macro here that picks, by
//! the row's lane class, the arity, the argument types and the result type, and calls the lane method of the
//! row's name. Invariant: the same lane methods as in emitted strips, so both give the same bits in a tier.

use super::super::tier::per_isa;
use crate::lane::{Lane, Store, Tier};
use half::{bf16, f16};
use std::mem::MaybeUninit;
#[allow(unused_imports)]
use std::ops::{Add, Div, Mul, Sub};
use tensorplay_graph::{DType, Op};

/// Runs one instruction on `n` lanes.
///
/// # Safety
/// `args` are readable, `out` is writable for `n` elements of the instruction's types, aligned; `out` overlaps no
/// argument; the CPU has the instruction set.
pub(super) type InstFn = unsafe fn(args: &[*const u8; 4], out: *mut u8, n: usize);
/// One function per instruction set.
pub(super) type InstFns = [InstFn; 3];

/// A loop that maps `|params| -> result` over lanes.
macro_rules! instruction {
    (|$($x:ident: $e:ty = $k:literal),+| -> $r:ty { $body:expr }) => {{
        #[inline(always)]
        fn lanes<T: Tier>(n: usize, $($x: &[$e],)+ out: &mut [MaybeUninit<$r>]) {
            let (out, $($x,)+) = (&mut out[..n], $(&$x[..n],)+);
            for i in 0..n {
                let value = {
                    $(let $x = Lane::<_, T>::new($x[i].load());)+
                    $body
                };
                out[i].write(<$r as Store>::store(value.get()));
            }
        }
        #[inline(always)]
        unsafe fn body<T: Tier>(args: &[*const u8; 4], out: *mut u8, n: usize) {
            // SAFETY: the contract of `InstFn`.
            unsafe {
                lanes::<T>(
                    n,
                    $(std::slice::from_raw_parts(args[$k].cast::<$e>(), n),)+
                    std::slice::from_raw_parts_mut(out.cast(), n),
                )
            }
        }
        Some(per_isa!(body, fn(args: &[*const u8; 4], out: *mut u8, n: usize)))
    }};
}

/// One instruction for each of the types that a class allows, of one to four arguments.
macro_rules! unary {
    ($m:ident, $dtype:expr, [$($e:ident $d:ident),*]) => { unary!($m, $dtype, [$($e $d),*], ()) };
    ($m:ident, $dtype:expr, [$($e:ident $d:ident),*], $r:tt) => {
        match $dtype { $(DType::$d => unary!(@ $m, $e, $r),)* _ => None }
    };
    (@ $m:ident, $e:ty, ()) => { instruction!(|x: $e = 0| -> $e { x.$m() }) };
    (@ $m:ident, $e:ty, ($r:ty)) => { instruction!(|x: $e = 0| -> $r { x.$m() }) };
}
macro_rules! binary {
    ($m:ident, $dtype:expr, [$($e:ident $d:ident),*]) => { binary!($m, $dtype, [$($e $d),*], ()) };
    ($m:ident, $dtype:expr, [$($e:ident $d:ident),*], $r:tt) => {
        match $dtype { $(DType::$d => binary!(@ $m, $e, $r),)* _ => None }
    };
    (@ $m:ident, $e:ty, ()) => { instruction!(|x: $e = 0, y: $e = 1| -> $e { x.$m(y) }) };
    (@ $m:ident, $e:ty, ($r:ty)) => { instruction!(|x: $e = 0, y: $e = 1| -> $r { x.$m(y) }) };
}
macro_rules! ternary {
    ($m:ident, $dtype:expr, [$($e:ident $d:ident),*]) => {
        match $dtype {
            $(DType::$d => instruction!(|x: $e = 0, y: $e = 1, z: $e = 2| -> $e { x.$m(y, z) }),)*
            _ => None,
        }
    };
}
macro_rules! quaternary {
    ($m:ident, $dtype:expr, [$($e:ident $d:ident),*]) => {
        match $dtype {
            $(DType::$d => {
                instruction!(|x: $e = 0, y: $e = 1, z: $e = 2, w: $e = 3| -> $e { x.$m(y, z, w) })
            })*
            _ => None,
        }
    };
}

/// The functions of a contracted product and sum.
pub(super) fn fmuladd_fns(dtype: DType) -> Option<InstFns> {
    ternary!(fmuladd, dtype, [f32 F32, f64 F64])
}

/// The functions of one row, by lowering and lane class.
macro_rules! row {
    ($m:ident, $d:expr, lane(num1)) => { unary!($m, $d, [f32 F32, f64 F64, i32 I32, i64 I64, u8 U8]) };
    ($m:ident, $d:expr, lane(float1)) => { unary!($m, $d, [f32 F32, f64 F64]) };
    ($m:ident, $d:expr, lane(round1)) => { unary!($m, $d, [f32 F32, f64 F64, i32 I32, i64 I64, u8 U8]) };
    ($m:ident, $d:expr, lane(pred1)) => {
        unary!($m, $d, [f32 F32, f64 F64], (bool))
    };
    ($m:ident, $d:expr, lane(bool1)) => { unary!($m, $d, [bool Bool]) };
    ($m:ident, $d:expr, lane(bit1)) => { unary!($m, $d, [i32 I32, i64 I64, u8 U8, bool Bool]) };
    (rsub, $d:expr, lane(num2)) => { None };
    (rdiv, $d:expr, lane(float2)) => { None };
    ($m:ident, $d:expr, lane(num2)) => { binary!($m, $d, [f32 F32, f64 F64, i32 I32, i64 I64, u8 U8]) };
    ($m:ident, $d:expr, lane(float2)) => { binary!($m, $d, [f32 F32, f64 F64]) };
    ($m:ident, $d:expr, lane(ord2)) => {
        binary!($m, $d, [f32 F32, f64 F64, i32 I32, i64 I64, u8 U8, bool Bool])
    };
    ($m:ident, $d:expr, lane(cmp2)) => {
        binary!($m, $d, [f32 F32, f64 F64, i32 I32, i64 I64, u8 U8, bool Bool], (bool))
    };
    ($m:ident, $d:expr, lane(bool2)) => { binary!($m, $d, [bool Bool]) };
    ($m:ident, $d:expr, lane(bit2)) => { binary!($m, $d, [i32 I32, i64 I64, u8 U8, bool Bool]) };
    ($m:ident, $d:expr, lane(num3)) => { ternary!($m, $d, [f32 F32, f64 F64, i32 I32, i64 I64, u8 U8]) };
    ($m:ident, $d:expr, lane(float3)) => { ternary!($m, $d, [f32 F32, f64 F64]) };
    ($m:ident, $d:expr, lane(float4)) => { quaternary!($m, $d, [f32 F32, f64 F64]) };
    ($m:ident, $d:expr, lane(select)) => {
        row!(@select $m, $d, [f32 F32, f64 F64, i32 I32, i64 I64, u8 U8, bool Bool])
    };
    (@select $m:ident, $dtype:expr, [$($e:ident $d:ident),*]) => {
        match $dtype {
            $(DType::$d => instruction!(|c: bool = 0, x: $e = 1, y: $e = 2| -> $e { c.$m(x, y) }),)*
            _ => None,
        }
    };
    ($m:ident, $d:expr, lane(cast)) => { None };
    ($m:ident, $d:expr, $lower:ident $(($class:ident))?) => { None };
}

macro_rules! rows {
    ($($(#[$doc:meta])* $variant:ident $method:ident $twin:ident ($($p:ident : $k:ident),*)
        => $results:ident, $shape:ident, $dtype:ident, $lower:ident $(($class:ident))?;)*) => {
        /// The functions of an op whose last argument has compute type `dtype`, if kernels have it.
        pub(super) fn op_fns(op: Op, dtype: DType) -> Option<InstFns> {
            match op {
                $(Op::$variant => {
                    fn fns(dtype: DType) -> Option<InstFns> {
                        let _ = dtype;
                        row!($method, dtype, $lower $(($class))?)
                    }
                    fns(dtype)
                })*
            }
        }
    };
}
tensorplay_graph::op_table!(rows);

macro_rules! casts {
    ($from:expr, $to:expr, [$($e:ident $d:ident),*]) => {
        match $from { $(DType::$d => casts!(@to $e, $to),)* _ => None }
    };
    (@to $e:ty, $to:expr) => {
        match $to {
            DType::F32 => unary!(@ to_f32, $e, (f32)),
            DType::F64 => unary!(@ to_f64, $e, (f64)),
            DType::I32 => unary!(@ to_i32, $e, (i32)),
            DType::I64 => unary!(@ to_i64, $e, (i64)),
            DType::U8 => unary!(@ to_u8, $e, (u8)),
            DType::Bool => unary!(@ to_bool, $e, (bool)),
            DType::F16 | DType::BF16 => None,
        }
    };
}

/// Conversion between compute types.
pub(super) fn cast_fns(from: DType, to: DType) -> Option<InstFns> {
    casts!(from, to, [f32 F32, f64 F64, i32 I32, i64 I64, u8 U8, bool Bool])
}

/// Rounding of f32 to a half type, kept as f32.
pub(super) fn round_fns(half: DType) -> Option<InstFns> {
    match half {
        DType::F16 => instruction!(|x: f32 = 0| -> f32 { x.round_f16() }),
        DType::BF16 => instruction!(|x: f32 = 0| -> f32 { x.round_bf16() }),
        _ => None,
    }
}

/// Half type to f32.
pub(super) fn load_fns(half: DType) -> Option<InstFns> {
    match half {
        DType::F16 => instruction!(|x: f16 = 0| -> f32 { x }),
        DType::BF16 => instruction!(|x: bf16 = 0| -> f32 { x }),
        _ => None,
    }
}

/// f32 to half type, rounded; or a copy between equal types.
pub(super) fn store_fns(storage: DType) -> Option<InstFns> {
    match storage {
        DType::F16 => instruction!(|x: f32 = 0| -> f16 { x }),
        DType::BF16 => instruction!(|x: f32 = 0| -> bf16 { x }),
        DType::F32 => instruction!(|x: f32 = 0| -> f32 { x }),
        DType::F64 => instruction!(|x: f64 = 0| -> f64 { x }),
        DType::I32 => instruction!(|x: i32 = 0| -> i32 { x }),
        DType::I64 => instruction!(|x: i64 = 0| -> i64 { x }),
        DType::U8 => instruction!(|x: u8 = 0| -> u8 { x }),
        DType::Bool => instruction!(|x: bool = 0| -> bool { x }),
    }
}
