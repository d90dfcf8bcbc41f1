//! `to_dot`: a graph for Graphviz.

use super::picture::{Arrow, Cluster, Picture, Shape};
use super::table::put;
use crate::GraphModule;

impl GraphModule {
    /// The graph in Graphviz' language: `dot -Tsvg` draws it. Inputs are ellipses, outputs double, regions clusters;
    /// dashed arrows carry sizes and dtypes, or lead to the region that is called.
    ///
    /// ```
    /// use tensorplay_graph::GraphModule;
    /// let m: GraphModule = "graph f(x: f32[2]) { %1 = exp(%0) return %1 }".parse()?;
    /// let dot = [
    ///     r#"digraph "f" {"#,
    ///     r#"  compound=true;"#,
    ///     r#"  node [shape=box, fontname="monospace"];"#,
    ///     r#"  n0 [label="%0 x\nf32[2]", shape=ellipse, style=filled, fillcolor="lightblue"];"#,
    ///     r#"  n1 [label="%1 = exp(%0)\nf32[2]"];"#,
    ///     r#"  out0 [label="output 0", peripheries=2, style=filled, fillcolor="lightgrey"];"#,
    ///     r#"  n0 -> n1;"#,
    ///     r#"  n1 -> out0;"#,
    ///     "}\n",
    /// ];
    /// assert_eq!(m.to_dot(), dot.join("\n"));
    /// # Ok::<(), tensorplay_graph::ParseError>(())
    /// ```
    pub fn to_dot(&self) -> String {
        let (picture, top) = Picture::of(self);
        let mut out = String::new();
        put(
            &mut out,
            format_args!("digraph {} {{", quoted([self.name.as_str()])),
        );
        put(&mut out, format_args!("  compound=true;"));
        put(
            &mut out,
            format_args!("  node [shape=box, fontname=\"monospace\"];"),
        );
        boxes(&mut out, &picture, &top, 1);
        for arrow in &picture.arrows {
            let ends = (&picture.boxes[arrow.from].id, &picture.boxes[arrow.to].id);
            let look = look(&picture, &top, arrow);
            put(&mut out, format_args!("  {} -> {}{look};", ends.0, ends.1));
        }
        out.push_str("}\n");
        out
    }
}

/// The boxes of a cluster, and those of its regions as clusters in it.
fn boxes(out: &mut String, picture: &Picture, cluster: &Cluster, depth: usize) {
    let pad = "  ".repeat(depth);
    let end = cluster
        .regions
        .first()
        .map_or(cluster.boxes.end, |r| r.boxes.start);
    for b in &picture.boxes[cluster.boxes.start..end] {
        let look = match b.shape {
            Shape::Input => ", shape=ellipse, style=filled, fillcolor=\"lightblue\"",
            Shape::Call => "",
            Shape::Output => ", peripheries=2, style=filled, fillcolor=\"lightgrey\"",
        };
        let label = quoted(b.lines.iter().map(String::as_str));
        put(out, format_args!("{pad}{} [label={label}{look}];", b.id));
    }
    for region in &cluster.regions {
        put(out, format_args!("{pad}subgraph {} {{", cluster_id(region)));
        put(
            out,
            format_args!("{pad}  label={};", quoted([region.title.as_str()])),
        );
        boxes(out, picture, region, depth + 1);
        put(out, format_args!("{pad}}}"));
    }
}

fn look(picture: &Picture, top: &Cluster, arrow: &Arrow) -> String {
    let mut parts = Vec::new();
    if !arrow.label.is_empty() {
        parts.push(format!("label={}", quoted([arrow.label.as_str()])));
    }
    if arrow.dashed {
        parts.push("style=dashed".to_string());
    }
    // an arrow into a region ends at its edge
    if picture.boxes[arrow.from].shape == Shape::Call
        && let Some(region) = innermost(top, arrow.to).filter(|c| !c.boxes.contains(&arrow.from))
    {
        parts.push(format!("lhead={}", cluster_id(region)));
    }
    match parts.is_empty() {
        true => String::new(),
        false => format!(" [{}]", parts.join(", ")),
    }
}

/// The region that a box is directly in.
fn innermost(cluster: &Cluster, at: usize) -> Option<&Cluster> {
    let region = cluster.regions.iter().find(|r| r.boxes.contains(&at))?;
    innermost(region, at).or(Some(region))
}

fn cluster_id(cluster: &Cluster) -> String {
    format!("cluster_{}", cluster.boxes.start)
}

/// A string of the language; lines are centred.
fn quoted<'a>(lines: impl IntoIterator<Item = &'a str>) -> String {
    let escaped = lines.into_iter().map(|line| {
        let mut out = String::new();
        for c in line.chars() {
            match c {
                '"' | '\\' => out.extend(['\\', c]),
                c if c.is_control() => out.push(' '),
                c => out.push(c),
            }
        }
        out
    });
    format!("\"{}\"", escaped.collect::<Vec<_>>().join("\\n"))
}
