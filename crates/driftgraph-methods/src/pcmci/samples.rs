//! Partial correlations of variables at lags, from all series together.

use driftgraph_core::train::progress::Progress;

use crate::regular::RegularSeries;

use super::lags::Node;
use super::student::two_sided_p;

/// What is left of a standard variable given others, below which it is a combination of them.
const DEPENDENT: f64 = 1e-11;

/// The samples of every variable at every lag, over all series.
pub(crate) struct Samples<'a> {
    /// Whom tests ask whether to go on.
    progress: &'a dyn Progress,
    n_variables: usize,
    n_samples: usize,
    /// `[lag, variable]`, each with one value per sample.
    columns: Vec<Vec<f64>>,
    /// Whether a column never changes.
    constant: Vec<bool>,
    /// Correlations of all columns, where no cell is missing; then every test has the same samples.
    correlations: Option<Vec<f64>>,
}

/// What a test of conditional independence says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tested {
    /// The partial correlation.
    pub(crate) value: f64,
    /// Probability of one as large by chance; `None` with too few samples.
    pub(crate) p: Option<f64>,
}

impl Tested {
    /// Whether the two depend on each other at this level.
    pub(crate) fn is_dependent(self, alpha: f64) -> bool {
        self.p.is_some_and(|p| p <= alpha)
    }
}

impl<'a> Samples<'a> {
    /// The rows of all series that have 2 `tau_max` rows before them, whatever the lags of a test.
    pub(crate) fn new(
        series: &[RegularSeries],
        n_variables: usize,
        tau_max: usize,
        progress: &'a dyn Progress,
    ) -> Self {
        let first = 2 * tau_max;
        let column = |idx: usize| -> Vec<f64> {
            let (lag, variable) = (idx / n_variables, idx % n_variables);
            let of_series = |series: &RegularSeries| -> Vec<f64> {
                (first..series.n_rows()).map(|row| series.row(row - lag)[variable]).collect()
            };
            series.iter().flat_map(of_series).collect()
        };
        let columns: Vec<Vec<f64>> = (0..n_variables * (first + 1)).map(column).collect();
        let constant = columns.iter().map(|column| is_constant(column)).collect();
        let n_samples = columns[0].len();
        let is_complete = columns.iter().all(|column| column.iter().all(|value| !value.is_nan()));
        let correlations = is_complete.then(|| {
            let all: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
            correlation_matrix(&all)
        });
        Self { progress, n_variables, n_samples, columns, constant, correlations }
    }

    /// Number of samples before any is left out.
    pub(crate) fn n_samples(&self) -> usize {
        self.n_samples
    }

    /// Tests whether two nodes are independent given others.
    ///
    /// Nodes are brought into one order first: the same question has the same answer to the bit. Once it is to stop, nothing
    /// depends on anything, and so there is nothing left to test; what comes of that is not used.
    pub(crate) fn test(&self, one: Node, other: Node, given: &[Node]) -> Tested {
        if self.progress.is_interrupted() {
            return Tested { value: 0.0, p: Some(1.0) };
        }
        let mut ends = [self.column_of(one), self.column_of(other)];
        ends.sort_unstable();
        let mut columns: Vec<usize> = given.iter().map(|&node| self.column_of(node)).collect();
        columns.sort_unstable();
        columns.dedup();
        columns.retain(|column| !ends.contains(column));
        columns.extend(ends);
        let Some(moments) = self.moments(&columns, 2) else {
            return Tested { value: 0.0, p: Some(1.0) };
        };
        let df = moments.n_samples as i64 - moments.size as i64;
        let value = moments.partial_correlation();
        let p = (df >= 1).then(|| two_sided_p(value, df as f64));
        Tested { value, p }
    }

    /// Akaike's criterion of a linear model of a variable at the present row; smaller is better.
    pub(crate) fn model_score(&self, target: usize, parents: &[Node]) -> f64 {
        let mut columns: Vec<usize> = parents.iter().map(|&node| self.column_of(node)).collect();
        columns.push(self.column_of(Node::new(target, 0)));
        let Some(mut moments) = self.moments(&columns, 1) else { return f64::INFINITY };
        let size = moments.size;
        moments.eliminate(size - 1);
        let rest = moments.matrix[size * size - 1] * moments.n_samples as f64;
        moments.n_samples as f64 * rest.ln() + 2.0 * (parents.len() + 1) as f64
    }

    fn column_of(&self, node: Node) -> usize {
        node.lag * self.n_variables + node.variable
    }

    /// Correlations of the columns that vary; `None` if one of the last `n_ends` does not.
    fn moments(&self, columns: &[usize], n_ends: usize) -> Option<Moments> {
        let Some(all) = &self.correlations else { return self.own_moments(columns, n_ends) };
        let (others, ends) = columns.split_at(columns.len() - n_ends);
        if ends.iter().any(|&column| self.constant[column]) {
            return None;
        }
        let kept: Vec<usize> = others
            .iter()
            .copied()
            .filter(|&column| !self.constant[column])
            .chain(ends.iter().copied())
            .collect();
        let (size, n) = (kept.len(), self.columns.len());
        let mut matrix = Vec::with_capacity(size * size);
        for &row in &kept {
            matrix.extend(kept.iter().map(|&column| all[row * n + column]));
        }
        Some(Moments { size, n_samples: self.n_samples, matrix })
    }

    /// The same from the samples that have a value in all of these columns.
    fn own_moments(&self, columns: &[usize], n_ends: usize) -> Option<Moments> {
        let complete: Vec<usize> = (0..self.n_samples)
            .filter(|&sample| columns.iter().all(|&column| !self.columns[column][sample].is_nan()))
            .collect();
        let gathered: Vec<Vec<f64>> = columns
            .iter()
            .map(|&column| complete.iter().map(|&sample| self.columns[column][sample]).collect())
            .collect();
        if gathered[gathered.len() - n_ends..].iter().any(|column| is_constant(column)) {
            return None;
        }
        let kept: Vec<&[f64]> =
            gathered.iter().map(Vec::as_slice).filter(|column| !is_constant(column)).collect();
        Some(Moments {
            size: kept.len(),
            n_samples: complete.len(),
            matrix: correlation_matrix(&kept),
        })
    }
}

/// Correlations of some columns; the last are those that are asked about.
struct Moments {
    size: usize,
    n_samples: usize,
    matrix: Vec<f64>,
}

impl Moments {
    /// Correlation of the last two columns given all others.
    fn partial_correlation(mut self) -> f64 {
        let size = self.size;
        self.eliminate(size - 2);
        let entry = |row: usize, column: usize| self.matrix[row * size + column];
        let (one, other) = (entry(size - 2, size - 2), entry(size - 1, size - 1));
        if one <= DEPENDENT || other <= DEPENDENT {
            return 0.0;
        }
        (entry(size - 1, size - 2) / (one.sqrt() * other.sqrt())).clamp(-1.0, 1.0)
    }

    /// Takes what the first `count` columns explain out of those after them (Cholesky's elimination).
    fn eliminate(&mut self, count: usize) {
        let size = self.size;
        for pivot in 0..count {
            let (above, below) = self.matrix.split_at_mut((pivot + 1) * size);
            let pivot_row = &above[pivot * size..];
            // A combination of columns before it explains nothing more.
            if pivot_row[pivot] <= DEPENDENT {
                continue;
            }
            for row in below.chunks_exact_mut(size) {
                let factor = row[pivot] / pivot_row[pivot];
                for (entry, top) in row[pivot + 1..].iter_mut().zip(&pivot_row[pivot + 1..]) {
                    *entry -= factor * top;
                }
            }
        }
    }
}

fn is_constant(column: &[f64]) -> bool {
    let mut values = column.iter().filter(|value| !value.is_nan());
    let Some(first) = values.next() else { return true };
    values.all(|value| value == first)
}

/// Correlations of columns without holes, `[column, column]`.
fn correlation_matrix(columns: &[&[f64]]) -> Vec<f64> {
    let n_samples = columns.first().map_or(0, |column| column.len());
    let mut standard = faer::Mat::<f64>::zeros(n_samples, columns.len());
    for (idx, column) in columns.iter().enumerate() {
        // In units of the largest value nothing overflows.
        let largest =
            column.iter().fold(f64::MIN_POSITIVE, |largest, value| largest.max(value.abs()));
        let mean = column.iter().map(|value| value / largest).sum::<f64>() / n_samples as f64;
        let centred = standard.col_as_slice_mut(idx);
        centred.iter_mut().zip(*column).for_each(|(out, value)| *out = value / largest - mean);
        let norm = centred.iter().map(|value| value * value).sum::<f64>().sqrt();
        let scale = if norm > 0.0 { 1.0 / norm } else { 0.0 };
        centred.iter_mut().for_each(|value| *value *= scale);
    }
    let product = standard.transpose() * &standard;
    let n = columns.len();
    (0..n * n).map(|idx| product[(idx / n, idx % n)]).collect()
}

#[cfg(test)]
mod tests {
    use driftgraph_core::train::progress::Silent;
    use serde_json::Value;

    use super::*;

    fn golden() -> Value {
        serde_json::from_str(include_str!("../../tests/golden/parcorr.json")).unwrap()
    }

    fn numbers(value: &Value) -> Vec<f64> {
        value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
    }

    /// Columns as nodes of lag 0, one series.
    fn samples(columns: Vec<Vec<f64>>) -> Samples<'static> {
        let all: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        Samples {
            progress: &Silent,
            n_variables: columns.len(),
            n_samples: columns[0].len(),
            correlations: Some(correlation_matrix(&all)),
            constant: columns.iter().map(|column| is_constant(column)).collect(),
            columns,
        }
    }

    #[test]
    fn partial_correlations_equal_those_of_the_reference() {
        let golden = golden();
        let cases = golden["raw"].as_array().unwrap();
        assert_eq!(cases.len(), 6);
        for case in cases {
            let rows: Vec<Vec<f64>> = case["z"].as_array().unwrap().iter().map(numbers).collect();
            let mut columns = vec![numbers(&case["x"]), numbers(&case["y"])];
            columns.extend((0..rows[0].len()).map(|idx| rows.iter().map(|row| row[idx]).collect()));
            let given: Vec<Node> = (2..columns.len()).map(|idx| Node::new(idx, 0)).collect();
            let found = samples(columns).test(Node::new(0, 0), Node::new(1, 0), &given);
            assert_eq!(found.p.is_some(), case["pval"].is_f64(), "{found:?}");
            // Without degrees of freedom the reference correlates rounding errors.
            if let Some(p) = found.p {
                // The reference regresses, this eliminates: conditions up to about 1e4 in the case of two degrees.
                assert!((found.value - case["val"].as_f64().unwrap()).abs() < 1e-9, "{found:?}");
                assert!((p - case["pval"].as_f64().unwrap()).abs() < 1e-9, "{found:?}");
            }
        }
    }

    #[test]
    fn model_scores_equal_those_of_the_reference() {
        let golden = golden();
        let model = &golden["model_selection"];
        let rows: Vec<Vec<f64>> = model["X"].as_array().unwrap().iter().map(numbers).collect();
        let times = (0..rows.len()).map(|row| row as f64).collect();
        let series = driftgraph_core::ObservedSeries::new("a", 3, times, rows.concat()).unwrap();
        let names = ["a", "b", "c"].map(String::from).to_vec();
        let data = driftgraph_core::SeriesSet::new(names, vec![series]).unwrap();
        let series = crate::regular::regular_series(&data, crate::regular::Gaps::LeaveOut);
        let mut n_cases = 0;
        for case in
            model["cases"].as_array().unwrap().iter().filter(|case| case["criterion"] == "aic")
        {
            let samples =
                Samples::new(&series, 3, case["tau_max"].as_u64().unwrap() as usize, &Silent);
            let parents = case["parents"].as_array().unwrap().iter().map(numbers);
            let parents: Vec<Node> =
                parents.map(|node| Node::new(node[0] as usize, -node[1] as usize)).collect();
            let found = samples.model_score(case["j"].as_u64().unwrap() as usize, &parents);
            let wanted = case["score"].as_f64().unwrap();
            // Scores are of order 100.
            assert!((found - wanted).abs() < 1e-9, "{found} and {wanted}");
            n_cases += 1;
        }
        assert_eq!(n_cases, 3);
    }

    #[test]
    fn without_conditions_it_is_the_plain_correlation() {
        // Deviations (-1, 0, 1) and (-1, -1, 2): 3 / sqrt(2 x 6).
        let found = samples(vec![vec![1.0, 2.0, 3.0], vec![0.0, 0.0, 3.0]]);
        let found = found.test(Node::new(1, 0), Node::new(0, 0), &[]);
        // A handful of roundings.
        assert!((found.value - 3.0 / 12.0_f64.sqrt()).abs() < 1e-15);
    }

    #[test]
    fn a_copy_among_the_conditions_leaves_nothing_and_a_constant_is_passed_over() {
        let x = vec![1.0, 2.0, 3.0, 5.0, 4.0, 0.5];
        let y = vec![2.0, 1.0, 3.5, 5.0, 3.0, 0.0];
        let copy: Vec<f64> = x.iter().map(|value| 2.0 * value + 1.0).collect();
        let table = samples(vec![x, y, copy, vec![7.0; 6]]);
        let [a, b, copy, constant] = [0, 1, 2, 3].map(|idx| Node::new(idx, 0));
        assert_eq!(table.test(a, b, &[copy]).value, 0.0);
        assert_eq!(table.test(a, b, &[constant]), table.test(a, b, &[]));
        assert_eq!(table.test(a, constant, &[]), Tested { value: 0.0, p: Some(1.0) });
    }
}
