fn early_exit(x: &Tensor, w: &Tensor, threshold: f32) -> Tensor {
    static __TP_FUNCTION: ::tensorplay::__private::Function =
        {
            static SEGMENT_0: ::tensorplay::__private::Function =
                {
                    mod __tp_kernels {
                        #[allow(unused_imports)]
                        use ::tensorplay::__private::{bf16, f16, strip};
                        #[doc =
                        r" tests/expansion/source.rs:8: h.softmax(-1).max(-1)"]
                        #[allow(non_camel_case_types,
                        missing_debug_implementations)]
                        struct relu_softmax_max {}
                        impl ::tensorplay_runtime::__private::Program for
                            relu_softmax_max {
                            type Operands =
                                (&'static [f32],
                                ::tensorplay_runtime::__private::Output<f32>,
                                ::tensorplay_runtime::__private::Output<f32>);
                            #[inline(always)]
                            fn run(__tp_n: usize,
                                (matmul, h_out, h_out_2):
                                    <Self::Operands as
                                    ::tensorplay_runtime::__private::Operands>::Rows<'_>) {
                                #[inline(always)]
                                #[allow(clippy :: too_many_arguments, unused_parens,
                                unused_variables, non_snake_case)]
                                fn lanes(__tp_n: usize,
                                    matmul:
                                        <&'static [f32] as
                                        ::tensorplay_runtime::__private::Operand>::Row<'_>,
                                    h_out:
                                        &mut [::tensorplay_runtime::__private::MaybeUninit<f32>],
                                    h_out_2:
                                        &mut [::tensorplay_runtime::__private::MaybeUninit<f32>]) {
                                    let mut __tp_i = 0;
                                    while __tp_i < __tp_n {
                                        let matmul =
                                            ::tensorplay_runtime::__private::Input::lane(matmul,
                                                __tp_i);
                                        let h = (matmul.relu());
                                        ::tensorplay_runtime::__private::write(&mut h_out[__tp_i],
                                            h);
                                        ::tensorplay_runtime::__private::write(&mut h_out_2[__tp_i],
                                            h);
                                        __tp_i += 1;
                                    }
                                }
                                lanes(__tp_n, matmul, h_out, h_out_2)
                            }
                        }
                        #[doc =
                        r" tests/expansion/source.rs:8: h.softmax(-1).max(-1)"]
                        #[allow(non_camel_case_types,
                        missing_debug_implementations)]
                        struct relu_softmax_max_2 {}
                        impl ::tensorplay_runtime::__private::Program for
                            relu_softmax_max_2 {
                            type Operands =
                                (&'static [f32], &'static f32,
                                ::tensorplay_runtime::__private::Output<f32>);
                            #[inline(always)]
                            fn run(__tp_n: usize,
                                (h, row_max, exp_out):
                                    <Self::Operands as
                                    ::tensorplay_runtime::__private::Operands>::Rows<'_>) {
                                #[inline(always)]
                                #[allow(clippy :: too_many_arguments, unused_parens,
                                unused_variables, non_snake_case)]
                                fn lanes(__tp_n: usize,
                                    h:
                                        <&'static [f32] as
                                        ::tensorplay_runtime::__private::Operand>::Row<'_>,
                                    row_max:
                                        <&'static f32 as
                                        ::tensorplay_runtime::__private::Operand>::Row<'_>,
                                    exp_out:
                                        &mut [::tensorplay_runtime::__private::MaybeUninit<f32>]) {
                                    let mut __tp_i = 0;
                                    while __tp_i < __tp_n {
                                        let h =
                                            ::tensorplay_runtime::__private::Input::lane(h, __tp_i);
                                        let row_max =
                                            ::tensorplay_runtime::__private::Input::lane(row_max,
                                                __tp_i);
                                        let sub = (h - row_max);
                                        let exp = (sub.exp());
                                        ::tensorplay_runtime::__private::write(&mut exp_out[__tp_i],
                                            exp);
                                        __tp_i += 1;
                                    }
                                }
                                lanes(__tp_n, h, row_max, exp_out)
                            }
                        }
                        #[doc =
                        r" tests/expansion/source.rs:8: h.softmax(-1).max(-1)"]
                        #[allow(non_camel_case_types,
                        missing_debug_implementations)]
                        struct relu_softmax_max_3 {}
                        impl ::tensorplay_runtime::__private::Program for
                            relu_softmax_max_3 {
                            type Operands =
                                (&'static [f32],
                                ::tensorplay_runtime::__private::Output<f32>);
                            #[inline(always)]
                            fn run(__tp_n: usize,
                                (sum_keepdim, reciprocal_out):
                                    <Self::Operands as
                                    ::tensorplay_runtime::__private::Operands>::Rows<'_>) {
                                #[inline(always)]
                                #[allow(clippy :: too_many_arguments, unused_parens,
                                unused_variables, non_snake_case)]
                                fn lanes(__tp_n: usize,
                                    sum_keepdim:
                                        <&'static [f32] as
                                        ::tensorplay_runtime::__private::Operand>::Row<'_>,
                                    reciprocal_out:
                                        &mut [::tensorplay_runtime::__private::MaybeUninit<f32>]) {
                                    let mut __tp_i = 0;
                                    while __tp_i < __tp_n {
                                        let sum_keepdim =
                                            ::tensorplay_runtime::__private::Input::lane(sum_keepdim,
                                                __tp_i);
                                        let reciprocal = (sum_keepdim.reciprocal());
                                        ::tensorplay_runtime::__private::write(&mut reciprocal_out[__tp_i],
                                            reciprocal);
                                        __tp_i += 1;
                                    }
                                }
                                lanes(__tp_n, sum_keepdim, reciprocal_out)
                            }
                        }
                        #[doc =
                        r" tests/expansion/source.rs:8: h.softmax(-1).max(-1)"]
                        #[allow(non_camel_case_types,
                        missing_debug_implementations)]
                        struct relu_softmax_max_4 {}
                        impl ::tensorplay_runtime::__private::Program for
                            relu_softmax_max_4 {
                            type Operands =
                                (&'static [f32], &'static f32,
                                ::tensorplay_runtime::__private::Output<f32>);
                            #[inline(always)]
                            fn run(__tp_n: usize,
                                (exp, reciprocal, mul_out):
                                    <Self::Operands as
                                    ::tensorplay_runtime::__private::Operands>::Rows<'_>) {
                                #[inline(always)]
                                #[allow(clippy :: too_many_arguments, unused_parens,
                                unused_variables, non_snake_case)]
                                fn lanes(__tp_n: usize,
                                    exp:
                                        <&'static [f32] as
                                        ::tensorplay_runtime::__private::Operand>::Row<'_>,
                                    reciprocal:
                                        <&'static f32 as
                                        ::tensorplay_runtime::__private::Operand>::Row<'_>,
                                    mul_out:
                                        &mut [::tensorplay_runtime::__private::MaybeUninit<f32>]) {
                                    let mut __tp_i = 0;
                                    while __tp_i < __tp_n {
                                        let exp =
                                            ::tensorplay_runtime::__private::Input::lane(exp, __tp_i);
                                        let reciprocal =
                                            ::tensorplay_runtime::__private::Input::lane(reciprocal,
                                                __tp_i);
                                        let mul = (exp * reciprocal);
                                        ::tensorplay_runtime::__private::write(&mut mul_out[__tp_i],
                                            mul);
                                        __tp_i += 1;
                                    }
                                }
                                lanes(__tp_n, exp, reciprocal, mul_out)
                            }
                        }
                        #[doc =
                        r" tests/expansion/source.rs:8: h.softmax(-1).max(-1).mean_all()"]
                        #[allow(non_camel_case_types,
                        missing_debug_implementations)]
                        struct mean_all {}
                        impl ::tensorplay_runtime::__private::Program for mean_all {
                            type Operands =
                                (&'static [f64], &'static f64,
                                ::tensorplay_runtime::__private::Output<f32>);
                            #[inline(always)]
                            fn run(__tp_n: usize,
                                (wide_sum_all, n, div_f32_out):
                                    <Self::Operands as
                                    ::tensorplay_runtime::__private::Operands>::Rows<'_>) {
                                #[inline(always)]
                                #[allow(clippy :: too_many_arguments, unused_parens,
                                unused_variables, non_snake_case)]
                                fn lanes(__tp_n: usize,
                                    wide_sum_all:
                                        <&'static [f64] as
                                        ::tensorplay_runtime::__private::Operand>::Row<'_>,
                                    n:
                                        <&'static f64 as
                                        ::tensorplay_runtime::__private::Operand>::Row<'_>,
                                    div_f32_out:
                                        &mut [::tensorplay_runtime::__private::MaybeUninit<f32>]) {
                                    let mut __tp_i = 0;
                                    while __tp_i < __tp_n {
                                        let wide_sum_all =
                                            ::tensorplay_runtime::__private::Input::lane(wide_sum_all,
                                                __tp_i);
                                        let n =
                                            ::tensorplay_runtime::__private::Input::lane(n, __tp_i);
                                        let div = (wide_sum_all / n);
                                        let div_f32 = (div.to_f32());
                                        ::tensorplay_runtime::__private::write(&mut div_f32_out[__tp_i],
                                            div_f32);
                                        __tp_i += 1;
                                    }
                                }
                                lanes(__tp_n, wide_sum_all, n, div_f32_out)
                            }
                        }
                        pub(super) static STRIPS:
                            [::tensorplay::__private::Strip; 5usize] =
                            [::tensorplay::__private::strip::<relu_softmax_max>(),
                                    ::tensorplay::__private::strip::<relu_softmax_max_2>(),
                                    ::tensorplay::__private::strip::<relu_softmax_max_3>(),
                                    ::tensorplay::__private::strip::<relu_softmax_max_4>(),
                                    ::tensorplay::__private::strip::<mean_all>()];
                    }
                    ::tensorplay::__private::Function::new("quickstart::early_exit",
                        "tests/expansion/source.rs", 5,
                        b"(the blob)",
                        &__tp_kernels::STRIPS)
                };
            static SEGMENT_1: ::tensorplay::__private::Function =
                {
                    mod __tp_kernels {
                        #[allow(unused_imports)]
                        use ::tensorplay::__private::{bf16, f16, strip};
                        #[doc = r" tests/expansion/source.rs:10: h.exp()"]
                        #[allow(non_camel_case_types,
                        missing_debug_implementations)]
                        struct exp {}
                        impl ::tensorplay_runtime::__private::Program for exp {
                            type Operands =
                                (&'static [f32],
                                ::tensorplay_runtime::__private::Output<f32>);
                            #[inline(always)]
                            fn run(__tp_n: usize,
                                (h, exp_out):
                                    <Self::Operands as
                                    ::tensorplay_runtime::__private::Operands>::Rows<'_>) {
                                #[inline(always)]
                                #[allow(clippy :: too_many_arguments, unused_parens,
                                unused_variables, non_snake_case)]
                                fn lanes(__tp_n: usize,
                                    h:
                                        <&'static [f32] as
                                        ::tensorplay_runtime::__private::Operand>::Row<'_>,
                                    exp_out:
                                        &mut [::tensorplay_runtime::__private::MaybeUninit<f32>]) {
                                    let mut __tp_i = 0;
                                    while __tp_i < __tp_n {
                                        let h =
                                            ::tensorplay_runtime::__private::Input::lane(h, __tp_i);
                                        let exp = (h.exp());
                                        ::tensorplay_runtime::__private::write(&mut exp_out[__tp_i],
                                            exp);
                                        __tp_i += 1;
                                    }
                                }
                                lanes(__tp_n, h, exp_out)
                            }
                        }
                        pub(super) static STRIPS:
                            [::tensorplay::__private::Strip; 1usize] =
                            [::tensorplay::__private::strip::<exp>()];
                    }
                    ::tensorplay::__private::Function::new("quickstart::early_exit",
                        "tests/expansion/source.rs", 5,
                        b"(the blob)",
                        &__tp_kernels::STRIPS)
                };
            static SEGMENT_2: ::tensorplay::__private::Function =
                {
                    mod __tp_kernels {
                        #[allow(unused_imports)]
                        use ::tensorplay::__private::{bf16, f16, strip};
                        #[doc =
                        r" tests/expansion/source.rs:13: (&h * confidence).gelu()"]
                        #[allow(non_camel_case_types,
                        missing_debug_implementations)]
                        struct mul_gelu {}
                        impl ::tensorplay_runtime::__private::Program for mul_gelu {
                            type Operands =
                                (&'static [f32], &'static f32,
                                ::tensorplay_runtime::__private::Output<f32>);
                            #[inline(always)]
                            fn run(__tp_n: usize,
                                (h, confidence, h_out):
                                    <Self::Operands as
                                    ::tensorplay_runtime::__private::Operands>::Rows<'_>) {
                                #[inline(always)]
                                #[allow(clippy :: too_many_arguments, unused_parens,
                                unused_variables, non_snake_case)]
                                fn lanes(__tp_n: usize,
                                    h:
                                        <&'static [f32] as
                                        ::tensorplay_runtime::__private::Operand>::Row<'_>,
                                    confidence:
                                        <&'static f32 as
                                        ::tensorplay_runtime::__private::Operand>::Row<'_>,
                                    h_out:
                                        &mut [::tensorplay_runtime::__private::MaybeUninit<f32>]) {
                                    let mut __tp_i = 0;
                                    while __tp_i < __tp_n {
                                        let h =
                                            ::tensorplay_runtime::__private::Input::lane(h, __tp_i);
                                        let confidence =
                                            ::tensorplay_runtime::__private::Input::lane(confidence,
                                                __tp_i);
                                        let mul = (h * confidence);
                                        let h_2 = (mul.gelu());
                                        ::tensorplay_runtime::__private::write(&mut h_out[__tp_i],
                                            h_2);
                                        __tp_i += 1;
                                    }
                                }
                                lanes(__tp_n, h, confidence, h_out)
                            }
                        }
                        pub(super) static STRIPS:
                            [::tensorplay::__private::Strip; 1usize] =
                            [::tensorplay::__private::strip::<mul_gelu>()];
                    }
                    ::tensorplay::__private::Function::new("quickstart::early_exit",
                        "tests/expansion/source.rs", 5,
                        b"(the blob)",
                        &__tp_kernels::STRIPS)
                };
            static SEGMENT_3: ::tensorplay::__private::Function =
                {
                    mod __tp_kernels {
                        #[allow(unused_imports)]
                        use ::tensorplay::__private::{bf16, f16, strip};
                        #[doc = r" tests/expansion/source.rs:15: h.tanh()"]
                        #[allow(non_camel_case_types,
                        missing_debug_implementations)]
                        struct tanh {}
                        impl ::tensorplay_runtime::__private::Program for tanh {
                            type Operands =
                                (&'static [f32],
                                ::tensorplay_runtime::__private::Output<f32>);
                            #[inline(always)]
                            fn run(__tp_n: usize,
                                (h, tanh_out):
                                    <Self::Operands as
                                    ::tensorplay_runtime::__private::Operands>::Rows<'_>) {
                                #[inline(always)]
                                #[allow(clippy :: too_many_arguments, unused_parens,
                                unused_variables, non_snake_case)]
                                fn lanes(__tp_n: usize,
                                    h:
                                        <&'static [f32] as
                                        ::tensorplay_runtime::__private::Operand>::Row<'_>,
                                    tanh_out:
                                        &mut [::tensorplay_runtime::__private::MaybeUninit<f32>]) {
                                    let mut __tp_i = 0;
                                    while __tp_i < __tp_n {
                                        let h =
                                            ::tensorplay_runtime::__private::Input::lane(h, __tp_i);
                                        let tanh = (h.tanh());
                                        ::tensorplay_runtime::__private::write(&mut tanh_out[__tp_i],
                                            tanh);
                                        __tp_i += 1;
                                    }
                                }
                                lanes(__tp_n, h, tanh_out)
                            }
                        }
                        pub(super) static STRIPS:
                            [::tensorplay::__private::Strip; 1usize] =
                            [::tensorplay::__private::strip::<tanh>()];
                    }
                    ::tensorplay::__private::Function::new("quickstart::early_exit",
                        "tests/expansion/source.rs", 5,
                        b"(the blob)",
                        &__tp_kernels::STRIPS)
                };
            ::tensorplay::__private::Function::segmented("quickstart::early_exit",
                "tests/expansion/source.rs", 5,
                &[&SEGMENT_0, &SEGMENT_1, &SEGMENT_2, &SEGMENT_3],
                &[::tensorplay::__private::BreakRecord {
                                line: 8,
                                reason: "`item` reads tensor data",
                            },
                            ::tensorplay::__private::BreakRecord {
                                line: 9,
                                reason: "a branch or size that reads `confidence`, which changes while the function runs",
                            },
                            ::tensorplay::__private::BreakRecord {
                                line: 12,
                                reason: "the macro `println!`",
                            },
                            ::tensorplay::__private::BreakRecord {
                                line: 14,
                                reason: "the macro `println!`",
                            }])
        };
    let ::core::option::Option::Some(__tp_entered) =
        __TP_FUNCTION.enter() else {
            return ::tensorplay::__private::dummy();
        };
    let __tp_results =
        match __TP_FUNCTION.segment(0).call(&[::tensorplay::__private::witness(x),
                            ::tensorplay::__private::witness(w)], &[]) {
            ::core::option::Option::Some(::core::result::Result::Ok(mut __tp_outputs))
                => {
                (__tp_outputs.tensor(), __tp_outputs.tensor())
            }
            ::core::option::Option::Some(::core::result::Result::Err(__tp_error))
                => ::tensorplay::__private::raise(__tp_error),
            ::core::option::Option::None => {
                #[allow(unused_mut, unused_variables)]
                let mut h = x.matmul(w).relu();
                let __tp_t0 = h.softmax(-1).max(-1).mean_all();
                (h, __tp_t0)
            }
        };
    #[allow(unused_mut, unused_variables)]
    let (mut h, __tp_t0) = __tp_results;
    #[allow(unused_mut, unused_variables)]
    let rows = h.dim(0);
    let confidence = __tp_t0.item::<f32>();
    if confidence > threshold {
        match __TP_FUNCTION.segment(1).call(&[::tensorplay::__private::local(&h)],
                &[]) {
            ::core::option::Option::Some(::core::result::Result::Ok(mut __tp_outputs))
                => {
                return __tp_outputs.tensor()
            }
            ::core::option::Option::Some(::core::result::Result::Err(__tp_error))
                => ::tensorplay::__private::raise(__tp_error),
            ::core::option::Option::None => { return h.exp(); }
        }
    }
    {
        ::std::io::_print(format_args!("{0} rows, confidence {1}\n", rows,
                confidence));
    };
    match __TP_FUNCTION.segment(2).call(&[::tensorplay::__private::local(&h)],
            &[::tensorplay::__private::number(confidence)]) {
        ::core::option::Option::Some(::core::result::Result::Ok(mut __tp_outputs))
            => {
            #[allow(unused_assignments)]
            { h = __tp_outputs.tensor(); }
        }
        ::core::option::Option::Some(::core::result::Result::Err(__tp_error))
            => ::tensorplay::__private::raise(__tp_error),
        ::core::option::Option::None => { h = (&h * confidence).gelu(); }
    }
    { ::std::io::_print(format_args!("{0}\n", h)); };
    match __TP_FUNCTION.segment(3).call(&[::tensorplay::__private::local(&h)],
            &[]) {
        ::core::option::Option::Some(::core::result::Result::Ok(mut __tp_outputs))
            => {
            return __tp_outputs.tensor()
        }
        ::core::option::Option::Some(::core::result::Result::Err(__tp_error))
            => ::tensorplay::__private::raise(__tp_error),
        ::core::option::Option::None => { h.tanh() }
    }
}
#[doc(hidden)]
#[allow(unused_macros, non_local_definitions)]
macro_rules! __tp_x_early_exit_5d85afb7454b74de {
    (@ explain $ ($p : tt) *) =>
    {
        :: tensorplay :: __private ::
        explain(:: tensorplay :: __private ::
        probe(|| $ ($p) *
        (:: tensorplay :: __private :: dummy(), :: tensorplay :: __private ::
        dummy(), :: tensorplay :: __private :: dummy())))
    }; (@ graphs $ ($p : tt) *) =>
    {
        :: tensorplay :: __private ::
        graphs(:: tensorplay :: __private ::
        probe(|| $ ($p) *
        (:: tensorplay :: __private :: dummy(), :: tensorplay :: __private ::
        dummy(), :: tensorplay :: __private :: dummy())))
    }; (@ function $ ($p : tt) *) =>
    {
        :: tensorplay :: __private ::
        probe(|| $ ($p) *
        (:: tensorplay :: __private :: dummy(), :: tensorplay :: __private ::
        dummy(), :: tensorplay :: __private :: dummy()))
    }; (@ export $ ($t : tt) *) =>
    {
        :: core :: compile_error!
        ("[TP0046] `early_exit` has graph breaks, so that no graph can hold a call of it\n  help: write `fullgraph` on it to see them, and mend them there");
    };
}
#[doc(hidden)]
#[allow(unused_imports)]
pub(crate) use __tp_x_early_exit_5d85afb7454b74de as early_exit;
