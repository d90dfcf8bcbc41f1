//! `to_svg`: a graph as a picture.

use super::picture::{Cluster, Picture, Shape};
use crate::GraphModule;
use layout::backends::svg::SVGWriter;
use layout::core::base::Orientation;
use layout::core::color::Color;
use layout::core::style::{LineStyleKind, StyleAttr};
use layout::std_shapes::render::get_shape_size;
use layout::std_shapes::shapes::{Arrow, Element, ShapeKind};
use layout::topo::layout::VisualGraph;
use std::fmt;

/// The most boxes and bends of arrows that are laid out; the time for it grows with their square, and more.
const MOST: usize = 1_000;
/// Up to so many, crossings are looked for.
const FEW: usize = 200;

/// Why a graph is not drawn.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DrawError {
    /// A graph that is too large to lay out.
    Large {
        /// How many boxes and bends of arrows it has.
        boxes: usize,
        /// How many may be laid out.
        most: usize,
    },
}

impl fmt::Display for DrawError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DrawError::Large { boxes, most } = self;
        write!(
            f,
            "the graph has {boxes} boxes and bends of arrows, of which {most} may be drawn; draw a part (extract), or use to_dot"
        )
    }
}

impl std::error::Error for DrawError {}

impl GraphModule {
    /// The graph as an SVG picture, with the boxes and arrows of [`to_dot`](GraphModule::to_dot). Boxes of regions have
    /// the region's number in front.
    ///
    /// ```
    /// use tensorplay_graph::GraphModule;
    /// let m: GraphModule = "graph f(x: f32[2]) { %1 = exp(%0) return %1 }".parse()?;
    /// let svg = m.to_svg()?;
    /// assert!(svg.contains("<svg") && svg.contains("%1 = exp(%0)"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A graph that is too large to lay out.
    pub fn to_svg(&self) -> Result<String, DrawError> {
        let (picture, top) = Picture::of(self);
        let boxes = picture.boxes.len() + bends(&picture);
        if boxes > MOST {
            return Err(DrawError::Large { boxes, most: MOST });
        }
        let mut writer = SVGWriter::new();
        if boxes > 0 {
            lay_out(&picture, &top).do_it(false, boxes > FEW, false, &mut writer);
        }
        Ok(writer.finalize())
    }
}

/// How many rows the arrows cross without ending there.
fn bends(picture: &Picture) -> usize {
    let mut rows = vec![0usize; picture.boxes.len()];
    // arrows go from a box to a later one, and come in the order of the boxes that they lead to, but for regions
    for arrow in &picture.arrows {
        rows[arrow.to] = rows[arrow.to].max(rows[arrow.from] + 1);
    }
    let bends = picture.arrows.iter();
    bends.map(|a| rows[a.to].saturating_sub(rows[a.from] + 1)).sum()
}

fn lay_out(picture: &Picture, top: &Cluster) -> VisualGraph {
    let mut titles = vec![String::new(); picture.boxes.len()];
    entitle(top, &mut titles);
    let mut graph = VisualGraph::new(Orientation::TopToBottom);
    let mut handles = Vec::new();
    for (b, title) in picture.boxes.iter().zip(titles) {
        let mut lines = b.lines.clone();
        if !title.is_empty() {
            lines.insert(0, title);
        }
        let label = lines.join("\n");
        let (shape, colour) = match b.shape {
            Shape::Input => (ShapeKind::new_circle(&label), "lightblue"),
            Shape::Call => (ShapeKind::new_box(&label), "white"),
            Shape::Output => (ShapeKind::new_box(&label), "lightgray"),
        };
        let look = StyleAttr::new(Color::fast("black"), 1, Some(Color::fast(colour)), 0, FONT);
        let size = get_shape_size(Orientation::TopToBottom, &shape, FONT, false);
        handles.push(graph.add_node(Element::create(shape, look, Orientation::TopToBottom, size)));
    }
    for arrow in &picture.arrows {
        let mut line = Arrow::simple(&arrow.label);
        // one size of type: styles of several come in no fixed order
        line.look.font_size = FONT;
        if arrow.dashed {
            line.line_style = LineStyleKind::Dashed;
        }
        graph.add_edge(line, handles[arrow.from], handles[arrow.to]);
    }
    graph
}

const FONT: usize = 14;

/// Writes for each box which region it is directly in.
fn entitle(cluster: &Cluster, titles: &mut [String]) {
    for region in &cluster.regions {
        titles[region.boxes.clone()].fill(region.title.clone());
        entitle(region, titles);
    }
}
