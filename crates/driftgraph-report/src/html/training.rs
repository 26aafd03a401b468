//! How the fit went: its curves, what was tried, and what was done to keep it sound.

use driftgraph_text::count;

use super::chart::{Chart, Layer};
use super::{plain_table, section, short, signed};
use crate::svg::element::Element;
use crate::view::{Column, TrainingView};

/// The section.
pub(super) fn training_section(training: &TrainingView) -> Element {
    let converged = match (training.ending.as_str(), training.converged) {
        ("finished", Some(true)) => "it converged",
        ("finished", Some(false)) => "it has not converged",
        ("finished", None) => "it took all its steps",
        ("time-budget", _) => "the time budget ended it",
        _ => "it was stopped",
    };
    // Where drift is linear, one fit stands for all that were asked for: it has no random start.
    let seeds = match training.n_members {
        0 | 1 => String::new(),
        more => format!(" with {}", count(more, "seed", "different seeds")),
    };
    let has_loss = training.curves.iter().any(|curve| curve.name == "Loss");
    let aim = if has_loss {
        "The loss is what training lowers"
    } else {
        "The ELBO is the bound that training raises"
    };
    let lead = format!(
        "{aim}; a flat end means that there is nothing more to gain. The fit took {}{seeds}; {converged}.",
        duration(training.seconds),
    );
    let mut charts = Element::new("div").set("class", "charts").set("id", "training-charts");
    for curve in &training.curves {
        charts.push(chart(&training.steps, &curve.name, &curve.values).draw());
    }
    let mut out = section("training", "How the fit went").with(Element::new("p").text(&lead));
    out.push(charts);
    out.push(tried(training));
    let guards: Vec<&str> = match &training.guards[..] {
        [] => vec!["No guard fired: every step was finite, and no floor was touched."],
        guards => guards.iter().map(String::as_str).collect(),
    };
    let list = guards.into_iter().map(|guard| Element::new("li").text(guard));
    out.push(Element::new("h3").text("Guards"));
    out.with(Element::new("ul").with_all(list))
}

fn chart(steps: &[u64], name: &str, values: &Column) -> Chart {
    let points: Vec<(f64, f64)> =
        steps.iter().map(|&step| step as f64).zip(values.0.iter().copied()).collect();
    Chart {
        title: name.to_owned(),
        x_label: "step".to_owned(),
        layers: vec![Layer::Line { class: "first", points }],
        ..Chart::default()
    }
}

fn tried(training: &TrainingView) -> Element {
    let mut out = Element::new("div").with(Element::new("h3").text("Chosen settings"));
    if training.tried.is_empty() {
        let text = "Nothing was tried on held-out data: the settings were given.";
        return out.with(Element::new("p").text(text));
    }
    let words = match &training.held_out {
        Some(unit) => format!(
            "What the model may contain was decided by how well it predicts {unit} that it has not seen; more than the \
             plain model is taken only where the gain is clear."
        ),
        None => "The data are too few to compare models on held-out parts, so the plain model was taken.".to_owned(),
    };
    out.push(Element::new("p").text(&words));
    let rows = training.tried.iter().map(|one| {
        let gain = one.gain.map_or_else(
            || "–".to_owned(),
            |[mean, error]| format!("{} ± {}", signed(mean), short(error)),
        );
        vec![
            one.name.clone(),
            one.held_out.map_or_else(|| "–".to_owned(), short),
            gain,
            if one.chosen { "chosen" } else { "" }.to_owned(),
        ]
    });
    let header = ["model", "held-out log likelihood", "gain", ""];
    out.with(plain_table("tried", &header, rows.collect()))
}

/// Seconds as people say them.
fn duration(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 10.0 => format!("{seconds:.1} s"),
        seconds if seconds < 120.0 => format!("{seconds:.0} s"),
        seconds if seconds < 7200.0 => format!("{:.0} minutes", seconds / 60.0),
        seconds => format!("{:.1} hours", seconds / 3600.0),
    }
}
