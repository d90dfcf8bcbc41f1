//! Strips: the emitted form of a program, a loop over contiguous lanes, row by row.
//!
//! Problem: emitted code lives in users' crates, where it must be readable, free of `unsafe`, and cheap to
//! build. Method: the emitter prints one [`strip!`](crate::strip) item a program. It expands to a type and a
//! safe implementation of [`Program`]: the types of its operands, and the loop over one row, which is
//! `#[inline(always)]`. The generic functions of this file find the rows and instantiate the loop once an
//! instruction set; [`strip`] makes the const table of them. x86-64 has AVX2 and AVX-512 instances: a CPU without
//! either runs the tile VM, which spares every build a third instance. Other architectures have one instance, of
//! their baseline. Broadcasts, strides, tails and threads are the business of the callers ([`nest`](super::nest)),
//! which are not generic.
//!
//! Invariants: safe code is only ever given slices of one call's rows, whose types and number are those of
//! [`Program::Operands`]; [`Strip::fits`] compares these with the program of the blob before anything is bound. Whoever
//! builds a [`Raw`] vouches that the pointers are valid for that program and that no output overlaps another
//! operand; so the slices never alias, LLVM knows it (they are parameters of the loop's function), and the loop is
//! vectorised without run-time checks. An output that the program updates is not among the inputs: its one slice
//! is read and then written, lane by lane.

use super::tier::isa;
use crate::lane::{Lane, Native, Store};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use tensorplay_graph::DType;
use tensorplay_stax::kernel::Access;

/// One operand of a call.
#[derive(Clone, Copy, Debug)]
pub struct Arg {
    /// The first element of the first row, or its one element.
    pub ptr: *const u8,
    /// Bytes from row to row.
    pub step: isize,
}

impl Arg {
    /// Where a row begins.
    #[inline(always)]
    pub(crate) fn row(&self, row: usize) -> *mut u8 {
        self.ptr.wrapping_offset(row as isize * self.step).cast_mut()
    }
}

/// Strips run whole groups of lanes; [`nest`](super::nest) repeats or pads the last one.
pub(crate) const GROUP: usize = 64;

/// The operands of one call, of one or more rows of whole groups of 64 lanes: inputs, params (splats of their dtype),
/// outputs. What the program updates ([`Access::Update`]) is the first output and no input.
#[derive(Debug)]
pub struct Raw<'a> {
    pub(crate) operands: &'a [Arg],
    pub(crate) rows: usize,
    pub(crate) n: usize,
}

/// One operand of a program, as a type: `&[S]` is read, one element a lane, `&S` one a row; [`Output`] and [`Update`] are
/// written.
pub trait Operand {
    /// Storage type and access; outputs are `Lanes` or `Update`.
    const TAG: (DType, Access);
    /// What the loop is given.
    type Row<'a>;
    /// The row at `p`.
    ///
    /// # Safety
    /// Until `'a` ends, `n` elements (one for a `Splat`) are valid for the access, aligned, and none that is written is
    /// part of another row.
    unsafe fn row<'a>(p: *mut u8, n: usize) -> Self::Row<'a>;
}

/// A row or a row's value, read lane by lane.
pub trait Input: Copy {
    /// The storage type.
    type Storage: Store;
    /// The value of lane `i`.
    fn lane(self, i: usize) -> Lane<<Self::Storage as Store>::Elem, Native>;
}

impl<S: Store> Operand for &[S] {
    const TAG: (DType, Access) = (S::DTYPE, Access::Lanes);
    type Row<'a> = &'a [S];
    #[inline(always)]
    unsafe fn row<'a>(p: *mut u8, n: usize) -> &'a [S] {
        // SAFETY: the caller's contract.
        unsafe { std::slice::from_raw_parts(p.cast(), n) }
    }
}

impl<S: Store> Input for &[S] {
    type Storage = S;
    #[inline(always)]
    fn lane(self, i: usize) -> Lane<S::Elem, Native> {
        Lane::new(self[i].load())
    }
}

impl<S: Store> Operand for &S {
    const TAG: (DType, Access) = (S::DTYPE, Access::Splat);
    type Row<'a> = Splat<S>;
    #[inline(always)]
    unsafe fn row<'a>(p: *mut u8, _: usize) -> Self::Row<'a> {
        // SAFETY: the caller's contract.
        Splat(unsafe { *p.cast::<S>() })
    }
}

/// A row's one value.
#[derive(Clone, Copy, Debug)]
pub struct Splat<S>(S);

impl<S: Store> Input for Splat<S> {
    type Storage = S;
    #[inline(always)]
    fn lane(self, _: usize) -> Lane<S::Elem, Native> {
        Lane::new(self.0.load())
    }
}

/// An output.
#[derive(Debug)]
pub struct Output<S>(PhantomData<S>);

impl<S: Store> Operand for Output<S> {
    const TAG: (DType, Access) = (S::DTYPE, Access::Lanes);
    type Row<'a> = &'a mut [MaybeUninit<S>];
    #[inline(always)]
    unsafe fn row<'a>(p: *mut u8, n: usize) -> &'a mut [MaybeUninit<S>] {
        // SAFETY: the caller's contract.
        unsafe { std::slice::from_raw_parts_mut(p.cast(), n) }
    }
}

/// An output that is updated in place.
#[derive(Debug)]
pub struct Update<S>(PhantomData<S>);

impl<S: Store> Operand for Update<S> {
    const TAG: (DType, Access) = (S::DTYPE, Access::Update);
    type Row<'a> = &'a mut [S];
    #[inline(always)]
    unsafe fn row<'a>(p: *mut u8, n: usize) -> &'a mut [S] {
        // SAFETY: the caller's contract.
        unsafe { std::slice::from_raw_parts_mut(p.cast(), n) }
    }
}

/// A constant of a lane type.
#[inline(always)]
pub fn constant<E>(e: E) -> Lane<E, Native> {
    Lane::new(e)
}

/// Stores a lane of an output.
#[inline(always)]
pub fn write<S: Store>(to: &mut MaybeUninit<S>, value: Lane<S::Elem, Native>) {
    to.write(S::store(value.get()));
}

/// Stores a lane of an output that is updated.
#[inline(always)]
pub fn replace<S: Store>(to: &mut S, value: Lane<S::Elem, Native>) {
    *to = S::store(value.get());
}

/// The operands of a program, as a tuple of up to [`MAX_STRIP_OPERANDS`](tensorplay_stax::kernel::MAX_STRIP_OPERANDS).
pub trait Operands {
    /// Storage type and access of each.
    const TAGS: &'static [(DType, Access)];
    /// A row of each.
    type Rows<'a>;
    /// One row of all.
    ///
    /// # Safety
    /// There are as many `args`, each valid for its type in this row until `'a` ends; what is written overlaps no other.
    unsafe fn rows<'a>(args: *const Arg, row: usize, n: usize) -> Self::Rows<'a>;
}

macro_rules! operands {
    ($($t:ident)*) => {
        impl<$($t: Operand),*> Operands for ($($t,)*) {
            const TAGS: &'static [(DType, Access)] = &[$($t::TAG),*];
            type Rows<'a> = ($($t::Row<'a>,)*);
            #[inline(always)]
            #[allow(non_snake_case)]
            unsafe fn rows<'a>(args: *const Arg, row: usize, n: usize) -> Self::Rows<'a> {
                // SAFETY: the caller's contract; the number of `args` is that of the tuple.
                unsafe {
                    let [$($t),*] = &*args.cast::<[Arg; _]>();
                    ($(<$t as Operand>::row($t.row(row), n),)*)
                }
            }
        }
    };
}

macro_rules! every_arity {
    ($first:ident $($rest:ident)*) => {
        operands!($first $($rest)*);
        every_arity!($($rest)*);
    };
    () => {};
}
every_arity!(A0 A1 A2 A3 A4 A5 A6 A7 A8 A9 B0 B1 B2 B3 B4 B5 B6 B7 B8 B9 C0 C1 C2 C3 C4 C5 C6 C7 C8 C9 D0 D1 D2 D3
    D4 D5 D6 D7 D8 D9 E0 E1 E2 E3 E4 E5 E6 E7 E8 E9 F0 F1 F2 F3 F4 F5 F6 F7 F8 F9 G0 G1 G2 G3);

/// A program in emitted form. Implemented by [`strip!`](crate::strip).
pub trait Program: 'static {
    /// Inputs, params and outputs.
    type Operands: Operands;
    /// Runs the loop over one row of `n` lanes.
    fn run(n: usize, rows: <Self::Operands as Operands>::Rows<'_>);
}

/// An instance of a program for one instruction set.
///
/// # Safety
/// In each of the call's rows, of which there is at least one, every input is valid for reads of its dtype, of `n`
/// elements (`Lanes`) or one (`Splat`); every output is valid for writes of `n` elements (of which an `Update` is also
/// readable) and overlaps no other operand; all are aligned. The CPU has the instruction set.
pub(crate) type StripFn = unsafe fn(&Raw<'_>);

/// A program in emitted form, ready to run: its operands and one function per instruction set.
#[derive(Clone, Copy, Debug)]
pub struct Strip {
    tags: &'static [(DType, Access)],
    fns: [Option<StripFn>; 3],
}

impl Strip {
    /// Whether the strip has the operands of `program`.
    pub fn fits(&self, program: &tensorplay_stax::kernel::Program) -> bool {
        let updates = program.updates();
        let inputs = program.inputs.iter().map(|i| (i.dtype, i.access));
        let params = program.params.iter().map(|p| (p.dtype, Access::Splat));
        let outputs = program.outputs.iter().enumerate().map(|(k, o)| match k {
            0 if updates => (o.dtype, Access::Update),
            _ => (o.dtype, Access::Lanes),
        });
        let read = inputs.filter(|(_, access)| *access != Access::Update);
        self.tags.iter().copied().eq(read.chain(params).chain(outputs))
    }

    /// Whether there is a function for the instruction set in use.
    pub(crate) fn runs(&self) -> bool {
        self.function().is_some()
    }

    /// The function for the instruction set in use, if there is one.
    pub(crate) fn function(&self) -> Option<StripFn> {
        self.fns[isa() as usize]
    }
}

/// Runs all rows of a call.
///
/// # Safety
/// The contract of [`StripFn`].
#[inline(always)]
unsafe fn run<P: Program>(raw: &Raw<'_>) {
    // LLVM learns that no lanes remain after the vector loop, and drops the scalar one: a third of the build cost
    let (n, args) = (raw.n & !(GROUP - 1), raw.operands.as_ptr());
    let mut row = 0;
    loop {
        // SAFETY: the caller's contract.
        P::run(n, unsafe { P::Operands::rows(args, row, n) });
        row += 1;
        if row >= raw.rows {
            break;
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2<P: Program>(raw: &Raw<'_>) {
    // SAFETY: the caller's contract.
    unsafe { run::<P>(raw) }
}
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma")]
unsafe fn avx512<P: Program>(raw: &Raw<'_>) {
    // SAFETY: the caller's contract.
    unsafe { run::<P>(raw) }
}
#[cfg(not(target_arch = "x86_64"))]
unsafe fn baseline<P: Program>(raw: &Raw<'_>) {
    // SAFETY: the caller's contract.
    unsafe { run::<P>(raw) }
}

/// The strip of a program.
pub const fn strip<P: Program>() -> Strip {
    #[cfg(target_arch = "x86_64")]
    let fns: [Option<StripFn>; 3] = [None, Some(avx2::<P>), Some(avx512::<P>)];
    #[cfg(not(target_arch = "x86_64"))]
    let fns: [Option<StripFn>; 3] = [Some(baseline::<P>); 3];
    Strip {
        tags: P::Operands::TAGS,
        fns,
    }
}

/// Defines one strip; see [`kernels::strip`](crate::kernels::strip).
///
/// ```ignore
/// strip! {
///     /// `(x * w + b).gelu() * scale` at src/main.rs:41
///     pub fn mul_add_gelu(x: [f32], w: [f32], b: [f16], mean: f32; scale: f32) -> (y: f32 = out, saved: f16 = add) {
///         let half: f32 = 0.5;
///         let mul = x * w;
///         let add = mul + b;
///         let gelu = add.gelu();
///         let out = gelu * scale;
///     }
/// }
/// ```
/// Inputs come first, `[storage]` for one element a lane, bare for one value a row; run-time scalars after `;`.
/// A `let` with a type is a constant of that lane type. `name: storage = value` stores a value; the names of outputs
/// differ from all others. Locals of the expansion begin with `__tp_`: a pattern `n` would be a const of that name where the user
/// has one. A first output `&mut name: storage = value` is also an input: each lane of it is read
/// as `name` and replaced by `value`.
#[macro_export]
macro_rules! strip {
    (
        $(#[doc = $doc:literal])*
        $vis:vis fn $name:ident($($x:ident: $xt:ty),* $(; $($p:ident: $pt:ty),*)? $(,)?)
            -> ($(&mut $u:ident: $ut:ty = $uv:ident $(,)?)? $($o:ident: $ot:ty = $ov:ident),* $(,)?)
        { $(let $v:ident $(: $ct:ident)? = $e:expr;)* }
    ) => {
        $(#[doc = $doc])*
        #[allow(non_camel_case_types, missing_debug_implementations)]
        $vis struct $name {}

        impl $crate::__private::Program for $name {
            type Operands = (
                $(&'static $xt,)*
                $($(&'static $pt,)*)?
                $($crate::__private::Update<$ut>,)?
                $($crate::__private::Output<$ot>,)*
            );
            #[inline(always)]
            fn run(
                __tp_n: usize,
                ($($x,)* $($($p,)*)? $($u,)? $($o,)*): <Self::Operands as $crate::__private::Operands>::Rows<'_>,
            ) {
                #[inline(always)]
                #[allow(clippy::too_many_arguments, unused_parens, unused_variables, non_snake_case)]
                fn lanes(
                    __tp_n: usize,
                    $($x: <&'static $xt as $crate::__private::Operand>::Row<'_>,)*
                    $($($p: <&'static $pt as $crate::__private::Operand>::Row<'_>,)*)?
                    $(__tp_updated: &mut [$ut],)?
                    $($o: &mut [$crate::__private::MaybeUninit<$ot>]),*
                ) {
                    let mut __tp_i = 0;
                    while __tp_i < __tp_n {
                        $(let $u = $crate::__private::Input::lane(&__tp_updated[..], __tp_i);)?
                        $(let $x = $crate::__private::Input::lane($x, __tp_i);)*
                        $($(let $p = $crate::__private::Input::lane($p, __tp_i);)*)?
                        $(let $v = $($crate::__private::constant::<$ct>)? ($e);)*
                        $($crate::__private::replace(&mut __tp_updated[__tp_i], $uv);)?
                        $($crate::__private::write(&mut $o[__tp_i], $ov);)*
                        __tp_i += 1;
                    }
                }
                lanes(__tp_n, $($x,)* $($($p,)*)? $($u,)? $($o),*)
            }
        }
    };
}
