"""Which edges differ between conditions: from data of each, from a column, or from two fits."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from . import _native
from ._folder import RunFolder
from ._optional import need
from .data import Dataset
from .errors import DataError, QuestionError
from .estimator import Estimator

__all__ = ["contrast"]


def contrast(first: Any, second: Any = None, *, condition: str | None = None, **settings: Any) -> Any:
    """Fits two or more conditions together, and says which edges differ.

    What is the same in all conditions is learned from all data; whether an edge differs has a probability. Conditions
    are

    * a mapping of names to data sets (or anything that :class:`Dataset` takes) of the same variables,
    * data with a column ``condition`` that is the same throughout each series, as ``fit --condition`` takes them,
    * two fits, or two run folders: their data are read again, with inputs, interventions and what was known of edges,
      as ``driftgraph contrast RUN_A RUN_B`` does. A mapping of two names to fits names the conditions.

    Settings are those of ``driftgraph.methods.Regimes``. The result is fitted; ``result.differences()`` is the table.

    >>> from driftgraph import contrast, systems
    >>> data = systems.linear(variables=3, n_series=4, n_points=40, seed=1000)
    >>> result = contrast({"control": data[:2], "drug": data[2:]}, steps=40, progress=False)
    >>> result.differences().columns[:4].tolist()
    ['source', 'target', 'first', 'second']
    """
    if condition is not None:
        if second is not None:
            raise QuestionError("`condition` names a column of one data set: leave the second out")
        return _of_column(first, condition, settings)
    if isinstance(first, Mapping):
        if second is not None:
            raise QuestionError("give one mapping of names to data sets or fits")
        if len(first) == 2 and all(isinstance(one, Estimator) for one in first.values()):
            return _of_fits(list(first.values()), list(first), settings)
        return _of_parts(first, settings)
    if second is None:
        raise DataError("a contrast needs at least two conditions, or a column `condition`")
    fits = [first, second]
    names = ["first", "second"] if any(isinstance(fit, Estimator) for fit in fits) else None
    return _of_fits(fits, names, settings)


def _regimes(**settings: Any) -> Any:
    from . import methods

    return methods.ESTIMATORS["regimes"](**settings)


def _of_parts(conditions: Mapping[str, Any], settings: dict[str, Any]) -> Any:
    if len(conditions) < 2:
        raise DataError("a contrast needs at least two conditions")
    parts = {name: Dataset.from_any(data) for name, data in conditions.items()}
    variables = next(iter(parts.values())).variables
    for name, data in parts.items():
        if sorted(data.variables) != sorted(variables):
            raise DataError(f"condition `{name}` has the variables {data.variables}, the first has {variables}")
    names: list[str] = []
    times: list[Any] = []
    values: list[Any] = []
    table: dict[str, list[str]] = {}
    for name, data in parts.items():
        own = data._with_columns(variables)
        table[name] = [f"{name}: {series}" for series, _, _ in own]
        names += table[name]
        times += [np.asarray(one) for _, one, _ in own]
        values += [np.asarray(one) for _, _, one in own]
    return _regimes(regimes=table, **settings).fit(Dataset(variables, names, times, values))


def _of_column(given: Any, condition: str, settings: dict[str, Any]) -> Any:
    """Series by the value of a column, which is no variable."""
    words = None
    if hasattr(given, "columns") and condition not in list(given.columns):
        raise DataError(f"there is no column `{condition}`; there are {list(given.columns)}")
    if hasattr(given, "columns") and given[condition].dtype.kind not in "biuf":
        pandas = need("pandas", "frames")
        numbers, words = pandas.factorize(given[condition])
        given = given.assign(**{condition: np.where(numbers < 0, np.nan, numbers)})
    data = Dataset.from_any(given)
    if condition not in data.variables:
        raise DataError(f"there is no column `{condition}`; there are {data.variables}")
    place = data.variables.index(condition)
    table: dict[str, list[str]] = {}
    for name, values in zip(data.names, data.values):
        known = np.unique(values[:, place][~np.isnan(values[:, place])])
        if len(known) != 1:
            what = "says nothing of" if len(known) == 0 else "changes within"
            raise DataError(f"`{condition}` {what} series `{name}`: a condition is that of a whole series")
        word = f"{condition} {known[0]:g}" if words is None else str(words[int(known[0])])
        table.setdefault(word, []).append(name)
    if len(table) < 2:
        raise DataError(f"all series have the same `{condition}`: there is nothing to compare")
    rest = [name for name in data.variables if name != condition]
    return _regimes(regimes=table, **settings).fit(data._with_columns(rest))


def _of_fits(fits: list[Any], names: list[str] | None, settings: dict[str, Any]) -> Any:
    """Two fits, whose data are read again."""
    folders = []
    for fit in fits:
        if isinstance(fit, Estimator):
            folders.append(fit._fitted_folder().path)
        elif isinstance(fit, (str, os.PathLike)):
            folders.append(Path(fit))
        else:
            raise DataError("a contrast takes two fits or run folders, or a mapping of names to data sets")
    result = _regimes(**settings)
    asked = json.dumps({"seed": 0, **result._asked()["settings"]})
    folder = RunFolder()
    return result._learn(
        folder,
        lambda bar: _native.contrast(
            str(folders[0]),
            str(folders[1]),
            str(folder.path),
            asked,
            names=None if names is None else (names[0], names[1]),
            threads=result.threads,
            progress=bar,
        ),
    )
