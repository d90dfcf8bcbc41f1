// Forms of parameters and results.

#[compile]
fn write_back(x: &Tensor, keys: &mut Tensor, values: &mut Tensor) -> Tensor {
    *keys = Tensor::cat(&[&*keys, x], 0);
    let old = values.clone();
    *values = &*values + x;
    x + keys + values - old
}

#[compile]
fn push(x: &Tensor, state: &mut Tensor) {
    *state = x + &*state;
}

#[compile]
fn read_only(x: &mut Tensor, n: &f64, k: &mut usize) -> Tensor {
    x.narrow(0, 0, *k) * *n
}

#[compile]
fn parts(cache: &mut (Tensor, Tensor), pair: &mut [Tensor; 2], x: &Tensor) {
    cache.0 = x + &cache.1;
    pair[1] = cache.0.exp();
    let (_, second) = cache;
    *second = x.relu();
}

#[compile]
fn whole(cache: &mut (Tensor, Tensor), x: &Tensor) {
    *cache = (cache.1.clone(), x + &cache.0);
}

#[compile]
fn swapped(a: &mut Tensor, b: &mut Tensor) {
    let t = a.clone();
    *a = b.clone();
    *b = t;
}

#[compile]
fn untouched(a: &mut Tensor, flag: bool) -> Tensor {
    if flag {
        *a = a.exp();
    }
    a.relu()
}

#[compile]
fn other_names(a: &mut Tensor, b: &mut Tensor, first: bool) {
    let one = if first { a } else { b };
    *one = one.exp();
    let again = &mut *one;
    *again = again.relu();
}

#[compile]
fn all(states: &mut [Tensor; 3], x: &Tensor) {
    for s in states.iter_mut() {
        *s = &*s + x;
    }
}

#[compile]
fn compound(a: &mut Tensor, x: &Tensor) {
    *a *= 2.0;
    *a += x;
}

#[compile(spec(b = f32[H]))]
fn options(x: &Tensor, w: Option<&Tensor>, b: &Option<Tensor>, scale: Option<f64>) -> Tensor {
    let y = match w {
        Some(w) => x.matmul(w),
        None => x.clone(),
    };
    let y = if let Some(b) = b { y + b } else { y };
    match scale {
        Some(s) => y * s,
        None => y,
    }
}

#[compile]
fn passed_on(x: &Tensor, w: &Tensor, b: Option<&Tensor>) -> Tensor {
    x.linear(w, b)
}

#[compile]
fn unasked(x: &Tensor, b: Option<Tensor>, _: Option<&Tensor>) -> Tensor {
    x.relu()
}

#[compile(spec(pair = (f32[2], f32[B])))]
fn nested(pair: (&Tensor, &Tensor), deep: &((Tensor, f64), [Tensor; 2]), n: (usize, bool)) -> Tensor {
    let ((a, s), [b, c]) = deep;
    let y = pair.0 + a * *s + b + c;
    if n.1 { y.unsqueeze(n.0) } else { y }
}

#[compile(spec(a = f32[2]))]
fn patterns((a, _): (&Tensor, &Tensor), [b, c]: &mut [Tensor; 2], (d, (mut e, f)): (Tensor, (Tensor, f64))) -> Tensor {
    *b = a + &*c;
    e = e.exp();
    d + e * f
}

#[compile]
fn moved(mut x: Tensor, mut pair: (Tensor, Tensor)) -> Tensor {
    x = x.exp();
    pair.0 = pair.0.relu();
    pair.1 = &pair.0 + &x;
    pair.1
}

#[compile]
fn arms(x: &Tensor, mode: Mode) -> Tensor {
    match mode {
        Mode::Train => x.exp(),
        Mode::Scaled(..) | Mode::Plain => x.relu(),
        rest => if matches!(rest, Mode::Off) { x.clone() } else { x.neg() },
    }
}

#[compile]
fn words(x: &Tensor, name: &str, n: Option<Kind>) -> Tensor {
    let y = if name != "plain" { x * 2.0 } else { x.clone() };
    if let Some(Kind::A) = n { y.abs() } else { y }
}

#[compile]
fn several(x: &Tensor, mode: &mut Mode, flag: bool) -> Tensor {
    match (mode, flag) {
        (Mode::A, true) => x.exp(),
        (Mode::B, _) => x.relu(),
        (_, _) => x.neg(),
    }
}

#[compile]
fn again(x: &Tensor, mode: Mode) -> Tensor {
    let mode = &mode;
    let y = if *mode == Mode::A { x.exp() } else { x.relu() };
    if *mode == Mode::A { y.exp() } else { y }
}

#[compile]
fn many(x: &Tensor, n: usize) -> Vec<Tensor> {
    let mut all = Vec::with_capacity(n);
    for i in 0..3 {
        all.push(x * i);
    }
    all.push(Tensor::stack(&all, 0));
    if n > 2 { return vec![all[0].clone(), all[3].clone()] }
    all
}

#[compile]
fn pieces(#[spec(f32[6])] x: &Tensor) -> Vec<Tensor> {
    let mut parts = x.chunk(3, 0);
    parts.push(x.clone());
    parts
}

#[compile]
fn maybe(x: &Tensor, b: Option<Tensor>, deep: bool) -> Option<(Tensor, Option<Tensor>)> {
    if x.rank() == 1 { return None }
    if deep { return Some((x.relu(), b)) }
    Some((x.exp(), None))
}

#[compile]
fn arrays(x: &Tensor) -> Result<[(Tensor, Tensor); 2], MyError> {
    let h = x.try_exp()?;
    Ok([(h.clone(), x.relu()), (x.clone(), h)])
}

#[compile]
fn nothing(x: &Tensor) { }

#[compile]
fn nothing_or_an_error(x: &mut Tensor, w: &Tensor) -> Result<()> {
    *x = x.try_matmul(w)?;
    Ok(())
}

#[compile]
fn early(x: &mut Tensor, flag: bool) {
    if flag {
        return;
    }
    *x = x.exp();
}

#[compile]
fn sizes<const H: usize, const CAUSAL: bool>(x: &Tensor) -> Tensor {
    let y = x.narrow(-1, 0, 2 * H);
    if CAUSAL { y.tril(0) } else { y }
}

#[compile]
fn of_a_list(x: &Tensor, y: &Tensor) -> Tensor {
    let list = vec![x.clone(); 2];
    let mut other: Vec<Tensor> = Vec::new();
    if !list.is_empty() { other.push(y.clone()) }
    other[0] = other[0].exp();
    Tensor::cat(&list[..], 0) + Tensor::cat(&other, 0) * other.len() as f64
}

impl Net {
    #[compile]
    fn kinds(&self, x: &Tensor) -> Tensor {
        let y = match self.act { Act::Relu => x.relu(), Act::Gelu => x.gelu(), _ => x.exp() };
        let y = if KIND == Kind::Double { y * 2.0 } else { y };
        if matches!(self.heads, consts::HEADS) { y } else { y.neg() }
    }
}

#[compile]
fn let_else(x: &Tensor, b: Option<&Tensor>) -> Tensor {
    let Some(b) = b else { return x.relu() };
    x + b
}
