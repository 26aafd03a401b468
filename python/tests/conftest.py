"""Small data, one short fit for all who only look, and the binary to compare with."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import matplotlib
import pytest

import driftgraph
from driftgraph import Dataset, Scotch

matplotlib.use("Agg")

# Short: what is tested here is the way in and out, not the quality of the fit.
QUICK = {"select": "none", "ensemble": 1, "steps": 60, "seed": 7, "progress": False}


def quick(**settings: object) -> Scotch:
    """An estimator that fits in a fraction of a second."""
    return Scotch(**{**QUICK, **settings})  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def ctrl_c_is_heard() -> Iterator[None]:
    """A shell starts what it runs in the background with Ctrl-C ignored, and Python keeps that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def data() -> Dataset:
    return driftgraph.systems.linear(
        variables=4, n_series=5, n_points=30, drop=0.1, drop_by="cell", measurement_noise=0.05, seed=1
    )


@pytest.fixture(scope="session")
def fitted(data: Dataset) -> Scotch:
    return quick().fit(data)


@pytest.fixture(scope="session")
def binary() -> Path:
    path = os.environ.get("DRIFTGRAPH_BINARY")
    if path is None:
        pytest.skip("DRIFTGRAPH_BINARY does not name the binary")
    return Path(path)
