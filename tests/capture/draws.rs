//! Random numbers across steps that data decide: the order of the source holds.

use crate::seed::seeded;
use tensorplay::compiler::{NestedCompileRegionOptions, disable_capture};
use tensorplay::{compile, cond, nested_compile_region, prelude::*, while_loop};

fn rand() -> Tensor {
    Tensor::rand(4, DType::F32)
}

static EAGER: NestedCompileRegionOptions = NestedCompileRegionOptions {
    fw_compiler: Some("eager"),
    bw_compiler: None,
};

#[nested_compile_region(options = EAGER)]
fn on_eager(x: &Tensor) -> Tensor {
    x + Tensor::rand(4, DType::F32)
}

#[nested_compile_region]
fn looping(x: &Tensor) -> Tensor {
    while_loop(
        x.clone(),
        |h| h.sum_all().lt(20.0),
        |h| h + Tensor::rand(4, DType::F32) + 1.0,
    )
}

#[compile(fullgraph)]
fn cond_then_rand(x: &Tensor) -> Tensor {
    let y = cond(
        &x.sum_all().gt(0.0),
        || x + Tensor::rand(4, DType::F32),
        || x * Tensor::rand(4, DType::F32) + Tensor::rand(4, DType::F32),
    );
    y - Tensor::rand(4, DType::F32)
}

#[compile(fullgraph)]
fn around_a_loop(x: &Tensor) -> Tensor {
    let before = Tensor::rand(4, DType::F32);
    let y = while_loop(
        x.clone(),
        |h| h.sum_all().lt(20.0),
        |h| h.dropout(0.1, true) + 1.0,
    );
    (y - before).dropout(0.5, true)
}

#[compile(fullgraph)]
fn loops_in_regions(x: &Tensor) -> Tensor {
    looping(x) * Tensor::rand(4, DType::F32) - looping(&(x - 1.0))
}

/// What the condition reads ends a group whose last operation stands behind the second number.
#[compile(fullgraph)]
fn a_group_around_it(x: &Tensor) -> (Tensor, Tensor) {
    let h = x * 2.0;
    let y = cond(
        &h.sum_all().gt(0.0),
        || &h + Tensor::rand(4, DType::F32),
        || h.clone(),
    );
    let r = Tensor::rand(4, DType::F32);
    (y, (h + 1.0) * r)
}

#[compile(fullgraph)]
fn region_of_a_backend(x: &Tensor) -> Tensor {
    on_eager(x) * Tensor::rand(4, DType::F32)
}

#[test]
fn numbers_follow_the_source() {
    type Case = (&'static str, fn(&Tensor) -> Tensor);
    let cases: [Case; 5] = [
        ("cond_then_rand", cond_then_rand),
        ("around_a_loop", around_a_loop),
        ("loops_in_regions", loops_in_regions),
        ("a_group_around_it", |x| {
            let (y, z) = a_group_around_it(x);
            y + z
        }),
        ("region_of_a_backend", region_of_a_backend),
    ];
    for (name, f) in cases {
        for v in [1.0, -1.0, 3.0] {
            let x = Tensor::full(4, v, DType::F32);
            for seed in 1..4 {
                // the number that comes next tells how many were drawn
                let plain = seeded(seed, || (disable_capture(|| f(&x)), rand()));
                let compiled = seeded(seed, || (f(&x), rand()));
                assert!(
                    compiled.0.allclose(&plain.0, 1e-6, 1e-6),
                    "{name} of {v}: {} but {}",
                    compiled.0,
                    plain.0
                );
                assert_eq!(compiled.1.to_vec::<f32>(), plain.1.to_vec::<f32>(), "{name}");
            }
        }
    }
}
