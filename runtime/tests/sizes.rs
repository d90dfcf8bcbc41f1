//! Sizes beyond 32 and 64 bits: right results, or errors.
//!
//! Problem: counts of elements and of bytes that overflow are memory errors, and no test can hold that much memory.
//! Method: views with stride 0 have any number of elements; shapes without elements have any other sizes.

use tensorplay_runtime::{DType, Result, Tensor};

/// One element, `shape` times.
fn many(shape: &[i64], dtype: DType) -> Tensor {
    let ones = vec![1i64; shape.len()];
    Tensor::ones(&ones, dtype).expand(shape)
}

fn refused(what: &str, r: Result<Tensor>) {
    match r {
        Err(e) => assert!(!e.to_string().contains("bug"), "{what}: {e}"),
        Ok(t) => panic!("{what}: {:?} of {}", t.shape(), t.dtype()),
    }
}

#[test]
fn bytes_that_overflow_are_refused() {
    // 2^61 elements are a layout; of 8 bytes each they are 0 modulo 2^64
    let x = many(&[1 << 30, 1 << 31], DType::F64);
    let y = many(&[1 << 61], DType::F32);
    let i = many(&[1 << 61], DType::I64);
    refused("add", x.try_add(&x));
    refused("exp", x.try_exp());
    refused("contiguous", x.try_contiguous());
    refused("sum", many(&[1 << 61, 1], DType::F64).try_sum(1));
    refused("cumsum", x.try_cumsum(0));
    refused("flip", x.try_flip(0));
    refused("sort", y.try_sort(0, false).map(|(v, _)| v));
    refused("topk", y.try_topk(1i64 << 60, 0).map(|(v, _)| v));
    refused("gather", y.try_gather(&i, 0));
    refused("index_select", y.try_index_select(&i, 0));
    refused("embedding", Tensor::ones((2, 4), DType::F64).try_embedding(&i));
    refused("one_hot", i.try_one_hot(2));
    refused("to_dtype", many(&[1 << 62], DType::U8).try_to_dtype(DType::F64));
    refused("cat", Tensor::try_cat(&[&x, &x], 0));
    refused("stack", Tensor::try_stack(&[&y, &y], 0));
    refused(
        "matmul",
        many(&[1 << 31, 1], DType::F64).try_matmul(&many(&[1, 1 << 30], DType::F64)),
    );
    refused("softmax", x.try_softmax(0));
    // results that live together
    let half = many(&[1 << 60], DType::F32);
    refused(
        "layer_norm",
        half.try_layer_norm(1, Some(&half), Some(&half), 1e-5),
    );
}
