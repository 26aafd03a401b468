//! Lists of edges: what a method found, and what is true.

mod write;

use std::collections::{HashMap, HashSet};
use std::path::Path;

use bytes::Bytes;
use driftgraph_core::{EdgeScores, SignatureGraph};

use crate::csv_table::{Table, TextRow, parse_number};
use crate::error::{Collector, DataErrors, Place};
use crate::problem::Problem;
use crate::roles::check_names;
use crate::source::TableFile;

pub use write::{write_edges, write_scores, write_truth};

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
    /// Scores that rank the edges where probabilities round to 1, in the order of `edges`.
    ranking: Option<Vec<f64>>,
    /// Whether the scores are the cells of a matrix, whose column has no name.
    is_matrix: bool,
}

/// Most bytes read from a list of edges: ten thousand variables, every pair.
const MAX_BYTES: u64 = 4 << 30;
/// Most variables whose pairs are held in memory: 3.2 GB of scores.
const MOST_VARIABLES: usize = 20_000;

impl EdgeTable {
    /// Scores of all pairs of `variables`; pairs that are not listed get the lowest score.
    ///
    /// The lowest score is 0 if no listed score is negative, else just below the least.
    pub fn scores(&self, variables: &[String]) -> Result<EdgeScores, Problem> {
        self.matrix(variables, |idx| self.edges[idx].2)
    }

    /// Scores that rank all pairs: those of the column `score` where it stands beside a
    /// `probability`, since probabilities of strong edges round to 1; else the same as
    /// [`scores`](Self::scores).
    pub fn ranking(&self, variables: &[String]) -> Result<EdgeScores, Problem> {
        match &self.ranking {
            Some(ranking) => self.matrix(variables, |idx| ranking[idx]),
            None => self.scores(variables),
        }
    }

    fn matrix(
        &self,
        variables: &[String],
        score: impl Fn(usize) -> f64,
    ) -> Result<EdgeScores, Problem> {
        let least = (0..self.edges.len()).map(&score).fold(0.0, f64::min);
        let absent = if least < 0.0 { least.next_down() } else { 0.0 };
        let position = self.positions(variables)?;
        let mut matrix = vec![absent; variables.len() * variables.len()];
        for (idx, &(source, target, _)) in self.edges.iter().enumerate() {
            matrix[position[source] * variables.len() + position[target]] = score(idx);
        }
        Ok(EdgeScores::from_matrix(variables.len(), matrix)
            .expect("the matrix is square and every score was read as a number"))
    }

    /// The listed edges as a true graph over `variables`; edges with the weight 0 are absent.
    ///
    /// Weights of true edges are 1, 0 or -1. Other numbers say that the list holds scored edges, of which
    /// nobody said which are true: it is refused.
    pub fn graph(&self, variables: &[String]) -> Result<SignatureGraph, Problem> {
        if let Some((.., score)) = self.edges.iter().find(|(.., score)| !is_truth(*score)) {
            let column = self.score_name.clone().filter(|_| !self.is_matrix);
            return Err(Problem::NotATruth { column, found: *score });
        }
        let position = self.positions(variables)?;
        let mut graph = SignatureGraph::empty(variables.len());
        for &(source, target, score) in &self.edges {
            graph.set_edge(position[source], position[target], score != 0.0);
        }
        Ok(graph)
    }

    /// The listed edges with their probabilities, which a list of bare edges or of scores does not have.
    pub fn probabilities(&self) -> Result<impl Iterator<Item = (&str, &str, f64)>, Problem> {
        let is_probability = self.score_name.as_deref() == Some("probability");
        if is_probability || self.is_matrix {
            return Ok(self.edges());
        }
        Err(Problem::NoProbabilities { column: self.score_name.clone() })
    }

    /// The listed edges in file order: names of source and target, and score.
    pub fn edges(&self) -> impl Iterator<Item = (&str, &str, f64)> {
        let name = |idx: usize| self.variables[idx].as_str();
        self.edges.iter().map(move |&(source, target, score)| (name(source), name(target), score))
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
        if variables.len() > MOST_VARIABLES {
            let (found, most) = (variables.len(), MOST_VARIABLES);
            return Err(Problem::TooManyVariables { found, most });
        }
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

/// Whether a weight says that an edge is true (with its sign, perhaps) or that it is not.
fn is_truth(weight: f64) -> bool {
    [0.0, 1.0, -1.0].contains(&weight)
}

/// Reads a list of edges (`source,target,score`, `cause,effect`, ...) or a square matrix.
///
/// A matrix carries names in its first row and first column; since half of the field writes
/// sources in rows and half in columns, it is refused without an `orientation`.
pub fn read_edges(path: &Path, orientation: Option<Orientation>) -> Result<EdgeTable, DataErrors> {
    read_file(TableFile::on_disk(path), orientation)
}

/// Reads a list of edges where nobody can say what the rows of a matrix are: matrices are refused as such.
pub fn read_edge_list(path: &Path) -> Result<EdgeTable, DataErrors> {
    read_edges(path, None).map_err(|errors| {
        let is_matrix = errors.errors().iter().any(|error| error.problem == Problem::NoOrientation);
        if is_matrix { Place::file(path).problem(Problem::MatrixForList).into() } else { errors }
    })
}

/// The same of bytes that are in memory; messages call them by a name.
pub fn read_edges_in_memory(
    name: &Path,
    bytes: &Bytes,
    orientation: Option<Orientation>,
) -> Result<EdgeTable, DataErrors> {
    read_file(TableFile::in_memory(name, bytes), orientation)
}

fn read_file(
    file: TableFile<'_>,
    orientation: Option<Orientation>,
) -> Result<EdgeTable, DataErrors> {
    let mut table = Table::open(file, None, MAX_BYTES)?;
    let columns = table.header()?;
    match EdgeColumns::find(&columns) {
        Some(roles) => read_list(&mut table, &columns, &roles),
        None if is_edge(&columns) => {
            Err(table.place().problem(Problem::NotAnEdgeList { columns }).into())
        }
        None => read_matrix(&mut table, &columns, orientation),
    }
}

/// Whether a first row is an edge already, `G1,G2,0.5`, in a list without a header.
fn is_edge(columns: &[String]) -> bool {
    let is_number = |name: &String| name.parse::<f64>().is_ok();
    columns.len() == 3 && !is_number(&columns[1]) && is_number(&columns[2])
}

/// Positions of the columns of a list of edges.
struct EdgeColumns {
    source: usize,
    target: usize,
    score: Option<usize>,
    /// A column `score` beside a column `probability`.
    ranking: Option<usize>,
    /// A column that says of a link that it has no direction.
    direction: Option<usize>,
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
        let ranking = find(&["probability"]).and_then(|_| find(&["score"]));
        let direction = find(&["direction"]);
        Some(Self { source, target, score, ranking, direction })
    }
}

fn read_list(
    table: &mut Table<'_>,
    columns: &[String],
    roles: &EdgeColumns,
) -> Result<EdgeTable, DataErrors> {
    let mut names = Names::default();
    let (mut edges, mut ranking) = (Vec::new(), Vec::new());
    let (mut seen, mut undirected) = (HashSet::new(), Vec::new());
    let mut collector = Collector::default();
    let file = table.place();
    while let Some(row) = table.next_row()? {
        let mut place = file.clone().row(row.line());
        match read_edge(row, columns, roles) {
            Ok(Edge { source, target, score, rank, has_direction }) => {
                let edge = (names.idx(source), names.idx(target));
                if seen.insert(edge) {
                    if !has_direction {
                        undirected.push((edge, score, rank));
                    }
                    edges.push((edge.0, edge.1, score));
                    ranking.extend(rank);
                    continue;
                }
                let (source_name, target_name) = (source.to_owned(), target.to_owned());
                let problem = Problem::DuplicateEdge { source_name, target_name };
                collector.push(place.problem(problem))?;
            }
            Err((column, problem)) => {
                place.column = column.map(|idx| columns[idx].clone());
                collector.push(place.problem(problem))?;
            }
        }
    }
    collector.finish()?;
    // A link that is listed once counts both ways; one that is listed both ways is as it stands.
    for ((source, target), score, rank) in undirected {
        if seen.insert((target, source)) {
            edges.push((target, source, score));
            ranking.extend(rank);
        }
    }
    let score_name = roles.score.map(|idx| columns[idx].to_ascii_lowercase());
    let ranking = roles.ranking.map(|_| ranking);
    let variables = names.names;
    Ok(EdgeTable { variables, score_name, edges, ranking, is_matrix: false })
}

/// One row of a list.
struct Edge<'a> {
    source: &'a str,
    target: &'a str,
    score: f64,
    rank: Option<f64>,
    has_direction: bool,
}

/// One row of a list; or what is wrong with it, and in which column.
fn read_edge<'a>(
    row: &'a TextRow,
    columns: &[String],
    roles: &EdgeColumns,
) -> Result<Edge<'a>, (Option<usize>, Problem)> {
    if row.len() != columns.len() {
        return Err((None, Problem::Ragged { expected: columns.len(), found: row.len() }));
    }
    let name = |column: usize| match row.cell(column).trim() {
        "" => Err((Some(column), Problem::EmptyCell { text: String::new() })),
        name => Ok(name),
    };
    let number =
        |column: usize| parse_score(row.cell(column)).map_err(|problem| (Some(column), problem));
    Ok(Edge {
        source: name(roles.source)?,
        target: name(roles.target)?,
        score: roles.score.map_or(Ok(1.0), number)?,
        rank: roles.ranking.map(number).transpose()?,
        has_direction: roles.direction.is_none_or(|column| row.cell(column).trim() != "either"),
    })
}

/// A score must be there: a hole is no opinion, and no opinion has no rank. It may be infinite:
/// so are the log-odds of an edge that was forbidden or required.
fn parse_score(text: &str) -> Result<f64, Problem> {
    let score = match text.trim() {
        "inf" => f64::INFINITY,
        "-inf" => f64::NEG_INFINITY,
        text => parse_number(text).map_err(|problem| match problem {
            Problem::NotANumber { text } => Problem::NotAScore { text },
            other => other,
        })?,
    };
    if score.is_nan() {
        return Err(Problem::EmptyCell { text: text.trim().to_owned() });
    }
    Ok(score)
}

fn read_matrix(
    table: &mut Table<'_>,
    columns: &[String],
    orientation: Option<Orientation>,
) -> Result<EdgeTable, DataErrors> {
    let place = table.place();
    let names = columns.get(1..).unwrap_or_default().to_vec();
    let mut rows = Vec::new();
    let mut values = Vec::new();
    let mut collector = Collector::default();
    while let Some(row) = table.next_row()? {
        let name = row.cell(0).trim().to_owned();
        // The first row decides whether this is a matrix at all.
        if rows.is_empty() && !names.contains(&name) {
            break;
        }
        let place = place.clone().row(row.line());
        if row.len() != columns.len() {
            let problem = Problem::Ragged { expected: columns.len(), found: row.len() };
            collector.push(place.clone().problem(problem))?;
        }
        for column in 1..columns.len().min(row.len()) {
            match parse_score(row.cell(column)) {
                Ok(value) => values.push(value),
                Err(problem) => {
                    collector.push(place.clone().column(&columns[column]).problem(problem))?;
                }
            }
        }
        rows.push(name);
    }
    collector.finish()?;
    check_matrix(columns, &names, &rows).map_err(|problem| place.clone().problem(problem))?;
    let orientation = orientation.ok_or_else(|| place.problem(Problem::NoOrientation))?;
    let edges = values.iter().enumerate().map(|(idx, &value)| {
        let (row, column) = (idx / names.len(), idx % names.len());
        match orientation {
            Orientation::SourceRows => (row, column, value),
            Orientation::TargetRows => (column, row, value),
        }
    });
    Ok(EdgeTable {
        edges: edges.collect(),
        variables: names,
        score_name: Some("score".to_owned()),
        ranking: None,
        is_matrix: true,
    })
}

/// Rows and columns of a matrix must be the same variables in the same order.
fn check_matrix(columns: &[String], names: &[String], rows: &[String]) -> Result<(), Problem> {
    if rows.is_empty() {
        return Err(Problem::NotAnEdgeList { columns: columns.to_vec() });
    }
    check_names(names)?;
    if rows.len() != names.len() {
        return Err(Problem::NotSquare { rows: rows.len(), columns: names.len() });
    }
    match rows.iter().zip(names).position(|(row, column)| row != column) {
        None => Ok(()),
        Some(idx) => {
            let (row, column) = (rows[idx].clone(), names[idx].clone());
            Err(Problem::MatrixNames { position: idx + 1, row, column })
        }
    }
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
