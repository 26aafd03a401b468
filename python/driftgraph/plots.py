"""Pictures with matplotlib: the graph, the matrix, the fit, forecasts and interventions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._optional import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .data import Dataset
    from .results import Bands, Effect, SeriesBands

__all__ = ["plot_bands", "plot_effect", "plot_graph", "plot_loss", "plot_matrix"]

# Blue raises, orange lowers (safe for colour-blind readers), grey for mixed or unknown.
_SIGN_COLOURS = {1: "#2166ac", -1: "#d6604d", 0: "#6b7280"}
_SIGN_WORDS = {1: "raises", -1: "lowers", 0: "mixed or unknown"}
_FIRST, _SECOND, _MEASURED = "#2166ac", "#d6604d", "#111827"
_MOST_PANELS = 12


def _pyplot() -> Any:
    return need("matplotlib.pyplot", "a plot")


def plot_graph(
    probabilities: NDArray[np.float64],
    names: Sequence[str],
    signs: NDArray[np.int8] | None = None,
    *,
    threshold: float = 0.5,
    undirected: NDArray[np.bool_] | None = None,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Probable edges as arrows on a circle: width is probability, colour is the sign of the effect.

    Edges that are ``undirected`` have no head.
    """
    plt = _pyplot()
    n = len(names)
    if ax is None:
        side = float(np.clip(3.6 + 0.18 * n, 4.4, 11.0))
        ax = plt.figure(figsize=(side, side)).add_subplot()
    angles = np.pi / 2 - 2 * np.pi * np.arange(n) / n
    places = np.stack([np.cos(angles), np.sin(angles)], axis=1) if n > 1 else np.zeros((1, 2))
    # Neighbours on the circle are 2 sin(pi / n) apart; nodes take a third of that.
    radius = float(np.clip(0.62 * np.sin(np.pi / max(n, 3)), 0.045, 0.17))
    inside = n == 1 or (radius >= 0.1 and max(map(len, names)) <= 4)
    radius = radius if inside else min(radius, 0.06)
    probable = [(i, j) for i in range(n) for j in range(n) if probabilities[i, j] >= threshold]
    used = set()
    for source, target in sorted(probable, key=lambda edge: probabilities[edge]):
        sign = 0 if signs is None else int(signs[source, target])
        used.add(sign)
        width = 0.6 + 2.6 * (probabilities[source, target] - threshold) / max(1 - threshold, 1e-9)
        has_head = undirected is None or not undirected[source, target]
        _draw_edge(ax, places, (source, target), radius, _SIGN_COLOURS[sign], width, has_head)
    _draw_nodes(ax, places, names, radius, inside)
    _sign_legend(ax, used)
    ax.set_title(title or f"Edges with a probability of at least {threshold:g}", fontsize=11)
    reach = 1.06 + radius + _loop_reach(radius) + (0.0 if inside else 0.16 if n <= 16 else 0.4)
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    ax.set_axis_off()
    return ax


def _draw_edge(
    ax: Axes,
    places: NDArray[np.float64],
    edge: tuple[int, int],
    radius: float,
    colour: str,
    width: float,
    has_head: bool,
) -> None:
    from matplotlib.patches import FancyArrowPatch

    source, target = edge
    start, end = places[source], places[target]
    style: dict[str, Any] = {
        "arrowstyle": f"-|>,head_length={3.5 + 0.7 * width},head_width={1.6 + 0.5 * width}" if has_head else "-",
        "color": colour, "lw": width, "alpha": 0.85, "zorder": 1, "shrinkA": 0, "shrinkB": 0,
    }  # fmt: skip
    if source == target:
        ax.add_patch(FancyArrowPatch(path=_loop(start, radius), **style))
        return
    # Both directions bend to their own right, so that they do not hide each other.
    bend = 0.18
    chord = end - start
    length = np.linalg.norm(chord)
    unit = chord / length
    normal = np.array([unit[1], -unit[0]])
    leave = start + radius * _unit(unit + 2 * bend * normal)
    arrive = end - radius * _unit(unit - 2 * bend * normal)
    style["connectionstyle"] = f"arc3,rad={bend}"
    ax.add_patch(FancyArrowPatch(tuple(leave), tuple(arrive), **style))


def _loop(place: NDArray[np.float64], radius: float) -> Any:
    """Out on one side of the node and back on the other, on the outside of the circle."""
    from matplotlib.path import Path

    outward = place / np.linalg.norm(place) if np.linalg.norm(place) > 0 else np.array([0.0, 1.0])
    sideways = np.array([-outward[1], outward[0]])
    ends = [place + radius * (0.8 * outward + side * 0.6 * sideways) for side in (1, -1)]
    # A cubic curve reaches three quarters of the way to its inner points.
    reach = _loop_reach(radius) / 0.75
    bends = [place + radius * outward + reach * (outward + side * 0.75 * sideways) for side in (1, -1)]
    points = [ends[0], bends[0], bends[1], ends[1]]
    return Path([tuple(point) for point in points], [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])


def _loop_reach(radius: float) -> float:
    """How far a self edge stands out from its node: far enough for its head on small nodes."""
    return max(1.1 * radius, 0.13)


def _unit(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(vector / np.linalg.norm(vector))


def _draw_nodes(
    ax: Axes, places: NDArray[np.float64], names: Sequence[str], radius: float, inside: bool
) -> None:
    from matplotlib.patches import Circle

    for place, name in zip(places, names):
        x, y = float(place[0]), float(place[1])
        ax.add_patch(Circle((x, y), radius, facecolor="white", edgecolor="#374151", lw=1.1, zorder=2))
        short = name if len(name) <= 14 else name[:13] + "…"
        if inside:
            ax.text(x, y, short, ha="center", va="center", fontsize=9, zorder=3)
            continue
        # Names that do not fit into the node stand outside, beyond a possible self edge.
        far = 1 + radius + _loop_reach(radius) + 0.06
        side = "left" if x > 0 else "right"
        style: dict[str, Any] = {"ha": side, "va": "center", "fontsize": 9, "zorder": 3, "clip_on": False}
        if len(places) > 16:
            # Along the rays, so that many names do not cover each other.
            turn = float(np.degrees(np.arctan2(y, x)))
            style |= {"rotation": turn if x > 0 else turn - 180, "rotation_mode": "anchor", "fontsize": 8}
        elif abs(x) < 0.25:
            style["ha"] = "center"
        ax.text(x * far, y * far, short, **style)


def _sign_legend(ax: Axes, used: set[int]) -> None:
    from matplotlib.lines import Line2D

    if not used - {0}:
        return
    lines = [Line2D([], [], color=_SIGN_COLOURS[s], lw=2, label=_SIGN_WORDS[s]) for s in (1, -1, 0) if s in used]
    ax.legend(handles=lines, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=3, frameon=False, fontsize=8)


def plot_matrix(
    matrix: NDArray[np.float64],
    names: Sequence[str],
    *,
    ax: Axes | None = None,
    title: str | None = None,
    truth: NDArray[np.bool_] | None = None,
) -> Axes:
    """Probabilities of all edges; rows are sources, columns targets, dots mark true edges."""
    plt = _pyplot()
    n = len(names)
    if ax is None:
        side = float(np.clip(2.6 + 0.32 * n, 3.6, 12.0))
        ax = plt.figure(figsize=(side + 0.9, side)).add_subplot()
    image = ax.imshow(np.asarray(matrix), vmin=0.0, vmax=max(1.0, float(np.max(matrix))), cmap="Blues")
    ax.set_xticks(range(n), names, rotation=90, fontsize=8)
    ax.set_yticks(range(n), names, fontsize=8)
    ax.set(xlabel="target", ylabel="source")
    ax.set_title(title or "Probability of every edge", fontsize=11)
    if truth is not None:
        rows, columns = np.nonzero(truth)
        ax.plot(columns, rows, "o", ms=3.5, mfc="none", mec=_SECOND, label="true edge")
        ax.legend(loc="upper left", bbox_to_anchor=(1.02, -0.04), frameon=False, fontsize=8)
    ax.figure.colorbar(image, ax=ax, shrink=0.8, label="probability")
    return ax


def plot_loss(curve: NDArray[np.float64], steps: NDArray[np.float64], *, ax: Axes | None = None) -> Axes:
    """The loss (minus the ELBO, where a method has one) along the training steps."""
    plt = _pyplot()
    ax = ax if ax is not None else plt.figure(figsize=(5.6, 3.2), layout="constrained").add_subplot()
    ax.plot(steps, curve, color=_FIRST, lw=1.3)
    ax.set(xlabel="step", ylabel="loss (minus the ELBO, where there is one)")
    ax.set_title("Training", fontsize=11)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def plot_bands(
    answer: SeriesBands,
    series: str | None = None,
    variables: Sequence[str] | None = None,
    *,
    data: Dataset | None = None,
    title: str | None = None,
    time_label: str = "time",
) -> Figure:
    """Bands of one series over what was measured, a panel per variable."""
    name = series if series is not None else next(iter(answer))
    bands = answer[name]
    shown = list(variables) if variables is not None else bands.variables[:_MOST_PANELS]
    figure, axes = _panels(len(shown))
    start = answer.starts.get(name)
    for ax, variable in zip(axes, shown):
        column = bands.variables.index(variable)
        _fill(ax, bands, column, _FIRST, "mean and bands of 50 and 90 %")
        _measured(ax, bands, column, data, name, start)
        if start is not None:
            ax.axvline(_place(bands, start), color="#9ca3af", lw=0.8, ls=":")
        ax.set_title(variable, fontsize=9, loc="left")
    _finish(figure, axes, title or f"series {name}", time_label)
    return figure


def _measured(
    ax: Axes, bands: Bands, column: int, data: Dataset | None, name: str, start: float | None
) -> None:
    style: dict[str, Any] = {"ls": "none", "marker": ".", "ms": 4, "color": _MEASURED, "label": "measured"}
    if bands.observed is not None:
        seen = ~np.isnan(bands.observed[:, column])
        ax.plot(bands.dates[seen], bands.observed[seen, column], **style)
    elif data is not None and name in data.names:
        idx = data.names.index(name)
        times, values = data.times[idx], data.values[idx][:, column]
        # Twice as much past as future: enough to see where it comes from.
        first = -np.inf if start is None else start - 2 * (bands.times[-1] - start)
        near = (times >= first) & ~np.isnan(values)
        ax.plot(bands.clock.dates(times[near]), values[near], **style)


def plot_effect(effect: Effect, variables: Sequence[str] | None = None, *, title: str | None = None) -> Figure:
    """With and without interventions, the variables that changed most first; windows are shaded."""
    shown = list(variables) if variables is not None else (effect.changed or effect.variables)[:_MOST_PANELS]
    figure, axes = _panels(len(shown))
    for ax, variable in zip(axes, shown):
        column = effect.variables.index(variable)
        _fill(ax, effect.without, column, "#6b7280", "left alone")
        _fill(ax, effect.under, column, _SECOND, "under intervention")
        for _, first, last, columns in effect.windows:
            if column in columns:
                ends = effect.without.clock.dates(np.clip([first, last], effect.times[0], effect.times[-1]))
                ax.axvspan(ends[0], ends[1], color="#fde68a", alpha=0.35, lw=0, zorder=0)
        ax.set_title(variable, fontsize=9, loc="left")
    _finish(figure, axes, title or "; ".join(effect.interventions), effect.time_label)
    return figure


def _place(bands: Bands, time: float) -> Any:
    """Where a time lies on the axis: a date, where the data have dates."""
    return bands.clock.dates(np.array([time]))[0]


def _fill(ax: Axes, bands: Bands, column: int, colour: str, label: str) -> None:
    low, quarter, _, three_quarters, high = (bands.quantiles[level][:, column] for level in range(5))
    ax.fill_between(bands.dates, low, high, color=colour, alpha=0.15, lw=0)
    ax.fill_between(bands.dates, quarter, three_quarters, color=colour, alpha=0.28, lw=0)
    ax.plot(bands.dates, bands.mean[:, column], color=colour, lw=1.4, label=label)


def _panels(n: int) -> tuple[Figure, list[Axes]]:
    plt = _pyplot()
    columns = min(n, 3 if n != 4 else 2)
    rows = -(-n // columns)
    size = (3.3 * columns + 0.4, 2.1 * rows + 0.9)
    figure, axes = plt.subplots(rows, columns, figsize=size, sharex=True, squeeze=False, layout="constrained")
    for ax in axes.flat[n:]:
        ax.set_visible(False)
    return figure, list(axes.flat[:n])


def _finish(figure: Figure, axes: list[Axes], title: str, time_label: str) -> None:
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=8)
    columns = 1 + max(ax.get_subplotspec().colspan.start for ax in axes)  # type: ignore[union-attr]
    for ax in axes[-columns:]:
        ax.set_xlabel(time_label, fontsize=9)
        ax.xaxis.set_tick_params(labelbottom=True)
        if time_label == "date":
            # Years and months do not fit side by side under a small panel.
            ax.xaxis.set_tick_params(rotation=30)
    figure.suptitle(title, fontsize=11)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=8)
