"""Equations in Python: terms as a table, right-hand sides as expressions or text."""

from __future__ import annotations

import sys

import pytest

from driftgraph import Dataset, methods, systems
from driftgraph.errors import QuestionError


@pytest.fixture(scope="module")
def lorenz() -> Dataset:
    return systems.lorenz63(n_series=5, n_points=50, span=(0.0, 4.9), seed=2000)


@pytest.fixture(scope="module")
def fitted(lorenz: Dataset) -> methods.MethodEstimator:
    return methods.Polynomial(progress=False).fit(lorenz)


def test_terms_are_those_of_the_system_in_the_units_of_the_data(fitted: methods.MethodEstimator) -> None:
    terms = fitted.equation_terms()
    columns = ["target", "factors", "function", "numbers", "coefficient", "low", "high", "probability"]
    assert list(terms.columns) == columns
    probable = terms[terms.probability > 0.5]
    found = {(row.target, tuple(sorted(row.factors))): row.coefficient for row in probable.itertuples()}
    # dx = 10 (y - x): rates within a tenth, from rows a third of a deviation apart.
    assert found["x", ("x",)] == pytest.approx(-10.0, rel=0.1)
    assert found["x", ("y",)] == pytest.approx(10.0, rel=0.1)
    assert ("y", ("x", "z")) in found and ("z", ("x", "y")) in found
    assert ((probable.low <= probable.coefficient) & (probable.coefficient <= probable.high)).all()


def test_right_hand_sides_are_text_without_sympy(
    fitted: methods.MethodEstimator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sympy", None)
    equations = fitted.equations_
    assert set(equations) == {"x", "y", "z"}
    assert all(isinstance(text, str) and "=" not in text for text in equations.values())
    assert "y" in equations["x"]


def test_right_hand_sides_are_expressions_where_sympy_is_installed(fitted: methods.MethodEstimator) -> None:
    sympy = pytest.importorskip("sympy")
    x, y = sympy.symbols("x y")
    slope = sympy.diff(fitted.equations_["x"], y).subs({x: 0, y: 0, sympy.Symbol("z"): 25})
    assert float(slope) == pytest.approx(10.0, rel=0.2)


def test_a_model_without_equations_refuses_with_a_reason(lorenz: Dataset) -> None:
    neural = methods.Bridge(progress=False, select="none", drift="neural", steps=20, ensemble=1).fit(lorenz)
    with pytest.raises(QuestionError, match="no sum of terms"):
        _ = neural.equations_
    with pytest.raises(QuestionError, match="no sum of terms"):
        neural.equation_terms()
