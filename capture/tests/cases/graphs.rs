// Functions that are captured. The golden text is beside this file.

#[compile]
fn hidden(x: &Tensor, w: &Tensor) -> Tensor {
    (x.matmul(w) * 2.0).gelu()
}

#[compile(fullgraph, spec(x = f32[B, 784], w = f32[784, H], return = f32[B, H]))]
fn named(x: &Tensor, w: &Tensor, b: &Tensor) -> Tensor {
    let h = x.matmul(w) + b;
    h.relu()
}

#[compile(name = "dense", dtypes(f32, bf16))]
fn specs(
    #[spec(float[1..=64, _, 4])] x: &Tensor,
    #[spec(_[..])] y: &Tensor,
    #[spec(i64[])] n: &Tensor,
) -> Tensor {
    x + y * n
}

#[compile]
fn scalars(x: &Tensor, scale: f32, k: usize, bias: f64, on: bool, d: DType) -> Tensor {
    let half = k / 2 + 1;
    let t = 1.0 - x * scale;
    let t = 2.0 / (t + bias) - 0.5f32;
    let t = 3 * -t * on;
    t.narrow(0, 0, half).to_dtype(d)
}

#[compile]
fn shadowing(x: &Tensor) -> Tensor {
    let t = x.exp();
    let t = { let x = &t + 1.0; x.log() };
    let mut u = t.clone();
    u = u * x;
    u += 1.0;
    let (a, _, (b,)) = (u.sin(), u.cos(), (&u,));
    let _ = a.tanh();
    b + &a
}

#[compile]
fn fallible(x: &Tensor) -> anyhow::Result<(Tensor, (Tensor, Tensor))> {
    let y = x.try_matmul(x)?;
    return Ok((y.relu(), (x.clone(), y)));
}

#[compile]
fn twin_as_tail(x: &Tensor) -> Result<Tensor, MyError> {
    x.try_softmax(-1)
}

#[compile]
fn metadata(x: &Tensor) -> Tensor {
    let (b, last) = (x.dim(0), x.shape()[x.rank() - 1]);
    let n = (x.elem_count() as i64 - 4) % 7;
    let scale = 1.0 / (last as f64).sqrt();
    let y = x.reshape((b, -1)) * scale;
    let z = y.narrow(-1, 0, last.min(8)) + (n as f32);
    z.to_dtype(x.dtype())
}

#[compile]
fn shapes(#[spec(f32[2, 3, 4])] x: &Tensor, y: &Tensor) -> Tensor {
    let dims = (0, 2);
    let a = y.reshape(x.shape()).sum(dims);
    let b = x.permute([2, 0, 1]).sum_keepdim(&[0, 1]).reshape(3).expand((2, -1));
    let c = Tensor::zeros((), DType::F32) + Tensor::full([3], 1.5, x.dtype());
    a + b + c
}

#[compile]
fn creation(x: &Tensor, n: usize) -> Tensor {
    let a = Tensor::arange(0, n as i64, DType::F32) + Tensor::linspace(0.0, 1.0, n, DType::F32);
    let b = Tensor::eye(n, DType::F64).matmul(&Tensor::rand((n, 4), DType::F64));
    Tensor::cat(&[&(a * 2.0), x, &x.zeros_like()], 0) + Tensor::stack([x, &b], -1)
}

#[compile]
fn pieces(x: &Tensor, #[spec(f32[4, 6])] y: &Tensor) -> (Tensor, Tensor) {
    const LAST: usize = 2;
    let parts = x.chunk(3, 1);
    let halves = y.split(3, 1);
    let joined = Tensor::cat(&halves, 0);
    (&parts[0] + parts[LAST].clone(), joined * halves.len() as f32)
}

#[compile]
fn optional(x: &Tensor, w: &Tensor, b: &Tensor) -> Tensor {
    let bias = Some(b);
    let h = x.linear(w, bias).linear(w, None);
    h.layer_norm(1, Some(w), Some(&(b * 2.0)), 1e-5)
}

#[compile]
fn constants(x: &Tensor) -> Tensor {
    const EPS: f64 = 1e-5;
    let y = x * std::f32::consts::PI + EPS;
    let y = y.narrow(0, 0, HEADS * 2).clamp(-1.0, config::LIMIT);
    y / (HEADS as f64) + (x.dim(0) / HEADS) as f64
}

#[compile]
fn infinities(x: &Tensor) -> Tensor {
    x.norm(f64::INFINITY, 0) + x.masked_fill(&x.gt(0), f32::NEG_INFINITY)
}

#[compile]
fn host(x: &Tensor, n: i64, m: usize) -> Tensor {
    let mut k: usize = 3;
    k += 1;
    let big = (n.max(2) * 3 - n).pow(2) as usize;
    let f = (m as f64).powf(0.5).exp().ln();
    x.reshape([k, big, -1]) * f * (m as f32 * 0.1f32) * f64::from(n)
}

#[compile]
fn floats(x: &Tensor, s: f32) -> Tensor {
    let third = 1.0 / 3.0;
    let tenth: f32 = 0.1;
    x * (third * s) + (s.max(0.1) - 0.2) * tenth + third
}

#[compile]
fn dead(x: &Tensor) -> Tensor {
    let unused = x.log();
    x.exp();
    drop(unused);
    { let _y = x.sin(); }
    x.cos()
}

#[compile]
fn operators(a: &Tensor, b: Tensor) -> Tensor {
    let t = a.lt(0.5).where_cond(&b, 0.0);
    let t = a.gt(&b).where_cond(1.0, &t) - *&a;
    t.maximum(0).pow(b.clone()) * Tensor::relu(a) / -a
}

#[compile]
fn long_chain(x: &Tensor) -> Tensor {
    x.exp()
        .log()
        .sum_keepdim((0, 1))
        .relu().gelu().tanh().sigmoid().sqrt().abs()
}

#[compile]
fn powers(a: &Tensor, s: f32, t: f64, n: i32) -> Tensor {
    a * s.powi(n) + t.powi(-3) * (2.0 * s).powi(2)
}

#[compile(spec(x = f32[B, 2]))]
fn wildcards(x: &Tensor, _: &Tensor, #[spec(f32[B])] _: Tensor, _: f32) -> Tensor {
    x + 1.0
}

#[compile]
fn sizes_of_another(x: &Tensor, y: &Tensor, s: usize) -> (Tensor, Tensor) {
    let zeros = Tensor::zeros(x.shape(), DType::F32);
    (zeros + y.reshape(x.shape()), x.layer_norm(s, None, None, 1e-5))
}

impl Net {
    #[compile]
    fn forward<'a>(&'a self, x: &'a Tensor) -> Tensor {
        let w = &self.w;
        let heads: usize = self.heads;
        let h = x.matmul(w) + &self.layers[0].bias;
        let h = h.reshape((x.dim(0), heads, self.width / heads)) * self.scale + self.eps;
        (self.norm.matmul(&h), self.w.clone()).0 * Self::FACTOR + self.w.dim(0) as f32
    }

    #[compile]
    pub(crate) fn without_receiver(x: &Tensor) -> Tensor {
        x * Self::FACTOR
    }
}

#[compile(spec(x = f32[N, 3, 32, 32], w = f32[8, 3, 3, 3]))]
fn options(x: &Tensor, w: &Tensor, pad: usize) -> Tensor {
    let one = Conv2dOptions::default().stride(2);
    let h = x.conv2d(w, None, one.padding((pad, 1)));
    let h = h.pad(&[1, 1, 0, 0], PadMode::Constant(0.5)).pad(&[1, 0], PadMode::Reflect);
    let h = h.max_pool2d(PoolOptions::new(3).stride(2).padding(1)).avg_pool2d(PoolOptions::new((2, 1)));
    h.interpolate((7, 5), Interpolate::Bilinear { align_corners: false })
}

#[compile]
fn indexed(x: &Tensor, q: &Tensor, down: bool) -> (Tensor, Tensor, Tensor) {
    let (values, indices) = x.topk(3, -1);
    let sorted = x.sort(0, down);
    let a = q.scaled_dot_product_attention(q, q, None, AttentionOptions::default().causal(true).scale(0.5));
    (values, indices, sorted.0.gather(&sorted.1, 0) + a)
}

impl Loop {
    #[compile]
    fn control(&self, a: &Tensor, start: &Tensor, limit: f64) -> (Tensor, Tensor) {
        let none = Tensor::zeros((), DType::I64);
        let (v, steps) = while_loop(
            (start / start.norm(2.0, 0), none),
            |(v, steps)| v.max_all().gt(limit).logical_and(&steps.lt(10)),
            |(v, steps)| {
                let w = a.matmul(v) + &self.bias;
                (&w / w.norm(2.0, 0), steps + 1)
            },
        );
        let y = tensorplay::cond(&v.min_all().gt(0.0), || v.log(), || {
            let s = v.sign();
            cond(&s.any(0), || &s * v.dim(0), || v.clone())
        });
        (y, steps)
    }
}

#[compile]
fn branches(x: &Tensor, large: bool) -> Tensor {
    let h = x.exp();
    if h.dim(0) > 32 && large {
        return h;
    }
    match h.shape() {
        [_] => h.relu(),
        [_, .., 3] => h * self.scale,
        _ => h,
    }
}

#[compile]
fn unrolled(x: &Tensor) -> Tensor {
    let mut t = x.clone();
    for i in 0..10 {
        if i == 1 { continue; }
        if i > 2 { break; }
        t = t * i as f64;
    }
    t
}

#[compile(spec(x = f32[B, 784]), specialize(x = f32[1, 784]), specialize(x = f32[_, 784], w = f32[784, 10]))]
fn special_sizes(x: &Tensor, w: &Tensor) -> Tensor {
    let y = x.matmul(w);
    if y.dim(0) == 1 { y.squeeze(0) } else { y }
}

#[compile]
fn shapes(x: &Tensor, y: &Tensor) -> Tensor {
    if x.shape() == y.shape() {
        x + y
    } else if x.shape() != [2, 3] {
        x.relu()
    } else {
        y.reshape(x.shape())
    }
}

#[compile(spec(x = f32[B, 3], y = f32[B, 0..=4], z = f32[..]))]
fn shapes_of_known_ranks(x: &Tensor, y: &Tensor, z: &Tensor) -> Tensor {
    if x.shape() == y.shape() || x.shape() == z.shape() {
        return x.exp();
    }
    if x.shape() == &[2, 3][..] && x.shape() != [3] && x.shape() == x.shape() {
        return x.relu();
    }
    x.neg()
}

#[compile]
fn asked(x: &mut Tensor, pair: (Tensor, Option<&Tensor>)) -> Tensor {
    let (a, b) = &pair;
    if x.is_contiguous() && !a.requires_grad() {
        return x.exp();
    }
    match b {
        Some(b) if b.is_contiguous() => x + b,
        _ if a.device() == Device::Cpu => x.neg(),
        _ => match x.device() {
            Device::Cuda(_) => x.relu(),
            _ => x.clone(),
        },
    }
}

#[compile]
fn while_on_sizes(x: &Tensor, n: usize) -> Tensor {
    let mut y = x.clone();
    while !(y.dim(0) <= n) {
        if y.rank() == 2 { y = y.narrow(0, 0, y.dim(0) / 2); continue; }
        y = y.sum(0);
    }
    let mut k = 0;
    while k < 2 && y.dim(0) > k { y = y * k as f64; k += 1; }
    y
}
