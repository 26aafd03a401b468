//! What a picture of learned edges needs to know, and the checks on it.

use crate::ReportError;

/// Scores of all possible edges between named variables; every matrix is `[source, target]`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LearnedEdges<'a> {
    /// Names of the variables; any text is safe.
    pub names: &'a [String],
    /// D x D scores from 0 (absent) to `full_scale` (certain).
    pub scores: &'a [f64],
    /// What the scores are, as the legends say it.
    pub score_name: &'a str,
    /// The score drawn darkest and widest.
    pub full_scale: f64,
    /// D x D signs of effects, where known.
    pub signs: Option<&'a [EffectSign]>,
    /// D x D true edges, where known.
    pub truth: Option<&'a [bool]>,
    /// D x D edges that have no direction, where there are any: lines without heads, drawn where they have a score.
    pub undirected: Option<&'a [bool]>,
    /// Variables that were set from outside, as numbers; they have a shape of their own.
    pub inputs: &'a [usize],
}

/// Whether a source raises or lowers the rate of change of its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum EffectSign {
    /// More of the source, faster growth of the target.
    #[serde(rename = "+")]
    Positive,
    /// More of the source, slower growth of the target.
    #[serde(rename = "-")]
    Negative,
    /// Not known, or different in different states.
    #[serde(rename = "?")]
    Unknown,
}

impl<'a> LearnedEdges<'a> {
    /// Edge probabilities between 0 and 1, with unknown signs and unknown truth.
    pub fn probabilities(names: &'a [String], scores: &'a [f64]) -> Self {
        Self {
            names,
            scores,
            score_name: "edge probability",
            full_scale: 1.0,
            signs: None,
            truth: None,
            undirected: None,
            inputs: &[],
        }
    }

    pub(crate) fn n_variables(&self) -> usize {
        self.names.len()
    }

    pub(crate) fn score(&self, source: usize, target: usize) -> f64 {
        self.scores[source * self.n_variables() + target]
    }

    /// The score between 0 and 1.
    pub(crate) fn fraction(&self, source: usize, target: usize) -> f64 {
        self.score(source, target) / self.full_scale
    }

    /// The sign, where signs are known.
    pub(crate) fn sign(&self, source: usize, target: usize) -> Option<EffectSign> {
        self.signs.map(|signs| signs[source * self.n_variables() + target])
    }

    /// The edge by its full names.
    pub(crate) fn edge_name(&self, source: usize, target: usize) -> String {
        format!("{} → {}", self.names[source], self.names[target])
    }

    /// A score with three digits at full scale: 0.93 of 1, 42 of 100.
    pub(crate) fn score_text(&self, score: f64) -> String {
        if !(1e-4..1e5).contains(&self.full_scale) {
            return format!("{score:.2e}");
        }
        let whole_digits = libm::floor(libm::log10(self.full_scale)) as i32;
        format!("{score:.*}", (2 - whole_digits).max(0) as usize)
    }

    pub(crate) fn check(&self) -> Result<(), ReportError> {
        let n = self.n_variables();
        if n == 0 {
            return Err(ReportError::NoVariables);
        }
        let sizes = [
            ("scores", Some(self.scores.len())),
            ("signs", self.signs.map(<[_]>::len)),
            ("truth", self.truth.map(<[_]>::len)),
            ("undirected", self.undirected.map(<[_]>::len)),
        ];
        for (matrix, found) in sizes {
            if let Some(found) = found.filter(|&found| found != n * n) {
                return Err(ReportError::WrongMatrixSize { matrix, n_variables: n, found });
            }
        }
        let full_scale = self.full_scale;
        if !(full_scale.is_finite() && full_scale > 0.0) {
            return Err(ReportError::BadFullScale { full_scale });
        }
        match self.scores.iter().position(|score| !(0.0..=full_scale).contains(score)) {
            None => Ok(()),
            Some(idx) => Err(ReportError::ScoreOutOfRange {
                edge: self.edge_name(idx / n, idx % n),
                full_scale,
                score: self.scores[idx],
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> [String; 2] {
        ["a".into(), "b".into()]
    }

    #[test]
    fn scores_off_the_scale_are_refused_by_name() {
        let names = names();
        for bad in [1.5, -0.1, f64::NAN, f64::INFINITY] {
            let scores = [0.0, 0.5, bad, 1.0];
            let error = LearnedEdges::probabilities(&names, &scores).check().unwrap_err();
            let expected = format!("the score of `b → a` must lie between 0 and 1, found {bad}");
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn matrices_of_another_size_are_refused_by_name() {
        let names = names();
        let scores = [0.0; 4];
        let edges = LearnedEdges::probabilities(&names, &scores);
        let error = LearnedEdges { truth: Some(&[true; 3]), ..edges }.check().unwrap_err();
        assert_eq!(error.to_string(), "2 variables have 4 possible edges, `truth` has 3");
        let signs = [EffectSign::Unknown; 9];
        assert!(LearnedEdges { signs: Some(&signs), ..edges }.check().is_err());
        assert!(LearnedEdges { scores: &[0.0], ..edges }.check().is_err());
        assert_eq!(edges.check(), Ok(()));
    }

    #[test]
    fn nothing_can_be_placed_on_an_empty_scale_or_without_variables() {
        let names = names();
        let edges = LearnedEdges::probabilities(&names, &[0.0; 4]);
        for full_scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(LearnedEdges { full_scale, ..edges }.check().is_err());
        }
        let nothing = LearnedEdges::probabilities(&[], &[]);
        assert_eq!(nothing.check(), Err(ReportError::NoVariables));
    }

    #[test]
    fn scores_show_three_digits_at_full_scale() {
        let names = names();
        let edges = LearnedEdges::probabilities(&names, &[0.0; 4]);
        let text = |full_scale, score| LearnedEdges { full_scale, ..edges }.score_text(score);
        assert_eq!(text(1.0, 0.926), "0.93");
        assert_eq!(text(250.0, 42.3), "42");
        assert_eq!(text(0.02, 0.0123), "0.0123");
        assert_eq!(text(1e-9, 2.5e-10), "2.50e-10");
    }
}
