"""Frames of any library, wide or long, as series: sorted, grouped, without duplicates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _native
from .errors import DataError

DUPLICATES = ("error", "mean", "first", "last")

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Parts:
    """What a set of series consists of."""

    variables: list[str]
    names: list[str]
    times: list[Floats]
    values: list[Floats]
    unit: str = "given"
    origin: str | None = None
    #: True graph, row = source, where it is known.
    truth: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Columns:
    """A frame as named columns."""

    names: list[str]
    columns: dict[str, NDArray[Any]]

    @property
    def n_rows(self) -> int:
        return len(next(iter(self.columns.values()))) if self.columns else 0


def numbers(column: NDArray[Any], name: str) -> Floats:
    """A column as floats, missing cells as NaN; text is refused with its place."""
    if column.dtype.kind in "fiub":
        return np.ascontiguousarray(column, dtype=np.float64)
    out = np.empty(len(column))
    for row, cell in enumerate(column):
        try:
            out[row] = np.nan if cell is None or cell != cell else float(cell)
        except (TypeError, ValueError):
            message = f"`{name}` has a value that is not a number in row {row}: {cell!r}"
            raise DataError(message, variable=name) from None
    return out


def counted_times(column: NDArray[Any], name: str = "time") -> tuple[Floats, str, str | None]:
    """Times as numbers, their unit, and the instant of time 0 for dates."""
    if column.dtype.kind in "OU" and len(column):
        dates = _dates_of_text(column, name) if isinstance(column[0], str) else instants(column)
        column = column if dates is None else dates
    if column.dtype.kind == "M":
        if np.isnat(column).any():
            raise DataError(f"a time is missing in row {int(np.isnat(column).argmax())}")
        stamps = np.ascontiguousarray(column.astype("datetime64[ns]").astype(np.int64))
        return _native.count_dates(stamps)
    if column.dtype.kind == "m":
        nanoseconds = column.astype("timedelta64[ns]").astype(np.int64)
        return np.ascontiguousarray(nanoseconds / 1e9), "seconds", None
    times = numbers(column, name)
    if np.isnan(times).any():
        raise DataError(f"a time is missing in row {int(np.isnan(times).argmax())}")
    return times, "given", None


def _dates_of_text(cells: NDArray[Any], name: str) -> NDArray[Any] | None:
    """Text such as 2020-01-31, as a frame has it that was read without saying which column holds dates."""
    try:
        float(cells[0])
    except ValueError:
        pass
    else:
        return None
    try:
        return np.array([np.datetime64(cell.removesuffix("Z"), "ns") for cell in cells], dtype="datetime64[ns]")
    except (AttributeError, TypeError, ValueError):
        raise DataError(
            f"`{name}` holds text such as {cells[0]!r}, which is no number and no date as 2020-01-31\n\n"
            f"hint: make it dates first, `df[{name!r}] = pandas.to_datetime(df[{name!r}])`, or give the file itself, "
            "whose dates are read in any usual form",
            variable=name,
        ) from None


def instants(cells: Any) -> NDArray[Any] | None:
    """Dates of Python, numpy or pandas (periods by their start) in UTC; ``None`` where the first is no date."""
    first = cells[0]
    if not (isinstance(first, np.datetime64) or hasattr(first, "isoformat") or hasattr(first, "start_time")):
        return None
    return np.array([_instant(cell) for cell in cells], dtype="datetime64[ns]")


def _instant(cell: Any) -> Any:
    """A date or time without its zone, in UTC, as numpy wants it."""
    import datetime

    if hasattr(cell, "start_time"):
        cell = cell.start_time
    if getattr(cell, "tzinfo", None) is not None:
        cell = cell.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return cell.to_datetime64() if hasattr(cell, "to_datetime64") else np.datetime64(cell, "ns")


def from_columns(
    frame: Columns,
    time: str | None,
    series: str | None,
    variables: Sequence[str] | None,
    duplicates: str,
    long: tuple[str, str] | None = None,
) -> Parts:
    """Series of a wide or long frame."""
    free = [name for name in frame.names if name not in (time, series, *(variables or ()))]
    found_time, found_series = _native.key_columns(free)
    time = found_time if time is None else _chosen(frame, time, "time")
    series = found_series if series is None else _chosen(frame, series, "series")
    if time is None:
        raise DataError(
            f"no column has a name such as time, date or year; name the time column with `time=`; "
            f"the columns are {_listed(frame.names)}\n\n"
            "hint: an index of numbers or dates is the time, too; where the header holds the times and each row a "
            "variable, turn the frame (`df.T`) and make its index numbers or dates"
        )
    long = long or _long_columns(frame, time, series)
    if long is not None:
        return _from_long(frame, time, series, long, variables, duplicates)
    rest = [name for name in frame.names if name not in (time, series)]
    chosen = list(variables) if variables is not None else rest
    for name in chosen:
        if name not in frame.columns:
            raise DataError(f"the frame has no column `{name}`", variable=name)
    matrix = np.empty((frame.n_rows, len(chosen)))
    for position, name in enumerate(chosen):
        matrix[:, position] = numbers(frame.columns[name], name)
    times, unit, origin = counted_times(frame.columns[time], time)
    labels = None if series is None else frame.columns[series]
    names, rows_of = groups(labels, frame.n_rows)
    parts = sorted_series(chosen, names, rows_of, times, matrix, duplicates)
    return Parts(chosen, parts.names, parts.times, parts.values, unit, origin)


def _chosen(frame: Columns, asked: str, what: str) -> str | None:
    if asked in frame.columns:
        return asked
    if what == "series" and _native.key_columns([asked])[1] is not None:
        # The usual name of a column that is not there: one series.
        return None
    raise DataError(f"the frame has no column `{asked}` for the {what}; it has {_listed(frame.names)}")


def _long_columns(frame: Columns, time: str, series: str | None) -> tuple[str, str] | None:
    """`variable` and `value`, where these are all there is beside time and series."""
    rest = {name.lower(): name for name in frame.names if name not in (time, series)}
    return (rest["variable"], rest["value"]) if set(rest) == {"variable", "value"} else None


def _from_long(
    frame: Columns,
    time: str,
    series: str | None,
    long: tuple[str, str],
    variables: Sequence[str] | None,
    duplicates: str,
) -> Parts:
    which, cells = frame.columns[long[0]], numbers(frame.columns[long[1]], long[1])
    found, position = first_seen(which)
    chosen = list(variables) if variables is not None else found
    times, unit, origin = counted_times(frame.columns[time], time)
    labels = None if series is None else frame.columns[series]
    names, rows_of = groups(labels, frame.n_rows)
    place = np.array([chosen.index(name) if name in chosen else -1 for name in found])[position]
    out_times, out_values, out_names = [], [], []
    for name, rows in zip(names, rows_of):
        rows = rows[place[rows] >= 0]
        own, row_of = np.unique(times[rows], return_inverse=True)
        values = np.full((len(own), len(chosen)), np.nan)
        cell = row_of * len(chosen) + place[rows]
        if len(np.unique(cell)) < len(cell):
            values = _merged_cells(values, cell, cells[rows], duplicates, name, own, chosen)
        else:
            values.flat[cell] = cells[rows]
        out_names.append(name)
        out_times.append(own)
        out_values.append(values)
    return Parts(chosen, out_names, out_times, out_values, unit, origin)


def _merged_cells(
    values: Floats, cell: NDArray[Any], given: Floats, duplicates: str, name: str, times: Floats, names: list[str]
) -> Floats:
    """Several values of one cell become one, as asked for."""
    if duplicates == "error":
        counts = np.bincount(cell, minlength=values.size)
        row, column = divmod(int((counts > 1).argmax()), len(names))
        message = f"series `{name}` has two values of `{names[column]}` at time {times[row]:g}" + _DUPLICATES_HINT
        raise DataError(message, series=name, variable=names[column], time=float(times[row]))
    present = ~np.isnan(given)
    cell, given = cell[present], given[present]
    if duplicates == "mean":
        sums = np.bincount(cell, weights=given, minlength=values.size)
        counts = np.bincount(cell, minlength=values.size)
        filled = np.flatnonzero(counts)
        values.flat[filled] = sums[filled] / counts[filled]
    elif duplicates == "first":
        values.flat[cell[::-1]] = given[::-1]
    else:
        values.flat[cell] = given
    return values


_DUPLICATES_HINT = "\n\nhint: keep one row per series and time, or say `duplicates=\"mean\"` (or first, last)"


def first_seen(labels: NDArray[Any]) -> tuple[list[str], NDArray[np.intp]]:
    """Names in order of first appearance, and for each row the position of its name."""
    text = np.array([_label(label) for label in labels], dtype=object)
    names = list(dict.fromkeys(text))
    position = {name: idx for idx, name in enumerate(names)}
    return names, np.array([position[name] for name in text], dtype=np.intp)


def _label(label: Any) -> str:
    if label is None or label != label:
        raise DataError("a row has no series")
    if isinstance(label, (float, np.floating)) and float(label).is_integer():
        return str(int(label))
    return str(label)


def groups(labels: NDArray[Any] | None, n_rows: int) -> tuple[list[str], list[NDArray[np.intp]]]:
    """Names of the series, and the rows of each."""
    if labels is None:
        return ["series-1"], [np.arange(n_rows)]
    names, position = first_seen(labels)
    order = np.argsort(position, kind="stable")
    ends = np.searchsorted(position[order], np.arange(1, len(names) + 1))
    return names, np.split(order, ends[:-1])


def sorted_series(
    variables: list[str],
    names: list[str],
    rows_of: list[NDArray[np.intp]],
    times: Floats,
    values: Floats,
    duplicates: str,
) -> Parts:
    """Rows of each series in the order of time; several rows of one time are merged as asked for."""
    if duplicates not in DUPLICATES:
        raise DataError(f"`duplicates` must be one of {', '.join(DUPLICATES)}, found `{duplicates}`")
    out_times, out_values = [], []
    for name, rows in zip(names, rows_of):
        own = times[rows]
        order = np.argsort(own, kind="stable")
        is_sorted = bool(np.all(order[1:] > order[:-1]))
        whole = is_sorted and len(rows) == len(times)
        own = own if is_sorted else own[order]
        # Without a gap between its rows, a series is a view of what was given.
        together = is_sorted and len(rows) > 0 and int(rows[-1]) - int(rows[0]) + 1 == len(rows)
        block = values if whole else values[rows[0] : rows[-1] + 1] if together else values[rows[order]]
        same = np.flatnonzero(own[1:] == own[:-1])
        if len(same):
            if duplicates == "error":
                at = float(own[same[0]])
                message = f"series `{name}` has two rows at time {at:g}" + _DUPLICATES_HINT
                raise DataError(message, series=name, time=at)
            kept, row_of = np.unique(own, return_inverse=True)
            cell = (row_of[:, None] * len(variables) + np.arange(len(variables))).ravel()
            empty = np.full((len(kept), len(variables)), np.nan)
            block = _merged_cells(empty, cell, block.ravel(), duplicates, name, kept, variables)
            own = kept
        out_times.append(own)
        out_values.append(block)
    return Parts(variables, names, out_times, out_values)


def _listed(names: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
