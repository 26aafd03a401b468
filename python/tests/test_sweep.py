"""Sweeps: by threads and by the processes of a Dask cluster, one of them killed, always the same bytes."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import driftgraph
from driftgraph import Dataset, _native
from driftgraph.errors import RunFolderError, SettingsError

from conftest import quick

distributed = pytest.importorskip("dask.distributed")

PLAN = {
    "methods": ["ridge", "simulated"],
    "seeds": [0],
    "bootstrap": 6,
    "simulated": {"steps": 150, "hidden_size": 8},
}


def content(folder: Path) -> dict[str, bytes]:
    """Files of a folder by name."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


@pytest.fixture(scope="module")
def cluster() -> Any:
    """Workers that are processes of their own."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def client(cluster: Any) -> Any:
    with distributed.Client(cluster) as client:
        yield client


def test_threads_and_the_binary_make_the_same_bytes(data: Dataset, binary: Path, tmp_path: Path) -> None:
    result = driftgraph.sweep({**PLAN, "data": [data]}, folder=tmp_path / "sweep", progress=False)
    assert result.summary["missing"] == 0 and len(result.summary["groups"]) == 2
    shares = np.asarray(result.edges(fit="simulated")["share"])
    assert shares.shape == (4, 4) and 0 <= shares.min() and shares.max() <= 1
    for name in ("shards", "claims"):
        for path in (tmp_path / "sweep" / name).iterdir():
            path.unlink()
    for line in (["run", "sweep"], ["merge", "sweep", "--out", "by-binary"]):
        subprocess.run([binary, "sweep", *line], cwd=tmp_path, check=True, capture_output=True)
    assert content(tmp_path / "by-binary") == content(result.merged)


@pytest.mark.filterwarnings("ignore")
def test_a_killed_worker_changes_nothing(data: Dataset, cluster: Any, client: Any, tmp_path: Path) -> None:
    serial = driftgraph.sweep({**PLAN, "data": [data]}, folder=tmp_path / "serial", threads=1, progress=False)
    seen: list[int] = []
    victims: list[int] = []

    def kill(news: dict[str, Any]) -> None:
        # In the middle: some shards are back, others are being made.
        seen.append(news["made"])
        if not victims:
            worker = next(iter(cluster.workers.values()))
            victims.append(worker.pid)
            os.kill(worker.pid, signal.SIGKILL)

    result = driftgraph.sweep({**PLAN, "data": [data]}, client, folder=tmp_path / "dask", progress=kill)
    assert victims and seen == list(range(1, 13))
    assert content(result.merged) == content(serial.merged)


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_without_workers_gets_some_and_the_data_are_sent_once(
    data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = {"data": [data], "methods": ["ridge"], "bootstrap": 4}
    serial = driftgraph.sweep(plan, folder=tmp_path / "serial", threads=1, progress=False)
    sent: list[Any] = []
    with distributed.LocalCluster(n_workers=0, threads_per_worker=1, dashboard_address=None) as cluster:
        cluster.adapt(minimum=0, maximum=1)
        with distributed.Client(cluster) as client:
            scatter = client.scatter
            monkeypatch.setattr(client, "scatter", lambda *args, **named: sent.append(args) or scatter(*args, **named))
            result = driftgraph.sweep(plan, client, folder=tmp_path / "dask", progress=False)
    assert len(sent) == 1
    assert content(result.merged) == content(serial.merged)


@pytest.mark.filterwarnings("ignore")
def test_bags_are_the_same_on_a_cluster_and_by_threads_and_go_into_files(
    data: Dataset, client: Any, tmp_path: Path
) -> None:
    settings = {"preset": "simulated", "select": None, "ensemble": None, "hidden_size": 8, "steps": 40, "n_bags": 4}
    here = quick(**settings).fit(data)
    there = quick(**settings).fit(data, client=client)
    assert np.array_equal(here.bag_probabilities_, there.bag_probabilities_)
    assert np.array_equal(here.bag_shares_, there.bag_shares_)
    plain = quick(**{**settings, "n_bags": None}).fit(data)
    assert np.array_equal(here.edge_probabilities_, plain.edge_probabilities_)
    assert not hasattr(plain, "bag_shares_")
    here.save(tmp_path / "run")
    for again in (driftgraph.Scotch.load(tmp_path / "run"), pickle.loads(pickle.dumps(here))):
        assert np.array_equal(here.bag_shares_, again.bag_shares_)


def test_a_client_without_bags_is_told(data: Dataset) -> None:
    with pytest.raises(SettingsError, match="n_bags"):
        quick().fit(data, client=object())


def test_a_shard_of_another_version_is_refused(data: Dataset, tmp_path: Path) -> None:
    keys = json.dumps({"methods": ["ridge"], "data": []})
    folder = _native.SweepFolder.plan(
        keys, str(tmp_path), str(tmp_path / "sweep"), json=True, names=["d"], tables=[data._to_native()]
    )
    [(_, number, _, task)] = folder.pending()
    record, table = folder.table(number)
    assert len(_native.learn_shard(task, record, table)) > 0
    other = json.dumps({**json.loads(task), "driftgraph": "0.0.9"})
    with pytest.raises(RunFolderError, match="0.0.9"):
        _native.learn_shard(other, record, table)


def test_ctrl_c_ends_a_sweep_and_what_was_made_stays(data: Dataset, tmp_path: Path) -> None:
    plan = {"data": [data], "methods": ["simulated"], "bootstrap": 40, "simulated": {"steps": 400, "hidden_size": 8}}

    def interrupt() -> None:
        while not any((tmp_path / "sweep" / "shards").glob("*.state")):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        driftgraph.sweep(plan, folder=tmp_path / "sweep", threads=1, progress=False)
    thread.join()
    status = json.loads(_native.SweepFolder.open(str(tmp_path / "sweep")).status())
    assert 0 < status["done"] < 40 and status["claimed"] == 0
