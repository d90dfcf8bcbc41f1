//! Type promotion, against PyTorch's table (`torch.result_type` of two tensors with dims, and of a tensor and a Python scalar).

use tensorplay_graph::{DType, Scalar};

/// `torch.promote_types`, rows and columns in this order.
const ORDER: [&str; 8] = ["u8", "i32", "i64", "f16", "f32", "f64", "bf16", "bool"];
const TABLE: [[&str; 8]; 8] = [
    // u8     i32    i64    f16    f32    f64    bf16    bool
    ["u8", "i32", "i64", "f16", "f32", "f64", "bf16", "u8"],
    ["i32", "i32", "i64", "f16", "f32", "f64", "bf16", "i32"],
    ["i64", "i64", "i64", "f16", "f32", "f64", "bf16", "i64"],
    ["f16", "f16", "f16", "f16", "f32", "f64", "f32", "f16"],
    ["f32", "f32", "f32", "f32", "f32", "f64", "f32", "f32"],
    ["f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64"],
    ["bf16", "bf16", "bf16", "f32", "f32", "f64", "bf16", "bf16"],
    ["u8", "i32", "i64", "f16", "f32", "f64", "bf16", "bool"],
];

#[test]
fn all_pairs_promote_as_in_pytorch() {
    let mut pairs = 0;
    for (a, row) in ORDER.iter().zip(TABLE) {
        for (b, want) in ORDER.iter().zip(row) {
            let parse = |s: &str| s.parse::<DType>().unwrap();
            assert_eq!(parse(a).promote(parse(b)), parse(want), "{a} with {b}");
            pairs += 1;
        }
    }
    assert_eq!(pairs, 64);
}

#[test]
fn promotion_is_a_join() {
    for a in DType::ALL {
        assert_eq!(a.promote(a), a);
        for b in DType::ALL {
            assert_eq!(a.promote(b), b.promote(a));
            let top = a.promote(b);
            assert_eq!(top.promote(a), top, "{a} {b}");
        }
    }
}

#[test]
fn scalars_never_widen() {
    for d in DType::ALL {
        let float = if d.is_float() { d } else { DType::F32 };
        let int = if d == DType::Bool { DType::I64 } else { d };
        assert_eq!(Scalar::Float(1e300).promote(d), float, "{d}");
        assert_eq!(Scalar::Int(i64::MAX).promote(d), int, "{d}");
        assert_eq!(Scalar::Bool(true).promote(d), d, "{d}");
    }
}

#[test]
fn scalars_convert_as_rust_casts() {
    assert_eq!(Scalar::Float(-2.9).to_i64(), -2);
    assert_eq!(Scalar::Float(1e30).to_i64(), i64::MAX);
    assert_eq!(Scalar::Float(f64::NAN).to_i64(), 0);
    assert_eq!(Scalar::Bool(true).to_f64(), 1.0);
    assert_eq!(Scalar::from(1.5f32), Scalar::Float(1.5));
    assert_eq!(Scalar::from(7i32).to_string(), "7");
    assert_eq!(Scalar::Float(2.0).to_string(), "2.0");
}

#[test]
fn names_parse_back() {
    for d in DType::ALL {
        assert_eq!(d.to_string().parse(), Ok(d));
    }
    assert_eq!(
        "f31".parse::<DType>(),
        Err("unknown dtype `f31`, expected one of f32 f64 f16 bf16 i32 i64 u8 bool".to_string())
    );
}
