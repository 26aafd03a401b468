"""What the user knows about edges, as the library wants it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ._optional import comes_from
from .errors import SettingsError


def known_edges(forbidden: Any, required: Any, prior: Any) -> list[dict[str, Any]]:
    """All edges with a probability of 0, of 1, or between."""
    known = [_edge(source, target, probability) for source, target, probability in _prior(prior)]
    for edges, probability in ((forbidden, 0.0), (required, 1.0)):
        known += [_edge(source, target, probability) for source, target in _pairs(edges)]
    return known


def _edge(source: Any, target: Any, probability: Any) -> dict[str, Any]:
    return {"source": str(source), "target": str(target), "probability": float(probability)}


def _pairs(edges: Any) -> Iterator[tuple[Any, Any]]:
    if edges is None:
        return
    if isinstance(edges, str):
        edges = [edges]
    elif _is_frame(edges):
        edges = list(zip(edges["source"], edges["target"]))
    for edge in edges:
        if isinstance(edge, str):
            source, arrow, target = edge.partition("->")
            if not arrow:
                raise SettingsError(f"an edge is written `source -> target`, found `{edge}`")
            yield source.strip(), target.strip()
        else:
            source, target = edge
            yield source, target


def _prior(prior: Any) -> Iterator[tuple[Any, Any, Any]]:
    if prior is None:
        return
    if _is_frame(prior):
        missing = {"source", "target", "probability"} - set(map(str, prior.columns))
        if missing:
            raise SettingsError(f"`edge_prior` needs the columns source, target and probability; {sorted(missing)[0]} is missing")
        yield from zip(prior["source"], prior["target"], prior["probability"])
    elif isinstance(prior, Mapping):
        for (source, target), probability in prior.items():
            yield source, target, probability
    else:
        yield from prior


def _is_frame(edges: Any) -> bool:
    return comes_from(edges, "pandas") or comes_from(edges, "polars")
