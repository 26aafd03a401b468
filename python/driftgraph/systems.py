"""Known systems with true graphs, and data drawn from them.

Every function takes the system's own numbers and what :func:`generate` takes, and returns a
:class:`~driftgraph.Dataset` whose ``truth`` is the true graph, row = source.

>>> data = lorenz96(variables=6, n_series=3, n_points=20, seed=1)
>>> data
Dataset(3 series, 6 variables, 60 rows, 0 missing cells)
>>> int(data.truth.sum())
24
"""

from __future__ import annotations

from typing import Any

from . import _native
from .data import Dataset

__all__ = [
    "bimodal",
    "describe",
    "gene_network",
    "generate",
    "glycolysis",
    "kuramoto",
    "linear",
    "lorenz63",
    "lorenz96",
    "lotka_volterra",
]

# What says how data are drawn; everything else is a number of the system.
_RECIPE = {
    "seed", "paper", "n_series", "n_points", "span", "step_size", "scheme", "standardise", "sampling",
    "drop", "drop_by",
}  # fmt: skip


def generate(system: str, **settings: Any) -> Dataset:
    """Data of the system called ``system``.

    Parameters
    ----------
    seed : int
        Decides the system's own random numbers, paths, times, noise and holes.
    n_series, n_points : int
        Number of series, and of times of each.
    span : (float, float)
        First and last time.
    sampling : "regular" or "random"
        Equally spaced times, or times drawn for each series.
    drop : float
        Probability that something is not observed.
    drop_by : "time", "series-time" or "cell"
        What is dropped: times of all series at once, of each series, or single cells.
    measurement_noise : float
        Noise of each cell, as a multiple of its variable's deviation.
    standardise : bool
        Whether variables are scaled to mean 0 and deviation 1.
    step_size, scheme :
        Of the solver.
    paper : bool
        The recipe of the paper's experiment on this system.
    **settings :
        The system's own numbers; :func:`describe` lists them.
    """
    recipe: dict[str, Any] = {}
    parameters: dict[str, float] = {}
    for name, value in settings.items():
        if name == "measurement_noise":
            recipe["noise"] = value
        elif name in _RECIPE:
            recipe[name] = value
        else:
            parameters[name] = float(value)
    return Dataset._of_native(_native.generate(system, parameters, **recipe))


def describe() -> dict[str, dict[str, Any]]:
    """All systems: what each is, and its numbers with default, range and meaning."""
    return {
        name: {
            "about": about,
            "parameters": {
                own: {"default": default, "min": least, "max": most, "whole": whole, "about": meaning}
                for own, default, least, most, whole, meaning in parameters
            },
        }
        for name, about, parameters in _native.systems()
    }


def lorenz96(**settings: Any) -> Dataset:
    """Lorenz's ring of 1996: each variable driven by three neighbours and itself."""
    return generate("lorenz96", **settings)


def lorenz63(**settings: Any) -> Dataset:
    """Lorenz's three equations of 1963."""
    return generate("lorenz63", **settings)


def glycolysis(**settings: Any) -> Dataset:
    """Yeast glycolysis, seven species."""
    return generate("glycolysis", **settings)


def linear(**settings: Any) -> Dataset:
    """A random linear system with sparse couplings."""
    return generate("linear", **settings)


def gene_network(**settings: Any) -> Dataset:
    """A network of genes with activators and repressors."""
    return generate("gene-network", **settings)


def kuramoto(**settings: Any) -> Dataset:
    """Coupled oscillators."""
    return generate("kuramoto", **settings)


def lotka_volterra(**settings: Any) -> Dataset:
    """Predators and prey."""
    return generate("lotka-volterra", **settings)


def bimodal(**settings: Any) -> Dataset:
    """One variable with two stable states."""
    return generate("bimodal", **settings)
