//! Parameters of a linear process on standardised values.

/// Everything about the process but its graph.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct LinearDynamics {
    /// W and, as its last column, b: `[target, source]`, D rows of D + 1.
    pub effects: Vec<f64>,
    /// Means of the amounts by which variables are pushed, in increment scales per time.
    pub amounts: Vec<f64>,
    /// Variances g of the innovations per time, in squared increment scales.
    pub variances: Vec<f64>,
    /// Variances of the observation noise.
    pub noise: Vec<f64>,
    /// Means of the law of the first state.
    pub initial_means: Vec<f64>,
    /// Variances of the law of the first state.
    pub initial_variances: Vec<f64>,
}

impl LinearDynamics {
    /// Number of variables, D.
    pub fn n_variables(&self) -> usize {
        self.variances.len()
    }

    /// The effect of one variable on another.
    pub fn effect(&self, source: usize, target: usize) -> f64 {
        self.effects[target * (self.n_variables() + 1) + source]
    }
}
