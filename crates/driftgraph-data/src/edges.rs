//! Lists of edges: what a method found, and what is true.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::path::Path;

use driftgraph_core::{EdgeScores, SignatureGraph};

use crate::csv_table::{Table, parse_number};
use crate::error::{Collector, DataError, DataErrors, Problem};

/// What the rows of a square matrix are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Orientation {
    /// Row i, column j is the edge i -> j.
    SourceRows,
    /// Row i, column j is the edge j -> i.
    TargetRows,
}

/// Edges with a score each, as a file lists them.
#[derive(Debug, Clone, PartialEq)]
pub struct EdgeTable {
    /// All names, in order of first appearance.
    pub variables: Vec<String>,
    /// What the score column was called: "probability", "score", ...; `None` for bare edges.
    pub score_name: Option<String>,
    edges: Vec<(usize, usize, f64)>,
}

/// Most bytes read from a list of edges: ten thousand variables, every pair.
const MAX_BYTES: u64 = 4 << 30;

impl EdgeTable {
    /// Scores of all pairs of `variables`; pairs that are not listed get the lowest score.
    ///
    /// The lowest score is 0 if no listed score is negative, else one below the least.
    pub fn scores(&self, variables: &[String]) -> Result<EdgeScores, Problem> {
        let least = self.edges.iter().map(|edge| edge.2).fold(0.0, f64::min);
        let absent = if least < 0.0 { least - 1.0 } else { 0.0 };
        let mut matrix = vec![absent; variables.len() * variables.len()];
        let position = self.positions(variables)?;
        for &(source, target, score) in &self.edges {
            matrix[position[source] * variables.len() + position[target]] = score;
        }
        Ok(EdgeScores::from_matrix(variables.len(), matrix)
            .expect("the matrix is square and every score was read as a number"))
    }

    /// The listed edges as a graph over `variables`; edges with score 0 are absent.
    pub fn graph(&self, variables: &[String]) -> Result<SignatureGraph, Problem> {
        let position = self.positions(variables)?;
        let mut graph = SignatureGraph::empty(variables.len());
        for &(source, target, score) in &self.edges {
            graph.set_edge(position[source], position[target], score != 0.0);
        }
        Ok(graph)
    }

    /// Number of edges listed.
    pub fn len(&self) -> usize {
        self.edges.len()
    }

    /// Whether no edge is listed.
    pub fn is_empty(&self) -> bool {
        self.edges.is_empty()
    }

    fn positions(&self, variables: &[String]) -> Result<Vec<usize>, Problem> {
        let known: HashMap<&String, usize> =
            variables.iter().enumerate().map(|(idx, name)| (name, idx)).collect();
        let find = |name: &String| {
            let unknown =
                || Problem::UnknownVariable { name: name.clone(), known: variables.to_vec() };
            known.get(name).copied().ok_or_else(unknown)
        };
        self.variables.iter().map(find).collect()
    }
}

/// Reads a list of edges (`source,target,score`, `cause,effect`, ...) or a square matrix.
///
/// A matrix carries names in its first row and first column; since half of the field writes
/// sources in rows and half in columns, it is refused without an `orientation`.
pub fn read_edges(path: &Path, orientation: Option<Orientation>) -> Result<EdgeTable, DataErrors> {
    let mut table = Table::open(path, None, MAX_BYTES)?;
    let columns = table.header()?;
    let Some(roles) = EdgeColumns::find(&columns) else {
        return read_matrix(&mut table, &columns, orientation);
    };
    read_list(&mut table, &columns, &roles)
}

/// Positions of the columns of a list of edges.
struct EdgeColumns {
    source: usize,
    target: usize,
    score: Option<usize>,
}

impl EdgeColumns {
    fn find(columns: &[String]) -> Option<Self> {
        let find = |names: &[&str]| {
            let mut found = names.iter().filter_map(|name| {
                columns.iter().position(|column| column.eq_ignore_ascii_case(name))
            });
            found.next()
        };
        let source = find(&["source", "cause", "from", "regulator", "gene1"])?;
        let target = find(&["target", "effect", "to", "gene2"])?;
        let score = find(&["probability", "score", "weight", "importance"]);
        Some(Self { source, target, score })
    }
}

fn read_list(
    table: &mut Table<'_>,
    columns: &[String],
    roles: &EdgeColumns,
) -> Result<EdgeTable, DataErrors> {
    let mut names = Names::default();
    let mut edges = Vec::new();
    let mut seen = HashSet::new();
    let mut collector = Collector::default();
    while let Some(record) = table.next_record()? {
        let cell = |column: usize| record.get(column).unwrap_or_default().trim().to_owned();
        let (source, target) = (cell(roles.source), cell(roles.target));
        let score = roles.score.map(cell);
        let n_cells = record.len();
        let place = table.place().row(table.line());
        if n_cells != columns.len() {
            let problem = Problem::Ragged { expected: columns.len(), found: n_cells };
            collector.push(place.problem(problem))?;
            continue;
        }
        let empty = [(roles.source, &source), (roles.target, &target)];
        if let Some((column, _)) = empty.into_iter().find(|(_, name)| name.is_empty()) {
            collector.push(place.column(&columns[column]).problem(Problem::EmptyCell))?;
            continue;
        }
        let value = match score.as_deref().map(parse_score) {
            None => 1.0,
            Some(Ok(value)) => value,
            Some(Err(problem)) => {
                let column = roles.score.map_or("", |idx| &columns[idx]);
                collector.push(place.column(column).problem(problem))?;
                continue;
            }
        };
        let edge = (names.idx(&source), names.idx(&target));
        if !seen.insert(edge) {
            let problem = Problem::DuplicateEdge { source_name: source, target_name: target };
            collector.push(place.problem(problem))?;
            continue;
        }
        edges.push((edge.0, edge.1, value));
    }
    collector.finish()?;
    let score_name = roles.score.map(|idx| columns[idx].to_ascii_lowercase());
    Ok(EdgeTable { variables: names.names, score_name, edges })
}

/// A score must be there: a hole is no opinion, and no opinion has no rank.
fn parse_score(text: &str) -> Result<f64, Problem> {
    let score = parse_number(text)?;
    if score.is_nan() { Err(Problem::NotANumber { text: text.to_owned() }) } else { Ok(score) }
}

fn read_matrix(
    table: &mut Table<'_>,
    columns: &[String],
    orientation: Option<Orientation>,
) -> Result<EdgeTable, DataErrors> {
    let names = columns.get(1..).unwrap_or_default().to_vec();
    let mut rows = Vec::new();
    let mut values = Vec::new();
    let mut collector = Collector::default();
    let not_a_list = |place: crate::Place| -> DataError {
        place.problem(Problem::NotAnEdgeList { columns: columns.to_vec() })
    };
    while let Some(record) = table.next_record()? {
        let cells: Vec<String> = record.iter().map(|cell| cell.trim().to_owned()).collect();
        let place = table.place().row(table.line());
        // The first row decides whether this is a matrix at all.
        let is_matrix = cells.len() == columns.len() && names.contains(&cells[0]);
        if rows.is_empty() && !is_matrix {
            return Err(not_a_list(table.place()).into());
        }
        if cells.len() != columns.len() {
            let problem = Problem::Ragged { expected: columns.len(), found: cells.len() };
            collector.push(place.problem(problem))?;
            continue;
        }
        for (column, cell) in cells.iter().enumerate().skip(1) {
            match parse_score(cell) {
                Ok(value) => values.push(value),
                Err(problem) => {
                    collector.push(place.clone().column(&columns[column]).problem(problem))?;
                }
            }
        }
        rows.push(cells[0].clone());
    }
    collector.finish()?;
    if rows.is_empty() {
        return Err(not_a_list(table.place()).into());
    }
    if rows != names {
        return Err(table.place().problem(Problem::MatrixNames { rows, columns: names }).into());
    }
    let orientation = orientation.ok_or_else(|| table.place().problem(Problem::NoOrientation))?;
    let edges = values.iter().enumerate().map(|(idx, &value)| {
        let (row, column) = (idx / names.len(), idx % names.len());
        match orientation {
            Orientation::SourceRows => (row, column, value),
            Orientation::TargetRows => (column, row, value),
        }
    });
    Ok(EdgeTable { edges: edges.collect(), score_name: Some("score".to_owned()), variables: names })
}

#[derive(Default)]
struct Names {
    names: Vec<String>,
    by_name: HashMap<String, usize>,
}

impl Names {
    fn idx(&mut self, name: &str) -> usize {
        if let Some(&idx) = self.by_name.get(name) {
            return idx;
        }
        self.names.push(name.to_owned());
        self.by_name.insert(name.to_owned(), self.names.len() - 1);
        self.names.len() - 1
    }
}

/// Writes all D x D edges, best first, under the header `source,target,<score_name>`.
pub fn write_scores(
    out: impl Write,
    variables: &[String],
    score_name: &str,
    scores: &EdgeScores,
) -> io::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    table.write_record(["source", "target", score_name])?;
    for (source, target, score) in scores.ranked() {
        let score = score.to_string();
        table.write_record([&variables[source], &variables[target], &score])?;
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
