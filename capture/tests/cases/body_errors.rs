// Bodies that are not captured: each error on its own tokens.

#[compile(fullgraph)]
fn matmul(#[spec(f32[3, 4])] x: &Tensor, #[spec(f32[5, 6])] w: &Tensor) -> Tensor {
    let y = x.matmul(w);
    // no cascade: y is unknown
    y.relu() + y.gelu()
}

#[compile(fullgraph, spec(x = f32[B, 4], b = f32[3]))]
fn broadcast(x: &Tensor, b: &Tensor) -> Tensor {
    (x + b).relu()
}

#[compile(fullgraph)]
fn dims(#[spec(f32[3, 4])] x: &Tensor) -> Tensor {
    let a = x.sum(2);
    let b = x.dim(5);
    let c = x.narrow(1, 2, 8);
    let d = x.softmax(-3);
    a + b
}

#[compile(fullgraph, spec(return = f32[B, 10], x = f32[B, 8]))]
fn wrong_result(x: &Tensor) -> Tensor {
    x.relu()
}

#[compile(fullgraph, spec(return = (f32[2], i64[2])))]
fn wrong_part(#[spec(f32[2])] x: &Tensor) -> Result<(Tensor, Tensor)> {
    Ok((x.relu(), x.exp()))
}

#[compile(fullgraph)]
fn control(x: &Tensor, n: usize) -> Tensor {
    let mut t = x.clone();
    for i in 0..n {
        t = t * 2.0;
    }
    while n > 3 { }
    loop { break; }
    let y = if x.dim(0) > 2 { x.relu() } else { x.exp() };
    match n { _ => {} }
    let f = |a: &Tensor| a.relu();
    let z = unsafe { x.exp() };
    t.matmul(2) + x.item::<f32>()
}

#[compile(fullgraph)]
fn macros_and_calls(x: &Tensor) -> Tensor {
    println!("{x:?}");
    let y = helper(x);
    let v = vec![x];
    let z = Config { a: 1 };
    let q = Err(x)?;
    let s = Tensor::from_slice(&[1.0], 1);
    (x.relu)(x)
}

#[compile(fullgraph)]
fn methods(x: &Tensor) -> Tensor {
    let a = x.gelo();
    let b = x.strides();
    let c = x.to_vec::<f32>();
    let d = x.relu(1);
    let e = x.clamp(0.0);
    let f = x.try_matmul(x).unwrap();
    let g = x.shape().iter();
    x.frobnicate()
}

#[compile(fullgraph)]
fn kinds(x: &Tensor, n: usize) -> Tensor {
    let a = x.matmul(2.0);
    let b = x.linear(x, x);
    let c = Tensor::cat(x, 0);
    let d = x.narrow(0, x, 1);
    let e = x.reshape(x);
    let f = x.to_dtype(DType::F8);
    let g = x + (x, x);
    let h = x.try_matmul(x) + x;
    let i = x * WEIGHT_TABLE.matmul(x);
    x.matmul(&WEIGHT)
}

#[compile(fullgraph)]
fn operators(x: &Tensor, n: usize) -> Tensor {
    let a = x % 2.0;
    let b = x == x;
    let c = !x;
    let d = x > 0.0;
    let e = n << 2;
    let f = x & x;
    x.relu()
}

#[compile(fullgraph)]
fn returned(x: &Tensor, n: usize) -> (Tensor, Tensor) {
    x.relu()
}

#[compile(fullgraph)]
fn returns_number(x: &Tensor) -> (Tensor, Tensor) {
    (x.relu(), x.dim(0))
}

#[compile(fullgraph)]
fn no_ok(x: &Tensor) -> Result<Tensor> {
    x.relu()
}

#[compile(fullgraph)]
fn no_result(x: &Tensor) -> Tensor {
    x.try_exp()
}

#[compile(fullgraph)]
fn no_value(x: &Tensor) -> Tensor {
    x.relu();
}

#[compile(fullgraph)]
fn indices(x: &Tensor, n: usize, #[spec(f32[4, 6])] y: &Tensor) -> Tensor {
    let parts = x.chunk(3, 1);
    let a = &parts[n];
    let b = Tensor::cat(&parts, 0);
    let halves = y.chunk(2, 1);
    let c = &halves[2];
    let d = (x, y)[3];
    let e = y.chunk(2, 7);
    let f = &parts[0..2];
    x.relu()
}

#[compile(fullgraph)]
fn patterns(x: &Tensor) -> Tensor {
    let Some(y) = x else { panic!() };
    let Pair { a, b } = x;
    let (c, d) = x.relu();
    let (e, ..) = (x, x);
    y + a + c + e
}

#[compile(fullgraph)]
fn questions(x: &Tensor) -> Result<Tensor> {
    let y = x.exp()?;
    Ok(y)
}

#[compile(fullgraph)]
fn unknown_rank(x: &Tensor, y: &Tensor) -> Tensor {
    x.sum(y.shape())
}

#[compile(fullgraph)]
fn configured(x: &Tensor) -> Tensor {
    #[cfg(feature = "fast")]
    let x = x.relu();
    x.exp()
}

#[compile(fullgraph)]
fn numbers(x: &Tensor, #[spec(f32[3])] y: &Tensor) -> Tensor {
    let a = "text";
    let b = 99999999999999999999;
    let c = y.dim(0) - 5;
    let d = y.dim(0) / 0;
    let e = x.dim(0) as u32;
    let f = x.dim(0).div_ceil(2);
    const K: f32 = compute();
    { const L: f32 = compute(); }
    x * K
}

#[compile(fullgraph)]
fn needs_a_number(x: &Tensor, p: f64) -> Tensor {
    x.norm(p, 0)
}

#[compile(fullgraph)]
fn inside_a_composite(#[spec(f32[2, 3])] x: &Tensor) -> Tensor {
    x.std_dev(0, -9223372036854775807)
}

#[compile(fullgraph)]
fn a_negative_length(x: &Tensor) -> Tensor {
    x.narrow(0, 0, -1) + x.slice(0, 0, 4, 0)
}

#[compile(fullgraph)]
fn more_dims_than_there_are(x: &Tensor) -> Tensor {
    x.layer_norm(1000000000000, None, None, 1e-5)
}

#[compile(fullgraph)]
fn dtypes(#[spec(bool[3])] x: &Tensor, #[spec(f32[3])] y: &Tensor) -> Tensor {
    let a = -x;
    let b = y.bitwise_and(x);
    let c = y.where_cond(x, 0.0);
    x.mean(0)
}

#[compile(fullgraph)]
fn assignments(x: &Tensor) -> Tensor {
    *x = x.relu();
    GLOBAL = x.relu();
    let t = &mut x;
    x.relu()
}

impl Net {
    #[compile(fullgraph)]
    fn forward(&self, x: &Tensor) -> Tensor {
        let h = self.layer.forward(x);
        let g = self.relu();
        let e = self.blocks[i].w.relu();
        let k = self;
        x + k
    }
}

#[compile(fullgraph)]
fn options(x: &Tensor) -> Tensor {
    let a = x.conv2d(x, None, PoolOptions::new(3));
    let b = x.conv2d(x, None, Conv2dOptions::default().strides(2));
    let c = x.conv2d(x, None, Conv2dOptions::default().stride((1, 2, 3)));
    let d = x.conv2d(x, None, Conv2dOptions::new(3));
    let e = x.pad(&[1, 1], PadMode::Mirror);
    let f = x.pad(&[1, 1], PadMode::Constant);
    let g = x.interpolate((2, 2), Interpolate::Bilinear(true));
    let h = x.max_pool2d(OPTIONS);
    let i = x.max_pool2d(PoolOptions::new(3).kernel(2));
    x.sort(0, true)
}

#[compile(fullgraph, spec(x = f32[N, 3, 8, 8], w = f32[4, 2, 3, 3]))]
fn convolutions(x: &Tensor, w: &Tensor) -> Tensor {
    let a = x.conv2d(w, None, Conv2dOptions::default());
    let b = x.max_pool2d(PoolOptions::new(9));
    let c = x.avg_pool2d(PoolOptions::new(2).padding(2));
    let d = x.gather(w, 0);
    x.batch_norm(w, w, None, None, 1e-5)
}

#[compile(fullgraph, spec(x = f32[3]))]
fn control(x: &Tensor) -> Tensor {
    let mut seen = x.exp();
    let p = x.gt(0.0).any(0);
    let a = cond(&p, || x.clone(), || x.unsqueeze(0));
    let b = cond(&p, || (x.clone(), x.clone()), || x.clone());
    let c = cond(&p, || { seen = x.log(); x.clone() }, || x.clone());
    let d = cond(&p, || { return x.clone(); }, || x.clone());
    let e = while_loop(x.clone(), |c| c.dim(0), |c| c.exp());
    let f = while_loop(x.clone(), |c| c.gt(0.0).any(0), |c| c.to_dtype(DType::F64));
    let g = while_loop(x.clone(), || p.clone(), |c| c.exp());
    let mut k = 1.0;
    let h = cond(&p, || { k = 2.0; x.clone() }, || x.clone());
    let i = cond(&p, || { let mut n = 1.0; let y = cond(&p, || { seen = x.clone(); x * n }, || x.exp()); n = 2.0; y * n }, || x.clone());
    cond(&x.gt(0.0), || x.clone(), || x.exp())
}

#[compile(fullgraph)]
fn literal_options(x: &Tensor) -> Tensor {
    x.max_pool2d(PoolOptions { stride: [2, 2], ..Default::default() })
}

#[compile(fullgraph)]
fn branches_on_data(x: &Tensor) -> Tensor {
    let y = if x.sum_all().item::<f32>() > 0.0 { x.relu() } else { x.exp() };
    match x.item::<i64>() { 0 => {}, _ => {} }
    while x.max_all().item::<f32>() < 1.0 { }
    y
}

#[compile(fullgraph)]
fn asked_of_others(x: &Tensor, y: Option<&Tensor>) -> Tensor {
    let h = x.exp();
    if h.is_contiguous() || h.requires_grad() {
        return h;
    }
    match y {
        Some(y) if y.device() == Device::Cpu => y.relu(),
        _ => h.neg(),
    }
}

#[compile(fullgraph)]
fn shape_of_a_const(x: &Tensor, n: usize) -> Tensor {
    if x.shape() == SHAPE { return x.exp() }
    if [2, n, x] == x.shape() { return x.neg() }
    x.relu()
}

#[compile(fullgraph)]
fn while_with_numbers(x: &Tensor, n: usize) -> Tensor {
    let mut y = x.clone();
    let mut k = n;
    while k > 0 {
        y = y.exp();
        k -= 1;
    }
    while y.dim(0) > 1 {
        if n == 2 { break; }
        y = y.narrow(0, 0, 1);
    }
    y
}

#[compile(fullgraph)]
fn doubled(x: &Tensor) -> Tensor {
    let mut s = 1usize;
    let mut y = x.clone();
    while s < x.dim(0) {
        y = &y + y.roll(s, 0);
        s = s + s;
    }
    y
}

#[compile(fullgraph)]
fn overflows_in_no_call(x: &Tensor) -> Tensor {
    let mut s = 1usize;
    let mut y = x.clone();
    while s < x.dim(0) {
        y = &y + y.roll(s, 0);
        s *= 2;
    }
    y
}

#[compile(fullgraph)]
fn fibonacci(x: &Tensor) -> Tensor {
    let (mut a, mut b) = (x.dim(0), x.dim(1));
    for _ in 0..40 {
        let c = (a + b) % 97;
        a = b;
        b = c;
    }
    x * b as f64
}

#[compile(fullgraph)]
fn numbers_in_a_list(x: &Tensor) -> Tensor {
    let mut v: Vec<f64> = Vec::new();
    for t in 0..x.dim(0) {
        v.push(t as f64);
    }
    x + v[1]
}

#[compile(fullgraph)]
fn reads_what_it_grows(x: &Tensor) -> Tensor {
    let mut v = vec![x.sum_all()];
    for i in 0..x.dim(0) {
        let p = &v[v.len() - 1] + x.select(0, i);
        v.push(p);
    }
    Tensor::stack(&v, 0)
}

#[compile(fullgraph)]
fn stacks_what_it_grows(x: &Tensor) -> Tensor {
    let mut v = vec![x.sum_all()];
    for _ in 0..x.dim(0) {
        let s = Tensor::stack(&v, 0).sum(0);
        v.push(s);
    }
    for _ in 0..x.dim(0) {
        for _ in 0..x.dim(1) {
            v.push(x * 2.0);
        }
    }
    for _ in 0..x.dim(0) {
        v[0] = &v[0] + 1.0;
        v.push(x.clone());
    }
    Tensor::stack(&v, 0)
}

#[compile(fullgraph)]
fn questions_of_options(x: &Tensor, a: Option<&Tensor>) -> Option<Tensor> {
    let b = a?;
    let c = Some(x)?.exp();
    let d = (x.relu(), a?);
    Some(x * b)
}

#[compile(fullgraph)]
fn iterators(x: &Tensor, xs: &[Tensor], n: usize) -> Tensor {
    let mut seen = 0;
    let a: Vec<Tensor> = (0..3).map(|i| x * i).collect();
    let b: Vec<Tensor> = (0..n).rev().map(|i| { seen = i; x * i }).collect();
    let c: Vec<Tensor> = xs.iter().map(|x| x.relu()).collect();
    let d = [x, x].iter().map(|x| x.relu()).fold(x.clone(), |a, b| a + b);
    let e = x.chunk(2, 0).into_iter().map(|x| x.relu()).collect::<Vec<_>>();
    let f = 0..n;
    x.relu()
}

#[compile(fullgraph)]
fn names_of_others(x: &Tensor) -> Tensor {
    let a = x.view((2, -1));
    let b = x.size(0);
    let c = x.numel();
    let d = x.ndim();
    let e = x.mm(x).bmm(x);
    let f = x.unsqueeze_(0);
    let g = Tensor::concat(&[x, x], 0);
    let h = x.amax(0);
    x.float()
}

#[compile(fullgraph)]
fn text_in_a_result(x: &Tensor) -> (Tensor, String) {
    (x.relu(), "a".to_string())
}

#[compile(fullgraph)]
fn text_in_an_error(x: &Tensor) -> Result<Tensor, String> {
    if x.dim(0) > 2 {
        return Err("a".to_string());
    }
    x.try_relu().map_err(|_| "b".to_string())
}

impl Net {
    #[compile(fullgraph)]
    fn step(&self, x: &Tensor) -> Tensor {
        let h = self.a.forward(x);
        let g = self.helper(&h);
        let f = self.w.view(0);
        TABLE.view(0)
    }
}

#[compile(fullgraph)]
fn indices_into_lists(xs: &[Tensor], n: usize) -> Tensor {
    for i in 0..xs.len() {
        let y = xs[i].relu();
    }
    xs[n].exp()
}

#[compile(fullgraph)]
fn methods_of_options(x: &Tensor, a: Option<&Tensor>) -> Tensor {
    let b = a.map(|a| a.relu());
    let c = a.unwrap_or(x);
    x + a.unwrap()
}
