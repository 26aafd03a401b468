"""One hierarchy of errors; bad input is also a ``ValueError``, files are also an ``OSError``."""

from __future__ import annotations

__all__ = [
    "ComputationError",
    "ConvergenceWarning",
    "DataError",
    "DataWarning",
    "DriftgraphError",
    "FileError",
    "InputError",
    "MissingDependencyError",
    "NotFittedError",
    "QuestionError",
    "RunFolderError",
    "SettingsError",
]


class DriftgraphError(Exception):
    """Anything that driftgraph refuses or cannot do.

    ``series``, ``variable`` and ``time`` say where in the data, as far as that is known.
    """

    def __init__(
        self,
        message: str = "",
        *,
        series: str | None = None,
        variable: str | None = None,
        time: float | None = None,
    ) -> None:
        super().__init__(message)
        self.series = series
        self.variable = variable
        self.time = time


class InputError(DriftgraphError, ValueError):
    """Something given by the caller is wrong."""


class DataError(InputError):
    """Measurements that cannot be used."""


class SettingsError(InputError):
    """Settings of a fit that do not exist or lie outside their range."""


class QuestionError(InputError):
    """A question that a model, system or metric cannot answer as it was put."""


class NotFittedError(DriftgraphError, ValueError, AttributeError):
    """Something was asked of an estimator before ``fit`` or ``load``."""


class ComputationError(DriftgraphError, RuntimeError):
    """A fit or simulation that failed on its way."""


class FileError(DriftgraphError, OSError):
    """A file that cannot be read or written."""


class RunFolderError(FileError):
    """A run folder that cannot be read."""


class MissingDependencyError(DriftgraphError, ImportError):
    """An optional package that is not installed."""


class ConvergenceWarning(UserWarning):
    """A fit that came to its last step before its stop rule was met."""


class DataWarning(UserWarning):
    """Data that may not carry a graph, or were probably not meant as they stand; what ``driftgraph check`` warns of."""
