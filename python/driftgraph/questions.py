"""Questions to what was learned: the graph, paths, predictions and how good they are."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._clock import Clock
from ._optional import need
from ._run import ReadRun
from .data import Dataset
from .errors import DataError, QuestionError
from .results import Effect, Paths, SeriesBands

if TYPE_CHECKING:
    import networkx
    import pandas

__all__ = ["Questions"]


class Questions(ReadRun):
    """What can be asked of a run; pictures and prose of the answers are in :class:`Fitted`."""

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

    def _probabilities(self) -> NDArray[np.float64]:
        """Probabilities of all edges; refused where the method gives none."""
        self._fitted()
        if not hasattr(self, "edge_probabilities_"):
            raise QuestionError(
                f"`{self.run_['method']}` ranks edges and gives no probabilities: nothing says which edges there are; "
                "`edges()` has their scores"
            )
        return np.asarray(self.edge_probabilities_)

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
        self._probabilities()
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
        self._probabilities()
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
        return Paths(self._fitted().variables, answer["times"], answer["values"], self._clock)

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
        return SeriesBands(self._fitted().variables, answers, self._clock)

    def impute(self, times: Any = None, *, n_samples: int = 200, seed: int = 0) -> SeriesBands:
        """Hidden states at the rows of the data, or at any times inside the series.

        ``impute().filled()`` is the data set with its holes filled.
        """
        asked = None if times is None else self._clock.numbers(times)
        answers = self._fitted().impute(asked, n_samples, seed)
        return SeriesBands(self._fitted().variables, answers, self._clock)

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
        return Effect._of(model.variables, texts, answer, self._clock, model.time_label)

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
        data = data._with_columns(model.variables)._counted_by(self._clock)
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
        clock = self._clock
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


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
