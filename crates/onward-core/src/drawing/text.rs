//! A graph in characters: boxes in ranks, joined by lines that run along tracks between the ranks.
//!
//! All lines from one box leave it at one place and share a track; lines to one box join on their way into it. Where lines only
//! cross, the one that goes down is drawn whole.

use std::collections::{BTreeMap, BTreeSet};

use super::graph::{Drawn, Graph};
use super::layout::{LAID_OUT_NODES_MAX, Layout, Spacing, layout};
use crate::run::PhaseStatus;

/// Labels are cut to the first of these with which the drawing fits.
const LABEL_CHARS_MAX: [usize; 4] = [32, 20, 12, 7];
const BOX_ROWS: usize = 3;
/// A line leaves a box this far beside its middle where it then needs no turn.
const STRAIGHT_COLUMNS_MAX: usize = 2;
/// A line that passes a rank stands aside this far at most.
const ASIDE_COLUMNS_MAX: usize = 10_000;
/// The frame and a space at both sides.
const FRAME_CHARS: usize = 4;

/// A piece of a line, of one colour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextSpan {
    pub text: String,
    /// The phase that the piece belongs to; none for lines between them.
    pub status: Option<PhaseStatus>,
}

/// The drawing as lines; none where it does not fit into so many columns, or has too many phases to be of use.
pub fn text(graph: &Graph, columns_max: usize) -> Option<Vec<Vec<TextSpan>>> {
    if graph.nodes.len() > LAID_OUT_NODES_MAX {
        return None;
    }
    let graph = graph.reduced();
    LABEL_CHARS_MAX.into_iter().find_map(|chars_max| {
        let labels: Vec<String> = graph.nodes.iter().map(|node| labelled(node, chars_max)).collect();
        let drawing = Drawing::new(&graph, &labels);
        (drawing.columns <= columns_max).then(|| drawing.lines())
    })
}

fn sign(status: PhaseStatus) -> char {
    match status {
        PhaseStatus::Pending => '·',
        PhaseStatus::Running | PhaseStatus::Interrupted => '→',
        PhaseStatus::Waiting => '?',
        PhaseStatus::Completed => '✓',
        PhaseStatus::Failed => '✗',
        PhaseStatus::Skipped => '-',
    }
}

fn labelled(node: &Drawn, chars_max: usize) -> String {
    let label = if columns(&node.label) > chars_max {
        let mut cut = String::new();
        for character in node.label.chars() {
            if columns(&cut) + columns_of(character) >= chars_max {
                break;
            }
            cut.push(character);
        }
        format!("{cut}…")
    } else {
        node.label.clone()
    };
    format!("{} {label}", sign(node.status))
}

/// Columns that a text takes on a terminal.
fn columns(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// Wide characters are those of the East Asian blocks, and pictures.
fn columns_of(character: char) -> usize {
    match u32::from(character) {
        0x300..=0x36f | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// One line between two ranks: where it leaves the upper one and enters the lower one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Segment {
    top: usize,
    bottom: usize,
}

/// Lines that leave the upper rank at one place.
#[derive(Clone, Debug, Default)]
struct Bus {
    bottoms: BTreeSet<usize>,
    track: Option<usize>,
}

impl Bus {
    fn ends(&self, top: usize) -> (usize, usize) {
        let all = || self.bottoms.iter().copied().chain([top]);
        (all().min().unwrap_or(top), all().max().unwrap_or(top))
    }
}

struct Drawing<'a> {
    graph: &'a Graph,
    labels: &'a [String],
    columns: usize,
    /// The left end and the rank of each box.
    boxes: Vec<(usize, usize)>,
    ranks: usize,
    /// Lines that pass a rank, by rank.
    passing: Vec<BTreeSet<usize>>,
    /// Where lines leave boxes, and enter them.
    outs: Vec<usize>,
    ins: Vec<usize>,
    gaps: Vec<BTreeMap<usize, Bus>>,
}

impl<'a> Drawing<'a> {
    fn new(graph: &'a Graph, labels: &'a [String]) -> Self {
        let widths: Vec<usize> = labels.iter().map(|label| columns(label) + FRAME_CHARS).collect();
        let sizes: Vec<f64> = widths.iter().map(|width| as_number(*width)).collect();
        let spacing = Spacing { height: 3.0, between_nodes: 3.0, between_lines: 3.0, between_ranks: 8.0 };
        let laid = layout(graph, &sizes, spacing);
        let mut heights: Vec<i64> = laid.nodes.iter().map(|node| whole(node.y)).collect();
        heights.sort_unstable();
        heights.dedup();
        let rank = |y: f64| heights.iter().position(|height| (height - whole(y)).abs() <= 1);
        let least = laid.nodes.iter().map(|node| whole(node.x - node.width / 2.0));
        let left = least.chain(laid.arrows.iter().flat_map(|arrow| &arrow.points).map(|point| whole(point.0))).min();
        let column = |x: f64| usize::try_from(whole(x) - left.unwrap_or_default()).unwrap_or_default();
        let boxes: Vec<(usize, usize)> = laid
            .nodes
            .iter()
            .map(|node| (column(node.x - node.width / 2.0), rank(node.y).unwrap_or_default()))
            .collect();
        let middle = |(at, place): (usize, &(usize, usize))| place.0 + widths[at] / 2;
        let ins: Vec<usize> = boxes.iter().enumerate().map(middle).collect();
        let mut drawing = Self {
            graph,
            labels,
            columns: 0,
            ranks: heights.len(),
            passing: vec![BTreeSet::new(); heights.len()],
            outs: ins.clone(),
            ins,
            gaps: vec![BTreeMap::new(); heights.len()],
            boxes,
        };
        let ways: Vec<Vec<usize>> = drawing.ways(&laid, &rank, &column);
        drawing.part_from_strangers(&ways);
        drawing.join(&ways);
        let right = drawing.boxes.iter().zip(&widths).map(|((left, _), width)| left + width);
        let lines = drawing.passing.iter().flatten().map(|column| column + 1);
        drawing.columns = right.chain(lines).max().unwrap_or_default();
        drawing.gaps.iter_mut().for_each(lay_tracks);
        drawing
    }

    /// For each arrow the column at every rank that it passes between its ends.
    fn ways(
        &mut self,
        laid: &Layout,
        rank: &dyn Fn(f64) -> Option<usize>,
        column: &dyn Fn(f64) -> usize,
    ) -> Vec<Vec<usize>> {
        let mut all = Vec::new();
        for arrow in &laid.arrows {
            let (first, last) = (self.boxes[arrow.from].1, self.boxes[arrow.to].1);
            let mut way = Vec::new();
            for at in first + 1..last {
                let here = arrow.points.iter().find(|point| rank(point.1) == Some(at));
                let wanted = here.map_or(self.ins[arrow.to], |point| column(point.0));
                let free = (0..ASIDE_COLUMNS_MAX)
                    .map(|step| wanted + step)
                    .find(|place| self.is_free(at, *place))
                    .unwrap_or(wanted);
                self.passing[at].insert(free);
                way.push(free);
            }
            all.push(way);
        }
        all
    }

    /// Whether a line may pass a rank there: beside boxes and other lines.
    fn is_free(&self, rank: usize, column: usize) -> bool {
        let inside = |(at, (left, of)): (usize, &(usize, usize))| {
            *of == rank && (*left..left + columns(&self.labels[at]) + FRAME_CHARS).contains(&column)
        };
        !self.boxes.iter().enumerate().any(inside) && !self.passing[rank].contains(&column)
    }

    /// A box whose lines would leave it right above the way into one that they do not lead to has them leave beside it.
    fn part_from_strangers(&mut self, ways: &[Vec<usize>]) {
        for at in 0..self.boxes.len() {
            let (left, rank) = self.boxes[at];
            let right = left + columns(&self.labels[at]) + FRAME_CHARS;
            let mine: BTreeSet<usize> = self
                .graph
                .arrows
                .iter()
                .zip(ways)
                .filter(|((from, _), _)| *from == at)
                .map(|((_, to), way)| way.first().copied().unwrap_or(self.ins[*to]))
                .collect();
            let mut strangers: BTreeSet<usize> = self.passing.get(rank + 1).cloned().unwrap_or_default();
            strangers.extend(
                (0..self.boxes.len()).filter(|other| self.boxes[*other].1 == rank + 1).map(|other| self.ins[other]),
            );
            let is_clear = |column: &usize| mine.contains(column) || !strangers.contains(column);
            let middle = self.outs[at];
            // A line that needs no turn is the best one.
            let straight = mine.iter().copied().filter(|column| column.abs_diff(middle) <= STRAIGHT_COLUMNS_MAX);
            let straight: Vec<usize> = straight.collect();
            let beside = straight.into_iter().chain([middle, middle + 1, middle.saturating_sub(1), middle + 2]);
            let inside = beside.filter(|column| *column > left && column + 1 < right);
            self.outs[at] = inside.clone().find(is_clear).unwrap_or(middle);
        }
    }

    /// Collects the lines of every gap between two ranks.
    fn join(&mut self, ways: &[Vec<usize>]) {
        for ((from, to), way) in self.graph.arrows.iter().zip(ways) {
            let mut top = self.outs[*from];
            for (step, bottom) in way.iter().copied().chain([self.ins[*to]]).enumerate() {
                let Segment { top: at, bottom } = Segment { top, bottom };
                if let Some(gap) = self.gaps.get_mut(self.boxes[*from].1 + step) {
                    gap.entry(at).or_default().bottoms.insert(bottom);
                }
                top = bottom;
            }
        }
    }

    fn lines(&self) -> Vec<Vec<TextSpan>> {
        let mut out = Vec::new();
        for rank in 0..self.ranks {
            out.extend((0..BOX_ROWS).map(|row| self.box_row(rank, row)));
            if rank + 1 < self.ranks {
                out.extend(self.gap_rows(rank));
            }
        }
        out
    }

    fn box_row(&self, rank: usize, row: usize) -> Vec<TextSpan> {
        let mut pieces: BTreeMap<usize, TextSpan> = self.passing[rank]
            .iter()
            .map(|column| (*column, TextSpan { text: "│".to_owned(), status: None }))
            .collect();
        for (at, (left, _)) in self.boxes.iter().enumerate().filter(|(_, place)| place.1 == rank) {
            let inner = columns(&self.labels[at]) + 2;
            let has_line = self.graph.arrows.iter().any(|(from, _)| *from == at);
            let edge = |corners: [char; 2], mark: Option<usize>| {
                let line: String = (1..=inner).map(|step| if mark == Some(left + step) { '┬' } else { '─' }).collect();
                format!("{}{line}{}", corners[0], corners[1])
            };
            let text = match row {
                0 => edge(['┌', '┐'], None),
                1 => format!("│ {} │", self.labels[at]),
                _ => edge(['└', '┘'], has_line.then_some(self.outs[at])),
            };
            pieces.insert(*left, TextSpan { text, status: Some(self.graph.nodes[at].status) });
        }
        laid_out(pieces)
    }

    fn gap_rows(&self, rank: usize) -> Vec<Vec<TextSpan>> {
        let gap = &self.gaps[rank];
        let tracks = gap.values().filter_map(|bus| bus.track).max().map_or(0, |last| last + 1);
        let rows =
            (0..tracks).map(|track| (0..self.columns).map(|column| crossing(gap, track, column)).collect::<String>());
        let into: BTreeSet<usize> =
            (0..self.boxes.len()).filter(|at| self.boxes[*at].1 == rank + 1).map(|at| self.ins[at]).collect();
        let bottoms: BTreeSet<usize> = gap.values().flat_map(|bus| bus.bottoms.iter().copied()).collect();
        let last = (0..self.columns).map(|column| match (bottoms.contains(&column), into.contains(&column)) {
            (true, true) => '▼',
            (true, false) => '│',
            (false, _) => ' ',
        });
        let all = rows.chain([last.collect::<String>()]);
        all.map(|text| vec![TextSpan { text: text.trim_end().to_owned(), status: None }]).collect()
    }
}

/// The character where a track of a gap meets a column.
fn crossing(gap: &BTreeMap<usize, Bus>, track: usize, column: usize) -> char {
    // From above comes what leaves there and has not turned yet, and what has turned into this column before.
    let from_top = gap.get(&column).is_some_and(|bus| bus.track.is_none_or(|own| own > track));
    let turned = gap.iter().filter(|(_, bus)| bus.bottoms.contains(&column));
    let joined_above = turned.clone().any(|(_, bus)| bus.track.is_none_or(|own| own < track));
    let here = gap.iter().filter(|(top, bus)| {
        let (left, right) = bus.ends(**top);
        bus.track == Some(track) && (left..=right).contains(&column)
    });
    let here: Vec<(usize, &Bus)> = here.map(|(top, bus)| (*top, bus)).collect();
    let up_of_mine = here.iter().any(|(top, _)| *top == column);
    let down = here.iter().any(|(_, bus)| bus.bottoms.contains(&column));
    let to_the_left = here.iter().any(|(top, bus)| bus.ends(*top).0 < column);
    let to_the_right = here.iter().any(|(top, bus)| bus.ends(*top).1 > column);
    if !up_of_mine && !down {
        return match (from_top || joined_above, here.is_empty()) {
            (true, _) => '│',
            (false, true) => ' ',
            (false, false) => '─',
        };
    }
    let up = up_of_mine || (down && joined_above);
    match (up, down, to_the_left, to_the_right) {
        (true, true, true, true) => '┼',
        (true, true, true, false) => '┤',
        (true, true, false, true) => '├',
        (true, true, false, false) => '│',
        (true, false, true, true) => '┴',
        (true, false, true, false) => '┘',
        (true, false, false, _) => '└',
        (false, true, true, true) => '┬',
        (false, true, true, false) => '┐',
        (false, true, false, _) => '┌',
        (false, false, _, _) => '─',
    }
}

/// Gives every bus that turns a track: below those whose way down it would run into, and beside no other.
fn lay_tracks(gap: &mut BTreeMap<usize, Bus>) {
    let turning: Vec<usize> =
        gap.iter().filter(|(top, bus)| bus.ends(**top) != (**top, **top)).map(|(top, _)| *top).collect();
    let mut open = turning.clone();
    while !open.is_empty() {
        // One that ends in the column where another begins comes after it, unless all wait for each other.
        let waits = |top: &usize| {
            gap[top]
                .bottoms
                .iter()
                .any(|bottom| bottom != top && open.contains(bottom) && !gap[bottom].bottoms.contains(bottom))
        };
        let next = open.iter().position(|top| !waits(top)).unwrap_or(0);
        let top = open.remove(next);
        let (left, right) = gap[&top].ends(top);
        let before = gap[&top]
            .bottoms
            .iter()
            .filter(|bottom| **bottom != top && !gap.get(*bottom).is_some_and(|bus| bus.bottoms.contains(*bottom)));
        let least = before.filter_map(|bottom| gap.get(bottom)?.track).max().map_or(0, |track| track + 1);
        let taken = |track: usize| {
            gap.iter().any(|(other, bus)| {
                let (from, to) = bus.ends(*other);
                // Two that lead to the same place and nowhere else may meet there.
                let both = |column: &usize| {
                    bus.bottoms == gap[&top].bottoms && bus.bottoms.len() == 1 && bus.bottoms.contains(column)
                };
                let meet = (to == left && both(&left)) || (from == right && both(&right));
                bus.track == Some(track) && from <= right + 1 && left <= to + 1 && !meet
            })
        };
        let track = (least..=least + gap.len()).find(|track| !taken(*track)).unwrap_or(least);
        if let Some(bus) = gap.get_mut(&top) {
            bus.track = Some(track);
        }
    }
}

/// Pieces at their columns, with spaces between them.
fn laid_out(pieces: BTreeMap<usize, TextSpan>) -> Vec<TextSpan> {
    let (mut out, mut at) = (Vec::new(), 0);
    for (column, piece) in pieces {
        if column > at {
            out.push(TextSpan { text: " ".repeat(column - at), status: None });
        }
        at = column.max(at) + columns(&piece.text);
        out.push(piece);
    }
    out
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a drawing has fewer columns than a number of this kind has values"
)]
fn whole(value: f64) -> i64 {
    value.round() as i64
}

fn as_number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
