//! Drawings of graphs: the same graph is always the same drawing, and every line leads from box to box.

use onward_core::drawing::{self, Drawn, Graph};
use onward_core::plan;
use onward_core::run::PhaseStatus;

fn graph(text: &str) -> Graph {
    let plan = plan::parse(text).plan.expect("a valid plan");
    Graph::from_plan(&plan, |phase| Drawn {
        label: phase.id.to_string(),
        status: PhaseStatus::Pending,
        told: String::new(),
    })
}

fn text(graph: &Graph) -> String {
    let lines = drawing::text(graph, 200).expect("it fits");
    let line = |spans: &Vec<drawing::TextSpan>| spans.iter().map(|span| span.text.as_str()).collect::<String>();
    lines.iter().map(|spans| format!("{}\n", line(spans).trim_end())).collect()
}

const DIAMOND: &str = "onward: 1\nname: x\nphases:\n  fetch: { run: x }\n  left: { needs: fetch, run: x }\n  right: { needs: fetch, run: x }\n  end: { needs: [left, right, fetch], run: x }\n";

const RELEASE: &str = "onward: 1\nname: x\nphases:\n  lint: { run: x }\n  build: { run: x }\n  unit: { needs: build, run: x }\n  integration: { needs: [build, lint], run: x }\n  docs: { run: x }\n  package: { needs: [unit, integration], run: x }\n  publish: { needs: [package, docs, lint], run: x }\nfinally:\n  clean: { run: x }\n";

#[test]
fn diamond_in_boxes() {
    insta::assert_snapshot!(text(&graph(DIAMOND)), @r"
          ┌─────────┐
          │ · fetch │
          └────┬────┘
         ┌─────┴──────┐
         ▼            ▼
    ┌────────┐   ┌─────────┐
    │ · left │   │ · right │
    └────┬───┘   └────┬────┘
         └─────┬──────┘
               ▼
           ┌───────┐
           │ · end │
           └───────┘
    ");
}

#[test]
fn release_in_boxes() {
    insta::assert_snapshot!(text(&graph(RELEASE)), @r"
      ┌────────┐   ┌─────────┐
      │ · lint │   │ · build │
      └────┬───┘   └────┬────┘
           └────────────│──────┐
               ┌────────┴──────┤
               ▼               ▼
          ┌────────┐   ┌───────────────┐
          │ · unit │   │ · integration │
          └────┬───┘   └───────┬───────┘
               └───────┬───────┘
                       ▼
    ┌────────┐   ┌───────────┐
    │ · docs │   │ · package │
    └────┬───┘   └─────┬─────┘
         └──────┬──────┘
                ▼
          ┌───────────┐
          │ · publish │
          └─────┬─────┘
                ▼
           ┌─────────┐
           │ · clean │
           └─────────┘
    ");
}

/// A phase with a dozen that need it, and one that needs those: the dozen stand from left to right as in the plan.
#[test]
fn dependents_stand_in_the_order_of_the_plan() {
    let names: Vec<String> = (0..12).map(|at| format!("d{at}")).collect();
    let middle: String = names.iter().map(|name| format!("  {name}: {{ needs: start, run: x }}\n")).collect();
    let end = format!("  end: {{ needs: [{}], run: x }}\n", names.join(", "));
    let graph = graph(&format!("onward: 1\nname: x\nphases:\n  start: {{ run: x }}\n{middle}{end}"));
    let drawn = text(&graph);
    let row = drawn.lines().find(|line| line.contains(" d0 ")).expect("a row with d0");
    let places: Vec<Option<usize>> = names.iter().map(|name| row.find(&format!(" {name} "))).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{drawn}");
    let svg = drawing::svg(&graph);
    let x = |name: &String| {
        let before = svg.split(&format!(">{name}</text>")).next().expect("text before it");
        let x = before.rsplit("<text x=\"").next().and_then(|rest| rest.split('"').next());
        x.and_then(|x| x.parse::<f64>().ok()).expect("a place")
    };
    assert!(names.iter().map(x).is_sorted(), "{svg}");
}

/// Random graphs: no panic, the same drawing twice, every phase in it, and lines only where they belong.
#[test]
fn any_graph_is_drawn_the_same_twice() {
    let mut dice = 7_u64;
    let mut roll = |sides: u64| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (dice >> 33) % sides
    };
    for _ in 0..25 {
        let count = usize::try_from(roll(11) + 1).expect("small");
        let nodes =
            (0..count).map(|at| Drawn { label: format!("n{at}"), status: PhaseStatus::Pending, told: String::new() });
        let nodes: Vec<Drawn> = nodes.collect();
        let mut arrows = Vec::new();
        for to in 1..count {
            for from in 0..to {
                if roll(4) == 0 {
                    arrows.push((from, to));
                }
            }
        }
        let graph = Graph { nodes, arrows };
        let drawn = drawing::text(&graph, 10_000).expect("it fits");
        assert_eq!(drawn, drawing::text(&graph, 10_000).expect("it fits"));
        assert_eq!(drawing::svg(&graph), drawing::svg(&graph));
        let all = drawn.iter().flatten().map(|span| span.text.as_str()).collect::<String>();
        for at in 0..count {
            assert!(all.contains(&format!(" n{at} ")), "n{at} in {graph:?}");
        }
    }
}

/// Names are text in the document, whatever they are.
#[test]
fn svg_has_hostile_names_as_text() {
    let node =
        |label: &str| Drawn { label: label.to_owned(), status: PhaseStatus::Failed, told: "\u{1}\u{ffff}".to_owned() };
    let graph =
        Graph { nodes: vec![node("<script>alert(1)</script>"), node("a\" onload='x' & b")], arrows: vec![(0, 1)] };
    for drawn in [drawing::svg(&graph), drawing::svg_list(&graph)] {
        assert!(!drawn.contains("<script") && drawn.contains("&lt;script&gt;"), "{drawn}");
        assert!(
            drawn.contains("a&quot; onload=&#39;x&#39; &amp; b")
                && !drawn.contains('\u{1}')
                && !drawn.contains('\u{ffff}')
        );
    }
}
