//! Branches on data, which are graph breaks: 11 to 14 and 38. Under `fullgraph` they are compile errors (ui-tests).

use crate::check::v;
use std::panic::catch_unwind;
use tensorplay::{Error, Result, compile, compiler::Explanation, explain, prelude::*};

/// Every break is in this file and one of them names `what`.
fn breaks_at(e: &Explanation, what: &str) {
    assert!(e.breaks.iter().any(|b| b.reason.contains(what)), "{e}");
    for b in &e.breaks {
        assert!(b.file.ends_with("breaks.rs") && b.line > 0, "{b}");
    }
}

#[test]
fn case_11_a_branch_on_all_elements() {
    #[compile]
    fn f(x: &Tensor) -> Tensor {
        if x.gt(0.0).all(0).item::<bool>() {
            x + 1.0
        } else {
            x - 1.0
        }
    }
    for _ in 0..2 {
        assert_eq!(against_body!(f(&v(&[1.0, 2.0]))).to_vec::<f32>(), [2.0, 3.0]);
        assert_eq!(against_body!(f(&v(&[-3.0]))).to_vec::<f32>(), [-4.0]);
        assert_eq!(against_body!(f(&v(&[7.0, 8.0]))).to_vec::<f32>(), [8.0, 9.0]);
        assert_eq!(against_body!(f(&v(&[7.0, -8.0]))).to_vec::<f32>(), [6.0, -9.0]);
    }
    breaks_at(&explain!(f), "item");
}

#[test]
fn case_12_the_same_object_with_another_value() {
    #[compile]
    fn f(x: &Tensor) -> Tensor {
        if x.sum_all().item::<f32>() > 0.0 {
            x * 10.0
        } else {
            x * -1.0
        }
    }
    let x = v(&[1.0, 2.0]).variable();
    for _ in 0..2 {
        x.assign(&v(&[1.0, 2.0]));
        assert_eq!(f(&x).to_vec::<f32>(), [10.0, 20.0]);
        x.assign(&v(&[-1.0, -2.0]));
        assert_eq!(f(&x).to_vec::<f32>(), [1.0, 2.0]);
    }
    breaks_at(&explain!(f), "item");
}

#[test]
fn case_13_numbers_read_from_the_data() {
    #[compile]
    fn branch(x: &Tensor) -> Tensor {
        if x.sum_all().item::<f32>() > 2.0 {
            x * 3.0
        } else {
            x - 1.0
        }
    }
    #[compile]
    fn number(x: &Tensor) -> Tensor {
        let n = x.sum_all().item::<f32>() as i64;
        (x + n) * 1.0
    }
    for (value, branched, numbered) in [(1.0, 0.0, 2.0), (5.0, 15.0, 10.0), (1.0, 0.0, 2.0)] {
        let x = v(&[value]);
        assert_eq!(against_body!(branch(&x)).to_vec::<f32>(), [branched]);
        assert_eq!(against_body!(number(&x)).to_vec::<f32>(), [numbered]);
    }
    breaks_at(&explain!(branch), "item");
    breaks_at(&explain!(number), "item");
}

#[test]
fn case_14_a_size_read_from_the_data() {
    #[compile]
    fn f(x: &Tensor, n: &Tensor) -> Tensor {
        let n = n.item::<i64>();
        (x * 2.0).narrow(0, 0, n).sum(0)
    }
    for (n, right) in [(1i64, 2.0), (3, 12.0), (2, 6.0), (0, 0.0)] {
        let n = Tensor::from_slice(&[n], 1);
        let y = against_body!(f(&v(&[1.0, 2.0, 3.0]), &n));
        assert_eq!(y.item::<f32>(), right);
    }
    breaks_at(&explain!(f), "item");
}

#[test]
fn case_38_an_assertion_on_values() {
    #[compile]
    fn f(x: &Tensor) -> Tensor {
        let y = x * 2.0;
        assert!(y.min_all().item::<f32>() > 0.0, "every value must be positive");
        y + 1.0
    }
    for _ in 0..3 {
        assert_eq!(against_body!(f(&v(&[1.0, 2.0]))).to_vec::<f32>(), [3.0, 5.0]);
        let panic = catch_unwind(|| f(&v(&[1.0, -2.0]))).expect_err("a negative value");
        let text = match panic.downcast_ref::<&str>() {
            Some(text) => text.to_string(),
            None => panic.downcast_ref::<String>().cloned().unwrap_or_default(),
        };
        assert!(text.contains("every value must be positive"), "{text}");
    }
    breaks_at(&explain!(f), "item");
}

#[test]
fn case_38_an_error_on_values() {
    #[compile]
    fn f(x: &Tensor) -> Result<Tensor> {
        let y = x * 2.0;
        if y.min_all().item::<f32>() <= 0.0 {
            return Err(Error::msg("every value must be positive"));
        }
        Ok(y + 1.0)
    }
    for _ in 0..3 {
        let y = f(&v(&[1.0, 2.0])).expect("positive values");
        assert_eq!(y.to_vec::<f32>(), [3.0, 5.0]);
        let e = f(&v(&[1.0, -2.0])).expect_err("a negative value");
        assert!(e.to_string().contains("every value must be positive"), "{e}");
    }
    breaks_at(&explain!(f), "item");
}
