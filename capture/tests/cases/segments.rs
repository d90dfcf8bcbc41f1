// Functions with graph breaks: the segments, and the Rust between them.

#[compile]
fn between_statements(x: &Tensor, w: &Tensor) -> Tensor {
    let h = x.matmul(w).relu();
    println!("{h}");
    let y = h * 2.0 + x;
    y.tanh()
}

#[compile]
fn classify(x: &Tensor, w1: &Tensor, w2: &Tensor, head: &Tensor, threshold: f32) -> Tensor {
    let h = x.matmul(w1).relu();
    let logits = h.matmul(head);
    let confidence = logits.softmax(-1).max(-1).mean_all().item::<f32>();
    println!("first head: confidence {confidence:.3}");
    if confidence > threshold {
        return logits;
    }
    let h = (&h + h.matmul(w2)).gelu();
    h.matmul(head)
}

#[compile]
fn gru<const H: usize>(xs: &Tensor, h0: &Tensor, w: &Tensor) -> (Tensor, Tensor) {
    let mut h = h0.clone();
    let mut states = Vec::with_capacity(xs.dim(0));
    for t in 0..xs.dim(0) {
        h = cell::<H>(&xs.select(0, t), &h, w);
        h = (h.exp() + 1.0).log() * (H as f32);
        states.push(h.clone());
    }
    (Tensor::stack(&states, 0), h)
}

#[compile]
fn data_dependent(x: &Tensor, deep: bool) -> Tensor {
    let y = x.exp();
    let z = if y.sum_all().item::<f32>() > 0.0 {
        let k = y.relu() + 1.0;
        if deep { k.gelu() } else { k }
    } else if x.max_all().item::<f32>() > 1.0 {
        y.tanh()
    } else {
        y
    };
    z.sigmoid()
}

#[compile]
fn numbers(x: &Tensor, n: usize) -> Result<Tensor> {
    let rows = x.dim(0) * n;
    let y = x.try_reshape((rows, 2))?.exp();
    report(rows);
    let k = y.dim(1);
    let scale = y.mean_all().item::<f32>();
    let z = (&y * scale).narrow(1, 0, k);
    if scale > 1.0 {
        return Ok(z.relu());
    }
    let m = count(&z) as usize;
    Ok(z.narrow(0, 0, m).exp())
}

#[compile]
fn assigned(mut x: Tensor, w: &Tensor) -> Tensor {
    let mut total = x.zeros_like();
    while total.sum_all().item::<f32>() < 10.0 {
        x = x.relu() + 0.5;
        total = &total + &x * w;
        log::debug!("{}", total.dim(0));
    }
    let twice = total.dim(0) * 2;
    let y = total + 1.0;
    show(twice);
    y.exp()
}

#[compile]
fn not_tensors(x: &Tensor, names: &[String]) -> String {
    let y = x.softmax(-1);
    let best = y.argmax(-1).item::<i64>();
    names[best as usize].clone()
}

#[compile]
fn guesses(x: &Tensor) -> Tensor {
    let y = helper(&x.exp());
    let z = y.relu();
    let Some(w) = find(&z) else {
        return z.exp() * 2.0;
    };
    let pair = (&z, w);
    let views = z.t();
    #[cfg(feature = "more")]
    let z = z.exp();
    let f = |t: &Tensor| t.relu();
    let _guard = lock();
    let v = f(&(z.exp() + 1.0));
    Tensor::from_vec(v.to_vec::<f32>(), x.shape()) + views.exp().t()
}

impl Net {
    #[compile(warn_breaks)]
    fn forward(&self, x: &Tensor) -> Tensor {
        let y = x.matmul(&self.w) * self.scale;
        let y = self.layer.forward(&y);
        y.relu() + &self.b
    }
}

#[compile]
fn still_wrong(#[spec(f32[3, 4])] x: &Tensor, #[spec(f32[5, 6])] w: &Tensor) -> Tensor {
    println!("{x}");
    x.matmul(w)
}

#[compile]
fn wrong_behind_a_break(x: &Tensor) -> Tensor {
    let y = load();
    y.relu().reshape((2, 3)).reshape((4, 2))
}

#[compile(spec(x = f32[B, 4], w = f32[4, 4], return = f32[B, 4]))]
fn specs(x: &Tensor, w: &Tensor) -> Tensor {
    let h = x.matmul(w);
    println!("{h}");
    (h + x).relu()
}

#[compile(spec(return = f32[B, 4]))]
fn unchecked_spec(x: &Tensor) -> Tensor {
    let h = x.exp();
    finish(h)
}
