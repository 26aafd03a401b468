"""Everything that holds measurements becomes the same data set."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from driftgraph import Dataset
from driftgraph.errors import DataError, FileError


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "series": ["a", "a", "a", "b", "b"],
            "time": [0.0, 1.5, 4.0, 0.0, 2.0],
            "x": [1.0, np.nan, 3.0, 4.0, 5.0],
            "y": [0.1, 0.2, 0.3, 0.4, 0.5],
        }
    )


def same(one: Dataset, other: Dataset) -> None:
    assert one.variables == other.variables
    assert one.names == other.names
    for left, right in zip(one.times + one.values, other.times + other.values):
        np.testing.assert_array_equal(left, right)
    assert one.fingerprint == other.fingerprint


def test_a_wide_pandas_frame_comes_back_as_it_went_in(frame: pd.DataFrame) -> None:
    data = Dataset.from_pandas(frame, time="time", series="series")
    assert (data.n_series, data.n_variables, data.n_rows, data.n_missing) == (2, 2, 5, 1)
    pd.testing.assert_frame_equal(data.to_pandas(), frame)


def test_polars_and_pandas_give_the_same_data(frame: pd.DataFrame) -> None:
    wide = pl.from_pandas(frame)
    same(Dataset.from_polars(wide), Dataset.from_pandas(frame))
    same(Dataset.from_polars(wide.lazy()), Dataset.from_pandas(frame))
    back = Dataset.from_polars(wide).to_polars()
    assert back["x"].null_count() == 1
    same(Dataset.from_polars(back), Dataset.from_pandas(frame))


def test_a_long_frame_is_the_wide_one(frame: pd.DataFrame) -> None:
    long = frame.melt(["series", "time"]).dropna().sample(frac=1.0, random_state=0)
    data = Dataset.from_pandas(long, variables=["x", "y"])
    # Series appear in the order of their first row.
    same(data.select(["a", "b"]), Dataset.from_pandas(frame))
    renamed = long.rename(columns={"variable": "gene", "value": "level"})
    named = Dataset.from_pandas(renamed, variables=["x", "y"], long=("gene", "level"))
    same(named, data)


def test_rows_may_be_in_any_order(frame: pd.DataFrame) -> None:
    data = Dataset.from_pandas(frame.iloc[[2, 4, 0, 3, 1]])
    same(data.select(["a", "b"]), Dataset.from_pandas(frame))


def test_index_levels_count_as_columns(frame: pd.DataFrame) -> None:
    same(Dataset.from_pandas(frame.set_index(["series", "time"])), Dataset.from_pandas(frame))


def test_nullable_columns_and_categories_are_understood(frame: pd.DataFrame) -> None:
    odd = frame.convert_dtypes().astype({"series": "category"})
    same(Dataset.from_pandas(odd), Dataset.from_pandas(frame))


def test_dates_are_counted_as_in_a_file(tmp_path: Path) -> None:
    days = pd.to_datetime(["2026-01-01 00:00", "2026-01-02 00:00", "2026-01-04 12:00"])
    frame = pd.DataFrame({"date": days, "x": [1.0, 2.0, 3.0]})
    data = Dataset.from_pandas(frame)
    np.testing.assert_array_equal(data.times[0], [0.0, 1.0, 3.5])
    assert (data.time_unit, data.time_origin) == ("days", "2026-01-01T00:00:00Z")
    frame.to_csv(tmp_path / "dates.csv", index=False)
    read = Dataset.from_file(tmp_path / "dates.csv")
    np.testing.assert_array_equal(read.times[0], data.times[0])
    assert (read.time_unit, read.time_origin) == (data.time_unit, data.time_origin)
    for dates in (pl.from_pandas(frame), frame.assign(date=frame["date"].dt.tz_localize("UTC")), frame.set_index("date")):
        np.testing.assert_array_equal(Dataset.from_any(dates).times[0], data.times[0])
    plain = pd.DataFrame({"t": [datetime.date(2026, 1, day) for day in (1, 2, 5)], "x": [0.0, 1.0, 2.0]})
    np.testing.assert_array_equal(Dataset.from_pandas(plain).times[0], [0.0, 1.0, 4.0])


def test_arrays_of_equal_and_unequal_length() -> None:
    cube = np.arange(24.0).reshape(2, 4, 3)
    data = Dataset.from_numpy(cube, times=[0.0, 0.5, 1.0, 2.0], names=["a", "b", "c"])
    values, times = data.to_numpy()
    np.testing.assert_array_equal(values, cube)
    np.testing.assert_array_equal(times, [0.0, 0.5, 1.0, 2.0])
    ragged = Dataset.from_numpy([cube[0], cube[1, :2]], times=[[0, 1, 2, 9], [0, 4]], series=["p", "q"])
    assert ragged.names == ["p", "q"] and [len(own) for own in ragged.times] == [4, 2]
    with pytest.raises(DataError, match="other times"):
        ragged.to_numpy()


def test_one_table_with_labels_is_split_into_series() -> None:
    table = np.arange(10.0).reshape(5, 2)
    data = Dataset.from_any(table, times=[0, 1, 2, 0, 1], series=[7, 7, 7, 8, 8])
    assert data.names == ["7", "8"]
    np.testing.assert_array_equal(data.values[1], table[3:])


def test_masks_are_true_where_observed() -> None:
    cube = np.ones((1, 3, 2))
    mask = np.array([[[True, False], [True, True], [False, True]]])
    data = Dataset.from_numpy(cube, observed=mask)
    assert data.n_missing == 2
    np.testing.assert_array_equal(data.observed[0], mask[0])
    assert not np.isnan(cube).any(), "the caller's array is not touched"


def test_memory_is_shared_where_the_layout_allows() -> None:
    cube = np.random.default_rng(0).normal(size=(3, 20, 4))
    assert all(np.shares_memory(own, cube) for own in Dataset.from_numpy(cube).values)
    table = cube[0]
    assert np.shares_memory(Dataset.from_numpy(table).values[0], table)
    labels = np.repeat([1, 2], 10)
    split = Dataset.from_numpy(table, times=np.tile(np.arange(10), 2), series=labels)
    assert all(np.shares_memory(own, table) for own in split.values)
    other_layout = np.asfortranarray(table)
    copied = Dataset.from_numpy(other_layout).values[0]
    assert not np.shares_memory(copied, other_layout)
    np.testing.assert_array_equal(copied, table)


def test_files_come_back_with_every_digit(frame: pd.DataFrame, tmp_path: Path) -> None:
    data = Dataset.from_pandas(frame.assign(x=frame["x"] / 3.0))
    data.to_csv(tmp_path / "data.csv")
    read = Dataset.from_any(tmp_path / "data.csv")
    same(read, data)
    assert not read.values[0].flags.writeable, "what is shown of a file is what will be fitted"
    data.to_polars().write_parquet(tmp_path / "data.parquet")
    same(Dataset.from_file(tmp_path / "data.parquet"), data)


def test_anndata_with_replicate_cells_and_series() -> None:
    anndata = pytest.importorskip("anndata")
    cells = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]], dtype=np.float32)
    obs = pd.DataFrame({"time": [0.0, 0.0, 1.0, 0.0], "donor": ["d1", "d1", "d1", "d2"]}, index=list("abcd"))
    adata = anndata.AnnData(cells, obs=obs, var=pd.DataFrame(index=["g1", "g2"]))
    data = Dataset.from_anndata(adata, series="donor")
    assert (data.names, data.variables) == (["d1", "d2"], ["g1", "g2"])
    np.testing.assert_array_equal(data.values[0], [[2.0, 3.0], [5.0, 6.0]])
    with pytest.raises(DataError, match="two rows at time 0"):
        Dataset.from_anndata(adata, series="donor", duplicates="error")
    one = Dataset.from_anndata(adata[2:], variables=["g2"], series="donor")
    np.testing.assert_array_equal(one.values[0], [[6.0]])
    sparse = anndata.AnnData(__import__("scipy.sparse").sparse.csr_matrix(cells), obs=obs, var=adata.var)
    same(Dataset.from_any(sparse, series="donor"), data)


def test_a_data_set_survives_the_way_through_anndata(frame: pd.DataFrame) -> None:
    pytest.importorskip("anndata")
    data = Dataset.from_pandas(frame)
    same(Dataset.from_anndata(data.to_anndata(), series="series"), data)


def test_netsim_files_hold_subjects_and_the_true_graph(tmp_path: Path) -> None:
    scipy_io = pytest.importorskip("scipy.io")
    rows = np.random.default_rng(1).normal(size=(3 * 20, 4))
    net = np.zeros((3, 4, 4))
    net[:, 0, 1] = 0.4
    net[:, np.arange(4), np.arange(4)] = -1.0
    scipy_io.savemat(tmp_path / "sim1.mat", {"ts": rows, "net": net})
    data = Dataset.from_any(tmp_path / "sim1.mat")
    assert (data.n_series, data.n_variables) == (3, 4)
    np.testing.assert_array_equal(data.values[1], rows[20:40])
    assert data.truth is not None and data.truth[0, 1] and data.truth.sum() == 5
    assert Dataset.from_netsim(tmp_path / "sim1.mat", subjects=[2]).names == ["subject-3"]


def test_xarray_arrays_and_data_sets() -> None:
    xr = pytest.importorskip("xarray")
    cube = np.arange(24.0).reshape(2, 4, 3)
    coords: dict[str, Any] = {"trial": ["p", "q"], "time": [0.0, 1.0, 2.0, 4.0], "gene": ["a", "b", "c"]}
    array = xr.DataArray(cube, dims=("trial", "time", "gene"), coords=coords)
    data = Dataset.from_xarray(array)
    assert (data.names, data.variables) == (["p", "q"], ["a", "b", "c"])
    np.testing.assert_array_equal(data.values[1], cube[1])
    table = xr.Dataset({"a": ("time", [1.0, 2.0]), "b": ("time", [3.0, np.nan])}, coords={"time": [0, 3]})
    other = Dataset.from_any(table)
    assert (other.variables, other.n_series, other.n_missing) == (["a", "b"], 1, 1)


def test_duplicates_are_refused_or_merged_as_asked(frame: pd.DataFrame) -> None:
    twice = pd.concat([frame, frame.iloc[[2]].assign(x=5.0, y=np.nan)])
    with pytest.raises(DataError, match="series `a` has two rows at time 4") as caught:
        Dataset.from_pandas(twice)
    assert (caught.value.series, caught.value.time) == ("a", 4.0)
    for rule, x, y in (("mean", 4.0, 0.3), ("first", 3.0, 0.3), ("last", 5.0, 0.3)):
        merged = Dataset.from_pandas(twice, duplicates=rule)
        np.testing.assert_array_equal(merged.values[0][2], [x, y])
        long = Dataset.from_pandas(twice.melt(["series", "time"]), duplicates=rule)
        np.testing.assert_array_equal(long.values[0][2], [x, y])


@pytest.mark.parametrize(
    ("change", "message", "place"),
    [
        ({"x": [1.0, np.inf, 3.0, 4.0, 5.0]}, "series `a` has an infinite value of `x` at time 1.5", ("a", "x", 1.5)),
        ({"x": ["1", "two", "3", "4", "5"]}, "`x` has a value that is not a number in row 1: 'two'", (None, "x", None)),
        ({"time": [0.0, np.nan, 2.0, 0.0, 1.0]}, "a time is missing in row 1", (None, None, None)),
    ],
)
def test_bad_cells_are_named(frame: pd.DataFrame, change: dict[str, Any], message: str, place: tuple[Any, ...]) -> None:
    with pytest.raises(DataError) as caught:
        Dataset.from_pandas(frame.assign(**change))
    assert str(caught.value) == message
    assert isinstance(caught.value, ValueError)
    assert (caught.value.series, caught.value.variable, caught.value.time) == place


def test_frames_and_arrays_that_make_no_sense_are_refused(frame: pd.DataFrame, tmp_path: Path) -> None:
    for wrong in (
        lambda: Dataset.from_pandas(frame.drop(columns="time")),
        lambda: Dataset.from_pandas(frame, time="when"),
        lambda: Dataset.from_pandas(frame, variables=["z"]),
        lambda: Dataset.from_pandas(frame.set_axis(["series", "time", "x", "x"], axis=1)),
        lambda: Dataset.from_numpy(np.zeros(5)),
        lambda: Dataset.from_numpy(np.zeros((2, 3, 2)), times=[0, 1]),
        lambda: Dataset.from_numpy(np.zeros((2, 3, 2)), names=["a"]),
        lambda: Dataset.from_numpy(np.zeros((3, 2)), times=[0, 2, 2]),
        lambda: Dataset.from_numpy(np.zeros((3, 2)), observed=np.ones((2, 2))),
        lambda: Dataset.from_numpy([]),
        lambda: Dataset.from_numpy(np.array([["a", "b"]])),
        lambda: Dataset.from_numpy([np.zeros((3, 2)), np.zeros((3, 3))]),
    ):
        with pytest.raises(DataError):
            wrong()
    with pytest.raises(FileError, match="nowhere.csv"):
        Dataset.from_file(tmp_path / "nowhere.csv")


def test_summary_says_what_check_says(frame: pd.DataFrame) -> None:
    summary = Dataset.from_pandas(frame).summary()
    assert (summary["series"], summary["missing_cells"]) == (2, 1)
    assert summary["variable_details"][0]["name"] == "x"
    assert "<table>" in Dataset.from_pandas(frame)._repr_html_()


def test_a_pandas_series_is_one_variable_and_nothing_is_refused() -> None:
    index = pd.date_range("2024-01-01", periods=4, freq="D")
    data = Dataset.from_any(pd.Series([1.0, 2.0, 4.0, 8.0], index=index, name="price"))
    assert data.variables == ["price"] and data.times[0].tolist() == [0.0, 1.0, 2.0, 3.0]
    for nothing in (None, 3.0):
        with pytest.raises(DataError, match="expected arrays, a frame or files"):
            Dataset.from_any(nothing)
