//! Lists whose length only a call knows: as places that are written, and as results.

use crate::check::{iota, v};
use tensorplay::{Result, compile, compiler, prelude::*};

#[test]
fn parts_of_a_slice_and_a_vector_are_written() {
    #[compile(fullgraph)]
    fn slice(cache: &mut [Tensor], x: &Tensor) {
        cache[0] = &cache[0] + x;
        if cache.len() > 1 {
            cache[1] = &cache[0] * 2.0;
        }
    }
    #[compile(fullgraph)]
    #[allow(clippy::ptr_arg)]
    fn vector(cache: &mut Vec<Tensor>, x: &Tensor) {
        cache[0] = &cache[0] - x;
    }
    let x = v(&[1.0, 2.0]);
    for n in [1, 2, 3] {
        against_body!({
            let mut b = vec![v(&[5.0, 6.0]); n];
            slice(&mut b, &x);
            vector(&mut b, &(&x * 10.0));
            b
        });
    }
}

#[test]
fn as_many_results_as_the_call_makes() {
    #[compile(fullgraph)]
    fn pieces(x: &Tensor, n: usize) -> Vec<Tensor> {
        (x + 1.0).chunk(n, 0)
    }
    #[compile(fullgraph)]
    fn collected(xs: &Tensor) -> Vec<Tensor> {
        let mut out = Vec::new();
        for t in 0..xs.dim(0) {
            out.push(xs.select(0, t) * t as f64);
        }
        out
    }
    #[compile(fullgraph)]
    fn pair(x: &Tensor, w: &Tensor) -> Result<(Tensor, Vec<Tensor>)> {
        let y = x.matmul(w);
        Ok((y.clone(), y.try_split(1, 0)?))
    }
    for n in [1, 2, 3] {
        assert_eq!(against_body!(pieces(&iota(&[6]), n)).len(), n);
    }
    #[compile(fullgraph)]
    fn cut(x: &Tensor, n: usize, dim: i64) -> (Vec<Tensor>, Tensor, Vec<Tensor>) {
        (x.split(n, dim), x.relu(), (x * 2.0).chunk(n, dim))
    }
    for size in [0, 1, 2, 7, 33] {
        for n in [1, 2, 3, 40] {
            for dim in [0, -1] {
                let shape = if dim == 0 { [size, 3] } else { [3, size] };
                against_body!(cut(&(iota(&shape) - 4.0), n, dim));
            }
        }
    }
    #[compile(fullgraph)]
    fn chunked(x: &Tensor, n: usize) -> Result<Vec<Tensor>> {
        x.try_chunk(n, 0)
    }
    let (x, plain) = (iota(&[4]), |n| {
        compiler::disable_capture(|| chunked(&iota(&[4]), n))
    });
    let message = |r: Result<Vec<Tensor>>| r.expect_err("no pieces").to_string();
    assert_eq!(message(chunked(&x, 0)), message(plain(0)));
    for n in [0, 1, 4] {
        assert_eq!(against_body!(collected(&iota(&[n, 2]))).len(), n);
    }
    let (x, w) = (iota(&[2, 3]), iota(&[3, 2]));
    let (_, rows) = against_body!(pair(&x, &w)).expect("a product");
    assert_eq!(rows.len(), 2);
    pair(&x, &x).expect_err("3 columns against 2 rows");
}
