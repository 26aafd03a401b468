"""The estimator: settings in scikit-learn manners, fitting, and files; questions are in ``fitted``."""

from __future__ import annotations

import inspect
import json
import operator
import os
import shutil
import tempfile
import textwrap
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from . import _native
from ._edges import known_edges
from ._folder import RunFolder
from ._names import unknown_setting
from ._optional import need
from ._progress import reporter
from ._run import BAGS
from ._settings import SETTINGS, ScotchSettings
from ._sweep import make_shards
from .data import Dataset
from .errors import ConvergenceWarning, DataWarning, SettingsError
from .fitted import Fitted

__all__ = ["Estimator", "Scotch"]

Self = TypeVar("Self", bound="Estimator")


class Estimator(Fitted):
    """What every method shares: scikit-learn manners, fitting into a run folder, and files."""

    season: int | None
    detrend: bool
    log: str | list[str] | None
    inputs: str | list[str] | None
    input_hold: str
    interventions: Any
    sources: str | os.PathLike[str] | list[str] | None
    targets: str | os.PathLike[str] | list[str] | None
    n_bags: int | None
    threads: int | None
    time_budget: float | None
    log_every: int
    progress: Any

    def _asked(self) -> dict[str, Any]:
        """What was asked for, in the words of the library."""
        raise NotImplementedError

    @classmethod
    def _settings_of(cls, file: Path) -> dict[str, Any]:
        """Settings of the fit in a run folder, as the estimator takes them."""
        raise NotImplementedError

    def _limits(self) -> dict[str, list[str]]:
        """Which variables may drive and be driven, in the words of the library."""
        given = {"sources": _listed(self.sources), "targets": _listed(self.targets)}
        return {name: names for name, names in given.items() if names}

    def _handled(self, data: _native.SeriesData, place: str) -> _native.SeriesData:
        """The data with what was done to them; a frame of interventions is written into the folder ``place``."""
        table = self.interventions
        if table is None and not self.inputs:
            return data
        if table is not None and hasattr(table, "to_csv"):
            file = Path(place) / "interventions.csv"
            table.to_csv(file, index=False)
            table = file
        asked = {
            "inputs": _names(self.inputs),
            "input_hold": self.input_hold,
            "interventions": table if table is None or table == "columns" else os.path.abspath(table),
        }
        return data.with_experiment(json.dumps(asked))

    def _preparation(self) -> dict[str, Any]:
        """What is taken out of the data before the fit, in the words of the library."""
        preparation: dict[str, Any] = {}
        if self.season is not None:
            season = operator.index(self.season) if hasattr(self.season, "__index__") else self.season
            preparation["season"] = season
        if self.detrend:
            preparation["detrend"] = True
        if self.log is not None:
            preparation["log"] = [self.log] if isinstance(self.log, str) else [str(name) for name in self.log]
        return preparation

    # ------------------------------------------------------------------ scikit-learn manners

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All settings by name."""
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self: Self, **params: Any) -> Self:
        """Changes settings; what was fitted stays until the next ``fit``."""
        known = self._parameter_names()
        for name, value in params.items():
            if name not in known:
                raise unknown_setting(name, known)
            setattr(self, name, value)
        return self

    def clone(self: Self) -> Self:
        """An unfitted estimator with the same settings."""
        return type(self)(**self.get_params())

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may expect: no targets, series or rows as samples, holes as ``NaN``."""
        utils = need("sklearn.utils", "scikit-learn's tools")
        return utils.Tags(
            estimator_type=None,
            target_tags=utils.TargetTags(required=False),
            input_tags=utils.InputTags(two_d_array=True, three_d_array=True, allow_nan=True),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = [
            f"{name}={value!r}" for name, value in self.get_params().items() if value is not defaults[name].default
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    # ------------------------------------------------------------------ fitting

    def fit(self: Self, X: Any, times: Any = None, series: Any = None, *, client: Any = None) -> Self:
        """Learns from ``X``: a Dataset, frame, array, list of arrays, file, AnnData or xarray.

        ``times`` and ``series`` are columns of a frame or arrays beside an array, as in
        :meth:`Dataset.from_any`. Ctrl-C stops the fit and keeps what was learned so far. With ``n_bags``, bootstrap
        samples are fitted as well: by threads, or by the workers of ``client``, a ``dask.distributed.Client``.
        """
        if client is not None and not self.n_bags:
            raise SettingsError("`client` makes bags: say how many with `n_bags`")
        data = Dataset.from_any(X, times, series)
        asked = self._asked()
        for text in self._doubts(data):
            warnings.warn(text, DataWarning, stacklevel=2)
        self._forget()
        folder = RunFolder()
        with tempfile.TemporaryDirectory(prefix="driftgraph-done-") as place:
            native = self._handled(data._to_native(), place)
            self._learn_from(native, folder, asked)
        if self.n_bags and self.ending_ != "interrupted":
            self._fit_bags(data, asked, client)
        return self

    def _learn_from(self, data: _native.SeriesData, folder: RunFolder, asked: dict[str, Any]) -> None:
        self._learn(
            folder,
            lambda bar: _native.fit(
                data,
                str(folder.path),
                json.dumps(asked),
                threads=self.threads,
                time_budget=self.time_budget,
                log_every=self.log_every,
                progress=bar,
            ),
        )

    def _fit_bags(self, data: Dataset, asked: dict[str, Any], client: Any) -> None:
        """Fits bootstrap samples as shards of a sweep; their average goes into the run folder."""
        settings = {name: value for name, value in asked["settings"].items() if name != "seed"}
        seed = asked["settings"].get("seed", 0)
        with tempfile.TemporaryDirectory(prefix="driftgraph-bags-") as place:
            request = json.dumps({**asked, "settings": settings})
            n_bags = operator.index(self.n_bags or 0)
            handled = self._handled(data._to_native(), place)
            native = _native.SweepFolder.plan_bags(request, handled, seed, n_bags, f"{place}/sweep")
            make_shards(native, client, self.threads, self.progress)
            group = json.loads(native.merge(f"{place}/merged", False))["groups"][0]
            shutil.copyfile(Path(place) / "merged" / group["edges_file"], self._folder.path / BAGS)
        self._take_bags()

    def _doubts(self, data: Dataset) -> list[str]:
        """Warnings of ``driftgraph check``, but for those whose remedy was taken."""
        remedies = {"`season=": self.season, "`detrend=": self.detrend, "`log=": self.log, "`inputs=": self.inputs}
        taken = [remedy for remedy, value in remedies.items() if value]
        return [text for text in data.summary()["warnings"] if not any(remedy in text for remedy in taken)]

    def resume(self: Self, extend_steps: int = 0) -> Self:
        """Goes on with a fit that was stopped, bit for bit; ``extend_steps`` allows more steps."""
        folder = self._fitted_folder()
        return self._learn(
            folder,
            lambda bar: _native.resume(
                str(folder.path),
                extend_steps=extend_steps,
                threads=self.threads,
                time_budget=self.time_budget,
                progress=bar,
            ),
        )

    def _learn(self: Self, folder: RunFolder, work: Callable[[Any], dict[str, Any]]) -> Self:
        """Does the work under a progress bar, then reads what it left in the folder."""
        bar = reporter(self.progress)
        try:
            told = work(bar)
        finally:
            if bar is not None:
                bar.close()
        self._take(folder, told["remarks"])
        if told["report_problem"] is not None:
            warnings.warn(f"the report could not be made: {told['report_problem']}", stacklevel=3)
        self._warn()
        return self

    def _warn(self) -> None:
        if self.ending_ == "interrupted":
            warnings.warn("stopped by Ctrl-C: this is what was learned so far; `resume()` goes on", stacklevel=4)
        elif self.ending_ == "finished" and self.converged_ is False:
            message = f"not converged after {self.n_iter_} steps; allow more `steps`"
            warnings.warn(message, ConvergenceWarning, stacklevel=4)

    # ------------------------------------------------------------------ files

    def save(self: Self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> Self:
        """Keeps the run folder: the same as the binary's, which can go on with it."""
        target = Path(folder)
        self._fitted_folder().copy_to(target, overwrite)
        self._take(RunFolder(target), self.remarks_)
        return self

    @classmethod
    def load(cls: type[Self], folder: str | os.PathLike[str]) -> Self:
        """Opens a run folder written by :meth:`save` or by the binary."""
        path = Path(folder)
        estimator = cls(**cls._settings_of(path / "job.json"))
        estimator._take(RunFolder(path))
        return estimator

    def __getstate__(self) -> dict[str, Any]:
        # Through the run folder's own format: nothing of the model itself is pickled.
        state: dict[str, Any] = {"params": self.get_params()}
        if hasattr(self, "_model"):
            state |= {"files": self._folder.to_bytes(), "remarks": self.remarks_}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        type(self).__init__(self, **state["params"])
        if "files" in state:
            self._take(RunFolder.from_bytes(state["files"]), state["remarks"])


class Scotch(Estimator, ScotchSettings):
    """Learns who drives whom, and the stochastic process behind it, from series of measurements.

    The method is SCOTCH (Wang, Jennings and Gong, ICLR 2024): a stochastic differential equation whose
    drift and noise respect a graph, and a posterior over graphs and hidden paths.

    >>> from driftgraph import Scotch, systems
    >>> data = systems.linear(variables=3, n_series=6, n_points=30, seed=1)
    >>> model = Scotch(select="none", ensemble=1, steps=60, seed=7, progress=False)
    >>> model.fit(data).edge_probabilities_.shape
    (3, 3)

    {settings}

    Attributes
    ----------
    edge_probabilities_ : EdgeMatrix (source, target)
        Probability of any influence; ``to_pandas()`` gives a frame with names.
    edge_scores_ : EdgeMatrix
        Ranks edges where probabilities round to 1.
    adjacency_matrix_ : EdgeMatrix of bool
        Edges with a probability of at least 0.5.
    feature_names_in_, n_features_in_ :
        Names and number of the variables.
    loss_curve_, loss_steps_ : arrays
        Minus the ELBO, or the loss of a method that has no bound, and the steps at which it was logged.
    converged_ : bool or None
        Whether the stop rule was met; None for the simulated posterior, which has none.
    n_iter_ : int
        Steps of the (first) fit.
    bag_scores_, bag_probabilities_, bag_shares_ : EdgeMatrix
        With ``n_bags``: mean rank (1 for first), mean probability, and share of the bags that keep an edge.
    ending_ : str
        ``finished``, ``interrupted`` or ``time-budget``.
    remarks_ : list of str
        What was tried and chosen, and what to be careful about; of a folder that was opened, the latter alone.
    edge_stability_ : EdgeMatrix
        With ``stability``: share of the bootstrap samples whose fit keeps an edge.
    run_ : dict
        Everything in ``run.json``.
    """

    def _asked(self) -> dict[str, Any]:
        """What was asked for, in the words of the library."""
        settings: dict[str, Any] = {}
        for name in SETTINGS:
            value = getattr(self, name)
            if value is None or name == "preset":
                continue
            if isinstance(value, np.generic):
                value = value.item()
            settings[name] = value
        if not self.self_loops:
            settings["no_self_loops"] = True
        edges = known_edges(self.forbidden_edges, self.required_edges, self.edge_prior)
        return {
            "preset": self.preset,
            "settings": settings,
            "edges": edges,
            "limits": self._limits(),
            "preparation": self._preparation(),
        }

    @classmethod
    def _settings_of(cls, file: Path) -> dict[str, Any]:
        return _asked_of(file)


if Scotch.__doc__ is not None:
    # The settings are documented once, by the tables of the library.
    _settings = inspect.cleandoc(ScotchSettings.__doc__ or "").partition("\n\n")[2]
    Scotch.__doc__ = Scotch.__doc__.replace("    {settings}", textwrap.indent(_settings, "    "))


def _names(given: str | list[str] | None) -> list[str]:
    """One name or several, as a list."""
    return [given] if isinstance(given, str) else [str(name) for name in given or []]


def _listed(given: str | os.PathLike[str] | list[str] | None) -> list[str]:
    """The same, or the names in a file, one on each line."""
    if isinstance(given, os.PathLike) or (isinstance(given, str) and Path(given).is_file()):
        lines = Path(given).read_text(encoding="utf-8").splitlines()
        return [line.strip() for line in lines if line.strip()]
    return _names(given)


def _done_in(file: Path) -> dict[str, Any]:
    """What was done to the data of a run folder, as the estimator takes it."""
    options = json.loads(file.read_text(encoding="utf-8"))["data"]["options"]
    return {name: options[name] for name in ("inputs", "input_hold", "interventions") if name in options}


def _edges_known(asked: dict[str, Any]) -> dict[str, Any]:
    """What a fit was told of single edges, as the estimator takes it."""
    edges = {(edge["source"], edge["target"]): edge["probability"] for edge in asked["edges"]}
    return {"edge_prior": edges} if edges else {}


def _asked_of(file: Path) -> dict[str, Any]:
    """Settings of the fit in a run folder, as the estimator takes them."""
    if not file.exists():
        return {}
    asked = json.loads(file.read_text(encoding="utf-8"))["asked"]
    settings = {name: value for name, value in asked["settings"].items() if name in SETTINGS}
    # Settings files may keep those of the bridge in a table of their own.
    own = asked["settings"].get("bridge", {})
    settings = {**{name: value for name, value in own.items() if name in SETTINGS}, **settings}
    if asked.get("preset") is not None:
        settings["preset"] = asked["preset"]
    if asked["settings"].get("no_self_loops"):
        settings["self_loops"] = False
    settings.update(asked.get("preparation", {}))
    settings.update(asked.get("limits", {}))
    return {**settings, **_done_in(file), **_edges_known(asked)}
