fn classify(x: &Tensor, w1: &Tensor, b1: &Tensor, w2: &Tensor, b2: &Tensor,
    w3: &Tensor, b3: &Tensor) -> Tensor {
    static __TP_FUNCTION: ::tensorplay::__private::Function =
        {
            use ::tensorplay::__private::strip;
            #[doc =
            r" examples/quickstart.rs:23: x.linear(w1, Some(b1)).gelu()"]
            #[allow(non_camel_case_types, missing_debug_implementations)]
            struct linear_gelu {}
            const _: () =
                {
                    #[allow(unused_imports)]
                    use ::tensorplay_runtime::__private::{
                        bf16, f16, Args, Input, Lane, MaybeUninit, Program, Store,
                        Tier,
                    };
                    impl Program for linear_gelu {
                        const NAME: &'static str = "linear_gelu";
                        const SOURCE: &'static str =
                            " examples/quickstart.rs:23: x.linear(w1, Some(b1)).gelu()".trim_ascii();
                        const INPUTS:
                            &'static [(::tensorplay_runtime::__private::DType,
                            ::tensorplay_runtime::__private::Access)] =
                            &[(<<[f32] as Input>::Storage as Store>::DTYPE,
                                            <[f32] as Input>::ACCESS),
                                        (<<[f32] as Input>::Storage as Store>::DTYPE,
                                            <[f32] as Input>::ACCESS)];
                        const PARAMS:
                            &'static [::tensorplay_runtime::__private::DType] =
                            &[];
                        const OUTPUTS:
                            &'static [::tensorplay_runtime::__private::DType] =
                            &[<f32 as Store>::DTYPE];
                        #[inline(always)]
                        fn run<T: Tier>(mut args: Args<'_>) {
                            #[inline(always)]
                            #[allow(clippy :: too_many_arguments, unused_parens,
                            unused_variables, non_snake_case)]
                            fn lanes<T: Tier>(n: usize,
                                matmul: <[f32] as Input>::Arg<'_>,
                                b1: <[f32] as Input>::Arg<'_>,
                                hidden_out: &mut [MaybeUninit<f32>]) {
                                for i in 0..n {
                                    let values =
                                        {
                                            let matmul = <[f32] as Input>::get::<T>(matmul, i);
                                            let b1 = <[f32] as Input>::get::<T>(b1, i);
                                            let add = (matmul + b1);
                                            let hidden = (add.gelu());
                                            ((), hidden)
                                        };
                                    hidden_out[i].write(<f32 as Store>::store(values.1.get()));
                                    ;
                                }
                            }
                            lanes::<T>(args.lanes(), args.take::<[f32]>(),
                                args.take::<[f32]>(), args.output::<f32>())
                        }
                    }
                };
            #[doc =
            r" examples/quickstart.rs:24: hidden.linear(w2, Some(b2)).gelu()"]
            #[allow(non_camel_case_types, missing_debug_implementations)]
            struct linear_gelu_2 {}
            const _: () =
                {
                    #[allow(unused_imports)]
                    use ::tensorplay_runtime::__private::{
                        bf16, f16, Args, Input, Lane, MaybeUninit, Program, Store,
                        Tier,
                    };
                    impl Program for linear_gelu_2 {
                        const NAME: &'static str = "linear_gelu_2";
                        const SOURCE: &'static str =
                            " examples/quickstart.rs:24: hidden.linear(w2, Some(b2)).gelu()".trim_ascii();
                        const INPUTS:
                            &'static [(::tensorplay_runtime::__private::DType,
                            ::tensorplay_runtime::__private::Access)] =
                            &[(<<[f32] as Input>::Storage as Store>::DTYPE,
                                            <[f32] as Input>::ACCESS),
                                        (<<[f32] as Input>::Storage as Store>::DTYPE,
                                            <[f32] as Input>::ACCESS)];
                        const PARAMS:
                            &'static [::tensorplay_runtime::__private::DType] =
                            &[];
                        const OUTPUTS:
                            &'static [::tensorplay_runtime::__private::DType] =
                            &[<f32 as Store>::DTYPE];
                        #[inline(always)]
                        fn run<T: Tier>(mut args: Args<'_>) {
                            #[inline(always)]
                            #[allow(clippy :: too_many_arguments, unused_parens,
                            unused_variables, non_snake_case)]
                            fn lanes<T: Tier>(n: usize,
                                matmul: <[f32] as Input>::Arg<'_>,
                                b2: <[f32] as Input>::Arg<'_>,
                                hidden_out: &mut [MaybeUninit<f32>]) {
                                for i in 0..n {
                                    let values =
                                        {
                                            let matmul = <[f32] as Input>::get::<T>(matmul, i);
                                            let b2 = <[f32] as Input>::get::<T>(b2, i);
                                            let add = (matmul + b2);
                                            let hidden = (add.gelu());
                                            ((), hidden)
                                        };
                                    hidden_out[i].write(<f32 as Store>::store(values.1.get()));
                                    ;
                                }
                            }
                            lanes::<T>(args.lanes(), args.take::<[f32]>(),
                                args.take::<[f32]>(), args.output::<f32>())
                        }
                    }
                };
            #[doc =
            r" examples/quickstart.rs:25: hidden.linear(w3, Some(b3))"]
            #[allow(non_camel_case_types, missing_debug_implementations)]
            struct linear {}
            const _: () =
                {
                    #[allow(unused_imports)]
                    use ::tensorplay_runtime::__private::{
                        bf16, f16, Args, Input, Lane, MaybeUninit, Program, Store,
                        Tier,
                    };
                    impl Program for linear {
                        const NAME: &'static str = "linear";
                        const SOURCE: &'static str =
                            " examples/quickstart.rs:25: hidden.linear(w3, Some(b3))".trim_ascii();
                        const INPUTS:
                            &'static [(::tensorplay_runtime::__private::DType,
                            ::tensorplay_runtime::__private::Access)] =
                            &[(<<[f32] as Input>::Storage as Store>::DTYPE,
                                            <[f32] as Input>::ACCESS),
                                        (<<[f32] as Input>::Storage as Store>::DTYPE,
                                            <[f32] as Input>::ACCESS)];
                        const PARAMS:
                            &'static [::tensorplay_runtime::__private::DType] =
                            &[];
                        const OUTPUTS:
                            &'static [::tensorplay_runtime::__private::DType] =
                            &[<f32 as Store>::DTYPE];
                        #[inline(always)]
                        fn run<T: Tier>(mut args: Args<'_>) {
                            #[inline(always)]
                            #[allow(clippy :: too_many_arguments, unused_parens,
                            unused_variables, non_snake_case)]
                            fn lanes<T: Tier>(n: usize,
                                matmul: <[f32] as Input>::Arg<'_>,
                                b3: <[f32] as Input>::Arg<'_>,
                                add_out: &mut [MaybeUninit<f32>]) {
                                for i in 0..n {
                                    let values =
                                        {
                                            let matmul = <[f32] as Input>::get::<T>(matmul, i);
                                            let b3 = <[f32] as Input>::get::<T>(b3, i);
                                            let add = (matmul + b3);
                                            ((), add)
                                        };
                                    add_out[i].write(<f32 as Store>::store(values.1.get()));
                                    ;
                                }
                            }
                            lanes::<T>(args.lanes(), args.take::<[f32]>(),
                                args.take::<[f32]>(), args.output::<f32>())
                        }
                    }
                };
            static __TP_STRIPS: [::tensorplay::__private::Strip; 3usize] =
                [::tensorplay::__private::strip::<linear_gelu>(),
                        ::tensorplay::__private::strip::<linear_gelu_2>(),
                        ::tensorplay::__private::strip::<linear>()];
            ::tensorplay::__private::Function::new("quickstart::classify",
                "examples/quickstart.rs", 14,
                b"(the blob)",
                &__TP_STRIPS)
        };
    if let ::core::option::Option::Some(__tp_result) =
            __TP_FUNCTION.call(&[::tensorplay::__private::witness(x),
                            ::tensorplay::__private::witness(w1),
                            ::tensorplay::__private::witness(b1),
                            ::tensorplay::__private::witness(w2),
                            ::tensorplay::__private::witness(b2),
                            ::tensorplay::__private::witness(w3),
                            ::tensorplay::__private::witness(b3)], &[]) {
        return match __tp_result {
                ::core::result::Result::Ok(mut __tp_outputs) =>
                    __tp_outputs.take(0),
                ::core::result::Result::Err(__tp_error) =>
                    ::tensorplay::__private::raise(__tp_error),
            };
    }
    let hidden = x.linear(w1, Some(b1)).gelu();
    let hidden = hidden.linear(w2, Some(b2)).gelu();
    hidden.linear(w3, Some(b3))
}
#[doc(hidden)]
#[allow(unused_macros, non_local_definitions)]
macro_rules! __tp_x_classify_bcefe594b67bf765 {
    (@ explain $ ($p : tt) *) =>
    {
        :: tensorplay :: __private ::
        explain(:: tensorplay :: __private ::
        probe(||
        {
            let _ = $ ($p) *
            (:: tensorplay :: __private :: dummy(), :: tensorplay :: __private
            :: dummy(), :: tensorplay :: __private :: dummy(), :: tensorplay
            :: __private :: dummy(), :: tensorplay :: __private :: dummy(), ::
            tensorplay :: __private :: dummy(), :: tensorplay :: __private ::
            dummy());
        }))
    }; (@ graphs $ ($p : tt) *) =>
    {
        :: tensorplay :: __private ::
        graphs(:: tensorplay :: __private ::
        probe(||
        {
            let _ = $ ($p) *
            (:: tensorplay :: __private :: dummy(), :: tensorplay :: __private
            :: dummy(), :: tensorplay :: __private :: dummy(), :: tensorplay
            :: __private :: dummy(), :: tensorplay :: __private :: dummy(), ::
            tensorplay :: __private :: dummy(), :: tensorplay :: __private ::
            dummy());
        }))
    };
}
#[doc(hidden)]
#[allow(unused_imports)]
pub(crate) use __tp_x_classify_bcefe594b67bf765 as classify;
