"""Measurements over time, from wherever they are: frames, arrays, files, AnnData, NetSim, xarray."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from ._clock import Clock
from ._optional import comes_from, need
from ._sources import (
    from_anndata,
    from_arrays,
    from_netsim,
    from_one_array,
    from_xarray,
    pandas_columns,
)
from ._tables import Columns, Floats, Parts, from_columns
from .errors import DataError

if TYPE_CHECKING:
    import pandas
    import polars
    import xarray

__all__ = ["Dataset"]


class Dataset:
    """Named variables measured along one or more series, each with its own times and holes.

    Make one with a ``from_...`` method. A missing cell is ``NaN`` in ``values`` and ``False`` in
    ``observed``. Arrays that are C-contiguous ``float64`` are kept as views, not copied; do not
    change them while a data set uses them.

    >>> import numpy as np
    >>> data = Dataset.from_numpy(np.zeros((2, 5, 3)), names=["a", "b", "c"])
    >>> data
    Dataset(2 series, 3 variables, 10 rows, 0 missing cells)
    """

    def __init__(
        self,
        variables: Sequence[str],
        names: Sequence[str],
        times: Sequence[Floats],
        values: Sequence[Floats],
        *,
        time_unit: str = "given",
        time_origin: str | None = None,
        truth: NDArray[np.bool_] | None = None,
    ) -> None:
        self.variables = [str(name) for name in variables]
        self.names = [str(name) for name in names]
        self.times = [np.ascontiguousarray(own, dtype=np.float64) for own in times]
        self.values = [np.ascontiguousarray(own, dtype=np.float64) for own in values]
        self.time_unit = time_unit
        self.time_origin = time_origin
        #: True graph, row = source, where it is known.
        self.truth = truth
        #: What was decided while reading, in whole sentences.
        self.notices: list[str] = []
        self._source: _native.SeriesData | None = None
        if not len(self.names) == len(self.times) == len(self.values):
            counts = f"{len(self.names)} names, {len(self.times)} times, {len(self.values)} tables"
            raise DataError(f"every series needs a name, times and values; found {counts}")
        for name, own in zip(self.names, self.values):
            if own.ndim != 2 or own.shape[1] != len(self.variables):
                message = (
                    f"series `{name}` must be a table of {len(self.variables)} columns, found shape {own.shape}"
                )
                raise DataError(message, series=name)
        _native.check_series(self.variables, self.names, self.times, self.values)

    # ------------------------------------------------------------------ making one

    @classmethod
    def from_any(
        cls, X: Any, times: Any = None, series: Any = None, *, names: Sequence[str] | None = None
    ) -> Dataset:
        """A data set of whatever ``X`` is; what it is already comes back as it is."""
        if isinstance(X, Dataset):
            return X
        if isinstance(X, (list, tuple)) and X and all(isinstance(one, Dataset) for one in X):
            return cls._joined(X)
        if isinstance(X, (str, os.PathLike)):
            return cls.from_file(X, time=times, series=series)
        if comes_from(X, "pandas"):
            return cls.from_pandas(X, time=times, series=series)
        if comes_from(X, "polars"):
            return cls.from_polars(X, time=times, series=series)
        if comes_from(X, "anndata"):
            return cls.from_anndata(X, time=times or "time", series=series)
        if comes_from(X, "xarray"):
            return cls.from_xarray(X, time=times or "time", series=series)
        if isinstance(X, (list, tuple)) and X and all(isinstance(one, (str, os.PathLike)) for one in X):
            return cls.from_file(*X, time=times, series=series)
        return cls.from_numpy(X, times=times, series=series, names=names)

    @classmethod
    def from_pandas(
        cls,
        df: pandas.DataFrame,
        time: str | None = None,
        series: str | None = None,
        *,
        variables: Sequence[str] | None = None,
        long: tuple[str, str] | None = None,
        duplicates: str = "error",
    ) -> Dataset:
        """A pandas frame, wide (a column per variable) or long (``variable`` and ``value`` columns).

        ``time`` and ``series`` name columns or index levels; without them the usual names are
        looked for (``time``, ``date``, ``t``; ``series``, ``subject``, ``id``). Times are numbers, dates or
        periods, also as the index; an index of two levels is (series, time).
        ``duplicates`` says what to do with several rows of one series and time: ``error``, ``mean``,
        ``first`` or ``last``.

        >>> import pandas as pd
        >>> df = pd.DataFrame({"time": [0, 1, 2], "x": [1.0, None, 3.0], "y": [0.0, 1.0, 2.0]})
        >>> Dataset.from_pandas(df).observed[0].tolist()
        [[True, True], [False, True], [True, True]]
        """
        frame, time, series = pandas_columns(df, time, series)
        return cls._of(from_columns(frame, time, series, variables, duplicates, long))

    @classmethod
    def from_polars(
        cls,
        df: polars.DataFrame,
        time: str | None = None,
        series: str | None = None,
        *,
        variables: Sequence[str] | None = None,
        long: tuple[str, str] | None = None,
        duplicates: str = "error",
    ) -> Dataset:
        """A polars frame, as :meth:`from_pandas`."""
        if hasattr(df, "collect"):
            df = df.collect()
        columns = {name: df[name].to_numpy() for name in df.columns}
        frame = Columns(list(df.columns), columns)
        return cls._of(from_columns(frame, time, series, variables, duplicates, long))

    @classmethod
    def from_numpy(
        cls,
        X: ArrayLike | Sequence[ArrayLike],
        times: ArrayLike | Sequence[ArrayLike] | None = None,
        series: Sequence[Any] | None = None,
        *,
        names: Sequence[str] | None = None,
        observed: ArrayLike | Sequence[ArrayLike] | None = None,
        duplicates: str = "error",
    ) -> Dataset:
        """Arrays: ``(n, T, D)``, a list of ``(T_i, D)``, or one ``(T, D)``.

        ``times`` is ``(T,)`` for all series, or one array per series; 0, 1, 2, ... where not given. For
        one ``(T, D)`` array ``series`` labels its rows; otherwise it names the series. ``names`` are the
        variables. ``observed`` is a mask of the same shape, **True = observed**.

        >>> import numpy as np
        >>> irregular = [np.ones((3, 2)), np.ones((4, 2))]
        >>> data = Dataset.from_numpy(irregular, times=[[0, 1, 4], [0, 2, 3, 9]])
        >>> [len(own) for own in data.times]
        [3, 4]
        """
        if isinstance(X, np.ndarray) and X.ndim == 2:
            return cls._of(from_one_array(X, times, series, names, observed, duplicates))
        return cls._of(from_arrays(X, times, series, names, observed))

    @classmethod
    def from_file(
        cls,
        *paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        time: str | None = None,
        series: str | None = None,
        variables: Sequence[str] = (),
        ignore: Sequence[str] = (),
        duplicates: str = "error",
        transpose: bool = False,
        even_steps: bool = False,
        sheet: str | None = None,
        date_order: str | None = None,
        decimal: str | None = None,
        missing: Sequence[str] | None = None,
        encoding: str | None = None,
    ) -> Dataset:
        """Tables in any format that the binary reads, or folders of them, read exactly as it reads them.

        Several are given one after the other, or as a list.
        The keywords are the options of ``driftgraph check``. What was guessed is in ``notices``. A single NetSim
        ``.mat`` file is read by :meth:`from_netsim`.
        """
        files = [os.fspath(file) for path in paths for file in ([path] if isinstance(path, str | os.PathLike) else path)]
        if len(files) == 1 and files[0].endswith(".mat"):
            return cls.from_netsim(files[0])
        native = _native.SeriesData.read(
            files,
            json.dumps(
                {
                    "time": time,
                    "series": series,
                    "variables": list(variables),
                    "ignore": list(ignore),
                    "duplicates": duplicates,
                    "transpose": transpose,
                    "even_steps": even_steps,
                    "sheet": sheet,
                    "date_order": date_order,
                    "decimal": decimal,
                    "missing": None if missing is None else [str(word) for word in missing],
                    "encoding": encoding,
                }
            ),
        )
        return cls._of_native(native)

    @classmethod
    def from_anndata(
        cls,
        adata: Any,
        time: str = "time",
        series: str | None = None,
        *,
        variables: Sequence[str] | None = None,
        layer: str | None = None,
        duplicates: str = "mean",
    ) -> Dataset:
        """An AnnData: cells are rows, ``obs[time]`` their time, ``obs[series]`` optionally their series.

        Several cells of one series and time are averaged unless ``duplicates`` says otherwise.
        """
        return cls._of(from_anndata(adata, time, series, variables, layer, duplicates))

    @classmethod
    def from_netsim(
        cls, path: str | os.PathLike[str], subjects: Sequence[int] | None = None
    ) -> Dataset:
        """A NetSim ``sim*.mat``: ``ts`` (subjects x times, nodes) becomes series, ``net`` the true graph.

        ``subjects`` counts from 0; all where not given. Time is the number of the sample. An edge is
        what is not zero in ``net`` of the first subject taken, row = source, the diagonal included.
        """
        return cls._of(from_netsim(path, subjects))

    @classmethod
    def from_xarray(
        cls,
        data: xarray.Dataset | xarray.DataArray,
        time: str = "time",
        series: str | None = None,
        variable: str | None = None,
    ) -> Dataset:
        """An xarray DataArray (time, variable, optionally series) or Dataset (a data variable each).

        Dimensions that are not named are taken in their order: what is not the time is the series and
        the variable for a DataArray of three dimensions, the variable for one of two.
        """
        return cls._of(from_xarray(data, time, series, variable))

    @classmethod
    def _of(cls, parts: Parts) -> Dataset:
        return cls(
            parts.variables,
            parts.names,
            parts.times,
            parts.values,
            time_unit=parts.unit,
            time_origin=parts.origin,
            truth=parts.truth,
        )

    @classmethod
    def _of_native(cls, native: _native.SeriesData) -> Dataset:
        n = len(native.names)
        unit, origin = native.time_axis
        data = cls(
            native.variables,
            native.names,
            [native.times(idx) for idx in range(n)],
            [native.values(idx) for idx in range(n)],
            time_unit=unit,
            time_origin=origin,
            truth=native.truth,
        )
        data.notices = native.notices
        if native.files:
            # What is fitted is what was read: the arrays shown must stay that.
            data._source = native
            for own in data.times + data.values:
                own.flags.writeable = False
        return data

    def _to_native(self) -> _native.SeriesData:
        """The same in the library's memory: as it was read, or copied once."""
        if self._source is not None:
            return self._source
        return _native.SeriesData(
            self.variables, self.names, self.times, self.values, self.time_unit, self.time_origin
        )

    # ------------------------------------------------------------------ looking at it

    @property
    def n_series(self) -> int:
        """Number of series."""
        return len(self.names)

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return len(self.variables)

    @property
    def n_rows(self) -> int:
        """Number of rows over all series."""
        return sum(len(own) for own in self.times)

    @property
    def n_missing(self) -> int:
        """Number of cells without a value."""
        return int(sum(np.isnan(own).sum() for own in self.values))

    @property
    def clock(self) -> Clock:
        """What the numbers of ``times`` mean."""
        return Clock(self.time_unit, self.time_origin)

    @property
    def observed(self) -> list[NDArray[np.bool_]]:
        """A mask per series, True = observed."""
        return [~np.isnan(own) for own in self.values]

    @property
    def fingerprint(self) -> str:
        """A short name for the contents, the same as in a run folder."""
        return self._to_native().fingerprint

    def __len__(self) -> int:
        return self.n_series

    def __getitem__(self, which: Any) -> Dataset:
        """Some of the series: by number or name, a slice, or a list of either; arrays are shared."""
        if isinstance(which, (str, int, np.integer)):
            return self.select([which])  # type: ignore[arg-type]
        if isinstance(which, slice):
            return self.select(range(*which.indices(len(self))))
        chosen = np.asarray(which)
        return self.select(np.flatnonzero(chosen).tolist() if chosen.dtype == bool else chosen.tolist())

    @classmethod
    def _joined(cls, parts: Sequence[Dataset]) -> Dataset:
        """The series of several data sets over the same variables."""
        first = parts[0]
        for other in parts:
            if other.variables != first.variables:
                raise DataError(f"data sets of different variables: {first.variables} and {other.variables}")
        return cls(
            first.variables,
            [name for part in parts for name in part.names],
            [part.clock.in_unit_of(first.clock, own) for part in parts for own in part.times],
            [own for part in parts for own in part.values],
            time_unit=first.time_unit,
            time_origin=first.time_origin,
            truth=first.truth,
        )

    def __iter__(self) -> Iterator[tuple[str, Floats, Floats]]:
        """Name, times and values of each series."""
        return iter(zip(self.names, self.times, self.values))

    def __repr__(self) -> str:
        return (
            f"Dataset({self.n_series} series, {self.n_variables} variables, {self.n_rows} rows, "
            f"{self.n_missing} missing cells)"
        )

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(one['name'])}</td><td>{one['observed']}</td><td>{one['missing']}</td>"
            + "".join(f"<td>{_short(one[key])}</td>" for key in ("min", "mean", "max"))
            + "</tr>"
            for one in self.summary()["variable_details"]
        )
        head = "".join(f"<th>{name}</th>" for name in ("variable", "observed", "missing", "min", "mean", "max"))
        return f"<p>{html.escape(repr(self))}</p><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"

    def summary(self) -> dict[str, Any]:
        """What ``driftgraph check`` says: counts, ranges, gaps, the pace at which variables change, and warnings."""
        return dict(json.loads(self._to_native().summary()))

    def select(self, series: Sequence[str] | Sequence[int]) -> Dataset:
        """Only the named (or numbered) series, in the given order; arrays are shared."""
        positions = [self._position(one) for one in series]
        return Dataset(
            self.variables,
            [self.names[idx] for idx in positions],
            [self.times[idx] for idx in positions],
            [self.values[idx] for idx in positions],
            time_unit=self.time_unit,
            time_origin=self.time_origin,
            truth=self.truth,
        )

    def _with_columns(self, variables: list[str]) -> Dataset:
        """The same data with the columns in this order."""
        if self.variables == variables:
            return self
        order = [self.variables.index(name) for name in variables]
        values = [own[:, order] for own in self.values]
        return Dataset(
            variables, self.names, self.times, values, time_unit=self.time_unit, time_origin=self.time_origin
        )

    def _counted_by(self, clock: Clock) -> Dataset:
        """The same data with times in the unit of another clock, where both have dates."""
        if not (self.clock.is_dated and clock.is_dated) or self.clock == clock:
            return self
        times = [self.clock.in_unit_of(clock, own) for own in self.times]
        return Dataset(
            self.variables, self.names, times, self.values, time_unit=clock.unit, time_origin=clock.origin
        )

    def _position(self, series: str | int) -> int:
        if isinstance(series, str):
            if series not in self.names:
                raise DataError(f"there is no series `{series}`", series=series)
            return self.names.index(series)
        return int(series)

    def to_pandas(self) -> pandas.DataFrame:
        """A wide frame ``series, time, <variables>``, with dates where times are dates."""
        pd = need("pandas", "a frame")
        frame = pd.DataFrame(np.concatenate(self.values), columns=self.variables)
        frame.insert(0, "time", self.clock.dates(np.concatenate(self.times)))
        frame.insert(0, "series", np.repeat(self.names, [len(own) for own in self.times]))
        return frame  # type: ignore[no-any-return]

    def to_polars(self) -> polars.DataFrame:
        """The same for polars; missing cells are null."""
        pl = need("polars", "a polars frame")
        matrix = np.concatenate(self.values)
        columns: dict[str, Any] = {
            "series": np.repeat(self.names, [len(own) for own in self.times]),
            "time": self.clock.dates(np.concatenate(self.times)),
        }
        columns.update({name: matrix[:, idx] for idx, name in enumerate(self.variables)})
        return pl.DataFrame(columns).with_columns(pl.col(self.variables).fill_nan(None))  # type: ignore[no-any-return]

    def to_anndata(self) -> Any:
        """An AnnData: rows are cells, ``obs`` has ``series`` and ``time``."""
        anndata = need("anndata", "an AnnData")
        pd = need("pandas", "an AnnData")
        frame = self.to_pandas()
        obs = frame[["series", "time"]].set_axis([f"row-{idx + 1}" for idx in range(len(frame))])
        return anndata.AnnData(np.concatenate(self.values), obs=obs, var=pd.DataFrame(index=self.variables))

    def to_numpy(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """``(n, T, D)`` values and ``(T,)`` times of series that share their times."""
        first = self.times[0]
        for name, own in zip(self.names, self.times):
            if not np.array_equal(own, first):
                raise DataError(f"series `{name}` has other times than `{self.names[0]}`", series=name)
        return np.stack(self.values), first

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Writes ``series,time,<variables>`` with all digits, as the binary reads it."""
        self._to_native().write(os.fspath(path))


def _short(number: float | None) -> str:
    return "" if number is None else f"{number:.4g}"
