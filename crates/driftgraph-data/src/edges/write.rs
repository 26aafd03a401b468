//! Lists of edges on their way out.

use std::io::{self, Write};

use driftgraph_core::{EdgeScores, SignatureGraph};

/// Writes all D x D edges, best first, under the header `source,target,<score_name>`.
pub fn write_scores(
    out: impl Write,
    variables: &[String],
    score_name: &str,
    scores: &EdgeScores,
) -> io::Result<()> {
    write_edges(out, variables, scores, &[(score_name, scores.matrix().to_vec())])
}

/// Writes all D x D edges in the order of `ranking`, with any number of columns `[source, target]`.
pub fn write_edges(
    out: impl Write,
    variables: &[String],
    ranking: &EdgeScores,
    columns: &[(&str, Vec<f64>)],
) -> io::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    let names = columns.iter().map(|(name, _)| *name);
    table.write_record(["source", "target"].into_iter().chain(names))?;
    for (source, target, _) in ranking.ranked() {
        let idx = source * variables.len() + target;
        let numbers: Vec<String> =
            columns.iter().map(|(_, column)| column[idx].to_string()).collect();
        let edge = [variables[source].as_str(), variables[target].as_str()];
        table.write_record(edge.into_iter().chain(numbers.iter().map(String::as_str)))?;
    }
    table.flush()
}

/// Writes the edges of a true graph under the header `cause,effect,sign`.
pub fn write_truth(
    out: impl Write,
    variables: &[String],
    graph: &SignatureGraph,
    sign: impl Fn(usize, usize) -> Option<char>,
) -> io::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    table.write_record(["cause", "effect", "sign"])?;
    for (source, target) in graph.edges() {
        let sign = sign(source, target).map(String::from).unwrap_or_default();
        table.write_record([&variables[source], &variables[target], &sign])?;
    }
    table.flush()
}
