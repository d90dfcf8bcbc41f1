//! `&mut` parameters: written back if the whole call succeeds, and not before.

use crate::check::{iota, v};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tensorplay::compiler::{disable_capture, with_backend};
use tensorplay::{Result, compile, explain, nested_compile_region, prelude::*};

#[test]
fn a_state_is_written_back() {
    #[compile(fullgraph)]
    fn push(state: &mut Tensor, x: &Tensor) {
        *state = &*state * 0.5 + x;
    }
    let mut state = v(&[8.0, 16.0]);
    for right in [[5.0, 10.0], [3.5, 7.0], [2.75, 5.5]] {
        push(&mut state, &v(&[1.0, 2.0]));
        assert_eq!(state.to_vec::<f32>(), right);
    }
    let e = explain!(push);
    assert_eq!((e.entries.len(), e.calls.dispatched), (1, 3), "{e}");
}

#[test]
fn a_state_beside_a_result() {
    #[compile(fullgraph)]
    fn step(x: &Tensor, state: &mut Tensor, w: &Tensor) -> Tensor {
        let before = state.sum_all();
        *state = x.matmul(w) + &*state;
        *state = state.relu();
        // reads what was written
        &*state * 2.0 + before
    }
    let (x, w) = (v(&[1.0, -1.0]), iota(&[2, 2]));
    for start in [[1.0, 2.0], [-3.0, 5.0]] {
        against_body!({
            let mut state = v(&start);
            let y = step(&x, &mut state, &w);
            (y, state)
        });
    }
    let mut state = v(&[1.0, 2.0]);
    let y = step(&x, &mut state, &w);
    assert_eq!(state.to_vec::<f32>(), [0.0, 0.0]);
    assert_eq!(y.to_vec::<f32>(), [3.0, 3.0]);
}

#[test]
fn a_path_may_leave_the_state_alone() {
    #[compile(fullgraph)]
    fn f(state: &mut Tensor, x: &Tensor, update: bool) -> Tensor {
        if update {
            *state = &*state + x;
        }
        state.clone() * 10.0
    }
    let mut state = v(&[1.0]);
    for (update, right) in [(true, 3.0), (false, 3.0), (true, 5.0), (false, 5.0)] {
        let y = f(&mut state, &v(&[2.0]), update);
        assert_eq!(state.item::<f32>(), right);
        assert_eq!(y.item::<f32>(), right * 10.0);
    }
}

#[test]
fn two_states() {
    #[compile(fullgraph)]
    fn fibonacci(a: &mut Tensor, b: &mut Tensor) {
        let next = &*a + &*b;
        *a = b.clone();
        *b = next;
    }
    let (mut a, mut b) = (v(&[0.0]), v(&[1.0]));
    for _ in 0..10 {
        fibonacci(&mut a, &mut b);
    }
    assert_eq!((a.item::<f32>(), b.item::<f32>()), (55.0, 89.0));
}

#[test]
fn parts_of_a_tuple_and_an_array() {
    #[compile(fullgraph)]
    fn tuple(cache: &mut (Tensor, Tensor), x: &Tensor) -> Tensor {
        cache.0 = Tensor::cat(&[&cache.0, x], 0);
        cache.1 = &cache.1 + x.sum_all();
        &cache.0 * &cache.1
    }
    #[compile(fullgraph)]
    fn array(cache: &mut [Tensor; 2], x: &Tensor) {
        cache[1] = &cache[0] + x;
        cache[0] = x * 2.0;
    }
    let x = v(&[1.0, 2.0]);
    against_body!({
        let mut cache = (v(&[]), v(&[1.0]));
        let y = (tuple(&mut cache, &x), tuple(&mut cache, &x));
        (y, cache)
    });
    against_body!({
        let mut a = [v(&[5.0, 6.0]), v(&[0.0, 0.0])];
        array(&mut a, &x);
        a
    });
}

#[test]
fn nothing_is_written_when_a_check_of_data_fails() {
    #[compile(fullgraph)]
    fn push(state: &mut Tensor, table: &Tensor, row: &Tensor) -> Result<Tensor> {
        *state = &*state + 1.0;
        Ok(table.index_select(row, 0))
    }
    let at = |i: i64| Tensor::from_slice(&[i], 1);
    let mut state = v(&[1.0, 2.0]);
    for _ in 0..2 {
        push(&mut state, &iota(&[3, 2]), &at(7)).expect_err("row 7 of 3");
        assert_eq!(state.to_vec::<f32>(), [1.0, 2.0]);
    }
    push(&mut state, &iota(&[3, 2]), &at(1)).expect("a row");
    assert_eq!(state.to_vec::<f32>(), [2.0, 3.0]);
}

#[test]
fn nothing_is_written_when_shapes_do_not_fit() {
    #[compile(fullgraph)]
    fn both(a: &mut Tensor, b: &mut Tensor, x: &Tensor) -> Result<()> {
        *a = &*a + 1.0;
        *b = b.matmul(x);
        Ok(())
    }
    let (mut a, mut b) = (v(&[1.0]), iota(&[2, 2]));
    both(&mut a, &mut b, &iota(&[3, 2])).expect_err("2 columns against 3 rows");
    assert_eq!(a.item::<f32>(), 1.0);
    assert_eq!(b.to_vec::<f32>(), [0.0, 1.0, 2.0, 3.0]);
    both(&mut a, &mut b, &iota(&[2, 2])).expect("a product");
    assert_eq!(a.item::<f32>(), 2.0);
    assert_eq!(b.to_vec::<f32>(), [2.0, 3.0, 6.0, 11.0]);

    #[compile(fullgraph)]
    fn panics(a: &mut Tensor, x: &Tensor) -> Tensor {
        *a = &*a * 2.0;
        a.matmul(x)
    }
    let mut a = iota(&[2, 2]);
    let call = AssertUnwindSafe(|| panics(&mut a, &iota(&[3, 2])));
    assert!(catch_unwind(call).is_err());
    assert_eq!(a.to_vec::<f32>(), [0.0, 1.0, 2.0, 3.0]);
}

#[test]
fn who_holds_the_old_value_keeps_it() {
    #[compile(fullgraph)]
    fn put(cache: &mut Tensor, at: usize, row: &Tensor) {
        *cache = cache.slice_scatter(0, at, row);
    }
    let mut cache = Tensor::zeros((4, 2), DType::F32);
    let mut kept = Vec::new();
    for at in 0..4 {
        if at % 2 == 0 {
            kept.push((cache.clone(), cache.narrow(0, 1, 2), cache.to_vec::<f32>()));
        }
        put(&mut cache, at, &(iota(&[1, 2]) + at as f64 * 2.0));
    }
    assert_eq!(cache.to_vec::<f32>(), iota(&[8]).to_vec::<f32>());
    for (clone, view, values) in kept {
        assert_eq!(clone.to_vec::<f32>(), values);
        assert_eq!(view.to_vec::<f32>(), values[2..6]);
    }
}

#[test]
fn a_state_may_share_its_storage_with_another_argument() {
    #[compile(fullgraph)]
    fn shift(state: &mut Tensor, x: &Tensor) -> Tensor {
        *state = state.slice_scatter(0, 1, &(x.narrow(0, 0, 2) + 1.0));
        &*state - x
    }
    let mut state = iota(&[3]);
    let alias = state.clone();
    let y = shift(&mut state, &alias);
    assert_eq!(state.to_vec::<f32>(), [0.0, 1.0, 2.0]);
    assert_eq!(y.to_vec::<f32>(), [0.0, 0.0, 0.0]);
    assert_eq!(alias.to_vec::<f32>(), [0.0, 1.0, 2.0]);
}

#[test]
fn a_state_may_change_its_shape_and_dtype() {
    #[compile(fullgraph)]
    fn grow(cache: &mut Tensor, x: &Tensor) -> Tensor {
        *cache = Tensor::cat(&[&*cache, x], 1);
        cache.sum(1)
    }
    #[compile(fullgraph)]
    fn collapse(state: &mut Tensor) {
        *state = state.gt(1.0).sum(0);
    }
    let mut cache = Tensor::zeros((2, 0), DType::F32);
    for n in 1..5 {
        let y = grow(&mut cache, &Tensor::ones((2, 1), DType::F32));
        assert_eq!(cache.shape(), [2, n]);
        assert_eq!(y.to_vec::<f32>(), [n as f32; 2]);
    }
    let mut state = iota(&[4, 2]);
    collapse(&mut state);
    assert_eq!(state.to_vec::<i64>(), [3, 3]);
}

#[nested_compile_region]
fn normed(x: &Tensor, mean: &Tensor, var: &Tensor) -> Tensor {
    x.batch_norm_train(mean, var, None, None, 0.1, 1e-5)
}

/// Each region begins with what the one before left.
#[test]
fn a_variable_is_updated_by_several_regions() {
    #[compile(fullgraph)]
    fn twice(x: &Tensor, mean: &Tensor, var: &Tensor) -> Result<Tensor> {
        let y = normed(x, mean, var);
        Ok(normed(&(y + 1.0), mean, var))
    }
    let x = Tensor::arange(0, 24, DType::F32).reshape((2, 3, 4));
    let run = |on: &str| {
        let (mean, var) = (
            Tensor::zeros(3, DType::F32).variable(),
            Tensor::ones(3, DType::F32).variable(),
        );
        let y = with_backend(on, || twice(&x, &mean, &var))
            .expect("it is built in")
            .expect("two updates");
        [y, mean.detach(), var.detach()]
    };
    let plain = disable_capture(|| run("stax"));
    for backend in ["stax", "eager", "eager_debug"] {
        for (got, want) in run(backend).iter().zip(&plain) {
            assert!(got.allclose(want, 1e-5, 1e-6), "{backend}: {got} for {want}");
        }
    }
    let one = Tensor::zeros(3, DType::F32).variable();
    for backend in ["stax", "eager"] {
        let e = with_backend(backend, || twice(&x, &one, &one)).expect("it is built in");
        let e = e.expect_err("one variable cannot be both").to_string();
        assert!(e.contains("one variable is passed twice"), "{backend}: {e}");
    }
    assert_eq!(one.to_vec::<f32>(), [0.0; 3]);
}

#[tensorplay::model]
mod rounds {
    use tensorplay::{compile, nested_compile_region, prelude::*};

    pub struct Norm {
        pub mean: Tensor,
        pub var: Tensor,
    }

    impl Norm {
        #[nested_compile_region]
        fn once(&self, x: &Tensor) -> Tensor {
            x.batch_norm_train(&self.mean, &self.var, None, None, 0.1, 1e-5)
        }

        #[compile(fullgraph)]
        pub fn forward(&self, x: &Tensor) -> Tensor {
            let mut y = x + 1.0;
            for _ in 0..3 {
                y = self.once(&y) + 2.0;
            }
            y
        }
    }
}

#[test]
fn a_variable_is_updated_in_a_loop() {
    let x = Tensor::arange(0, 24, DType::F32).reshape((2, 3, 4));
    let run = || {
        let mean = Tensor::zeros(3, DType::F32).variable();
        let var = Tensor::ones(3, DType::F32).variable();
        let norm = rounds::Norm { mean, var };
        [norm.forward(&x), norm.mean.detach(), norm.var.detach()]
    };
    let plain = disable_capture(run);
    for (got, want) in run().iter().zip(&plain) {
        assert!(got.allclose(want, 1e-5, 1e-6), "{got} for {want}");
    }
}
