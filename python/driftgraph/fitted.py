"""What was learned, and every question that can be asked of it: graph, paths, pictures, report."""

from __future__ import annotations

import html
import json
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native, plots
from ._clock import Clock
from ._folder import RunFolder
from ._optional import need
from .data import Dataset
from .errors import DataError, NotFittedError, QuestionError
from .matrices import EdgeMatrix
from .results import Effect, Paths, SeriesBands

if TYPE_CHECKING:
    import networkx
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Fitted"]


class Fitted:
    """A run folder that was read, with the questions asked of its model; :class:`Scotch` is one."""

    def _forget(self) -> None:
        for name in [name for name in vars(self) if name.endswith("_") or name in ("_model", "_folder")]:
            delattr(self, name)

    def _take(self, folder: RunFolder, remarks: Sequence[str] = ()) -> None:
        """Reads the run folder into the fitted attributes."""
        model = _native.Model.load(str(folder.path))
        names = model.variables
        run = json.loads((folder.path / "run.json").read_text(encoding="utf-8"))
        self._forget()
        self._folder = folder
        self._model = model
        self.run_: dict[str, Any] = run
        self.feature_names_in_: NDArray[Any] = np.array(names, dtype=object)
        self.n_features_in_ = len(names)
        self.edge_scores_ = EdgeMatrix.of(model.scores(), names)
        # Methods that only rank edges have no probabilities, and no cut.
        if "probability" in model.edges():
            self.edge_probabilities_ = EdgeMatrix.of(model.probabilities(), names)
            self.adjacency_matrix_ = EdgeMatrix.of(np.asarray(self.edge_probabilities_) >= 0.5, names)
        log = _log(folder.path / "log.jsonl")
        self.loss_curve_: NDArray[np.float64] = -np.array([line["elbo"] for line in log], dtype=float)
        self.loss_steps_: NDArray[np.int64] = np.array([line["step"] for line in log], dtype=np.int64)
        self.converged_: bool | None = run.get("converged")
        members = run.get("members")
        last = int(self.loss_steps_[-1]) + 1 if len(log) else 0
        self.n_iter_ = int(members[0]["steps"]) if members else last
        self.ending_: str = run["ending"]
        self.remarks_: list[str] = list(remarks)

    def _fitted(self) -> _native.Model:
        if not hasattr(self, "_model"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call `fit` or `load` first")
        return self._model

    def _fitted_folder(self) -> RunFolder:
        self._fitted()
        return self._folder

    @property
    def folder(self) -> Path:
        """The run folder; temporary until :meth:`save`."""
        return self._fitted_folder().path

    @property
    def clock(self) -> Clock:
        """What the numbers on the time axis of the fit mean."""
        self._fitted()
        axis = self.run_["data"]["time"]
        return Clock(axis["unit"], axis.get("origin"))

    # ------------------------------------------------------------------ the graph

    def edges(self, threshold: float = 0.0) -> pandas.DataFrame:
        """Edges of at least this probability, most probable first.

        ``sign``, ``effect``, ``strength`` and the 90 % interval ``effect_low`` to ``effect_high`` are those of the
        part that carries the edge, which ``kind`` names: ``lagged``, ``within-step`` or ``both``. A link within a
        step without a direction has two rows, with ``direction`` = ``"either"``; :meth:`links` has one.
        """
        pd = need("pandas", "a table of edges")
        frame = pd.DataFrame(self._fitted().edges()).drop(columns="mirrored")
        if "probability" not in frame:
            return frame
        return frame[frame["probability"] >= threshold].reset_index(drop=True)  # type: ignore[no-any-return]

    def links(self, threshold: float = 0.5) -> pandas.DataFrame:
        """As :meth:`edges`, with every link that has no direction once."""
        pd = need("pandas", "a table of edges")
        frame = pd.DataFrame(self._fitted().edges())
        keep = ~frame.pop("mirrored")
        if "probability" in frame:
            keep &= frame["probability"] >= threshold
        return frame[keep].reset_index(drop=True)  # type: ignore[no-any-return]

    def feedback_loops(self, threshold: float = 0.5) -> list[list[str]]:
        """Groups of variables that all reach each other."""
        return self._fitted().feedback_loops(threshold)

    def sample_graphs(self, n_graphs: int = 100, *, seed: int = 0, kind: str = "any") -> NDArray[np.bool_]:
        """Graphs of the posterior ``(graph, source, target)``.

        ``kind`` is ``"lagged"`` (edges into drift or noise), ``"instantaneous"`` (within a step) or ``"any"``.
        Each edge comes as often as its probability says.
        """
        return self._fitted().sample_graphs(n_graphs, seed, kind)

    def to_networkx(self, threshold: float = 0.5) -> networkx.DiGraph:
        """A directed graph whose edges carry everything that is known of them.

        A link without a direction is one edge with ``direction`` = ``"either"``.
        """
        nx = need("networkx", "a networkx graph")
        graph = nx.DiGraph()
        graph.add_nodes_from(self._fitted().variables)
        columns = self._fitted().edges()
        for row in np.flatnonzero(~columns.pop("mirrored")):
            attributes = {name: _plain(column[row]) for name, column in columns.items()}
            if attributes["probability"] >= threshold:
                graph.add_edge(attributes.pop("source"), attributes.pop("target"), **attributes)
        return graph

    def to_tigramite(self, threshold: float = 0.5) -> dict[str, Any]:
        """``graph``, ``val_matrix``, ``p_matrix``, ``var_names`` and ``lags`` for tigramite's plots.

        Arrays are ``[source, target, lag]``: lag 1 holds edges into drift or noise, lag 0 those within a
        step, where the model has any; ``lags`` says how long each is, in the data's unit of time. Values are
        signed: what a deviation of the source does to the target over a step, in deviations of the target.
        ``p_matrix`` is one minus the probability.
        """
        model = self._fitted()
        names, columns = model.variables, model.edges()
        n, step = len(names), model.step_size
        values, absent = np.zeros((n, n, 2)), np.ones((n, n, 2))
        position = {name: idx for idx, name in enumerate(names)}
        source, target = ([position[name] for name in columns[end]] for end in ("source", "target"))
        within = "effect_within_step" in columns
        scales = np.array(model.scales)
        per_deviation = scales[source] / scales[target]
        lagged = columns["effect_lagged"] if within else columns["effect"]
        values[source, target, 1] = lagged * per_deviation * step
        absent[source, target, 1] = 1.0 - columns["probability_lagged"]
        graph = np.full((n, n, 2), "", dtype="<U3")
        graph[..., 1][absent[..., 1] <= 1.0 - threshold] = "-->"
        if within:
            values[source, target, 0] = columns["effect_within_step"] * per_deviation
            absent[source, target, 0] = 1.0 - columns["probability_within_step"]
            _within_step(graph[..., 0], values[..., 0], absent[..., 0], threshold, model.tells_direction)
        lags = np.array([0.0, step])
        return {"graph": graph, "val_matrix": values, "p_matrix": absent, "var_names": names, "lags": lags}

    def to_graph_text(self, format: str = "dot", threshold: float = 0.5) -> str:
        """Edges for other programs: csv, matrix, dot, graphml, gexf, cytoscape or json."""
        return self._fitted().graph_text(format, threshold)

    # ------------------------------------------------------------------ questions

    def simulate(
        self,
        n_paths: int = 1000,
        *,
        horizon: Any = None,
        every: Any = None,
        times: Any = None,
        start: Any = None,
        start_time: Any = None,
        threshold: float | None = None,
        step_size: Any = None,
        scheme: str = "euler-maruyama",
        seed: int = 0,
    ) -> Paths:
        """New paths of the learned process, each under a graph of its own.

        Where the data have dates, times may be dates of any kind and lengths of time ``"90d"`` or timedeltas.
        They start in the learned initial law; ``start`` may be ``{variable: value}``, one value per
        variable, the name of a series, or ``(name, time)``. ``threshold`` puts all paths under the one
        graph of edges of at least this probability.
        """
        request = self._request(
            n_paths, horizon, every, times, start, start_time, threshold, step_size, scheme, seed
        )
        answer = self._fitted().simulate(request)
        return Paths(self._fitted().variables, answer["times"], answer["values"], self.clock)

    def forecast(
        self,
        horizon: Any = None,
        *,
        every: Any = None,
        times: Any = None,
        n_paths: int = 1000,
        threshold: float | None = None,
        step_size: Any = None,
        scheme: str = "euler-maruyama",
        seed: int = 0,
    ) -> SeriesBands:
        """Futures of every series of the fit, with bands of what would be measured.

        Where the data have dates, ``horizon`` may be ``"90d"`` or a timedelta, and ``times`` dates of any kind.
        """
        request = self._request(n_paths, horizon, every, times, None, None, threshold, step_size, scheme, seed)
        answers = self._fitted().forecast(request)
        if not answers:
            raise QuestionError("none of the times lies after the end of a series")
        return SeriesBands(self._fitted().variables, answers, self.clock)

    def impute(self, times: Any = None, *, n_samples: int = 200, seed: int = 0) -> SeriesBands:
        """Hidden states at the rows of the data, or at any times inside the series.

        ``impute().filled()`` is the data set with its holes filled.
        """
        asked = None if times is None else self.clock.numbers(times)
        answers = self._fitted().impute(asked, n_samples, seed)
        return SeriesBands(self._fitted().variables, answers, self.clock)

    def intervene(
        self,
        do: str | Sequence[str] | Mapping[str, Any],
        *,
        horizon: Any = None,
        every: Any = None,
        times: Any = None,
        start: Any = None,
        start_time: Any = None,
        n_paths: int = 1000,
        threshold: float | None = None,
        step_size: Any = None,
        scheme: str = "euler-maruyama",
        seed: int = 0,
    ) -> Effect:
        """What happens under interventions, against the same paths left alone.

        ``do`` is a text such as ``"x2 = 0.5 @ 10..20"`` (or ``"@ 2000-01-01..2002-01-01"`` for dated data), ``"drift(x4) += 0.3"`` or ``"clip(x1; 0, 3)"``, several of
        them, or ``{"x2": 0.5}``. A variable that cannot be reached does not change in any digit.
        """
        if isinstance(do, str):
            texts = [do]
        elif isinstance(do, Mapping):
            texts = [f"{name} = {value}" for name, value in do.items()]
        else:
            texts = list(do)
        request = self._request(
            n_paths, horizon, every, times, start, start_time, threshold, step_size, scheme, seed
        )
        model = self._fitted()
        answer = model.intervene(texts, request)
        for text in answer["idle"]:
            warnings.warn(f"`{text}` lies outside the simulated times and does nothing", stacklevel=2)
        return Effect._of(model.variables, texts, answer, self.clock, model.time_label)

    def score(self, X: Any, times: Any = None, series: Any = None) -> float:
        """Mean log likelihood per cell of series that the fit has not seen, in nats; larger is better.

        Each row is predicted from the rows before it (:meth:`score_series` has the sums). Only models of the
        bridge posterior have one.
        """
        rows = self.score_series(X, times, series)
        return float(sum(row["log_likelihood"] for row in rows) / sum(row["n_cells"] for row in rows))

    def score_series(self, X: Any, times: Any = None, series: Any = None) -> list[dict[str, Any]]:
        """``series``, ``log_likelihood`` (nats, in your units) and ``n_cells`` of each series."""
        model = self._fitted()
        data = Dataset.from_any(X, times, series, names=model.variables)
        if sorted(data.variables) != sorted(model.variables):
            raise DataError(f"the data have the variables {data.variables}, the model has {model.variables}")
        data = data._with_columns(model.variables)._counted_by(self.clock)
        found = model.log_likelihoods(data._to_native())
        return [{"series": name, "log_likelihood": log, "n_cells": cells} for name, log, cells in found]

    def forecast_test(self, share: float = 0.2, *, n_paths: int = 1000, seed: int = 0) -> list[dict[str, Any]]:
        """Fits the beginnings again and forecasts the ends, beside persistence and a random walk."""
        request = self._request(n_paths, None, None, None, None, None, None, None, "euler-maruyama", seed)
        return list(json.loads(self._fitted().forecast_test(share, request)))

    def impute_test(self, share: float = 0.1, *, n_samples: int = 200, seed: int = 0) -> list[dict[str, Any]]:
        """Hides cells, fits again and imputes them, beside straight lines."""
        return list(json.loads(self._fitted().impute_test(share, n_samples, seed)))

    def _request(
        self,
        n_paths: int,
        horizon: Any,
        every: Any,
        times: Any,
        start: Any,
        start_time: Any,
        threshold: float | None,
        step_size: Any,
        scheme: str,
        seed: int,
    ) -> dict[str, Any]:
        clock = self.clock
        values, series = _start(start, self._fitted().variables, clock)
        return {
            "n_paths": n_paths,
            "times": None if times is None else clock.numbers(times),
            "start_time": None if start_time is None else clock.number(start_time),
            "horizon": clock.span(horizon),
            "every": clock.span(every),
            "start_values": values,
            "start_series": series,
            "threshold": threshold,
            "step_size": clock.span(step_size),
            "scheme": scheme,
            "seed": seed,
        }

    @property
    def training_data(self) -> Dataset:
        """The data of the fit, as they were read."""
        return Dataset._of_native(self._fitted().training_data)

    # ------------------------------------------------------------------ looking at it

    def summary(self, top: int = 10) -> str:
        """The strongest edges, how the fit ended, what was chosen, and feedback loops, as text."""
        model = self._fitted()
        columns = model.edges()
        width = max(len(name) for name in model.variables)
        lines = [
            f"{type(self).__name__}: {len(model.variables)} variables, {self.run_['data']['series']} series, "
            f"{self.run_['data']['rows']} rows; {self.ending_} after {self.n_iter_} steps"
            + {True: ", converged", False: ", not converged", None: ""}[self.converged_],
            f"{self.run_['expected_edges']:.1f} edges expected; the strongest:",
        ]
        for row in np.flatnonzero(~columns["mirrored"])[:top]:
            arrow = "--" if "direction" in columns and columns["direction"][row] == "either" else "->"
            kind = columns["kind"][row] if "kind" in columns else "lagged"
            kind = "" if kind == "lagged" else f"  ({kind})"
            lines.append(
                f"  {columns['source'][row]:>{width}} {arrow} {columns['target'][row]:<{width}}  "
                f"{columns['probability'][row]:.3f}  {columns['sign'][row]:>5}  "
                f"effect {columns['effect'][row]:+.4g}{_interval(columns, row)}{kind}"
            )
        for group in model.feedback_loops(0.5):
            lines.append("feedback loop: " + ", ".join(group))
        return "\n".join(lines + self.remarks_)

    def report(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        truth: ArrayLike | None = None,
        do: str | Sequence[str] = (),
    ) -> Path:
        """Writes everything about the run into one HTML file, and returns where it is.

        That is ``report.html`` in the run folder where no ``path`` is given. ``truth`` marks known edges, ``do`` adds
        interventions.
        """
        known = None if truth is None else np.ascontiguousarray(truth, dtype=bool)
        square = (len(self._fitted().variables),) * 2
        if known is not None and known.shape != square:
            raise QuestionError(f"the truth must have shape {square}, found {known.shape}")
        page = self._fitted().report(known, [do] if isinstance(do, str) else list(do))
        target = Path(path) if path is not None else self.folder / "report.html"
        target.write_text(page, encoding="utf-8")
        return target

    def _picture(self) -> tuple[NDArray[np.float64], NDArray[np.int8], NDArray[np.bool_]]:
        """What a picture shows: probabilities (a link without a direction once), signs, and which have no direction."""
        names, columns = self._fitted().variables, self._fitted().edges()
        position = {name: idx for idx, name in enumerate(names)}
        shape = (len(names), len(names))
        drawn, signs, undirected = np.zeros(shape), np.zeros(shape, dtype=np.int8), np.zeros(shape, dtype=bool)
        for row in np.flatnonzero(~columns["mirrored"]):
            edge = position[columns["source"][row]], position[columns["target"][row]]
            drawn[edge] = self.edge_probabilities_[edge]
            signs[edge] = {"+": 1, "-": -1}.get(columns["sign"][row], 0) if "sign" in columns else 0
            undirected[edge] = "direction" in columns and columns["direction"][row] == "either"
        return drawn, signs, undirected

    def _repr_html_(self) -> str:
        if not hasattr(self, "_model"):
            return f"<pre>{html.escape(repr(self))}</pre>"
        title = "Edges with a probability of at least 0.5"
        names = self._model.variables
        text = f"<pre>{html.escape(self.summary(5))}</pre>"
        if len(names) > 200:
            return text
        drawn, signs, undirected = self._picture()
        picture = _native.graph_picture(names, drawn, signs, title, undirected=undirected)
        return f'<div style="max-width:640px">{picture}</div>{text}'

    def plot_graph(self, threshold: float = 0.5, *, ax: Axes | None = None, title: str | None = None) -> Axes:
        """Probable edges as arrows: width is probability, colour is sign."""
        names = self._fitted().variables
        drawn, signs, undirected = self._picture()
        return plots.plot_graph(drawn, names, signs, threshold=threshold, undirected=undirected, ax=ax, title=title)

    def plot_matrix(
        self, *, truth: ArrayLike | None = None, ax: Axes | None = None, title: str | None = None
    ) -> Axes:
        """Probabilities of all edges; ``truth`` marks known ones."""
        names = self._fitted().variables
        known = None if truth is None else np.asarray(truth, dtype=bool)
        return plots.plot_matrix(np.asarray(self.edge_probabilities_), names, ax=ax, title=title, truth=known)

    def plot_loss(self, *, ax: Axes | None = None) -> Axes:
        """The loss along the steps."""
        self._fitted()
        return plots.plot_loss(self.loss_curve_, self.loss_steps_.astype(float), ax=ax)

    def plot_fit(self, series: str | None = None, variables: Sequence[str] | None = None) -> Figure:
        """Hidden states of one series over its measurements."""
        name = series if series is not None else self.training_data.names[0]
        title = f"Hidden states of {name}"
        label = self._fitted().time_label
        return plots.plot_bands(self._at_fine_times(name), name, variables, title=title, time_label=label)

    def _at_fine_times(self, name: str) -> SeriesBands:
        """Hidden states at the rows of a series and between them."""
        data = self.training_data
        own = data.times[data._position(name)]
        fine = np.union1d(own, np.linspace(own[0], own[-1], 200)) if len(own) > 1 else own
        return self.impute(fine)

    def plot_forecast(
        self, series: str | None = None, variables: Sequence[str] | None = None, **asked: Any
    ) -> Figure:
        """The future of one series after its last measurements; ``asked`` goes to :meth:`forecast`."""
        answer = self.forecast(**asked)
        name = series if series is not None else next(iter(answer))
        return plots.plot_bands(
            answer,
            name,
            variables,
            data=self.training_data,
            title=f"Forecast of {name}",
            time_label=self._fitted().time_label,
        )

    def plot_intervention(
        self,
        do: str | Sequence[str] | Mapping[str, Any] | Effect,
        variables: Sequence[str] | None = None,
        **asked: Any,
    ) -> Figure:
        """With and without an intervention; ``asked`` goes to :meth:`intervene`."""
        effect = do if isinstance(do, Effect) else self.intervene(do, **asked)
        return plots.plot_effect(effect, variables)


def _within_step(
    graph: NDArray[Any], values: NDArray[np.float64], absent: NDArray[np.float64], threshold: float, directed: bool
) -> None:
    """Marks of links within a step, and the one value that tigramite wants for both ways."""
    np.fill_diagonal(values, 0.0)
    np.fill_diagonal(absent, 1.0)
    there = absent <= 1.0 - threshold
    graph[there & ~there.T] = "-->"
    graph[there.T & ~there] = "<--"
    graph[there & there.T] = "o-o" if not directed else "x-x"
    # The better supported way, the stronger one where both are as sure; tigramite has one value for both.
    first = (absent < absent.T) | ((absent == absent.T) & (np.abs(values) >= np.abs(values.T)))
    values[:] = np.where(first, values, values.T)
    absent[:] = np.minimum(absent, absent.T)


def _log(file: Path) -> list[dict[str, Any]]:
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]


def _start(
    start: Any, names: list[str], clock: Clock
) -> tuple[list[tuple[str, float]] | None, tuple[str, float | None] | None]:
    """Given values, or a series with a time."""
    if start is None:
        return None, None
    if isinstance(start, str):
        return None, (start, None)
    if isinstance(start, tuple) and len(start) == 2 and isinstance(start[0], str):
        return None, (start[0], None if start[1] is None else clock.number(start[1]))
    if isinstance(start, Mapping):
        return [(str(name), float(value)) for name, value in start.items()], None
    values = np.ravel(start)
    if len(values) != len(names):
        raise QuestionError(f"`start` needs {len(names)} values, found {len(values)}")
    return [(name, float(value)) for name, value in zip(names, values)], None


def _interval(columns: Mapping[str, Any], row: int) -> str:
    """The 90 % interval of an effect, where the model has any."""
    if "effect_low" not in columns:
        return ""
    return f" [{columns['effect_low'][row]:+.3g}, {columns['effect_high'][row]:+.3g}]"


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
