"""What scikit-learn does with estimators works: tags, cloning, searches and cross-validation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import estimator_checks_generator

from conftest import quick
from driftgraph import Dataset, Scotch, systems


@pytest.fixture(scope="module")
def many() -> Dataset:
    return systems.linear(variables=3, n_series=6, n_points=20, seed=4)


def test_tags_say_what_the_estimator_takes() -> None:
    tags = get_tags(quick())
    assert not tags.target_tags.required and tags.estimator_type is None
    assert tags.input_tags.allow_nan and tags.input_tags.three_d_array


def test_cross_validation_deals_out_series(many: Dataset) -> None:
    cube, times = many.to_numpy()
    for X in (many, many.values, cube):
        scores = cross_val_score(quick(steps=30), X, cv=KFold(3))
        assert scores.shape == (3,) and np.isfinite(scores).all()


def test_a_search_chooses_a_setting_by_held_out_series(many: Dataset) -> None:
    # Effects within a step are learned by gradients, so that more steps are better.
    search = GridSearchCV(quick(steps=30, instantaneous=True), {"noise": ["gaussian", "laplace"], "steps": [5, 30]}, cv=2)
    search.fit(many)
    assert len(search.cv_results_["params"]) == 4 and search.best_params_["steps"] == 30
    assert search.best_estimator_.edge_probabilities_.shape == (3, 3)


def test_some_series_of_a_data_set_are_a_data_set(many: Dataset) -> None:
    assert many[1].names == [many.names[1]] and many[many.names[2]].names == [many.names[2]]
    assert many[1:3].names == many[np.array([1, 2])].names == many.names[1:3]
    mask = np.arange(6) == 4
    assert many[mask].names == [many.names[4]]
    assert Dataset.from_any([many[0], many[3]]).names == [many.names[0], many.names[3]]


#: Checks of scikit-learn that apply to a method for series without targets: manners, not predictions.
MANNERS = {
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_estimators_unfitted",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
}

#: Those that fit hand labels over as the second argument, which here are times: they are ignored for these.
FITTING = {
    "check_dict_unchanged",
    "check_dont_overwrite_parameters",
    "check_estimators_fit_returns_self",
    "check_estimators_overwrite_params",
    "check_estimators_pickle",
    "check_fit_check_is_fitted",
    "check_fit_idempotent",
    "check_n_features_in",
    "check_readonly_memmap_input",
}


class WithoutLabels(Scotch):
    """The estimator in a place where labels come along that it has no use for."""

    def fit(self, X: Any, y: Any = None) -> WithoutLabels:  # type: ignore[override]
        return super().fit(X)


def checks(model: Scotch, names: set[str]) -> set[str]:
    """Runs the named checks; those that scikit-learn has are returned."""
    found = set()
    for estimator, check in estimator_checks_generator(model, legacy=True):
        name = check.func.__name__ if hasattr(check, "func") else check.__name__
        if name in names:
            check(estimator)
            found.add(name)
    return found


@pytest.mark.filterwarnings("ignore")
def test_the_checks_of_scikit_learn_that_apply_pass() -> None:
    assert checks(quick(steps=5), MANNERS) == MANNERS
    assert checks(WithoutLabels(**quick(steps=5).get_params()), FITTING) == FITTING
