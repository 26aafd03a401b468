"""Systems, baselines and metrics."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from driftgraph import EdgeMatrix, baselines, methods, metrics, systems
from driftgraph.errors import DriftgraphError, InputError, QuestionError, RunFolderError, SettingsError


@pytest.mark.parametrize("name", list(systems.describe()))
def test_every_system_has_a_function_and_a_truth(name: str) -> None:
    draw = getattr(systems, name.replace("-", "_"))
    data = draw(n_series=2, seed=3)
    assert data.truth is not None and data.truth.shape == (data.n_variables,) * 2
    assert data.n_series == 2


def test_recipes_reach_the_generator() -> None:
    data = systems.lorenz96(
        variables=6, n_series=3, n_points=25, span=(0.0, 5.0), sampling="random", drop=0.3, drop_by="cell", seed=2
    )
    assert data.n_missing > 0 and data.variables[0] == "x1"
    assert not np.array_equal(data.times[0], data.times[1])
    again = systems.generate("lorenz96", variables=6, n_series=3, n_points=25, span=(0.0, 5.0), sampling="random",
                             drop=0.3, drop_by="cell", seed=2)  # fmt: skip
    assert again.fingerprint == data.fingerprint
    with pytest.raises(QuestionError, match="the parameters of `lorenz96` are"):
        systems.lorenz96(force=8.0)
    with pytest.raises(QuestionError, match="`sampling` must be one of regular, random"):
        systems.lorenz96(sampling="sometimes")


def test_baselines_score_all_edges_with_names() -> None:
    data = systems.linear(variables=5, n_series=6, seed=1)
    for method in baselines.METHODS:
        scores = baselines.run(method, data)
        assert scores.shape == (5, 5) and scores.names == data.variables
        assert scores.to_pandas().index.tolist() == data.variables
    assert np.array_equal(baselines.ridge(data.to_pandas()), baselines.ridge(data))
    with pytest.raises(QuestionError, match="expected one of"):
        baselines.run("magic", data)


def test_metrics_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        scores = rng.integers(0, 6, size=(7, 7)) / 5.0
        truth = rng.random((7, 7)) < 0.3
        found = metrics.graph_metrics(scores, truth)
        # Sums of at most 49 terms near 1.
        assert found["auroc"] == pytest.approx(roc_auc_score(truth.ravel(), scores.ravel()), abs=1e-12)
        assert found["auprc"] == pytest.approx(average_precision_score(truth.ravel(), scores.ravel()), abs=1e-12)
        off = ~np.eye(7, dtype=bool)
        expected = roc_auc_score(truth[off], scores[off])
        assert metrics.auroc(scores, truth, self_edges=False) == pytest.approx(expected, abs=1e-12)
    assert metrics.auroc(np.ones((2, 2)), np.zeros((2, 2))) is None
    assert metrics.shd(np.eye(2), np.ones((2, 2))) == 2
    assert metrics.curves(scores, truth)["roc"][0]["tpr"] == 0.0


def test_truths_are_brought_into_the_order_of_the_names() -> None:
    import networkx as nx

    scores = EdgeMatrix.of([[0.0, 0.9, 0.1], [0.2, 0.0, 0.3], [0.1, 0.2, 0.0]], ["a", "b", "c"])
    listed = pd.DataFrame({"source": ["a"], "target": ["b"]})
    other_order = EdgeMatrix.of([[0, 0, 0], [0, 0, 1], [0, 0, 0]], ["c", "a", "b"])
    graph = nx.DiGraph([("c", "c"), ("a", "b")])
    graph.remove_edge("c", "c")
    graph.add_node("b")
    for truth in (listed, other_order, other_order.to_pandas(), graph):
        assert metrics.auroc(scores, truth) == 1.0
    with pytest.raises(InputError, match="names `z`"):
        metrics.auroc(scores, pd.DataFrame({"source": ["z"], "target": ["b"]}))
    with pytest.raises(DriftgraphError):
        metrics.auroc(np.ones((2, 3)), np.ones((2, 2)))


def test_edge_matrices_know_names_and_forget_them_in_parts() -> None:
    import pickle

    matrix = EdgeMatrix.of([[0.5, 0.9], [0.1, 0.2]], ["a", "b"])
    assert matrix.of_edge("a", "b") == 0.9
    assert (matrix > 0.4).names == ["a", "b"]
    assert matrix[0].names is None
    assert type(matrix.sum()) is np.float64 and matrix.max(axis=0).tolist() == [0.5, 0.9]
    assert pickle.loads(pickle.dumps(matrix)).names == ["a", "b"]
    with pytest.raises(QuestionError, match="no variable `z`"):
        matrix.of_edge("a", "z")


def test_every_method_of_the_registry_is_an_estimator() -> None:
    data = systems.linear(variables=3, n_series=4, n_points=25, seed=1)
    assert "toy" in methods.names() and methods.ESTIMATORS["toy"].__name__ == "Toy"
    model = methods.Toy(progress=False).fit(data)  # type: ignore[attr-defined]
    assert model.edge_scores_.shape == (3, 3) and not hasattr(model, "edge_probabilities_")
    assert (model.folder / "report.html").is_file()
    with pytest.raises(RunFolderError, match="learns edges and no process"):
        model.simulate(n_paths=2)
    assert model.summary().count("score") == 9 and "score" in model._repr_html_()
    for question in (model.to_networkx, model.to_tigramite, model.plot_graph, model.plot_matrix):
        with pytest.raises(QuestionError, match="`toy` ranks edges and gives no probabilities"):
            question()
    again = methods.Ridge.load(methods.Ridge(progress=False).fit(data).save(Path(tempfile.mkdtemp()) / "kept").folder)  # type: ignore[attr-defined]
    assert again.run_["method"] == "ridge"
    with pytest.raises(SettingsError, match="has no setting `steps`"):
        methods.Ridge(steps=3)  # type: ignore[attr-defined]
