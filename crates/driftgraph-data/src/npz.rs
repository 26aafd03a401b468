//! Archives of NumPy arrays: `x` (series, time, variable), `t`, `mask`, `graph`, `names`.

use std::io::{BufReader, Read};
use std::path::Path;

use driftgraph_core::SignatureGraph;
use zip::ZipArchive;
use zip::result::ZipError;

use crate::error::{Collector, DataError, DataErrors, Place};
use crate::formats::FileContent;
use crate::npy::Header;
use crate::numbers::NumberStyle;
use crate::options::ReadOptions;
use crate::problem::Problem;
use crate::roles;
use crate::rows::{KeyColumns, NameColumn, Rows, check_row_count};
use crate::source::{self, Limited, OpenFile, TableFile};
use crate::time::RawTimes;

/// Reads an archive; `mask` is true where a cell was observed, `graph` has sources in its rows.
pub(crate) fn read(file: TableFile<'_>, options: &ReadOptions) -> Result<FileContent, DataErrors> {
    let path = file.path;
    let mut archive = Archive::open(file, options.max_bytes)?;
    let shape = archive.shape_of_x()?;
    let mut values = archive.numbers("x", &[shape.as_x()])?;
    shape.check_not_empty(path)?;
    if archive.has("mask") {
        let mask = archive.numbers("mask", &[shape.as_x()])?;
        for (value, observed) in values.iter_mut().zip(&mask) {
            if *observed == 0.0 {
                *value = f64::NAN;
            }
        }
    }
    NumberStyle::new(options).remove_missing(&mut values);
    let times = archive.times(&shape, options.even_steps)?;
    let names = archive.names(shape.n_variables)?;
    let graph = archive.graph(shape.n_variables)?;
    let rows = rows_of_arrays(path, &shape, &times, &values, &names)?;
    Ok(select(rows, graph, options).map_err(|problem| Place::file(path).problem(problem))?)
}

/// Shape of `x`: (series, time, variable), or (time, variable) for one series.
struct Shape {
    found: Vec<u64>,
    n_series: usize,
    n_times: usize,
    n_variables: usize,
}

impl Shape {
    fn as_x(&self) -> Vec<u64> {
        self.found.clone()
    }

    fn check_not_empty(&self, path: &Path) -> Result<(), DataError> {
        if self.n_variables == 0 {
            return Err(Place::file(path).problem(Problem::NoVariables));
        }
        let n_rows = self.n_series * self.n_times;
        if n_rows == 0 {
            return Err(Place::file(path).problem(Problem::NoRows));
        }
        check_row_count(n_rows).map_err(|problem| Place::file(path).problem(problem))
    }
}

struct Archive<'a> {
    path: &'a Path,
    zip: ZipArchive<BufReader<OpenFile>>,
    max_bytes: u64,
}

impl<'a> Archive<'a> {
    fn open(file: TableFile<'a>, max_bytes: u64) -> Result<Self, DataError> {
        let path = file.path;
        let file = file.open(max_bytes)?;
        let zip = ZipArchive::new(BufReader::new(file)).map_err(|error| damaged(path, &error))?;
        Ok(Self { path, zip, max_bytes })
    }

    fn has(&self, name: &str) -> bool {
        self.zip.index_for_name(&format!("{name}.npy")).is_some()
    }

    /// Opens one array; its header is read and promises no more than is allowed.
    fn array(&mut self, name: &str) -> Result<(Header, impl Read), DataError> {
        let path = self.path;
        let names = self.zip.file_names().flatten();
        let found = names.map(|file| file.trim_end_matches(".npy").to_owned()).collect();
        let limit = self.max_bytes;
        let name = name.to_owned();
        let entry = self.zip.by_name(&format!("{name}.npy")).map_err(|error| match error {
            ZipError::FileNotFound => {
                Place::file(path).problem(Problem::NoArray { name: name.clone(), found })
            }
            error => damaged(path, &error),
        })?;
        let mut reader = Limited { reader: entry, left: limit };
        let header = Header::read(&mut reader).map_err(|error| source::io_error(path, &error))?;
        if header.holds_objects() {
            return Err(Place::file(path).problem(Problem::ObjectArray { name }));
        }
        if header.n_bytes().is_none_or(|n_bytes| n_bytes > limit) {
            return Err(Place::file(path).column(&name).problem(Problem::TooLarge { limit }));
        }
        Ok((header, reader))
    }

    fn shape_of_x(&mut self) -> Result<Shape, DataError> {
        let found = self.array("x")?.0.shape;
        let (n_series, n_times, n_variables) = match found[..] {
            [n_series, n_times, n_variables] => (n_series, n_times, n_variables),
            [n_times, n_variables] => (1, n_times, n_variables),
            _ => {
                let expected = "(series, time, variable) or (time, variable)".to_owned();
                let problem = Problem::ArrayShape { name: "x".to_owned(), found, expected };
                return Err(Place::file(self.path).problem(problem));
            }
        };
        let [n_series, n_times, n_variables] =
            [n_series, n_times, n_variables].map(|size| size as usize);
        Ok(Shape { found, n_series, n_times, n_variables })
    }

    /// The array's numbers in C order; its shape must be one of `shapes`.
    fn numbers(&mut self, name: &str, shapes: &[Vec<u64>]) -> Result<Vec<f64>, DataError> {
        let path = self.path;
        let (header, reader) = self.array(name)?;
        let name = name.to_owned();
        if !shapes.contains(&header.shape) {
            let expected = shapes.iter().map(|shape| format!("{shape:?}"));
            let expected = expected.collect::<Vec<_>>().join(" or ");
            let problem = Problem::ArrayShape { name, found: header.shape, expected };
            return Err(Place::file(path).problem(problem));
        }
        match header.numbers(reader) {
            Ok(Some(numbers)) => Ok(numbers),
            Ok(None) => {
                let (found, expected) = (header.type_text, "numbers");
                Err(Place::file(path).problem(Problem::ArrayType { name, found, expected }))
            }
            Err(error) => Err(source::io_error(path, &error)),
        }
    }

    fn times(&mut self, shape: &Shape, is_even: bool) -> Result<Vec<f64>, DataError> {
        let (n_series, n_times) = (shape.n_series as u64, shape.n_times as u64);
        if is_even && !self.has("t") {
            return Ok((0..shape.n_times)
                .map(|row| row as f64)
                .collect::<Vec<_>>()
                .repeat(shape.n_series));
        }
        let times = self.numbers("t", &[vec![n_times], vec![n_series, n_times]])?;
        // One vector of times serves all series.
        Ok(if times.len() == shape.n_times && shape.n_series != 1 {
            times.repeat(shape.n_series)
        } else {
            times
        })
    }

    fn names(&mut self, n_variables: usize) -> Result<Vec<String>, DataError> {
        if !self.has("names") {
            return Ok((1..=n_variables).map(|idx| format!("x{idx}")).collect());
        }
        let path = self.path;
        let (header, reader) = self.array("names")?;
        let name = "names".to_owned();
        if header.shape != [n_variables as u64] {
            let (found, expected) = (header.shape, format!("[{n_variables}]"));
            return Err(Place::file(path).problem(Problem::ArrayShape { name, found, expected }));
        }
        let texts = header.texts(reader).map_err(|error| source::io_error(path, &error))?;
        let names = texts.ok_or_else(|| {
            let (found, expected) = (header.type_text, "text");
            Place::file(path).problem(Problem::ArrayType { name, found, expected })
        })?;
        roles::check_names(&names)
            .map_err(|problem| Place::file(path).column("names").problem(problem))?;
        Ok(names)
    }

    fn graph(&mut self, n_variables: usize) -> Result<Option<SignatureGraph>, DataError> {
        if !self.has("graph") {
            return Ok(None);
        }
        let size = n_variables as u64;
        let numbers = self.numbers("graph", &[vec![size, size]])?;
        let edges = numbers.iter().map(|&number| number != 0.0).collect();
        let graph = SignatureGraph::from_matrix(n_variables, edges);
        Ok(Some(graph.expect("the shape of the array was checked")))
    }
}

/// Checks every cell and time; a row without any value may be padding, and needs no time.
fn rows_of_arrays(
    path: &Path,
    shape: &Shape,
    times: &[f64],
    values: &[f64],
    names: &[String],
) -> Result<Rows, DataErrors> {
    let mut collector = Collector::default();
    let (mut series, mut kept_times) = (NameColumn::default(), Vec::new());
    let (mut kept_values, mut lines) = (Vec::with_capacity(values.len()), Vec::new());
    for (row, cells) in values.chunks_exact(shape.n_variables).enumerate() {
        let time = times[row];
        if cells.iter().all(|value| value.is_nan()) && !time.is_finite() {
            continue;
        }
        let (series_idx, time_idx) = (row / shape.n_times, row % shape.n_times);
        if let Some(variable) = cells.iter().position(|value| value.is_infinite()) {
            let place =
                Place::file(path).column(&format!("x[{series_idx}, {time_idx}, {variable}]"));
            collector
                .push(place.problem(Problem::Infinite { text: cells[variable].to_string() }))?;
        }
        if !time.is_finite() {
            let place = Place::file(path).column(&format!("t[{series_idx}, {time_idx}]"));
            collector.push(place.problem(Problem::NotATime { text: time.to_string() }))?;
        }
        series.push(&(series_idx + 1).to_string());
        kept_times.push(time);
        kept_values.extend_from_slice(cells);
        lines.push(row as u32 + 1);
    }
    collector.finish()?;
    Ok(Rows {
        words: Vec::new(),
        file: path.to_owned(),
        variables: names.to_vec(),
        key_columns: KeyColumns::default(),
        series: Some(series),
        times: RawTimes::Numbers(kept_times),
        values: kept_values,
        lines,
        notices: Vec::new(),
    })
}

/// Keeps the variables the user asked for, in the rows and in the graph.
fn select(
    rows: Rows,
    graph: Option<SignatureGraph>,
    options: &ReadOptions,
) -> Result<(Rows, Option<SignatureGraph>), Problem> {
    let kept = roles::choose(&rows.variables, options)?;
    if kept.len() == rows.variables.len() && kept.is_sorted() {
        return Ok((rows, graph));
    }
    let values = rows.values.chunks_exact(rows.variables.len());
    let values = values.flat_map(|row| kept.iter().map(|&idx| row[idx])).collect();
    let variables = kept.iter().map(|&idx| rows.variables[idx].clone()).collect();
    let graph = graph.map(|whole| {
        let mut part = SignatureGraph::empty(kept.len());
        for (source, &i) in kept.iter().enumerate() {
            for (target, &j) in kept.iter().enumerate() {
                part.set_edge(source, target, whole.has_edge(i, j));
            }
        }
        part
    });
    Ok((Rows { variables, values, ..rows }, graph))
}

fn damaged(path: &Path, error: &ZipError) -> DataError {
    match error {
        ZipError::Io(error) => source::io_error(path, error),
        error => Place::file(path).problem(Problem::Damaged { reason: error.to_string() }),
    }
}
