//! Why a picture cannot be drawn.

/// What is wrong with the numbers or names given to a picture.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// A picture of nothing.
    #[error("there are no variables to draw")]
    NoVariables,
    /// A matrix that does not fit the names.
    #[error(
        "{n_variables} variables have {} possible edges, `{matrix}` has {found}",
        n_variables * n_variables
    )]
    WrongMatrixSize {
        /// The field of [`LearnedEdges`](crate::LearnedEdges) that holds the matrix.
        matrix: &'static str,
        /// Number of names.
        n_variables: usize,
        /// Number of entries.
        found: usize,
    },
    /// A scale on which nothing can be placed.
    #[error("the full scale of the scores must be positive and finite, found {full_scale}")]
    BadFullScale {
        /// The scale.
        full_scale: f64,
    },
    /// A score that has no place on the scale, `NaN` included.
    #[error("the score of `{edge}` must lie between 0 and {full_scale}, found {score}")]
    ScoreOutOfRange {
        /// The edge by its names.
        edge: String,
        /// The largest score on the scale.
        full_scale: f64,
        /// The score.
        score: f64,
    },
    /// A threshold that selects no edges in particular.
    #[error("the threshold for edges must be a finite number, found {threshold}")]
    ThresholdNotFinite {
        /// The threshold.
        threshold: f64,
    },
    /// A number that should be a probability.
    #[error("a probability or a share must lie between 0 and 1, found {value}")]
    NotAProbability {
        /// The number.
        value: f64,
    },
    /// A band whose columns do not have one number per time.
    #[error("the band `{band}` of `{panel}` has {found} numbers for {expected} times")]
    WrongBandSize {
        /// The panel.
        panel: String,
        /// The band.
        band: String,
        /// Number of times.
        expected: usize,
        /// Numbers of one of its columns.
        found: usize,
    },
    /// A number that has no place in a chart.
    #[error("the panel `{panel}` has a number without a place on its axes: {value}")]
    NotFinite {
        /// The panel.
        panel: String,
        /// The number.
        value: f64,
    },
}
