//! What every known system can tell: its process, names, true graph and usual circumstances.

use driftgraph_core::SignatureGraph;
use driftgraph_core::process::sde::DiagonalSde;
use driftgraph_core::random::RandomStream;

/// A known process with its true graph and the circumstances it is usually observed in.
pub trait System: DiagonalSde + Send + Sync {
    /// The name it is built by.
    fn name(&self) -> &'static str;

    /// Names of the variables, in the order of the state.
    fn variables(&self) -> Vec<String>;

    /// Which variable enters the drift or diffusion of which, self-loops included where real.
    fn true_graph(&self) -> SignatureGraph;

    /// Draws the state at the first time into `out`.
    fn initial_state(&self, random: &mut RandomStream, out: &mut [f64]);

    /// Times at which its behaviour can be seen, and a step that resolves it.
    fn usual_times(&self) -> UsualTimes;
}

/// Times at which a system's behaviour can be seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UsualTimes {
    /// First time.
    pub start: f64,
    /// Last time.
    pub end: f64,
    /// Number of equally spaced observations, both ends included.
    pub n_points: usize,
    /// Longest solver step.
    pub step_size: f64,
}

/// `prefix1`, `prefix2`, ... for a system whose variables have no names of their own.
pub(crate) fn numbered(prefix: &str, n_variables: usize) -> Vec<String> {
    (1..=n_variables).map(|number| format!("{prefix}{number}")).collect()
}

/// A uniform number between `low` and `high`.
pub(crate) fn uniform_between(random: &mut RandomStream, low: f64, high: f64) -> f64 {
    low + (high - low) * random.uniform()
}

/// A graph of self-loops only.
pub(crate) fn self_loops(n_variables: usize) -> SignatureGraph {
    let mut graph = SignatureGraph::empty(n_variables);
    for variable in 0..n_variables {
        graph.set_edge(variable, variable, true);
    }
    graph
}
