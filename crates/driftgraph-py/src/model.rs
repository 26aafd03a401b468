//! A run folder that was read, and the questions that can be asked of it.

use std::path::PathBuf;
use std::sync::OnceLock;

use driftgraph_core::fitted::GraphChoice;
use driftgraph_core::fitted::edges::{KeptEdges, LearnedEdge, directed_graph, feedback_loops};
use driftgraph_core::fitted::equations::TermFunction;
use driftgraph_core::fitted::error::FittedError;
use driftgraph_core::fitted::forecast::{ForecastSettings, ForecastTimes};
use driftgraph_core::fitted::impute::{ImputeSettings, ImputeTimes};
use driftgraph_core::fitted::intervention::Interventions;
use driftgraph_core::fitted::model::FittedModel;
use driftgraph_core::fitted::sample::SampledGraph;
use driftgraph_core::fitted::simulate::{SimulateSettings, Start, even_times};
use driftgraph_core::{SeriesSet, SignatureGraph};
use driftgraph_data::equation_text::{equation_latex, equation_text};
use driftgraph_data::graph_formats::{GraphFormat, graph_text_with_inputs};
use driftgraph_data::run_folder::Run;
use driftgraph_data::{Loaded, RunError};
use driftgraph_methods::{edge_probabilities, edge_scores};
use driftgraph_report::report_html;
use driftgraph_view::{ViewOptions, report_view};
use numpy::{IntoPyArray, PyArray2, PyArray3, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::answers;
use crate::arrays::{cube, matrix};
use crate::data::SeriesData;
use crate::errors::{Class, OrRaise};
use crate::known::{one_of, scheme_of, to_json};

/// A fitted model with its run folder.
#[pyclass(frozen, module = "driftgraph._native")]
#[derive(Debug)]
pub(crate) struct Model {
    run: Run,
    /// The data of the fit; `None` where they cannot be had.
    data: OnceLock<Option<Loaded>>,
}

impl Model {
    fn loaded(&self) -> Option<&Loaded> {
        self.data.get_or_init(|| self.run.load_data(&[]).ok()).as_ref()
    }

    /// As long as a usual series of the fit.
    fn usual_span(&self) -> PyResult<f64> {
        Ok(self.model()?.usual_span_in(self.data()))
    }

    fn data(&self) -> Option<&SeriesSet> {
        self.loaded().map(|loaded| &loaded.data)
    }

    /// The data, or why they cannot be had.
    fn needed_data(&self) -> PyResult<&SeriesSet> {
        if let Some(data) = self.data() {
            return Ok(data);
        }
        // Read once more for the reason; data that came back in between will do as well.
        let loaded = self.run.load_data(&[]).or_raise()?;
        let message = format!("the data in {:?} came back just now; ask again", loaded.files);
        Err(Class::File.with(&message))
    }

    /// The largest set of edges with less than a share expected to be false.
    fn kept(&self, rate: f64) -> PyResult<KeptEdges> {
        if !(rate > 0.0 && rate < 1.0) {
            let message = format!("`fdr` must be a share between 0 and 1, found {rate}");
            return Err(Class::Question.with(&message));
        }
        KeptEdges::at_rate(&self.run.edges(), rate).ok_or_else(|| {
            let method = &self.run.record.method;
            Class::Question.with(&format!("`{method}` gives scores, not probabilities"))
        })
    }

    /// The process; an error that says so where the method has none.
    fn model(&self) -> PyResult<&FittedModel> {
        self.run.model().or_raise()
    }

    /// Positions of the variables that were set from outside.
    fn inputs(&self) -> Vec<usize> {
        let inputs = &self.run.record.data.options.inputs;
        let names = self.run.variables().iter().enumerate();
        names.filter(|(_, name)| inputs.contains(name)).map(|(idx, _)| idx).collect()
    }

    /// What expressions say of inputs; other variables are refused.
    fn said_of_inputs(&self, texts: &[String]) -> PyResult<Interventions> {
        let time = &self.run.record.data.time;
        let read_time = |text: &str| time.read_bound(text).map_err(|problem| problem.to_string());
        let names = self.run.variables();
        let said = Interventions::parse_with(texts, names, &read_time)
            .map_err(FittedError::from)
            .or_raise()?;
        let inputs = &self.run.record.data.options.inputs;
        let other = said.variables().into_iter().find(|&idx| !inputs.contains(&names[idx]));
        match other {
            Some(idx) => Err(Class::Question.with(&format!(
                "`{}` is not an input of the run: `intervene` changes other variables",
                names[idx]
            ))),
            None => Ok(said),
        }
    }

    /// What is set in new paths: what was set in the series they start in, or inputs at their means; then what is said.
    fn given_to_paths(&self, texts: &[String], start: &Start) -> PyResult<Interventions> {
        let said = self.said_of_inputs(texts)?;
        let Some(data) = self.data() else { return Ok(said) };
        let series = match start {
            Start::Series { name, .. } => data.series().iter().position(|one| one.name() == name),
            _ => None,
        };
        let pieces = series.map_or_else(|| data.mean_pieces(), |series| data.set_pieces(series));
        let given = Interventions::of_pieces(&pieces, self.run.variables());
        Ok(given.map_err(FittedError::from).or_raise()?.then(&said))
    }

    fn start_time(&self, start: &Start) -> f64 {
        let usual = || self.run.model().map_or(0.0, |model| model.first_time_in(self.data()));
        let Start::Series { name, time } = start else { return usual() };
        let series = || self.data()?.series().iter().find(|series| series.name() == name);
        time.or_else(|| Some(series()?.times()[0])).unwrap_or_else(usual)
    }
}

/// How paths are simulated, as Python says it.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PathRequest {
    n_paths: usize,
    times: Option<Vec<f64>>,
    start_time: Option<f64>,
    horizon: Option<f64>,
    every: Option<f64>,
    start_values: Option<Vec<(String, f64)>>,
    start_series: Option<(String, Option<f64>)>,
    threshold: Option<f64>,
    step_size: Option<f64>,
    scheme: String,
    seed: u64,
    /// What inputs do: expressions as on the command line.
    input: Vec<String>,
}

impl PathRequest {
    fn settings(self, model: &Model) -> PyResult<SimulateSettings> {
        let start = match (self.start_values, self.start_series) {
            (Some(values), _) => Start::Named(values),
            (None, Some((name, time))) => Start::Series { name, time },
            (None, None) => Start::Learned,
        };
        let times = if let Some(times) = self.times {
            times
        } else {
            let from = self.start_time.unwrap_or_else(|| model.start_time(&start));
            let horizon = self.horizon.map_or_else(|| model.usual_span(), Ok)?;
            even_times(from, horizon, self.every).or_raise()?
        };
        Ok(SimulateSettings {
            given: model.given_to_paths(&self.input, &start)?,
            n_paths: self.n_paths,
            start,
            times,
            step_size: self.step_size,
            graph: graph_choice(self.threshold),
            scheme: scheme_of(&self.scheme)?,
            seed: self.seed,
        })
    }

    fn forecast_settings(self, model: &Model) -> PyResult<ForecastSettings> {
        let times = if let Some(times) = self.times {
            ForecastTimes::At(times)
        } else {
            let span = model.usual_span()?;
            ForecastTimes::even(span, self.horizon, self.every).or_raise()?
        };
        Ok(ForecastSettings {
            given: model.said_of_inputs(&self.input)?,
            n_paths: self.n_paths,
            times,
            step_size: self.step_size,
            graph: graph_choice(self.threshold),
            scheme: scheme_of(&self.scheme)?,
            seed: self.seed,
        })
    }
}

fn graph_choice(threshold: Option<f64>) -> GraphChoice {
    threshold.map_or(GraphChoice::Sampled, GraphChoice::Threshold)
}

#[pymethods]
impl Model {
    /// Reads a run folder; data that are given must be those of the fit.
    #[staticmethod]
    #[pyo3(signature = (folder, data=None))]
    fn load(py: Python<'_>, folder: PathBuf, data: Option<&SeriesData>) -> PyResult<Self> {
        let run = py.detach(|| Run::load(&folder)).or_raise()?;
        let known = OnceLock::new();
        if let Some(data) = data {
            let files = data.loaded.files.clone();
            let Some(same) = run.record.data.same(data.loaded.clone()) else {
                return Err(RunError::DataChanged { folder, files }).or_raise();
            };
            known.get_or_init(|| Some(same));
        }
        Ok(Self { run, data: known })
    }

    /// Names of the variables.
    #[getter]
    fn variables(&self) -> Vec<String> {
        self.run.variables().to_vec()
    }

    /// Number of fits whose log-odds are averaged.
    #[getter]
    fn n_members(&self) -> usize {
        self.run.model().map_or(1, FittedModel::n_members)
    }

    /// Name of the method that made the run.
    #[getter]
    fn method(&self) -> String {
        self.run.record.method.clone()
    }

    /// Whether there is a process that can be simulated.
    #[getter]
    fn has_process(&self) -> bool {
        self.run.model().is_ok()
    }

    /// Longest solver step of the fit.
    #[getter]
    fn step_size(&self) -> PyResult<f64> {
        Ok(self.model()?.step_size())
    }

    /// Unit of time, in words.
    #[getter]
    fn time_label(&self) -> String {
        self.run.record.data.time.label()
    }

    /// The data of the fit; an error says why they cannot be had.
    #[getter]
    fn training_data(&self) -> PyResult<SeriesData> {
        let mut data = SeriesData::of_set(self.needed_data()?.clone(), None);
        data.loaded.time_axis = self.run.record.data.time.clone();
        Ok(data)
    }

    /// Probability of every edge, row = source.
    fn probabilities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let n = self.run.variables().len();
        let found = edge_probabilities(&self.run.edges(), n).or_raise()?;
        let found = found.ok_or_else(|| {
            let method = &self.run.record.method;
            Class::Question.with(&format!("`{method}` gives scores, not probabilities"))
        })?;
        Ok(matrix(py, (n, n), found.matrix().to_vec()))
    }

    /// Scores that rank edges where probabilities round to 1, row = source.
    fn scores<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let n = self.run.variables().len();
        let scores = edge_scores(&self.run.edges(), n).or_raise()?;
        Ok(matrix(py, (n, n), scores.matrix().to_vec()))
    }

    /// Deviations of the variables.
    #[getter]
    fn scales(&self) -> PyResult<Vec<f64>> {
        Ok(self.model()?.standardizer().scales().to_vec())
    }

    /// Whether the model can tell which way effects within a step go.
    #[getter]
    fn tells_direction(&self) -> bool {
        self.run.model().is_ok_and(FittedModel::tells_direction_within_steps)
    }

    /// Columns of all edges, most probable first.
    fn edges<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let edges = py.detach(|| self.run.edges());
        answers::edges(py, self.run.variables(), &edges)
    }

    /// Equations as target, text and terms (factors, function with its numbers, coefficient, low, high, probability); `None`
    /// where there are none.
    fn equations<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        let names = self.run.variables();
        let Some(equations) = py.detach(|| self.run.model().ok().and_then(FittedModel::equations))
        else {
            return Ok(None);
        };
        let all = PyList::empty(py);
        for equation in &equations {
            let terms = PyList::empty(py);
            for term in &equation.terms {
                let factors: Vec<&String> = term.factors.iter().map(|&idx| &names[idx]).collect();
                let [low, high] = term.interval.map_or([None; 2], |ends| ends.map(Some));
                let row = PyDict::new(py);
                let (function, numbers) = function_of(term.function);
                row.set_item("factors", factors)?;
                row.set_item("function", function)?;
                row.set_item("numbers", numbers)?;
                row.set_item("coefficient", term.coefficient)?;
                row.set_item("low", low)?;
                row.set_item("high", high)?;
                row.set_item("probability", term.probability)?;
                terms.append(row)?;
            }
            let one = PyDict::new(py);
            one.set_item("target", &names[equation.target])?;
            one.set_item("text", equation_text(names, equation))?;
            one.set_item("latex", equation_latex(names, equation))?;
            one.set_item("terms", terms)?;
            all.append(one)?;
        }
        Ok(Some(all))
    }

    /// Which rows of `edges` are the largest set with less than this share expected to be false, how many links between
    /// different variables these are, and how many of them are expected to be false.
    fn kept_at_rate<'py>(&self, py: Python<'py>, rate: f64) -> PyResult<Bound<'py, PyDict>> {
        let kept = py.detach(|| self.kept(rate))?;
        let ends: Vec<[usize; 2]> = kept.edges.iter().map(LearnedEdge::ends).collect();
        let rows: Vec<bool> =
            self.run.edges().iter().map(|edge| ends.contains(&edge.ends())).collect();
        let answer = PyDict::new(py);
        answer.set_item("rows", rows.into_pyarray(py))?;
        answer.set_item("n_links", kept.n_links)?;
        answer.set_item("expected_false", kept.expected_false)?;
        Ok(answer)
    }

    /// Groups of variables that all reach each other over edges of at least this probability.
    fn feedback_loops(&self, threshold: f64) -> Vec<Vec<String>> {
        let names = self.run.variables();
        let mut edges = self.run.edges();
        edges.retain(|edge| edge.is_at_least(threshold));
        let loops = feedback_loops(&directed_graph(names.len(), &edges));
        let named = |group: &Vec<usize>| group.iter().map(|&idx| names[idx].clone()).collect();
        loops.iter().map(named).collect()
    }

    /// Edges of at least this probability, or as many as `fdr` allows, in a format for other programs.
    #[pyo3(signature = (format, threshold, fdr=None))]
    fn graph_text(
        &self,
        py: Python<'_>,
        format: &str,
        threshold: f64,
        fdr: Option<f64>,
    ) -> PyResult<String> {
        let format = one_of("format", format, &GraphFormat::ALL.map(|one| (one.name(), one)))?;
        let mut edges = match fdr {
            Some(rate) => py.detach(|| self.kept(rate))?.edges,
            None => py.detach(|| self.run.edges()),
        };
        edges.retain(|edge| fdr.is_some() || edge.is_at_least(threshold));
        // A link without a direction is one line of a list, and two cells of a matrix.
        if format != GraphFormat::Matrix {
            edges.retain(|edge| !edge.mirrored);
        }
        Ok(graph_text_with_inputs(self.run.variables(), &edges, &self.inputs(), format))
    }

    /// Graphs `(graph, source, target)`: "any", "lagged" or "instantaneous" edges.
    fn sample_graphs<'py>(
        &self,
        py: Python<'py>,
        n_graphs: usize,
        seed: u64,
        kind: &str,
    ) -> PyResult<Bound<'py, PyArray3<bool>>> {
        let kinds =
            [("any", (true, true)), ("lagged", (true, false)), ("instantaneous", (false, true))];
        let (lagged, instant) = one_of("kind", kind, &kinds)?;
        let n = self.run.variables().len();
        let model = self.model()?;
        let graphs = py.detach(|| model.sample_graphs(n_graphs, seed));
        let edges = |graph: &SampledGraph| -> Vec<bool> {
            let within = |idx: usize| graph.instant.as_ref().is_some_and(|one| one.matrix()[idx]);
            let own = graph.lagged.matrix().iter().enumerate();
            own.map(|(idx, edge)| (lagged && *edge) || (instant && within(idx))).collect()
        };
        let edges = graphs.iter().flat_map(edges).collect();
        Ok(cube(py, (n_graphs, n, n), edges))
    }

    /// New paths of the learned process.
    fn simulate<'py>(&self, py: Python<'py>, request: PathRequest) -> PyResult<Bound<'py, PyDict>> {
        let settings = request.settings(self)?;
        let model = self.model()?;
        let paths = py.detach(|| model.simulate(&settings, self.data(), &|_| ()));
        answers::paths(py, paths.or_raise()?)
    }

    /// Futures of the series of the fit.
    fn forecast<'py>(
        &self,
        py: Python<'py>,
        request: PathRequest,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let settings = request.forecast_settings(self)?;
        let model = self.model()?;
        let all = py.detach(|| model.forecast(&settings, self.data(), &|_| ()));
        all.or_raise()?.into_iter().map(|one| answers::forecast(py, one)).collect()
    }

    /// How well the ends of series are forecast from their beginnings, as JSON.
    fn forecast_test(&self, py: Python<'_>, share: f64, request: PathRequest) -> PyResult<String> {
        let settings = request.forecast_settings(self)?;
        let data = self.needed_data()?;
        let model = self.model()?;
        let test = py.detach(|| model.forecast_test(data, share, &settings, &|_| ()));
        to_json(&test.or_raise()?.methods)
    }

    /// Hidden states at the rows of the data, or at given times.
    fn impute<'py>(
        &self,
        py: Python<'py>,
        times: Option<Vec<f64>>,
        n_samples: usize,
        seed: u64,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let times = times.map_or(ImputeTimes::Rows, ImputeTimes::At);
        let settings = ImputeSettings { times, n_samples, seed };
        let data = self.needed_data()?;
        let model = self.model()?;
        let all = py.detach(|| model.impute(data, &settings)).or_raise()?;
        all.into_iter().map(|one| answers::imputed(py, one)).collect()
    }

    /// How well hidden cells are imputed, as JSON.
    fn impute_test(
        &self,
        py: Python<'_>,
        share: f64,
        n_samples: usize,
        seed: u64,
    ) -> PyResult<String> {
        let settings = ImputeSettings { times: ImputeTimes::Rows, n_samples, seed };
        let data = self.needed_data()?;
        let model = self.model()?;
        let test = py.detach(|| model.impute_test(data, share, &settings, &|_| ()));
        to_json(&test.or_raise()?.methods)
    }

    /// What interventions change.
    fn intervene<'py>(
        &self,
        py: Python<'py>,
        texts: Vec<String>,
        request: PathRequest,
    ) -> PyResult<Bound<'py, PyDict>> {
        let settings = request.settings(self)?;
        let axis = &self.run.record.data.time;
        let read_time = |text: &str| axis.read_bound(text).map_err(|problem| problem.to_string());
        let changes = Interventions::parse_with(&texts, self.run.variables(), &read_time);
        let changes =
            changes.map_err(driftgraph_core::fitted::error::FittedError::from).or_raise()?;
        let model = self.model()?;
        let effect = py.detach(|| model.intervene(&changes, &settings, self.data(), &|_| ()));
        let effect = effect.or_raise()?;
        let times = effect.times.clone();
        let answer = answers::effect(py, effect)?;
        let windows: Vec<(String, f64, f64, Vec<usize>)> = (changes.list().iter())
            .map(|one| (one.text.clone(), one.window.from, one.window.to, one.variables().to_vec()))
            .collect();
        answer.set_item("windows", windows)?;
        let idle: Vec<&str> = changes.idle(&times).map(|one| one.text.as_str()).collect();
        answer.set_item("idle", idle)?;
        Ok(answer)
    }

    /// Everything about the run as one HTML page.
    #[pyo3(signature = (truth=None, interventions=Vec::new()))]
    fn report(
        &self,
        py: Python<'_>,
        truth: Option<PyReadonlyArray2<'_, bool>>,
        interventions: Vec<String>,
    ) -> PyResult<String> {
        let graph = |matrix: &PyReadonlyArray2<'_, bool>| {
            let edges = matrix.as_slice()?.to_vec();
            SignatureGraph::from_matrix(self.run.variables().len(), edges).or_raise()
        };
        let truth = truth.as_ref().map(graph).transpose()?;
        let page = py.detach(|| {
            let options = ViewOptions {
                data: self.loaded(),
                truth: truth.as_ref(),
                interventions: &interventions,
            };
            report_view(&self.run, &options).map(|view| report_html(&view))
        });
        page.or_raise()
    }

    /// Log likelihood of each series of `data`: name, nats, number of predicted cells.
    fn log_likelihoods(
        &self,
        py: Python<'_>,
        data: &SeriesData,
    ) -> PyResult<Vec<(String, f64, usize)>> {
        let model = self.model()?;
        let found = py.detach(|| model.log_likelihoods(data.set())).or_raise()?;
        Ok(found.into_iter().map(|one| (one.name, one.log_likelihood, one.n_cells)).collect())
    }
}

/// The name of a term's function, and its numbers in the order of its formula.
fn function_of(function: Option<TermFunction>) -> (Option<&'static str>, Vec<f64>) {
    match function {
        None => (None, Vec::new()),
        Some(TermFunction::Sine) => (Some("sin"), Vec::new()),
        Some(TermFunction::Cosine) => (Some("cos"), Vec::new()),
        Some(TermFunction::Hill { half }) => (Some("hill"), vec![half]),
        Some(TermFunction::Tanh { centre, width }) => (Some("tanh"), vec![centre, width]),
    }
}
