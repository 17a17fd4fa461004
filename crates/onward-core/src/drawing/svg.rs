//! A graph as SVG: one document that loads nothing, in light and in dark.

use std::fmt::Write as _;

use super::graph::{Drawn, Graph};
use super::layout::{Placed, Spacing, layout};
use crate::run::PhaseStatus;

const HEIGHT: f64 = 44.0;
const WIDTH_MIN: f64 = 90.0;
const CHAR_WIDTH: f64 = 7.6;
/// Lines keep away from the corners of a box.
const CORNER: f64 = 14.0;
const MARGIN: f64 = 16.0;
const LABEL_CHARS_MAX: usize = 40;
const ROW_HEIGHT: f64 = 30.0;

const STYLE: &str = "\
.g text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#1f2328}\
.g .t{font-size:11px;fill:#59636e}\
.g rect{fill:#f6f8fa;stroke:#818b98;stroke-width:1.5}\
.g path{fill:none;stroke:#818b98;stroke-width:1.5}.g .h{fill:#818b98;stroke:none}\
.g .completed rect{fill:#dafbe1;stroke:#1a7f37}.g .failed rect{fill:#ffebe9;stroke:#cf222e}\
.g .running rect{fill:#ddf4ff;stroke:#0969da}.g .interrupted rect{fill:#ddf4ff;stroke:#0969da;stroke-dasharray:5 3}\
.g .waiting rect{fill:#fff8c5;stroke:#9a6700}.g .skipped rect{stroke-dasharray:3 3}.g .skipped text{fill:#818b98}\
@media (prefers-color-scheme:dark){.g text{fill:#e6edf3}.g .t{fill:#9198a1}.g rect{fill:#161b22;stroke:#656c76}\
.g .completed rect{fill:#12261e;stroke:#3fb950}.g .failed rect{fill:#2d1215;stroke:#f85149}\
.g .running rect,.g .interrupted rect{fill:#0c2d6b;stroke:#4493f8}.g .waiting rect{fill:#272115;stroke:#d29922}}";

/// Text as it stands inside an element or an attribute of XML and HTML.
pub fn xml_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // No document may hold these, however they are written.
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            other if other.is_control() && !matches!(other, '\n' | '\t') => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

/// The graph with boxes and arrows.
pub fn svg(graph: &Graph) -> String {
    let graph = graph.reduced();
    let widths: Vec<f64> = graph.nodes.iter().map(width).collect();
    let spacing = Spacing { height: HEIGHT, between_nodes: 28.0, between_lines: 14.0, between_ranks: 44.0 };
    let laid = layout(&graph, &widths, spacing);
    let xs = || {
        laid.nodes
            .iter()
            .flat_map(|node| [node.x - node.width / 2.0, node.x + node.width / 2.0])
            .chain(laid.arrows.iter().flat_map(|arrow| arrow.points.iter().map(|point| point.0)))
    };
    let ys = || laid.nodes.iter().flat_map(|node| [node.y - HEIGHT / 2.0, node.y + HEIGHT / 2.0]);
    let (left, top) = (least(xs()), least(ys()));
    let place = |(x, y): (f64, f64)| (x - left + MARGIN, y - top + MARGIN);
    let (right, bottom) = place((-least(xs().map(|x| -x)), -least(ys().map(|y| -y))));
    let mut body = String::new();
    for arrow in &laid.arrows {
        let mut points = arrow.points.clone();
        upright(&mut points, &laid.nodes[arrow.from], &laid.nodes[arrow.to]);
        body.push_str(&curve(&points.into_iter().map(place).collect::<Vec<_>>()));
    }
    for (node, at) in graph.nodes.iter().zip(&laid.nodes) {
        let (x, y) = place((at.x - at.width / 2.0, at.y - HEIGHT / 2.0));
        body.push_str(&boxed(node, (x, y), at.width));
    }
    document(right + MARGIN, bottom + MARGIN, &body)
}

/// Phases one below the other: for graphs in which arrows would show nothing.
pub fn svg_list(graph: &Graph) -> String {
    let width = graph.nodes.iter().map(width).fold(WIDTH_MIN, f64::max);
    let mut body = String::new();
    let mut y = MARGIN;
    for node in &graph.nodes {
        let _ = write!(
            body,
            "<g class=\"{}\"><rect x=\"{MARGIN}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{:.1}\" rx=\"5\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\">{}</text><title>{}</title></g>",
            class(node.status),
            ROW_HEIGHT - 6.0,
            MARGIN + 10.0,
            y + 16.0,
            xml_text(&cut(&node.label)),
            title(node),
        );
        y += ROW_HEIGHT;
    }
    document(width + 2.0 * MARGIN, y + MARGIN, &body)
}

fn document(width: f64, height: f64, body: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"g\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\"><style>{STYLE}</style>{body}</svg>\n"
    )
}

fn boxed(node: &Drawn, (x, y): (f64, f64), width: f64) -> String {
    let (label, told) = (xml_text(&cut(&node.label)), xml_text(&cut(&node.told)));
    let middle = x + width / 2.0;
    let (first, second) = if told.is_empty() { (y + 27.0, y) } else { (y + 19.0, y + 35.0) };
    let told = if told.is_empty() {
        String::new()
    } else {
        format!("<text class=\"t\" x=\"{middle:.1}\" y=\"{second:.1}\" text-anchor=\"middle\">{told}</text>")
    };
    format!(
        "<g class=\"{}\"><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{HEIGHT}\" rx=\"6\"/>\
         <text x=\"{middle:.1}\" y=\"{first:.1}\" text-anchor=\"middle\">{label}</text>{told}<title>{}</title></g>",
        class(node.status),
        title(node),
    )
}

/// Lines leave a box at its lower side and enter one at its upper side, whatever their direction.
fn upright(points: &mut [(f64, f64)], from: &Placed, to: &Placed) {
    let [first, .., last] = points else { return };
    let within = |x: f64, of: &Placed| x.clamp(of.x - of.width / 2.0 + CORNER, of.x + of.width / 2.0 - CORNER);
    *first = (within(first.0, from), from.y + HEIGHT / 2.0);
    *last = (within(last.0, to), to.y - HEIGHT / 2.0);
}

/// A line through the points, rounded between them, with a head at its end.
fn curve(points: &[(f64, f64)]) -> String {
    let Some(((x, y), rest)) = points.split_first() else { return String::new() };
    let Some((end, between)) = rest.split_last() else { return String::new() };
    let mut way = format!("M{x:.1} {y:.1}");
    for (at, (x, y)) in between.iter().enumerate() {
        let next = between.get(at + 1).unwrap_or(end);
        let middle = if at + 1 < between.len() { (f64::midpoint(*x, next.0), f64::midpoint(*y, next.1)) } else { *end };
        let _ = write!(way, " Q{x:.1} {y:.1} {:.1} {:.1}", middle.0, middle.1);
    }
    if between.is_empty() {
        let _ = write!(way, " L{:.1} {:.1}", end.0, end.1);
    }
    let (x, y) = *end;
    format!(
        "<path d=\"{way}\"/><path class=\"h\" d=\"M{:.1} {:.1} L{x:.1} {y:.1} L{:.1} {:.1} Z\"/>",
        x - 4.0,
        y - 8.0,
        x + 4.0,
        y - 8.0,
    )
}

fn class(status: PhaseStatus) -> &'static str {
    match status {
        PhaseStatus::Pending => "pending",
        PhaseStatus::Running => "running",
        PhaseStatus::Waiting => "waiting",
        PhaseStatus::Completed => "completed",
        PhaseStatus::Failed => "failed",
        PhaseStatus::Skipped => "skipped",
        PhaseStatus::Interrupted => "interrupted",
    }
}

fn title(node: &Drawn) -> String {
    let told = if node.told.is_empty() { String::new() } else { format!(", {}", node.told) };
    xml_text(&format!("{}: {}{told}", node.label, class(node.status)))
}

fn cut(text: &str) -> String {
    if text.chars().count() <= LABEL_CHARS_MAX {
        return text.to_owned();
    }
    let cut: String = text.chars().take(LABEL_CHARS_MAX - 1).collect();
    format!("{cut}…")
}

fn width(node: &Drawn) -> f64 {
    let chars = |text: &str| cut(text).chars().map(|one| if one.is_ascii() { 1.0 } else { 1.7 }).sum::<f64>();
    (chars(&node.label).max(chars(&node.told) * 0.86) * CHAR_WIDTH + 26.0).max(WIDTH_MIN)
}

fn least(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::INFINITY, f64::min).min(f64::MAX)
}
