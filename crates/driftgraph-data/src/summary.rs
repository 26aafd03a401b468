//! What the loader understood, in numbers, and what a user should know before trusting it.

use driftgraph_core::{ObservedSeries, SeriesSet, Standardizer, Uninformative};

use crate::doubtful_columns;
use crate::graph_limits::Limits;
pub use crate::graph_limits::pace::Pace;
use crate::message_text::list;
use crate::{Loaded, TimeAxis};

/// A description of loaded data.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Summary {
    /// Number of series.
    pub series: usize,
    /// Number of variables.
    pub variables: usize,
    /// Number of rows over all series.
    pub rows: usize,
    /// Number of cells without a value.
    pub missing_cells: usize,
    /// Share of cells without a value, from 0 to 1.
    pub missing_share: f64,
    /// The column taken as time; `None` for an archive of arrays.
    pub time_column: Option<String>,
    /// The column taken as series; `None` where there is none.
    pub series_column: Option<String>,
    /// Unit and origin of the times.
    pub time: TimeAxis,
    /// Earliest and latest time.
    pub span: [f64; 2],
    /// Median gap between neighbouring times of a series; `None` if no series has two rows.
    pub median_gap: Option<f64>,
    /// Fewest and most rows of a series.
    pub rows_per_series: [usize; 2],
    /// Each variable in turn.
    pub variable_details: Vec<VariableSummary>,
    /// How fast the variables change beside seasons and lines, and what can be seen at that pace; `None` where rows are few.
    pub pace: Option<Pace>,
    /// Whether there is something to learn from: a variable that changes within a series.
    pub usable: bool,
    /// What may be wrong with the data.
    pub warnings: Vec<String>,
    /// What was decided or changed while reading.
    pub notices: Vec<String>,
}

/// A description of one variable.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct VariableSummary {
    /// Its name.
    pub name: String,
    /// Number of cells with a value.
    pub observed: usize,
    /// Number of cells without one.
    pub missing: usize,
    /// Least value, `None` if nothing was observed.
    pub min: Option<f64>,
    /// Mean of the values.
    pub mean: Option<f64>,
    /// Greatest value.
    pub max: Option<f64>,
    /// Whether no two values differ.
    pub constant: bool,
}

impl Summary {
    /// Describes loaded data.
    pub fn new(loaded: &Loaded) -> Self {
        Self::for_fit_to(loaded, &loaded.data)
    }

    /// Describes loaded data, with warnings about a graph that is learned from what is left of them.
    pub fn for_fit_to(loaded: &Loaded, left: &SeriesSet) -> Self {
        let data = &loaded.data;
        let variable_details: Vec<_> =
            (0..data.n_variables()).map(|idx| VariableSummary::new(data, idx)).collect();
        let limits = Limits::of(left, &loaded.time_axis);
        let pace = limits.pace(left);
        let warnings = warnings(loaded, limits.warnings, &variable_details);
        let lengths = || data.series().iter().map(ObservedSeries::n_observations);
        let times = || data.series().iter().map(ObservedSeries::times);
        let missing_cells = data.n_missing();
        Self {
            series: data.n_series(),
            variables: data.n_variables(),
            rows: data.n_rows(),
            missing_cells,
            missing_share: missing_cells as f64 / (data.n_rows() * data.n_variables()) as f64,
            time_column: loaded.time_column.clone(),
            series_column: loaded.series_column.clone(),
            time: loaded.time_axis.clone(),
            span: [
                times().map(|times| times[0]).fold(f64::INFINITY, f64::min),
                times().map(|times| times[times.len() - 1]).fold(f64::NEG_INFINITY, f64::max),
            ],
            median_gap: median_gap(data),
            pace,
            rows_per_series: [lengths().min().unwrap_or(0), lengths().max().unwrap_or(0)],
            variable_details,
            usable: data.series().iter().any(changes),
            warnings,
            notices: loaded.notices.clone(),
        }
    }
}

impl VariableSummary {
    fn new(data: &SeriesSet, variable_idx: usize) -> Self {
        let values = || data.observed_values(variable_idx);
        let observed = values().count();
        let min = values().reduce(f64::min);
        let max = values().reduce(f64::max);
        let mean = values()
            .enumerate()
            .fold(0.0, |mean, (n, value)| mean + (value - mean) / (n as f64 + 1.0));
        Self {
            name: data.variables()[variable_idx].clone(),
            observed,
            missing: data.n_rows() - observed,
            min,
            mean: (observed > 0).then_some(mean),
            max,
            constant: min == max,
        }
    }
}

/// Why data may not carry a graph whatever the method: those warnings alone that concern what is learned.
pub fn limits_of_graph(data: &SeriesSet, time: &TimeAxis) -> Vec<String> {
    Limits::of(data, time).warnings
}

/// Whether some variable has two different values along the series.
fn changes(series: &ObservedSeries) -> bool {
    (0..series.n_variables()).any(|variable| doubtful_columns::changes(series, variable))
}

fn median_gap(data: &SeriesSet) -> Option<f64> {
    let gaps = data.series().iter().flat_map(|series| series.times().windows(2));
    let mut gaps: Vec<f64> = gaps.map(|pair| pair[1] - pair[0]).collect();
    if gaps.is_empty() {
        return None;
    }
    let middle = gaps.len() / 2;
    Some(*gaps.select_nth_unstable_by(middle, f64::total_cmp).1)
}

fn warnings(loaded: &Loaded, limits: Vec<String>, variables: &[VariableSummary]) -> Vec<String> {
    let data = &loaded.data;
    let mut warnings = Vec::new();
    let (n_rows, n_variables) = (data.n_rows(), data.n_variables());
    warnings.extend(transposed_warning(data));
    if n_variables > n_rows {
        warnings.push(format!("there are more variables ({n_variables}) than rows ({n_rows})"));
    }
    let named = |chosen: fn(&VariableSummary) -> bool| -> Vec<&str> {
        let chosen = variables.iter().filter(|variable| chosen(variable));
        chosen.map(|variable| variable.name.as_str()).collect()
    };
    let unseen = named(|variable| variable.observed == 0);
    if !unseen.is_empty() {
        warnings.push(format!("never observed: {}", list(&unseen)));
    }
    let constant = named(|variable| variable.observed > 0 && variable.constant);
    if !constant.is_empty() {
        warnings.push(format!(
            "constant, so nothing can be learned about what drives it or what it drives: {}",
            list(&constant)
        ));
    }
    for (idx, variable) in variables.iter().enumerate() {
        if let Some(reason @ Uninformative::Few { .. }) = Uninformative::of(data, idx) {
            let name = &variable.name;
            warnings.push(format!("`{name}` {reason}, too few to learn its edges from"));
        }
    }
    warnings.extend(doubtful_columns::labels(loaded));
    warnings.extend(doubtful_columns::row_numbers(data));
    warnings.extend(most_of(doubtful_columns::sentinels(data)));
    warnings.extend(most_of(doubtful_columns::twins(data)));
    warnings.extend(scale_warning(data, variables));
    warnings.extend(limits);
    let short = data.series().iter().filter(|series| series.n_observations() < 3);
    let short: Vec<&str> = short.map(ObservedSeries::name).collect();
    if !short.is_empty() {
        warnings.push(format!("fewer than 3 rows in series {}", list(&short)));
    }
    warnings
}

/// A few warnings of one kind; a table of thousands of genes may give hundreds.
fn most_of(mut warnings: Vec<String>) -> Vec<String> {
    const MOST: usize = 5;
    if warnings.len() > MOST {
        let more = warnings.len() - MOST;
        warnings.truncate(MOST);
        warnings.push(format!("and {more} more like this"));
    }
    warnings
}

/// A table with variables in its rows has numbers, the times, for names, or very few rows.
fn transposed_warning(data: &SeriesSet) -> Option<String> {
    let (n_rows, n_variables) = (data.n_rows(), data.n_variables());
    let n_numeric = data.variables().iter().filter(|name| name.parse::<f64>().is_ok()).count();
    let reason = if n_variables < 3 {
        return None;
    } else if 2 * n_numeric > n_variables {
        "most variables have numbers for names".to_owned()
    } else if n_variables > 10 * n_rows {
        format!("it has {n_variables} variables and only {n_rows} rows")
    } else {
        return None;
    };
    Some(format!(
        "the table looks transposed: {reason}; variables belong in columns, times in rows"
    ))
}

/// Scales that differ by more than four powers of ten drown one variable in another's noise.
fn scale_warning(data: &SeriesSet, variables: &[VariableSummary]) -> Option<String> {
    let scaling = Standardizer::fit(data);
    let varying = || {
        let pairs = scaling.scales().iter().zip(variables);
        pairs
            .filter(|(_, variable)| !variable.constant)
            .map(|(scale, variable)| (*scale, &variable.name))
    };
    let (least, least_name) = varying().min_by(|a, b| a.0.total_cmp(&b.0))?;
    let (most, most_name) = varying().max_by(|a, b| a.0.total_cmp(&b.0))?;
    (most > 1e4 * least).then(|| {
        format!(
            "scales differ wildly: `{most_name}` varies by {most:.3e}, `{least_name}` by {least:.3e}; \
             fits standardise by default"
        )
    })
}
