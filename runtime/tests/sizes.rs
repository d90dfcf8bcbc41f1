//! Sizes beyond 32 and 64 bits: right results, or errors.
//!
//! Problem: counts of elements and of bytes that overflow are memory errors, and no test can hold that much memory.
//! Method: views with stride 0 have any number of elements; shapes without elements have any other sizes; a sparse file
//! of 6 GiB, mapped, has far elements that cost nothing.

use std::io::{Seek, SeekFrom, Write};
use tensorplay_runtime::{
    Conv1dOptions, Conv2dOptions, DType, Interpolate, PadMode, PoolOptions, Result, Tensor,
};

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

#[test]
fn counts_that_overflow_are_refused() {
    let column = many(&[1 << 40, 1], DType::F32);
    let row = many(&[1, 1 << 40], DType::F32);
    refused("broadcast", column.try_add(&row));
    refused("matmul", column.try_matmul(&row));
    refused("expand", column.try_expand((-1, 1i64 << 40)));
    refused("repeat", row.try_repeat((1, 1i64 << 30)));
    refused("repeat more axes", row.try_repeat((1i64 << 40, 1, 1)));
    refused(
        "cat",
        Tensor::try_cat(&[many(&[i64::MAX], DType::U8), many(&[i64::MAX], DType::U8)], 0),
    );
    refused("pad", row.try_pad(&[i64::MAX, 0], PadMode::default()));
    refused("one_hot", Tensor::zeros(3, DType::I64).try_one_hot(i64::MAX));
    refused("zeros", Tensor::try_zeros((1i64 << 32, 1i64 << 32), DType::U8));
    refused("arange", Tensor::try_arange(i64::MIN, i64::MAX, DType::U8));
    refused("eye", Tensor::try_eye(1i64 << 33, DType::U8));
    let image = Tensor::ones((1, 1, 4, 4), DType::F32);
    refused(
        "interpolate",
        image.try_interpolate((1i64 << 40, 1i64 << 40), Interpolate::Nearest),
    );
    let line = Tensor::ones((1, 1, 4), DType::F32);
    for padding in [i64::MAX, 1 << 62] {
        let o = Conv1dOptions::default().padding(padding).stride(padding);
        refused("conv1d", line.try_conv1d(&line, None, o));
        let o = Conv2dOptions::default().padding((0, padding));
        refused("conv2d", image.try_conv2d(&image, None, o));
        refused(
            "conv2d dilation",
            image.try_conv2d(&image, None, Conv2dOptions::default().dilation(padding)),
        );
        refused(
            "max_pool1d",
            line.try_max_pool1d(PoolOptions::new(i64::MAX).padding(padding / 2)),
        );
    }
    let none = Tensor::zeros((1, 1, 0), DType::F32);
    refused(
        "conv1d",
        line.try_conv1d(
            &none,
            None,
            Conv1dOptions::default().dilation(i64::MAX).padding(1),
        ),
    );
}

#[test]
fn shapes_without_elements_have_any_sizes() {
    let (big, x) = (1i64 << 40, Tensor::zeros((0, 3), DType::F32));
    let shaped = |t: Tensor, shape: &[i64]| {
        let got: Vec<i64> = t.shape().iter().map(|&n| n as i64).collect();
        assert_eq!(got, shape);
    };
    shaped(x.repeat((1, big)), &[0, 3 * big]);
    shaped(x.pad(&[big, 0], PadMode::Constant(1.0)), &[0, 3 + big]);
    let wide = x.repeat((1, big));
    shaped(wide.roll(5, 1), &[0, 3 * big]);
    shaped(wide.flip(1), &[0, 3 * big]);
    shaped(wide.exp() + 1.0, &[0, 3 * big]);
    shaped(wide.t().cumsum(0), &[3 * big, 0]);
    shaped(wide.sum(1), &[0]);
    shaped(Tensor::cat(&[&wide, &wide], 1), &[0, 6 * big]);
    shaped(
        Tensor::zeros((big, 1 << 20, 0, 3), DType::F32).matmul(&Tensor::zeros((3, 2), DType::F32)),
        &[big, 1 << 20, 0, 2],
    );
    shaped(
        Tensor::zeros((0, 1, 2, 2), DType::F32).interpolate((big, 4), Interpolate::Nearest),
        &[0, 1, big, 4],
    );
    // a step far outside leaves one row, whose stride is any number
    let one = Tensor::arange(0, 12, DType::F32)
        .reshape((4, 1, 3))
        .slice(1, 0, 1, 1i64 << 61);
    let w = Tensor::ones((3, 2), DType::F32);
    assert_eq!(
        one.matmul(&w).to_vec::<f32>(),
        [3.0, 3.0, 12.0, 12.0, 21.0, 21.0, 30.0, 30.0]
    );
    assert_eq!(
        (&one + 0.0).to_vec::<f32>(),
        Tensor::arange(0, 12, DType::F32).to_vec::<f32>()
    );
}

/// `u8 [3, 2^31 + 8]`: zero, but for the last 8 columns of each row, which hold 10 row + 1, 10 row + 2, ..
fn sparse() -> Tensor {
    let width = (1u64 << 31) + 8;
    let header = format!(
        r#"{{"x":{{"dtype":"U8","shape":[3,{width}],"data_offsets":[0,{}]}}}}"#,
        3 * width
    );
    let path = std::env::temp_dir().join(format!("tensorplay-sparse-{}", std::process::id()));
    let mut file = std::fs::File::create(&path).unwrap();
    file.write_all(&(header.len() as u64).to_le_bytes()).unwrap();
    file.write_all(header.as_bytes()).unwrap();
    let data = 8 + header.len() as u64;
    file.set_len(data + 3 * width).unwrap();
    for row in 0..3u8 {
        file.seek(SeekFrom::Start(data + (u64::from(row) + 1) * width - 8))
            .unwrap();
        file.write_all(&[1, 2, 3, 4, 5, 6, 7, 8].map(|i| 10 * row + i))
            .unwrap();
    }
    drop(file);
    let x = tensorplay_runtime::safetensors::load(&path)
        .unwrap()
        .remove("x")
        .unwrap();
    // the mapping outlives the name
    std::fs::remove_file(path).unwrap();
    x
}

#[test]
#[cfg(all(unix, target_pointer_width = "64"))]
fn far_elements_are_read() {
    let x = sparse();
    let width = x.dim(1);
    let list = |t: Tensor| t.to_vec::<u8>();
    let indices = |l: &[i64]| Tensor::from_slice(l, l.len());
    let far = x.narrow(1, width - 4, 4);
    let columns = [5, 6, 7, 8, 15, 16, 17, 18, 25, 26, 27, 28];
    assert_eq!(list(far.clone()), columns);
    assert_eq!(list(&far + 1), columns.map(|v| v + 1));
    assert_eq!(
        list(&far.t() * 2),
        [10, 30, 50, 12, 32, 52, 14, 34, 54, 16, 36, 56]
    );
    assert_eq!(far.sum(1).to_vec::<i64>(), [26, 66, 106]);
    assert_eq!(far.sum(0).to_vec::<i64>(), [45, 48, 51, 54]);
    assert_eq!(far.cumsum(0).select(0, 2).to_vec::<i64>(), [45, 48, 51, 54]);
    assert_eq!(list(far.flip(0).select(0, 0)), [25, 26, 27, 28]);
    assert_eq!(list(x.select(1, -1)), [8, 18, 28]);
    assert_eq!(
        list(x.slice(1, width - 8, i64::MAX, 3)),
        [1, 4, 7, 11, 14, 17, 21, 24, 27]
    );
    assert_eq!(list(x.slice(1, 7, i64::MAX, 1i64 << 31)), [0, 8, 0, 18, 0, 28]);
    let last = width as i64 - 1;
    assert_eq!(
        list(x.index_select(&indices(&[last, 0, last - 7]), 1)),
        [8, 0, 1, 18, 0, 11, 28, 0, 21]
    );
    let idx = Tensor::from_slice(&[last, last - 1, 0, last], (2, 2));
    assert_eq!(list(x.gather(&idx, 1)), [8, 7, 0, 18]);
    let flat = x.reshape(-1);
    assert_eq!(
        list(flat.index_select(&indices(&[3 * last + 2, 2 * last + 1]), 0)),
        [28, 18]
    );
    assert_eq!(list(flat.narrow(0, 3 * last, 3)), [26, 27, 28]);
    let table = x.reshape((-1, 8));
    assert_eq!(
        list(table.embedding(&indices(&[table.dim(0) as i64 - 1]))),
        [21, 22, 23, 24, 25, 26, 27, 28]
    );
    // rows and batches more than 2^31 elements apart
    let w = Tensor::ones((4, 1), DType::U8);
    assert_eq!(list(far.matmul(&w)), [26, 66, 106]);
    let batched = far.unsqueeze(1);
    assert_eq!(
        list(batched.matmul(&far.t().select(1, 0).reshape((4, 1)))),
        [174, 434u16 as u8, 694u16 as u8]
    );
    assert_eq!(
        list(Tensor::cat(&[far.narrow(1, 3, 1), x.narrow(1, 0, 1)], 1)),
        [8, 0, 18, 0, 28, 0]
    );
}
