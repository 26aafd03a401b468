"""The series in objects of other packages: pandas, numpy, AnnData, NetSim, xarray."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from ._optional import need
from ._tables import Columns, Floats, Parts, counted_times, groups, sorted_series
from .errors import DataError

if TYPE_CHECKING:
    import pandas
    import xarray


def pandas_columns(
    df: pandas.DataFrame, time: str | None, series: str | None
) -> tuple[Columns, str | None, str | None]:
    """The columns of a frame with those of time and series; what its index holds becomes columns too.

    A Series is a frame of one column. An index of two levels is series and time, whatever they are called.
    """
    if hasattr(df, "to_frame") and not hasattr(df, "columns"):
        df = df.to_frame(name=df.name if df.name is not None else "x1")
    if df.index.nlevels == 2:
        df, time, series = _two_levels(df, time, series)
    elif any(name is not None for name in df.index.names):
        time = time or (str(df.index.name) if _is_dated(df.index) else None)
        df = df.reset_index()
    elif _is_dated(df.index) and time is None:
        df = df.rename_axis("time").reset_index()
    names = [str(name) for name in df.columns]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"two columns are called `{twice}`", variable=twice)
    columns = {name: _pandas_column(df.iloc[:, idx]) for idx, name in enumerate(names)}
    return Columns(names, columns), time, series


def _is_dated(index: Any) -> bool:
    """Whether an index, or a level of one, holds dates, periods or lengths of time."""
    return index.dtype.kind in "Mm" or hasattr(index.dtype, "freq")


def _two_levels(
    df: pandas.DataFrame, time: str | None, series: str | None
) -> tuple[pandas.DataFrame, str | None, str | None]:
    """A frame whose index has two levels, and which of them are time and series."""
    levels = [str(name) if name is not None else usual for name, usual in zip(df.index.names, ("series", "time"))]
    if None in df.index.names and _is_dated(df.index.levels[0]) and not _is_dated(df.index.levels[1]):
        levels.reverse()
    df = df.rename_axis(levels).reset_index()
    if time is None and series is None:
        # The level with dates or a usual name of times is the time; else the second, as pandas users nest them.
        dated = [_is_time(df[name], name) for name in levels]
        time, series = (levels[0], levels[1]) if dated == [True, False] else (levels[1], levels[0])
    elif time in levels and series is None:
        series = next(name for name in levels if name != time)
    elif series in levels and time is None:
        time = next(name for name in levels if name != series)
    return df, time, series


def _is_time(column: Any, name: str) -> bool:
    return column.dtype.kind in "Mm" or hasattr(column.dtype, "freq") or _native.key_columns([name])[0] == name


def from_arrays(
    X: ArrayLike | Sequence[ArrayLike],
    times: ArrayLike | Sequence[ArrayLike] | None,
    series: Sequence[Any] | None,
    names: Sequence[str] | None,
    observed: ArrayLike | Sequence[ArrayLike] | None,
) -> Parts:
    """One table per series."""
    if not np.iterable(X) or isinstance(X, (str, bytes)):
        raise DataError(f"expected arrays, a frame or files, found {type(X).__name__}")
    tables = [_table(one, idx) for idx, one in enumerate(X)]  # type: ignore[arg-type]
    if not tables:
        raise DataError("there are no series")
    own_times = _times_of(tables, times)
    if observed is not None:
        tables = [_masked(table, mask) for table, mask in zip(tables, observed)]  # type: ignore[arg-type]
    labels = [str(one) for one in series] if series is not None else _numbered("series-", len(tables))
    return Parts(_names(names, tables[0].shape[1]), labels, own_times, tables)


def from_one_array(
    X: NDArray[Any],
    times: Any,
    series: Sequence[Any] | None,
    names: Sequence[str] | None,
    observed: Any,
    duplicates: str,
) -> Parts:
    """One table whose rows may be labelled with their series."""
    table = _table(X, 0)
    if observed is not None:
        table = _masked(table, observed)
    variables = _names(names, table.shape[1])
    column = np.arange(len(table), dtype=np.float64) if times is None else np.asarray(times)
    if column.shape != (len(table),):
        raise DataError(f"{len(table)} rows need as many times, found shape {column.shape}")
    labels = None if series is None else np.asarray(series, dtype=object)
    if labels is not None and labels.shape != (len(table),):
        raise DataError(f"{len(table)} rows need as many series labels, found shape {labels.shape}")
    return _labelled_rows(variables, labels, column, table, duplicates)


def _labelled_rows(
    variables: list[str],
    labels: NDArray[Any] | None,
    time_column: NDArray[Any],
    table: Floats,
    duplicates: str,
) -> Parts:
    own, unit, origin = counted_times(time_column)
    found, rows_of = groups(labels, len(table))
    parts = sorted_series(variables, found, rows_of, own, table, duplicates)
    return Parts(variables, found, parts.times, parts.values, unit, origin)


def from_anndata(
    adata: Any,
    time: str,
    series: str | None,
    variables: Sequence[str] | None,
    layer: str | None,
    duplicates: str,
) -> Parts:
    """Cells as rows."""
    known = list(map(str, adata.var_names))
    chosen = list(variables) if variables is not None else known
    for name in chosen:
        if name not in known:
            raise DataError(f"the AnnData has no variable `{name}`", variable=name)
    for column in filter(None, (time, series)):
        if column not in adata.obs:
            raise DataError(f"`obs` has no column `{column}`")
    picked = adata[:, chosen] if variables is not None else adata
    table = picked.X if layer is None else picked.layers[layer]
    table = table.toarray() if hasattr(table, "toarray") else table
    labels = None if series is None else np.asarray(adata.obs[series], dtype=object)
    matrix = np.ascontiguousarray(table, dtype=np.float64)
    return _labelled_rows(chosen, labels, _pandas_column(adata.obs[time]), matrix, duplicates)


def from_netsim(path: str | os.PathLike[str], subjects: Sequence[int] | None) -> Parts:
    """Subjects as series, with the true graph."""
    content = need("scipy.io", "reading a .mat file").loadmat(os.fspath(path))
    if "ts" not in content or "net" not in content:
        raise DataError(f"`{os.fspath(path)}` is no NetSim file: it has no `ts` and `net`")
    net = np.asarray(content["net"])
    net = net[None] if net.ndim == 2 else net
    rows = np.asarray(content["ts"], dtype=np.float64)
    n_subjects, n_nodes = net.shape[0], rows.shape[1]
    tables = rows.reshape(n_subjects, -1, n_nodes)
    taken = list(range(n_subjects)) if subjects is None else list(subjects)
    names = [f"subject-{subject + 1}" for subject in taken]
    times = [np.arange(tables.shape[1], dtype=np.float64)] * len(taken)
    values = [tables[subject] for subject in taken]
    truth = net[taken[0]] != 0
    return Parts(_numbered("node-", n_nodes), names, times, values, truth=truth)


def from_xarray(
    data: xarray.Dataset | xarray.DataArray,
    time: str,
    series: str | None,
    variable: str | None,
) -> Parts:
    """Dimensions by their names, or by their order where they are not named."""
    array: Any = data.to_array("variable") if hasattr(data, "data_vars") else data
    variable = variable or ("variable" if "variable" in array.dims else None)
    rest = [str(dim) for dim in array.dims if dim not in (time, series, variable)]
    if variable is None and rest:
        variable = rest.pop()
    if series is None and rest:
        series = rest.pop(0)
    if time not in array.dims or variable is None or rest:
        dims = ", ".join(map(str, array.dims))
        raise DataError(f"expected the dimensions {time}, a variable and at most a series; found {dims}")
    if series is None:
        array = array.expand_dims("__series__")
        series, labels = "__series__", ["series-1"]
    else:
        labels = [str(one) for one in array[series].values]
    tables = np.asarray(array.transpose(series, time, variable).values)
    own, unit, origin = counted_times(np.asarray(array[time].values))
    names = [str(one) for one in array[variable].values]
    times = [own] * len(labels)
    return Parts(names, labels, times, list(tables), unit, origin)


def _pandas_column(column: Any) -> NDArray[Any]:
    """A pandas column as a numpy array; nullable numbers get NaN, dates lose their zone in UTC."""
    dtype = column.dtype
    if hasattr(dtype, "freq"):
        # Periods by their start: a quarter is its first day.
        column = column.dt.to_timestamp()
        dtype = column.dtype
    if getattr(dtype, "tz", None) is not None:
        return np.asarray(column.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy())
    if dtype.kind in "fiub" and not isinstance(dtype, np.dtype):
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(column.to_numpy())


def _table(one: ArrayLike, idx: int) -> Floats:
    array = np.asarray(one)
    if array.dtype.kind not in "fiub":
        raise DataError(f"array number {idx + 1} does not hold numbers, found {array.dtype}")
    if array.ndim == 0:
        raise DataError("one column of numbers is no table: expected (time, variable) or (series, time, variable)")
    if array.ndim != 2:
        raise DataError(f"array number {idx + 1} must be (time, variable), found shape {array.shape}")
    return np.ascontiguousarray(array, dtype=np.float64)


def _masked(table: Floats, mask: ArrayLike) -> Floats:
    shown = np.asarray(mask, dtype=bool)
    if shown.shape != table.shape:
        raise DataError(f"the mask has shape {shown.shape}, the values have {table.shape}")
    return np.where(shown, table, np.nan)


def _times_of(tables: list[Floats], times: Any) -> list[Floats]:
    if times is None:
        return [np.arange(len(table), dtype=np.float64) for table in tables]
    shared = not isinstance(times, (list, tuple)) or not times or np.ndim(times[0]) == 0
    array = np.asarray(times) if shared else None
    if array is not None and array.ndim == 1:
        own = [np.asarray(array, dtype=np.float64)] * len(tables)
    else:
        own = [np.asarray(one, dtype=np.float64) for one in times]
    if len(own) != len(tables):
        raise DataError(f"{len(tables)} series need as many arrays of times, found {len(own)}")
    for idx, (table, one) in enumerate(zip(tables, own)):
        if one.shape != (len(table),):
            message = f"series number {idx + 1} has {len(table)} rows and times of shape {one.shape}"
            raise DataError(message)
    return own


def _names(names: Sequence[str] | None, n: int) -> list[str]:
    if names is None:
        return _numbered("x", n)
    if len(names) != n:
        raise DataError(f"{n} variables need as many names, found {len(names)}")
    return [str(name) for name in names]


def _numbered(word: str, n: int) -> list[str]:
    return [f"{word}{idx + 1}" for idx in range(n)]
