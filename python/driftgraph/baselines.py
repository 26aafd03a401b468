"""Simple methods on the same data: a learned graph is worth its cost only where it beats these.

>>> from driftgraph import systems
>>> data = systems.linear(variables=4, n_series=3, seed=1)
>>> ridge(data).shape
(4, 4)
"""

from __future__ import annotations

from typing import Any

from . import _native
from .data import Dataset
from .errors import QuestionError
from .matrices import EdgeMatrix

__all__ = ["METHODS", "partial_correlation", "ridge", "run", "var"]

#: Names of all methods.
METHODS: tuple[str, ...] = tuple(_native.baselines())


def run(method: str, X: Any, times: Any = None, series: Any = None) -> EdgeMatrix:
    """Scores of every edge, row = source, by a method of :data:`METHODS`."""
    if method not in METHODS:
        raise QuestionError(f"expected one of {', '.join(METHODS)}, found `{method}`")
    data = Dataset.from_any(X, times, series)
    return EdgeMatrix.of(_native.baseline(method, data._to_native()), data.variables)


def partial_correlation(X: Any, times: Any = None, series: Any = None) -> EdgeMatrix:
    """Size of the partial correlation of two variables given all others; the same both ways."""
    return run("partial-correlation", X, times, series)


def ridge(X: Any, times: Any = None, series: Any = None) -> EdgeMatrix:
    """Ridge regression of each variable's rate of change on all variables."""
    return run("ridge", X, times, series)


def var(X: Any, times: Any = None, series: Any = None) -> EdgeMatrix:
    """A vector autoregression of one lag; neighbouring rows count as equally spaced."""
    return run("var", X, times, series)
