//! Tables, Graphviz and SVG.

use tensorplay_graph::{Builder, DrawError, GraphModule, Op, Value};

fn module(text: &str) -> GraphModule {
    text.parse().unwrap_or_else(|e| panic!("{e}"))
}

fn branches() -> GraphModule {
    module(
        "graph f(p: bool[], \"a \\\"b\\\"\\n<c>\": f32[N]) {
           file \"src/net.rs\" @1:1
           symbols N: 0..
           %2 = cond(%0, [%1], 0, 1) : f32[N] \"h\" @3:5
           %3 = chunk(%2, 2, 0) : f32[_], f32[_]
           %4 = reshape(%3.1, [dim(%1, 0), -1])
           guard dim(%1, 0) > 4
           return %4, %3 into *%1
           region 0 graph yes(x: f32[N]) { symbols N: 0.. %1 = neg(%0) return %1 }
           region 1 graph no(x: f32[N]) { symbols N: 0.. return %0 }
         }",
    )
}

#[test]
fn tables_are_aligned() {
    let table = branches().to_table();
    let want = "\
node          op       args                    type            place
%0 p          input    0                       bool[]
%1 a \"b\" <c>  input    1                       f32[N]
%2 h          cond     %0, [%1], 0, 1          f32[N]          src/net.rs:3:5
%3            chunk    %2, 2, 0                f32[_], f32[_]
%4            reshape  %3.1, [dim(%1, 0), -1]  f32[N, _]

guard: dim(%1, 0) > 4
output 0: %4
output 1: %3, the new value of input 1

region 0 yes
node  op     args  type    place
%0 x  input  0     f32[N]
%1    neg    %0    f32[N]

output 0: %1

region 1 no
node  op     args  type    place
%0 x  input  0     f32[N]

output 0: %0
";
    assert_eq!(table, want);
}

#[test]
fn dot_has_clusters_and_quotes() {
    let dot = branches().to_dot();
    for line in [
        r#"n1 [label="%1 a \"b\" <c>\nf32[N]", shape=ellipse"#,
        r#"n2 [label="%2 = cond(%0, [%1], 0, 1)\nh\nf32[N]\nsrc/net.rs:3:5"];"#,
        r#"out1 [label="output 1\ninto input 1", peripheries=2"#,
        r#"subgraph cluster_7 {"#,
        r#"label="region 0: yes";"#,
        r#"r0_n1 [label="%1 = neg(%0)\nf32[N]"];"#,
        r#"n3 -> n4 [label=".1"];"#,
        r#"n1 -> n4 [style=dashed];"#,
        r#"n2 -> r0_n0 [style=dashed, lhead=cluster_7];"#,
        r#"r1_n0 -> r1_out0;"#,
    ] {
        assert!(dot.contains(line), "{line}\n{dot}");
    }
    // what Graphviz' grammar asks for: balanced quotes and braces
    let quotes = dot.replace("\\\\", "").replace("\\\"", "").matches('"').count();
    assert_eq!(quotes % 2, 0);
    assert_eq!(dot.matches('{').count(), dot.matches('}').count());
    // and a parser of the language takes it
    if let Err(e) = layout::gv::DotParser::new(&dot).process() {
        panic!("{e}\n{dot}");
    }
}

#[test]
fn svg_is_well_formed_and_the_same_each_time() {
    let m = branches();
    let svg = m.to_svg().unwrap();
    assert!(svg.starts_with("<?xml") && svg.ends_with("</svg>"));
    for text in ["&lt;c&gt;", "region 0: yes", "output 1", "stroke-dasharray"] {
        assert!(svg.contains(text), "{text}\n{svg}");
    }
    assert_eq!(svg.matches("<g ").count(), svg.matches("</g>").count());
    assert_eq!(m.to_svg().unwrap(), svg);
    assert!(GraphModule::default().to_svg().unwrap().contains("<svg"));
}

/// Random graphs of some width, to see that the layout takes whatever there is.
#[test]
fn any_graph_is_drawn() {
    let mut state = 11u64;
    let mut next = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % n
    };
    for nodes in [1, 2, 5, 10, 20, 30, 200] {
        let mut b = Builder::new("f");
        let mut values: Vec<Value> = (0..1 + next(3)).map(|_| b.input("x", None)).collect();
        for _ in 0..nodes {
            let from = values.len().saturating_sub(8);
            let (i, j) = (from + next(values.len() - from), next(values.len()));
            let (i, j) = (values[i], values[j]);
            values.push(b.call(Op::Add, vec![i.into(), j.into()]).unwrap());
        }
        b.module.graph.outputs = vec![values[values.len() - 1], values[0], values[0]];
        match b.module.to_svg() {
            Ok(svg) => {
                assert!(svg.contains("output 2"));
                assert_eq!(b.module.to_svg().unwrap(), svg);
            }
            Err(e) => assert!(nodes >= 60, "{e}"),
        }
    }
    let mut b = Builder::new("f");
    let mut v = b.input("x", None);
    for _ in 0..1_000 {
        v = b.call(Op::Exp, vec![v.into()]).unwrap();
    }
    b.module.graph.outputs = vec![v];
    let error = b.module.to_svg().unwrap_err();
    assert_eq!(
        error,
        DrawError::Large {
            boxes: 1002,
            most: 1000
        }
    );
    assert!(error.to_string().contains("extract"));
    assert_eq!(b.module.to_table().lines().count(), 1004);
}
