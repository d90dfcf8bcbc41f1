// Parameters and results that are refused, and uses of them.

#[compile(fullgraph)]
fn types(
    a: &[Tensor],
    b: Vec<Tensor>,
    c: &mut Option<Tensor>,
    d: Option<&mut Tensor>,
    e: [Tensor; N],
    f: [Tensor; 100],
    g: Box<Tensor>,
    h: (Tensor, Vec<Tensor>),
    i: impl Fn(f32) -> f32,
    j: Option<Vec<Tensor>>,
) -> Tensor {
    a + b
}

#[compile(fullgraph)]
fn patterns((a, ..): (Tensor, Tensor), (b, c): Tensor, ref d: Tensor, [e, f]: [Tensor; 3], g @ h: Tensor) -> Tensor {
    a + b
}

#[compile(fullgraph, spec(a = f32[2], pair = f32[2], n = (f32[2], f32[3])))]
fn specs((a, b): (&Tensor, &Tensor), pair: (Tensor, Tensor), n: &Tensor, #[spec(f32[2])] (c, d): (Tensor, Tensor)) -> Tensor {
    a + b
}

#[compile(fullgraph, spec(return = f32[2]))]
fn specs_of_results(x: &Tensor) -> Option<Tensor> { Some(x.relu()) }

#[compile(fullgraph)]
fn opaque(x: &Tensor, mode: Mode, m: &Matrix) -> Tensor {
    let y = m.relu();
    let z = x + m;
    let n = mode as usize;
    let s = match mode {
        Mode::Scaled(s) => x * s,
        Mode::Other if n > 2 => x.relu(),
        _ => x.clone(),
    };
    let t = if let Mode::Scaled(t) = mode { x * t } else { x.exp() };
    if mode == x { x.narrow(0, 0, mode) } else { x.sum(mode) }
}

#[compile(fullgraph)]
fn writes(x: &Tensor, keys: &mut Tensor, pair: &mut (Tensor, f64), n: &mut usize) {
    *x = keys.exp();
    *keys = 2.0;
    *keys = (x, x);
    pair.1 = 3.0;
    pair.2 = x.exp();
    *pair = (x.exp(), 2.0);
    *n += 1;
    self.w = x.exp();
    x.relu() = x.exp();
}

#[compile(fullgraph)]
fn in_a_closure(x: &Tensor, keys: &mut Tensor) {
    let y = cond(&x.sum_all().gt(0.0), || { *keys = x.exp(); x.relu() }, || x.exp());
}

#[compile(fullgraph)]
fn borrowed(x: &Tensor) -> Tensor {
    let mut y = x.relu();
    let z = &mut y;
    z.exp()
}

#[compile(fullgraph)]
fn open(x: &Tensor) -> Vec<Tensor> { x.chunk(2, 0) }

#[compile(fullgraph)]
fn number(x: &Tensor) -> usize { x.dim(0) }

#[compile(fullgraph)]
fn another_length(x: &Tensor) -> [Tensor; 3] { [x.exp(), x.relu()] }

#[compile(fullgraph)]
fn an_option(x: &Tensor) -> Option<Tensor> { x.relu() }

#[compile(fullgraph)]
fn no_option(x: &Tensor) -> Tensor { Some(x.relu()) }

#[compile(fullgraph)]
fn a_value(x: &Tensor) { x.relu() }

#[compile(fullgraph)]
fn an_array_of_n<const N: usize>(x: &Tensor) -> [Tensor; N] { [x.relu()] }

#[compile(fullgraph)]
fn pushed(x: &Tensor) -> Tensor {
    let mut all = vec![x.exp()];
    all.push(2.0);
    all.extend(x.chunk(2, 0));
    Tensor::stack(&all, 0)
}
