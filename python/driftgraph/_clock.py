"""Times between the user and the model: dates and lengths of time as numbers, and numbers back as dates."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._tables import instants
from .errors import QuestionError

#: Nanoseconds per unit of a dated axis.
_UNITS = {"seconds": 1e9, "minutes": 60e9, "hours": 3_600e9, "days": 86_400e9}


@dataclass(frozen=True)
class Clock:
    """What the numbers on a time axis mean: a unit, and the instant of 0 where times are dates."""

    unit: str = "given"
    origin: str | None = None

    @property
    def is_dated(self) -> bool:
        """Whether times were given as dates."""
        return self.origin is not None

    def number(self, time: Any) -> float:
        """A time as the user has it: a number, or any kind of date where the data have dates."""
        if isinstance(time, str):
            return _native.read_time(self.unit, self.origin, time)
        stamp = instants([time])
        if stamp is None:
            return float(time)
        if np.isnat(stamp[0]):
            raise QuestionError("a time is missing")
        if self.origin is None:
            raise QuestionError(f"`{time}` is a date, but the times of the data are plain numbers")
        return float((stamp[0] - self._start()) / np.timedelta64(1, "ns")) / _UNITS[self.unit]

    def numbers(self, times: Any) -> list[float]:
        """Several times, or one."""
        if isinstance(times, str) or not isinstance(times, Iterable):
            times = [times]
        elif np.ndim(np.asarray(times, dtype=object)) > 1:
            times = np.ravel(np.asarray(times, dtype=object))
        return [self.number(time) for time in times]

    def span(self, length: Any) -> float | None:
        """A length of time: a number in the unit of the data, ``"90d"``, or any kind of timedelta."""
        if length is None:
            return None
        if isinstance(length, str):
            return _native.read_span(self.unit, self.origin, length)
        # Ticks of pandas (`pd.offsets.Day(2)`) count nanoseconds; months and years have no length.
        nanoseconds = getattr(length, "nanos", None)
        if nanoseconds is None and isinstance(length, (datetime.timedelta, np.timedelta64)):
            nanoseconds = np.timedelta64(length, "ns") / np.timedelta64(1, "ns")
        if nanoseconds is None:
            return float(length)
        if self.origin is None:
            raise QuestionError(
                f"`{length}` has a unit, but the times of the data are plain numbers: give a number in their unit"
            )
        return float(nanoseconds) / _UNITS[self.unit]

    def dates(self, times: NDArray[np.float64]) -> NDArray[Any]:
        """Times as ``datetime64`` where the data have dates, as they are where not.

        To a whole second, or microsecond where times are counted in seconds: digits beyond are rounding.
        """
        if self.origin is None:
            return times
        grain = 1e3 if self.unit == "seconds" else 1e9
        rounded = np.round(np.asarray(times) * (_UNITS[self.unit] / grain)) * grain
        return self._start() + rounded.astype(np.int64).astype("timedelta64[ns]")  # type: ignore[no-any-return]

    def in_unit_of(self, other: Clock, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Times of this clock as the other one counts them, where both have dates."""
        if self == other or self.origin is None or other.origin is None:
            return times
        shift = float((self._start() - other._start()) / np.timedelta64(1, "ns"))
        return (times * _UNITS[self.unit] + shift) / _UNITS[other.unit]

    def _start(self) -> np.datetime64:
        return np.datetime64(str(self.origin).removesuffix("Z"), "ns")
