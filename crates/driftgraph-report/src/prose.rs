//! A report in words: what was learned, and when not to lean on it.

use driftgraph_text::count;

use crate::EffectSign;
use crate::html::value_text;
use crate::view::{EdgeView, LinkKind, ReportView, TrainingView};

/// From this probability on an edge is called sure.
const SURE: f64 = 0.9;
/// From this probability on an edge is more likely present than absent.
const PROBABLE: f64 = 0.5;
/// A deviation of the log-odds over seeds by which a probability of 0.9 may as well be 0.5.
const UNSETTLED: f64 = 2.0;
/// Fewer rows per variable say little about who drives whom.
const FEW_ROWS: f64 = 10.0;
/// Longest name within a sentence.
const NAME_LENGTH: usize = 40;

/// What was learned, in up to three sentences.
pub(crate) fn sentences(view: &ReportView) -> Vec<String> {
    let found =
        if view.graph.score.is_some() { what_was_ranked(view) } else { what_was_found(view) };
    [found, the_surest(view)].into_iter().chain(standing(view)).collect()
}

/// What weakens the evidence, one sentence each; empty where nothing does.
pub(crate) fn cautions(view: &ReportView) -> Vec<String> {
    let mut cautions = Vec::new();
    if let Some(training) = &view.training {
        cautions.extend(unfinished(training));
        cautions.extend(disagreement(view, training));
    }
    let (rows, n) = (view.data.n_rows, view.graph.variables.len());
    if (rows as f64) < FEW_ROWS * n as f64 {
        cautions.push(format!(
            "There are few data: {rows} rows for {n} variables. Weak influences cannot be seen, and strong \
             ones may be mistaken for each other."
        ));
    }
    let cells = rows * n;
    if cells > 0 && view.data.n_missing * 5 > cells {
        let share = 100.0 * view.data.n_missing as f64 / cells as f64;
        cautions.push(format!("{share:.0} % of the cells are missing."));
    }
    let warned = view.data.left_out.iter().chain(&view.data.warnings);
    cautions.extend(warned.map(|sentence| format!("{sentence}.")));
    cautions
}

/// A fit that ended before it was done.
fn unfinished(training: &TrainingView) -> Option<String> {
    let how = match training.ending.as_str() {
        "finished" if training.converged == Some(false) => {
            let caution =
                "The fit has not converged; allow more steps before relying on single edges.";
            return Some(caution.to_owned());
        }
        "finished" => return None,
        "time-budget" => "The time budget ended the fit",
        "running" => "The fit is still running: it has been stopped here",
        _ => "The fit was stopped",
    };
    Some(format!("{how} before it was done; probabilities may still move."))
}

/// Seeds that do not agree about edges which are probable on average.
fn disagreement(view: &ReportView, training: &TrainingView) -> Option<String> {
    if training.n_members < 2 {
        return None;
    }
    let probable = || view.graph.links().filter(|edge| edge.probability >= PROBABLE);
    let unsettled = probable().filter(|edge| edge.disagreement > UNSETTLED).count();
    (unsettled > 0).then(|| {
        format!(
            "Fits with different seeds disagree about {unsettled} of the {} probable edges.",
            probable().count()
        )
    })
}

fn from_data(view: &ReportView) -> String {
    let series = count(view.data.n_series, "series", "series");
    format!("From {series} with {} in all", count(view.data.n_rows, "row", "rows"))
}

/// A method without probabilities ranks edges and says no more.
fn what_was_ranked(view: &ReportView) -> String {
    let n = view.graph.variables.len();
    format!(
        "{}, {} ranked the {} possible influences among {n} variables by {}: higher means better \
         supported, but not how probable.",
        from_data(view),
        view.method.name,
        n * n.saturating_sub(1),
        view.graph.score_name(),
    )
}

fn what_was_found(view: &ReportView) -> String {
    let graph = &view.graph;
    let n = graph.variables.len();
    let between = || graph.links().filter(|edge| edge.source != edge.target);
    let at_least = |least: f64| between().filter(|edge| edge.probability >= least).count();
    let (probable, sure) = (at_least(PROBABLE), at_least(SURE));
    let data = format!("{}, driftgraph found", from_data(view));
    let pairs = n * n.saturating_sub(1);
    if probable == 0 {
        return match n {
            1 => format!("{data} nothing about other variables: there is only one."),
            n => format!("{data} no probable influence between the {n} variables."),
        };
    }
    let sure = match (sure, probable) {
        (0, 1) => "with a probability below 0.9".to_owned(),
        (_, 1) => "with a probability of 0.9 or more".to_owned(),
        (0, _) => "none of them with a probability of 0.9 or more".to_owned(),
        (sure, all) if sure == all => "all of them with a probability of 0.9 or more".to_owned(),
        (sure, _) => format!("{sure} of them with a probability of 0.9 or more"),
    };
    format!(
        "{data} {} among {n} variables ({pairs} are possible), {sure}.",
        count(probable, "probable influence", "probable influences")
    )
}

fn the_surest(view: &ReportView) -> String {
    let graph = &view.graph;
    let between = graph.links().filter(|edge| edge.source != edge.target);
    let strongest: Vec<&EdgeView> = between.take(3).collect();
    let Some(first) = strongest.first() else {
        return "Nothing stands out.".to_owned();
    };
    let name = |idx: usize| quoted(&graph.variables[idx]);
    let (source, target) = (name(first.source), name(first.target));
    let effect =
        if graph.has_signs() { effect_text(first, &source, &target) } else { String::new() };
    let effect = if effect.is_empty() { effect } else { format!(" ({effect})") };
    let others: Vec<String> = strongest[1..]
        .iter()
        .map(|edge| {
            format!(
                "{} {} {} ({})",
                name(edge.source),
                arrow(edge),
                name(edge.target),
                value_text(graph, edge.probability)
            )
        })
        .collect();
    let others =
        if others.is_empty() { String::new() } else { format!(", then {}", others.join(" and ")) };
    let value = match (first.probability, &graph.score) {
        (_, Some(score)) => format!("{} of {}", score.name, value_text(graph, first.probability)),
        (value, None) if value > 0.995 => "probability above 0.99".to_owned(),
        // Not rounded up to the bound of the sentence before.
        (value, None) if value < SURE => {
            format!("probability of {:.2}", (100.0 * value).floor() / 100.0)
        }
        (value, None) => format!("probability of {value:.2}"),
    };
    format!(
        "The best supported is {source} {} {target} with a {value}{effect}{others}.",
        arrow(first)
    )
}

/// What stands between the ends of an edge.
fn arrow(edge: &EdgeView) -> char {
    if edge.is_undirected() { '—' } else { '→' }
}

/// What an edge does, by the part that carries it.
fn effect_text(edge: &EdgeView, source: &str, target: &str) -> String {
    let sign = |effect: f64| if effect < 0.0 { EffectSign::Negative } else { EffectSign::Positive };
    let later = |sign: EffectSign| match sign {
        EffectSign::Positive => format!("more {source} makes {target} grow faster"),
        EffectSign::Negative => format!("more {source} makes {target} grow slower or fall"),
        EffectSign::Unknown => "its direction depends on the state".to_owned(),
    };
    let at_once = |sign: EffectSign| match sign {
        EffectSign::Positive => "they move in the same direction within a step".to_owned(),
        EffectSign::Negative => "they move in opposite directions within a step".to_owned(),
        EffectSign::Unknown => "they move together within a step".to_owned(),
    };
    match (edge.kind, edge.parts) {
        (LinkKind::Both, Some([lagged, within])) => {
            format!("{}; later, {}", at_once(sign(within)), later(sign(lagged)))
        }
        (LinkKind::WithinStep | LinkKind::Undirected, _) => at_once(edge.sign),
        _ => later(edge.sign),
    }
}

/// Against the truth where one is given, else feedback loops where edges are probable or not.
fn standing(view: &ReportView) -> Option<String> {
    let compared = against_truth(view);
    if compared.is_some() || view.graph.score.is_some() {
        return compared;
    }
    let loops = &view.graph.feedback_loops;
    let Some(largest) = loops.first() else {
        let none = "No variable acts back on itself through others among the probable edges.";
        return Some(none.to_owned());
    };
    let names: Vec<String> =
        largest.iter().take(4).map(|&idx| quoted(&view.graph.variables[idx])).collect();
    let more = largest.len().saturating_sub(4);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(format!(
        "{}: {}{more} act on each other in circles.",
        match loops.len() {
            1 => "There is feedback".to_owned(),
            n => format!("There are {n} groups with feedback; in the largest"),
        },
        names.join(", ")
    ))
}

fn against_truth(view: &ReportView) -> Option<String> {
    let methods = &view.truth.as_ref()?.methods;
    let auroc = |idx: usize| methods.get(idx)?.without_self_edges.auroc;
    let own = auroc(0)?;
    let best = (1..methods.len())
        .filter_map(|idx| Some((auroc(idx)?, &methods[idx].name)))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let beside = best.map_or_else(String::new, |(best, name)| {
        format!("; the best simple method here, {name}, reaches {best:.2}")
    });
    Some(format!(
        "Compared with the known edges, a true one outranks a false one in {:.0} % of cases (AUROC {own:.2}, a \
         coin has 0.50){beside}.",
        100.0 * own
    ))
}

/// A probability as people read it.
pub(crate) fn probability(value: f64) -> String {
    match value {
        value if value > 0.995 => "> 0.99".to_owned(),
        value if value < 0.005 => "< 0.01".to_owned(),
        value => format!("{value:.2}"),
    }
}

/// A name within a sentence, shortened where it would drown it.
fn quoted(name: &str) -> String {
    if name.chars().count() <= NAME_LENGTH {
        return name.to_owned();
    }
    let start: String = name.chars().take(NAME_LENGTH - 1).collect();
    format!("{start}…")
}
