//! The graph of a plan: for reading, for Mermaid, for Graphviz.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use onward_core::id::PhaseId;
use onward_core::plan::{self, Plan};
use onward_core::run::{PhaseStatus, Run};
use serde::Serialize;

use super::{paint, safe};

/// `graph --json`, and what the drawings are made from.
#[derive(Debug, Serialize)]
pub(crate) struct GraphJson {
    phases: Vec<GraphNode>,
    batches: Vec<Vec<PhaseId>>,
}

#[derive(Debug, Serialize)]
struct GraphNode {
    id: PhaseId,
    name: String,
    needs: Vec<PhaseId>,
    status: PhaseStatus,
}

impl GraphJson {
    pub(crate) fn of_plan(plan: &Plan) -> Self {
        let status = |_: &PhaseId| PhaseStatus::Pending;
        Self { phases: nodes(plan, status), batches: plan::graph::batches(plan) }
    }

    pub(crate) fn of_run(run: &Run) -> Self {
        let status = |id: &PhaseId| run.phase_state(id).map_or(PhaseStatus::Pending, |state| state.status);
        Self { phases: nodes(run.plan(), status), batches: run.batches() }
    }

    /// Batches from top to bottom, each phase with what it needs.
    pub(crate) fn text(&self) -> String {
        let by_id: BTreeMap<&PhaseId, &GraphNode> = self.phases.iter().map(|node| (&node.id, node)).collect();
        let mut out = String::new();
        for (number, batch) in self.batches.iter().enumerate() {
            for (row, node) in batch.iter().filter_map(|id| by_id.get(id)).enumerate() {
                let number = if row == 0 { (number + 1).to_string() } else { String::new() };
                let needs: Vec<String> = node.needs.iter().map(|id| safe::line(id.as_str())).collect();
                let arrow = if needs.is_empty() { String::new() } else { format!("  ← {}", needs.join(", ")) };
                let _ =
                    writeln!(out, "{number:>3}  {} {}{arrow}", paint::sign(node.status), safe::line(node.id.as_str()));
            }
        }
        out
    }

    pub(crate) fn mermaid(&self) -> String {
        let quoted = |text: &str| safe::line(text).replace('#', "#35;").replace('"', "#quot;");
        let mut out = String::from("graph TD\n");
        self.draw(
            &mut out,
            |index, label| format!("  p{index}[\"{}\"]", quoted(label)),
            |from, to| format!("  p{from} --> p{to}"),
        );
        out
    }

    pub(crate) fn dot(&self) -> String {
        let quoted = |text: &str| safe::line(text).replace('\\', "\\\\").replace('"', "\\\"");
        let mut out = String::from("digraph plan {\n");
        let node = |index, label: &str| format!("  p{index} [label=\"{}\"];", quoted(label));
        self.draw(&mut out, node, |from, to| format!("  p{from} -> p{to};"));
        out.push_str("}\n");
        out
    }

    /// Ids of authors may hold anything, so drawings name the phases by their place.
    fn draw(&self, out: &mut String, node: impl Fn(usize, &str) -> String, arrow: impl Fn(usize, usize) -> String) {
        let places: BTreeMap<&PhaseId, usize> =
            self.phases.iter().enumerate().map(|(index, node)| (&node.id, index)).collect();
        for (index, phase) in self.phases.iter().enumerate() {
            let _ = writeln!(out, "{}", node(index, phase.id.as_str()));
        }
        for (index, phase) in self.phases.iter().enumerate() {
            for from in phase.needs.iter().filter_map(|need| places.get(need)) {
                let _ = writeln!(out, "{}", arrow(*from, index));
            }
        }
    }
}

fn nodes(plan: &Plan, status: impl Fn(&PhaseId) -> PhaseStatus) -> Vec<GraphNode> {
    let node = |phase: &plan::Phase| GraphNode {
        id: phase.id.clone(),
        name: phase.title().to_owned(),
        needs: phase.needs.iter().map(|need| need.phase.clone()).collect(),
        status: status(&phase.id),
    };
    plan.phases.iter().map(node).collect()
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

    #[test]
    fn the_text_shows_batches_and_needs() {
        let text = anstream::adapter::strip_str(&graph().text()).to_string();
        assert_eq!(text, "  1  · a\n  2  · b  ← a\n  3  · c  ← a, b\n");
    }
}
