"""A matrix over pairs of variables that knows their names; row = source, column = target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._optional import comes_from, need
from .errors import InputError, QuestionError

if TYPE_CHECKING:
    import pandas

__all__ = ["EdgeMatrix"]


class EdgeMatrix(np.ndarray[Any, Any]):
    """An array ``[source, target]`` with the names of its variables.

    >>> matrix = EdgeMatrix.of([[0.0, 0.9], [0.1, 0.0]], ["prey", "predator"])
    >>> matrix.of_edge("prey", "predator")
    0.9
    """

    names: list[str] | None

    @classmethod
    def of(cls, values: ArrayLike, names: Sequence[str]) -> EdgeMatrix:
        """Values with names."""
        matrix = np.asarray(values).view(cls)
        matrix.names = list(names)
        return matrix

    def __array_finalize__(self, parent: Any) -> None:
        names = getattr(parent, "names", None)
        keeps = names is not None and self.shape == (len(names), len(names))
        self.names = names if keeps else None

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        # A sum over all edges is a plain number, not a matrix without axes.
        return array[()] if np.ndim(array) == 0 else np.asarray(array).view(type(self))._with(self.names)

    def _with(self, names: list[str] | None) -> EdgeMatrix:
        self.names = names if names is not None and self.shape == (len(names), len(names)) else None
        return self

    def __reduce__(self) -> Any:
        return _restore, (np.asarray(self), self.names)

    def of_edge(self, source: str, target: str) -> Any:
        """The entry of one edge, by name."""
        names = self.names or []
        for name in (source, target):
            if name not in names:
                raise QuestionError(f"there is no variable `{name}`", variable=name)
        return np.asarray(self)[names.index(source), names.index(target)].item()

    def to_pandas(self) -> pandas.DataFrame:
        """A frame with sources as rows and targets as columns."""
        pd = need("pandas", "a frame")
        index = pd.Index(self.names, name="source")
        return pd.DataFrame(np.asarray(self), index=index, columns=pd.Index(self.names, name="target"))  # type: ignore[no-any-return]

    def _repr_html_(self) -> str:
        try:
            return str(self.to_pandas()._repr_html_())
        except ImportError:
            return f"<pre>{self!r}</pre>"


def _restore(values: NDArray[Any], names: list[str] | None) -> Any:
    return values if names is None else EdgeMatrix.of(values, names)


def matrix_of(edges: Any, names: Sequence[str] | None = None) -> NDArray[np.float64]:
    """A square matrix of an array, an :class:`EdgeMatrix`, a frame (matrix or list of edges) or a graph.

    Where both sides have names, they are brought into the order of ``names``.
    """
    own = getattr(edges, "names", None)
    if comes_from(edges, "pandas"):
        columns = [str(column) for column in edges.columns]
        if {"source", "target"} <= set(columns) or {"cause", "effect"} <= set(columns):
            return _of_list(edges, names)
        own, edges = columns, edges.to_numpy()
    elif comes_from(edges, "networkx"):
        own = [str(node) for node in edges.nodes]
        values = np.zeros((len(own), len(own)))
        for source, target in edges.edges:
            values[own.index(str(source)), own.index(str(target))] = 1.0
        edges = values
    matrix = np.asarray(edges, dtype=np.float64)
    if own is not None and names is not None and list(own) != list(names):
        if sorted(own) != sorted(names):
            raise InputError(f"the matrices are over other variables: {list(own)[:8]} and {list(names)[:8]}")
        order = [list(own).index(name) for name in names]
        matrix = matrix[np.ix_(order, order)]
    return np.ascontiguousarray(matrix)


def _of_list(frame: Any, names: Sequence[str] | None) -> NDArray[np.float64]:
    if names is None:
        raise InputError("a list of edges needs the names of all variables: give scores that have them")
    ends = ("source", "target") if "source" in frame.columns else ("cause", "effect")
    weight = next((name for name in ("probability", "score") if name in frame.columns), None)
    matrix = np.zeros((len(names), len(names)))
    position = {name: idx for idx, name in enumerate(names)}
    for row in frame.to_dict("records"):
        source, target = str(row[ends[0]]), str(row[ends[1]])
        for name in (source, target):
            if name not in position:
                raise InputError(f"the edge `{source} -> {target}` names `{name}`, which is unknown", variable=name)
        matrix[position[source], position[target]] = 1.0 if weight is None else row[weight]
    return matrix
