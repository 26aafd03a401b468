"""Questions to a fitted model."""

from __future__ import annotations

import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from conftest import quick
from driftgraph import Dataset, Scotch, methods, plots
from driftgraph.errors import DataError, MissingDependencyError, QuestionError


def test_graphs_are_drawn_as_often_as_probabilities_say(data: Dataset) -> None:
    fitted = quick(steps=None).fit(data)
    graphs = fitted.sample_graphs(4000, seed=1)
    assert graphs.shape == (4000, 4, 4) and graphs.dtype == bool
    p = np.asarray(fitted.edge_probabilities_)
    # Five deviations of a share over 4000 draws.
    assert np.abs(graphs.mean(axis=0) - p).max() < 5 * np.sqrt(0.25 / 4000)
    assert np.array_equal(graphs, fitted.sample_graphs(4000, seed=1, kind="lagged"))
    assert not fitted.sample_graphs(3, kind="instantaneous").any()
    with pytest.raises(QuestionError, match="`kind` must be one of"):
        fitted.sample_graphs(3, kind="all")


def test_paths_start_where_they_are_told(fitted: Scotch, data: Dataset) -> None:
    paths = fitted.simulate(20, horizon=1.0, every=0.5, seed=2)
    assert paths.values.shape == (20, 3, 4) and paths.times.tolist() == [0.0, 0.5, 1.0]
    assert np.array_equal(paths.values, fitted.simulate(20, horizon=1.0, every=0.5, seed=2).values)
    held = fitted.simulate(5, horizon=1.0, start={"x1": 2.5})
    assert (held.values[:, 0, 0] == 2.5).all()
    given = fitted.simulate(5, horizon=1.0, start=[1.0, 2.0, 3.0, 4.0])
    assert (given.values[:, 0] == [1.0, 2.0, 3.0, 4.0]).all()
    name = data.names[0]
    late = fitted.simulate(5, horizon=1.0, start=(name, data.times[0][3]))
    assert late.times[0] == data.times[0][3]
    assert fitted.simulate(5, start=name).times[0] == data.times[0][0]
    bands = paths.bands()
    assert np.allclose(bands.quantiles[2], np.median(paths.values, axis=0))
    assert paths.to_dataset().n_series == 20 and len(paths.to_pandas()) == 60
    with pytest.raises(QuestionError, match="no series `nobody`"):
        fitted.simulate(5, start="nobody")
    with pytest.raises(QuestionError, match="no variable `z`"):
        fitted.simulate(5, start={"z": 1.0})
    with pytest.raises(QuestionError, match="needs 4 values"):
        fitted.simulate(5, start=[1.0])


def test_what_the_model_leaves_unexplained_has_shares_for_each_variable(data: Dataset, tmp_path: Path) -> None:
    fitted = quick(steps=None, stability=2).fit(data)
    shares = fitted.adequacy()
    assert shares.index.tolist() == data.variables and shares.index.name == "variable"
    assert shares.columns.tolist() == ["products", "past", "time", "others", "clustering"]
    assert ((shares.drop(columns="clustering") >= 0) & (shares.drop(columns="clustering") <= 1)).all(axis=None)
    kept = fitted.edge_stability_
    assert kept.shape == (4, 4) and set(np.unique(np.asarray(kept))) <= {0.0, 0.5, 1.0}
    row = fitted.edges().iloc[0]
    assert row["stability"] == kept.to_pandas().loc[row["source"], row["target"]]
    opened = Scotch.load(fitted.save(tmp_path / "run").folder)
    assert opened.adequacy().equals(shares)
    doubts = [f"warning: not to be taken at its word: {doubt}" for doubt in fitted.run_.get("doubts", [])]
    assert opened.remarks_ == doubts
    with pytest.raises(QuestionError, match="did not ask its innovations"):
        methods.Ridge().fit(data).adequacy()


def test_futures_lie_after_the_ends(fitted: Scotch, data: Dataset) -> None:
    futures = fitted.forecast(1.0, every=0.5, n_paths=50)
    assert list(futures) == data.names
    one = futures[data.names[0]]
    np.testing.assert_allclose(one.times, data.times[0][-1] + np.array([0.5, 1.0]))
    assert one.paths is not None and one.paths.shape == (50, 2, 4)
    frame = futures.to_pandas()
    assert frame.index.name == "time" and frame.columns.tolist()[:4] == ["series", "variable", "mean", "deviation"]
    wide = one.to_frame()
    assert wide.index.tolist() == one.times.tolist() and wide.columns.tolist() == data.variables
    np.testing.assert_array_equal(wide.to_numpy(), one.mean)
    assert futures.to_frame("q95").index.names == ["series", "time"]
    with pytest.raises(QuestionError, match="`column` must be one of mean"):
        one.to_frame("q99")
    assert (frame["q05"] <= frame["q95"]).all() and len(frame) == 5 * 2 * 4
    with pytest.raises(QuestionError, match="none of the times"):
        fitted.forecast(times=[-1.0])


def test_hidden_states_fill_the_holes(fitted: Scotch, data: Dataset) -> None:
    hidden = fitted.impute()
    filled = hidden.filled()
    assert filled.n_missing == 0 and data.n_missing > 0
    for own, whole in zip(data.values, filled.values):
        seen = ~np.isnan(own)
        np.testing.assert_array_equal(own[seen], whole[seen])
    between = fitted.impute(times=[0.25])
    assert between[data.names[0]].mean.shape == (1, 4)
    with pytest.raises(QuestionError, match="only hidden states at the rows"):
        fitted.forecast(1.0, n_paths=5).filled()


def test_interventions_change_what_can_be_reached_and_nothing_else(data: Dataset) -> None:
    away = [("x1", "x4"), ("x2", "x4"), ("x3", "x4")]
    model = quick(forbidden_edges=away).fit(data)
    effect = model.intervene("x1 = 3 @ 0.5..1", horizon=2.0, n_paths=100)
    assert effect.changed[0] == "x1" and "x4" not in effect.changed
    assert (effect.difference[:, 3] == 0).all()
    inside = (effect.times >= 0.5) & (effect.times <= 1.0)
    np.testing.assert_array_equal(effect.under.mean[inside, 0], 3.0)
    assert effect.ranking()["variable"].iloc[0] == "x1"
    assert {"mean_without", "mean_with", "difference"} <= set(effect.to_pandas().columns)
    held = model.intervene({"x1": 3}, horizon=1.0, n_paths=10)
    assert (held.under.mean[:, 0] == 3.0).all()
    several = model.intervene(["x1 = 1", "drift(x2) += 0.5"], horizon=1.0, n_paths=10)
    assert "x2" in several.changed
    for wrong in ("x9 = 1", "x1 = (", ["x1 = x2", "x2 = x1 + 1"]):
        with pytest.raises(QuestionError):
            model.intervene(wrong, horizon=1.0, n_paths=10)


def test_the_score_prefers_data_like_those_of_the_fit(fitted: Scotch, data: Dataset) -> None:
    own = fitted.score(data)
    shuffled = data.to_pandas()
    shuffled[data.variables] = shuffled[data.variables].sample(frac=1.0, random_state=0).to_numpy()
    assert own > fitted.score(shuffled)
    rows = fitted.score_series(data)
    assert [row["series"] for row in rows] == data.names
    total = sum(row["log_likelihood"] for row in rows) / sum(row["n_cells"] for row in rows)
    assert own == pytest.approx(total)
    # In other units each cell's density changes by the factor of its unit: log 10 per cell.
    scaled = data.to_pandas()
    scaled[data.variables] *= 10.0
    again = quick().fit(scaled)
    # Scaling rounds every number once, and the fit carries that on for 60 steps.
    assert again.score(scaled) == pytest.approx(own - np.log(10.0), abs=1e-3)
    assert fitted.score(data.values, times=data.times) == pytest.approx(own)
    # Columns are known by their names.
    assert fitted.score(data.to_pandas()[["time", "series", *reversed(data.variables)]]) == own
    with pytest.raises(DataError, match="the model has"):
        fitted.score(data.to_pandas().rename(columns={"x1": "z"}))


def test_tests_on_held_out_parts_name_their_rivals(fitted: Scotch) -> None:
    assert [one["method"] for one in fitted.forecast_test(0.2, n_paths=50)] == [
        "driftgraph", "persistence", "random walk",
    ]  # fmt: skip
    assert [one["method"] for one in fitted.impute_test(0.1)] == ["driftgraph", "linear interpolation"]


def test_networkx_graphs_carry_what_is_known(fitted: Scotch) -> None:
    graph = fitted.to_networkx(0.5)
    assert isinstance(graph, nx.DiGraph) and list(graph.nodes) == fitted.feature_names_in_.tolist()
    assert graph.number_of_edges() == int(fitted.adjacency_matrix_.sum())
    source, target, known = next(iter(graph.edges(data=True)))
    assert known["probability"] == fitted.edge_probabilities_.of_edge(source, target)
    assert {"effect", "sign", "strength"} <= set(known)
    assert "->" in fitted.to_graph_text("dot") and "<graphml" in fitted.to_graph_text("graphml")
    assert all(len(group) > 1 for group in fitted.feedback_loops())


def test_edges_are_cut_where_too_many_would_be_false(fitted: Scotch) -> None:
    links = fitted.links(fdr=0.2)
    others = links[links["source"] != links["target"]]
    assert len(others) == 0 or (1 - others["probability"]).mean() < 0.2
    assert links.attrs["expected_false"] == pytest.approx((1 - others["probability"]).sum())
    assert fitted.to_networkx(fdr=0.2).number_of_edges() == len(links)
    assert fitted.to_graph_text("csv", fdr=0.2).count("\n") == len(links) + 1
    assert "vizmap" in fitted.to_graph_text("cytoscape-style")
    with pytest.raises(QuestionError, match="a share between 0 and 1, found 1"):
        fitted.links(fdr=1.0)


def test_tigramite_arrays_follow_its_conventions(data: Dataset) -> None:
    model = quick(instantaneous=True, innovations="laplace").fit(data)
    found = model.to_tigramite(threshold=0.3)
    graph, values = found["graph"], found["val_matrix"]
    assert graph.shape == values.shape == (4, 4, 2) and found["var_names"] == data.variables
    assert set(np.unique(graph[..., 1])) <= {"", "-->"}
    # Within a step every mark has its mirror image, as tigramite demands.
    mirror = {"": "", "-->": "<--", "<--": "-->", "o-o": "o-o", "x-x": "x-x"}
    for i in range(4):
        for j in range(4):
            assert graph[j, i, 0] == mirror[graph[i, j, 0]]
    assert not graph[np.arange(4), np.arange(4), 0].any()
    assert found["lags"].tolist() == [0.0, model._model.step_size]
    # Signed: what a deviation of the source does in a step, in deviations of the target.
    edges = model.edges().set_index(["source", "target"])
    first, second = data.variables[:2]
    known = edges.loc[(first, second)]
    assert np.sign(values[0, 1, 1]) == np.sign(known["effect_lagged"])
    assert found["p_matrix"][0, 1, 1] == 1.0 - known["probability_lagged"]
    assert (values[..., 1] < 0).any() and np.array_equal(values[..., 0], values[..., 0].T)
    plotting = pytest.importorskip("tigramite.plotting")
    import matplotlib.pyplot as plt

    plotting.plot_graph(graph=graph, val_matrix=values, var_names=found["var_names"])
    plt.close("all")


def test_the_report_is_one_file_with_every_name(fitted: Scotch, data: Dataset, tmp_path: Path) -> None:
    file = fitted.report(tmp_path / "report.html", truth=data.truth, do="x1 = 1 @ 1..2")
    page = file.read_text(encoding="utf-8")
    assert page.lstrip().startswith("<!") and all(name in page for name in data.variables)
    assert "x1 = 1 @ 1..2" in page
    assert fitted.report() == fitted.folder / "report.html"
    with pytest.raises(QuestionError, match="the truth must have shape"):
        fitted.report(truth=[[True]])


def test_plots_show_what_they_are_asked_for(fitted: Scotch, data: Dataset) -> None:
    import matplotlib.pyplot as plt

    axes = fitted.plot_graph(0.5)
    assert len(axes.patches) == 4 + int(fitted.adjacency_matrix_.sum())
    assert fitted.plot_matrix(truth=data.truth).get_xlabel() == "target"
    assert fitted.plot_loss().lines
    panels = [ax for ax in fitted.plot_fit(data.names[1], ["x1", "x3"]).axes if ax.get_visible()]
    assert [ax.get_title(loc="left") for ax in panels] == ["x1", "x3"]
    assert fitted.plot_forecast(horizon=1.0, n_paths=20).axes
    effect = fitted.intervene("x1 = 1 @ 1..2", n_paths=20)
    assert fitted.plot_intervention(effect).axes[0].get_title(loc="left") == "x1"
    assert effect.plot(["x2"]).axes and fitted.impute().plot().axes
    assert plots.plot_graph(np.ones((1, 1)), ["alone"]).texts
    plt.close("all")


def test_what_is_not_installed_is_named(fitted: Scotch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingDependencyError, match="a plot needs the package `matplotlib`") as caught:
        fitted.plot_graph()
    assert isinstance(caught.value, ImportError)
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(MissingDependencyError, match="pip install networkx"):
        fitted.to_networkx()
