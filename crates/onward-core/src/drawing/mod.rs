//! Drawings of a plan or a run: the graph in text and SVG. Pure: the same graph is always the same drawing.

mod graph;
mod layout;
mod svg;
mod text;

pub use graph::{Drawn, Graph};
pub use layout::LAID_OUT_NODES_MAX;
pub use svg::{svg, svg_list, xml_text};
pub use text::{TextSpan, text};
