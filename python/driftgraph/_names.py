"""Names that nobody knows, answered with the nearest one."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import ParamSpec

from .errors import SettingsError

P = ParamSpec("P")


def unknown_setting(name: str, known: Iterable[str], owner: str | None = None) -> SettingsError:
    """What to raise for a setting that does not exist."""
    near = difflib.get_close_matches(name, list(known), n=1)
    meant = f"; did you mean `{near[0]}`?" if near else ""
    start = f"`{owner}` has no setting" if owner else "there is no setting"
    return SettingsError(f"{start} `{name}`{meant}")


def settings_alone(function: Callable[P, None]) -> Callable[P, None]:
    """The same function, which answers keywords that it does not have in the user's words."""
    known = list(inspect.signature(function).parameters)[1:]

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> None:
        for name in kwargs:
            if name not in known:
                raise unknown_setting(name, known)
        function(*args, **kwargs)

    return checked
