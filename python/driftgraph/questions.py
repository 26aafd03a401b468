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

# Deviations on either side of the mean within which a normal law has 90 % of its mass.
NINETY_PERCENT = 1.6448536269514722

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
        step without a direction has two rows, with ``direction`` = ``"either"``; :meth:`links` has one. Methods that
        test add ``lag``, ``link`` (``yes``, ``no`` or ``conflict``), ``linked_lags`` and ``p_value``.
        """
        pd = need("pandas", "a table of edges")
        frame = pd.DataFrame(self._fitted().edges()).drop(columns="mirrored")
        if "probability" not in frame:
            return frame
        return frame[frame["probability"] >= threshold].reset_index(drop=True)  # type: ignore[no-any-return]

    def links(self, threshold: float = 0.5, *, fdr: float | None = None) -> pandas.DataFrame:
        """As :meth:`edges`, with every link that has no direction once; of methods that test, the links that pass.

        ``fdr=0.1`` keeps as many as there can be with less than 10 % of them expected to be false, whatever the
        threshold; edges of variables on themselves do not count and are kept where they are as probable as the least
        probable of the others. ``frame.attrs["expected_false"]`` has the expected number of false ones.
        """
        pd = need("pandas", "a table of edges")
        frame = pd.DataFrame(self._fitted().edges())
        keep = ~frame.pop("mirrored")
        if fdr is not None:
            kept = self._fitted().kept_at_rate(fdr)
            keep &= kept["rows"]
        elif "probability" in frame:
            keep &= frame["probability"] >= threshold
        elif "link" in frame:
            keep &= frame["link"] != "no"
        frame = frame[keep].reset_index(drop=True)
        if "probability" in frame:
            others = frame["source"] != frame["target"]
            frame.attrs["expected_false"] = float((1.0 - frame["probability"][others]).sum())
        return frame  # type: ignore[no-any-return]

    # ------------------------------------------------------------------ regimes and conditions

    def _regimes(self) -> dict[str, Any]:
        self._fitted()
        if "regimes" not in self.run_:
            raise QuestionError("this run has one regime: fit `driftgraph.methods.Regimes` to look for more")
        return dict(self.run_["regimes"])

    def regime_times(self) -> pandas.DataFrame:
        """Which regime when: ``series``, ``time``, ``regime`` and a probability of each."""
        pd = need("pandas", "a table of regimes")
        record, frames = self._regimes(), []
        names = record["names"]
        for one in record["series"]:
            shares = np.reshape(one["probabilities"], (-1, len(names)))
            frame = pd.DataFrame({"series": one["name"], "time": one["times"]})
            frame["regime"] = np.array(names, dtype=object)[shares.argmax(axis=1)]
            for name, column in zip(names, shares.T):
                frame[f"probability {name}"] = column
            frames.append(frame)
        return pd.concat(frames, ignore_index=True)  # type: ignore[no-any-return]

    def regime_edges(self) -> pandas.DataFrame:
        """Every edge of every regime or condition, with probability and effect."""
        pd = need("pandas", "a table of edges")
        record, variables = self._regimes(), self._fitted().variables
        frame = pd.DataFrame(record["edges"])
        frame["regime"] = [record["names"][at] for at in frame["regime"]]
        for end in ("source", "target"):
            frame[end] = [variables[at] for at in frame[end]]
        return frame  # type: ignore[no-any-return]

    # ------------------------------------------------------------------ effects over time

    def _drifting(self) -> dict[str, Any]:
        self._fitted()
        if "drifting" not in self.run_:
            raise QuestionError("effects of this run stay the same: fit `driftgraph.methods.Drifting` to let them move")
        return dict(self.run_["drifting"])

    def drifting_effects(self) -> pandas.DataFrame:
        """Effects over time of the probable edges, ``low`` and ``high`` with a probability of 90 %."""
        pd = need("pandas", "a table of effects")
        record, variables = self._drifting(), self._fitted().variables
        frames = []
        for one in record["edges"]:
            frame = pd.DataFrame({"time": record["times"]})
            frame["source"], frame["target"] = variables[one["source"]], variables[one["target"]]
            frame["effect"] = one["effects"]
            reach = NINETY_PERCENT * np.asarray(one["deviations"])
            frame["low"], frame["high"] = frame["effect"] - reach, frame["effect"] + reach
            frames.append(frame)
        columns = ["time", "source", "target", "effect", "low", "high"]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)

    def drifting_edges(self) -> pandas.DataFrame:
        """Which effects move in time, those that most probably do first."""
        pd = need("pandas", "a table of edges")
        record, variables = self._drifting(), self._fitted().variables
        rows = [
            {
                "source": variables[one["source"]],
                "target": variables[one["target"]],
                "probability": one["probability"],
                "probability_drifting": one["drifting"],
                "effect_first": one["effects"][0],
                "effect_last": one["effects"][-1],
            }
            for one in record["edges"]
        ]
        return pd.DataFrame(rows)

    def differences(self) -> pandas.DataFrame:
        """Which edges differ between every two regimes or conditions, the most probable first.

        ``probability`` that the edge differs at all, that it is in the ``only_first`` or ``only_second`` alone, that
        its ``sign_changes``; effects in both (0 where an edge is less likely than not), and their ``difference``
        with its ``deviation``, given that there is one.
        """
        pd = need("pandas", "a table of differences")
        record, variables = self._regimes(), self._fitted().variables
        rows = [
            {
                "source": variables[one["source"]],
                "target": variables[one["target"]],
                "first": record["names"][one["regimes"][0]],
                "second": record["names"][one["regimes"][1]],
                "probability": one["probability"],
                "only_first": one["first_alone"],
                "only_second": one["second_alone"],
                "sign_changes": one["turned"],
                "effect_first": one["effects"][0],
                "effect_second": one["effects"][1],
                "difference": one["difference"],
                "deviation": one["deviation"],
            }
            for one in record["differences"]
        ]
        return pd.DataFrame(rows)  # type: ignore[no-any-return]

    def adequacy(self) -> pandas.DataFrame:
        """What the model leaves unexplained and should not: shares of the variance of each variable's innovations.

        ``products`` are explained by products of two states (the process is not linear), ``past`` by earlier rows
        (delays, hidden states), ``time`` by the time within a series (seasons, regimes), ``others`` by other variables
        of the same row (rows too far apart, or a common cause). ``clustering`` says how much more series differ than
        independent steps would let them; 1 is as much. The larger these, the less the evidence counts.
        """
        pd = need("pandas", "a table of shares")
        self._fitted()
        found = self.run_.get("adequacy")
        if found is None or not found["n_rows"]:
            raise QuestionError(
                f"`{self.run_['method']}` did not ask its innovations: there are too few rows, or it has none"
            )
        names = pd.Index(self.feature_names_in_, name="variable")
        frame = pd.DataFrame(found["shares"], index=names)
        return frame.assign(clustering=found["clustering"])  # type: ignore[no-any-return]

    def equation_terms(self) -> pandas.DataFrame:
        """The terms of all equations: ``target``, ``factors``, ``function`` (nothing for their product; ``sin`` and ``cos`` of
        one or of the difference of two; ``hill`` and ``tanh`` with its ``numbers``), ``coefficient`` in the data's units with
        its 90 % interval ``low`` to ``high``, and ``probability``."""
        pd = need("pandas", "a table of terms")
        rows = [{"target": one["target"], **term} for one in self._equations() for term in one["terms"]]
        columns = ["target", "factors", "function", "numbers", "coefficient", "low", "high", "probability"]
        return pd.DataFrame(rows, columns=columns)  # type: ignore[no-any-return]

    @property
    def equations_(self) -> dict[str, Any]:
        """What each variable's rate of change is, by name: an expression of sympy where that is installed, else text."""
        equations = self._equations()
        try:
            import sympy
        except ImportError:
            return {one["target"]: one["text"].split(" = ", 1)[1] for one in equations}

        def product(term: dict[str, Any]) -> Any:
            symbols = [sympy.Symbol(name) for name in term["factors"]]
            if term["function"] is None:
                return sympy.Mul(term["coefficient"], *symbols)
            inner = symbols[0] - symbols[1] if len(symbols) == 2 else symbols[0]
            functions = {
                "sin": sympy.sin,
                "cos": sympy.cos,
                "hill": lambda x, half: x**2 / (half**2 + x**2),
                "tanh": lambda x, centre, width: sympy.tanh((x - centre) / width),
            }
            return term["coefficient"] * functions[term["function"]](inner, *term["numbers"])

        return {one["target"]: sympy.Add(*map(product, one["terms"])) for one in equations}

    def _equations(self) -> list[dict[str, Any]]:
        """All equations; refused where the drift is no sum of terms."""
        equations = self._fitted().equations()
        if equations is None:
            raise QuestionError(
                "the drift of this model is no sum of terms: `bridge-polynomial` and `bridge-linear` learn equations"
            )
        return equations

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

    def to_networkx(self, threshold: float = 0.5, *, fdr: float | None = None) -> networkx.DiGraph:
        """A directed graph whose edges carry everything that is known of them.

        A link without a direction is one edge with ``direction`` = ``"either"``. ``fdr`` as in :meth:`links`.
        """
        nx = need("networkx", "a networkx graph")
        self._probabilities()
        graph = nx.DiGraph()
        graph.add_nodes_from(self._fitted().variables)
        columns = self._fitted().edges()
        keep = ~columns.pop("mirrored")
        keep &= columns["probability"] >= threshold if fdr is None else self._fitted().kept_at_rate(fdr)["rows"]
        for row in np.flatnonzero(keep):
            attributes = {name: _plain(column[row]) for name, column in columns.items()}
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

    def to_graph_text(self, format: str = "dot", threshold: float = 0.5, *, fdr: float | None = None) -> str:
        """Edges for other programs: csv, matrix, dot, graphml, gexf, cytoscape or json.

        ``"cytoscape-style"`` is the style in which Cytoscape shows such a graph. ``fdr`` as in :meth:`links`.
        """
        return self._fitted().graph_text(format, threshold, fdr)

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
        input: str | Sequence[str] | Mapping[str, Any] | None = None,
        input_file: Any = None,
    ) -> Paths:
        """New paths of the learned process, each under a graph of its own.

        Where the data have dates, times may be dates of any kind and lengths of time ``"90d"`` or timedeltas.
        They start in the learned initial law, that is with values as at the beginning of a series, also where
        ``start_time`` lies later; ``start`` may be ``{variable: value}``, one value per
        variable, the name of a series, or ``(name, time)``. ``threshold`` puts all paths under the one
        graph of edges of at least this probability. ``input`` says what inputs do, such as ``"light = 1 @ 0..12"``, or
        ``input_file``, a frame or file with a time and a column for each input, whose values stay until the next row;
        where they say nothing they are as in the series that paths start in (then held at the last value), or at
        their means over the data.
        """
        request = self._request(
            n_paths, horizon, every, times, start, start_time, threshold, step_size, scheme, seed, input, input_file
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
        input: str | Sequence[str] | Mapping[str, Any] | None = None,
        input_file: Any = None,
    ) -> SeriesBands:
        """Futures of every series of the fit, with bands of what would be measured.

        Where the data have dates, ``horizon`` may be ``"90d"`` or a timedelta, and ``times`` dates of any kind.
        ``input`` and ``input_file`` say what inputs do, as in :meth:`simulate`; where they say nothing they are held at
        their last values.
        """
        request = self._request(
            n_paths, horizon, every, times, None, None, threshold, step_size, scheme, seed, input, input_file
        )
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
        input: str | Sequence[str] | Mapping[str, Any] | None = None,
        input_file: Any = None,
    ) -> Effect:
        """What happens under interventions, against the same paths left alone.

        ``do`` is a text such as ``"x2 = 0.5 @ 10..20"`` (or ``"@ 2000-01-01..2002-01-01"`` for dated data), ``"drift(x4) += 0.3"`` or ``"clip(x1; 0, 3)"``, several of
        them, or ``{"x2": 0.5}``. A variable that cannot be reached does not change in any digit.
        """
        texts = _texts(do)
        request = self._request(
            n_paths, horizon, every, times, start, start_time, threshold, step_size, scheme, seed, input, input_file
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
        input: str | Sequence[str] | Mapping[str, Any] | None = None,
        input_file: Any = None,
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
            "input": _of_file(input_file, clock) + _texts(input),
        }

    @property
    def training_data(self) -> Dataset:
        """The data of the fit, as they were read."""
        return Dataset._of_native(self._fitted().training_data)


def _texts(given: str | Sequence[str] | Mapping[str, Any] | None) -> list[str]:
    """Expressions such as ``"x = 1"``, from one, several, or values by name."""
    if given is None:
        return []
    if isinstance(given, str):
        return [given]
    if isinstance(given, Mapping):
        return [f"{name} = {value}" for name, value in given.items()]
    return list(given)


def _of_file(given: Any, clock: Clock) -> list[str]:
    """What a table says of inputs, as expressions: each value stays until the next row."""
    if given is None:
        return []
    table = Dataset.from_any(given)
    if len(table.names) > 1:
        raise QuestionError(f"`input_file` has {len(table.names)} series, but inputs are the same for all paths")
    if table.clock.is_dated != clock.is_dated:
        message = "the times of `input_file` are not those of the data: dates on one side, numbers on the other"
        raise QuestionError(message)
    times = table.clock.in_unit_of(clock, table.times[0])
    texts = []
    for column, name in enumerate(table.variables):
        own = table.values[0][:, column]
        known = [(float(time), float(value)) for time, value in zip(times, own) if not np.isnan(value)]
        ends = [f"{time!r}" for time, _ in known[1:]] + [""]
        texts += [f"`{name}` = {value!r} @ {time!r}..{end}" for (time, value), end in zip(known, ends)]
    return texts


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
