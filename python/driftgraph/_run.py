"""A run folder that was read into attributes: what every question starts from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._clock import Clock
from ._folder import RunFolder
from ._sweep import read_edges
from .errors import NotFittedError
from .matrices import EdgeMatrix

__all__ = ["BAGS", "ReadRun"]

#: Averages over bootstrap samples inside a run folder.
BAGS = "bags.csv"


class ReadRun:
    """A run folder that was read."""

    def _forget(self) -> None:
        for name in [name for name in vars(self) if name.endswith("_") or name in ("_model", "_folder")]:
            delattr(self, name)

    def _take(self, folder: RunFolder, remarks: Sequence[str] = ()) -> None:
        """Reads the run folder into the fitted attributes."""
        model = _native.Model.load(str(folder.path))
        names = model.variables
        run = json.loads((folder.path / "run.json").read_text(encoding="utf-8"))
        self._forget()
        self._folder = folder
        self._model = model
        self.run_: dict[str, Any] = run
        self.feature_names_in_: NDArray[Any] = np.array(names, dtype=object)
        self.n_features_in_ = len(names)
        self.edge_scores_ = EdgeMatrix.of(model.scores(), names)
        # Methods that only rank edges have no probabilities, and no cut.
        if "probability" in model.edges():
            self.edge_probabilities_ = EdgeMatrix.of(model.probabilities(), names)
            self.adjacency_matrix_ = EdgeMatrix.of(np.asarray(self.edge_probabilities_) >= 0.5, names)
        log = _log(folder.path / "log.jsonl")
        losses = np.array([line.get("loss") for line in log], dtype=float)
        bounds = np.array([line["elbo"] for line in log], dtype=float)
        self.loss_curve_: NDArray[np.float64] = np.where(np.isnan(losses), -bounds, losses)
        self.loss_steps_: NDArray[np.int64] = np.array([line["step"] for line in log], dtype=np.int64)
        self.converged_: bool | None = run.get("converged")
        members = run.get("members")
        last = int(self.loss_steps_[-1]) + 1 if len(log) else 0
        self.n_iter_ = int(members[0]["steps"]) if members else last
        self.ending_: str = run["ending"]
        # A folder that was only opened still knows why its graph is not to be believed as it stands.
        doubts = [f"warning: not to be taken at its word: {doubt}" for doubt in run.get("doubts", [])]
        self.remarks_: list[str] = list(remarks) or doubts
        if stability := run.get("stability"):
            shares = np.array(stability["shares"], dtype=float).reshape(len(names), len(names))
            self.edge_stability_ = EdgeMatrix.of(shares, names)
        self._take_bags()

    def _take_bags(self) -> None:
        """Reads what bootstrap samples came to, where there were any."""
        file = self._folder.path / BAGS
        if not file.exists():
            return
        bags = read_edges(file, self._model.variables)
        self.bag_scores_ = bags["score"]
        if "probability" in bags:
            self.bag_probabilities_ = bags["probability"]
            self.bag_shares_ = bags["share"]

    def _fitted(self) -> _native.Model:
        if not hasattr(self, "_model"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call `fit` or `load` first")
        return self._model

    def _fitted_folder(self) -> RunFolder:
        self._fitted()
        return self._folder

    @property
    def folder(self) -> Path:
        """The run folder; temporary until :meth:`save`."""
        return self._fitted_folder().path

    @property
    def _clock(self) -> Clock:
        """What the numbers on the time axis of the fit mean."""
        self._fitted()
        axis = self.run_["data"]["time"]
        return Clock(axis["unit"], axis.get("origin"))


def _log(file: Path) -> list[dict[str, Any]]:
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]
