"""Who drives whom? Graphs and stochastic processes learned from series of measurements.

Data in, a fitted model out, which answers every further question:

>>> from driftgraph import Scotch, systems
>>> data = systems.linear(variables=4, n_series=20, n_points=60, seed=1)
>>> data
Dataset(20 series, 4 variables, 1200 rows, 0 missing cells)
>>> model = Scotch(select="none", seed=0, progress=False).fit(data)
>>> bool(model.edge_probabilities_.of_edge("x1", "x3") > 0.5), bool(data.truth[0, 2])
(True, True)
>>> model.intervene("x1 = 2 @ 1..3", n_paths=50)
Effect(x1 = 2 @ 1..3: 4 of 4 variables change)

`Dataset` takes frames, arrays and files, `Scotch` is the estimator most people want, `methods` has all others. The guide is in the documentation
of the project.
"""

from __future__ import annotations

from . import baselines, errors, methods, metrics, systems
from ._native import VERSION as __version__
from ._contrast import contrast
from ._sweep import SweepResult, sweep
from .data import Dataset
from .errors import DriftgraphError
from .estimator import Scotch
from .matrices import EdgeMatrix
from .results import Bands, Effect, Paths, SeriesBands

# In the order in which they are met, which is that of the reference.
__all__ = [
    "Dataset",
    "Scotch",
    "methods",
    "EdgeMatrix",
    "SeriesBands",
    "Bands",
    "Paths",
    "Effect",
    "contrast",
    "sweep",
    "SweepResult",
    "systems",
    "metrics",
    "baselines",
    "errors",
    "DriftgraphError",
    "__version__",
]
