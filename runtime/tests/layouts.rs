//! Operations on views give the bits of the same operation on a row-major copy.
//!
//! Problem: kernels see dense operands, strides or broadcast axes, by what the planner decides for each operation.
//! Method: a table of calls over small tensors; every operand, alone and with the others, is replaced by views: its axes
//! reversed in memory, every second element of a line, rows amid others, a part of longer lines, and each axis
//! repeated with stride 0. The result must have the bits of the call on copies of the views; in the second table,
//! where floats are added up in the order of memory, the integers of it, and floats up to rounding. Shapes have sizes 0
//! and 1, and rank 0 where the operation takes it.

use tensorplay_runtime::{
    AttentionOptions, Conv1dOptions, Conv2dOptions, ConvTranspose2dOptions, DType, Interpolate, PadMode,
    PoolOptions, Tensor, manual_seed,
};

/// An operand: values of the dtype under test, indices below a number, truth values, or positive values.
enum Is {
    Data(&'static [usize]),
    Index(&'static [usize], i64),
    Mask(&'static [usize]),
    Positive(&'static [usize]),
}
use Is::{Data, Index, Mask, Positive};

impl Is {
    fn tensor(&self, dtype: DType, seed: i64) -> Tensor {
        let (shape, dtype) = match *self {
            Data(s) | Positive(s) => (s, dtype),
            Index(s, _) => (s, DType::I64),
            Mask(s) => (s, DType::Bool),
        };
        let n: usize = shape.iter().product();
        let value = |i: i64| {
            let r = ((i + 1) * 7919 + seed * 104_729) % 1009;
            match *self {
                Data(_) => (r - 500) as f64 * 0.0137,
                Positive(_) => r as f64 * 0.0137 + 0.5,
                Index(_, below) => (r % below) as f64,
                Mask(_) => (r % 3).min(1) as f64,
            }
        };
        let values: Vec<f64> = (0..n as i64).map(value).collect();
        let scale = if dtype.is_int() && matches!(self, Data(_)) {
            9.0
        } else {
            1.0
        };
        (Tensor::from_vec(values, shape) * scale).to_dtype(dtype)
    }
}

/// The elements as bits.
fn bits(x: &Tensor) -> Vec<u64> {
    match x.dtype() {
        DType::F32 => x.to_vec::<f32>().iter().map(|v| v.to_bits().into()).collect(),
        DType::F64 => x.to_vec::<f64>().iter().map(|v| v.to_bits()).collect(),
        DType::F16 => x
            .to_vec::<half::f16>()
            .iter()
            .map(|v| v.to_bits().into())
            .collect(),
        DType::BF16 => x
            .to_vec::<half::bf16>()
            .iter()
            .map(|v| v.to_bits().into())
            .collect(),
        _ => x
            .to_dtype(DType::I64)
            .to_vec::<i64>()
            .iter()
            .map(|&v| v as u64)
            .collect(),
    }
}

/// The values in storage of their own, row-major from offset 0.
fn copy(x: &Tensor) -> Tensor {
    let doubled = Tensor::stack(&[x, x], 0);
    let copy = doubled.select(0, 0);
    assert!(copy.is_contiguous());
    copy
}

/// How an operand lies.
#[derive(Clone, Copy, Debug)]
enum View {
    Reversed,
    Stepped,
    Rows,
    Columns,
    /// That axis from the front or the back has one element, repeated.
    Repeated(usize),
}

/// `x` as a view. Its values are those of `x`, but for `Repeated`.
fn view(x: &Tensor, how: View) -> Tensor {
    let rank = x.rank();
    let other = x.flip(&[0i64; 0][..]);
    match how {
        // a scalar amid others
        _ if rank == 0 => Tensor::stack(&[&other, x, &other], 0).select(0, 1),
        View::Reversed => {
            let back: Vec<usize> = (0..rank).rev().collect();
            copy(&x.permute(&back)).permute(&back)
        }
        View::Stepped => Tensor::stack(&[&other, x], -1)
            .flatten(-2, -1)
            .slice(-1, 1, i64::MAX, 2),
        View::Rows => Tensor::cat(&[&other, x, &other], 0).narrow(0, x.dim(0), x.dim(0)),
        View::Columns => Tensor::cat(&[&other, x, &other], -1).narrow(-1, x.dim(-1), x.dim(-1)),
        View::Repeated(k) => {
            let axis = k % rank;
            let first = x.narrow(axis, 0, x.dim(axis).min(1));
            first.expand(x.shape())
        }
    }
}

const VIEWS: [View; 8] = [
    View::Reversed,
    View::Stepped,
    View::Rows,
    View::Columns,
    View::Repeated(0),
    View::Repeated(1),
    View::Repeated(2),
    View::Repeated(3),
];

/// Whether two results agree: in every bit, or within roundings of the largest value.
fn agree(a: &Tensor, b: &Tensor, exactly: bool) -> bool {
    let epsilon = match a.dtype() {
        DType::F32 => 1e-6,
        DType::F16 => 1e-3,
        DType::BF16 => 8e-3,
        DType::F64 => 1e-14,
        _ => 0.0,
    };
    if exactly || epsilon == 0.0 {
        return bits(a) == bits(b);
    }
    let f64s = |x: &Tensor| x.to_dtype(DType::F64).to_vec::<f64>();
    let (a, b) = (f64s(a), f64s(b));
    let most = b.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    a.iter()
        .zip(&b)
        .all(|(a, b)| (a.is_nan() && b.is_nan()) || (a - b).abs() <= 2.0 * epsilon * most)
}

fn check(name: &str, dtype: DType, exactly: bool, operands: &[Is], f: &dyn Fn(&[Tensor]) -> Vec<Tensor>) {
    let plain: Vec<Tensor> = (1..).zip(operands).map(|(i, o)| o.tensor(dtype, i)).collect();
    for how in VIEWS {
        for only in (0..plain.len()).map(Some).chain([None]) {
            let viewed: Vec<Tensor> = (plain.iter().enumerate())
                .map(|(i, x)| {
                    if only.is_none_or(|o| o == i) {
                        view(x, how)
                    } else {
                        x.clone()
                    }
                })
                .collect();
            let copies: Vec<Tensor> = viewed.iter().map(copy).collect();
            let (got, want) = (f(&viewed), f(&copies));
            for (g, w) in got.iter().zip(&want) {
                let shapes: Vec<_> = plain.iter().map(Tensor::shape).collect();
                assert_eq!(g.shape(), w.shape(), "{name} {dtype} {shapes:?} {how:?}");
                assert!(
                    agree(g, w, exactly),
                    "{name} {dtype} {shapes:?} {how:?} of {only:?}:\n{g}\n{w}"
                );
            }
        }
    }
}

/// Calls on lists of operands, for f32 and another dtype, with the same bits or up to rounding. A call gives one tensor, or several in brackets.
macro_rules! layouts {
    ($exactly:literal; $($name:ident $dtype:ident |$x:ident| $f:expr; $([$($is:expr),*])*)*) => {$(
        #[test]
        fn $name() {
            for dtype in [DType::F32, DType::$dtype] {
                $(check(stringify!($name), dtype, $exactly, &[$($is),*], &|$x: &[Tensor]| Vec::from($f));)*
            }
        }
    )*};
}

layouts! { true;
    cumsum I32 |x| [x[0].cumsum(0), x[0].cumsum(-1)];
        [Data(&[5, 7, 33])] [Data(&[9])] [Data(&[0, 3])] [Data(&[3, 0])] [Data(&[1, 1])] [Data(&[])]
    cumprod BF16 |x| [x[0].cumprod(0), x[0].cumprod(-1)];
        [Data(&[5, 7, 33])] [Data(&[9])] [Data(&[0, 3])] [Data(&[1, 4])] [Data(&[])]
    flip U8 |x| [x[0].flip(0), x[0].flip(-1), x[0].flip(&[0i64; 0][..])];
        [Data(&[3, 5, 33])] [Data(&[0, 3])] [Data(&[3, 0])] [Data(&[1, 4])]
    roll F16 |x| [x[0].roll(2, 0), x[0].roll(-1, -1)];
        [Data(&[3, 5, 33])] [Data(&[0, 3])] [Data(&[3, 1])] [Data(&[])]
    repeat I64 |x| [x[0].repeat((2, 1, 3)), x[0].repeat((1, 0, 2))];
        [Data(&[3, 5, 9])] [Data(&[3, 5])] [Data(&[0, 3])] [Data(&[1])] [Data(&[])]
    tril_triu I32 |x| [x[0].tril(1), x[0].triu(-1)];
        [Data(&[2, 7, 33])] [Data(&[0, 3])] [Data(&[3, 0])] [Data(&[1, 1])]
    pad_constant F64 |x| [x[0].pad(&[1, 2], PadMode::Constant(0.3)), x[0].pad(&[-1, 3], PadMode::default())];
        [Data(&[3, 5, 33])] [Data(&[0, 3])] [Data(&[3, 1])]
    pad_edges I64 |x| [x[0].pad(&[1, 2, 2, 0], PadMode::Reflect), x[0].pad(&[1, 5, 2, 0], PadMode::Replicate)];
        [Data(&[3, 5, 33])] [Data(&[0, 3, 4])]
    index_select F16 |x| [x[0].index_select(&x[1], 0), x[0].index_select(&x[1], -1)];
        [Data(&[4, 5, 4]), Index(&[7], 4)] [Data(&[1, 1]), Index(&[3], 1)] [Data(&[1]), Index(&[], 1)]
        [Data(&[4, 0, 4]), Index(&[2], 4)] [Data(&[4, 4]), Index(&[0], 4)]
    gather U8 |x| [x[0].gather(&x[1], 1)];
        [Data(&[5, 6, 33]), Index(&[4, 9, 20], 6)] [Data(&[3, 1]), Index(&[3, 2], 1)]
        [Data(&[0, 3]), Index(&[0, 2], 3)] [Data(&[3, 3]), Index(&[3, 0], 3)]
    gather_scalar I64 |x| [x[0].gather(&x[1], 0)];
        [Data(&[]), Index(&[], 1)]
    scatter I32 |x| [x[0].scatter(&x[1], &x[2], 1), x[0].scatter_add(&x[1], &x[2], 1)];
        [Data(&[5, 6, 9]), Index(&[4, 8, 9], 6), Data(&[5, 8, 10])] [Data(&[2, 1]), Index(&[1, 3], 1), Data(&[1, 3])]
        [Data(&[0, 3]), Index(&[0, 2], 3), Data(&[0, 2])]
    scatter_lines BF16 |x| [x[0].scatter(&x[1], &x[2], 0), x[0].scatter_add(&x[1], &x[2], 0)];
        [Data(&[40]), Index(&[33], 40), Data(&[33])] [Data(&[]), Index(&[], 1), Data(&[])]
    index_add F16 |x| [x[0].index_add(&x[1], &x[2], 1)];
        [Data(&[3, 6, 9]), Index(&[8], 6), Data(&[3, 8, 9])] [Data(&[2, 1]), Index(&[3], 1), Data(&[2, 3])]
        [Data(&[0, 3]), Index(&[2], 3), Data(&[0, 2])] [Data(&[3, 3]), Index(&[0], 3), Data(&[3, 0])]
    slice_scatter U8 |x| [x[0].slice_scatter(0, 1, &x[1])];
        [Data(&[5, 7, 9]), Data(&[3, 7, 9])] [Data(&[2]), Data(&[1])] [Data(&[3, 4]), Data(&[0, 4])]
        [Data(&[3, 0]), Data(&[2, 0])]
    embedding BF16 |x| [x[0].embedding(&x[1])];
        [Data(&[11, 7]), Index(&[3, 5], 11)] [Data(&[1, 1]), Index(&[], 1)] [Data(&[4, 0]), Index(&[3], 4)]
        [Data(&[4, 3]), Index(&[0, 2], 4)]
    one_hot I64 |x| [x[0].one_hot(5)];
        [Index(&[3, 7], 5)] [Index(&[1, 1], 5)] [Index(&[0, 2], 5)] [Index(&[], 5)]
    topk I32 |x| { let (v, i) = x[0].topk(2, 1); [v, i] };
        [Data(&[4, 33, 5])] [Data(&[3, 2])] [Data(&[0, 3])]
    sort F16 |x| { let ((a, b), (c, d)) = (x[0].sort(0, true), x[0].sort(-1, false)); [a, b, c, d] };
        [Data(&[4, 33, 5])] [Data(&[40])] [Data(&[0, 3])] [Data(&[3, 0])] [Data(&[1, 1])] [Data(&[])]
    conv1d F64 |x| [x[0].conv1d(&x[1], Some(&x[2]), Conv1dOptions::default().stride(2).padding(1))];
        [Data(&[2, 4, 33]), Data(&[6, 4, 3]), Data(&[6])] [Data(&[1, 1, 1]), Data(&[1, 1, 1]), Data(&[1])]
        [Data(&[0, 4, 9]), Data(&[2, 4, 3]), Data(&[2])]
    conv2d BF16 |x| [x[0].conv2d(&x[1], Some(&x[2]), Conv2dOptions::default().padding((1, 2)).dilation((2, 1))),
        x[0].conv2d(&x[1], None, Conv2dOptions::default())];
        [Data(&[2, 3, 9, 17]), Data(&[5, 3, 3, 2]), Data(&[5])] [Data(&[2, 8, 5, 7]), Data(&[4, 8, 1, 1]), Data(&[4])]
        [Data(&[0, 1, 5, 5]), Data(&[1, 1, 1, 1]), Data(&[1])]
    conv2d_groups F16 |x| [x[0].conv2d(&x[1], None, Conv2dOptions::default().groups(4).stride((2, 1)))];
        [Data(&[2, 8, 9, 17]), Data(&[12, 2, 3, 3])] [Data(&[2, 4, 9, 17]), Data(&[4, 1, 3, 3])]
    conv_transpose2d BF16 |x| [x[0].conv_transpose2d(&x[1], Some(&x[2]), ConvTranspose2dOptions::default().stride(2).padding(1))];
        [Data(&[2, 3, 5, 9]), Data(&[3, 4, 3, 2]), Data(&[4])] [Data(&[1, 1, 2, 2]), Data(&[1, 1, 1, 1]), Data(&[1])]
        [Data(&[0, 3, 5, 5]), Data(&[3, 2, 3, 3]), Data(&[2])]
    pool1d F64 |x| { let o = PoolOptions::new(3).stride(2).padding(1); [x[0].max_pool1d(o), x[0].avg_pool1d(o)] };
        [Data(&[3, 5, 33])] [Data(&[2, 1])] [Data(&[0, 5])] [Data(&[7])]
    pool2d F16 |x| { let o = PoolOptions::new((3, 2)).stride((1, 2)).padding(1); [x[0].max_pool2d(o), x[0].avg_pool2d(o)] };
        [Data(&[2, 3, 9, 33])] [Data(&[1, 1])] [Data(&[0, 5, 5])] [Data(&[9, 7])]
    adaptive_avg_pool2d BF16 |x| [x[0].adaptive_avg_pool2d((3, 2)), x[0].adaptive_avg_pool2d(1)];
        [Data(&[2, 3, 9, 33])] [Data(&[1, 1])] [Data(&[0, 5, 5])]
    interpolate F64 |x| [x[0].interpolate((7, 20), Interpolate::Nearest),
        x[0].interpolate((7, 20), Interpolate::Bilinear { align_corners: true }),
        x[0].interpolate((4, 5), Interpolate::Bilinear { align_corners: false })];
        [Data(&[2, 3, 5, 9])] [Data(&[1, 1, 1, 1])] [Data(&[0, 2, 3, 3])]
    attention F16 |x| [x[0].scaled_dot_product_attention(&x[1], &x[2], None, AttentionOptions::default().causal(true)),
        x[0].scaled_dot_product_attention(&x[1], &x[2], Some(&x[3]), AttentionOptions::default().scale(0.3)),
        x[0].scaled_dot_product_attention(&x[1], &x[2], Some(&x[4]), AttentionOptions::default())];
        [Data(&[2, 3, 17, 8]), Data(&[2, 3, 9, 8]), Data(&[2, 3, 9, 5]), Data(&[17, 9]), Mask(&[3, 17, 9])]
        [Data(&[2, 3, 4, 8]), Data(&[3, 9, 8]), Data(&[1, 1, 9, 5]), Data(&[4, 1]), Mask(&[1, 9])]
        [Data(&[1, 1]), Data(&[1, 1]), Data(&[1, 1]), Data(&[1, 1]), Mask(&[1, 1])]
        [Data(&[3, 4]), Data(&[0, 4]), Data(&[0, 5]), Data(&[3, 0]), Mask(&[3, 0])]
        [Data(&[0, 3, 4]), Data(&[0, 2, 4]), Data(&[0, 2, 5]), Data(&[3, 2]), Mask(&[3, 2])]
    batch_norm BF16 |x| [x[0].batch_norm(&x[1], &x[2], Some(&x[3]), Some(&x[3]), 1e-5)];
        [Data(&[4, 5, 33]), Data(&[5]), Positive(&[5]), Data(&[5])] [Data(&[0, 5]), Data(&[5]), Positive(&[5]), Data(&[5])]
        [Data(&[3, 1, 2]), Data(&[1]), Positive(&[1]), Data(&[1])]
    group_norm F16 |x| [x[0].group_norm(3, Some(&x[1]), Some(&x[2]), 1e-5)];
        [Data(&[4, 6, 5, 7]), Data(&[6]), Data(&[6])] [Data(&[2, 3]), Data(&[3]), Data(&[3])] [Data(&[0, 3, 4]), Data(&[3]), Data(&[3])]
    layer_norm BF16 |x| [x[0].layer_norm(1, Some(&x[1]), Some(&x[2]), 1e-5), x[0].rms_norm(&x[1], 1e-5)];
        [Data(&[4, 5, 33]), Data(&[33]), Data(&[33])] [Data(&[7]), Data(&[7]), Data(&[7])] [Data(&[0, 3]), Data(&[3]), Data(&[3])]
        [Data(&[5, 1]), Data(&[1]), Data(&[1])]
    class_losses F64 |x| [x[0].cross_entropy(&x[1]), x[0].nll_loss(&x[1])];
        [Data(&[6, 5, 7]), Index(&[6, 7], 5)] [Data(&[33, 5]), Index(&[33], 5)] [Data(&[1, 1]), Index(&[1], 1)]
        [Data(&[0, 5]), Index(&[0], 5)]
    dropout F16 |x| { manual_seed(7); [x[0].dropout(0.4, true), x[0].dropout(0.4, false)] };
        [Data(&[6, 5, 33])] [Data(&[1, 1])] [Data(&[0, 5])] [Data(&[])]
    softmax F64 |x| [x[0].softmax(0), x[0].log_softmax(-1), x[0].logsumexp(-1)];
        [Data(&[6, 5, 33])] [Data(&[1, 1])] [Data(&[0, 5])] [Data(&[])]
    joins U8 |x| [Tensor::cat(&[&x[0], &x[1]], 0), Tensor::stack(&[&x[0], &x[0]], -1)];
        [Data(&[3, 5, 9]), Data(&[2, 5, 9])] [Data(&[1]), Data(&[0])] [Data(&[0, 3]), Data(&[2, 3])]
    sums I32 |x| [x[0].sum(0), x[0].sum(-1), x[0].max(0), x[0].argmax(-1)];
        [Data(&[6, 5, 33])] [Data(&[1, 1])] [Data(&[40])] [Data(&[])]
}

layouts! { false;
    batch_norm_train F64 |x| {
        let (mean, var) = (x[1].clone().variable(), x[2].clone().variable());
        let y = x[0].batch_norm_train(&mean, &var, Some(&x[3]), Some(&x[3]), 0.1, 1e-5);
        [y, mean.snapshot(), var.snapshot()]
    };
        [Data(&[4, 5, 33]), Data(&[5]), Positive(&[5]), Data(&[5])] [Data(&[3, 1, 2]), Data(&[1]), Positive(&[1]), Data(&[1])]
    losses BF16 |x| [x[0].mse_loss(&x[1]), x[0].l1_loss(&x[1]), x[0].binary_cross_entropy_with_logits(&x[1])];
        [Data(&[6, 5, 33]), Data(&[6, 5, 33])] [Data(&[1, 1]), Data(&[1, 1])] [Data(&[0, 5]), Data(&[0, 5])] [Data(&[]), Data(&[])]
    products F16 |x| [x[0].matmul(&x[1]), x[0].linear(&x[1].transpose(-2, -1), None)];
        [Data(&[17, 33]), Data(&[33, 9])] [Data(&[2, 3, 17, 5]), Data(&[5, 9])] [Data(&[1, 1]), Data(&[1, 1])]
        [Data(&[3, 0]), Data(&[0, 4])] [Data(&[0, 3]), Data(&[3, 4])]
    batched_products I64 |x| [x[0].matmul(&x[1])];
        [Data(&[2, 3, 7, 5]), Data(&[3, 5, 9])] [Data(&[5]), Data(&[2, 5, 9])] [Data(&[4, 3, 5]), Data(&[5])]
        [Data(&[0, 2, 3]), Data(&[3, 4])]
}
