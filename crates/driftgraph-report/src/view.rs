//! Everything a report shows, as plain names and numbers: the whole contract with the renderer.

mod agreement;
mod column;
mod drifting;
mod regimes;
mod sweep;

use serde::{Deserialize, Serialize};

pub use agreement::{AgreedEdge, AgreementView, ComparedRun};
pub use column::Column;
pub use drifting::{CourseView, DriftingView};
pub use regimes::{DifferenceView, RegimeChange, RegimeStrip, RegimesView};
pub use sweep::{AveragedGraph, SweepView};

use crate::{Calendar, EffectSign};

/// What a report shows of one run. Every matrix is by `[source, target]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReportView {
    /// Name of the run.
    pub name: String,
    /// What learned the edges.
    pub method: MethodView,
    /// What was measured.
    pub data: DataView,
    /// What was learned of the edges.
    pub graph: GraphView,
    /// The drift of every variable, where it is a sum of terms.
    #[serde(default)]
    pub equations: Vec<EquationView>,
    /// Regimes or conditions, where there are any, and what differs between them.
    #[serde(default)]
    pub regimes: Option<RegimesView>,
    /// Effects that move in time, where they were looked for.
    #[serde(default)]
    pub drifting: Option<DriftingView>,
    /// How that compares with known edges.
    pub truth: Option<TruthView>,
    /// The series and their posterior; `None` where the data are not at hand, or very many.
    pub fit: Option<FitView>,
    /// How the fit went; `None` for a method that is not trained.
    pub training: Option<TrainingView>,
    /// Futures of some series; `None` where there is no process, or computing them would take long.
    pub future: Option<FutureView>,
    /// What happens under interventions, those that were computed.
    pub interventions: Vec<InterventionView>,
    /// How to see it again.
    pub provenance: ProvenanceView,
    /// Files that the report carries.
    pub downloads: Vec<Download>,
}

/// The drift of one variable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EquationView {
    /// The whole equation.
    pub text: String,
    /// Its terms.
    pub terms: Vec<EquationTermView>,
}

/// One term of an equation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EquationTermView {
    /// The product; empty for a constant.
    pub text: String,
    /// What it is multiplied by.
    pub coefficient: f64,
    /// Where that lies with a probability of 90 %, where it is known.
    pub interval: Option<[f64; 2]>,
    /// Probability that the term is there.
    pub probability: f64,
}

/// The method that made a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MethodView {
    /// Its name.
    pub name: String,
    /// What it does, in one sentence.
    pub description: String,
    /// Whether it learned a process, of which futures and interventions can be asked.
    pub has_process: bool,
}

/// The size of the data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DataView {
    /// Number of series.
    pub n_series: usize,
    /// Number of rows over all series.
    pub n_rows: usize,
    /// Number of cells without a value.
    pub n_missing: usize,
    /// A sentence for each variable whose edges are not learned.
    #[serde(default)]
    pub left_out: Vec<String>,
    /// What else was warned of after the fit, one sentence each.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// What the time axis of a chart says.
    pub time_label: String,
    /// What dates the times are, where they are dates.
    #[serde(default)]
    pub calendar: Option<Calendar>,
}

/// The learned edges, and where they are drawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GraphView {
    /// Names of the variables; any text is safe.
    pub variables: Vec<String>,
    /// What edges are ranked by, for a method that gives no probabilities.
    pub score: Option<ScoreView>,
    /// Edges of at least the probability `listed_from`, the best first.
    pub edges: Vec<EdgeView>,
    /// Edges below this probability are not listed.
    pub listed_from: f64,
    /// Sum of all edge probabilities, those not listed included.
    pub expected_edges: f64,
    /// Which edges are drawn at first.
    pub selection: SelectionView,
    /// Middle of each node on the sheet.
    pub positions: Vec<[f64; 2]>,
    /// Orders of the variables in the matrix.
    pub orders: Vec<OrderView>,
    /// Groups of variables that all reach each other by edges of probability 0.5 or more.
    pub feedback_loops: Vec<Vec<usize>>,
    /// Variables that were set from outside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<usize>,
    /// Fits with different seeds whose mean this is.
    #[serde(default = "one")]
    pub n_fits: usize,
}

const fn one() -> usize {
    1
}

/// A score that is not a probability: edges carry it as a share of the full scale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScoreView {
    /// What it is.
    pub name: String,
    /// The score whose share is 1.
    pub full_scale: f64,
}

/// One edge.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(from = "EdgeTuple", into = "EdgeTuple")]
pub struct EdgeView {
    /// Position of the source.
    pub source: usize,
    /// Position of the target.
    pub target: usize,
    /// Probability of any influence; where the graph has a score, that as a share of its full scale.
    pub probability: f64,
    /// Sign of the effect of the part that carries the edge.
    pub sign: EffectSign,
    /// Mean effect of that part in the user's units, where the method gives effects.
    pub effect: Option<f64>,
    /// The same in deviations.
    pub strength: Option<f64>,
    /// Deviation of the log-odds over fits with different seeds, or over the chains of a single fit.
    pub disagreement: f64,
    /// Probability of an influence within a step, where the model has such effects.
    pub instantaneous: Option<f64>,
    /// What carries the edge, and whether it has a direction.
    pub kind: LinkKind,
    /// Where the effect lies with a probability of 90 % if the edge exists, where that is known.
    pub interval: Option<[f64; 2]>,
    /// Effects of the lagged part and of that within a step, where both carry the edge.
    pub parts: Option<[f64; 2]>,
    /// Share of bootstrap samples that keep the edge, where there are any.
    pub stability: Option<f64>,
}

/// What carries an edge, and whether it has a direction; in one letter, since there are many edges.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LinkKind {
    /// It acts through time; also any edge of a method that knows no parts.
    #[default]
    #[serde(rename = "l")]
    Lagged,
    /// Both move together within a step, and the data tell which way.
    #[serde(rename = "w")]
    WithinStep,
    /// Both move together within a step, and nobody can tell which way.
    #[serde(rename = "n")]
    Undirected,
    /// Lagged, and within a step.
    #[serde(rename = "b")]
    Both,
    /// The edge in the other direction says all of this: a cell of the matrix, but no edge of its own.
    #[serde(rename = "m")]
    Mirrored,
}

/// An edge without the names of its fields, which would be most of a large report.
type EdgeTuple = (
    usize,
    usize,
    f64,
    EffectSign,
    Option<f64>,
    Option<f64>,
    f64,
    Option<f64>,
    LinkKind,
    Option<[f64; 2]>,
    Option<[f64; 2]>,
    Option<f64>,
);

impl EdgeView {
    /// An edge that a graph does not list.
    pub(crate) fn unlisted(source: usize, target: usize) -> Self {
        let sign = EffectSign::Unknown;
        (source, target, 0.0, sign, None, None, 0.0, None, LinkKind::Lagged, None, None, None)
            .into()
    }

    /// Whether it is a line without a head.
    pub fn is_undirected(&self) -> bool {
        self.kind == LinkKind::Undirected
    }

    /// Whether it joins two variables, in this direction or in either where it has none.
    pub(crate) fn joins(&self, source: usize, target: usize) -> bool {
        let own = (self.source, self.target);
        own == (source, target) || (self.is_undirected() && own == (target, source))
    }

    /// Whether it leads from a variable to itself.
    pub fn is_self_loop(&self) -> bool {
        self.source == self.target
    }
}

impl From<EdgeTuple> for EdgeView {
    fn from(tuple: EdgeTuple) -> Self {
        let (source, target, probability, sign, effect, strength, ..) = tuple;
        let (.., disagreement, instantaneous, kind, interval, parts, stability) = tuple;
        Self {
            source,
            target,
            probability,
            sign,
            effect,
            strength,
            disagreement,
            instantaneous,
            kind,
            interval,
            parts,
            stability,
        }
    }
}

impl From<EdgeView> for EdgeTuple {
    fn from(edge: EdgeView) -> Self {
        let EdgeView { source, target, probability, sign, .. } = edge;
        let EdgeView { effect, strength, disagreement, instantaneous, .. } = edge;
        let EdgeView { kind, interval, parts, stability, .. } = edge;
        (
            source,
            target,
            probability,
            sign,
            effect,
            strength,
            disagreement,
            instantaneous,
            kind,
            interval,
            parts,
            stability,
        )
    }
}

/// Edges that are drawn: of at least a probability, and not more than so many.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SelectionView {
    /// The least probability.
    pub threshold: f64,
    /// The most edges between different variables.
    pub most: usize,
    /// Whether edges from a variable to itself are drawn.
    pub self_loops: bool,
}

impl GraphView {
    /// Whether the sign of any edge is known; edges of a method without signs are drawn alike.
    pub fn has_signs(&self) -> bool {
        self.edges.iter().any(|edge| edge.sign != EffectSign::Unknown)
    }

    /// What edges are ranked by.
    pub fn score_name(&self) -> &str {
        self.score.as_ref().map_or("probability", |score| &score.name)
    }

    /// Edges without those that say again what others do, the best first.
    pub fn links(&self) -> impl Iterator<Item = &EdgeView> {
        self.edges.iter().filter(|edge| edge.kind != LinkKind::Mirrored)
    }

    /// Edges that are drawn at first with their positions in the list, the best first.
    pub fn drawn(&self) -> Vec<(usize, EdgeView)> {
        let SelectionView { threshold, most, self_loops } = self.selection;
        let mut left = most;
        let probable = self.edges.iter().copied().enumerate();
        let probable = probable
            .filter(|(_, edge)| edge.probability >= threshold && edge.kind != LinkKind::Mirrored);
        probable
            .filter(|(_, edge)| {
                if edge.is_self_loop() {
                    return self_loops;
                }
                let room = left > 0;
                left = left.saturating_sub(1);
                room
            })
            .collect()
    }
}

/// One order of the variables.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OrderView {
    /// What it is called.
    pub name: String,
    /// Positions of the variables, first to last.
    pub variables: Vec<usize>,
}

/// A comparison with known edges.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TruthView {
    /// The known edges.
    pub edges: Vec<[usize; 2]>,
    /// This run first, then simple methods on the same data.
    pub methods: Vec<RankingView>,
}

/// How well one method ranked the known edges.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankingView {
    /// Name of the method.
    pub name: String,
    /// All pairs counted.
    pub with_self_edges: MetricsView,
    /// Pairs of different variables alone.
    pub without_self_edges: MetricsView,
    /// False and true positive rate, without self edges.
    pub roc: Vec<[f64; 2]>,
    /// Recall and precision, without self edges.
    pub precision_recall: Vec<[f64; 2]>,
}

/// Metrics of one comparison; `None` where undefined.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MetricsView {
    /// Area under the ROC curve.
    pub auroc: Option<f64>,
    /// Average precision.
    pub auprc: Option<f64>,
    /// Share of pairs that are edges.
    pub prevalence: Option<f64>,
    /// Harmonic mean of precision and recall at a probability of 0.5.
    pub f1: Option<f64>,
    /// Share of known edges found at 0.5.
    pub tpr: Option<f64>,
    /// Share of found edges that are false at 0.5.
    pub fdr: Option<f64>,
    /// Structural Hamming distance at 0.5.
    pub shd: Option<usize>,
}

/// Some series with their posterior.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FitView {
    /// The series that are shown.
    pub series: Vec<FitSeries>,
    /// Number of series in the data.
    pub n_series: usize,
}

/// One series: columns are by variable, with one number per time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FitSeries {
    /// Its name.
    pub name: String,
    /// The times.
    pub times: Vec<f64>,
    /// What was measured; `NaN` where nothing was.
    pub observed: Vec<Column>,
    /// Posterior mean of the hidden state.
    pub mean: Vec<Column>,
    /// Lower end of its 90 % band.
    pub low: Vec<Column>,
    /// Upper end of its 90 % band.
    pub high: Vec<Column>,
}

/// How the fit went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrainingView {
    /// Steps of the first final fit at which something was logged.
    pub steps: Vec<u64>,
    /// What was logged.
    pub curves: Vec<CurveView>,
    /// How the fit ended: `finished`, `interrupted`, `time-budget`.
    pub ending: String,
    /// Whether all final fits converged; `None` where they do not say.
    pub converged: Option<bool>,
    /// Number of final fits with different seeds.
    pub n_members: usize,
    /// What was done to keep the fit sound, in words; empty where nothing was needed.
    pub guards: Vec<String>,
    /// What was tried on held-out data.
    pub tried: Vec<TriedView>,
    /// What was held out, in words; `None` where nothing was tried or the data are too few.
    pub held_out: Option<String>,
    /// Seconds the fit took.
    pub seconds: f64,
}

/// One logged quantity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CurveView {
    /// Its name.
    pub name: String,
    /// One number per logged step; `NaN` where there is none.
    pub values: Column,
}

/// One candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TriedView {
    /// Its name.
    pub name: String,
    /// Mean held-out log likelihood per unit.
    pub held_out: Option<f64>,
    /// Gain over the plain candidate and its standard error.
    pub gain: Option<[f64; 2]>,
    /// Whether it was taken.
    pub chosen: bool,
}

/// Futures of some series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FutureView {
    /// The series, each after its own end.
    pub series: Vec<FanSeries>,
}

/// Quantiles of many paths; columns are by variable, with one number per time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FanSeries {
    /// Its name.
    pub name: String,
    /// The times.
    pub times: Vec<f64>,
    /// At 5, 25, 50, 75 and 95 %.
    pub quantiles: [Vec<Column>; 5],
}

/// What happens under one set of interventions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InterventionView {
    /// What is done, as the user wrote it.
    pub text: String,
    /// Those whose times lie outside the simulated ones.
    #[serde(default)]
    pub idle: Vec<String>,
    /// Left alone.
    pub without: FanSeries,
    /// Under the intervention.
    pub with: FanSeries,
    /// Variables by how much they change, most first.
    pub changes: Vec<ChangeView>,
}

/// How much one variable changes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ChangeView {
    /// Position of the variable.
    pub variable: usize,
    /// Largest mean difference over time.
    pub difference: f64,
    /// Its standard error over paths.
    pub standard_error: f64,
    /// When it is largest.
    pub time: f64,
    /// Its size in deviations of the variable.
    pub relative: f64,
    /// Whether an intervention names the variable.
    pub intervened: bool,
    /// Whether any path changes at all.
    pub changed: bool,
}

/// Where a result comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProvenanceView {
    /// The command that gives the same result.
    pub command: String,
    /// Facts by name: version, seed, hash of the data, files.
    pub facts: Vec<(String, String)>,
    /// Settings by name.
    pub settings: Vec<(String, String)>,
}

/// A file inside the report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Download {
    /// Its name.
    pub file: String,
    /// Its media type.
    pub media_type: String,
    /// What is in it.
    pub note: String,
    /// Its text.
    pub text: String,
}
