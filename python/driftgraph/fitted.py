"""What was learned, to be asked and looked at: graph, paths, pictures, report."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native, plots
from .errors import QuestionError
from .questions import Questions
from .results import Effect, SeriesBands

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Fitted"]


class Fitted(Questions):
    """A run folder that was read, with the questions asked of its model; :class:`Scotch` is one."""

    def summary(self, top: int = 10) -> str:
        """The strongest edges, how the fit ended, what was chosen, and feedback loops, as text."""
        model = self._fitted()
        columns = model.edges()
        width = max(len(name) for name in model.variables)
        steps = f" after {self.n_iter_} steps" if self.n_iter_ else ""
        lines = [
            f"{type(self).__name__}: {len(model.variables)} variables, {self.run_['data']['series']} series, "
            f"{self.run_['data']['rows']} rows; {self.ending_}{steps}"
            + {True: ", converged", False: ", not converged", None: ""}[self.converged_],
        ]
        expected = self.run_.get("expected_edges")
        lines.append("the strongest edges:" if expected is None else f"{expected:.1f} edges expected; the strongest:")
        for row in np.flatnonzero(~columns["mirrored"])[:top]:
            arrow = "--" if "direction" in columns and columns["direction"][row] == "either" else "->"
            kind = columns["kind"][row] if "kind" in columns else "lagged"
            kind = "" if kind == "lagged" else f"  ({kind})"
            lines.append(
                f"  {columns['source'][row]:>{width}} {arrow} {columns['target'][row]:<{width}}  "
                + "  ".join(_numbers(columns, row))
                + kind
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
        probabilities = self._probabilities()
        names, columns = self._fitted().variables, self._fitted().edges()
        position = {name: idx for idx, name in enumerate(names)}
        shape = (len(names), len(names))
        drawn, signs, undirected = np.zeros(shape), np.zeros(shape, dtype=np.int8), np.zeros(shape, dtype=bool)
        for row in np.flatnonzero(~columns["mirrored"]):
            edge = position[columns["source"][row]], position[columns["target"][row]]
            drawn[edge] = probabilities[edge]
            signs[edge] = {"+": 1, "-": -1}.get(columns["sign"][row], 0) if "sign" in columns else 0
            undirected[edge] = "direction" in columns and columns["direction"][row] == "either"
        return drawn, signs, undirected

    def _repr_html_(self) -> str:
        if not hasattr(self, "_model"):
            return f"<pre>{html.escape(repr(self))}</pre>"
        title = "Edges with a probability of at least 0.5"
        names = self._model.variables
        text = f"<pre>{html.escape(self.summary(5))}</pre>"
        if len(names) > 200 or not hasattr(self, "edge_probabilities_"):
            return text
        drawn, signs, undirected = self._picture()
        told = self.run_["data"]["options"].get("inputs", [])
        inputs = [place for place, name in enumerate(names) if name in told]
        picture = _native.graph_picture(names, drawn, signs, title, undirected=undirected, inputs=inputs)
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
        return plots.plot_matrix(self._probabilities(), names, ax=ax, title=title, truth=known)

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


def _numbers(columns: Mapping[str, Any], row: int) -> list[str]:
    """What the method tells of an edge: its probability, or else its score, its sign and its effect."""
    sure = f"{columns['probability'][row]:.3f}" if "probability" in columns else f"score {columns['score'][row]:.4g}"
    sign = [f"{columns['sign'][row]:>5}"] if "sign" in columns else []
    effect = [f"effect {columns['effect'][row]:+.4g}{_interval(columns, row)}"] if "effect" in columns else []
    return [sure, *sign, *effect]


def _interval(columns: Mapping[str, Any], row: int) -> str:
    """The 90 % interval of an effect, where the model has any."""
    if "effect_low" not in columns:
        return ""
    return f" [{columns['effect_low'][row]:+.3g}, {columns['effect_high'][row]:+.3g}]"
