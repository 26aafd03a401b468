"""Regimes and conditions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import driftgraph
from driftgraph import Dataset, contrast, methods
from driftgraph.errors import DataError, DriftgraphError, QuestionError


def made(changes_at: int, seed: int, n: int = 160) -> np.ndarray:
    """Two variables; x drives y until a row, and no more from there on."""
    random = np.random.default_rng(seed)
    x = np.zeros((n, 2))
    for row in range(1, n):
        drift = np.array([-0.4 * x[row - 1, 0], -0.4 * x[row - 1, 1]])
        if row < changes_at:
            drift[1] += 0.8 * x[row - 1, 0]
        x[row] = x[row - 1] + drift + 0.5 * random.normal(size=2)
    return x


def dataset(*arrays: np.ndarray) -> Dataset:
    names = [f"s{idx}" for idx in range(len(arrays))]
    times = [np.arange(len(one), dtype=float) for one in arrays]
    return Dataset(["x", "y"], names, times, list(arrays))


def test_conditions_say_which_edge_differs() -> None:
    conditions = {"control": dataset(made(160, 1000)), "drug": dataset(made(0, 1001))}
    found = contrast(conditions, steps=80, noise_scale=0.01, progress=False)
    first = found.differences().iloc[0]
    assert (first["source"], first["target"], first["probability"] > 0.9) == ("x", "y", True)
    assert first["only_first"] > 0.8 and first["effect_second"] == 0
    edges = found.regime_edges()
    assert set(edges["regime"]) == {"control", "drug"} and len(edges) == 8
    with pytest.raises(DriftgraphError, match="2 processes that take turns"):
        found.simulate(10)
    with pytest.raises(DataError, match="at least two conditions"):
        contrast({"control": conditions["control"]})


def test_a_column_or_two_fits_are_contrasted_as_well(tmp_path: Path) -> None:
    rows = []
    for number, (word, changes_at) in enumerate([("control", 160), ("drug", 0)]):
        for time, (x, y) in enumerate(made(changes_at, 1000 + number)):
            rows.append((f"s{number}", time, x, y, word))
    frame = pd.DataFrame(rows, columns=["series", "time", "x", "y", "treatment"])
    settings = {"steps": 60, "noise_scale": 0.01, "progress": False}
    found = contrast(frame, condition="treatment", **settings)
    first = found.differences().iloc[0]
    assert (first["source"], first["target"], first["first"], first["second"]) == ("x", "y", "control", "drug")
    assert found.feature_names_in_.tolist() == ["x", "y"]
    with pytest.raises(DataError, match="there is no column `dose`"):
        contrast(frame, condition="dose", **settings)
    plain = frame.drop(columns="treatment")
    parts = [plain[plain["series"] == name] for name in ("s0", "s1")]
    fits = [driftgraph.Scotch(select="none", ensemble=1, **settings).fit(part) for part in parts]
    both = contrast({"control": fits[0], "drug": fits[1]}, progress=False)
    first = both.differences().iloc[0]
    assert (first["source"], first["target"], first["probability"] > 0.9) == ("x", "y", True)
    # What the fits were told goes with them.
    assert both.run_["asked"]["settings"]["noise_scale"] == 0.01
    for name, fit in zip(("one", "two"), fits):
        fit.save(tmp_path / name)
    of_folders = contrast(tmp_path / "one", tmp_path / "two", progress=False)
    assert set(of_folders.regime_edges()["regime"]) == {"one", "two"}
    told = driftgraph.Scotch(select="none", ensemble=1, inputs="x", **settings).fit(parts[0])
    with pytest.raises(QuestionError, match="`x` is an input"):
        contrast(told, fits[1], progress=False)


def test_hidden_regimes_are_dated() -> None:
    found = methods.Regimes(regimes=2, steps=80, noise_scale=0.01, progress=False).fit(dataset(made(80, 1002)))
    frame = found.regime_times()
    assert {"series", "time", "regime", "probability regime 1"} <= set(frame.columns)
    change = frame["time"][frame["regime"] == "regime 2"].min()
    assert abs(change - 80) <= 20


def test_one_regime_is_the_plain_fit() -> None:
    data = dataset(made(60, 1003, n=60))
    plain = driftgraph.Scotch(select="none", seed=0, progress=False)
    one = methods.Regimes(regimes=1, progress=False).fit(data)
    assert one.edge_probabilities_.shape == (2, 2)
    with pytest.raises(QuestionError, match="one regime"):
        one.regime_times()
    assert plain.fit(data).edge_probabilities_.shape == (2, 2)


def test_effects_that_move_have_courses_with_bands() -> None:
    random = np.random.default_rng(1004)
    arrays = []
    for _ in range(4):
        x = np.zeros((80, 2))
        for row in range(1, 80):
            effect = 1.0 - 2.0 * row / 80
            x[row] = [0.6 * x[row - 1, 0], 0.6 * x[row - 1, 1] + effect * x[row - 1, 0]]
            x[row] += 0.5 * random.normal(size=2)
        arrays.append(x)
    found = methods.Drifting(steps=120, noise_scale=0.01, progress=False).fit(dataset(*arrays))
    first = found.drifting_edges().iloc[0]
    assert (first["source"], first["target"], first["probability_drifting"] > 0.5) == ("x", "y", True)
    assert first["effect_first"] > 0.3 and first["effect_last"] < -0.3
    frame = found.drifting_effects()
    assert list(frame.columns) == ["time", "source", "target", "effect", "low", "high"]
    assert ((frame["low"] <= frame["effect"]) & (frame["effect"] <= frame["high"])).all()
    with pytest.raises(QuestionError, match="stay the same"):
        driftgraph.Scotch(select="none", progress=False).fit(dataset(arrays[0])).drifting_effects()
