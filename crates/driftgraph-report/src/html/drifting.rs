//! Effects that move in time in a report: a panel with a band for each edge that probably does, and a table.

use driftgraph_text::count;

use super::{plain_table, section, signed};
use crate::prose::probability;
use crate::svg::bands::{Band, BandAxes, BandChart, BandMeaning, Panel, bands_svg};
use crate::svg::element::Element;
use crate::view::{CourseView, DriftingView, ReportView};
use crate::{Calendar, ReportError};

/// Rows of the table, and panels of the picture, at most.
const MOST_ROWS: usize = 60;
const MOST_DRAWN: usize = 12;
/// Edges that move with a smaller probability are not drawn.
const DRAWN_FROM: f64 = 0.2;

/// The section of effects over time.
pub(super) fn drifting_section(view: &ReportView, drifting: &DriftingView) -> Element {
    let names = &view.graph.variables;
    let mut out = section("drifting", "Effects over time");
    out.push(Element::new("p").text(&lead(drifting)));
    let picture =
        drifting_picture(drifting, names, &view.data.time_label, view.data.calendar).ok().flatten();
    if let Some(picture) = picture {
        let frame = Element::new("div").set("class", "wide").set("tabindex", "0");
        out.push(frame.set("role", "group").set("aria-label", "picture").markup(&picture));
    }
    let rows = drifting.edges.iter().take(MOST_ROWS).map(|edge| row(edge, names));
    let header = ["edge", "probability", "moves", "at first", "at last"];
    out.push(plain_table("drifting-edges", &header, rows.collect()));
    out
}

fn lead(drifting: &DriftingView) -> String {
    let between = drifting.edges.iter().filter(|edge| edge.source != edge.target);
    let n = between.filter(|edge| edge.drifting >= 0.5).count();
    format!(
        "{} between different variables {} more likely to move in time than to stay the same. Bands hold an effect with a probability of 90 % \
         at each time, given that there is one; all series share one time.",
        count(n, "effect", "effects"),
        if n == 1 { "is" } else { "are" },
    )
}

fn row(edge: &CourseView, names: &[String]) -> Vec<String> {
    let end = |at: Option<&f64>| signed(at.copied().unwrap_or(0.0));
    vec![
        format!("{} → {}", names[edge.source], names[edge.target]),
        probability(edge.probability),
        probability(edge.drifting),
        end(edge.effects.first()),
        end(edge.effects.last()),
    ]
}

/// Effects over time of the edges that probably move; `None` where none does.
pub fn drifting_picture(
    drifting: &DriftingView,
    variables: &[String],
    time_label: &str,
    calendar: Option<Calendar>,
) -> Result<Option<String>, ReportError> {
    let drawn = drifting.edges.iter().filter(|edge| edge.drifting >= DRAWN_FROM).take(MOST_DRAWN);
    let panel = |edge: &CourseView| {
        let (source, target) = (&variables[edge.source], &variables[edge.target]);
        let [first, last] = [drifting.times.first(), drifting.times.last()]
            .map(|time| time.copied().unwrap_or(0.0));
        Panel {
            name: format!("{source} → {target} (moves: {})", probability(edge.drifting)),
            bands: vec![Band {
                label: "effect".to_owned(),
                times: drifting.times.clone(),
                middle: edge.effects.clone(),
                half: [Vec::new(), Vec::new()],
                most: edge.bounds.clone(),
            }],
            paths: vec![vec![(first, 0.0), (last, 0.0)]],
            paths_label: "no effect".to_owned(),
            ..Panel::default()
        }
    };
    let panels: Vec<Panel> = drawn.map(panel).collect();
    if panels.is_empty() {
        return Ok(None);
    }
    let meaning = BandMeaning { middle: "mean", ..BandMeaning::default() };
    bands_svg(&BandChart {
        title: "Effects over time".to_owned(),
        subtitle: "in the target's unit per unit of time and of the source; in brackets the probability that they move"
            .to_owned(),
        time_label: time_label.to_owned(),
        calendar,
        meaning,
        is_log: false,
        axes: BandAxes::default(),
        panels,
    })
    .map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_that_move_are_drawn_and_others_are_not() {
        let edge = |drifting: f64| CourseView {
            source: 0,
            target: 1,
            probability: 0.9,
            drifting,
            effects: vec![1.0, 0.0, -1.0],
            bounds: [vec![0.5, -0.5, -1.5], vec![1.5, 0.5, -0.5]],
        };
        let names = ["a <b>".to_owned(), "c".to_owned()];
        let view = |edges| DriftingView { times: vec![0.0, 1.0, 2.0], edges };
        let none = drifting_picture(&view(vec![edge(0.1)]), &names, "time", None).unwrap();
        assert_eq!(none, None);
        let one = drifting_picture(&view(vec![edge(0.8), edge(0.1)]), &names, "time", None);
        let one = one.unwrap().unwrap();
        assert_eq!(one.matches("<g class=\"panel\">").count(), 1, "{one}");
        assert!(one.contains("effect of a &lt;b&gt; → c (moves: 0.80)"), "{one}");
        let words = lead(&view(vec![edge(0.8), edge(0.1)]));
        assert!(
            words.starts_with("1 effect between different variables is more likely"),
            "{words}"
        );
    }
}
