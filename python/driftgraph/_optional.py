"""Packages that are used where they are installed, with one clear message where they are not."""

from __future__ import annotations

import importlib
from types import ModuleType

from .errors import MissingDependencyError

_INSTALL = {
    "pandas": "pandas",
    "polars": "polars",
    "matplotlib.pyplot": "matplotlib",
    "networkx": "networkx",
    "anndata": "anndata",
    "scipy.io": "scipy",
    "xarray": "xarray",
    "dask.distributed": "driftgraph[dask]",
}


def need(module: str, what: str) -> ModuleType:
    """The module, or an error that says what needs it and how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = _INSTALL.get(module, module)
        message = f"{what} needs the package `{package}`, which is not installed\n\nhint: pip install {package}"
        raise MissingDependencyError(message) from error


def comes_from(value: object, package: str) -> bool:
    """Whether a value is of a class of that package, without importing the package."""
    return any(base.__module__.split(".")[0] == package for base in type(value).__mro__)
