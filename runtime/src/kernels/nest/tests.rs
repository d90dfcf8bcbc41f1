//! Kernels written by hand, over many shapes and layouts: emitted strips against the tile VM (bit for bit) and
//! against f64 loops; outputs are poisoned first.

use super::super::par::with_threads;
use super::super::strip::{Strip, strip};
use super::{Code, DType, Nest, Scalar, View};
use crate::strip;
#[allow(unused_imports)]
use half::{bf16, f16};
use tensorplay_graph::Op;
use tensorplay_stax::kernel::*;

strip! {
    /// `(x * w + b).sigmoid()` at nest/tests.rs:1
    fn affine(x: [f32], w: [f32], b: [f32]; scale: f32) -> (y: f32 = out) {
        let half: f32 = 0.5;
        let mul = x * w;
        let add = mul + b;
        let act = add.sigmoid();
        let scaled = act * scale;
        let out = scaled - half;
    }
}
strip! {
    fn softmax_exp(x: [f32], m: f32) -> (e: f32 = out) {
        let d = x - m;
        let out = d.exp();
    }
}
strip! {
    fn softmax_inv(s: [f32]) -> (r: f32 = out) {
        let out = s.reciprocal();
    }
}
strip! {
    fn softmax_scale(e: [f32], r: f32) -> (y: f32 = out) {
        let out = e * r;
    }
}
strip! {
    fn softmax_scale_in_place(r: f32) -> (&mut e: f32 = out) {
        let out = e * r;
    }
}
strip! {
    fn scale_row(s: [f32]; inv: f32) -> (mean: f32 = out) {
        let out = s * inv;
    }
}
strip! {
    fn norm_row(q: [f32]; inv: f32, eps: f32) -> (r: f32 = out) {
        let v = q * inv;
        let e = v + eps;
        let out = e.rsqrt();
    }
}
strip! {
    fn norm(x: [f32], mean: f32, r: f32, w: [f32], b: [f32]) -> (y: f32 = out) {
        let d = x - mean;
        let n = d * r;
        let s = n * w;
        let out = s + b;
    }
}
strip! {
    fn mixed(c: [bool], x: [f16], i: [i64]) -> (h: f16 = out, big: bool = gt, j: i64 = neg) {
        let f = i.to_f32();
        let out = c.where_cond(x, f);
        let gt = x.gt(f);
        let neg = -i;
    }
}

pub(super) static AFFINE: [Strip; 1] = [strip::<affine>()];
pub(super) static SOFTMAX: [Strip; 3] = [
    strip::<softmax_exp>(),
    strip::<softmax_inv>(),
    strip::<softmax_scale>(),
];
static SOFTMAX_IN_PLACE: [Strip; 3] = [
    strip::<softmax_exp>(),
    strip::<softmax_inv>(),
    strip::<softmax_scale_in_place>(),
];
pub(super) static NORM: [Strip; 3] = [strip::<scale_row>(), strip::<norm_row>(), strip::<norm>()];
static MEAN: [Strip; 1] = [strip::<scale_row>()];
static MIXED: [Strip; 1] = [strip::<mixed>()];

fn buffer(name: &str, dtype: DType, space: Space) -> Buffer {
    Buffer {
        name: name.into(),
        dtype,
        space,
    }
}
fn elems(names: &[&str]) -> Vec<Buffer> {
    names.iter().map(|n| buffer(n, DType::F32, Space::Elem)).collect()
}
fn rows(names: &[&str]) -> Vec<Buffer> {
    names.iter().map(|n| buffer(n, DType::F32, Space::Row)).collect()
}

/// A program: inputs `(name, dtype, access)`, params, instructions `(op, args, dtype)`, outputs `(var, dtype)`.
fn program(
    inputs: &[(&str, DType, Access)],
    params: usize,
    insts: &[(LaneOp, &[u16], DType)],
    outputs: &[(u16, DType)],
) -> Program {
    Program {
        name: "p".into(),
        inputs: inputs
            .iter()
            .map(|(n, d, a)| Input {
                name: (*n).into(),
                dtype: *d,
                access: *a,
            })
            .collect(),
        params: (0..params)
            .map(|i| Param {
                name: format!("p{i}"),
                dtype: DType::F32,
            })
            .collect(),
        insts: insts
            .iter()
            .enumerate()
            .map(|(i, (op, args, dtype))| Inst {
                op: *op,
                args: args.iter().map(|a| Var(*a)).collect(),
                dtype: *dtype,
                name: format!("v{i}"),
            })
            .collect(),
        outputs: outputs
            .iter()
            .enumerate()
            .map(|(i, (v, d))| Output {
                value: Var(*v),
                dtype: *d,
                name: format!("o{i}"),
            })
            .collect(),
    }
}

fn kernel(
    operands: Vec<Buffer>,
    outputs: Vec<Buffer>,
    scratch: Vec<Buffer>,
    params: usize,
    steps: Vec<Step>,
) -> Kernel {
    Kernel {
        name: "k".into(),
        source: String::new(),
        operands,
        outputs,
        scratch,
        params: (0..params)
            .map(|i| Param {
                name: format!("p{i}"),
                dtype: DType::F32,
            })
            .collect(),
        steps,
    }
}

const F: DType = DType::F32;
const L: Access = Access::Lanes;
const S: Access = Access::Splat;
fn op(o: Op) -> LaneOp {
    LaneOp::Op(o)
}
fn map(space: Space, inputs: &[Buf], params: &[u16], program: Program, outputs: &[Buf]) -> Step {
    Step::Map(Map {
        space,
        inputs: inputs.to_vec(),
        params: params.to_vec(),
        program,
        outputs: outputs.to_vec(),
    })
}
fn reduce(kind: ReduceKind, src: Buf, dst: Buf) -> Step {
    Step::Reduce(Reduce { kind, src, dst })
}
use Buf::{Operand as In, Output as Out, Scratch as Tmp};

pub(super) fn affine_kernel() -> Kernel {
    let p = program(
        &[("x", F, L), ("w", F, L), ("b", F, L)],
        1,
        &[
            (LaneOp::Const(Scalar::Float(0.5)), &[], F),
            (op(Op::Mul), &[0, 1], F),
            (op(Op::Add), &[5, 2], F),
            (op(Op::Sigmoid), &[6], F),
            (op(Op::Mul), &[7, 3], F),
            (op(Op::Sub), &[8, 4], F),
        ],
        &[(9, F)],
    );
    let step = map(Space::Elem, &[In(0), In(1), In(2)], &[0], p, &[Out(0)]);
    kernel(elems(&["x", "w", "b"]), elems(&["y"]), vec![], 1, vec![step])
}

pub(super) fn softmax_kernel() -> Kernel {
    let exp = program(
        &[("x", F, L), ("m", F, S)],
        0,
        &[(op(Op::Sub), &[0, 1], F), (op(Op::Exp), &[2], F)],
        &[(3, F)],
    );
    let inv = program(&[("s", F, L)], 0, &[(op(Op::Reciprocal), &[0], F)], &[(1, F)]);
    let scale = program(
        &[("e", F, L), ("r", F, S)],
        0,
        &[(op(Op::Mul), &[0, 1], F)],
        &[(2, F)],
    );
    let mut scratch = rows(&["m", "s", "r"]);
    scratch.extend(elems(&["e"]));
    kernel(
        elems(&["x"]),
        elems(&["y"]),
        scratch,
        0,
        vec![
            reduce(ReduceKind::Max, In(0), Tmp(0)),
            map(Space::Elem, &[In(0), Tmp(0)], &[], exp, &[Tmp(3)]),
            reduce(ReduceKind::Sum, Tmp(3), Tmp(1)),
            map(Space::Row, &[Tmp(1)], &[], inv, &[Tmp(2)]),
            map(Space::Elem, &[Tmp(3), Tmp(2)], &[], scale, &[Out(0)]),
        ],
    )
}

/// Softmax whose exponentials wait in the output.
fn softmax_in_place_kernel() -> Kernel {
    let mut k = softmax_kernel();
    k.scratch.truncate(3);
    k.steps.truncate(4);
    let Step::Map(exp) = &mut k.steps[1] else {
        unreachable!("the second step is a map")
    };
    exp.outputs = vec![Out(0)];
    k.steps[2] = reduce(ReduceKind::Sum, Out(0), Tmp(1));
    let scale = program(
        &[("r", F, S), ("e", F, Access::Update)],
        0,
        &[(op(Op::Mul), &[1, 0], F)],
        &[(2, F)],
    );
    k.steps
        .push(map(Space::Elem, &[Tmp(2), Out(0)], &[], scale, &[Out(0)]));
    k
}

fn scale_program() -> Program {
    program(&[("s", F, L)], 1, &[(op(Op::Mul), &[0, 1], F)], &[(2, F)])
}

pub(super) fn norm_kernel() -> Kernel {
    let r = program(
        &[("q", F, L)],
        2,
        &[
            (op(Op::Mul), &[0, 1], F),
            (op(Op::Add), &[3, 2], F),
            (op(Op::Rsqrt), &[4], F),
        ],
        &[(5, F)],
    );
    let n = program(
        &[("x", F, L), ("mean", F, S), ("r", F, S), ("w", F, L), ("b", F, L)],
        0,
        &[
            (op(Op::Sub), &[0, 1], F),
            (op(Op::Mul), &[5, 2], F),
            (op(Op::Mul), &[6, 3], F),
            (op(Op::Add), &[7, 4], F),
        ],
        &[(8, F)],
    );
    kernel(
        elems(&["x", "w", "b"]),
        elems(&["y"]),
        rows(&["sum", "mean", "q", "r"]),
        2,
        vec![
            reduce(ReduceKind::Sum, In(0), Tmp(0)),
            map(Space::Row, &[Tmp(0)], &[0], scale_program(), &[Tmp(1)]),
            reduce(ReduceKind::SumSquares { center: Some(Tmp(1)) }, In(0), Tmp(2)),
            map(Space::Row, &[Tmp(2)], &[0, 1], r, &[Tmp(3)]),
            map(
                Space::Elem,
                &[In(0), Tmp(1), Tmp(3), In(1), In(2)],
                &[],
                n,
                &[Out(0)],
            ),
        ],
    )
}

fn mean_kernel() -> Kernel {
    kernel(
        elems(&["x"]),
        rows(&["mean"]),
        rows(&["sum"]),
        1,
        vec![
            reduce(ReduceKind::Sum, In(0), Tmp(0)),
            map(Space::Row, &[Tmp(0)], &[0], scale_program(), &[Out(0)]),
        ],
    )
}

/// A tensor of f32 in some layout.
#[derive(Clone, Debug)]
struct T {
    data: Vec<f32>,
    offset: usize,
    strides: Vec<isize>,
}

struct Rng(u64);
impl Rng {
    fn next(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

/// A tensor over `shape`: axes in a random memory order, maybe with gaps, reversed or (`broadcast`) repeated.
fn tensor(rng: &mut Rng, shape: &[usize], broadcast: bool, plain: bool) -> T {
    let mut order: Vec<usize> = (0..shape.len()).rev().collect();
    if !plain && rng.next(2) == 0 {
        for i in (1..order.len()).rev() {
            order.swap(i, rng.next(i + 1));
        }
    }
    let mut strides = vec![0; shape.len()];
    let (mut size, mut offset) = (1, 0);
    for &axis in &order {
        if broadcast && rng.next(3) == 0 {
            continue;
        }
        let gap = if !plain && rng.next(4) == 0 { 2 } else { 1 };
        strides[axis] = (size * gap) as isize;
        let extent = shape[axis].max(1);
        size *= extent * gap;
        if !plain && rng.next(6) == 0 {
            offset += strides[axis] as usize * (extent - 1);
            strides[axis] = -strides[axis];
        }
    }
    let data = (0..size + 1)
        .map(|_| rng.next(2001) as f32 * 0.002 - 2.0)
        .collect();
    T {
        data,
        offset,
        strides,
    }
}

impl T {
    fn at(&self, index: &[usize]) -> usize {
        (self.offset as isize
            + index
                .iter()
                .zip(&self.strides)
                .map(|(i, s)| *i as isize * s)
                .sum::<isize>()) as usize
    }
    fn view(&self) -> View {
        View {
            strides: self.strides.iter().copied().collect(),
        }
    }
    fn get(&self, index: &[usize]) -> f64 {
        f64::from(self.data[self.at(index)])
    }
}

fn indices(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> {
    let n: usize = shape.iter().product();
    (0..n).map(move |mut i| {
        let mut index = vec![0; shape.len()];
        for (slot, d) in index.iter_mut().zip(shape).rev() {
            (*slot, i) = (i % d, i / d);
        }
        index
    })
}

/// Runs on emitted code and the VM, on 1 and 2 threads, requires equal bits, and returns the output.
fn run(
    k: &Kernel,
    strips: &[Strip],
    shape: &[usize],
    reduced: usize,
    ins: &[T],
    out: &T,
    params: &[Scalar],
) -> T {
    let views: Vec<View> = ins.iter().map(T::view).collect();
    let mut results: Vec<T> = vec![];
    for (m, s) in k.maps().zip(strips) {
        assert!(s.fits(&m.program), "{}", m.program.name);
    }
    for code in [Code::Emitted(strips), Code::Tile] {
        for threads in [1, 2] {
            let mut out = out.clone();
            out.data.fill(f32::NAN);
            let nest = Nest::bind(k, shape, reduced, &views, &[out.view()]);
            let pointers: Vec<*const u8> = ins.iter().map(|t| t.data[t.offset..].as_ptr().cast()).collect();
            let to = out.data.as_mut_ptr().wrapping_add(out.offset).cast();
            // SAFETY: the layouts were built for the shape, and the output is a tensor of its own.
            with_threads(threads, || unsafe { nest.run(k, code, &pointers, &[to], params) });
            results.push(out);
        }
    }
    let bits = |t: &T| t.data.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    for r in &results[1..] {
        assert!(
            bits(r) == bits(&results[0]),
            "emitted, tile, 1 and 2 threads differ: {shape:?}"
        );
    }
    results.swap_remove(0)
}

fn close(got: f64, want: f64, what: &dyn std::fmt::Debug) {
    assert!(
        (got - want).abs() <= 2e-5 * (1.0 + want.abs()),
        "{got} {want} at {what:?}"
    );
}

const SHAPES: &[&[usize]] = &[
    &[],
    &[0],
    &[1],
    &[7],
    &[33],
    &[64],
    &[1025],
    &[7, 33],
    &[33, 7],
    &[0, 5],
    &[5, 0],
    &[40, 130],
    &[65, 1025],
    &[3, 4, 5],
    &[9, 17, 33],
    &[2, 3, 4, 5],
    &[2, 1, 3, 2, 7],
    &[2, 3, 1, 2, 5, 4],
];

#[test]
fn element_wise_kernels_over_layouts() {
    let (k, mut rng) = (affine_kernel(), Rng(1));
    for round in 0..12 {
        for shape in SHAPES {
            let ins: Vec<T> = (0..3)
                .map(|i| tensor(&mut rng, shape, i > 0 || round % 3 == 0, round == 0))
                .collect();
            let out = tensor(&mut rng, shape, false, round % 2 == 0);
            let got = run(&k, &AFFINE, shape, 0, &ins, &out, &[Scalar::Float(1.5)]);
            for i in indices(shape) {
                let v = ins[0].get(&i) * ins[1].get(&i) + ins[2].get(&i);
                close(got.get(&i), 1.5 / (1.0 + (-v).exp()) - 0.5, &(shape, &i));
            }
        }
    }
}

#[test]
fn softmax_over_layouts_and_axes() {
    let (k, in_place, mut rng) = (softmax_kernel(), softmax_in_place_kernel(), Rng(2));
    for round in 0..8 {
        for shape in SHAPES {
            for reduced in 0..=shape.len().min(2) {
                let (x, out) = (
                    tensor(&mut rng, shape, false, round == 0),
                    tensor(&mut rng, shape, false, round % 2 == 0),
                );
                let (outer, inner) = shape.split_at(shape.len() - reduced);
                let ins = std::slice::from_ref(&x);
                let got = run(&k, &SOFTMAX, shape, reduced, ins, &out, &[]);
                let same = run(&in_place, &SOFTMAX_IN_PLACE, shape, reduced, ins, &out, &[]);
                let bits = |t: &T| t.data.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                assert!(bits(&got) == bits(&same), "in place differs: {shape:?}");
                for o in indices(outer) {
                    let row: Vec<Vec<usize>> = indices(inner).map(|i| [o.clone(), i].concat()).collect();
                    let m = row.iter().map(|i| x.get(i)).fold(f64::NEG_INFINITY, f64::max);
                    let s: f64 = row.iter().map(|i| (x.get(i) - m).exp()).sum();
                    row.iter()
                        .for_each(|i| close(got.get(i), (x.get(i) - m).exp() / s, &(shape, i)));
                }
            }
        }
    }
}

#[test]
fn layer_norm_over_layouts() {
    let (k, mut rng) = (norm_kernel(), Rng(3));
    for round in 0..8 {
        for shape in SHAPES {
            for reduced in 1..=shape.len().min(2) {
                let (outer, inner) = shape.split_at(shape.len() - reduced);
                let n: usize = inner.iter().product();
                let x = tensor(&mut rng, shape, false, round == 0);
                let ins = [
                    x,
                    tensor(&mut rng, shape, true, round == 0),
                    tensor(&mut rng, shape, true, round == 0),
                ];
                let out = tensor(&mut rng, shape, false, round % 2 == 0);
                let inv = 1.0 / n.max(1) as f64;
                let got = run(
                    &k,
                    &NORM,
                    shape,
                    reduced,
                    &ins,
                    &out,
                    &[Scalar::Float(inv), Scalar::Float(0.1)],
                );
                for o in indices(outer) {
                    let row: Vec<Vec<usize>> = indices(inner).map(|i| [o.clone(), i].concat()).collect();
                    let mean = row.iter().map(|i| ins[0].get(i)).sum::<f64>() * inv;
                    let var = row.iter().map(|i| (ins[0].get(i) - mean).powi(2)).sum::<f64>() * inv;
                    for i in &row {
                        let want =
                            (ins[0].get(i) - mean) / (var + 0.1).sqrt() * ins[1].get(i) + ins[2].get(i);
                        close(got.get(i), want, &(shape, i));
                    }
                }
            }
        }
    }
}

/// Rows that make a one-pass variance fail: far from zero, constant, a first vector unlike the rest, not finite.
#[test]
fn layer_norm_of_hard_rows() {
    let (k, mut rng) = (norm_kernel(), Rng(5));
    for n in [1usize, 5, 16, 17, 64, 100, 1024, 4096, 5000] {
        let mut rows: Vec<Vec<f32>> = vec![
            (0..n).map(|_| 2e3 + rng.next(1000) as f32 * 0.25).collect(),
            vec![0.1; n],
            (0..n)
                .map(|i| if i < 16 { 1e4 } else { rng.next(100) as f32 })
                .collect(),
            (0..n).map(|i| i as f32).collect(),
        ];
        let finite = rows.len();
        for bad in [f32::NAN, f32::INFINITY] {
            let mut row = rows[0].clone();
            row[n / 2] = bad;
            rows.push(row);
        }
        let shape = [rows.len(), n];
        let of = |data: Vec<f32>, row: isize| T {
            data,
            offset: 0,
            strides: vec![row, 1],
        };
        let ins = [
            of(rows.concat(), n as isize),
            of(vec![1.0; n], 0),
            of(vec![0.0; n], 0),
        ];
        let out = of(vec![0.0; rows.len() * n], n as isize);
        let inv = 1.0 / n as f64;
        let params = [Scalar::Float(inv), Scalar::Float(1e-5)];
        let got = run(&k, &NORM, &shape, 1, &ins, &out, &params);
        for (r, row) in rows.iter().enumerate() {
            // the kernel's centre is an f32
            let mean = row.iter().map(|v| f64::from(*v)).sum::<f64>() as f32 * inv as f32;
            let d = |v: f32| f64::from(v) - f64::from(mean);
            let var = row.iter().map(|v| d(*v).powi(2)).sum::<f64>() * inv;
            for (i, v) in row.iter().enumerate() {
                let (got, want) = (got.get(&[r, i]), d(*v) / (var + 1e-5).sqrt());
                if r < finite {
                    close(got, want, &(n, r, i));
                } else {
                    assert!(got.is_nan(), "{got} at {:?}", (n, r, i));
                }
            }
        }
    }
}

#[test]
fn means_over_any_axes() {
    let (k, mut rng) = (mean_kernel(), Rng(4));
    let more: &[&[usize]] = &[
        &[33, 300, 2],
        &[64, 5000],
        &[3, 131_077],
        &[40, 140_000],
        &[150_000, 3],
        &[262_144],
    ];
    for round in 0..6 {
        for shape in SHAPES.iter().chain(if round < 2 { more } else { &[] }) {
            for reduced in 1..=shape.len() {
                let x = tensor(&mut rng, shape, round == 5, round == 0);
                let (outer, inner) = shape.split_at(shape.len() - reduced);
                let n: usize = inner.iter().product();
                let out = tensor(&mut rng, outer, false, round % 2 == 0);
                let got = run(
                    &k,
                    &MEAN,
                    shape,
                    reduced,
                    std::slice::from_ref(&x),
                    &out,
                    &[Scalar::Float(1.0 / n as f64)],
                );
                for o in indices(outer) {
                    let sum: f64 = indices(inner).map(|i| x.get(&[o.clone(), i].concat())).sum();
                    if n == 0 {
                        assert!(got.get(&o).is_nan());
                    } else {
                        close(got.get(&o), sum / n as f64, &(shape, reduced, &o));
                    }
                }
            }
        }
    }
}

#[test]
fn mixed_dtypes_and_several_outputs() {
    use half::f16;
    let p = program(
        &[("c", DType::Bool, L), ("x", DType::F16, L), ("i", DType::I64, L)],
        0,
        &[
            (LaneOp::Cast, &[2], F),
            (op(Op::WhereCond), &[0, 1, 3], F),
            (op(Op::Gt), &[1, 3], DType::Bool),
            (op(Op::Neg), &[2], DType::I64),
        ],
        &[(4, DType::F16), (5, DType::Bool), (6, DType::I64)],
    );
    let types = |t: &[DType]| t.iter().map(|d| buffer("t", *d, Space::Elem)).collect::<Vec<_>>();
    let k = kernel(
        types(&[DType::Bool, DType::F16, DType::I64]),
        types(&[DType::F16, DType::Bool, DType::I64]),
        vec![],
        0,
        vec![map(
            Space::Elem,
            &[In(0), In(1), In(2)],
            &[],
            p,
            &[Out(0), Out(1), Out(2)],
        )],
    );
    for n in [0usize, 1, 7, 63, 64, 65, 1025] {
        let c: Vec<bool> = (0..n).map(|i| i % 3 == 0).collect();
        let x: Vec<f16> = (0..n).map(|i| f16::from_f32(i as f32 * 0.37 - 9.0)).collect();
        let ints: Vec<i64> = (0..n as i64).map(|i| i % 17 - 8).collect();
        for code in [Code::Emitted(&MIXED), Code::Tile] {
            let (mut h, mut b, mut j) = (vec![f16::NAN; n], vec![false; n], vec![-99i64; n]);
            let v = View {
                strides: [1].into_iter().collect(),
            };
            let nest = Nest::bind(
                &k,
                &[n],
                0,
                &[v.clone(), v.clone(), v.clone()],
                &[v.clone(), v.clone(), v],
            );
            // SAFETY: contiguous vectors of `n` elements.
            unsafe {
                nest.run(
                    &k,
                    code,
                    &[c.as_ptr().cast(), x.as_ptr().cast(), ints.as_ptr().cast()],
                    &[
                        h.as_mut_ptr().cast(),
                        b.as_mut_ptr().cast(),
                        j.as_mut_ptr().cast(),
                    ],
                    &[],
                );
            }
            for i in 0..n {
                let want = if c[i] { x[i] } else { f16::from_f32(ints[i] as f32) };
                assert_eq!(
                    (h[i], b[i], j[i]),
                    (want, x[i].to_f32() > ints[i] as f32, -ints[i])
                );
            }
        }
    }
}

#[test]
fn a_strip_fits_programs_of_its_operands_only() {
    let k = softmax_kernel();
    let programs: Vec<&Program> = k.maps().map(|m| &m.program).collect();
    for (i, strip) in SOFTMAX.iter().enumerate() {
        let others: Vec<bool> = programs.iter().map(|p| strip.fits(p)).collect();
        // the first and the last read lanes and one value a row
        assert_eq!(
            others,
            [[true, false, true], [false, true, false], [true, false, true]][i]
        );
    }
    let mut wide = programs[0].clone();
    wide.inputs[0].dtype = DType::F64;
    assert!(!SOFTMAX[0].fits(&wide));
    let mut more = programs[0].clone();
    more.outputs.push(more.outputs[0].clone());
    assert!(!SOFTMAX[0].fits(&more));
}
