//! Drawings of a graph: as a table, for Graphviz, and as an SVG picture.
//!
//! Problem: people look at graphs in a terminal, in a report and in a browser; the text form is for machines as well,
//! and shows neither what an operation's result goes to nor which regions it calls.
//!
//! Method: a table is printed straight from the nodes. DOT and SVG share a [`Picture`](picture::Picture): boxes, arrows
//! and clusters, of which one is written down for Graphviz to lay out, and the other is laid out here.
//!
//! Invariants: equal graphs give equal drawings; any graph can be drawn, a broken one too.

mod dot;
mod picture;
mod svg;
mod table;

pub use svg::DrawError;
