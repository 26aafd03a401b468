"""Answers of a fitted model, in the user's names and units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._clock import Clock
from ._optional import need
from .data import Dataset
from .errors import QuestionError

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

__all__ = ["Bands", "Effect", "Paths", "SeriesBands"]

#: Shares of paths below the quantiles of :class:`Bands`.
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)

_COLUMNS = ("mean", "deviation", "q05", "q25", "q50", "q75", "q95")


@dataclass(frozen=True)
class Bands:
    """Mean, deviation and quantiles over time; arrays are ``(time, variable)``."""

    variables: list[str]
    times: NDArray[np.float64]
    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]
    #: ``(level, time, variable)`` at :data:`LEVELS`.
    quantiles: NDArray[np.float64]
    #: What was measured at these times, ``NaN`` where nothing was; ``None`` where that makes no sense.
    observed: NDArray[np.float64] | None = None
    #: Simulated paths behind the bands ``(path, time, variable)``, where there are any.
    paths: NDArray[np.float64] | None = None
    #: What the numbers of ``times`` mean.
    clock: Clock = Clock()

    @classmethod
    def _of(cls, variables: list[str], answer: Mapping[str, Any], clock: Clock) -> Bands:
        keys = ("times", "mean", "deviation", "quantiles")
        extra = {key: answer[key] for key in ("observed", "paths") if key in answer}
        bands = cls(variables, *(answer[key] for key in keys), **extra)
        return replace(bands, clock=clock)

    @property
    def dates(self) -> NDArray[Any]:
        """The times as dates, where the data have dates; as they are where not."""
        return self.clock.dates(self.times)

    def _columns(self) -> list[NDArray[np.float64]]:
        return [self.mean, self.deviation, *self.quantiles]

    def to_pandas(self) -> pandas.DataFrame:
        """One row per time and variable, indexed by time."""
        pd = need("pandas", "a frame")
        index = pd.Index(np.repeat(self.dates, len(self.variables)), name="time")
        frame = pd.DataFrame({"variable": self.variables * len(self.times)}, index=index)
        for name, column in zip(_COLUMNS, self._columns()):
            frame[name] = column.ravel()
        return frame  # type: ignore[no-any-return]

    def to_frame(self, column: str = "mean") -> pandas.DataFrame:
        """One number per time and variable: indexed by time, a column per variable.

        ``column`` is ``mean``, ``deviation``, ``q05``, ``q25``, ``q50``, ``q75`` or ``q95``.
        """
        pd = need("pandas", "a frame")
        if column not in _COLUMNS:
            raise QuestionError(f"`column` must be one of {', '.join(_COLUMNS)}, found `{column}`")
        values = self._columns()[_COLUMNS.index(column)]
        return pd.DataFrame(values, index=pd.Index(self.dates, name="time"), columns=self.variables)  # type: ignore[no-any-return]


class SeriesBands(Mapping[str, Bands]):
    """Bands of several series, by name."""

    def __init__(self, variables: list[str], answers: list[dict[str, Any]], clock: Clock = Clock()) -> None:
        self.variables = variables
        self.clock = clock
        self._bands = {one["name"]: Bands._of(variables, one, clock) for one in answers}
        #: Time from which each series is forecast, where it is.
        self.starts: dict[str, float] = {one["name"]: one["start"] for one in answers if "start" in one}

    def __getitem__(self, name: str) -> Bands:
        if name not in self._bands:
            raise QuestionError(f"there is no series `{name}` here", series=name)
        return self._bands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._bands)

    def __len__(self) -> int:
        return len(self._bands)

    def __repr__(self) -> str:
        return f"SeriesBands({len(self)} series, {len(self.variables)} variables)"

    def to_pandas(self) -> pandas.DataFrame:
        """One row per series, time and variable, indexed by time."""
        pd = need("pandas", "a frame")
        frames = []
        for name, bands in self.items():
            frame = bands.to_pandas()
            frame.insert(0, "series", name)
            frames.append(frame)
        return pd.concat(frames)  # type: ignore[no-any-return]

    def to_frame(self, column: str = "mean") -> pandas.DataFrame:
        """One number per series, time and variable: indexed by series and time, a column per variable."""
        pd = need("pandas", "a frame")
        frames = {name: bands.to_frame(column) for name, bands in self.items()}
        return pd.concat(frames, names=["series"])  # type: ignore[no-any-return]

    def filled(self) -> Dataset:
        """Measurements with their holes filled by means of the hidden states."""
        times, values = [], []
        for bands in self.values():
            if bands.observed is None:
                raise QuestionError("only hidden states at the rows of the data can fill holes")
            times.append(bands.times)
            values.append(np.where(np.isnan(bands.observed), bands.mean, bands.observed))
        own = {"time_unit": self.clock.unit, "time_origin": self.clock.origin}
        return Dataset(self.variables, list(self), times, values, **own)  # type: ignore[arg-type]

    def plot(self, series: str | None = None, variables: Any = None) -> Figure:
        """Bands of one series, the first where none is named."""
        from . import plots

        return plots.plot_bands(self, series, variables)


@dataclass(frozen=True)
class Paths:
    """Simulated paths ``(path, time, variable)``."""

    variables: list[str]
    times: NDArray[np.float64]
    values: NDArray[np.float64]
    #: What the numbers of ``times`` mean.
    clock: Clock = Clock()

    def __repr__(self) -> str:
        n_paths, n_times, n_variables = self.values.shape
        return f"Paths({n_paths} paths, {n_times} times, {n_variables} variables)"

    def bands(self) -> Bands:
        """Mean, deviation and quantiles at each time."""
        deviation = self.values.std(axis=0, ddof=1 if len(self.values) > 1 else 0)
        quantiles = np.quantile(self.values, LEVELS, axis=0)
        mean = self.values.mean(axis=0)
        return Bands(self.variables, self.times, mean, deviation, quantiles, clock=self.clock)

    def to_dataset(self) -> Dataset:
        """A data set with a series per path."""
        names = [f"path-{idx + 1}" for idx in range(len(self.values))]
        own = {"time_unit": self.clock.unit, "time_origin": self.clock.origin}
        return Dataset(self.variables, names, [self.times] * len(names), list(self.values), **own)  # type: ignore[arg-type]

    def to_pandas(self) -> pandas.DataFrame:
        """A wide frame ``series, time, <variables>`` with a series per path."""
        return self.to_dataset().to_pandas()


@dataclass(frozen=True)
class Effect:
    """What interventions change: the same paths with and without them."""

    variables: list[str]
    interventions: list[str]
    without: Bands
    under: Bands
    #: Mean difference ``(time, variable)``.
    difference: NDArray[np.float64]
    #: Its standard error over paths.
    standard_error: NDArray[np.float64]
    _ranking: list[dict[str, Any]]
    #: Text, first and last time, and positions of the variables of each intervention.
    windows: list[tuple[str, float, float, list[int]]]
    time_label: str = "time"

    @classmethod
    def _of(
        cls, variables: list[str], texts: list[str], answer: Mapping[str, Any], clock: Clock, label: str
    ) -> Effect:
        return cls(
            variables,
            texts,
            Bands._of(variables, answer["without"], clock),
            Bands._of(variables, answer["with"], clock),
            answer["difference"],
            answer["standard_error"],
            answer["ranking"],
            answer["windows"],
            label,
        )

    @property
    def times(self) -> NDArray[np.float64]:
        """The simulated times."""
        return self.without.times

    @property
    def changed(self) -> list[str]:
        """Variables that changed in any digit of any path, most first."""
        return [row["variable"] for row in self._ranking if row["changed"]]

    def ranking(self) -> pandas.DataFrame:
        """Variables by their largest mean difference, in deviations of each."""
        frame = need("pandas", "a frame").DataFrame(self._ranking)
        frame["time"] = self.without.clock.dates(frame["time"].to_numpy())
        return frame  # type: ignore[no-any-return]

    def to_pandas(self) -> pandas.DataFrame:
        """One row per time and variable: without, with, and the difference."""
        frame = self.without.to_pandas()
        frame = frame.rename(columns={name: f"{name}_without" for name in _COLUMNS})
        for name, column in zip(_COLUMNS, self.under._columns()):
            frame[f"{name}_with"] = column.ravel()
        frame["difference"] = self.difference.ravel()
        frame["standard_error"] = self.standard_error.ravel()
        return frame

    def plot(self, variables: Any = None) -> Figure:
        """Bands with and without, a panel per variable that changed."""
        from . import plots

        return plots.plot_effect(self, variables)

    def __repr__(self) -> str:
        return f"Effect({'; '.join(self.interventions)}: {len(self.changed)} of {len(self.variables)} variables change)"
