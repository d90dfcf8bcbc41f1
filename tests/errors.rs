//! What calls say that cannot be right: the operation, shapes or dtypes, and what to write, alike as plain code and
//! compiled.

use tensorplay::compiler::{disable_capture, with_backend};
use tensorplay::{Error, Result, compile, prelude::*};

/// The message of a compiled call, which is that of the plain one.
fn message(f: impl Fn() -> Result<Tensor>) -> String {
    let compiled = f().expect_err("the compiled call fails").to_string();
    let plain = disable_capture(f).expect_err("the plain call fails").to_string();
    assert_eq!(compiled, plain);
    compiled
}

fn ones(shape: &[usize]) -> Tensor {
    Tensor::ones(shape, DType::F32)
}

#[test]
fn more_results_are_used_than_there_are() {
    #[compile]
    fn third(x: &Tensor, n: usize) -> Result<Tensor> {
        let parts = x.try_chunk(n, 0)?;
        Ok(parts[2].clone())
    }
    assert_eq!(third(&ones(&[6]), 3).unwrap().shape(), [2]);
    let e = third(&ones(&[4]), 2).unwrap_err();
    assert!(matches!(e, Error::Index(_)));
    let e = e.to_string();
    assert!(e.contains("chunk: result 2 is used, but there are 2"), "{e}");
    assert!(e.contains("help: use the results that there are"), "{e}");
}

#[test]
fn indices_out_of_range() {
    #[compile]
    fn select(x: &Tensor, i: &Tensor) -> Result<Tensor> {
        x.try_index_select(i, 0)
    }
    #[compile]
    fn rows(table: &Tensor, i: &Tensor) -> Result<Tensor> {
        table.try_embedding(i)
    }
    #[compile]
    fn put(x: &Tensor, i: &Tensor, src: &Tensor) -> Result<Tensor> {
        x.try_scatter(i, src, 1)
    }
    #[compile]
    fn loss(x: &Tensor, i: &Tensor) -> Result<Tensor> {
        x.try_cross_entropy(i)
    }
    let at = |i: i64| Tensor::from_slice(&[i], 1);
    let x = ones(&[3, 4]);
    assert_eq!(
        message(|| select(&x, &at(3))),
        "error[TP0015]: index_select: index 3 is out of range for dim 0 of size 3\n  help: indices are 0..=2"
    );
    assert_eq!(
        message(|| rows(&ones(&[20, 2]), &at(23))),
        "error[TP0015]: embedding: index 23 is out of range for 20 rows\n  help: indices are 0..=19"
    );
    assert_eq!(
        message(|| put(&x, &at(-1).reshape((1, 1)), &ones(&[1, 1]))),
        "error[TP0015]: scatter: index -1 is out of range for dim 1 of size 4\n  help: indices are 0..=3"
    );
    let e = message(|| loss(&ones(&[1, 5]), &at(5)));
    assert!(
        e.contains("cross_entropy: index 5 is out of range for dim 1 of size 5"),
        "{e}"
    );
}

#[test]
fn integers_divided_by_zero() {
    #[compile]
    fn divide(a: &Tensor, b: &Tensor) -> Result<Tensor> {
        a.try_floor_div(b)
    }
    #[compile]
    fn rest(a: &Tensor, n: i64) -> Result<Tensor> {
        a.try_remainder(n)
    }
    let a = Tensor::arange(0, 4, DType::I64);
    for e in [message(|| divide(&a, &(&a - 2))), message(|| rest(&a, 0))] {
        assert!(e.contains("integer division by zero"), "{e}");
        assert!(e.contains("help: "), "{e}");
    }
}

#[test]
fn shapes_and_dtypes_that_do_not_fit() {
    #[compile]
    fn conv(x: &Tensor, w: &Tensor) -> Result<Tensor> {
        x.try_conv2d(w, None, Conv2dOptions::default())
    }
    #[compile]
    fn attend(q: &Tensor, k: &Tensor) -> Result<Tensor> {
        q.try_scaled_dot_product_attention(k, k, None, AttentionOptions::default())
    }
    #[compile]
    fn pick(x: &Tensor, i: &Tensor) -> Result<Tensor> {
        x.try_gather(i, 0)
    }
    #[compile]
    fn put(x: &Tensor, src: &Tensor) -> Result<Tensor> {
        x.try_slice_scatter(0, 2, src)
    }
    let e = message(|| conv(&ones(&[1, 3, 8, 8]), &ones(&[4, 2, 3, 3])));
    for part in [
        "conv2d",
        "[1, 3, 8, 8]",
        "[4, 2, 3, 3]",
        "help: the weight is [out, in / groups, ..]",
    ] {
        assert!(e.contains(part), "{e}");
    }
    let e = message(|| conv(&ones(&[1, 3, 8, 8]), &ones(&[4, 3, 9, 3])));
    assert!(e.contains("a window of 9 does not fit an axis of 8"), "{e}");
    let e = message(|| conv(&ones(&[3, 8, 8]), &ones(&[4, 3, 3, 3])));
    assert!(e.contains("a single sample is unsqueeze(0)"), "{e}");
    let e = message(|| conv(&ones(&[1, 3, 8, 8]), &Tensor::ones((4, 3, 3, 3), DType::F64)));
    assert!(e.contains("different dtypes: f32 and f64"), "{e}");
    let e = message(|| attend(&ones(&[2, 5, 8]), &ones(&[2, 7, 6])));
    for part in ["[2, 5, 8]", "[2, 7, 6]", "q and k have one width"] {
        assert!(e.contains(part), "{e}");
    }
    let e = message(|| pick(&ones(&[3]), &ones(&[3])));
    assert!(e.contains("gather: `idx` takes integers, got f32"), "{e}");
    let e = message(|| put(&ones(&[3, 2]), &ones(&[2, 2])));
    assert!(
        e.contains("start 2 with len 2 is outside dim 0 of [3, 2] (size 3)"),
        "{e}"
    );
}

#[test]
fn variables_are_updated_or_the_call_fails() {
    #[compile]
    fn norm(x: &Tensor, mean: &Tensor, var: &Tensor) -> Result<Tensor> {
        x.try_batch_norm_train(mean, var, None, None, 0.1, 1e-5)
    }
    let x = Tensor::arange(0, 12, DType::F32).reshape((3, 2, 2));
    let plain = || (Tensor::zeros(2, DType::F32), Tensor::ones(2, DType::F32));
    let (mean, var) = plain();
    let e = norm(&x, &mean, &var).unwrap_err().to_string();
    assert!(e.contains("is not a variable, so it cannot be updated"), "{e}");
    assert!(e.contains("make it one with variable()"), "{e}");
    let run = || {
        let (mean, var) = plain();
        let (mean, var) = (mean.variable(), var.variable());
        let y = norm(&x, &mean, &var).unwrap();
        assert_eq!((mean.version(), var.version()), (1, 1));
        [y, mean.detach(), var.detach()].map(|t| t.to_vec::<f32>())
    };
    let (compiled, eager) = (run(), disable_capture(run));
    assert_eq!(compiled, eager);
    // channel 0 holds 0 1 4 5 8 9: mean 4.5, unbiased variance 13.1
    assert!((compiled[1][0] - 0.45).abs() < 1e-6 && (compiled[2][0] - (0.9 + 1.31)).abs() < 1e-5);
    let e = norm(&ones(&[1, 2]), &mean.clone().variable(), &var.clone().variable());
    assert!(e.unwrap_err().to_string().contains("has 1 elements a channel"));
}

#[test]
fn a_shape_error_has_the_place_of_its_operation() {
    #[compile]
    fn three(x: &Tensor, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        let h = x.matmul(a).relu();
        Ok(h.matmul(b))
    }
    const LINE: u32 = line!() - 2;
    #[compile(fullgraph)]
    fn fallible(x: &Tensor, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        Ok(region(&x.relu(), a).matmul(b))
    }
    #[tensorplay::nested_compile_region]
    fn region(x: &Tensor, a: &Tensor) -> Tensor {
        x.matmul(a)
    }
    const IN_REGION: u32 = line!() - 2;
    let (x, a, b) = (ones(&[2, 4]), ones(&[4, 4]), ones(&[3, 5]));
    let place = format!("{}:{LINE}: h.matmul(b)", file!());
    let e = three(&x, &a, &b).expect_err("4 is not 3");
    assert_eq!(e.location(), Some(place.as_str()));
    let e = with_backend("eager", || three(&x, &a, &b)).expect("it is built in");
    let e = e.expect_err("4 is not 3");
    assert!(e.to_string().contains("[2, 4] @ rhs [3, 5]"), "{e}");
    assert_eq!(e.location(), Some(place.as_str()));
    let e = fallible(&x, &b, &b).expect_err("4 is not 3");
    let place = format!("{}:{IN_REGION}: x.matmul(a)", file!());
    assert_eq!(e.location(), Some(place.as_str()));
    assert!(!e.to_string().contains("note"), "{e}");
}

/// A region of another file.
#[path = "errors/elsewhere.rs"]
mod elsewhere;

#[tensorplay::model]
mod blocks {
    use tensorplay::{Result, compile, prelude::*};

    pub struct Block {
        pub table: Tensor,
    }

    impl Block {
        pub fn forward(&self, i: &Tensor) -> Tensor {
            self.table.index_select(i, 0).to_dtype(DType::I64)
        }
    }

    pub const IN_BLOCK: u32 = line!() - 4;

    pub struct Net {
        pub blocks: Vec<Block>,
    }

    impl Net {
        #[compile(fullgraph)]
        pub fn forward(&self, i: &Tensor) -> Result<Tensor> {
            let mut i = i.relu();
            for block in &self.blocks {
                i = block.forward(&i);
            }
            Ok(i)
        }
    }
}

/// What is wrong in the data has a place, whatever runs the function.
#[test]
fn a_data_error_has_the_place_of_its_operation() {
    #[compile]
    fn plain(x: &Tensor, i: &Tensor) -> Result<Tensor> {
        let y = (x * 2.0).relu();
        Ok(y.index_select(i, 0).exp())
    }
    const PLAIN: u32 = line!() - 2;
    #[compile]
    fn divided(a: &Tensor, b: &Tensor) -> Result<Tensor> {
        let c = (a + 1).floor_div(b);
        Ok(c * a)
    }
    const DIVIDED: u32 = line!() - 3;
    #[compile]
    fn by_number(a: &Tensor, n: i64) -> Result<Tensor> {
        let b = a + 3;
        Ok((b - a).remainder(n))
    }
    const BY_NUMBER: u32 = line!() - 2;
    #[compile]
    fn by_zero(a: &Tensor) -> Result<Tensor> {
        Ok((a + a).fmod(0))
    }
    const BY_ZERO: u32 = line!() - 2;
    #[compile(fullgraph)]
    fn branch(p: &Tensor, x: &Tensor, i: &Tensor) -> Result<Tensor> {
        let y = tensorplay::cond(
            p,
            || {
                let z = x.exp();
                z.index_select(i, 0)
            },
            || x.relu(),
        );
        Ok(y.square())
    }
    const BRANCH: u32 = line!() - 6;
    #[compile(fullgraph)]
    fn repeated(x: &Tensor, i: &Tensor) -> Result<Tensor> {
        Ok(tensorplay::while_loop(
            x.relu(),
            |x| x.sum_all().lt(100.0),
            |x| x.index_select(i, 0) * 2.0,
        ))
    }
    const REPEATED: u32 = line!() - 3;
    #[compile(fullgraph)]
    fn calls(x: &Tensor, i: &Tensor, j: &Tensor) -> Result<Tensor> {
        let y = region(&x.relu(), i);
        Ok(elsewhere::rows(&y, &j.relu()))
    }
    #[tensorplay::nested_compile_region]
    fn region(x: &Tensor, i: &Tensor) -> Tensor {
        let p = x.sum_all().gt(0.0);
        tensorplay::cond(&p, || x.index_select(i, 0), || x.neg())
    }
    const REGION: u32 = line!() - 2;

    let x = ones(&[3]);
    let at = |i: [i64; 3]| Tensor::from_slice(&i, 3);
    let (good, bad) = (at([0, 1, 2]), at([0, 3, 0]));
    let three = |l: Tensor| l.to_dtype(DType::I64);
    let number = three(ones(&[3]));
    let (yes, no) = (Tensor::from_slice(&[true], ()), Tensor::from_slice(&[false], ()));
    let place = |line: u32, text: &str| format!("{}:{line}: {text}", file!());
    let net = blocks::Net {
        blocks: [3, 4, 2]
            .map(|n| blocks::Block {
                table: Tensor::arange(0, n, DType::I64),
            })
            .into(),
    };
    for backend in ["stax", "eager", "eager_debug"] {
        let run = |f: &dyn Fn() -> Result<Tensor>| with_backend(backend, f).expect("it is built in");
        let fails = |want: &str, f: &dyn Fn() -> Result<Tensor>| {
            let e = run(f).expect_err(want);
            assert_eq!(e.location(), Some(want), "{backend}: {e}");
            assert!(
                !e.to_string().contains("errors.rs") || backend == "eager_debug",
                "{e}"
            );
        };
        run(&|| plain(&x, &good)).expect("these are rows");
        fails(&place(PLAIN, "y.index_select(i, 0)"), &|| plain(&x, &bad));
        fails(&place(DIVIDED, "(a + 1).floor_div(b)"), &|| divided(&bad, &good));
        fails(&place(BY_NUMBER, "(b - a).remainder(n)"), &|| by_number(&good, 0));
        run(&|| by_number(&good, 2)).expect("2 is not 0");
        fails(&place(BY_ZERO, "(a + a).fmod(0)"), &|| by_zero(&good));
        fails(&place(BRANCH, "z.index_select(i, 0)"), &|| branch(&yes, &x, &bad));
        run(&|| branch(&no, &x, &bad)).expect("nobody looks");
        fails(&place(REPEATED, "x.index_select(i, 0)"), &|| repeated(&x, &bad));
        fails(&place(REGION, "x.index_select(i, 0)"), &|| calls(&x, &bad, &good));
        let there = format!("{}:{}: x.index_select(i, 0)", elsewhere::FILE, elsewhere::LINE);
        fails(&there, &|| calls(&x, &good, &bad));
        fails(&place(blocks::IN_BLOCK, "self.table.index_select(i, 0)"), &|| {
            net.forward(&number.mul(2))
        });
        assert!(run(&|| net.forward(&number)).is_ok());
    }
}

/// The places of graphs that were made at run time.
#[test]
fn a_data_error_of_a_graph_has_its_line() {
    let text = "graph f(x: f32[..], i: i64[..]) {
           %2 = exp(%0) @4:2
           %3 = index_select(%2, %1, 0) @5:2
           return %3
         }";
    let graph: tensorplay::graph::GraphModule = text.parse().expect("a graph");
    let inputs = [ones(&[3]), Tensor::from_slice(&[3i64], 1)];
    let e = graph.run(&inputs).expect_err("3 is not a row");
    assert_eq!(e.location(), Some("line 5"));
    let examples: Vec<_> = inputs.iter().map(tensorplay::compiler::Example::of).collect();
    for backend in ["stax", "eager"] {
        let backend = tensorplay::compiler::lookup_backend(backend).expect("it is built in");
        let executable = backend
            .compile(&graph, &examples, &Default::default())
            .expect("a graph");
        let e = executable.run(&inputs).expect_err("3 is not a row");
        assert_eq!(e.location(), Some("line 5"));
    }
}

/// Regions of graphs have places too: those of the graph around them, or their own.
#[test]
fn an_error_in_a_region_of_a_graph_has_its_line() {
    let text = "graph f(p: bool[], x: f32[..], w: f32[..], i: i64[..]) {
           file \"a.rs\"
           %4 = cond(%0, [%1, %2, %3], 0, 1) @3:1
           return %4
           region 0 graph yes(x: f32[..], w: f32[..], i: i64[..]) {
             file \"a.rs\"
             %3 = matmul(%0, %1) @5:1
             %4 = index_select(%3, %2, 0) @6:1
             return %4
           }
           region 1 graph no(x: f32[..], w: f32[..], i: i64[..]) {
             file \"a.rs\"
             %3 = index_select(%0, %2, 0) @9:1
             return %3
           }
         }";
    let graph: tensorplay::graph::GraphModule = text.parse().unwrap_or_else(|e| panic!("{e}"));
    let at = |p: bool, w: usize, i: i64| {
        [
            Tensor::from_slice(&[p], ()),
            ones(&[2, 3]),
            ones(&[w, 3]),
            Tensor::from_slice(&[i], 1),
        ]
    };
    for backend in ["stax", "eager", "eager_debug"] {
        let backend = tensorplay::compiler::lookup_backend(backend).expect("it is built in");
        let run = |inputs: [Tensor; 4]| {
            let examples: Vec<_> = inputs.iter().map(tensorplay::compiler::Example::of).collect();
            backend
                .compile(&graph, &examples, &Default::default())?
                .run(&inputs)
        };
        assert!(run(at(true, 3, 1)).is_ok());
        for (p, line) in [(true, "a.rs:6"), (false, "a.rs:9")] {
            let e = run(at(p, 3, 7)).expect_err("7 is no row");
            assert_eq!(e.location(), Some(line), "{e}");
        }
        let e = run(at(true, 4, 1)).expect_err("3 is not 4");
        assert_eq!(e.location(), Some("a.rs:5"), "{e}");
        assert!(e.to_string().contains("matmul"), "{e}");
    }
}

/// A region that a region calls is named by its own line in the text of `eager_debug`.
#[test]
fn eager_debug_names_the_line_of_a_branch() {
    #[tensorplay::nested_compile_region]
    fn branch(x: &Tensor, i: &Tensor) -> Tensor {
        let p = x.exp().sum_all().gt(0.0);
        tensorplay::cond(&p, || x.index_select(i, 0), || x.neg())
    }
    const LINE: u32 = line!() - 2;
    #[compile(fullgraph)]
    fn far(x: &Tensor, i: &Tensor) -> Result<Tensor> {
        let y = x.relu();
        let z = y.sin().cos().tan();
        Ok(branch(&z, i))
    }
    let (x, i) = (ones(&[3]), Tensor::from_slice(&[3i64, 0, 0], 3));
    let e = with_backend("eager_debug", || far(&x, &i)).expect("it is built in");
    let e = e.expect_err("3 is no row").to_string();
    assert!(
        e.contains(&format!("`index_select` at {}:{LINE}", file!())),
        "{e}"
    );
}

/// A size that no tensor can have is found when the call is bound.
#[test]
fn a_shape_of_too_many_elements_has_its_line() {
    #[compile]
    fn repeated(x: &Tensor, k: usize) -> Result<Tensor> {
        let y = x + 1.0;
        Ok(y.repeat((k, 3)).sum_all())
    }
    let place = format!("{}:{}: y.repeat((k, 3))", file!(), line!() - 2);
    let x = ones(&[1, 2]);
    for backend in ["stax", "eager"] {
        let e = with_backend(backend, || repeated(&x, i64::MAX as usize)).expect("it is built in");
        let e = e.expect_err("more than there is memory");
        assert!(e.to_string().contains("too many elements"), "{e}");
        assert_eq!(e.location(), Some(&place[..]), "{backend}: {e}");
    }
}
