"""Many fits as shards: made by threads here, or by the workers of a Dask client, and merged into one result."""

from __future__ import annotations

import csv
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from . import _native
from ._optional import need
from ._progress import somebody_looks
from .data import Dataset
from .errors import ComputationError, SettingsError
from .matrices import EdgeMatrix

__all__ = ["SweepResult", "read_edges", "sweep"]

#: Times that shards are sent which were lost with their workers.
_ATTEMPTS = 5

Pending = tuple[int, int, str, str]


class SweepResult:
    """What a sweep came to: averaged graphs, and the folders they are in."""

    def __init__(self, folder: Path, merged: Path, summary: dict[str, Any], variables: list[list[str]]) -> None:
        #: The folder of shards; planned again with more seeds or samples, what is there stays.
        self.folder = folder
        #: The folder with ``report.html`` and all tables.
        self.merged = merged
        #: Everything in ``merged.json``.
        self.summary = summary
        self._variables = variables

    def edges(self, data: str | None = None, fit: str | None = None) -> dict[str, EdgeMatrix]:
        """Averaged matrices by name: ``score``, and ``probability``, ``share`` and ``deviation`` where the method has them.

        ``data`` and ``fit`` may be left out where there is one.
        """
        groups = [
            (group, names)
            for group, names in zip(self.summary["groups"], self._variables)
            if data in (None, group["data"]) and fit in (None, group["fit"])
        ]
        if len(groups) != 1:
            known = ", ".join(f"({group['data']!r}, {group['fit']!r})" for group in self.summary["groups"])
            raise SettingsError(f"name one data set and fit of {known}")
        group, names = groups[0]
        return read_edges(self.merged / group["edges_file"], names)

    def __repr__(self) -> str:
        fits = ", ".join(f"{group['fit']} on {group['data']}" for group in self.summary["groups"])
        return f"SweepResult({self.summary['shards']} shards: {fits}; {self.merged})"


def sweep(
    plan: str | os.PathLike[str] | Mapping[str, Any],
    client: Any = None,
    *,
    folder: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    progress: Any = "auto",
) -> SweepResult:
    """Makes many fits and averages them: data sets x methods x settings x seeds x bootstrap samples.

    ``plan`` is a TOML file as for ``driftgraph sweep plan``, or its keys as a dictionary, in which ``data`` may also hold
    :class:`Dataset` objects. With ``client``, a ``dask.distributed.Client``, shards are sent to its workers, the data
    once, and written here as they come back; workers may die and come. Without, threads of this machine make them. The
    result is the same, byte for byte. ``folder`` is kept and gone on with where it is named again; ``out`` gets the
    averaged graphs, tables and the report (``merged`` inside the folder, where not given).

    >>> import driftgraph
    >>> data = driftgraph.systems.linear(variables=3, n_series=12, n_points=20, seed=1)
    >>> result = driftgraph.sweep({"data": [data], "methods": ["ridge"], "bootstrap": 5}, progress=False)
    >>> result.edges()["score"].shape
    (3, 3)
    """
    place = Path(folder) if folder is not None else Path(tempfile.mkdtemp(prefix="driftgraph-sweep-"))
    native = _planned(plan, place)
    make_shards(native, client, threads, progress)
    merged = Path(out) if out is not None else place / "merged"
    summary = json.loads(native.merge(str(merged), False))
    record = json.loads((place / "sweep.json").read_text(encoding="utf-8"))
    names = {data["name"]: data["variables"] for data in record["data"]}
    return SweepResult(place, merged, summary, [names[group["data"]] for group in summary["groups"]])


def _planned(plan: str | os.PathLike[str] | Mapping[str, Any], folder: Path) -> _native.SweepFolder:
    if not isinstance(plan, Mapping):
        file = Path(plan)
        return _native.SweepFolder.plan(file.read_text(encoding="utf-8"), str(file.parent), str(folder))
    keys = {name: value for name, value in plan.items() if name != "data"}
    sources = plan.get("data", [])
    in_memory = [source for source in sources if isinstance(source, Dataset)]
    keys["data"] = [os.fspath(source) for source in sources if not isinstance(source, Dataset)]
    names = ["data" if len(in_memory) == 1 else f"data-{number + 1}" for number in range(len(in_memory))]
    tables = [source._to_native() for source in in_memory]
    text = json.dumps(keys, default=_plain)
    return _native.SweepFolder.plan(text, os.getcwd(), str(folder), json=True, names=names, tables=tables)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Iterable):
        return list(value)
    raise SettingsError(f"a plan cannot hold {value!r}")


def make_shards(native: _native.SweepFolder, client: Any, threads: int | None, progress: Any) -> None:
    """Makes all shards of a sweep: by the workers of a client, or by threads."""
    bar = _Bar(len(native), progress)
    try:
        if client is None:
            native.run(threads=threads, progress=bar)
        else:
            _make_with_dask(native, client, bar)
    finally:
        bar.close()


def _make_with_dask(native: _native.SweepFolder, client: Any, bar: Callable[[int], None]) -> None:
    """Sends shards as futures and keeps what comes back; what was lost with its worker is sent again."""
    distributed = need("dask.distributed", "a sweep with a client")
    made = 0
    for attempt in range(_ATTEMPTS):
        pending = native.pending()
        if not pending:
            return
        # Not `wait_for_workers`: a cluster that adapts has no workers before there is work.
        client.submit(int, pure=False).result()
        # Once per data set, to every worker: one that joins later gets it from them.
        wanted = sorted({data for _, data, _, _ in pending})
        tables = {data: client.scatter([native.table(data)], broadcast=True, hash=False)[0] for data in wanted}
        futures = {}
        for idx, data, name, task in pending:
            key = f"driftgraph-{name}-{attempt}"
            futures[client.submit(_learn, task, tables[data], key=key, pure=False)] = idx
        for future in distributed.as_completed(list(futures)):
            if future.status == "finished":
                native.keep(futures.pop(future), future.result())
                made += 1
                bar(made)
            elif future.status == "error" and not _is_lost(future.exception()):
                client.cancel(list(futures))
                future.result()
    left = native.pending()
    if left:
        message = f"{len(left)} shards were lost with their workers {_ATTEMPTS} times\n\nhint: do workers have enough memory?"
        raise ComputationError(message)


def _is_lost(error: Any) -> bool:
    """Whether a worker died, rather than the shard."""
    return type(error).__module__.split(".")[0] in ("distributed", "dask", "concurrent", "asyncio")


def _learn(task: str, table: tuple[str, bytes]) -> bytes:
    """One shard, on a worker."""
    record, content = table
    return _native.learn_shard(task, record, content)


def read_edges(file: Path, names: list[str]) -> dict[str, EdgeMatrix]:
    """The columns of a table of averaged edges as matrices."""
    with file.open(encoding="utf-8", newline="") as text:
        rows = list(csv.DictReader(text))
    place = {name: idx for idx, name in enumerate(names)}
    columns = [name for name in (rows[0] if rows else {}) if name not in ("source", "target")]
    matrices = {}
    for column in columns:
        matrix = np.full((len(names), len(names)), np.nan)
        for row in rows:
            matrix[place[row["source"]], place[row["target"]]] = float(row[column])
        matrices[column] = EdgeMatrix.of(matrix, names)
    return matrices


class _Bar:
    """Shards made, out of all: tqdm where it is installed, a line of text elsewhere, nothing where nobody looks."""

    def __init__(self, n_shards: int, wish: Any) -> None:
        self._show: Any = wish if callable(wish) else None
        self._total = n_shards
        self._bar: Any = None
        self._last = 0
        wanted = wish is True or (wish == "auto" and somebody_looks())
        if self._show is None and wanted:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                self._show = self._write
            else:
                self._bar = tqdm(total=n_shards, unit="shard", leave=False)

    def __call__(self, made: int) -> None:
        if made == self._last:
            return
        self._last = made
        if self._bar is not None:
            self._bar.n = made
            self._bar.refresh()
        elif self._show is not None:
            self._show({"phase": "shards", "made": made, "shards": self._total})

    def _write(self, news: dict[str, Any]) -> None:
        sys.stderr.write(f"\r{news['made']} of {news['shards']} shards")
        sys.stderr.flush()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
        elif self._show == self._write and self._last:
            sys.stderr.write("\n")
