//! Lists that the caller lends: caches, one a layer.

use crate::check::{iota, v};
use net::{Block, Net};
use tensorplay::{Result, compile, explain, prelude::*};

#[tensorplay::model]
mod net {
    use tensorplay::{Result, compile, prelude::*};

    pub struct Block {
        pub w: Tensor,
    }

    impl Block {
        fn attend(&self, x: &Tensor, keys: &mut Tensor, values: &mut Tensor) -> Tensor {
            let h = x.matmul(&self.w);
            *keys = Tensor::cat(&[&*keys, &h], 0);
            *values = Tensor::cat(&[&*values, &h.relu()], 0);
            h.matmul(&keys.t()).softmax(-1).matmul(values)
        }
    }

    pub struct Net {
        pub blocks: Vec<Block>,
    }

    impl Net {
        #[compile(fullgraph)]
        pub fn step(&self, x: &Tensor, cache: &mut [(Tensor, Tensor)]) -> Tensor {
            let mut h = x.clone();
            for (block, (keys, values)) in self.blocks.iter().zip(cache.iter_mut()) {
                h = block.attend(&h, keys, values);
            }
            h
        }

        #[compile(fullgraph)]
        pub fn checked(&self, x: &Tensor, cache: &mut Vec<Tensor>, at: &Tensor) -> Result<Tensor> {
            let mut h = x.clone();
            for (i, (block, kept)) in self.blocks.iter().zip(cache).enumerate() {
                h = h.try_matmul(&block.w)?;
                *kept = &*kept + &h * (i as f64 + 1.0);
            }
            h.try_index_select(at, 0)
        }
    }
}

fn net(depth: usize) -> Net {
    Net {
        blocks: (0..depth)
            .map(|i| Block {
                w: iota(&[4, 4]) * 0.1 - 0.1 * i as f64,
            })
            .collect(),
    }
}

#[test]
fn a_cache_for_each_layer() {
    for depth in [0, 1, 2, 5] {
        let net = net(depth);
        let mut cache = vec![
            (
                Tensor::zeros((0, 4), DType::F32),
                Tensor::zeros((0, 4), DType::F32)
            );
            depth
        ];
        let mut plain = cache.clone();
        for at in 0..4 {
            let x = iota(&[1, 4]) * 0.5 - at as f64;
            let got = net.step(&x, &mut cache);
            let want = tensorplay::compiler::disable_capture(|| net.step(&x, &mut plain));
            assert_eq!(got.to_vec::<f32>(), want.to_vec::<f32>());
            for ((k, v), (l, w)) in cache.iter().zip(&plain) {
                assert_eq!(k.shape(), [at + 1, 4]);
                assert_eq!(k.to_vec::<f32>(), l.to_vec::<f32>());
                assert_eq!(v.to_vec::<f32>(), w.to_vec::<f32>());
            }
        }
    }
    let e = explain!(Net::step);
    assert!(e.breaks.is_empty() && e.fallbacks.is_empty(), "{e}");
}

#[test]
fn more_caches_than_layers_and_fewer() {
    for (depth, n) in [(2, 3), (3, 2), (2, 0)] {
        let net = net(depth);
        let x = iota(&[2, 4]);
        against_body!({
            let mut cache = vec![iota(&[2, 4]); n];
            let y = net
                .checked(&x, &mut cache, &Tensor::from_slice(&[1i64], 1))
                .expect("an index that is there");
            cache.push(y);
            cache
        });
    }
}

#[test]
fn nothing_is_written_when_a_call_fails() {
    let net = net(2);
    let x = iota(&[2, 4]);
    let mut cache = vec![iota(&[2, 4]); 2];
    net.checked(&x, &mut cache, &Tensor::from_slice(&[7i64], 1))
        .expect_err("row 7 of 2");
    for kept in &cache {
        assert_eq!(kept.to_vec::<f32>(), iota(&[2, 4]).to_vec::<f32>());
    }
}

#[test]
fn rows_are_written_in_place() {
    #[compile(fullgraph)]
    fn store(caches: &mut [Tensor], rows: &[Tensor], at: usize) {
        for (cache, row) in caches.iter_mut().zip(rows) {
            *cache = cache.slice_scatter(0, at, row);
        }
    }
    let mut caches = vec![Tensor::zeros((8, 4), DType::F32); 3];
    let rows = vec![iota(&[1, 4]), iota(&[1, 4]) * 2.0, iota(&[1, 4]) * 3.0];
    for at in 0..8 {
        store(&mut caches, &rows, at);
    }
    for (cache, row) in caches.iter().zip(&rows) {
        let want: Vec<f32> = (0..8).flat_map(|_| row.to_vec::<f32>()).collect();
        assert_eq!(cache.to_vec::<f32>(), want);
    }
}

#[test]
fn by_number_and_by_branch() {
    #[compile(fullgraph)]
    fn fill(cache: &mut [(Tensor, Tensor)], x: &Tensor, last: bool) -> Tensor {
        let before = cache[1].0.clone();
        cache[1].0 = x + &cache[0].1;
        if last {
            cache[0] = (x * 2.0, &cache[1].0 * 3.0);
        }
        before + &cache[1].0
    }
    let x = v(&[1.0, 2.0]);
    for last in [false, true] {
        against_body!({
            let mut cache: Vec<_> = (0..3).map(|i| (&x * i as f64, &x - i as f64)).collect();
            let y = fill(&mut cache, &x, last);
            cache.push((y.clone(), y));
            cache
        });
    }
    let mut short = vec![(x.clone(), x.clone())];
    let message = check_panic(|| {
        fill(&mut short, &x, false);
    });
    assert!(message.contains("cache[1]"), "{message}");
}

fn check_panic(f: impl FnOnce()) -> String {
    let e = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).expect_err("a panic");
    match e.downcast::<String>() {
        Ok(s) => *s,
        Err(_) => "another panic".into(),
    }
}

#[test]
fn some_steps_write_and_some_do_not() {
    #[compile(fullgraph)]
    fn grown(caches: &mut [Tensor], x: &Tensor) -> Vec<Tensor> {
        let mut old = Vec::new();
        for cache in caches.iter_mut() {
            old.push(cache.clone());
            if cache.dim(0) > 1 {
                *cache = &*cache + x;
            }
        }
        old
    }
    let x = v(&[10.0]);
    against_body!({
        let mut caches = vec![v(&[1.0]), v(&[1.0, 2.0]), v(&[3.0]), v(&[4.0, 5.0, 6.0])];
        let old = grown(&mut caches, &x);
        caches.extend(old);
        caches
    });
}

#[test]
fn beside_other_parameters() -> Result<()> {
    #[compile(fullgraph)]
    fn mixed(
        a: &mut Tensor,
        read: &[Tensor],
        cache: &mut Vec<Tensor>,
        b: &mut (Tensor, Tensor),
        n: usize,
    ) -> Tensor {
        let mut sum = a.clone();
        for (r, c) in read.iter().zip(cache.iter_mut()) {
            sum += r;
            *c = &*c * &sum + n as f64;
        }
        b.1 = &*a * 7.0;
        *a = &b.0 + &sum;
        sum
    }
    for n in 0..4 {
        against_body!({
            let (mut a, mut b) = (v(&[1.0, -2.0]), (v(&[3.0, 5.0]), v(&[0.0, 0.0])));
            let read = [v(&[2.0, 2.0]), v(&[3.0, 1.0])];
            let mut cache = vec![v(&[1.0, 4.0]); n];
            let y = mixed(&mut a, &read, &mut cache, &mut b, n);
            cache.extend([a, b.0, b.1, y]);
            cache
        });
    }
    Ok(())
}
