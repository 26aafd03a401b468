"""Writes cases.json: metrics of random scored graphs, computed by scikit-learn.

    python -m venv venv && venv/bin/pip install scikit-learn==1.9.1 numpy==2.4.6
    venv/bin/python make.py

Matrices are flat, row = source. `null` marks what the Rust side must call undefined; scikit-learn itself
warns and returns a number, or `nan`, there.
"""

import json
import platform
from pathlib import Path

import numpy as np
import sklearn
from sklearn import metrics
from sklearn.calibration import calibration_curve

N_CASES = 200
SEED = 20240507
rng = np.random.default_rng(SEED)


def draw_scores(kind, n):
    """n x n scores: plain, tied, constant, or spread over hundreds of orders of magnitude."""
    size = (n, n)
    if kind == "probabilities":
        return rng.uniform(size=size)
    if kind == "tied probabilities":
        return rng.integers(0, 11, size=size) / 10.0
    if kind == "logits":
        return rng.normal(scale=4.0, size=size)
    if kind == "tied whole numbers":
        return rng.integers(-2, 3, size=size).astype(float)
    if kind == "constant":
        return np.full(size, 0.5)
    if kind == "huge range":
        return rng.choice([-1.0, 1.0], size=size) * 10.0 ** rng.uniform(-300.0, 300.0, size=size)
    if kind == "tiny differences":
        return 1.0 + rng.integers(0, 4, size=size) * np.finfo(float).eps
    raise ValueError(kind)


def draw_truth(kind, n):
    if kind == "none":
        return np.zeros((n, n), dtype=bool)
    if kind == "all":
        return np.ones((n, n), dtype=bool)
    return rng.uniform(size=(n, n)) < {"sparse": 0.15, "half": 0.5}[kind]


def expected_calibration_error(present, probability):
    """ECE over ten bins from scikit-learn's own (right-closed) calibration curve."""
    edges = np.linspace(0.0, 1.0, 11)
    n_in_bin = np.bincount(np.searchsorted(edges[1:-1], probability), minlength=10)
    share, mean = calibration_curve(present, probability, n_bins=10, pos_label=1)
    return float(np.sum(n_in_bin[n_in_bin > 0] * np.abs(share - mean)) / len(probability))


def expected(scores, present, threshold):
    """All metrics of one case; None where undefined."""
    n_edges, n_pairs = int(present.sum()), len(present)
    both = 0 < n_edges < n_pairs
    probabilities = bool(np.all((scores >= 0.0) & (scores <= 1.0)))
    out = {
        "auroc": metrics.roc_auc_score(present, scores) if both else None,
        "auprc": metrics.average_precision_score(present, scores) if n_edges else None,
        "prevalence": n_edges / n_pairs if n_pairs else None,
        "brier": metrics.brier_score_loss(present, scores, labels=[0, 1], pos_label=1)
        if probabilities and n_pairs else None,
        "calibration_error": expected_calibration_error(present, scores)
        if probabilities and n_pairs else None,
    }
    if threshold is None and probabilities:
        threshold = 0.5
    if threshold is None:
        out |= dict.fromkeys(["f1", "tpr", "precision", "fdr", "shd"])
        return out
    predicted = scores >= threshold
    any_predicted = bool(predicted.any())
    precision = metrics.precision_score(present, predicted) if any_predicted else None
    out |= {
        "f1": metrics.f1_score(present, predicted) if n_edges or any_predicted else None,
        "tpr": metrics.recall_score(present, predicted) if n_edges else None,
        "precision": precision,
        "fdr": None if precision is None else 1.0 - precision,
        "shd": int(metrics.zero_one_loss(present, predicted, normalize=False)) if n_pairs else 0,
    }
    return out


def curves(scores, present):
    """ROC points, and precision-recall points without scikit-learn's last, artificial one."""
    fpr, tpr, _ = metrics.roc_curve(present, scores, drop_intermediate=False)
    precision, recall, _ = metrics.precision_recall_curve(present, scores)
    return {
        "fpr": fpr.tolist(),
        "tpr": tpr.tolist(),
        "precision": precision[:-1][::-1].tolist(),
        "recall": recall[:-1][::-1].tolist(),
    }


def make_case(idx):
    score_kinds = ["probabilities", "tied probabilities", "logits", "tied whole numbers",
                   "constant", "huge range", "tiny differences"]
    truth_kinds = ["sparse", "half", "sparse", "half", "none", "all"]
    n = int(rng.choice([1, 2, 3, 5, 8]))
    matrix = draw_scores(score_kinds[idx % len(score_kinds)], n)
    truth = draw_truth(truth_kinds[int(rng.integers(len(truth_kinds)))], n)
    kept = bool(rng.integers(2))
    counts = np.ones((n, n), dtype=bool) if kept else ~np.eye(n, dtype=bool)
    scores, present = matrix[counts], truth[counts]
    # A threshold that is one of the scores tests which side of it counts as predicted.
    threshold = float(rng.choice(matrix.ravel())) if rng.integers(2) else None
    case = {
        "n_variables": n,
        "scores": matrix.ravel().tolist(),
        "truth": truth.ravel().astype(int).tolist(),
        "self_edges": "kept" if kept else "dropped",
        "threshold": threshold,
        "expected": expected(scores, present, threshold),
    }
    if idx % 5 == 0 and 0 < present.sum() < len(present):
        case["curves"] = curves(scores, present)
    return case


def main():
    document = {
        "made_with": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scikit_learn": sklearn.__version__,
            "seed": SEED,
        },
        "cases": [make_case(idx) for idx in range(N_CASES)],
    }
    lines = [json.dumps(case, allow_nan=False) for case in document["cases"]]
    made_with = json.dumps(document["made_with"])
    text = '{"made_with": %s,\n"cases": [\n%s\n]}\n' % (made_with, ",\n".join(lines))
    Path(__file__).with_name("cases.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
