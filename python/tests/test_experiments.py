"""Inputs, interventions in the data, sources and targets: the keywords mean what the options of the command line mean."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from conftest import quick
from driftgraph import Scotch, methods
from driftgraph.errors import DataError, InputError, QuestionError


def pots() -> pd.DataFrame:
    """Light drives `a`, which drives `b`; in pot 0 `a` is held at 0."""
    random = np.random.default_rng(11)
    rows = []
    for pot in range(4):
        a, b = 0.0, 0.0
        for time in range(25):
            light = float((time // (4 + pot)) % 2)
            a = 0.0 if pot == 0 else a
            rows.append((f"pot{pot}", time, light, a, b))
            b += 0.7 * a - 0.5 * b + 0.1 * random.normal()
            a += 0.8 * light - 0.5 * a + 0.1 * random.normal()
    return pd.DataFrame(rows, columns=["series", "time", "light", "a", "b"])


DONE = pd.DataFrame([{"series": "pot0", "variable": "a", "kind": "knockout", "value": 0.0}])


@pytest.fixture(scope="module")
def model() -> Scotch:
    return quick(inputs="light", interventions=DONE, targets=["a", "b"]).fit(pots(), "time", "series")


def test_inputs_are_driven_by_nothing_and_what_was_set_stays_set(model: Scotch) -> None:
    probabilities = model.edge_probabilities_.to_pandas()
    assert (probabilities["light"] == 0.0).all()
    assert probabilities.loc["light", "a"] > 0.5
    held = model.forecast(5, every=5, n_paths=40)
    assert abs(held["pot0"].mean[0, 1]) < 0.2
    lit = model.forecast(5, every=5, n_paths=40, input="light = 3")
    assert lit["pot1"].mean[0, 1] > held["pot1"].mean[0, 1] + 0.5
    with pytest.raises(QuestionError, match="`a` is not an input"):
        model.simulate(5, input={"a": 1})


def test_tables_of_inputs_and_files_of_names_say_the_same(model: Scotch, tmp_path: Path) -> None:
    lit = model.forecast(5, every=5, n_paths=10, input="light = 3")
    table = tmp_path / "future.csv"
    table.write_text("time,light\n0,3\n")
    same = model.forecast(5, every=5, n_paths=10, input_file=table)
    assert np.array_equal(lit["pot1"].mean, same["pot1"].mean)
    steps = pd.DataFrame({"time": [0.0, 3.0], "light": [3.0, 0.0]})
    change = model.simulate(10, horizon=6, every=1, input_file=steps).values
    assert set(np.unique(change[:, :, 0])) == {0.0, 3.0}
    with pytest.raises(QuestionError, match="`a` is not an input"):
        model.simulate(5, input_file=steps.rename(columns={"light": "a"}))
    names = tmp_path / "names.txt"
    names.write_text("a\nlight\n")
    limited = quick(sources=names, targets="b").fit(pots(), "time", "series")
    probabilities = limited.edge_probabilities_.to_pandas()
    assert probabilities.loc["b", "a"] == 0.0 and probabilities.loc["light", "a"] == 0.0
    assert limited.run_["asked"]["limits"] == {"sources": ["a", "light"], "targets": ["b"]}


def test_methods_keep_inputs_and_interventions(tmp_path: Path) -> None:
    fit = methods.Regimes(regimes=2, inputs="light", interventions=DONE, steps=20, progress=False)
    fit.fit(pots(), "time", "series").save(tmp_path / "run")
    assert (fit.edge_probabilities_.to_pandas()["light"] == 0.0).all()
    again = methods.Regimes.load(tmp_path / "run")
    assert again.inputs == ["light"] and Path(again.interventions).is_file()


def test_what_was_done_is_kept_in_the_run_folder(model: Scotch, tmp_path: Path) -> None:
    model.save(tmp_path / "run")
    again = Scotch.load(tmp_path / "run")
    assert (again.inputs, again.targets) == (["light"], ["a", "b"])
    one, two = (each.forecast(2, every=1, n_paths=5)["pot0"].mean for each in (model, again))
    assert np.array_equal(one, two)
    table = tmp_path / "done.csv"
    DONE.to_csv(table, index=False)
    same = quick(inputs=["light"], interventions=table, targets=["a", "b"]).fit(pots(), "time", "series")
    assert np.array_equal(same.edge_probabilities_, model.edge_probabilities_)


def test_what_makes_no_sense_is_refused() -> None:
    unknown = DONE.assign(variable="c")
    with pytest.raises(DataError, match="row 2: there is no variable `c`"):
        quick(interventions=unknown).fit(pots(), "time", "series")
    with pytest.raises(InputError, match="is an input and also one of"):
        quick(inputs="a", targets="a").fit(pots(), "time", "series")
