"""Seasons, lines and logarithms are taken out before the fit and are in every answer again; advice names keywords."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from conftest import quick
from driftgraph import Dataset, Scotch, methods
from driftgraph.errors import DataError, DataWarning, QuestionError, SettingsError


def frame() -> pd.DataFrame:
    """Ten years of months: a line with a season, and a price that doubles."""
    index = pd.date_range("2000-01-01", periods=120, freq="MS", name="date")
    noise = np.random.default_rng(5).normal(size=(120, 2)) * 0.05
    month = np.arange(120)
    sales = 10 + 0.1 * month + np.sin(2 * np.pi * month / 12) + noise[:, 0]
    price = np.exp(0.01 * month + noise[:, 1])
    return pd.DataFrame({"sales": sales, "price": price}, index=index)


@pytest.fixture(scope="module")
def model() -> Scotch:
    return quick(season=12, detrend=True, log="price").fit(frame())


def test_forecasts_go_on_with_what_was_taken_out(model: Scotch) -> None:
    future = next(iter(model.forecast("1y", every="30d", n_paths=50).values()))
    days = (future.dates - np.datetime64("2009-12-01")) / np.timedelta64(1, "D")
    month = 119 + days / 30.44
    expected = 10 + 0.1 * month + np.sin(2 * np.pi * month / 12)
    # Fifty paths of noise that is a twentieth, and a season of months that are not equally long.
    assert np.abs(future.mean[:, 0] - expected).max() < 0.3
    assert (future.quantiles[0][:, 1] > 0).all()
    held = model.intervene("price = 5 @ 2001-01-01..2002-01-01", n_paths=5, start_time="2000-06-01", horizon="2y")
    assert (held.under.mean == 5).any()
    with pytest.raises(QuestionError, match="always positive"):
        model.intervene("price = -1", n_paths=5)


def test_what_was_taken_out_is_kept_in_the_run_folder(model: Scotch, tmp_path: Path) -> None:
    model.save(tmp_path / "run")
    again = Scotch.load(tmp_path / "run")
    assert (again.season, again.detrend, again.log) == (12, True, ["price"])
    one, two = (next(iter(each.forecast("90d", n_paths=5).values())) for each in (model, again))
    assert np.array_equal(one.mean, two.mean)
    assert methods.Ridge(season=12, progress=False).fit(frame()).run_["asked"]["preparation"] == {"season": 12}


def test_what_cannot_be_taken_out_is_refused() -> None:
    with pytest.raises(DataError, match="only positive numbers have a logarithm"):
        quick(log=["sales"]).fit(frame() - 11)
    with pytest.raises(DataError, match="needs a series of at least 200"):
        quick(season=100).fit(frame())
    with pytest.raises(SettingsError):
        quick(season=2.5).fit(frame())


def test_nothing_drives_what_was_set_from_outside() -> None:
    fitted = quick(inputs="price").fit(frame())
    assert fitted.edge_probabilities_.to_pandas().loc["sales", "price"] == 0.0
    with pytest.raises(DataError, match="names `cost`"):
        quick(inputs=["cost"]).fit(frame())


def test_advice_names_keywords(tmp_path: Path) -> None:
    warnings = Dataset.from_any(frame()).summary()["warnings"]
    assert not any("--" in warning for warning in warnings), warnings
    table = tmp_path / "pelts.csv"
    table.write_text("Year,a,b\n" + "".join(f"{1845 + n},{n % 7},{n * n % 11}\n" for n in range(30)))
    assert "`time` overrules" in Dataset.from_file(table).notices[0]
    table.write_text("a,b\n1,2\n1,3\n")
    with pytest.raises(DataError, match="`even_steps=True`"):
        Dataset.from_file(table)


def test_a_fit_warns_of_data_that_cannot_carry_a_graph() -> None:
    both = frame()
    both["visitors"] = 3 * both["sales"].to_numpy()[::-1] + np.random.default_rng(6).normal(size=120) * 0.1
    with pytest.warns(DataWarning, match="share a season of 12 rows.*`season=12`"):
        quick().fit(both)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        quick(season=12).fit(both)
    assert not [one for one in caught if "season" in str(one.message)]
