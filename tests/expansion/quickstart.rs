fn classify(x: &Tensor, w1: &Tensor, b1: &Tensor, w2: &Tensor, b2: &Tensor,
    w3: &Tensor, b3: &Tensor) -> Tensor {
    static __TP_FUNCTION: ::tensorplay::__private::Function =
        {
            mod __tp_kernels {
                #[allow(unused_imports)]
                use ::tensorplay::__private::{bf16, f16, strip};
                #[doc =
                r" examples/quickstart.rs:23: x.linear(w1, Some(b1)).gelu()"]
                #[allow(non_camel_case_types, missing_debug_implementations)]
                struct linear_gelu {}
                impl ::tensorplay_runtime::__private::Program for linear_gelu
                    {
                    type Operands =
                        (&'static [f32], &'static [f32],
                        ::tensorplay_runtime::__private::Output<f32>);
                    #[inline(always)]
                    fn run(__tp_n: usize,
                        (matmul, b1, hidden_out):
                            <Self::Operands as
                            ::tensorplay_runtime::__private::Operands>::Rows<'_>) {
                        #[inline(always)]
                        #[allow(clippy :: too_many_arguments, unused_parens,
                        unused_variables, non_snake_case)]
                        fn lanes(__tp_n: usize,
                            matmul:
                                <&'static [f32] as
                                ::tensorplay_runtime::__private::Operand>::Row<'_>,
                            b1:
                                <&'static [f32] as
                                ::tensorplay_runtime::__private::Operand>::Row<'_>,
                            hidden_out:
                                &mut [::tensorplay_runtime::__private::MaybeUninit<f32>]) {
                            let mut __tp_i = 0;
                            while __tp_i < __tp_n {
                                let matmul =
                                    ::tensorplay_runtime::__private::Input::lane(matmul,
                                        __tp_i);
                                let b1 =
                                    ::tensorplay_runtime::__private::Input::lane(b1, __tp_i);
                                let add = (matmul + b1);
                                let hidden = (add.gelu());
                                ::tensorplay_runtime::__private::write(&mut hidden_out[__tp_i],
                                    hidden);
                                __tp_i += 1;
                            }
                        }
                        lanes(__tp_n, matmul, b1, hidden_out)
                    }
                }
                #[doc =
                r" examples/quickstart.rs:25: hidden.linear(w3, Some(b3))"]
                #[allow(non_camel_case_types, missing_debug_implementations)]
                struct linear {}
                impl ::tensorplay_runtime::__private::Program for linear {
                    type Operands =
                        (&'static [f32], &'static [f32],
                        ::tensorplay_runtime::__private::Output<f32>);
                    #[inline(always)]
                    fn run(__tp_n: usize,
                        (matmul, b3, add_out):
                            <Self::Operands as
                            ::tensorplay_runtime::__private::Operands>::Rows<'_>) {
                        #[inline(always)]
                        #[allow(clippy :: too_many_arguments, unused_parens,
                        unused_variables, non_snake_case)]
                        fn lanes(__tp_n: usize,
                            matmul:
                                <&'static [f32] as
                                ::tensorplay_runtime::__private::Operand>::Row<'_>,
                            b3:
                                <&'static [f32] as
                                ::tensorplay_runtime::__private::Operand>::Row<'_>,
                            add_out:
                                &mut [::tensorplay_runtime::__private::MaybeUninit<f32>]) {
                            let mut __tp_i = 0;
                            while __tp_i < __tp_n {
                                let matmul =
                                    ::tensorplay_runtime::__private::Input::lane(matmul,
                                        __tp_i);
                                let b3 =
                                    ::tensorplay_runtime::__private::Input::lane(b3, __tp_i);
                                let add = (matmul + b3);
                                ::tensorplay_runtime::__private::write(&mut add_out[__tp_i],
                                    add);
                                __tp_i += 1;
                            }
                        }
                        lanes(__tp_n, matmul, b3, add_out)
                    }
                }
                pub(super) static STRIPS:
                    [::tensorplay::__private::Strip; 2usize] =
                    [::tensorplay::__private::strip::<linear_gelu>(),
                            ::tensorplay::__private::strip::<linear>()];
            }
            ::tensorplay::__private::Function::new("quickstart::classify",
                "examples/quickstart.rs", 14,
                b"(the blob)",
                &__tp_kernels::STRIPS)
        };
    if let ::core::option::Option::Some(__tp_result) =
            __TP_FUNCTION.tensor(&[::tensorplay::__private::witness(x),
                            ::tensorplay::__private::witness(w1),
                            ::tensorplay::__private::witness(b1),
                            ::tensorplay::__private::witness(w2),
                            ::tensorplay::__private::witness(b2),
                            ::tensorplay::__private::witness(w3),
                            ::tensorplay::__private::witness(b3)], &[]) {
        return __tp_result;
    }
    let hidden = x.linear(w1, Some(b1)).gelu();
    let hidden = hidden.linear(w2, Some(b2)).gelu();
    hidden.linear(w3, Some(b3))
}
#[doc(hidden)]
#[allow(unused_macros, non_local_definitions)]
macro_rules! __tp_x_classify_2741e5d5b0828e32 {
    (@ explain $ ($p : tt) *) =>
    {
        :: tensorplay :: __private ::
        explain(:: tensorplay :: __private ::
        probe(|| $ ($p) *
        (:: tensorplay :: __private :: dummy(), :: tensorplay :: __private ::
        dummy(), :: tensorplay :: __private :: dummy(), :: tensorplay ::
        __private :: dummy(), :: tensorplay :: __private :: dummy(), ::
        tensorplay :: __private :: dummy(), :: tensorplay :: __private ::
        dummy())))
    }; (@ graphs $ ($p : tt) *) =>
    {
        :: tensorplay :: __private ::
        graphs(:: tensorplay :: __private ::
        probe(|| $ ($p) *
        (:: tensorplay :: __private :: dummy(), :: tensorplay :: __private ::
        dummy(), :: tensorplay :: __private :: dummy(), :: tensorplay ::
        __private :: dummy(), :: tensorplay :: __private :: dummy(), ::
        tensorplay :: __private :: dummy(), :: tensorplay :: __private ::
        dummy())))
    }; (@ function $ ($p : tt) *) =>
    {
        :: tensorplay :: __private ::
        probe(|| $ ($p) *
        (:: tensorplay :: __private :: dummy(), :: tensorplay :: __private ::
        dummy(), :: tensorplay :: __private :: dummy(), :: tensorplay ::
        __private :: dummy(), :: tensorplay :: __private :: dummy(), ::
        tensorplay :: __private :: dummy(), :: tensorplay :: __private ::
        dummy()))
    }; (@ export [$ ($step : tt) *] $ ($state : tt) *) =>
    {
        $ ($step) * !
        {
            b"(the blob)"
            $ ($state) *
        }
    };
}
#[doc(hidden)]
#[allow(unused_imports)]
pub(crate) use __tp_x_classify_2741e5d5b0828e32 as classify;
