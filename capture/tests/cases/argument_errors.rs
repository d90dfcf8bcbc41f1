// Arguments that are refused for what they say, or beside others.

#[compile(mode = "max-autotune", options(fast_math))]
fn mode_then_options(x: &Tensor) -> Tensor { x.relu() }

#[compile(options(fast_math), mode = "default")]
fn options_then_mode(x: &Tensor) -> Tensor { x.relu() }

#[compile(dynamic = true, dynamic_shapes = true)]
fn dynamic_under_two_names(x: &Tensor) -> Tensor { x.relu() }

#[compile(dynamic_shapes = false, fullgraph, dynamic = true)]
fn the_later_one_is_wrong(x: &Tensor) -> Tensor { x.relu() }

#[compile(mode = "max-autotun")]
fn near_mode(x: &Tensor) -> Tensor { x.relu() }

#[compile(mode = "fast")]
fn far_mode(x: &Tensor) -> Tensor { x.relu() }

#[compile(options(fast_mth, native = "yes", fusion, fusion, quick, max_autotune = 3.5))]
fn names_and_values_of_options(x: &Tensor) -> Tensor { x.relu() }

#[compile(options())]
fn no_options(x: &Tensor) -> Tensor { x.relu() }

#[compile(options(a::b))]
fn not_options(x: &Tensor) -> Tensor { x.relu() }

#[compile(options(target, fast_math, parallel = "yes"), backend = "tvm")]
fn options_of_tvm(x: &Tensor) -> Tensor { x.relu() }

#[compile(backend = "mine", options(speed = 2, precise = 1.5))]
fn options_of_another_backend(x: &Tensor) -> Tensor { x.relu() }

#[compile(specialize(x = f32[1, 784]), specialize(x = f32[8, 784], return = f32[8, 10], y = f32[1]), specialize(x = f32[B]))]
fn specialize(x: &Tensor) -> Tensor { x.relu() }

#[compile(inline(), grad(weigt, b))]
fn names(x: &Tensor, weight: &Tensor) -> Tensor { x.matmul(weight) }

#[compile(dynamic, dynamic_shapes(true), recompile_limit = 1.5)]
fn forms(x: &Tensor) -> Tensor { x.relu() }

#[compile(warn_breaks = 1, self_test = "x", strict_native(true), isolate_recompiles = yes)]
fn flags(x: &Tensor) -> Tensor { x.relu() }

#[compile(dynamic = true)]
fn dynamic(x: &Tensor) -> Tensor { x.relu() }

#[compile(dynamic_shapes = false)]
fn not_dynamic(x: &Tensor) -> Tensor { x.relu() }

#[compile(inline(helpers::shifed, scaled, scaled))]
fn inlined(x: &Tensor) -> Tensor { scaled(&helpers::shifted(x)) }

#[compile(fast_math)]
fn option_as_argument(x: &Tensor) -> Tensor { x.relu() }
