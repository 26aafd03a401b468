"""Which edges differ between conditions, from data of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .data import Dataset
from .errors import DataError

__all__ = ["contrast"]


def contrast(conditions: Mapping[str, Any], **settings: Any) -> Any:
    """Fits the data of two or more conditions together, and says which edges differ.

    ``conditions`` maps names to data sets (or anything that :class:`Dataset` takes) of the same variables. What is
    the same in all of them is learned from all data; whether an edge differs has a probability. Settings are those of
    ``driftgraph.methods.Regimes``. The result is fitted; ``result.differences()`` is the table.

    >>> from driftgraph import contrast, systems
    >>> data = systems.linear(variables=3, n_series=4, n_points=40, seed=1000)
    >>> result = contrast({"control": data[:2], "drug": data[2:]}, steps=40, progress=False)
    >>> result.differences().columns[:4].tolist()
    ['source', 'target', 'first', 'second']
    """
    from . import methods

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
    joined = Dataset(variables, names, times, values)
    return methods.ESTIMATORS["regimes"](regimes=table, **settings).fit(joined)
