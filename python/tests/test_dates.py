"""Dates are times wherever a time can be given, and results of dated data come out as dates."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pytest

from conftest import quick
from driftgraph import Dataset, Scotch
from driftgraph.errors import DataError, QuestionError


def frame(index: pd.Index) -> pd.DataFrame:
    rows = np.random.default_rng(3).normal(size=(len(index), 2)).cumsum(axis=0) * 0.3
    return pd.DataFrame(rows, index=index, columns=["x", "y"])


@pytest.fixture(scope="module")
def monthly() -> Scotch:
    return quick().fit(frame(pd.date_range("2000-01-01", periods=60, freq="MS", name="date")))


def test_windows_horizons_and_times_may_be_dates_of_any_kind(monthly: Scotch) -> None:
    start = np.datetime64("2001-01-01")
    asked = dict(horizon="1y", every=datetime.timedelta(days=30), n_paths=5)
    for when in ("2001-01-01", pd.Timestamp(start), pd.Period("2001-01", "M"), start, datetime.date(2001, 1, 1)):
        effect = monthly.intervene("x = 10 @ 2001-03-01..2001-06-01", start_time=when, **asked)
        assert effect.without.dates[0] == start
        held = (effect.without.dates >= np.datetime64("2001-03-01")) & (effect.without.dates <= np.datetime64("2001-06-01"))
        assert held.any() and (effect.under.mean[held, 0] == 10.0).all()
        assert (effect.under.mean[~held, 0] != 10.0).all()
    assert len(effect.ranking()) == 2 and effect.ranking()["time"].dtype.kind == "M"
    with pytest.raises(QuestionError, match="may be a year"):
        monthly.simulate(5, start_time="2001")
    with pytest.raises(QuestionError, match="no length of time"):
        monthly.forecast("soon")


def test_forecasts_are_indexed_by_dates(monthly: Scotch) -> None:
    futures = monthly.forecast("90d", every="30d", n_paths=20)
    table = futures.to_pandas()
    assert isinstance(table.index, pd.DatetimeIndex) and table.index.name == "time"
    # The last row is 2004-12-01.
    assert table.index[0] == pd.Timestamp("2004-12-31") and table.index[-1] == pd.Timestamp("2005-03-01")
    assert table.loc["2005-01"]["variable"].tolist() == ["x", "y"]
    one = next(iter(futures.values()))
    assert one.to_frame().loc["2005-03-01", "x"] == one.mean[-1, 0]
    exact = monthly.forecast(times=pd.date_range("2005-01-01", periods=2, freq="MS"), n_paths=5)
    assert next(iter(exact.values())).dates.tolist() == pd.date_range("2005-01-01", periods=2, freq="MS").values.tolist()
    assert monthly.simulate(3).to_pandas()["time"].dtype.kind == "M"
    assert monthly.impute(["2001-01-15"]).to_pandas().index[0] == pd.Timestamp("2001-01-15")
    assert monthly.training_data.to_pandas()["time"].iloc[1] == pd.Timestamp("2000-02-01")


def test_plots_have_dates_along_their_axes(monthly: Scotch) -> None:
    import matplotlib.pyplot as plt
    from matplotlib.dates import AutoDateFormatter, num2date

    axes = monthly.plot_forecast(horizon="90d", n_paths=5).axes[0]
    assert num2date(axes.get_xlim()[1]).year == 2005
    # Newer versions choose between two converters of dates behind a third, which is no subclass of theirs.
    assert "DateConverter" in type(axes.xaxis.get_converter()).__name__
    assert isinstance(axes.xaxis.get_major_formatter(), AutoDateFormatter)
    assert axes.get_xlabel() == "date"
    assert monthly.plot_intervention("x = 1 @ 2001-01-01..2001-06-01", n_paths=5).axes
    plt.close("all")


def test_dates_mean_nothing_where_times_are_numbers(fitted: Scotch) -> None:
    for asked in (pd.Timestamp("2001-01-01"), "2001-01-01"):
        with pytest.raises(QuestionError, match="plain numbers"):
            fitted.simulate(5, start_time=asked)
    with pytest.raises(QuestionError, match="looks like a date"):
        fitted.intervene("x1 = 1 @ 2000-01-01..2002-01-01", n_paths=5)
    for length in ("90d", pd.Timedelta(days=3)):
        with pytest.raises(QuestionError, match="has a unit"):
            fitted.forecast(length)


def test_periods_are_times_by_their_start() -> None:
    quarters = pd.period_range("1959Q1", periods=8, freq="Q")
    by_index = Dataset.from_pandas(frame(quarters))
    by_column = Dataset.from_pandas(frame(quarters).rename_axis("quarter").reset_index(), time="quarter")
    by_dates = Dataset.from_pandas(frame(quarters.to_timestamp()))
    assert by_index.time_origin == "1959-01-01T00:00:00Z"
    for other in (by_column, by_dates):
        assert np.array_equal(by_index.times[0], other.times[0])


@pytest.mark.parametrize("names", [(None, None), ("patient", "day"), ("series", "time")])
def test_an_index_of_two_levels_is_series_and_time(names: tuple[str | None, str | None]) -> None:
    days = pd.date_range("2020-01-01", periods=4)
    index = pd.MultiIndex.from_product([["a", "b"], days], names=names)
    data = Dataset.from_pandas(frame(index))
    assert data.names == ["a", "b"] and data.variables == ["x", "y"]
    assert data.times[1].tolist() == [0.0, 1.0, 2.0, 3.0]
    turned = Dataset.from_pandas(frame(index).swaplevel())
    assert turned.names == ["a", "b"] and turned.variables == ["x", "y"]
    numbers = pd.MultiIndex.from_product([["a", "b"], [0.0, 0.5, 2.0]], names=names)
    assert Dataset.from_pandas(frame(numbers)).times[0].tolist() == [0.0, 0.5, 2.0]


def test_data_in_another_unit_score_as_those_in_the_unit_of_the_fit(monthly: Scotch) -> None:
    daily = monthly.training_data
    hours = Dataset(
        daily.variables,
        daily.names,
        [24.0 * own for own in daily.times],
        daily.values,
        time_unit="hours",
        time_origin=daily.time_origin,
    )
    assert monthly.score(hours) == pytest.approx(monthly.score(daily))


def test_dates_that_a_frame_holds_as_text_are_dates() -> None:
    dates = ["2020-01-31", "2020-02-29", "2020-03-31"]
    table = pd.DataFrame({"date": dates, "x": [1.0, 3.0, 2.0], "y": [2.0, 1.0, 4.0]})
    data = Dataset.from_pandas(table)
    assert data.time_unit == "days" and data.times[0].tolist() == [0.0, 29.0, 60.0]
    german = table.assign(date=["31.01.2020", "29.02.2020", "31.03.2020"])
    with pytest.raises(DataError, match="`date` holds text such as '31.01.2020'") as refusal:
        Dataset.from_pandas(german)
    assert "pandas.to_datetime(df['date'])" in str(refusal.value)
    numbers = table.assign(date=["1", "2", "4"])
    assert Dataset.from_pandas(numbers).times[0].tolist() == [1.0, 2.0, 4.0]


def test_frames_without_times_are_told_how_to_get_them() -> None:
    genes = pd.DataFrame([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]], index=["CBF1", "GAL4"], columns=["C0", "C20", "C40"])
    with pytest.raises(DataError, match=r"turn the frame \(`df.T`\)"):
        Dataset.from_pandas(genes)
    with pytest.raises(DataError, match="one column of numbers is no table"):
        Dataset.from_numpy(np.arange(10.0))
