//! The op table: one row an operation.
//!
//! The rows are handed to a callback macro, so that the graph's [`Row`](crate::op::Row)s, the public
//! methods of `Tensor` and the tile VM's kernels all come from this one list.
//!
//! A row reads: documentation, variant, method, fallible twin, parameters with their kinds, then
//! `=> results, shape rule, dtype rule, lowering`.
//!
//! Parameter kinds: `tensor`, `index` (a tensor of integers), `opt_tensor`, `tensors` (a slice), `operand` (tensor or scalar), `scalar`,
//! `float`, `int` (a size, index or count), `dim` (negative counts from the end), `dims`, `shape`
//! (one -1 is inferred; a tensor stands for its sizes), `ints`, `dtype`, `flag` (a bool), `region` (the number of a graph inside the module), `arguments` and `over` (what a
//! callee takes, and what a loop goes over), and the options types of
//! [`options`](crate::op::options). A row whose first parameter is a `tensor` is a method.
//!
//! Lowerings: `lane(class)` is a lane function, element by element; `reduce(kind)` a fold over rows;
//! `view` changes metadata only; `copy` joins elements by copies; `contract` is a matrix product; `op` is a runtime kernel of its
//! own; `region` runs graphs inside the module; `link` is replaced by a callee's graph when a function is bound; `create` makes a tensor from host values; `composite(rule)` is expanded into other rows by `decompose::rule`.

/// Calls `$callback! { rows }` with every row of the table.
#[macro_export]
macro_rules! op_table {
    ($callback:path) => {
        $callback! {
            // operators
            /// `a + b`, elementwise with broadcasting.
            Add add try_add(a: tensor, b: operand) => one, broadcast, arith, lane(num2);
            /// `a - b`, elementwise with broadcasting; not for bool tensors.
            Sub sub try_sub(a: tensor, b: operand) => one, broadcast, arith_no_bool, lane(num2);
            /// `a * b`, elementwise with broadcasting.
            Mul mul try_mul(a: tensor, b: operand) => one, broadcast, arith, lane(num2);
            /// `a / b`, true division: integers give f32.
            Div div try_div(a: tensor, b: operand) => one, broadcast, true_div, lane(float2);
            /// `s - a` for a scalar on the left of a subtraction.
            Rsub rsub try_rsub(a: tensor, b: operand) => one, broadcast, arith_no_bool, lane(num2);
            /// `s / a` for a scalar on the left of a division.
            Rdiv rdiv try_rdiv(a: tensor, b: operand) => one, broadcast, true_div, lane(float2);
            /// `-x`.
            Neg neg try_neg(x: tensor) => one, same, numeric, lane(num1);
            // unary
            /// Absolute value.
            Abs abs try_abs(x: tensor) => one, same, numeric, lane(num1);
            /// -1, 0 or 1; `sign(NaN)` is 0.
            Sign sign try_sign(x: tensor) => one, same, numeric, lane(num1);
            /// `e^x`.
            Exp exp try_exp(x: tensor) => one, same, float, lane(float1);
            /// `2^x`.
            Exp2 exp2 try_exp2(x: tensor) => one, same, float, lane(float1);
            /// `e^x - 1`, accurate near 0.
            Expm1 expm1 try_expm1(x: tensor) => one, same, float, lane(float1);
            /// Natural logarithm.
            Log log try_log(x: tensor) => one, same, float, lane(float1);
            /// Base-2 logarithm.
            Log2 log2 try_log2(x: tensor) => one, same, float, lane(float1);
            /// Base-10 logarithm.
            Log10 log10 try_log10(x: tensor) => one, same, float, lane(float1);
            /// `ln(1 + x)`, accurate near 0.
            Log1p log1p try_log1p(x: tensor) => one, same, float, lane(float1);
            /// Square root.
            Sqrt sqrt try_sqrt(x: tensor) => one, same, float, lane(float1);
            /// `1 / sqrt(x)`.
            Rsqrt rsqrt try_rsqrt(x: tensor) => one, same, float, lane(float1);
            /// `1 / x`.
            Reciprocal reciprocal try_reciprocal(x: tensor) => one, same, float, lane(float1);
            /// `x * x`.
            Square square try_square(x: tensor) => one, same, numeric, lane(num1);
            /// Sine of radians.
            Sin sin try_sin(x: tensor) => one, same, float, lane(float1);
            /// Cosine of radians.
            Cos cos try_cos(x: tensor) => one, same, float, lane(float1);
            /// Tangent of radians.
            Tan tan try_tan(x: tensor) => one, same, float, lane(float1);
            /// Arc sine, in radians.
            Asin asin try_asin(x: tensor) => one, same, float, lane(float1);
            /// Arc cosine, in radians.
            Acos acos try_acos(x: tensor) => one, same, float, lane(float1);
            /// Arc tangent, in radians.
            Atan atan try_atan(x: tensor) => one, same, float, lane(float1);
            /// Hyperbolic sine.
            Sinh sinh try_sinh(x: tensor) => one, same, float, lane(float1);
            /// Hyperbolic cosine.
            Cosh cosh try_cosh(x: tensor) => one, same, float, lane(float1);
            /// Hyperbolic tangent.
            Tanh tanh try_tanh(x: tensor) => one, same, float, lane(float1);
            /// Inverse hyperbolic sine.
            Asinh asinh try_asinh(x: tensor) => one, same, float, lane(float1);
            /// Inverse hyperbolic cosine.
            Acosh acosh try_acosh(x: tensor) => one, same, float, lane(float1);
            /// Inverse hyperbolic tangent.
            Atanh atanh try_atanh(x: tensor) => one, same, float, lane(float1);
            /// Error function.
            Erf erf try_erf(x: tensor) => one, same, float, lane(float1);
            /// Complementary error function, `1 - erf(x)` without cancellation.
            Erfc erfc try_erfc(x: tensor) => one, same, float, lane(float1);
            /// `1 / (1 + e^-x)`.
            Sigmoid sigmoid try_sigmoid(x: tensor) => one, same, float, lane(float1);
            /// `ln(sigmoid(x))`.
            Logsigmoid logsigmoid try_logsigmoid(x: tensor) => one, same, float, lane(float1);
            /// `max(x, 0)`; NaN stays NaN.
            Relu relu try_relu(x: tensor) => one, same, numeric, lane(num1);
            /// `min(max(x, 0), 6)`.
            Relu6 relu6 try_relu6(x: tensor) => one, same, float, lane(float1);
            /// Scaled exponential linear unit.
            Selu selu try_selu(x: tensor) => one, same, float, lane(float1);
            /// Gaussian error linear unit, the exact erf form.
            Gelu gelu try_gelu(x: tensor) => one, same, float, lane(float1);
            /// Gaussian error linear unit, the tanh approximation.
            GeluTanh gelu_tanh try_gelu_tanh(x: tensor) => one, same, float, lane(float1);
            /// `x * sigmoid(x)`.
            Silu silu try_silu(x: tensor) => one, same, float, lane(float1);
            /// `x * tanh(softplus(x))`.
            Mish mish try_mish(x: tensor) => one, same, float, lane(float1);
            /// `x * relu6(x + 3) / 6`.
            Hardswish hardswish try_hardswish(x: tensor) => one, same, float, lane(float1);
            /// `relu6(x + 3) / 6`.
            Hardsigmoid hardsigmoid try_hardsigmoid(x: tensor) => one, same, float, lane(float1);
            /// `x / (1 + |x|)`.
            Softsign softsign try_softsign(x: tensor) => one, same, float, lane(float1);
            /// Largest integer not above x.
            Floor floor try_floor(x: tensor) => one, same, numeric, lane(round1);
            /// Smallest integer not below x.
            Ceil ceil try_ceil(x: tensor) => one, same, numeric, lane(round1);
            /// Nearest integer, halves to even.
            Round round try_round(x: tensor) => one, same, numeric, lane(round1);
            /// Integer part.
            Trunc trunc try_trunc(x: tensor) => one, same, numeric, lane(round1);
            /// `x - trunc(x)`.
            Frac frac try_frac(x: tensor) => one, same, float_strict, lane(float1);
            /// Whether x is NaN.
            Isnan isnan try_isnan(x: tensor) => one, same, predicate, lane(pred1);
            /// Whether x is an infinity.
            Isinf isinf try_isinf(x: tensor) => one, same, predicate, lane(pred1);
            /// Whether x is neither NaN nor an infinity.
            Isfinite isfinite try_isfinite(x: tensor) => one, same, predicate, lane(pred1);
            /// Whether x is zero.
            LogicalNot logical_not try_logical_not(x: tensor) => one, same, logical, lane(bool1);
            /// Bitwise complement; integers and bool.
            BitwiseNot bitwise_not try_bitwise_not(x: tensor) => one, same, bitwise, lane(bit1);
            // unary with constants
            /// `x` where positive, `slope * x` elsewhere.
            LeakyRelu leaky_relu try_leaky_relu(x: tensor, slope: scalar) => one, same, float, lane(float2);
            /// `x` where positive, `alpha * (e^x - 1)` elsewhere.
            Elu elu try_elu(x: tensor, alpha: scalar) => one, same, float, lane(float2);
            /// `max(x, 0) + min(alpha * (e^(x / alpha) - 1), 0)`.
            Celu celu try_celu(x: tensor, alpha: scalar) => one, same, float, lane(float2);
            /// `ln(1 + e^(beta x)) / beta`, linear where `beta x > threshold`.
            Softplus softplus try_softplus(x: tensor, beta: scalar, threshold: scalar) => one, same, float, lane(float3);
            /// x limited to `[lo, hi]`.
            Hardtanh hardtanh try_hardtanh(x: tensor, lo: scalar, hi: scalar) => one, same, float, lane(float3);
            /// x limited to `[lo, hi]`; `lo > hi` gives `hi`, NaN stays NaN.
            Clamp clamp try_clamp(x: tensor, lo: scalar, hi: scalar) => one, same, arith_no_bool, lane(num3);
            /// `max(x, lo)`; NaN stays NaN.
            ClampMin clamp_min try_clamp_min(x: tensor, lo: scalar) => one, same, arith_no_bool, lane(num2);
            /// `min(x, hi)`; NaN stays NaN.
            ClampMax clamp_max try_clamp_max(x: tensor, hi: scalar) => one, same, arith_no_bool, lane(num2);
            /// `x^e` with a float exponent.
            Powf powf try_powf(x: tensor, e: float) => one, same, float, composite(powf);
            /// `x^n` with an integer exponent.
            Powi powi try_powi(x: tensor, n: int) => one, same, powi, composite(powi);
            /// NaN and the infinities replaced.
            NanToNum nan_to_num try_nan_to_num(x: tensor, nan: scalar, posinf: scalar, neginf: scalar) => one, same, float, lane(float4);
            // binary
            /// The larger; NaN wins.
            Maximum maximum try_maximum(a: tensor, b: operand) => one, broadcast, arith, lane(ord2);
            /// The smaller; NaN wins.
            Minimum minimum try_minimum(a: tensor, b: operand) => one, broadcast, arith, lane(ord2);
            /// The larger; a number wins over NaN.
            Fmax fmax try_fmax(a: tensor, b: operand) => one, broadcast, arith_no_bool, lane(num2);
            /// The smaller; a number wins over NaN.
            Fmin fmin try_fmin(a: tensor, b: operand) => one, broadcast, arith_no_bool, lane(num2);
            /// `a^b`.
            Pow pow try_pow(a: tensor, b: operand) => one, broadcast, pow, lane(num2);
            /// Angle of the point (b, a), in radians.
            Atan2 atan2 try_atan2(a: tensor, b: operand) => one, broadcast, true_div, lane(float2);
            /// `sqrt(a^2 + b^2)` without overflow.
            Hypot hypot try_hypot(a: tensor, b: operand) => one, broadcast, true_div, lane(float2);
            /// `|a|` with the sign of b.
            Copysign copysign try_copysign(a: tensor, b: operand) => one, broadcast, true_div, lane(float2);
            /// Remainder with the sign of the dividend.
            Fmod fmod try_fmod(a: tensor, b: operand) => one, broadcast, arith_no_bool, lane(num2);
            /// Remainder with the sign of the divisor.
            Remainder remainder try_remainder(a: tensor, b: operand) => one, broadcast, arith_no_bool, lane(num2);
            /// `floor(a / b)`.
            FloorDiv floor_div try_floor_div(a: tensor, b: operand) => one, broadcast, arith_no_bool, lane(num2);
            // compare
            /// `a == b`, elementwise.
            Eq eq try_eq(a: tensor, b: operand) => one, broadcast, compare, lane(cmp2);
            /// `a != b`, elementwise.
            Ne ne try_ne(a: tensor, b: operand) => one, broadcast, compare, lane(cmp2);
            /// `a < b`, elementwise.
            Lt lt try_lt(a: tensor, b: operand) => one, broadcast, compare, lane(cmp2);
            /// `a <= b`, elementwise.
            Le le try_le(a: tensor, b: operand) => one, broadcast, compare, lane(cmp2);
            /// `a > b`, elementwise.
            Gt gt try_gt(a: tensor, b: operand) => one, broadcast, compare, lane(cmp2);
            /// `a >= b`, elementwise.
            Ge ge try_ge(a: tensor, b: operand) => one, broadcast, compare, lane(cmp2);
            // logic
            /// Both are non-zero.
            LogicalAnd logical_and try_logical_and(a: tensor, b: tensor) => one, broadcast, logical, lane(bool2);
            /// Either is non-zero.
            LogicalOr logical_or try_logical_or(a: tensor, b: tensor) => one, broadcast, logical, lane(bool2);
            /// Exactly one is non-zero.
            LogicalXor logical_xor try_logical_xor(a: tensor, b: tensor) => one, broadcast, logical, lane(bool2);
            /// Bitwise and; integers and bool.
            BitwiseAnd bitwise_and try_bitwise_and(a: tensor, b: operand) => one, broadcast, bitwise, lane(bit2);
            /// Bitwise or; integers and bool.
            BitwiseOr bitwise_or try_bitwise_or(a: tensor, b: operand) => one, broadcast, bitwise, lane(bit2);
            /// Bitwise exclusive or; integers and bool.
            BitwiseXor bitwise_xor try_bitwise_xor(a: tensor, b: operand) => one, broadcast, bitwise, lane(bit2);
            // select
            /// `a` where the receiver (bool) is true, `b` elsewhere.
            WhereCond where_cond try_where_cond(cond: tensor, a: operand, b: operand) => one, broadcast, where_cond, lane(select);
            /// `value` where `mask` (bool) is true, x elsewhere.
            MaskedFill masked_fill try_masked_fill(x: tensor, mask: tensor, value: scalar) => one, broadcast, masked_fill, composite(masked_fill);
            /// `x + weight * (end - x)`.
            Lerp lerp try_lerp(x: tensor, end: tensor, weight: operand) => one, broadcast, float, lane(float3);
            /// `x + value * t1 * t2`.
            Addcmul addcmul try_addcmul(x: tensor, t1: tensor, t2: tensor, value: scalar) => one, broadcast, arith_no_bool, composite(addcmul);
            // reduce
            /// Sum over `dims`; integers and bool give i64.
            Sum sum try_sum(x: tensor, dims: dims) => one, reduce, sum, reduce(sum);
            /// Sum over `dims`, which stay with size 1.
            SumKeepdim sum_keepdim try_sum_keepdim(x: tensor, dims: dims) => one, reduce_keepdim, sum, reduce(sum);
            /// Sum of all elements.
            SumAll sum_all try_sum_all(x: tensor) => one, reduce_all, sum, reduce(sum);
            #[doc(hidden)]
            WideSum wide_sum try_wide_sum(x: tensor, dims: dims) => one, reduce, wide, reduce(sum);
            #[doc(hidden)]
            WideSumKeepdim wide_sum_keepdim try_wide_sum_keepdim(x: tensor, dims: dims) => one, reduce_keepdim, wide, reduce(sum);
            #[doc(hidden)]
            WideSumAll wide_sum_all try_wide_sum_all(x: tensor) => one, reduce_all, wide, reduce(sum);
            /// Mean over `dims`; floats only.
            Mean mean try_mean(x: tensor, dims: dims) => one, reduce, float_strict, composite(mean);
            /// Mean over `dims`, which stay with size 1.
            MeanKeepdim mean_keepdim try_mean_keepdim(x: tensor, dims: dims) => one, reduce_keepdim, float_strict, composite(mean);
            /// Mean of all elements.
            MeanAll mean_all try_mean_all(x: tensor) => one, reduce_all, float_strict, composite(mean);
            /// Largest values over `dims`; NaN wins; an empty axis is an error.
            Max max try_max(x: tensor, dims: dims) => one, reduce_nonempty, same, reduce(max);
            /// Largest values over `dims`, which stay with size 1.
            MaxKeepdim max_keepdim try_max_keepdim(x: tensor, dims: dims) => one, reduce_nonempty_keepdim, same, reduce(max);
            #[doc(hidden)]
            RowMax row_max try_row_max(x: tensor, dims: dims) => one, reduce_keepdim, same, reduce(max);
            #[doc(hidden)]
            RowMaxDrop row_max_drop try_row_max_drop(x: tensor, dims: dims) => one, reduce, same, reduce(max);
            /// The largest element.
            MaxAll max_all try_max_all(x: tensor) => one, reduce_nonempty_all, same, reduce(max);
            /// Smallest values over `dims`; NaN wins; an empty axis is an error.
            Min min try_min(x: tensor, dims: dims) => one, reduce_nonempty, same, reduce(min);
            /// Smallest values over `dims`, which stay with size 1.
            MinKeepdim min_keepdim try_min_keepdim(x: tensor, dims: dims) => one, reduce_nonempty_keepdim, same, reduce(min);
            /// The smallest element.
            MinAll min_all try_min_all(x: tensor) => one, reduce_nonempty_all, same, reduce(min);
            /// Product over `dims`; integers and bool give i64.
            Prod prod try_prod(x: tensor, dims: dims) => one, reduce, sum, reduce(prod);
            /// Index of the largest along `dim` (i64): the first of ties, the first NaN wins.
            Argmax argmax try_argmax(x: tensor, dim: dim) => one, reduce_nonempty, arg, reduce(argmax);
            /// The same, with `dim` kept at size 1.
            ArgmaxKeepdim argmax_keepdim try_argmax_keepdim(x: tensor, dim: dim) => one, reduce_nonempty_keepdim, arg, reduce(argmax);
            /// Index of the smallest along `dim` (i64): the first of ties, the first NaN wins.
            Argmin argmin try_argmin(x: tensor, dim: dim) => one, reduce_nonempty, arg, reduce(argmin);
            /// The same, with `dim` kept at size 1.
            ArgminKeepdim argmin_keepdim try_argmin_keepdim(x: tensor, dim: dim) => one, reduce_nonempty_keepdim, arg, reduce(argmin);
            /// Variance over `dims` with divisor `n - correction`.
            Var var try_var(x: tensor, dims: dims, correction: int) => one, reduce, float_strict, composite(var);
            /// The same, with `dims` kept at size 1.
            VarKeepdim var_keepdim try_var_keepdim(x: tensor, dims: dims, correction: int) => one, reduce_keepdim, float_strict, composite(var);
            /// Standard deviation over `dims` with divisor `n - correction`.
            StdDev std_dev try_std_dev(x: tensor, dims: dims, correction: int) => one, reduce, float_strict, composite(std_dev);
            /// The p-norm over `dims`; p may be infinite.
            Norm norm try_norm(x: tensor, p: float, dims: dims) => one, reduce_p, float_strict, composite(norm);
            /// `ln(sum(e^x))` over `dims`, without overflow.
            Logsumexp logsumexp try_logsumexp(x: tensor, dims: dims) => one, reduce, float, composite(logsumexp);
            /// Whether any element over `dims` is non-zero.
            Any any try_any(x: tensor, dims: dims) => one, reduce, logical, reduce(any);
            /// Whether all elements over `dims` are non-zero.
            All all try_all(x: tensor, dims: dims) => one, reduce, logical, reduce(all);
            // scan
            /// Sums of all elements up to each along `dim`; integers and bool give i64.
            Cumsum cumsum try_cumsum(x: tensor, dim: dim) => one, along, sum, op;
            /// Products of all elements up to each along `dim`; integers and bool give i64.
            Cumprod cumprod try_cumprod(x: tensor, dim: dim) => one, along, sum, op;
            // softmax and normalisation
            /// `e^x / sum(e^x)` along `dim`.
            Softmax softmax try_softmax(x: tensor, dim: dim) => one, along, float, composite(softmax);
            /// `ln(softmax(x))` along `dim`.
            LogSoftmax log_softmax try_log_softmax(x: tensor, dim: dim) => one, along, float, composite(log_softmax);
            /// Normalises over the last `trailing_dims` axes, then `* w + b`.
            LayerNorm layer_norm try_layer_norm(x: tensor, trailing_dims: int, w: opt_tensor, b: opt_tensor, eps: float) => one, layer_norm, normalise, composite(layer_norm);
            /// `x / sqrt(mean(x^2) + eps) * w` over the last axis.
            RmsNorm rms_norm try_rms_norm(x: tensor, w: tensor, eps: float) => one, rms_norm, normalise, composite(rms_norm);
            /// Normalises each channel (axis 1) by a given mean and variance, then `* w + b`.
            BatchNorm batch_norm try_batch_norm(x: tensor, mean: tensor, var: tensor, w: opt_tensor, b: opt_tensor, eps: float) => one, batch_norm, normalise, composite(batch_norm);
            /// Normalises each channel (axis 1) by its own mean and variance, then `* w + b`; moves the variables
            /// `running_mean` and `running_var` (unbiased) towards these by `momentum`.
            BatchNormTrain batch_norm_train try_batch_norm_train(x: tensor, running_mean: tensor, running_var: tensor, w: opt_tensor, b: opt_tensor, momentum: float, eps: float) => one, batch_norm_train, normalise, composite(batch_norm_train);
            #[doc(hidden)]
            RunningMean running_mean try_running_mean(x: tensor, running_mean: tensor, running_var: tensor, w: opt_tensor, b: opt_tensor, momentum: float, eps: float) => one, running, normalise, composite(running_mean);
            #[doc(hidden)]
            RunningVar running_var try_running_var(x: tensor, running_mean: tensor, running_var: tensor, w: opt_tensor, b: opt_tensor, momentum: float, eps: float) => one, running, normalise, composite(running_var);
            /// Normalises over each of `groups` groups of channels (axis 1), then `* w + b` by channel.
            GroupNorm group_norm try_group_norm(x: tensor, groups: int, w: opt_tensor, b: opt_tensor, eps: float) => one, group_norm, normalise, composite(group_norm);
            // contract
            /// Matrix product with PyTorch's rules for 1-D, 2-D and batched operands.
            Matmul matmul try_matmul(a: tensor, b: tensor) => one, matmul, contract, contract;
            /// `x @ w^T + bias` with `w: [out, in]`.
            Linear linear try_linear(x: tensor, w: tensor, bias: opt_tensor) => one, linear, contract, composite(linear);
            /// Convolution of `[N, C, L]` with `w: [out, C / groups, K]`.
            Conv1d conv1d try_conv1d(x: tensor, w: tensor, bias: opt_tensor, options: conv1d_options) => one, conv1d, convolve, composite(conv1d);
            /// Convolution of `[N, C, H, W]` with `w: [out, C / groups, KH, KW]`.
            Conv2d conv2d try_conv2d(x: tensor, w: tensor, bias: opt_tensor, options: conv2d_options) => one, conv2d, convolve, op;
            /// Transposed convolution of `[N, C, H, W]` with `w: [C, out / groups, KH, KW]`.
            ConvTranspose2d conv_transpose2d try_conv_transpose2d(x: tensor, w: tensor, bias: opt_tensor, options: conv_transpose2d_options) => one, conv_transpose2d, convolve, op;
            // pool
            /// Largest value of each window over the last axis; NaN wins.
            MaxPool1d max_pool1d try_max_pool1d(x: tensor, options: pool_options) => one, pool1d, numeric, composite(pool1d);
            /// Largest value of each window over the last two axes; NaN wins.
            MaxPool2d max_pool2d try_max_pool2d(x: tensor, options: pool_options) => one, pool2d, numeric, op;
            /// Mean of each window over the last axis; padding counts.
            AvgPool1d avg_pool1d try_avg_pool1d(x: tensor, options: pool_options) => one, pool1d, float_strict, composite(pool1d);
            /// Mean of each window over the last two axes; padding counts.
            AvgPool2d avg_pool2d try_avg_pool2d(x: tensor, options: pool_options) => one, pool2d, float_strict, op;
            /// Means over windows that are chosen so that the last two axes get `size`.
            AdaptiveAvgPool2d adaptive_avg_pool2d try_adaptive_avg_pool2d(x: tensor, size: shape) => one, adaptive_pool2d, float_strict, op;
            // attention
            /// `softmax(q @ k^T * scale + mask) @ v` over the last two axes; a bool mask keeps where it is true.
            ScaledDotProductAttention scaled_dot_product_attention try_scaled_dot_product_attention(q: tensor, k: tensor, v: tensor, mask: opt_tensor, options: attention_options) => one, attention, attention, op;
            // view
            /// The same elements in another shape; copies when it must.
            Reshape reshape try_reshape(x: tensor, shape: shape) => one, reshape, same, view;
            /// Merges the axes `from..=to`.
            Flatten flatten try_flatten(x: tensor, from: dim, to: dim) => one, flatten, same, view;
            /// One axis with all elements.
            FlattenAll flatten_all try_flatten_all(x: tensor) => one, flatten_all, same, view;
            #[doc(hidden)]
            ChannelsOf channels_of try_channels_of(x: tensor, shape: shape) => one, channels_of, same, view;
            /// Swaps two axes.
            Transpose transpose try_transpose(x: tensor, d0: dim, d1: dim) => one, transpose, same, view;
            /// The transpose of a matrix; ranks 0 and 1 are returned as they are.
            T t try_t(x: tensor) => one, t, same, view;
            /// Reorders the axes.
            Permute permute try_permute(x: tensor, dims: dims) => one, permute, same, view;
            /// Inserts an axis of size 1.
            Unsqueeze unsqueeze try_unsqueeze(x: tensor, dim: dim) => one, unsqueeze, same, view;
            /// Removes the axis if its size is 1.
            Squeeze squeeze try_squeeze(x: tensor, dim: dim) => one, squeeze, same, view;
            /// `len` elements of an axis from `start`.
            Narrow narrow try_narrow(x: tensor, dim: dim, start: int, len: int) => one, narrow, same, view;
            /// One index of an axis, which disappears.
            Select select try_select(x: tensor, dim: dim, index: int) => one, select, same, view;
            /// Elements `start, start + step, ..` below `end` of an axis; bounds are clamped as in Python.
            Slice slice try_slice(x: tensor, dim: dim, start: int, end: int, step: int) => one, slice, same, view;
            /// Broadcasts to `shape`; -1 keeps a size.
            Expand expand try_expand(x: tensor, shape: shape) => one, expand, same, view;
            /// Moves an axis to another place.
            Movedim movedim try_movedim(x: tensor, from: dim, to: dim) => one, movedim, same, view;
            /// The same values in row-major order.
            Contiguous contiguous try_contiguous(x: tensor) => one, same, same, view;
            /// The same values without gradient history.
            Detach detach try_detach(x: tensor) => one, same, same, view;
            // rearrange
            /// Joins tensors along an existing axis.
            Cat cat try_cat(xs: tensors, dim: dim) => one, cat, promote_all, copy;
            /// Joins tensors along a new axis.
            Stack stack try_stack(xs: tensors, dim: dim) => one, stack, promote_all, composite(stack);
            /// Up to `n` pieces of equal size along `dim`; the last may be smaller.
            Chunk chunk try_chunk(x: tensor, n: int, dim: dim) => list, chunk, same, view;
            /// Pieces of `size` along `dim`; the last may be smaller.
            Split split try_split(x: tensor, size: int, dim: dim) => list, split, same, view;
            /// Reverses axes.
            Flip flip try_flip(x: tensor, dims: dims) => one, flip, same, op;
            /// Rotates an axis by `shift` places towards its end.
            Roll roll try_roll(x: tensor, shift: int, dim: dim) => one, roll, same, op;
            /// Repeats the tensor `shape[i]` times along axis i; new axes come first.
            Repeat repeat try_repeat(x: tensor, shape: shape) => one, repeat, same, op;
            /// The lower triangle of matrices, up to diagonal `k`; zero elsewhere.
            Tril tril try_tril(x: tensor, k: int) => one, matrices, same, op;
            /// The upper triangle of matrices, from diagonal `k`; zero elsewhere.
            Triu triu try_triu(x: tensor, k: int) => one, matrices, same, op;
            /// Pads axes from the last: `[last_lo, last_hi, previous_lo, ..]`; negative numbers crop.
            Pad pad try_pad(x: tensor, pads: ints, mode: pad_mode) => one, pad, same, op;
            // index
            /// The slices of axis `dim` at `idx` (one axis of integers).
            IndexSelect index_select try_index_select(x: tensor, idx: index, dim: dim) => one, index_select, index, op;
            /// `out[i, j] = x[idx[i, j], j]` for dim 0, and so on.
            Gather gather try_gather(x: tensor, idx: index, dim: dim) => one, gather, index, op;
            /// A copy of x with `out[idx[i, j], j] = src[i, j]` for dim 0; the last of several wins.
            Scatter scatter try_scatter(x: tensor, idx: index, src: tensor, dim: dim) => one, scatter, index, op;
            /// A copy of x with `out[idx[i, j], j] += src[i, j]` for dim 0.
            ScatterAdd scatter_add try_scatter_add(x: tensor, idx: index, src: tensor, dim: dim) => one, scatter, index, op;
            /// A copy of x with `out[idx[i]] += src[i]` along `dim`.
            IndexAdd index_add try_index_add(x: tensor, idx: index, src: tensor, dim: dim) => one, index_add, index, op;
            /// A copy of x with `src` at `start` of axis `dim`.
            SliceScatter slice_scatter try_slice_scatter(x: tensor, dim: dim, start: int, src: tensor) => one, slice_scatter, agreeing, copy;
            /// The rows of `table` at `idx`.
            Embedding embedding try_embedding(table: tensor, idx: index) => one, embedding, index, op;
            /// A new last axis that is 1 (i64) at each index and 0 elsewhere.
            OneHot one_hot try_one_hot(x: tensor, classes: int) => one, one_hot, one_hot, op;
            /// The `k` largest along `dim` in descending order, and their indices; NaN is the largest.
            Topk topk try_topk(x: tensor, k: int, dim: dim) => indexed, topk, same, op;
            /// Sorted along `dim`, and where each came from; stable, NaN is the largest.
            Sort sort try_sort(x: tensor, dim: dim, descending: flag) => indexed, sort, same, op;
            // resample
            /// `[N, C, H, W]` resampled to `[N, C, size[0], size[1]]`.
            Interpolate interpolate try_interpolate(x: tensor, size: shape, mode: interpolate) => one, interpolate, resample, op;
            // loss
            /// `mean(logsumexp(x) - x[target])` over all elements of an integer target; classes are axis 1.
            CrossEntropy cross_entropy try_cross_entropy(x: tensor, target: index) => one, class_loss, float_strict, composite(cross_entropy);
            /// `mean(-x[target])` over all elements of an integer target; classes are axis 1.
            NllLoss nll_loss try_nll_loss(x: tensor, target: index) => one, class_loss, float_strict, composite(nll_loss);
            /// `mean((x - target)^2)`.
            MseLoss mse_loss try_mse_loss(x: tensor, target: tensor) => one, loss, normalise, composite(mse_loss);
            /// `mean(|x - target|)`.
            L1Loss l1_loss try_l1_loss(x: tensor, target: tensor) => one, loss, normalise, composite(l1_loss);
            /// `mean(max(x, 0) - x * target + ln(1 + e^-|x|))`.
            BinaryCrossEntropyWithLogits binary_cross_entropy_with_logits try_binary_cross_entropy_with_logits(x: tensor, target: tensor) => one, same_loss, normalise, composite(binary_cross_entropy_with_logits);
            // random
            /// Zero with probability `p`, and `x / (1 - p)` elsewhere, if `train`; x otherwise.
            Dropout dropout try_dropout(x: tensor, p: float, train: flag) => one, dropout, float_strict, composite(dropout);
            // create
            /// All zeros.
            Zeros zeros try_zeros(shape: shape, dtype: dtype) => one, create, given, create;
            /// All ones.
            Ones ones try_ones(shape: shape, dtype: dtype) => one, create, given, create;
            /// All `value`.
            Full full try_full(shape: shape, value: scalar, dtype: dtype) => one, create, given, create;
            /// `start, start + 1, ..` below `end`.
            Arange arange try_arange(start: scalar, end: scalar, dtype: dtype) => one, arange, given, create;
            /// `n` equally spaced values from `start` to `end`, both included.
            Linspace linspace try_linspace(start: scalar, end: scalar, n: int, dtype: dtype) => one, linspace, given, create;
            /// The identity matrix.
            Eye eye try_eye(n: int, dtype: dtype) => one, eye, given, create;
            /// Uniform random numbers of `[0, 1)`.
            Rand rand try_rand(shape: shape, dtype: dtype) => one, create, given_float, create;
            /// Normal random numbers of mean 0 and variance 1.
            Randn randn try_randn(shape: shape, dtype: dtype) => one, create, given_float, create;
            #[doc(hidden)]
            RandIf rand_if try_rand_if(shape: shape, dtype: dtype, on: flag) => one, create, given_float, create;
            /// Zeros of the shape and dtype of x.
            ZerosLike zeros_like try_zeros_like(x: tensor) => one, same, same, create;
            /// Ones of the shape and dtype of x.
            OnesLike ones_like try_ones_like(x: tensor) => one, same, same, create;
            // control flow
            #[doc(hidden)]
            Cond cond try_cond(pred: tensor, inputs: tensors, yes: region, no: region) => regions, cond, cond, region;
            #[doc(hidden)]
            WhileLoop while_loop try_while_loop(carry: tensors, inputs: tensors, pred: region, body: region) => regions, any, open, region;
            #[doc(hidden)]
            Invoke invoke try_invoke(callee: int, site: int, tensors: arguments, hosts: arguments, aggregates: arguments) => regions, any, open, link;
            #[doc(hidden)]
            Each each try_each(over: over, site: int, carry: tensors, tensors: arguments, hosts: arguments, aggregates: arguments, body: ints) => regions, any, open, link;
            // cast
            #[doc(hidden)]
            AsFloat as_float try_as_float(x: tensor) => one, same, float, lane(cast);
            #[doc(hidden)]
            AsDtype as_dtype try_as_dtype(x: tensor, dtype: dtype) => one, same, given, lane(cast);
            /// Converts the elements; saturates as Rust's `as`.
            ToDtype to_dtype try_to_dtype(x: tensor, dtype: dtype) => one, same, given, lane(cast);
        }
    };
}
