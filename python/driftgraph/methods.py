"""Every method of the library as an estimator with the manners of :class:`driftgraph.Scotch`.

The classes are made from the library's registry: `PCMCIPlus`, `VARLiNGAM`, `DynGENIE3`, `Rhino`, `Ridge` and whatever
else :func:`names` lists. Their keywords are the settings of the method, with the library's own defaults; `preset` names
one of its sets of settings. Names are found in any capitals.

>>> from driftgraph import methods, systems
>>> data = systems.linear(variables=3, n_series=6, n_points=30, seed=1)
>>> methods.Ridge(progress=False).fit(data).edge_scores_.shape
(3, 3)
>>> methods.PCMCIPlus(tau_max=2, pc_alpha=0.05, progress=False).fit(data).edge_scores_.shape
(3, 3)
>>> methods.PcmciPlus is methods.PCMCIPlus
True
"""

from __future__ import annotations

import difflib
import inspect
import json
import textwrap
from pathlib import Path
from typing import Any

import numpy as np

from . import _native
from ._edges import known_edges
from ._names import unknown_setting
from .estimator import Estimator, _done_in, _edges_known

# Name, description, presets and settings of every method.
_METHODS = {row[0]: row for row in _native.methods()}

# Settings that say how a fit is run, and what is known of edges.
_RUNNING: dict[str, Any] = {
    "preset": None,
    "season": None,
    "detrend": False,
    "log": None,
    "inputs": None,
    "input_hold": "previous",
    "interventions": None,
    "sources": None,
    "targets": None,
    "forbidden_edges": None,
    "required_edges": None,
    "edge_prior": None,
    "n_bags": None,
    "threads": None,
    "time_budget": None,
    "log_every": 10,
    "progress": "auto",
}


def names() -> list[str]:
    """Names of all methods, the default first."""
    return list(_METHODS)


class MethodEstimator(Estimator):
    """A method of the library; its subclasses are made from the registry."""

    method: str = ""

    def __init__(self, **settings: Any) -> None:
        for name, parameter in inspect.signature(type(self)).parameters.items():
            setattr(self, name, settings.pop(name, parameter.default))
        if settings:
            raise unknown_setting(next(iter(settings)), self._parameter_names(), self.method)

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return list(inspect.signature(cls).parameters)

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self)).parameters
        values = self.get_params().items()
        changed = [f"{name}={value!r}" for name, value in values if value is not defaults[name].default]
        return f"{type(self).__name__}({', '.join(changed)})"

    def _asked(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in self._parameter_names() if name not in _RUNNING}
        settings = {name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()}
        settings = {name: value for name, value in settings.items() if value is not None}
        running = {name: getattr(self, name) for name in _RUNNING}
        edges = known_edges(running["forbidden_edges"], running["required_edges"], running["edge_prior"])
        return {
            "method": self.method,
            "preset": running["preset"],
            "settings": settings,
            "edges": edges,
            "limits": self._limits(),
            "preparation": self._preparation(),
        }

    @classmethod
    def _settings_of(cls, file: Path) -> dict[str, Any]:
        if not file.exists():
            return {}
        asked = json.loads(file.read_text(encoding="utf-8"))["asked"]
        known = set(cls._parameter_names())
        settings = {name: value for name, value in asked["settings"].items() if name in known}
        if asked.get("preset") is not None:
            settings["preset"] = asked["preset"]
        rest = {**asked.get("preparation", {}), **asked.get("limits", {}), **_done_in(file), **_edges_known(asked)}
        return {**settings, **rest}


def _estimator(name: str) -> type[MethodEstimator]:
    """The class of a method: its name in capitals, its settings as keywords."""
    _, description, presets, settings, class_name = _METHODS[name]
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(row[0], keyword, default=None) for row in settings]
    parameters += [inspect.Parameter(running, keyword, default=value) for running, value in _RUNNING.items()]
    lines = [f"{description[0].upper()}{description[1:]}.", "", "Parameters", "----------"]
    for setting, _, default, text, meaning in settings:
        lines.append(f"{setting} : default {default}")
        sentence = f"{meaning[0].upper()}{meaning[1:]}. {text[0].upper()}{text[1:]}."
        lines += textwrap.wrap(sentence, 100, initial_indent="    ", subsequent_indent="    ")
    if presets:
        lines += ["preset : str", f"    One of {', '.join(presets)}."]
    title = class_name or "".join(word.capitalize() for word in name.split("-"))
    attributes = {
        "method": name,
        "__doc__": "\n".join(lines),
        "__module__": __name__,
        "__signature__": inspect.Signature(parameters),
    }
    return type(title, (MethodEstimator,), attributes)


#: Estimators by the name of their method.
ESTIMATORS: dict[str, type[MethodEstimator]] = {name: _estimator(name) for name in _METHODS}

globals().update({estimator.__name__: estimator for estimator in ESTIMATORS.values()})

__all__ = ["ESTIMATORS", "MethodEstimator", "names"]
__all__ += [estimator.__name__ for estimator in ESTIMATORS.values()]


def __getattr__(name: str) -> type[MethodEstimator]:
    for estimator in ESTIMATORS.values():
        if estimator.__name__.lower() == name.lower():
            return estimator
    titles = {title.lower(): title for title in __all__[3:]}
    near = difflib.get_close_matches(name.lower(), titles, n=1, cutoff=0.7)
    known = f"did you mean `{titles[near[0]]}`?" if near else f"there are {', '.join(sorted(titles.values()))}"
    raise AttributeError(f"there is no method `{name}`; {known}")
