//! Graphs traced at run time.

use tensorplay_graph::tracer::{Options, TraceArg, TraceFaultKind};
use tensorplay_graph::{DType, Expr, GraphModule, HostType, Op, Proxy, Symbol, TensorType, Tracer, verify};

fn body(m: &GraphModule) -> Vec<String> {
    verify(m).unwrap();
    let text = m.to_string();
    assert_eq!(text.parse::<GraphModule>().unwrap().to_string(), text);
    m.nodes().iter().map(|n| n.to_string()).collect()
}

fn f32s(shape: &[usize]) -> TensorType {
    TensorType::known(DType::F32, shape)
}

#[test]
fn operators_take_proxies_and_scalars_on_both_sides() {
    let m = Tracer::trace(2, |i| {
        let (x, y) = (&i[0], &i[1]);
        let a = (x + y) * 2.0 - 1;
        let b = 1.0 - (a / y.clone());
        let c = 2 / (-b) + 3.0 * x;
        (c.clone() - x * true, -&c + c.dim(0))
    })
    .unwrap();
    assert_eq!(
        body(&m)[2..],
        [
            "add(%0, %1)",
            "mul(%2, 2.0)",
            "sub(%3, 1)",
            "div(%4, %1)",
            "rsub(%5, 1.0)",
            "neg(%6)",
            "rdiv(%7, 2)",
            "mul(%0, 3.0)",
            "add(%8, %9)",
            "mul(%0, true)",
            "sub(%10, %11)",
            "neg(%10)",
            "add(%13, dim(%10, 0))"
        ]
    );
}

#[test]
fn every_kind_of_parameter_has_its_form() {
    let m = Tracer::new("f")
        .symbol(Symbol {
            name: "N".into(),
            lo: 1,
            hi: None,
        })
        .input("x", f32s(&[2, 3, 8, 8]))
        .input("w", f32s(&[4, 3, 3, 3]))
        .input("i", TensorType::known(DType::I64, &[2]))
        .scalar("s", HostType::F32)
        .scalar("n", HostType::Usize)
        .build_with(|t, i| {
            let [x, w, index] = i else { panic!("three inputs") };
            let h = x
                .conv2d(w, None, Options::new().set("padding", 1))
                .max_pool2d(Options::new().set("kernel", 2));
            let h = h
                .layer_norm(1, None, None, 1e-5)
                .sum((2, -1))
                .clamp(0, t.scalar(0));
            let (values, indices) = h.topk(2, 1);
            let pieces = h.chunk(2, 1);
            let joined = Proxy::cat(&[pieces[0].clone(), pieces[1].clone()], 1);
            let q = x.scaled_dot_product_attention(x, x, None, Options::new().with("causal", true));
            vec![
                values,
                indices,
                joined.index_select(index, 0).to_dtype(DType::F16),
                q.pad([1, 1], Options::variant_of("Constant", 0.5)),
                t.zeros([t.scalar(1), x.dim(0)], x.dtype()),
                Proxy::stack(&pieces, 0).expand(&x.sum_keepdim([0, 1])),
                h.where_cond(1.0, &h).one_hot(3).repeat(()),
            ]
        });
    let e = m.unwrap_err();
    assert_eq!(e.faults.len(), 2, "{e}");
    let e = e.to_string();
    assert!(e.contains("expand"), "{e}");
    assert!(
        e.contains("where_cond") && e.contains("graph/tests/tracer.rs"),
        "{e}"
    );
    let m = Tracer::new("f")
        .input("x", f32s(&[2, 3, 8, 8]))
        .scalar("s", HostType::F32)
        .scalar("n", HostType::Usize)
        .build_with(|t, i| {
            let x = &i[0];
            let y = x.reshape((x.dim(0) * t.scalar(1), -1)).permute([1, 0]);
            let p = y.pad([1, 1], Options::variant("Reflect"));
            let sized = t.full(x.shape().unwrap(), t.scalar(0), DType::F32);
            [
                p,
                sized.interpolate([4, 4], Options::variant_of("Bilinear", false)),
            ]
        })
        .unwrap();
    assert_eq!(
        body(&m)[1..],
        [
            "reshape(%0, [dim(%0, 0) * $1, -1])",
            "permute(%1, [1, 0])",
            "pad(%2, [1, 1], Reflect)",
            "full([dim(%0, 0), dim(%0, 1), dim(%0, 2), dim(%0, 3)], $0, f32)",
            "interpolate(%4, [4, 4], Bilinear(false))"
        ]
    );
}

#[test]
fn rules_that_break_are_collected_with_their_lines() {
    let e = Tracer::new("f")
        .input("x", f32s(&[2, 3]))
        .build(|i| {
            let y = i[0].matmul(&i[0]); // line 1
            let z = &y + 1.0;
            z.softmax(5) + i[0].sum(7) // line 3
        })
        .unwrap_err();
    assert_eq!(e.faults.len(), 2, "{e}");
    assert_eq!(e.faults[1].line - e.faults[0].line, 2);
    let TraceFaultKind::Rule(rule) = &e.faults[0].kind else {
        panic!("{e}")
    };
    assert_eq!(rule.op, "matmul");
    assert!(e.faults[0].file.ends_with("tracer.rs"));
    let bad = Tracer::trace(1, |i| {
        i[0].max_pool2d(Options::new().set("kernel", 2).set("strides", 1))
    });
    let text = bad.unwrap_err().to_string();
    assert!(
        text.contains("there is no setting `strides`") && text.contains("kernel, stride, padding"),
        "{text}"
    );
    let bad = Tracer::trace(1, |i| i[0].pad([1, 1], Options::variant("Mirror")));
    assert!(
        bad.unwrap_err()
            .to_string()
            .contains("Constant, Reflect, Replicate")
    );
    let bad = Tracer::trace(1, |i| i[0].max_pool2d(Options::variant("Max")));
    let text = bad.unwrap_err().to_string();
    assert!(text.contains("there is no variant `Max`, but settings"), "{text}");
    let bad = Tracer::trace(1, |i| i[0].pad([1, 1], Options::new().set("mode", 1)));
    let text = bad.unwrap_err().to_string();
    assert!(
        text.contains("there is no setting `mode`, but variants"),
        "{text}"
    );
    let open = Tracer::trace(1, |i| i[0].chunk(5, 0)[4].exp())
        .unwrap_err()
        .to_string();
    assert!(open.contains("how many pieces there are is not known"), "{open}");
    let empty = Tracer::trace(1, |_| Proxy::cat(&[], 0)).unwrap_err().to_string();
    assert!(empty.contains("different traces"), "{empty}");
}

#[test]
fn traces_do_not_mix() {
    let mut kept = None;
    let first = Tracer::trace(1, |i| {
        kept = Some(i[0].exp());
        i[0].clone()
    });
    assert_eq!(first.unwrap().nodes().len(), 2);
    let kept = kept.unwrap();
    let e = Tracer::trace(1, |i| (&i[0] + &kept, kept.clone())).unwrap_err();
    assert_eq!(e.faults.len(), 2, "{e}");
    assert!(
        e.to_string()
            .contains("add: the tensors belong to different traces"),
        "{e}"
    );
    assert!(
        e.to_string()
            .contains("return: the tensors belong to different traces"),
        "{e}"
    );
    // what is left of a trace leads nowhere, without a panic
    assert_eq!(kept.exp().ty(), TensorType::default());
    assert_eq!(kept.ty(), TensorType::default());
    let size = kept.dim(0) + Expr::int(1);
    let e = Tracer::trace(0, |_: &[Proxy]| ()).unwrap();
    assert!(e.nodes().is_empty());
    let e = Tracer::new("f")
        .build_with(|t, _| t.ones([size], DType::F32))
        .unwrap_err();
    assert!(
        e.to_string()
            .contains("ones: the tensors belong to different traces"),
        "{e}"
    );
}

#[test]
fn places_names_and_updates_are_those_of_the_program() {
    let line = line!() + 7;
    let m = Tracer::new("norm")
        .input("x", f32s(&[8, 4]))
        .input("mean", f32s(&[4]))
        .input("var", f32s(&[4]))
        .build(|i| {
            let y = i[0].exp();
            y.batch_norm_train(&i[1], &i[2], None, None, 0.1, 1e-5)
        })
        .unwrap();
    assert_eq!(m.name, "norm");
    assert!(m.file.ends_with("tracer.rs"));
    assert_eq!(m.location(m.graph.outputs[0].node).line, line);
    assert_eq!(m.updates, [1, 2]);
    assert_eq!(m.returned(), 1);
    let text = m.to_string();
    assert!(
        text.contains("into %1") && text.contains(&format!("@{}:", line - 1)),
        "{text}"
    );
    let lost = Tracer::trace(3, |i| {
        let mean = i[1].exp();
        i[0].batch_norm_train(&mean, &i[2], None, None, 0.1, 1e-5)
    });
    assert!(
        lost.unwrap_err()
            .to_string()
            .contains("`running_mean` is no input")
    );
}

#[test]
fn any_operation_can_be_called() {
    let m = Tracer::trace(1, |i| i[0].call(Op::Lerp, [(&i[0]).into(), TraceArg::from(0.5)])).unwrap();
    assert_eq!(body(&m)[1], "lerp(%0, %0, 0.5)");
    let e = Tracer::trace(1, |i| i[0].call(Op::Lerp, [])).unwrap_err();
    assert!(e.to_string().contains("takes 3 arguments, got 1"), "{e}");
    let e = Tracer::trace(1, |i| i[0].call(Op::Cond, [])).unwrap_err();
    assert!(e.to_string().contains("regions and loops are not traced"), "{e}");
}
