//! Regimes or conditions in a report: which holds when, and which edges differ.

use driftgraph_text::count;

use super::{plain_table, section, short, signed};
use crate::prose::probability;
use crate::svg::dots::{DotChart, DotRow, dots_svg};
use crate::svg::element::Element;
use crate::svg::regimes::regimes_svg;
use crate::view::{DifferenceView, RegimesView, ReportView};
use crate::{Calendar, ReportError};

/// Rows of the tables at most.
const MOST_ROWS: usize = 60;
/// Rows of the picture of differences at most; regimes whose marks can be told apart.
const MOST_DRAWN: usize = 25;
/// A difference below this probability is not drawn.
const DRAWN_FROM: f64 = 0.2;

/// The section of regimes and what differs between them.
pub(super) fn regimes_section(view: &ReportView, regimes: &RegimesView) -> Element {
    let title = if regimes.are_hidden { "Which regime when" } else { "What differs" };
    let mut out = section("regimes", title).with(Element::new("p").text(&lead(regimes)));
    let pictures = [
        regimes_picture(regimes, &view.data.time_label, view.data.calendar),
        differences_picture(regimes, &view.graph.variables),
    ];
    for picture in pictures.into_iter().filter_map(|picture| picture.ok().flatten()) {
        let frame = Element::new("div").set("class", "wide").set("tabindex", "0");
        out.push(frame.set("role", "group").set("aria-label", "picture").markup(&picture));
    }
    if !regimes.switches.is_empty() {
        let rows = regimes.switches.iter().take(MOST_ROWS).map(|one| {
            let [low, high] = one.between.map(short);
            vec![
                one.series.clone(),
                short(one.time),
                format!("{low} to {high}"),
                regimes.names[one.from].clone(),
                regimes.names[one.to].clone(),
            ]
        });
        let header = ["series", "changes at", "between", "from", "to"];
        out.push(plain_table("changes", &header, rows.collect()));
    }
    let rows = regimes.differences.iter().take(MOST_ROWS);
    let rows = rows.map(|one| difference_row(one, &view.graph.variables, &regimes.names));
    let header = ["edge", "differs", "how", "from", "to", "difference", "90 %"];
    out.push(Element::new("h3").text("Which edges differ"));
    out.push(plain_table("differences", &header, rows.collect()));
    out
}

fn lead(regimes: &RegimesView) -> String {
    let expected: Vec<String> = (regimes.names.iter().zip(&regimes.expected_edges))
        .map(|(name, edges)| format!("{name} {edges:.1}"))
        .collect();
    let n = regimes.names.len();
    let several = if regimes.are_conditions {
        count(n, "condition", "conditions")
    } else {
        count(n, "regime", "regimes")
    };
    let what = if regimes.are_hidden {
        format!("The series switch between {several}, found in the data.")
    } else {
        format!(
            "Each of {several} has a graph of its own; what does not differ is learned from all data."
        )
    };
    let between = regimes.differences.iter().filter(|one| one.source != one.target);
    let n = between.filter(|one| one.probability >= 0.5).count();
    format!(
        "{what} Edges expected between different variables: {}. {} between different variables {} more likely to differ than not.",
        expected.join(", "),
        count(n, "edge", "edges"),
        if n == 1 { "is" } else { "are" },
    )
}

fn difference_row(one: &DifferenceView, variables: &[String], names: &[String]) -> Vec<String> {
    let [difference, low, high] = one.difference.map(signed);
    let end = |at: usize| format!("{}: {}", names[one.regimes[at]], signed(one.effects[at][0]));
    vec![
        format!("{} → {}", variables[one.source], variables[one.target]),
        probability(one.probability),
        one.change.clone(),
        end(0),
        end(1),
        difference,
        format!("{low} to {high}"),
    ]
}

/// Which regime holds when; `None` where whole series belong to one.
pub fn regimes_picture(
    regimes: &RegimesView,
    time_label: &str,
    calendar: Option<Calendar>,
) -> Result<Option<String>, ReportError> {
    if regimes.series.is_empty() {
        return Ok(None);
    }
    regimes_svg(regimes, time_label, calendar).map(Some)
}

/// Effects of the edges that differ most probably, in all regimes; `None` where none does.
pub fn differences_picture(
    regimes: &RegimesView,
    variables: &[String],
) -> Result<Option<String>, ReportError> {
    let mut rows: Vec<DotRow> = Vec::new();
    for one in &regimes.differences {
        if one.probability < DRAWN_FROM || rows.len() >= MOST_DRAWN {
            break;
        }
        let mut values = vec![None; regimes.names.len()];
        for (at, &regime) in one.regimes.iter().enumerate() {
            let [effect, deviation] = one.effects[at];
            // Nothing is uncertain about an edge that is probably not there.
            values[regime] = Some((effect, (effect != 0.0).then_some(1.645 * deviation)));
        }
        let (source, target) = (&variables[one.source], &variables[one.target]);
        let name = format!("{source} → {target} ({})", probability(one.probability));
        rows.push(DotRow { name, values, background: vec![0.0] });
    }
    if rows.is_empty() {
        return Ok(None);
    }
    dots_svg(&DotChart {
        title: "Which edges differ".to_owned(),
        subtitle:
            "in brackets the probability that they do; lines hold 90 %, no line: probably no edge"
                .to_owned(),
        axis_label: "effect, in the target's unit per unit of time and of the source".to_owned(),
        heading: "In".to_owned(),
        methods: regimes.names.clone(),
        background_label: "no effect".to_owned(),
        rows,
    })
    .map(Some)
}
