// Signatures and attributes that are refused.

#[compile(fullgraph)]
const fn constant(x: &Tensor) -> Tensor { x.relu() }

#[compile(fullgraph)]
async fn asynchronous(x: &Tensor) -> Tensor { x.relu() }

#[compile(fullgraph)]
unsafe fn not_safe(x: &Tensor) -> Tensor { x.relu() }

#[compile(fullgraph)]
extern "C" fn foreign(x: &Tensor) -> Tensor { x.relu() }

#[compile(fullgraph)]
fn generic<'a, T: Module, const N: usize>(x: &'a Tensor) -> Tensor { x.relu() }

#[compile(fullgraph)]
fn parameters(
    a: &mut Tensor,
    b: Option<&Tensor>,
    c: &[Tensor],
    d: Vec<Tensor>,
    e: (Tensor, Tensor),
    f: impl Module,
    _: &Tensor,
    (g, h): Tensor,
    i: u16,
) -> Tensor {
    a + b
}

#[compile(fullgraph)]
fn aliases(x: &T, y: nn::Array<f32>, h: float) -> Output { x.relu() }

#[compile(fullgraph)]
fn alias_of_a_result(x: &Tensor) -> Fallible<Tensor> { Ok(x.relu()) }

#[compile(fullgraph)]
fn nothing(x: &Tensor) { }

#[compile(fullgraph)]
fn list(x: &Tensor) -> Vec<Tensor> { x.chunk(2, 0) }

#[compile(fullgraph)]
fn reference(x: &Tensor) -> &Tensor { x }

#[compile(fullgraph)]
fn option(x: &Tensor) -> Result<Option<Tensor>> { Ok(None) }

impl Net {
    #[compile(fullgraph)]
    fn by_value(self, x: &Tensor) -> Tensor { x.relu() }
    #[compile(fullgraph)]
    fn by_mut(&mut self, x: &Tensor) -> Tensor { x.relu() }
    #[compile(fullgraph)]
    fn boxed(self: Box<Self>, x: &Tensor) -> Tensor { x.relu() }
    #[compile(fullgraph)]
    fn spec_on_self(#[spec(f32[2])] &self, x: &Tensor) -> Tensor { x.relu() }
}

#[compile(
    fulgraph,
    dynamic = 1,
    backend = 3,
    recompile_limit = "x",
    dtypes(f33, i32, f32, f32),
    3,
    name = "",
    inline(1),
    crate = 5,
    grad = 1,
    quantum,
)]
fn bad_arguments(x: &Tensor) -> Tensor { x.relu() }

#[compile(fullgraph, fullgraph, dtypes(f32), dtypes(f64), dtypes = f32)]
fn twice(x: &Tensor) -> Tensor { x.relu() }

#[compile(
    dynamic = true,
    backend = "eager",
    mode = "max-autotune",
    options(fast_math),
    recompile_limit = 4,
    isolate_recompiles,
    strict_native,
    dynamic_shapes = true,
    inline(a::b, c),
    grad,
    specialize(x = f32[1, 784]),
    warn_breaks,
    self_test,
)]
fn later(x: &Tensor) -> Tensor { x.relu() }

#[compile(grad(w, b))]
fn grad(x: &Tensor) -> Tensor { x.relu() }

#[compile(fullgraph = false, name = "f", crate = my::tensorplay)]
fn accepted(x: &Tensor) -> Tensor { x.relu() }

#[compile(disable)]
fn disabled(x: &Tensor) -> Tensor { for _ in 0..3 {} x.relu() }

#[compile(spec(x = f32[B, 784], y = f32[2], xs = f32[1], n = f32[2], x = f32[1], f32[3], z))]
fn spec_names(x: &Tensor, n: usize) -> Tensor { x.relu() }

#[compile(spec(y = f32[2], w = f32[1], n = i64[2]))]
fn spec_names_again(x: &Tensor, weight: &Tensor, n: usize) -> Tensor { x.relu() }

#[compile(spec())]
fn no_specs(x: &Tensor) -> Tensor { x.relu() }

#[compile(fullgraph)]
fn spec_syntax(
    #[spec(f33[2])] a: &Tensor,
    #[spec(f32)] b: &Tensor,
    #[spec(f32[2, -1])] c: &Tensor,
    #[spec(f32[B, ..])] d: &Tensor,
    #[spec(f32[9..=4])] e: &Tensor,
    #[spec] f: &Tensor,
    #[spec(f32[2] f32)] g: &Tensor,
    #[spec()] h: &Tensor,
    #[spec(f32[2u8])] i: &Tensor,
    #[spec(f32[.., 2])] j: &Tensor,
    #[spec(f32[2 3])] k: &Tensor,
) -> Tensor {
    a + b
}

#[compile(spec(x = f32[2]))]
fn two_specs(#[spec(f32[2])] x: &Tensor, #[spec(f32[2])] #[spec(f32[3])] y: &Tensor, #[spec(f32[2])] n: usize) -> Tensor { x.relu() }

#[compile(dtypes(f32, f16), spec(y = f64[2], return = bf16[2]))]
fn spec_dtypes(#[spec(f64[2])] x: &Tensor, y: &Tensor, #[spec(i64[2])] z: &Tensor) -> Tensor { x + y }

#[compile(spec(return = (f32[2], f32[2])))]
fn return_specs(x: &Tensor) -> Tensor { x.relu() }

#[compile(fullgraph)]
fn generic_types<T: Into<f64>>(x: &Tensor, s: T, l: &[T]) -> T { x * s.into() }

#[compile(fullgraph)]
fn pattern_names((x, y): (&Tensor, &Tensor), Pair(a, b): Pair) -> Tensor { x + y * a - b }

#[compile(spec(x = f32, y = f32[2], return = (f32[2], f32)))]
fn good_specs_stay(x: &Tensor, y: &Tensor) -> (Tensor, Tensor) { (x.relu(), y.unsqueeze(3)) }
