"""Every method of the registry is an estimator with the manners of `Scotch`."""

from __future__ import annotations

import inspect
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils import get_tags

from driftgraph import Dataset, methods, systems
from driftgraph.errors import DriftgraphError, SettingsError
from test_sklearn import MANNERS, checks

#: Settings with which each takes seconds; those that are not here are fast as they are.
QUICK: dict[str, dict[str, Any]] = {
    "bridge": {"steps": 20, "ensemble": 1, "select": "none"},
    "simulated": {"steps": 3, "hidden_size": 8, "context_size": 4},
    "ode-mean": {"steps": 5},
    "dyngenie3": {"trees": 10},
    "ngm": {"steps": 3, "standardize": True},
    "cuts": {"fill_after": 1, "masked_epochs": 1, "last_epochs": 1, "hidden_size": 8},
    "rhino": {"rounds": 1, "steps": 3, "hidden_size": 8},
    "rhino-noinst": {"rounds": 1, "steps": 3, "hidden_size": 8},
    "lsde": {"steps": 3, "units": 4, "hidden_size": 8, "context_size": 4},
}


@pytest.fixture(scope="module")
def data() -> Dataset:
    return systems.linear(variables=3, n_series=4, n_points=40, seed=2)


def quick(name: str) -> methods.MethodEstimator:
    return methods.ESTIMATORS[name](progress=False, **QUICK.get(name, {}))


def test_the_systems_of_the_paper_have_the_names_of_their_authors() -> None:
    wanted = ["PCMCI", "PCMCIPlus", "VARLiNGAM", "DynGENIE3", "NGM", "CUTS", "Rhino", "RhinoNoInst", "LSDE"]
    assert set(wanted) <= set(methods.__all__)
    for name in wanted:
        assert getattr(methods, name).__name__ == name and getattr(methods, name.lower()) is getattr(methods, name)
    with pytest.raises(AttributeError, match="no method `Oracle`"):
        methods.Oracle  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", methods.names())
def test_settings_are_parameters_that_are_read_written_and_cloned(name: str) -> None:
    model = quick(name)
    params = model.get_params()
    assert set(params) == set(inspect.signature(type(model)).parameters)
    assert params.items() >= QUICK.get(name, {}).items()
    copy = clone(model)
    assert copy is not model and copy.get_params() == params and repr(copy) == repr(model)
    assert model.set_params(log_every=3) is model and model.log_every == 3
    with pytest.raises((SettingsError, ValueError)):
        model.set_params(no_such_setting=1)
    documented = inspect.getdoc(type(model)) or ""
    assert all(setting in documented for setting in QUICK.get(name, {})), documented
    tags = get_tags(model)
    assert tags.input_tags.allow_nan and not tags.target_tags.required


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", methods.names())
def test_the_manners_that_scikit_learn_checks(name: str) -> None:
    assert checks(quick(name), MANNERS) == MANNERS  # type: ignore[arg-type]


@pytest.mark.parametrize("name", methods.names())
def test_a_fit_scores_all_pairs_and_survives_files(name: str, data: Dataset, tmp_path: Path) -> None:
    model = quick(name).fit(data)
    assert model.edge_scores_.shape == (3, 3) and np.isfinite(np.asarray(model.edge_scores_)).all()
    assert model.run_["method"] == name and model.folder is not None
    again = type(model).load(model.save(tmp_path / "kept").folder)
    assert np.array_equal(np.asarray(again.edge_scores_), np.asarray(model.edge_scores_))
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(np.asarray(copy.edge_scores_), np.asarray(model.edge_scores_))
    same = quick(name).fit(data)
    assert np.array_equal(np.asarray(same.edge_scores_), np.asarray(model.edge_scores_)), "same seed, same bits"


@pytest.mark.parametrize("name", methods.names())
def test_too_little_data_is_an_error_of_ours_or_a_result(name: str) -> None:
    values = np.array([[0.0, 1.0], [1.0, 0.5]])
    try:
        model = quick(name).fit(Dataset.from_any(values))
    except DriftgraphError as error:
        assert str(error)
    else:
        assert np.isfinite(np.asarray(model.edge_scores_)).all()


def test_a_mistyped_method_is_answered_with_the_nearest_name() -> None:
    with pytest.raises(AttributeError, match="there is no method `Rigde`; did you mean `Ridge`"):
        methods.Rigde  # noqa: B018
    with pytest.raises(AttributeError, match="there are Bridge, CUTS"):
        methods.Lasso  # noqa: B018


def test_no_setting_hides_a_question() -> None:
    for name, estimator in methods.ESTIMATORS.items():
        for setting in inspect.signature(estimator).parameters:
            assert not callable(getattr(estimator, setting, None)), f"{name}: {setting}"


def test_links_of_a_method_that_tests_are_told_with_lags_and_p_values(data: Dataset) -> None:
    model = methods.PCMCIPlus(tau_max=2, progress=False).fit(data)
    frame = model.edges()
    assert {"kind", "direction", "lag", "link", "linked_lags", "p_value"} <= set(frame.columns)
    links = model.links()
    assert set(links["link"]) <= {"yes", "conflict"} and 0 < len(links) < len(frame)
    assert (links["p_value"] < 0.1).all() and (links["linked_lags"] != "").all()


def test_a_method_without_a_bound_has_a_loss_and_expects_no_edges(data: Dataset) -> None:
    seen: list[dict[str, Any]] = []
    model = methods.NGM(steps=5, standardize=True, progress=seen.append).fit(data)
    steps = [news for news in seen if news["phase"] == "fitting"]
    assert steps and all("loss" in news and "elbo" not in news and "expected_edges" not in news for news in steps)
    assert np.isfinite(model.loss_curve_).all() and (model.loss_curve_ > 0).all()
