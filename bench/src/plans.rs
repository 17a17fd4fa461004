//! Graphs of phases, as a plan for onward and as a file for make.

use std::fmt::Write;

/// Phases in a layer of a layered graph.
const LAYER: usize = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GraphShape {
    /// Layers of ten; each phase needs two of the layer before.
    Layered,
    /// Each phase needs the one before.
    Chain,
    /// None needs another.
    Wide,
}

impl GraphShape {
    pub(crate) const ALL: [Self; 3] = [Self::Layered, Self::Chain, Self::Wide];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Layered => "layered",
            Self::Chain => "chain",
            Self::Wide => "wide",
        }
    }

    /// How many of two slots the graph can use.
    pub(crate) fn slots(self) -> usize {
        match self {
            Self::Chain => 1,
            Self::Layered | Self::Wide => 2,
        }
    }

    fn needs(self, phase: usize) -> Vec<usize> {
        match self {
            Self::Wide => Vec::new(),
            Self::Chain => phase.checked_sub(1).into_iter().collect(),
            Self::Layered if phase < LAYER => Vec::new(),
            Self::Layered => {
                let start = (phase / LAYER - 1) * LAYER;
                vec![start + phase % LAYER, start + (phase + 3) % LAYER]
            }
        }
    }
}

/// A graph, and what its phases do.
#[derive(Clone, Debug)]
pub(crate) struct MadeGraph {
    pub(crate) shape: GraphShape,
    pub(crate) phases: usize,
    /// The script of the phases from the middle on; the others do nothing.
    pub(crate) second_half: String,
}

impl MadeGraph {
    pub(crate) fn idle(shape: GraphShape, phases: usize) -> Self {
        Self { shape, phases, second_half: "true".to_owned() }
    }

    pub(crate) fn middle(&self) -> usize {
        // At the start of a layer, so that all before it is done when it begins.
        self.phases / 2 / LAYER * LAYER
    }

    fn script(&self, phase: usize) -> &str {
        if phase < self.middle() { "true" } else { &self.second_half }
    }

    pub(crate) fn plan(&self) -> String {
        let mut text = String::from("onward: 1\nname: bench\nmax-parallel: 2\nphases:\n");
        for phase in 0..self.phases {
            let needs: Vec<String> = self.shape.needs(phase).iter().map(|need| format!("p{need}")).collect();
            let needs = if needs.is_empty() { String::new() } else { format!("needs: [{}], ", needs.join(", ")) };
            let _ = writeln!(text, "  p{phase}: {{ {needs}run: {:?} }}", self.script(phase));
        }
        text
    }

    pub(crate) fn makefile(&self) -> String {
        let all: Vec<String> = (0..self.phases).map(|phase| format!("p{phase}")).collect();
        let mut text = format!("all: {}\n", all.join(" "));
        for phase in 0..self.phases {
            let needs: Vec<String> = self.shape.needs(phase).iter().map(|need| format!("p{need}")).collect();
            let _ = writeln!(text, "p{phase}: {}\n\t@{}", needs.join(" "), self.script(phase));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every shape was written as a plan. It must be one, with its phases and needs in place.
    #[test]
    fn every_shape_is_a_valid_plan() {
        for shape in GraphShape::ALL {
            let graph = MadeGraph { second_half: "echo >/tmp/bell".to_owned(), ..MadeGraph::idle(shape, 40) };
            let parsed = onward_core::plan::parse(&graph.plan());
            let plan = parsed.plan.expect("a plan without faults");
            assert_eq!(plan.phases.len(), 40);
            assert_eq!(plan.phases[39].needs.len(), shape.needs(39).len(), "{shape:?}");
        }
    }
}
