//! `graph`: the learned edges in any format, and the feedback loops among them.

mod equations;

use std::process::ExitCode;

use driftgraph_core::fitted::edges::{
    EdgeKind, EdgePart, EdgeParts, KeptEdges, LearnedEdge, Verdict, directed_graph, feedback_loops,
};
use driftgraph_data::graph_formats::{GraphFormat, graph_text_with_inputs, kind_word, sign_word};
use driftgraph_data::run_folder::Run;
use driftgraph_run::pictures::graph_picture;
use driftgraph_text::count;
use serde_json::json;

use crate::asking::with_run;
use crate::commands::table;
use crate::endings::graph_format;
use crate::model_args::GraphArgs;
use crate::output::{short, short_or_dash, write_file};
use crate::printer;

/// Feedback loops shown on the terminal.
const SHOWN_LOOPS: usize = 5;

pub(crate) fn run(args: &GraphArgs) -> anyhow::Result<ExitCode> {
    check(args)?;
    if args.equations {
        return equations::run(args);
    }
    // Before any work, so that a name that cannot be written costs none.
    let format = match (&args.format, &args.out) {
        (Some(format), _) => Some(GraphFormat::from(*format)),
        (None, Some(file)) => Some(graph_format(file)?),
        (None, None) => None,
    };
    let (names, edges, inputs) = with_run(&args.run, |run| {
        let mut edges = run.edges();
        // A link without a direction is one line of a list, and two cells of a matrix.
        if format != Some(GraphFormat::Matrix) {
            edges.retain(|edge| !edge.mirrored);
        }
        let names = run.variables().to_vec();
        let is_input = |name: &String| run.record.data.options.inputs.contains(name);
        let inputs: Vec<usize> = (0..names.len()).filter(|&idx| is_input(&names[idx])).collect();
        Ok((names, chosen(args, edges, run)?, inputs))
    })?;
    let loops = feedback_loops(&directed_graph(names.len(), &edges));
    if let Some(file) = &args.svg {
        let picture = graph_picture(&names, &edges, &title(args, edges.len()), &inputs)?;
        write_file(file, |out| out.write_all(picture.as_bytes()))?;
    }
    if let Some(file) = &args.out {
        let format = format.unwrap_or(GraphFormat::Csv);
        let text = graph_text_with_inputs(&names, &edges, &inputs, format);
        write_file(file, |out| out.write_all(text.as_bytes()))?;
        let what = match format {
            GraphFormat::CytoscapeStyle => "the style".to_owned(),
            _ => count(edges.len(), "edge", "edges"),
        };
        printer::note(&format!("wrote {what} to `{}`", file.display()));
    }
    let expected = KeptEdges::of(edges.clone());
    if args.json {
        printer::data(&json_text(&names, &edges, &loops, expected.as_ref())?)?;
    } else if args.out.is_none() {
        if let Some(format) = format {
            printer::data(&graph_text_with_inputs(&names, &edges, &inputs, format))?;
        } else {
            printer::data(&describe(&names, &edges))?;
            tell_inputs(&names, &inputs);
        }
    }
    if let (Some(rate), Some(kept)) = (args.fdr, &expected) {
        tell_rate(rate, kept);
    }
    tell_loops(&names, &loops);
    Ok(ExitCode::SUCCESS)
}

fn check(args: &GraphArgs) -> anyhow::Result<()> {
    if let Some(threshold) = args.threshold {
        anyhow::ensure!(
            (0.0..=1.0).contains(&threshold),
            "`--threshold` must be a probability, found {threshold}"
        );
    }
    if let Some(rate) = args.fdr {
        anyhow::ensure!(
            rate > 0.0 && rate < 1.0,
            "`--fdr` must be a share between 0 and 1, found {rate}"
        );
    }
    Ok(())
}

/// The edges that were asked for.
fn chosen(
    args: &GraphArgs,
    mut edges: Vec<LearnedEdge>,
    run: &Run,
) -> anyhow::Result<Vec<LearnedEdge>> {
    let scored = edges.iter().all(|edge| edge.probability.is_none());
    anyhow::ensure!(
        !scored || (args.threshold.is_none() && args.fdr.is_none()),
        "`{}` gives scores, not probabilities: choose edges with `--top N`",
        run.record.method
    );
    if let Some(k) = args.top {
        edges.truncate(k);
    } else if let Some(rate) = args.fdr {
        edges = KeptEdges::at_rate(&edges, rate).map_or(Vec::new(), |kept| kept.edges);
    } else if scored && edges.iter().any(|edge| edge.test.is_some()) {
        edges.retain(|edge| !edge.failed_its_tests());
    } else if scored {
        // Scores do not say where to cut; the best edges, as many as there are variables, are a start.
        edges.retain(|edge| edge.source != edge.target);
        edges.truncate(run.variables().len());
    } else {
        let threshold = args.threshold.unwrap_or(0.5);
        edges.retain(|edge| edge.is_at_least(threshold));
    }
    Ok(edges)
}

fn title(args: &GraphArgs, n_edges: usize) -> String {
    match (args.top, args.fdr) {
        (Some(_), _) => format!("The {n_edges} most probable edges"),
        (None, Some(rate)) => {
            format!("Edges of which less than {} % are false", short(100.0 * rate))
        }
        (None, None) => {
            format!("Edges with a probability of at least {}", short(args.threshold.unwrap_or(0.5)))
        }
    }
}

fn tell_inputs(names: &[String], inputs: &[usize]) {
    let inputs: Vec<String> = inputs.iter().map(|&idx| format!("`{}`", names[idx])).collect();
    if !inputs.is_empty() {
        printer::note(&format!("set from outside, and driven by nothing: {}", inputs.join(", ")));
    }
}

fn tell_rate(rate: f64, kept: &KeptEdges) {
    if kept.n_links == 0 {
        printer::note(&format!(
            "no edge is sure enough for a share of {} % false ones",
            short(100.0 * rate)
        ));
        return;
    }
    printer::note(&format!(
        "{} between different variables, {:.1} of them expected to be false",
        count(kept.n_links, "edge", "edges"),
        kept.expected_false
    ));
}

fn json_text(
    names: &[String],
    edges: &[LearnedEdge],
    loops: &[Vec<usize>],
    expected: Option<&KeptEdges>,
) -> anyhow::Result<String> {
    let edges: Vec<_> = edges
        .iter()
        .map(|edge| {
            let mut object = json!(edge);
            object["source"] = json!(names[edge.source]);
            object["target"] = json!(names[edge.target]);
            object
        })
        .collect();
    let loops: Vec<Vec<&String>> =
        loops.iter().map(|group| group.iter().map(|&idx| &names[idx]).collect()).collect();
    let mut all = json!({"variables": names, "edges": edges, "feedback_loops": loops});
    if let Some(kept) = expected {
        all["expected_false"] = json!(kept.expected_false);
    }
    Ok(serde_json::to_string_pretty(&all)?)
}

fn describe(names: &[String], edges: &[LearnedEdge]) -> String {
    let with_noise = edges.iter().any(|edge| edge.noise_effect.is_some());
    let with_parts = edges.iter().any(|edge| edge.parts.is_some());
    let with_intervals = edges.iter().any(|edge| edge.interval.is_some());
    let with_kinds = with_parts || are_kinds_told(edges);
    let scored = edges.iter().all(|edge| edge.probability.is_none());
    if edges.iter().all(|edge| edge.effect.is_none()) {
        return plain_table(names, edges, scored);
    }
    let mut header = vec!["source", "target", if scored { "score" } else { "probability" }];
    header.extend(with_kinds.then_some("kind"));
    header.extend(["sign", "effect"]);
    header.extend(with_intervals.then_some("90 %"));
    header.push("strength");
    header.extend(with_noise.then_some("effect on noise"));
    if with_parts {
        header.extend(["lagged", "within a step"]);
    }
    let with_samples = edges.iter().any(|edge| edge.stability.is_some());
    header.push("disagreement");
    header.extend(with_samples.then_some("stability"));
    let mut rows = table(&header);
    for edge in edges {
        let mut cells = vec![
            names[edge.source].clone(),
            names[edge.target].clone(),
            edge.probability.map_or_else(|| short(edge.score), |p| format!("{p:.3}")),
        ];
        cells.extend(with_kinds.then(|| kind_cell(edge)));
        cells.push(sign_word(edge.sign).to_owned());
        cells.push(short_or_dash(edge.effect));
        cells.extend(with_intervals.then(|| interval_cell(edge)));
        cells.push(short_or_dash(edge.strength));
        cells.extend(with_noise.then(|| short_or_dash(edge.noise_effect)));
        if with_parts {
            let part = |of: fn(&EdgeParts) -> &EdgePart| {
                edge.parts.as_ref().map_or("-".to_owned(), |parts| part_cell(of(parts)))
            };
            cells.extend([part(|parts| &parts.lagged), part(|parts| &parts.within_step)]);
        }
        cells.push(short_or_dash(edge.disagreement));
        cells.extend(with_samples.then(|| short_or_dash(edge.stability)));
        rows.add_row(cells);
    }
    rows.trim_fmt()
}

/// Edges of a method that tells no effects: kinds and signs where it tells them.
fn plain_table(names: &[String], edges: &[LearnedEdge], scored: bool) -> String {
    let with_kinds = are_kinds_told(edges);
    let with_signs = edges.iter().any(|edge| edge.sign.is_some());
    let mut header = vec!["source", "target", if scored { "score" } else { "probability" }];
    header.extend(with_kinds.then_some("kind"));
    header.extend(with_signs.then_some("sign"));
    let mut rows = table(&header);
    for edge in edges {
        let number = edge.probability.map_or_else(|| short(edge.score), |p| format!("{p:.3}"));
        let mut cells = vec![names[edge.source].clone(), names[edge.target].clone(), number];
        cells.extend(with_kinds.then(|| kind_cell(edge)));
        cells.extend(with_signs.then(|| sign_word(edge.sign).to_owned()));
        rows.add_row(cells);
    }
    rows.trim_fmt()
}

/// Which part carries an edge, and whether it has a direction.
pub(crate) fn kind_cell(edge: &LearnedEdge) -> String {
    let word = edge.kind.map_or("", kind_word);
    match edge.test.as_ref().map(|test| test.verdict) {
        Some(Verdict::No) => "no link".to_owned(),
        Some(Verdict::Conflict) => format!("{word}, in conflict"),
        _ if edge.is_undirected() => format!("{word}, either way"),
        _ => word.to_owned(),
    }
}

/// Whether any edge is something else than a lagged link.
pub(crate) fn are_kinds_told(edges: &[LearnedEdge]) -> bool {
    let is_other = |edge: &LearnedEdge| edge.kind.is_some_and(|kind| kind != EdgeKind::Lagged);
    edges.iter().any(|edge| is_other(edge) || edge.failed_its_tests())
}

/// Where the effect lies with a probability of 90 %.
fn interval_cell(edge: &LearnedEdge) -> String {
    edge.interval.map_or("-".to_owned(), |[low, high]| format!("{} to {}", short(low), short(high)))
}

/// Probability and effect of one part.
fn part_cell(part: &EdgePart) -> String {
    format!("{:.3}: {}", part.probability, short(part.effect))
}

fn tell_loops(names: &[String], loops: &[Vec<usize>]) {
    if loops.is_empty() {
        printer::note("no feedback loops among these edges");
        return;
    }
    printer::note(&format!("{}:", count(loops.len(), "feedback loop", "feedback loops")));
    for group in loops.iter().take(SHOWN_LOOPS) {
        let members: Vec<&str> = group.iter().map(|&idx| names[idx].as_str()).collect();
        printer::note(&format!("  {}", members.join(", ")));
    }
}
