"""What users write, for type checkers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftgraph import Dataset, Effect, Paths, Scotch, SeriesBands, baselines, metrics, systems


def tour() -> float:
    data: Dataset = systems.lorenz96(variables=6, n_series=5, seed=0)
    model: Scotch = Scotch(select="none", steps=200, seed=7).fit(data)
    probabilities: NDArray[np.float64] = np.asarray(model.edge_probabilities_)
    paths: Paths = model.simulate(100, horizon=2.0)
    futures: SeriesBands = model.forecast(1.0)
    effect: Effect = model.intervene("x1 = 2 @ 1..2")
    area: float | None = metrics.auroc(baselines.ridge(data), data.truth)
    found = paths.values.mean() + futures[data.names[0]].mean.sum() + effect.difference.max()
    return float(found + probabilities.sum() + model.score(data) + (area or 0.0))
