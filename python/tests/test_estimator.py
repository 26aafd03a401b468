"""The estimator keeps scikit-learn's manners and says what it learned."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn.base

from conftest import QUICK, quick
from driftgraph import Dataset, Scotch, systems
from driftgraph.errors import ConvergenceWarning, DataError, NotFittedError, SettingsError


def test_fit_returns_itself_and_sets_what_was_learned(fitted: Scotch, data: Dataset) -> None:
    assert fitted.edge_probabilities_.shape == (4, 4)
    assert ((fitted.edge_probabilities_ >= 0) & (fitted.edge_probabilities_ <= 1)).all()
    assert fitted.feature_names_in_.tolist() == data.variables and fitted.n_features_in_ == 4
    assert np.array_equal(fitted.adjacency_matrix_, fitted.edge_probabilities_ >= 0.5)
    # Every tenth step of sixty, and the last.
    assert fitted.loss_curve_.shape == fitted.loss_steps_.shape == (7,)
    assert fitted.loss_curve_[-1] < fitted.loss_curve_[0]
    assert (fitted.n_iter_, fitted.converged_, fitted.ending_) == (60, False, "finished")
    frame = fitted.edge_probabilities_.to_pandas()
    assert frame.index.name == "source" and frame.columns.tolist() == data.variables
    edges = fitted.edges()
    assert edges["probability"].is_monotonic_decreasing or edges["score"].is_monotonic_decreasing
    assert len(edges) == 16 and set(edges["sign"]) <= {"+", "-", "mixed"}
    assert quick().fit(data) is not fitted


def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads(fitted: Scotch, data: Dataset) -> None:
    again = quick(threads=1).fit(data)
    assert np.array_equal(again.edge_probabilities_, fitted.edge_probabilities_)
    # Node functions start at random, and graphs are drawn.
    other = [quick(seed=seed, drift="linear-and-neural").fit(data).edge_scores_ for seed in (7, 8)]
    assert not np.array_equal(*other)


def test_refitting_forgets(data: Dataset) -> None:
    three = systems.linear(variables=3, n_series=4, n_points=20, seed=5)
    model = quick().fit(data).fit(three)
    fresh = quick().fit(three)
    assert model.n_features_in_ == 3
    assert np.array_equal(model.edge_probabilities_, fresh.edge_probabilities_)
    broken = pd.DataFrame({"time": [0.0, 0.0], "x": [1.0, 2.0]})
    with pytest.raises(DataError):
        model.fit(broken)


def test_inputs_are_not_changed(data: Dataset) -> None:
    frame = data.to_pandas()
    before = frame.copy(deep=True)
    prior = {("x1", "x2"): 0.9}
    model = quick(edge_prior=prior, forbidden_edges=[("x2", "x1")])
    settings = copy.deepcopy(model.get_params())
    model.fit(frame, times="time", series="series")
    pd.testing.assert_frame_equal(frame, before)
    assert model.get_params() == settings and prior == {("x1", "x2"): 0.9}
    cube = np.random.default_rng(0).normal(size=(3, 20, 2)).cumsum(axis=1)
    kept = cube.copy()
    quick().fit(cube, times=np.arange(20.0))
    assert np.array_equal(cube, kept)


def test_frames_arrays_and_data_sets_are_fitted_alike(fitted: Scotch, data: Dataset) -> None:
    import polars as pl

    frame = data.to_pandas()
    for X in (frame, pl.from_pandas(frame), frame.melt(["series", "time"])):
        assert np.array_equal(quick().fit(X).edge_probabilities_, fitted.edge_probabilities_)
    arrays = quick().fit(data.values, times=data.times, series=data.names)
    assert np.array_equal(arrays.edge_probabilities_, fitted.edge_probabilities_)


def test_settings_are_parameters_and_clones_have_them(fitted: Scotch) -> None:
    model = Scotch(select="none", steps=200, seed=7)
    assert model.get_params()["steps"] == 200
    assert model.set_params(steps=10, noise="laplace") is model and (model.steps, model.noise) == (10, "laplace")
    for clone in (sklearn.base.clone(fitted), fitted.clone()):
        assert clone.get_params() == fitted.get_params() and not hasattr(clone, "edge_probabilities_")
    for mistyped in (lambda: model.set_params(stepz=1), lambda: Scotch(stepz=1)):  # type: ignore[call-arg]
        with pytest.raises(SettingsError, match="no setting `stepz`; did you mean `steps`?"):
            mistyped()
    with pytest.raises(TypeError):
        Scotch("bridge")  # type: ignore[misc]
    kinds = {parameter.kind for parameter in inspect.signature(Scotch).parameters.values()}
    assert kinds == {inspect.Parameter.KEYWORD_ONLY}
    assert repr(model) == "Scotch(select='none', seed=7, steps=10, noise='laplace')"


def test_the_signature_is_what_the_library_says() -> None:
    script = Path(__file__).parent.parent / "tools" / "generate_settings.py"
    # From another folder, so that the installed package is what is compared.
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, done.stderr
    assert "largest learning rate of Adam" in (Scotch.__doc__ or "")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"preset": "nonsense"}, "nonsense"),
        ({"sparsity": 3.0}, "`sparsity` is a setting of `simulated`, .*not of `bridge`"),
        ({"preset": "simulated", "drift": "neural"}, "`drift` is a setting of `bridge`, not of `simulated`"),
        ({"preset": "simulated", "learning_rate": 2.0, "select": None, "ensemble": None}, "`learning_rate` must be above 0"),
        ({"noise_scale": -1.0}, "`noise_scale` must be positive and finite"),
        ({"select": "maybe"}, "`select` must be .*, found maybe"),
        ({"steps": -3}, "`steps` must be a whole number, at least 1 .*, found -3"),
        ({"forbidden_edges": ["x1 x2"]}, "an edge is written"),
        ({"required_edges": [("x1", "z")]}, "`x1 -> z` names `z`, which the data do not have"),
        ({"edge_prior": {("x1", "x2"): 1.5}}, "1.5"),
        ({"time_budget": -1.0}, "`time_budget` must be a number of seconds"),
    ],
)
def test_bad_settings_are_value_errors_that_name_them(data: Dataset, settings: dict[str, Any], message: str) -> None:
    settings = {"select": None, "ensemble": None, **settings} if settings.get("preset") else settings
    with pytest.raises(SettingsError, match=message) as caught:
        quick(**settings).fit(data)
    assert isinstance(caught.value, ValueError)


def test_settings_with_kinds_may_be_words(data: Dataset) -> None:
    model = quick(density="common", noise_scale="learned", estimator="probability", drift="linear-and-neural").fit(data)
    used = model.run_["settings"]
    assert (used["density"], used["noise_scale"], used["estimator"]) == ("common", "learned", "probability")
    assert quick(noise_scale=0.1).fit(data).run_["settings"]["noise_scale"] == 0.1
    whole = {"kind": "common", "alpha": 1.0, "beta": 5.0}
    assert quick(density=whole).fit(data).run_["settings"]["density"] == whole


def test_knowledge_of_edges_is_obeyed(data: Dataset) -> None:
    frame = pd.DataFrame({"source": ["x3"], "target": ["x4"], "probability": [1.0]})
    model = quick(forbidden_edges=["x1 -> x2"], required_edges=[("x2", "x1")], edge_prior=frame, self_loops=False)
    found = model.fit(data).edge_probabilities_
    assert (found.of_edge("x1", "x2"), found.of_edge("x2", "x1"), found.of_edge("x3", "x4")) == (0.0, 1.0, 1.0)
    assert (np.diag(found) == 0.0).all()


def test_the_papers_posterior_is_a_preset(data: Dataset) -> None:
    model = Scotch(preset="simulated", steps=8, hidden_size=8, context_size=4, embedding_size=4, log_every=1, seed=1,
                   progress=False)  # fmt: skip
    model.fit(data.select(data.names[:2]))
    assert (model.n_iter_, model.converged_, len(model.loss_curve_)) == (8, None, 8)
    assert model.simulate(5, horizon=2.0).values.shape[0] == 5


def test_nothing_can_be_asked_before_the_fit() -> None:
    model = Scotch()
    for ask in (model.simulate, model.edges, model.summary, model.plot_graph, lambda: model.save("x")):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            ask()
    with pytest.raises(AttributeError):
        model.edge_probabilities_  # noqa: B018


def test_stopping_before_the_end_is_said(data: Dataset) -> None:
    with pytest.warns(ConvergenceWarning, match="after 60 steps"):
        quick().fit(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert quick(steps=None).fit(data).converged_
    late = quick(steps=10**6, elbo_tolerance=1e-12, edge_tolerance=1e-12, time_budget=0.3).fit(data)
    assert late.ending_ == "time-budget"


@pytest.mark.parametrize("tool", [pickle, joblib])
def test_a_fitted_estimator_survives_pickling_through_its_own_format(fitted: Scotch, tool: Any, tmp_path: Path) -> None:
    file = tmp_path / "model.bin"
    with file.open("wb") as out:
        tool.dump(fitted, out)
    content = file.read_bytes()
    assert b"run.json" in content and b"model.safetensors" in content
    with file.open("rb") as read:
        back = tool.load(read)
    assert back.get_params() == fitted.get_params() and back.folder != fitted.folder
    assert np.array_equal(back.edge_probabilities_, fitted.edge_probabilities_)
    assert np.array_equal(back.simulate(4, seed=3).values, fitted.simulate(4, seed=3).values)
    assert len(back.impute()) == len(fitted.impute())
    assert pickle.loads(pickle.dumps(quick())).get_params() == QUICK | {
        name: value for name, value in Scotch().get_params().items() if name not in QUICK
    }


def test_joblib_fits_in_other_processes(data: Dataset, fitted: Scotch) -> None:
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(quick(seed=seed).fit)(data.to_pandas()) for seed in (7, 8))
    assert np.array_equal(found[0].edge_probabilities_, fitted.edge_probabilities_)


def test_saving_and_loading_keep_everything(fitted: Scotch, tmp_path: Path) -> None:
    model = pickle.loads(pickle.dumps(fitted))
    temporary = model.folder
    assert model.save(tmp_path / "run") is model and model.folder == tmp_path / "run"
    # As open to others as any new folder.
    (tmp_path / "other").mkdir()
    assert (tmp_path / "run").stat().st_mode == (tmp_path / "other").stat().st_mode
    back = Scotch.load(tmp_path / "run")
    assert back.get_params() == Scotch(select="none", ensemble=1, steps=60, seed=7).get_params()
    assert np.array_equal(back.edge_probabilities_, fitted.edge_probabilities_)
    assert str(temporary) not in (tmp_path / "run" / "run.json").read_text()
    assert back.training_data.fingerprint == fitted.training_data.fingerprint
    with pytest.raises(OSError, match="holds a run already"):
        fitted.save(tmp_path / "run")
    fitted.clone().fit(fitted.training_data).save(tmp_path / "run", overwrite=True)
    with pytest.raises(OSError, match="is not a run folder"):
        Scotch.load(tmp_path)


def test_temporary_folders_go_with_their_estimator(data: Dataset) -> None:
    model = quick().fit(data)
    folder = model.folder
    assert folder.exists()
    del model
    assert not folder.exists()


def test_a_notebook_shows_the_graph(fitted: Scotch) -> None:
    shown = fitted._repr_html_()
    assert "<svg" in shown and all(name in shown for name in fitted.feature_names_in_)
    assert "Scotch(" in Scotch()._repr_html_()
    assert "4 variables, 5 series" in fitted.summary()
