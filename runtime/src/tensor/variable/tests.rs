use super::*;
use crate::DType;

fn f(n: usize, v: f32) -> Tensor {
    Tensor::from_vec(vec![v; n], n)
}

/// Adds one to every element.
fn increment(w: &Tensor) -> Result<bool> {
    // SAFETY: the closure writes all of `new` and reads only `old`.
    unsafe {
        w.update(|u| {
            for i in 0..u.bytes / 4 {
                let old = u.old.cast::<f32>().add(i).read();
                u.new.cast::<f32>().add(i).write(old + 1.0);
            }
            Ok(std::ptr::eq(u.old, u.new))
        })
    }
}

#[test]
fn clones_see_new_values_and_snapshots_do_not() {
    let w = f(7, 1.0).requires_grad_(true);
    let (other, before) = (w.clone(), w.detach());
    assert!(w.requires_grad() && !before.requires_grad() && w.grad().is_none());
    w.assign(&f(7, 2.0));
    assert_eq!(other.to_vec::<f32>(), [2.0; 7]);
    assert_eq!(before.to_vec::<f32>(), [1.0; 7]);
    assert_eq!((w.version(), other.version(), before.version()), (1, 1, 0));
    assert!(!other.clone().requires_grad_(false).requires_grad() && !w.requires_grad());
}

#[test]
fn updates_are_in_place_only_when_unshared() {
    let w = f(33, 0.0).variable();
    let id = w.value().storage().id();
    assert!(increment(&w).unwrap());
    assert_eq!((w.value().storage().id(), w.version()), (id, 1));
    let held = w.detach();
    assert!(!increment(&w).unwrap());
    assert_ne!(w.value().storage().id(), id);
    assert_eq!(
        (held.to_vec::<f32>()[0], w.to_vec::<f32>()[0], w.version()),
        (1.0, 2.0, 2)
    );
    let shared = f(33, 5.0);
    w.assign(&shared);
    assert!(!increment(&w).unwrap());
    assert_eq!((shared.to_vec::<f32>()[32], w.to_vec::<f32>()[32]), (5.0, 6.0));
}

#[test]
fn any_layout_becomes_a_variable() {
    let x = Tensor::from_vec((0..6).map(|i| i as f32).collect(), (2, 3));
    let w = x.view_transpose(0, 1).unwrap().variable();
    assert_eq!((w.shape(), w.strides()), (&[3, 2][..], &[2, 1][..]));
    assert_eq!(w.to_vec::<f32>(), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    w.assign(&w.view_reshape(&[2, 3]).unwrap().view_transpose(0, 1).unwrap());
    assert_eq!(w.to_vec::<f32>(), [0.0, 4.0, 3.0, 2.0, 1.0, 5.0]);
    let part = x.view_narrow(0, 1, 1).unwrap().variable();
    assert_eq!(part.to_vec::<f32>(), [3.0, 4.0, 5.0]);
    assert!(increment(&part).unwrap());
    assert_eq!(x.to_vec::<f32>()[3], 3.0);
    assert_eq!(Tensor::from_vec(Vec::<f32>::new(), 0).variable().elem_count(), 0);
}

#[test]
fn a_failed_update_leaves_a_value() {
    let w = f(4, 1.0).variable();
    let held = w.detach();
    // SAFETY: the closures fail.
    let fail = || unsafe { w.update(|_| Err::<(), _>(Error::msg("no"))) };
    assert!(fail().is_err());
    assert_eq!((w.version(), w.to_vec::<f32>()), (0, vec![1.0; 4]));
    drop(held);
    assert!(fail().is_err());
    assert_eq!((w.version(), w.to_vec::<f32>()), (1, vec![1.0; 4]));
    // SAFETY: the closure panics.
    let panics = || unsafe { w.update(|_| -> Result<()> { panic!("kernel") }) };
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
    assert_eq!((w.version(), w.to_vec::<f32>()), (2, vec![1.0; 4]));
    assert!(increment(&w).unwrap());
}

#[test]
fn misuse_is_named() {
    let w = f(4, 1.0).variable();
    let text = |r: Result<()>| r.unwrap_err().to_string();
    assert!(text(f(4, 0.0).try_assign(&w)).contains("not a variable"));
    assert!(text(w.try_assign(&f(3, 0.0))).contains("shape [4], the value [3]"));
    assert!(text(w.try_assign(&Tensor::from_vec(vec![0i32; 4], 4))).contains("holds f32, the value i32"));
    let ints = Tensor::from_vec(vec![1i64], 1);
    assert!(std::panic::catch_unwind(|| ints.requires_grad_(true)).is_err());
    assert!(!f(1, 0.0).requires_grad_(false).is_variable());
}

#[test]
fn threads_share_and_assign_one_variable() {
    let n = 1025;
    let w = f(n, 0.0).variable();
    std::thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| (0..300).for_each(|_| assert!(increment(&w).is_ok())));
            s.spawn(|| (0..300).for_each(|i| w.assign(&f(n, (1000 * i) as f32))));
            s.spawn(|| {
                let mut last = 0;
                for _ in 0..600 {
                    let now = w.value();
                    assert!(now.version() >= last);
                    last = now.version();
                    drop(now);
                    let v = w.to_vec::<f32>();
                    assert!(v.iter().all(|x| *x == v[0]), "a torn value");
                }
            });
        }
    });
    assert_eq!((w.version(), w.dtype()), (1200, DType::F32));
}
