"""Fits beside each other, Ctrl-C, progress, and the binary's opinion."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import quick
from driftgraph import Dataset, Scotch
from driftgraph.errors import DataError, DriftgraphError

ENDLESS = {"steps": 10**9, "elbo_tolerance": 1e-300, "edge_tolerance": 1e-300}


def test_two_fits_in_two_threads_run_at_the_same_time(data: Dataset) -> None:
    # Each fit waits in its progress for the other one: one after the other, this would never end.
    meeting = threading.Barrier(2, timeout=60)
    results: dict[int, Scotch] = {}

    def run(seed: int) -> None:
        met = []

        def progress(news: dict[str, Any]) -> None:
            if not met:
                met.append(meeting.wait())
                raise StopIteration

        model = quick(seed=seed, threads=1, progress=progress, **ENDLESS)
        with pytest.raises(StopIteration):
            model.fit(data)
        results[seed] = quick(seed=seed, threads=1).fit(data)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in (7, 8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not meeting.broken and set(results) == {7, 8}
    assert np.array_equal(results[7].edge_probabilities_, quick(seed=7).fit(data).edge_probabilities_)


def test_python_goes_on_while_a_fit_runs(data: Dataset) -> None:
    # The fit can only end when this thread gets to say so.
    said = threading.Event()

    def progress(_: dict[str, Any]) -> None:
        if said.is_set():
            raise StopIteration

    fit = threading.Thread(target=lambda: _ended(quick(progress=progress, **ENDLESS), data))
    fit.start()
    assert sum(range(100_000)) == 4999950000
    said.set()
    fit.join(60)
    assert not fit.is_alive()


def _ended(model: Scotch, data: Dataset) -> None:
    with pytest.raises(StopIteration):
        model.fit(data)


def test_progress_tells_phase_step_and_elbo(data: Dataset) -> None:
    seen: list[dict[str, Any]] = []
    quick(progress=seen.append, ensemble=2, steps=3000, elbo_tolerance=1e-300, edge_tolerance=1e-300).fit(data)
    assert {news["phase"] for news in seen} <= {"fitting", "note"}
    seen = [news for news in seen if news["phase"] == "fitting"]
    assert seen
    assert all(0 <= news["step"] < news["end"] and np.isfinite(news["elbo"]) for news in seen)


@pytest.mark.parametrize("installed", [True, False])
def test_bars_are_drawn_and_removed(installed: bool, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    from driftgraph._progress import reporter

    if not installed:
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    bar = reporter(True)
    assert bar is not None
    news = {"phase": "fitting", "candidate": "", "number": 0, "n_parts": 1, "end": 20, "elbo": -3.0, "expected_edges": 2.0}
    bar({**news, "step": 9})
    bar({"phase": "note", "text": "warning: mind the gap"})
    bar({"phase": "note", "text": "by the way"})
    bar.close()
    shown = capsys.readouterr()
    assert "fitting 1/1" in shown.err and "mind the gap" in shown.err + shown.out
    assert "by the way" not in shown.err + shown.out
    assert reporter(False) is None
    # Output that nobody looks at stays clean.
    assert reporter("auto") is None


INTERRUPTED = """
import json, signal, sys, driftgraph, warnings
signal.signal(signal.SIGINT, signal.default_int_handler)
from driftgraph import Dataset, Scotch
warnings.simplefilter("ignore")
started = []
def progress(news):
    # Notes come before the first step, when there is nothing to return yet.
    if news["phase"] == "fitting" and not started:
        started.append(True)
        print("started", flush=True)
model = Scotch(select="none", ensemble=1, steps=10**9, elbo_tolerance=1e-300, edge_tolerance=1e-300, progress=progress)
same = model.fit(Dataset.from_file(sys.argv[1]))
print(json.dumps({"same": same is model, "ending": model.ending_, "steps": model.n_iter_, "edges": model.edge_probabilities_.sum()}))
"""


def test_ctrl_c_stops_a_fit_and_returns_what_is_there(data: Dataset, tmp_path: Path) -> None:
    data.to_csv(tmp_path / "data.csv")
    command = [sys.executable, "-c", INTERRUPTED, str(tmp_path / "data.csv")]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline().strip() == "started"
    os.kill(child.pid, signal.SIGINT)
    answer, _ = child.communicate(timeout=120)
    found = json.loads(answer)
    assert child.returncode == 0 and found["same"] and found["ending"] == "interrupted"
    assert found["steps"] > 0 and np.isfinite(found["edges"])


def test_ctrl_c_in_the_main_thread_keeps_the_fit_resumable(data: Dataset) -> None:
    calls = []

    def progress(news: dict[str, Any]) -> None:
        if news["phase"] == "fitting":
            calls.append(news["step"])
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(UserWarning, match="stopped by Ctrl-C"):
        model = quick(progress=progress, drift="linear-and-neural", **{**ENDLESS, "steps": 20_000}).fit(data)
    assert model.ending_ == "interrupted" and len(calls) == 1
    steps = model.n_iter_

    def further(news: dict[str, Any]) -> None:
        # A step beyond those of before, however long it takes on a busy machine.
        if news["phase"] == "fitting" and news["step"] >= steps:
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(UserWarning, match="stopped by Ctrl-C"):
        model.set_params(progress=further).resume()
    assert model.ending_ == "interrupted" and model.n_iter_ > steps


def test_ctrl_c_before_there_is_a_model_is_a_keyboard_interrupt(data: Dataset) -> None:
    def progress(news: dict[str, Any]) -> None:
        assert news["phase"] in ("choosing", "note")
        if news["phase"] == "choosing":
            signal.raise_signal(signal.SIGINT)

    model = quick(select="auto", drift="linear-and-neural", progress=progress, **{**ENDLESS, "steps": 20_000})
    with pytest.raises(KeyboardInterrupt):
        model.fit(data)
    assert not hasattr(model, "edge_probabilities_")


def test_resuming_gives_the_bits_of_a_fit_that_was_never_stopped(data: Dataset) -> None:
    short = quick(steps=40).fit(data)
    assert np.array_equal(short.resume(extend_steps=20).edge_probabilities_, quick().fit(data).edge_probabilities_)
    with pytest.raises(DriftgraphError, match="finished already"):
        short.resume()


def run_binary(binary: Path, *arguments: str) -> None:
    done = subprocess.run([str(binary), *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


FLAGS = ("--select", "none", "--ensemble", "1", "--steps", "60", "--seed", "7")


def description(folder: Path) -> dict[str, Any]:
    """run.json without what depends on clock, machine and place."""
    run: dict[str, Any] = json.loads((folder / "run.json").read_text())
    for name in ("seconds", "threads", "cpu_seconds"):
        run.pop(name, None)
    run["data"].pop("files")
    return run


def test_python_and_binary_write_the_same_bytes(data: Dataset, binary: Path, tmp_path: Path) -> None:
    csv, theirs = tmp_path / "data.csv", tmp_path / "theirs"
    data.to_csv(csv)
    run_binary(binary, "fit", str(csv), *FLAGS, "--out", str(theirs))
    for X in (data, data.to_pandas(), csv):
        model = quick().fit(X)
        own = model.folder
        for name in ("model.safetensors", "edges.csv", "graph.svg", "edges.svg"):
            assert (own / name).read_bytes() == (theirs / name).read_bytes(), name
        assert description(own) == description(theirs)
        clock = re.compile(r'"seconds":[^,}]*')
        logs = [clock.sub("", (folder / "log.jsonl").read_text()) for folder in (own, theirs)]
        assert logs[0] == logs[1]
    model = quick().fit(data)
    assert (model.folder / "data.csv").read_bytes() == csv.read_bytes()


def test_the_command_of_a_report_repeats_a_fit_from_python(data: Dataset, binary: Path, tmp_path: Path) -> None:
    csv = tmp_path / "data.csv"
    data.to_csv(csv)
    names = data.variables
    model = quick(density="common", forbidden_edges=[(names[0], names[1])]).fit(csv)
    report = json.loads(subprocess.run([binary, "report", model.folder, "--json"], capture_output=True, check=True).stdout)
    words = shlex.split(report["provenance"]["command"])
    subprocess.run([binary, *words[1:], "--out", tmp_path / "again"], check=True, capture_output=True)
    assert (tmp_path / "again" / "edges.csv").read_bytes() == (model.folder / "edges.csv").read_bytes()


def test_each_opens_the_folder_of_the_other(data: Dataset, fitted: Scotch, binary: Path, tmp_path: Path) -> None:
    csv = tmp_path / "data.csv"
    data.to_csv(csv)
    run_binary(binary, "fit", str(csv), *FLAGS, "--out", str(tmp_path / "theirs"))
    theirs = Scotch.load(tmp_path / "theirs")
    assert np.array_equal(theirs.edge_probabilities_, fitted.edge_probabilities_)
    assert theirs.impute().filled().n_missing == 0
    quick().fit(data).save(tmp_path / "ours")
    for command in ("graph", "simulate", "forecast", "impute"):
        run_binary(binary, command, str(tmp_path / "ours"), "--json")
    run_binary(binary, "fit", "--resume", str(tmp_path / "ours"), "--extend-steps", "10")
    assert Scotch.load(tmp_path / "ours").n_iter_ == 70


def test_variables_may_be_named_like_the_columns_for_time_and_series() -> None:
    cube = np.random.default_rng(0).normal(size=(2, 20, 2)).cumsum(axis=1)
    fitted = quick().fit(Dataset.from_numpy(cube, names=["time", "series"]))
    assert fitted.edge_probabilities_.shape == (2, 2)


def test_variables_that_a_table_would_misread_are_refused() -> None:
    cube = np.random.default_rng(0).normal(size=(2, 20, 2)).cumsum(axis=1)
    with pytest.raises(DataError, match="rename them"):
        quick().fit(Dataset.from_numpy(cube, names=["variable", "value"]))
