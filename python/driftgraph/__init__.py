"""Who drives whom? Graphs and stochastic processes learned from series of measurements.

>>> import driftgraph
>>> data = driftgraph.systems.lorenz96(variables=5, n_series=4, n_points=30, seed=0)
>>> data.variables
['x1', 'x2', 'x3', 'x4', 'x5']
"""

from __future__ import annotations

from . import baselines, errors, methods, metrics, systems
from ._native import VERSION as __version__
from ._sweep import SweepResult, sweep
from .data import Dataset
from .errors import DriftgraphError
from .estimator import Scotch
from .matrices import EdgeMatrix
from .results import Bands, Effect, Paths, SeriesBands

__all__ = [
    "Bands",
    "Dataset",
    "DriftgraphError",
    "EdgeMatrix",
    "Effect",
    "Paths",
    "Scotch",
    "SeriesBands",
    "SweepResult",
    "__version__",
    "baselines",
    "errors",
    "methods",
    "metrics",
    "sweep",
    "systems",
]
