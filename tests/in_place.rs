//! New values of `&mut` parameters, written where the old ones lie when nobody else holds them.
#![deny(warnings)]

use std::time::{Duration, Instant};
use tensorplay::{Result, compile, compiler, prelude::*};

fn numbers(shape: (usize, usize)) -> Tensor {
    Tensor::rand(shape, DType::F32)
}

#[compile(fullgraph)]
fn put(cache: &mut Tensor, row: &Tensor, at: usize) {
    *cache = cache.slice_scatter(0, at, row);
}

#[compile(fullgraph)]
fn put_and_read(cache: &mut (Tensor, Tensor), row: &Tensor) -> Tensor {
    cache.0 = cache.0.slice_scatter(0, 1, row);
    cache.1 = cache.1.slice_scatter(0, 2, &(row * 2.0));
    cache.0.matmul(&cache.1.t())
}

#[compile(fullgraph)]
fn put_after_reading(cache: &mut Tensor, row: &Tensor) -> Tensor {
    let sum = cache.sum(0);
    *cache = cache.slice_scatter(0, 1, row);
    sum
}

#[compile(fullgraph)]
fn put_its_own_row(cache: &mut Tensor) {
    *cache = cache.slice_scatter(0, 1, &cache.narrow(0, 0, 2));
}

#[compile(fullgraph)]
fn put_and_return_the_old(cache: &mut Tensor, row: &Tensor) -> Tensor {
    let old = cache.clone();
    *cache = cache.slice_scatter(0, 1, row);
    old
}

#[compile(fullgraph)]
fn put_and_fail(cache: &mut Tensor, row: &Tensor, index: &Tensor) -> Result<Tensor> {
    *cache = cache.slice_scatter(0, 1, row);
    cache.try_index_select(index, 0)
}

/// Calls twice on a state that nobody else holds, and compares state and result with those of the plain body.
#[track_caller]
fn against_body(state: &Tensor, call: impl Fn(&mut Tensor) -> Tensor) {
    let run = || {
        let mut own = state.to_ndarray::<f32>().into();
        let results = [call(&mut own), call(&mut own)];
        let all = results.into_iter().chain([own]);
        all.map(|t| (t.shape().to_vec(), t.to_vec::<f32>()))
            .collect::<Vec<_>>()
    };
    assert_eq!(run(), compiler::disable_capture(run));
}

#[test]
fn values_are_those_of_the_plain_body() {
    let (state, row) = (numbers((4, 3)), numbers((1, 3)));
    for at in [0, 3] {
        against_body(&state, |s| {
            put(s, &row, at);
            s.clone()
        });
    }
    against_body(&state, |s| put_after_reading(s, &row));
    against_body(&state, |s| put_and_return_the_old(s, &row));
    against_body(&state, |s| {
        put_its_own_row(s);
        s.clone()
    });
    let run = || {
        let mut cache = (state.exp(), state.neg());
        let y = [put_and_read(&mut cache, &row), put_and_read(&mut cache, &row)];
        [cache.0, cache.1, y[0].clone(), y[1].clone()].map(|t| t.to_vec::<f32>())
    };
    assert_eq!(run(), compiler::disable_capture(run));
}

#[test]
fn who_holds_the_old_value_keeps_it() {
    let (state, row) = (numbers((4, 3)), numbers((1, 3)));
    let mut cache = state.clone();
    let (handle, view, before) = (cache.clone(), cache.narrow(0, 1, 2), cache.to_vec::<f32>());
    put(&mut cache, &row, 1);
    assert_eq!(handle.to_vec::<f32>(), before);
    drop((handle, state));
    assert_eq!(view.to_vec::<f32>(), before[3..9]);
    let after = cache.to_vec::<f32>();
    let view = cache.narrow(0, 1, 2);
    put(&mut cache, &row, 2);
    assert_eq!(view.to_vec::<f32>(), after[3..9]);
    let old = put_and_return_the_old(&mut cache, &row);
    put(&mut cache, &(&row * 2.0), 3);
    assert_eq!(old.to_vec::<f32>()[6..9], row.to_vec::<f32>());
    let variable = numbers((4, 3)).variable();
    let (mut cache, before) = (variable.clone(), variable.to_vec::<f32>());
    drop(std::mem::replace(&mut cache, variable));
    put(&mut cache, &row, 1);
    assert!(cache.to_vec::<f32>() != before && cache.version() == 0);
}

#[test]
fn nothing_is_written_when_a_later_step_fails() {
    let row = numbers((1, 3));
    let mut cache = numbers((4, 3)) + 0.0;
    let before = cache.to_vec::<f32>();
    let index = |i: i64| Tensor::from_slice(&[i], 1);
    put_and_fail(&mut cache, &row, &index(9)).expect_err("9 is out of range");
    assert_eq!(cache.to_vec::<f32>(), before);
    let y = put_and_fail(&mut cache, &row, &index(1)).expect("1 is in range");
    assert_eq!(y.to_vec::<f32>(), row.to_vec::<f32>());
}

#[test]
fn an_unshared_cache_costs_a_row() {
    let (mut cache, row) = (numbers((1 << 14, 256)) + 0.0, numbers((1, 256)));
    let mut time = |held: bool| -> Duration {
        let once = |cache: &mut Tensor| {
            let other = held.then(|| cache.clone());
            let start = Instant::now();
            put(cache, &row, 7);
            drop(other);
            start.elapsed()
        };
        (0..9).map(|_| once(&mut cache)).min().unwrap_or_default()
    };
    let (copied, in_place) = (time(true), time(false));
    println!("figure in_place.row_us {:.2}", in_place.as_secs_f64() * 1e6);
    println!("figure in_place.copy_us {:.2}", copied.as_secs_f64() * 1e6);
    assert!(
        in_place < copied / 20,
        "a row of 1 KiB took {in_place:?}, a copy of 16 MiB {copied:?}"
    );
}
