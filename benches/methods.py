"""CPU seconds of our methods beside their references, one thread each.

`methods.py PROGRAM FOLDER` makes data with `PROGRAM generate`, times every method and every reference that can be
imported, and prints one line of JSON. Ours is the CPU time of `PROGRAM fit` as a whole, and the same less that of a fit
which does next to nothing (reading the table, writing folder and report); references are timed inside this process,
without their imports. Speeds compare only where both computed the same: scores are compared, too. Steps of training
stand beside the same steps in PyTorch (`peer_steps.py`), which are compared with golden numbers first.
"""

from __future__ import annotations

import csv
import json
import os
import resource
import shutil
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any, Callable

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[threads] = "1"
warnings.filterwarnings("ignore")

import numpy as np  # noqa: E402

#: The fastest of so many runs counts, since other work only slows.
ROUNDS = 3
#: Trees of a forest; the time grows in proportion.
TREES = 100


class Ours:
    """Runs our program, and knows what a run costs that learns nothing."""

    def __init__(self, program: str, folder: Path) -> None:
        self.program, self.folder = program, folder
        self.last_megabytes = 0.0

    def generate(self, name: str, variables: int, series: int, points: int) -> Path:
        out = self.folder / name
        if not out.exists():
            words = ["generate", "linear", "--set", f"variables={variables}", "--set", "parents=2"]
            words += ["--series", str(series), "--points", str(points), "--seed", "1", "--out", str(out)]
            subprocess.run([self.program, *words], check=True, capture_output=True)
        return out / "data.csv"

    def cpu(self, data: Path, method: str, *flags: str) -> tuple[float, Path]:
        """The least CPU seconds of some runs, and the last run's folder."""
        best, out = float("inf"), self.folder / "run"
        for _ in range(ROUNDS):
            shutil.rmtree(out, ignore_errors=True)
            words = ["fit", str(data), "--method", method, "--threads", "1", "--out", str(out), *flags]
            child = subprocess.Popen([self.program, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            assert child.stderr is not None
            said = child.stderr.read()
            _, status, usage = os.wait4(child.pid, 0)
            if status != 0:
                raise SystemExit(f"{method} failed: {said.decode()}")
            best = min(best, usage.ru_utime + usage.ru_stime)
            self.last_megabytes = usage.ru_maxrss / 1024
        return best, out

    def per_step(self, data: Path, method: str, fewer: list[str], more: list[str], n_more: int) -> float:
        """CPU seconds of a step: the difference of two fits, divided by the steps it has more."""
        return (self.cpu(data, method, *more)[0] - self.cpu(data, method, *fewer)[0]) / n_more


def scores(folder: Path, names: list[str]) -> np.ndarray:
    matrix = np.zeros((len(names), len(names)))
    with open(folder / "edges.csv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            matrix[names.index(row["source"]), names.index(row["target"])] = float(row["score"])
    return matrix


def table(file: Path) -> tuple[list[str], np.ndarray]:
    """Names and values of a table of one series."""
    with open(file, newline="", encoding="utf-8") as text:
        rows = list(csv.reader(text))
    columns = [idx for idx, name in enumerate(rows[0]) if name not in ("series", "time")]
    return [rows[0][idx] for idx in columns], np.array([[float(row[idx]) for idx in columns] for row in rows[1:]])


def timed(work: Callable[[], np.ndarray]) -> tuple[float, np.ndarray]:
    # The second call: the first imports, and compiles what is compiled on the way.
    work()
    begin = time.process_time()
    result = work()
    return time.process_time() - begin, result


def lingam(values: np.ndarray, lags: int, prune: bool) -> np.ndarray:
    from lingam import VARLiNGAM

    model = VARLiNGAM(lags=lags, criterion=None, prune=prune)
    model.fit(values)
    return np.abs(model.adjacency_matrices_).max(axis=0).T


def tigramite(values: np.ndarray, plus: bool) -> np.ndarray:
    from tigramite.data_processing import DataFrame
    from tigramite.independence_tests.parcorr import ParCorr
    from tigramite.pcmci import PCMCI

    pcmci = PCMCI(DataFrame(values), ParCorr(), verbosity=0)
    run = pcmci.run_pcmciplus if plus else pcmci.run_pcmci
    return np.abs(run(tau_max=2, pc_alpha=None)["val_matrix"]).max(axis=2)


def forests(values: np.ndarray) -> np.ndarray:
    """What dynGENIE3's Python program does for each target, with scikit-learn's forest."""
    from sklearn.ensemble import RandomForestRegressor

    found = []
    for target in range(values.shape[1]):
        rates = np.diff(values[:, target]) + 0.1 * values[:-1, target]
        forest = RandomForestRegressor(n_estimators=TREES, max_features="sqrt", n_jobs=1, random_state=0)
        found.append(forest.fit(values[:-1], rates).feature_importances_)
    return np.array(found).T


def entry(ours: Ours, data: Path, words: list[str], reference: Callable[[], np.ndarray]) -> dict[str, Any]:
    overhead, _ = ours.cpu(data, "partial-correlation")
    whole, folder = ours.cpu(data, *words)
    own = max(whole - overhead, 1e-4)
    result: dict[str, Any] = {"cpu_seconds": own, "whole_cpu_seconds": whole}
    try:
        seconds, wanted = timed(reference)
    except ImportError as error:
        result["no_reference"] = str(error)
        return result
    found = scores(folder, table(data)[0])
    result.update(
        reference_cpu_seconds=seconds,
        times_as_fast=seconds / own,
        times_as_fast_whole=seconds / whole,
        largest_difference=float(np.abs(found - wanted).max()),
    )
    return result


def torch_steps(data: Path) -> dict[str, float]:
    """CPU seconds of the same steps in PyTorch, where it is installed."""
    try:
        import peer_steps
    except ImportError:
        return {}
    golden = Path(__file__).parent.parent / "crates/driftgraph-methods/tests/golden"
    print("steps in PyTorch", file=sys.stderr)
    return peer_steps.measure(table(data)[1], golden)


def versions() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for name in ("lingam", "tigramite", "scikit-learn", "torch", "torchdiffeq", "numpy"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "missing"
    return found


def main() -> None:
    program, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    ours = Ours(program, folder)
    data = ours.generate("one", variables=15, series=1, points=1000)
    wide = ours.generate("wide", variables=50, series=1, points=1000)
    (_, values), (_, wide_values) = table(data), table(wide)
    measured: dict[str, Any] = {"versions": versions()}
    # First what is ours alone: a process starts with the memory of the one that starts it.
    large = ours.generate("large", variables=100, series=1, points=1000)
    for name, words in {
        "varlingam-100": ["varlingam", "--lags", "1", "--criterion", "none", "--prune=false"],
        "pcmci-100": ["pcmci", "--tau-max", "1", "--pc-alpha", "0.2"],
    }.items():
        print(name, file=sys.stderr)
        seconds, _ = ours.cpu(large, *words)
        measured[name] = {"cpu_seconds": seconds, "megabytes": ours.last_megabytes}
    # The shape of Netsim, on which the references' steps were timed.
    netsim = ours.generate("netsim", variables=15, series=5, points=200)
    # The difference of two fits is that of many steps, so that what a fit costs besides does not count.
    ngm = ["--adaptive=false", "--steps"]
    cuts = ["--preset", "cuts-netsim", "--fill-after", "0", "--masked-epochs", "0", "--last-epochs"]
    rhino = ["--rounds", "1", "--steps"]
    steps = {
        "ngm": ("ngm", [*ngm, "10"], [*ngm, "210"], 200),
        # Seven batches of 128 in an epoch.
        "cuts": ("cuts", [*cuts, "1"], [*cuts, "11"], 10),
        "rhino": ("rhino", ["--preset", "rhino-netsim", *rhino, "5"], ["--preset", "rhino-netsim", *rhino, "205"], 200),
        "rhino-noinst": (
            "rhino-noinst",
            ["--preset", "rhino-noinst-netsim", *rhino, "5"],
            ["--preset", "rhino-noinst-netsim", *rhino, "205"],
            200,
        ),
    }
    for name, (method, fewer, more, n_more) in steps.items():
        print(name, file=sys.stderr)
        measured[name] = {"cpu_seconds": ours.per_step(netsim, method, fewer, more, n_more)}
    for name, seconds in torch_steps(netsim).items():
        measured[name]["torch_cpu_seconds"] = seconds
    pcmci = ["--tau-max", "2", "--pc-alpha", "auto"]
    plain = ["varlingam", "--lags", "1", "--criterion", "none", "--prune=false"]
    pruned = ["varlingam", "--lags", "2", "--criterion", "none", "--prune=true"]
    jobs: dict[str, tuple[Path, list[str], Callable[[], np.ndarray]]] = {
        "varlingam": (data, plain, lambda: lingam(values, 1, False)),
        "varlingam-50": (wide, plain, lambda: lingam(wide_values, 1, False)),
        "varlingam-pruned": (data, pruned, lambda: lingam(values, 2, True)),
        "pcmci": (data, ["pcmci", *pcmci], lambda: tigramite(values, plus=False)),
        "pcmci-plus": (data, ["pcmci-plus", *pcmci], lambda: tigramite(values, plus=True)),
        "dyngenie3": (data, ["dyngenie3", "--trees", str(TREES)], lambda: forests(values)),
    }
    for name, (file, words, reference) in jobs.items():
        print(name, file=sys.stderr)
        measured[name] = entry(ours, file, words, reference)
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
