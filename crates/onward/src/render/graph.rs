//! The graph of a plan or a run: for reading, for a browser, for Mermaid, for Graphviz.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use onward_core::drawing::{self, Drawn, Graph, TextSpan};
use onward_core::id::PhaseId;
use onward_core::plan::{self, Plan};
use onward_core::run::PhaseStatus::{self, Completed, Failed, Interrupted, Pending, Running, Skipped, Waiting};
use onward_core::run::Run;
use onward_core::view::{PhaseRecord, StatusView};
use serde::Serialize;

use super::{paint, safe, time};

/// `graph --json`, and what the drawings are made from.
#[derive(Debug, Serialize)]
pub(crate) struct GraphJson {
    phases: Vec<GraphNode>,
    batches: Vec<Vec<PhaseId>>,
    #[serde(skip)]
    drawing: Graph,
}

#[derive(Debug, Serialize)]
struct GraphNode {
    id: PhaseId,
    name: String,
    needs: Vec<PhaseId>,
    status: PhaseStatus,
    /// The name that people know it by.
    #[serde(skip)]
    label: String,
}

impl GraphJson {
    pub(crate) fn of_plan(plan: &Plan) -> Self {
        Self { phases: nodes(plan, |_| None), batches: plan::graph::batches(plan), drawing: drawing(plan, |_| None) }
    }

    /// The run as it is seen now: what nobody drives is not at work.
    pub(crate) fn of_run(run: &Run, view: &StatusView) -> Self {
        let records: BTreeMap<&PhaseId, &PhaseRecord> =
            view.completed.iter().chain(&view.running).chain(&view.remaining).map(|one| (&one.id, one)).collect();
        let record = |id: &PhaseId| records.get(id).copied();
        Self { phases: nodes(run.plan(), record), batches: run.batches(), drawing: drawing(run.plan(), record) }
    }

    /// Boxes and lines where they fit into so many columns, else batches from top to bottom.
    pub(crate) fn text(&self, columns: usize) -> String {
        let Some(lines) = drawing::text(&self.drawing, columns) else { return self.list() };
        let mut out = String::new();
        for line in lines {
            let painted: String = line.iter().map(painted).collect();
            out.push_str(painted.trim_end());
            out.push('\n');
        }
        out
    }

    /// One document that loads nothing.
    pub(crate) fn svg(&self) -> String {
        if self.phases.len() > drawing::LAID_OUT_NODES_MAX {
            drawing::svg_list(&self.drawing)
        } else {
            drawing::svg(&self.drawing)
        }
    }

    /// Batches from top to bottom, each phase with what it needs.
    fn list(&self) -> String {
        let by_id: BTreeMap<&PhaseId, &GraphNode> = self.phases.iter().map(|node| (&node.id, node)).collect();
        let mut out = String::new();
        for (number, batch) in self.batches.iter().enumerate() {
            for (row, node) in batch.iter().filter_map(|id| by_id.get(id)).enumerate() {
                let number = if row == 0 { (number + 1).to_string() } else { String::new() };
                let named =
                    |id: &PhaseId| safe::line(by_id.get(id).map_or_else(|| id.as_str(), |node| node.label.as_str()));
                let needs: Vec<String> = node.needs.iter().map(named).collect();
                let arrow = if needs.is_empty() { String::new() } else { format!("  ← {}", needs.join(", ")) };
                let _ = writeln!(out, "{number:>3}  {} {}{arrow}", paint::sign(node.status), safe::line(&node.label));
            }
        }
        out
    }

    pub(crate) fn mermaid(&self) -> String {
        let quoted = |text: &str| text.replace('#', "#35;").replace('"', "#quot;");
        let mut out = String::from("graph TD\n");
        self.draw(
            &mut out,
            |index, label| format!("  p{index}[\"{}\"]", quoted(label)),
            |from, to| format!("  p{from} --> p{to}"),
        );
        // A plan that has not been run has nothing to tell apart.
        for status in [Completed, Running, Interrupted, Waiting, Failed, Skipped] {
            let ids: Vec<String> = self.with(status).map(|at| format!("p{at}")).collect();
            if !ids.is_empty() {
                let (word, (fill, stroke)) = (status_word(status), colours(status));
                let _ = writeln!(out, "  classDef {word} fill:{fill},stroke:{stroke},color:#1f2328");
                let _ = writeln!(out, "  class {} {word}", ids.join(","));
            }
        }
        out
    }

    pub(crate) fn dot(&self) -> String {
        let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
        let mut out = String::from("digraph plan {\n");
        let node = |index, label: &str| format!("  p{index} [label=\"{}\"];", quoted(label));
        self.draw(&mut out, node, |from, to| format!("  p{from} -> p{to};"));
        for status in [Completed, Running, Interrupted, Waiting, Failed, Skipped] {
            let (fill, stroke) = colours(status);
            for at in self.with(status) {
                let word = status_word(status);
                let _ = writeln!(
                    out,
                    "  p{at} [style=filled, fillcolor=\"{fill}\", color=\"{stroke}\", tooltip=\"{word}\"];"
                );
            }
        }
        out.push_str("}\n");
        out
    }

    fn with(&self, status: PhaseStatus) -> impl Iterator<Item = usize> {
        self.drawing.nodes.iter().enumerate().filter(move |(_, node)| node.status == status).map(|(at, _)| at)
    }

    /// The boxes and arrows of every drawing. Ids of authors may hold anything, so phases are named by their place.
    fn draw(&self, out: &mut String, node: impl Fn(usize, &str) -> String, arrow: impl Fn(usize, usize) -> String) {
        for (index, drawn) in self.drawing.nodes.iter().enumerate() {
            let _ = writeln!(out, "{}", node(index, &drawn.label));
        }
        for (from, to) in &self.drawing.arrows {
            let _ = writeln!(out, "{}", arrow(*from, *to));
        }
    }
}

fn nodes<'a>(plan: &Plan, record: impl Fn(&PhaseId) -> Option<&'a PhaseRecord>) -> Vec<GraphNode> {
    let names = plan::shown_names(plan);
    let node = |phase: &plan::Phase| GraphNode {
        label: label(phase, &names),
        id: phase.id.clone(),
        name: phase.title().to_owned(),
        needs: phase.needs.iter().map(|need| need.phase.clone()).collect(),
        status: record(&phase.id).map_or(Pending, |record| record.status),
    };
    plan.phases.iter().map(node).collect()
}

fn drawing<'a>(plan: &Plan, record: impl Fn(&PhaseId) -> Option<&'a PhaseRecord>) -> Graph {
    let names = plan::shown_names(plan);
    Graph::from_plan(plan, |phase| {
        let record = record(&phase.id);
        let told = record.map(told).unwrap_or_default();
        Drawn { label: safe::line(&label(phase, &names)), status: record.map_or(Pending, |one| one.status), told }
    })
}

fn label(phase: &plan::Phase, names: &BTreeMap<PhaseId, String>) -> String {
    names.get(&phase.id).cloned().unwrap_or_else(|| phase.id.to_string())
}

/// The second line of a box.
fn told(record: &PhaseRecord) -> String {
    let took = record.duration_ms.map(|count| format!(", {}", time::milliseconds(count))).unwrap_or_default();
    let attempt = if record.attempts > 1 { format!(", attempt {}", record.attempts) } else { String::new() };
    match record.status {
        Pending => String::new(),
        Completed => format!("done{took}{attempt}"),
        Running | Waiting | Failed | Skipped | Interrupted => format!("{}{attempt}", status_word(record.status)),
    }
}

fn painted(span: &TextSpan) -> String {
    match span.status {
        Some(Completed) => paint::good(&span.text),
        Some(Failed) => paint::bad(&span.text),
        Some(Running | Interrupted) => paint::busy(&span.text),
        Some(Waiting) => paint::doubtful(&span.text),
        Some(Skipped) => paint::dim(&span.text),
        Some(Pending) | None => span.text.clone(),
    }
}

pub(super) fn status_word(status: PhaseStatus) -> &'static str {
    match status {
        Pending => "pending",
        Running => "running",
        Waiting => "waiting",
        Completed => "completed",
        Failed => "failed",
        Skipped => "skipped",
        Interrupted => "interrupted",
    }
}

/// The inside and the frame of a box.
fn colours(status: PhaseStatus) -> (&'static str, &'static str) {
    match status {
        Pending | Skipped => ("#f6f8fa", "#818b98"),
        Running | Interrupted => ("#ddf4ff", "#0969da"),
        Waiting => ("#fff8c5", "#9a6700"),
        Completed => ("#dafbe1", "#1a7f37"),
        Failed => ("#ffebe9", "#cf222e"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph() -> GraphJson {
        let text =
            "onward: 1\nname: x\nphases:\n  a: { run: x }\n  b: { needs: a, run: x }\n  c: { needs: [a, b], run: x }\n";
        GraphJson::of_plan(&plan::parse(text).plan.expect("the plan is valid"))
    }

    #[test]
    fn drawings_have_every_phase_and_every_arrow() {
        assert_eq!(
            graph().mermaid(),
            "graph TD\n  p0[\"a\"]\n  p1[\"b\"]\n  p2[\"c\"]\n  p0 --> p1\n  p0 --> p2\n  p1 --> p2\n"
        );
        let dot = graph().dot();
        assert!(dot.starts_with("digraph plan {\n  p0 [label=\"a\"];") && dot.ends_with("  p1 -> p2;\n}\n"), "{dot}");
    }

    /// Every form has the same boxes and arrows: a phase of `finally` comes last in all of them.
    #[test]
    fn finally_is_in_every_form() {
        let text = "onward: 1\nname: x\nphases:\n  a: { run: x }\nfinally:\n  clean: { run: x }\n";
        let graph = GraphJson::of_plan(&plan::parse(text).plan.expect("the plan is valid"));
        assert_eq!(graph.mermaid(), "graph TD\n  p0[\"a\"]\n  p1[\"clean\"]\n  p0 --> p1\n");
        assert!(graph.dot().contains("  p0 -> p1;\n"), "{}", graph.dot());
        assert!(graph.svg().contains(">clean</text>"), "{}", graph.svg());
    }

    #[test]
    fn a_graph_without_room_is_a_list_of_batches_and_needs() {
        let text = anstream::adapter::strip_str(&graph().text(6)).to_string();
        assert_eq!(text, "  1  · a\n  2  · b  ← a\n  3  · c  ← a, b\n");
    }
}
