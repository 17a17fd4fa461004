//! Places for the phases of a graph: ranks from top to bottom, few crossings. The work is done by dagre, a port of the layout
//! that Mermaid uses.

use dagre::graph::{Graph as DagreGraph, GraphOptions};
use dagre::{EdgeLabel, LayoutOptions, NodeLabel};

use super::graph::Graph;

/// Beyond this the layout takes longer than anybody waits, and nobody sees anything in it.
pub const LAID_OUT_NODES_MAX: usize = 400;

/// The sizes that a layout goes by, in the unit of whoever draws.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spacing {
    pub(super) height: f64,
    pub(super) between_nodes: f64,
    pub(super) between_lines: f64,
    pub(super) between_ranks: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Placed {
    /// Of its middle.
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct PlacedArrow {
    pub(super) from: usize,
    pub(super) to: usize,
    /// From border to border.
    pub(super) points: Vec<(f64, f64)>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Layout {
    pub(super) nodes: Vec<Placed>,
    pub(super) arrows: Vec<PlacedArrow>,
}

/// Lays a graph out, with the width of each node.
pub(super) fn layout(graph: &Graph, widths: &[f64], spacing: Spacing) -> Layout {
    let mut work: DagreGraph<NodeLabel, EdgeLabel> =
        DagreGraph::with_options(GraphOptions { directed: true, multigraph: true, compound: true });
    for (at, width) in widths.iter().enumerate() {
        let label = NodeLabel { width: *width, height: spacing.height, ..NodeLabel::default() };
        work.set_node(at.to_string(), Some(label));
    }
    for (from, to) in &graph.arrows {
        work.set_edge(from.to_string(), to.to_string(), Some(EdgeLabel::default()), None);
    }
    let options = LayoutOptions {
        nodesep: spacing.between_nodes,
        edgesep: spacing.between_lines,
        ranksep: spacing.between_ranks,
        // Of orders with as few crossings the first one is the plan's; the last one is its reverse.
        tie_keep_first: true,
        ..LayoutOptions::default()
    };
    dagre::layout(&mut work, Some(options));
    let place = |(at, width): (usize, &f64)| {
        let node = work.node(&at.to_string());
        let of = |value: Option<f64>| value.unwrap_or_default();
        Placed { x: of(node.and_then(|n| n.x)), y: of(node.and_then(|n| n.y)), width: *width }
    };
    let nodes: Vec<Placed> = widths.iter().enumerate().map(place).collect();
    let arrow = |(from, to): &(usize, usize)| {
        let edge = work.edge(&from.to_string(), &to.to_string(), None);
        let points = edge.map(|edge| edge.points.iter().map(|point| (point.x, point.y)).collect());
        PlacedArrow { from: *from, to: *to, points: points.unwrap_or_default() }
    };
    Layout { arrows: graph.arrows.iter().map(arrow).collect(), nodes }
}
