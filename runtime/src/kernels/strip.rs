//! Strips: the emitted form of a program, a loop over contiguous lanes.
//!
//! Problem: emitted code lives in users' crates, where it must be readable, free of `unsafe`, and cheap to
//! build. Method: the emitter prints one [`strip!`](crate::strip) item a program. It expands to a type and a
//! safe implementation of [`Program`] whose loop is `#[inline(always)]` and generic over the lane tier; the
//! generic functions of this file instantiate that loop once an instruction set, and [`strip`] makes the
//! const table of them. Broadcasts, strides, tails, rows and threads are the business of the callers
//! ([`nest`](super::nest)), which are not generic.
//!
//! Invariants: safe code reaches memory only through [`Args`], which hands out each operand once, checks its
//! dtype and access, and gives slices of the call's length. Whoever builds a [`Raw`] vouches that these
//! pointers are valid and that no output overlaps another operand; so the slices never alias, LLVM knows it
//! (they are function parameters), and the loop is vectorised without run-time checks. An output that the program
//! updates is not among the inputs: its one slice is read and then written, lane by lane.

use super::tier::isa;
use crate::lane::{Fused, Lane, Portable, Store, Tier};
use std::mem::MaybeUninit;
use tensorplay_graph::DType;
use tensorplay_stax::kernel::Access;

/// One operand of a call: where it is and what it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arg {
    /// The first element, or the one element.
    pub ptr: *const u8,
    /// Storage type and access, as [`tag`] packs them.
    pub tag: u16,
}

/// Storage type and access in one number: one compare checks an operand.
pub(crate) const fn tag(dtype: DType, access: Access) -> u16 {
    (dtype as u16) << 2 | access as u16
}

/// Strips run whole groups of lanes; [`nest`](super::nest) repeats or pads the last one.
pub(crate) const GROUP: usize = 64;

/// The operands of one call, of whole groups of 64 lanes. Params follow the inputs, as splats of their dtype;
/// what the program updates ([`Access::Update`]) is the first output and no input.
#[derive(Debug)]
pub struct Raw<'a> {
    pub(crate) inputs: &'a [Arg],
    pub(crate) outputs: &'a [Arg],
    pub(crate) n: usize,
}

/// Hands the operands of one call to a program: inputs, params and outputs, each once and in order.
#[derive(Debug)]
pub struct Args<'a> {
    inputs: &'a [Arg],
    outputs: &'a [Arg],
    n: usize,
}

#[cold]
#[inline(never)]
fn mismatch() -> ! {
    panic!("a kernel was called with operands of other types than it was built for")
}

impl<'a> Args<'a> {
    /// # Safety
    /// Until `'a` ends, every input is valid for reads of its dtype, of `n` elements (`Lanes`) or one (`Splat`);
    /// every output is valid for writes of `n` elements (of which an `Update` is also readable) and overlaps no
    /// other operand; all are aligned.
    #[inline(always)]
    unsafe fn new(raw: &'a Raw<'a>) -> Self {
        // LLVM learns that no lanes remain after the vector loop, and drops the scalar one: a third of the build cost
        Args {
            inputs: raw.inputs,
            outputs: raw.outputs,
            n: raw.n & !(GROUP - 1),
        }
    }

    /// The number of lanes, a multiple of 64.
    #[inline(always)]
    pub fn lanes(&self) -> usize {
        self.n
    }

    #[inline(always)]
    fn input(&mut self, tag: u16) -> *const u8 {
        match self.inputs {
            [a, rest @ ..] if a.tag == tag => {
                self.inputs = rest;
                a.ptr
            }
            _ => mismatch(),
        }
    }

    /// The next input.
    #[inline(always)]
    pub fn take<I: Input + ?Sized>(&mut self) -> I::Arg<'a> {
        I::take(self)
    }

    #[inline(always)]
    fn written(&mut self, tag: u16) -> *mut u8 {
        match self.outputs {
            [a, rest @ ..] if a.tag == tag => {
                self.outputs = rest;
                a.ptr.cast_mut()
            }
            _ => mismatch(),
        }
    }

    /// The next output.
    #[inline(always)]
    pub fn output<S: Store>(&mut self) -> &'a mut [MaybeUninit<S>] {
        let p = self.written(const { tag(S::DTYPE, Access::Lanes) });
        // SAFETY: `new` vouches for `n` writable elements that nothing else refers to, and the output was just
        // removed from the list, so this is the only slice of it.
        unsafe { std::slice::from_raw_parts_mut(p.cast(), self.n) }
    }

    /// The next output, which is updated in place.
    #[inline(always)]
    pub fn update<S: Store>(&mut self) -> &'a mut [S] {
        let p = self.written(const { tag(S::DTYPE, Access::Update) });
        // SAFETY: as in `output`; `new` vouches that the elements of an `Update` are readable.
        unsafe { std::slice::from_raw_parts_mut(p.cast(), self.n) }
    }
}

/// How a parameter of a strip is read: `[S]` is one element a lane, a bare `S` one for all.
pub trait Input {
    /// The storage type.
    type Storage: Store;
    /// What the loop function receives.
    type Arg<'a>: Copy;
    /// One a lane, or one for all.
    const ACCESS: Access;
    /// Takes the next operand.
    fn take<'a>(args: &mut Args<'a>) -> Self::Arg<'a>;
    /// The value of lane `i`.
    fn get<T: Tier>(arg: Self::Arg<'_>, i: usize) -> Lane<<Self::Storage as Store>::Elem, T>;
}

impl<S: Store> Input for [S] {
    type Storage = S;
    type Arg<'a> = &'a [S];
    const ACCESS: Access = Access::Lanes;
    #[inline(always)]
    fn take<'a>(args: &mut Args<'a>) -> &'a [S] {
        let p = args.input(const { tag(S::DTYPE, Access::Lanes) });
        // SAFETY: `Args::new` vouches for `n` readable elements of the dtype that was checked.
        unsafe { std::slice::from_raw_parts(p.cast(), args.n) }
    }
    #[inline(always)]
    fn get<T: Tier>(arg: &[S], i: usize) -> Lane<S::Elem, T> {
        Lane::new(arg[i].load())
    }
}

macro_rules! splat {
    ($($t:ty)*) => {$(
        impl Input for $t {
            type Storage = $t;
            type Arg<'a> = $t;
            const ACCESS: Access = Access::Splat;
            #[inline(always)]
            fn take<'a>(args: &mut Args<'a>) -> $t {
                let p = args.input(const { tag(<$t as Store>::DTYPE, Access::Splat) });
                // SAFETY: `Args::new` vouches for one readable element of the dtype that was checked.
                unsafe { *p.cast::<$t>() }
            }
            #[inline(always)]
            fn get<T: Tier>(arg: $t, _: usize) -> Lane<<$t as Store>::Elem, T> {
                Lane::new(arg.load())
            }
        }
    )*};
}
splat!(f32 f64 half::f16 half::bf16 i32 i64 u8 bool);

/// A program in emitted form. Implemented by [`strip!`](crate::strip).
pub trait Program: 'static {
    /// The name in the user's crate.
    const NAME: &'static str;
    /// The source expression and where it stands.
    const SOURCE: &'static str;
    /// Storage type and access of every input.
    const INPUTS: &'static [(DType, Access)];
    /// The types of the run-time scalars.
    const PARAMS: &'static [DType];
    /// The storage types of the outputs.
    const OUTPUTS: &'static [DType];
    /// Runs the loop.
    fn run<T: Tier>(args: Args<'_>);
}

/// An instance of a program for one instruction set.
///
/// # Safety
/// The contract of [`Args::new`], and the CPU has the instruction set.
pub(crate) type StripFn = unsafe fn(&Raw<'_>);

/// A program in emitted form, ready to run: signature and one function per instruction set.
#[derive(Clone, Copy, Debug)]
pub struct Strip {
    name: &'static str,
    source: &'static str,
    inputs: &'static [(DType, Access)],
    params: &'static [DType],
    outputs: &'static [DType],
    fns: [StripFn; 3],
}

impl Strip {
    /// The name in the user's crate.
    pub const fn name(&self) -> &'static str {
        self.name
    }
    /// The source expression and where it stands.
    pub const fn source(&self) -> &'static str {
        self.source
    }
    /// Storage type and access of every input.
    pub const fn inputs(&self) -> &'static [(DType, Access)] {
        self.inputs
    }
    /// The types of the run-time scalars.
    pub const fn params(&self) -> &'static [DType] {
        self.params
    }
    /// The storage types of the outputs.
    pub const fn outputs(&self) -> &'static [DType] {
        self.outputs
    }
    /// Whether the strip has the signature of `program`.
    pub fn fits(&self, program: &tensorplay_stax::kernel::Program) -> bool {
        self.inputs
            .iter()
            .copied()
            .eq(program.inputs.iter().map(|i| (i.dtype, i.access)))
            && self
                .params
                .iter()
                .copied()
                .eq(program.params.iter().map(|p| p.dtype))
            && self
                .outputs
                .iter()
                .copied()
                .eq(program.outputs.iter().map(|o| o.dtype))
    }

    /// The function for the instruction set in use.
    pub(crate) fn function(&self) -> StripFn {
        self.fns[isa() as usize]
    }
}

unsafe fn portable<P: Program>(raw: &Raw<'_>) {
    // SAFETY: the contract of `StripFn`, passed on to `Args::new`.
    P::run::<Portable>(unsafe { Args::new(raw) })
}
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2<P: Program>(raw: &Raw<'_>) {
    // SAFETY: as above.
    P::run::<Fused>(unsafe { Args::new(raw) })
}
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma")]
unsafe fn avx512<P: Program>(raw: &Raw<'_>) {
    // SAFETY: as above.
    P::run::<Fused>(unsafe { Args::new(raw) })
}

/// The strip of a program.
pub const fn strip<P: Program>() -> Strip {
    #[cfg(target_arch = "x86_64")]
    let fns: [StripFn; 3] = [portable::<P>, avx2::<P>, avx512::<P>];
    #[cfg(not(target_arch = "x86_64"))]
    let fns: [StripFn; 3] = [portable::<P>; 3];
    Strip {
        name: P::NAME,
        source: P::SOURCE,
        inputs: P::INPUTS,
        params: P::PARAMS,
        outputs: P::OUTPUTS,
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
/// A `let` with a type is a constant of that lane type. `(name: storage)` stores the value `name`,
/// `(name: storage = value)` another; output names differ from those of inputs and params. A first output
/// `&mut name: storage = value` is also an input: each lane of it is read as `name` and replaced by `value`.
#[macro_export]
macro_rules! strip {
    (
        $(#[doc = $doc:literal])*
        $vis:vis fn $name:ident($($x:ident: $xt:ty),* $(; $($p:ident: $pt:ty),*)? $(,)?)
            -> ($(&mut $u:ident: $ut:ty = $uv:ident $(,)?)? $($o:ident: $ot:ty $(= $ov:ident)?),* $(,)?)
        { $(let $v:ident $(: $ct:ident)? = $e:expr;)* }
    ) => {
        $(#[doc = $doc])*
        #[allow(non_camel_case_types, missing_debug_implementations)]
        $vis struct $name {}

        const _: () = {
            #[allow(unused_imports)]
            use $crate::__private::{bf16, f16, Args, Input, Lane, MaybeUninit, Program, Store, Tier};
            impl Program for $name {
                const NAME: &'static str = stringify!($name);
                const SOURCE: &'static str = concat!($($doc,)*).trim_ascii();
                const INPUTS: &'static [($crate::__private::DType, $crate::__private::Access)] =
                    &[
                        $((<<$xt as Input>::Storage as Store>::DTYPE, <$xt as Input>::ACCESS),)*
                        $((<$ut as Store>::DTYPE, $crate::__private::Access::Update))?
                    ];
                const PARAMS: &'static [$crate::__private::DType] =
                    &[$($(<$pt as Store>::DTYPE),*)?];
                const OUTPUTS: &'static [$crate::__private::DType] =
                    &[$(<$ut as Store>::DTYPE,)? $(<$ot as Store>::DTYPE),*];
                #[inline(always)]
                fn run<T: Tier>(mut args: Args<'_>) {
                    #[inline(always)]
                    #[allow(clippy::too_many_arguments, unused_parens, unused_variables, non_snake_case)]
                    fn lanes<T: Tier>(
                        n: usize,
                        $($x: <$xt as Input>::Arg<'_>,)*
                        $($($p: <$pt as Input>::Arg<'_>,)*)?
                        $($u: &mut [$ut],)?
                        $($o: &mut [MaybeUninit<$ot>]),*
                    ) {
                        for i in 0..n {
                            let values = {
                                $(let $u = Lane::<<$ut as Store>::Elem, T>::new(Store::load($u[i]));)?
                                $(let $x = <$xt as Input>::get::<T>($x, i);)*
                                $($(let $p = <$pt as Input>::get::<T>($p, i);)*)?
                                $(let $v = $(Lane::<$ct, T>::new)? ($e);)*
                                (($($uv)?), $($crate::strip!(@value $o $($ov)?),)*)
                            };
                            $($u[i] = <$ut as Store>::store(values.0.get());)?
                            $crate::strip!(@store i values (1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21
                                22 23 24 25 26 27 28 29 30 31 32) ($($o: $ot,)*));
                        }
                    }
                    lanes::<T>(
                        args.lanes(),
                        $(args.take::<$xt>(),)*
                        $($(args.take::<$pt>(),)*)?
                        $(args.update::<$ut>(),)?
                        $(args.output::<$ot>()),*
                    )
                }
            }
        };
    };
    (@value $o:ident) => { $o };
    (@value $o:ident $v:ident) => { $v };
    (@store $i:ident $values:ident ($($k:tt)*) ()) => {};
    (@store $i:ident $values:ident ($k:tt $($ks:tt)*) ($o:ident: $ot:ty, $($rest:tt)*)) => {
        $o[$i].write(<$ot as Store>::store($values.$k.get()));
        $crate::strip!(@store $i $values ($($ks)*) ($($rest)*));
    };
}
