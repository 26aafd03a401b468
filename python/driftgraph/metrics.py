"""How well scores of edges find a known graph; what is undefined is ``None``.

Row = source, column = target, everywhere. Scores may be an array, a frame or an estimator's
``edge_probabilities_``; a truth may also be a list of edges (``source``, ``target``) or a networkx graph.

>>> import numpy as np
>>> scores = np.array([[0.9, 0.6], [0.6, 0.2]])
>>> truth = np.array([[1, 0], [1, 0]])
>>> graph_metrics(scores, truth)["auroc"]
0.875
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _native
from .matrices import matrix_of

__all__ = ["auprc", "auroc", "curves", "graph_metrics", "shd"]


def graph_metrics(
    scores: Any,
    truth: Any,
    *,
    self_edges: bool = True,
    threshold: float | None = None,
    k: int | None = None,
    ranking_only: bool = False,
) -> dict[str, Any]:
    """AUROC, AUPRC, F1, TPR, FDR, SHD and more, as ``driftgraph score`` has them.

    ``threshold`` cuts scores into edges, 0.5 for probabilities. ``ranking_only`` says that scores
    between 0 and 1 are no probabilities.
    """
    values, present = _pair(scores, truth)
    text = _native.graph_metrics(
        values, present, self_edges=self_edges, threshold=threshold, k=k, ranking_only=ranking_only
    )
    return dict(json.loads(text))


def auroc(scores: Any, truth: Any, *, self_edges: bool = True) -> float | None:
    """Area under the ROC curve; ties count half, as in scikit-learn."""
    return graph_metrics(scores, truth, self_edges=self_edges)["auroc"]  # type: ignore[no-any-return]


def auprc(scores: Any, truth: Any, *, self_edges: bool = True) -> float | None:
    """Average precision, as scikit-learn defines it."""
    return graph_metrics(scores, truth, self_edges=self_edges)["auprc"]  # type: ignore[no-any-return]


def shd(scores: Any, truth: Any, *, threshold: float = 0.5, self_edges: bool = True) -> int | None:
    """Edges that are wrong plus edges that are missed."""
    return graph_metrics(scores, truth, self_edges=self_edges, threshold=threshold)["shd"]  # type: ignore[no-any-return]


def curves(scores: Any, truth: Any, *, self_edges: bool = True) -> dict[str, Any]:
    """Points of the ROC and precision-recall curves."""
    values, present = _pair(scores, truth)
    return dict(json.loads(_native.curves(values, present, self_edges=self_edges)))


def _pair(scores: Any, truth: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    names = getattr(scores, "names", None)
    if names is None and hasattr(scores, "columns"):
        names = [str(column) for column in scores.columns]
    values = matrix_of(scores)
    return values, np.ascontiguousarray(matrix_of(truth, names) != 0)
