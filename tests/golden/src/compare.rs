//! Results against the oracle's, as this crate's README defines it.

use crate::host::{bits, float};
use crate::{Output, Vectors};
use tensorplay::{DType, Tensor};

/// Compares the results of a call with the vectors; one text for every result that differs.
///
/// # Errors
/// What differs.
pub fn values(vectors: &Vectors, expected: &[Output], got: &[Tensor]) -> Result<(), Vec<String>> {
    if expected.len() != got.len() {
        return Err(vec![format!(
            "{} results, expected {}",
            got.len(),
            expected.len()
        )]);
    }
    let mut problems = Vec::new();
    for (i, (output, x)) in expected.iter().zip(got).enumerate() {
        let right = match vectors.tensor(output.key, output.dtype, output.shape) {
            Ok(right) => right,
            Err(e) => {
                problems.push(e);
                continue;
            }
        };
        if let Err(e) = tensor(x, right, output.rtol, output.atol) {
            problems.push(format!("result {i}: {e}"));
        }
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems)
    }
}

/// Compares one tensor with the right one: dtype, shape, then `|x - y| <= atol + rtol * |y|`; NaN equals NaN,
/// infinities by sign, both tolerances zero means equal bits.
///
/// # Errors
/// What differs, with the first place.
pub fn tensor(x: &Tensor, y: &Tensor, rtol: f64, atol: f64) -> Result<(), String> {
    if x.dtype() != y.dtype() {
        return Err(format!("dtype {}, expected {}", x.dtype(), y.dtype()));
    }
    if x.shape() != y.shape() {
        return Err(format!("shape {:?}, expected {:?}", x.shape(), y.shape()));
    }
    let dtype = y.dtype();
    let (a, b) = (bits(x), bits(y));
    if a.len() != b.len() {
        return Err(format!(
            "{} elements of shape {:?}, expected {}",
            a.len(),
            x.shape(),
            b.len()
        ));
    }
    let wrong: Vec<usize> = (0..b.len())
        .filter(|&i| !element(dtype, a[i], b[i], rtol, atol))
        .collect();
    let Some(&first) = wrong.first() else {
        return Ok(());
    };
    let worst = wrong
        .iter()
        .map(|&i| (float(dtype, a[i]) - float(dtype, b[i])).abs())
        .fold(0.0, f64::max);
    Err(format!(
        "{} of {} elements differ; at {:?} {}, expected {}; largest difference {worst:e}, rtol {rtol:e}, atol {atol:e}",
        wrong.len(),
        b.len(),
        place(first, y.shape()),
        show(dtype, a[first]),
        show(dtype, b[first]),
    ))
}

fn element(dtype: DType, x: u64, y: u64, rtol: f64, atol: f64) -> bool {
    if x == y {
        return true;
    }
    let (p, q) = (float(dtype, x), float(dtype, y));
    if p.is_nan() || q.is_nan() {
        return p.is_nan() && q.is_nan();
    }
    if rtol == 0.0 && atol == 0.0 {
        return false;
    }
    if p.is_infinite() || q.is_infinite() {
        return p == q;
    }
    (p - q).abs() <= atol + rtol * q.abs()
}

/// Integers in full, floats so that they read back as the same bits.
fn show(dtype: DType, bits: u64) -> String {
    match dtype {
        DType::F32 => format!("{:?}", f32::from_bits(bits as u32)),
        DType::Bool => (bits != 0).to_string(),
        d if d.is_int() => (bits as i64).to_string(),
        d => format!("{:?}", float(d, bits)),
    }
}

/// The index of a row-major position.
fn place(mut at: usize, shape: &[usize]) -> Vec<usize> {
    let mut index: Vec<usize> = shape
        .iter()
        .rev()
        .map(|&n| {
            let i = at % n.max(1);
            at /= n.max(1);
            i
        })
        .collect();
    index.reverse();
    index
}

#[cfg(test)]
mod tests {
    use super::*;
    use tensorplay::half::f16;

    fn f32s(v: &[f32]) -> Tensor {
        Tensor::from_slice(v, v.len())
    }

    #[test]
    fn tolerances_are_those_of_the_contract() {
        let y = f32s(&[100.0]);
        assert_eq!(tensor(&f32s(&[100.5]), &y, 0.0, 0.5), Ok(()));
        assert_eq!(tensor(&f32s(&[101.0]), &y, 0.01, 0.0), Ok(()));
        assert_eq!(tensor(&f32s(&[101.5]), &y, 0.01, 0.5), Ok(()));
        assert!(tensor(&f32s(&[101.6]), &y, 0.01, 0.5).is_err());
        // relative to the right value, not to the result
        assert!(tensor(&y, &f32s(&[90.0]), 0.105, 0.0).is_err());
    }

    #[test]
    fn a_wrong_value_is_placed() {
        let y = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], (2, 2));
        let x = Tensor::from_slice(&[1.0f32, 2.0, 3.5, 4.0], (2, 2));
        let e = tensor(&x, &y, 1e-6, 1e-6).unwrap_err();
        assert!(
            e.contains("1 of 4") && e.contains("[1, 0]") && e.contains("3.5"),
            "{e}"
        );
    }

    #[test]
    fn nan_and_infinities() {
        let inf = f32::INFINITY;
        let y = f32s(&[f32::NAN, inf, -inf]);
        assert_eq!(tensor(&y.clone(), &y, 0.0, 0.0), Ok(()));
        assert_eq!(tensor(&f32s(&[-f32::NAN, inf, -inf]), &y, 0.1, 0.1), Ok(()));
        for wrong in [
            [0.0, inf, -inf],
            [f32::NAN, -inf, -inf],
            [f32::NAN, inf, f32::MIN],
            [f32::NAN, f32::NAN, -inf],
        ] {
            assert!(tensor(&f32s(&wrong), &y, 0.5, 0.5).is_err(), "{wrong:?}");
        }
        assert!(tensor(&f32s(&[f32::NAN]), &f32s(&[1.0]), 0.5, 0.5).is_err());
        assert!(tensor(&f32s(&[inf]), &f32s(&[1.0]), 0.5, 0.5).is_err());
    }

    #[test]
    fn zero_tolerances_are_bit_exact() {
        assert_eq!(tensor(&f32s(&[-0.0]), &f32s(&[-0.0]), 0.0, 0.0), Ok(()));
        assert!(tensor(&f32s(&[0.0]), &f32s(&[-0.0]), 0.0, 0.0).is_err());
        assert!(tensor(&f32s(&[1.0 + f32::EPSILON]), &f32s(&[1.0]), 0.0, 0.0).is_err());
        let big = (1i64 << 60, (1i64 << 60) + 1);
        assert!(
            tensor(
                &Tensor::from_slice(&[big.0], 1),
                &Tensor::from_slice(&[big.1], 1),
                0.0,
                0.0
            )
            .is_err()
        );
    }

    #[test]
    fn dtype_and_shape_are_compared() {
        let y = f32s(&[1.0, 2.0]);
        assert!(
            tensor(&Tensor::from_slice(&[1.0f64, 2.0], 2), &y, 1.0, 1.0)
                .unwrap_err()
                .contains("dtype f64")
        );
        assert!(
            tensor(&Tensor::from_slice(&[1.0f32, 2.0], (1, 2)), &y, 1.0, 1.0)
                .unwrap_err()
                .contains("[1, 2]")
        );
    }

    #[test]
    fn half_types_compare_as_numbers() {
        let h = |v: f32| Tensor::from_slice(&[f16::from_f32(v)], 1);
        assert_eq!(tensor(&h(1.001), &h(1.0), 1e-2, 0.0), Ok(()));
        assert!(tensor(&h(1.1), &h(1.0), 1e-2, 0.0).is_err());
    }
}
