//! `to_table`: a graph as aligned columns.

use crate::{GraphModule, Node, NodeId, NodeKind};
use std::fmt::Write;

const HEADER: [&str; 5] = ["node", "op", "args", "type", "place"];

impl GraphModule {
    /// The graph as a table: node with its name, operation, arguments, types, place in the source. Guards, outputs and
    /// regions follow.
    ///
    /// ```
    /// use tensorplay_graph::GraphModule;
    /// let m: GraphModule = "graph f(x: f32[2, 3]) { %1 = softmax(%0, 1) \"p\" @3:5 return %1 }".parse()?;
    /// let table = [
    ///     "node  op       args   type       place",
    ///     "%0 x  input    0      f32[2, 3]",
    ///     "%1 p  softmax  %0, 1  f32[2, 3]  3:5",
    ///     "",
    ///     "output 0: %1",
    ///     "",
    /// ];
    /// assert_eq!(m.to_table(), table.join("\n"));
    /// # Ok::<(), tensorplay_graph::ParseError>(())
    /// ```
    pub fn to_table(&self) -> String {
        let mut out = String::new();
        self.write_table(&mut out);
        out
    }

    fn write_table(&self, out: &mut String) {
        let mut rows = vec![HEADER.map(str::to_string)];
        rows.extend(self.graph.ids().map(|id| self.row(id)));
        let mut widths = [0; 5];
        for row in &rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        for row in &rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(widths) {
                let pad = width - cell.chars().count();
                line.push_str(cell);
                line.extend(std::iter::repeat_n(' ', pad + 2));
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out.push('\n');
        for guard in &self.graph.guards {
            put(out, format_args!("guard: {guard}"));
        }
        for (i, v) in self.graph.outputs.iter().enumerate() {
            match self.new_value_of(i) {
                Some(place) => put(out, format_args!("output {i}: {v}, the new value of {place}")),
                None => put(out, format_args!("output {i}: {v}")),
            }
        }
        for (i, region) in self.regions.iter().enumerate() {
            put(out, format_args!("\nregion {i} {}", region.name));
            region.write_table(out);
        }
    }

    fn row(&self, id: NodeId) -> [String; 5] {
        let node = self.graph.node(id);
        let types = node.types.iter().map(|t| t.display(&self.symbols).to_string());
        [
            format!("%{} {}", id.0, one_line(&node.name))
                .trim_end()
                .to_string(),
            node.op_name().to_string(),
            arguments(node),
            types.collect::<Vec<_>>().join(", "),
            self.shown_place(id),
        ]
    }

    /// `src/net.rs:3:5`, or what else is known of a node's place.
    pub(super) fn shown_place(&self, id: NodeId) -> String {
        let node = self.graph.node(id);
        match self.locations.get(node.location as usize) {
            Some(l) if node.location > 0 && l.line > 0 => match self.file_of(l) {
                "" => format!("{}:{}", l.line, l.column),
                file => format!("{file}:{}:{}", l.line, l.column),
            },
            Some(l) if node.location > 0 => one_line(&l.text),
            _ => String::new(),
        }
    }

    /// What an output is the new value of, if it is no result.
    pub(super) fn new_value_of(&self, output: usize) -> Option<String> {
        let k = output.checked_sub(self.returned())?;
        let updates = self.updates.iter().map(|i| format!("input {i}"));
        updates.chain(self.writes.iter().map(|w| w.to_string())).nth(k)
    }
}

/// The arguments as the text form shows them; the number of an input.
pub(super) fn arguments(node: &Node) -> String {
    let text = one_line(&node.to_string());
    let rest = text.strip_prefix(node.op_name()).unwrap_or(&text);
    match node.kind {
        NodeKind::Input(_) => rest.trim().to_string(),
        NodeKind::Call(..) => {
            let inner = rest.strip_prefix('(').and_then(|r| r.strip_suffix(')'));
            inner.unwrap_or(rest).to_string()
        }
    }
}

/// Text without line breaks and other control characters.
pub(super) fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// Adds a line; writing to a string cannot fail.
pub(super) fn put(out: &mut String, line: std::fmt::Arguments<'_>) {
    let _ = writeln!(out, "{line}");
}
