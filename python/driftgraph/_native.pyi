"""What the native half offers to the Python front; checked against the module by mypy's stubtest."""

from os import PathLike
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]
_Bools = NDArray[np.bool_]
_Path = str | PathLike[str]

__all__ = [
    "Model",
    "SeriesData",
    "VERSION",
    "baseline",
    "baselines",
    "check_series",
    "count_dates",
    "curves",
    "fit",
    "generate",
    "graph_metrics",
    "graph_picture",
    "resume",
    "settings",
    "systems",
]

VERSION: Final[str]

@final
class SeriesData:
    def __new__(
        cls,
        variables: list[str],
        names: list[str],
        times: list[_Floats],
        values: list[_Floats],
        unit: str = "given",
        origin: str | None = None,
    ) -> SeriesData: ...
    @staticmethod
    def read(
        paths: list[str],
        *,
        time: str | None = None,
        series: str | None = None,
        variables: list[str] = ...,
        ignore: list[str] = ...,
        duplicates: str = "error",
    ) -> SeriesData: ...
    @property
    def variables(self) -> list[str]: ...
    @property
    def names(self) -> list[str]: ...
    def times(self, idx: int) -> _Floats: ...
    def values(self, idx: int) -> _Floats: ...
    @property
    def truth(self) -> _Bools | None: ...
    @property
    def files(self) -> list[str]: ...
    @property
    def notices(self) -> list[str]: ...
    @property
    def time_axis(self) -> tuple[str, str | None]: ...
    @property
    def fingerprint(self) -> str: ...
    def summary(self) -> str: ...
    def write(self, path: _Path) -> None: ...

@final
class Model:
    @staticmethod
    def load(folder: _Path, data: SeriesData | None = None) -> Model: ...
    @property
    def variables(self) -> list[str]: ...
    @property
    def n_members(self) -> int: ...
    @property
    def step_size(self) -> float: ...
    @property
    def time_label(self) -> str: ...
    @property
    def training_data(self) -> SeriesData: ...
    def probabilities(self) -> _Floats: ...
    def scores(self) -> _Floats: ...
    @property
    def scales(self) -> list[float]: ...
    @property
    def tells_direction(self) -> bool: ...
    def edges(self) -> dict[str, Any]: ...
    def feedback_loops(self, threshold: float) -> list[list[str]]: ...
    def graph_text(self, format: str, threshold: float) -> str: ...
    def sample_graphs(self, n_graphs: int, seed: int, kind: str) -> _Bools: ...
    def simulate(self, request: dict[str, Any]) -> dict[str, Any]: ...
    def forecast(self, request: dict[str, Any]) -> list[dict[str, Any]]: ...
    def forecast_test(self, share: float, request: dict[str, Any]) -> str: ...
    def impute(self, times: list[float] | None, n_samples: int, seed: int) -> list[dict[str, Any]]: ...
    def impute_test(self, share: float, n_samples: int, seed: int) -> str: ...
    def intervene(self, texts: list[str], request: dict[str, Any]) -> dict[str, Any]: ...
    def report(self, truth: _Bools | None = None, interventions: list[str] = ...) -> str: ...
    def log_likelihoods(self, data: SeriesData) -> list[tuple[str, float, int]]: ...

def check_series(variables: list[str], names: list[str], times: list[_Floats], values: list[_Floats]) -> None: ...
def count_dates(stamps: NDArray[np.int64]) -> tuple[_Floats, str, str | None]: ...
def read_time(unit: str, origin: str | None, text: str) -> float: ...
def read_span(unit: str, origin: str | None, text: str) -> float: ...
def fit(
    data: SeriesData,
    folder: _Path,
    asked: str,
    *,
    threads: int | None = None,
    replace: bool = False,
    truth: _Bools | None = None,
    log_every: int = 10,
    checkpoint_seconds: float = 60.0,
    time_budget: float | None = None,
    progress: Any = None,
) -> dict[str, Any]: ...
def resume(
    folder: _Path,
    *,
    extend_steps: int = 0,
    threads: int | None = None,
    time_budget: float | None = None,
    progress: Any = None,
) -> dict[str, Any]: ...
def settings() -> tuple[list[str], list[tuple[str, str, str, str, str]], list[tuple[str, str, str, str, str]]]: ...
def systems() -> list[tuple[str, str, list[tuple[str, float, float, float, bool, str]]]]: ...
def generate(
    system: str,
    parameters: dict[str, float],
    *,
    seed: int = 0,
    paper: bool = False,
    n_series: int | None = None,
    n_points: int | None = None,
    span: tuple[float, float] | None = None,
    step_size: float | None = None,
    scheme: str = "euler-maruyama",
    standardise: bool = False,
    sampling: str = "regular",
    drop: float = 0.0,
    drop_by: str = "time",
    noise: float = 0.0,
) -> SeriesData: ...
def baselines() -> list[str]: ...
def baseline(method: str, data: SeriesData) -> _Floats: ...
def graph_metrics(
    scores: _Floats,
    truth: _Bools,
    *,
    self_edges: bool = True,
    threshold: float | None = None,
    k: int | None = None,
    ranking_only: bool = False,
) -> str: ...
def curves(scores: _Floats, truth: _Bools, *, self_edges: bool = True) -> str: ...
def graph_picture(
    names: list[str],
    probabilities: _Floats,
    signs: NDArray[np.int8],
    title: str,
    threshold: float = 0.5,
    truth: _Bools | None = None,
) -> str: ...
