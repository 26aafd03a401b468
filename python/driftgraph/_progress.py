"""Progress of a fit: tqdm where it is installed, a line of text elsewhere, nothing where nobody looks."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

__all__ = ["Progress", "reporter", "somebody_looks"]

News = dict[str, Any]


def reporter(wish: Any) -> Progress | None:
    """What shows progress as wished: ``"auto"``, True, False, or a function."""
    if callable(wish):
        return Progress(wish)
    if wish is False or wish is None or (wish == "auto" and not somebody_looks()):
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return Progress(_TextBar())
    return Progress(_TqdmBar(tqdm))


def somebody_looks() -> bool:
    """Whether a bar would be seen."""
    return sys.stderr.isatty() or _in_notebook()


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    if shell is None:
        return False
    running = shell.get_ipython()
    return running is not None and "IPKernelApp" in running.config


class Progress:
    """Hands news to a function, and closes what it drew at the end."""

    def __init__(self, show: Callable[[News], None]) -> None:
        self._show = show

    def __call__(self, news: News) -> None:
        self._show(news)

    def close(self) -> None:
        """Ends the bar."""
        close = getattr(self._show, "close", None)
        if close is not None:
            close()


def _words(news: News) -> str:
    if news["phase"] == "choosing":
        return f"choosing: {news['candidate']}, part {news['number'] + 1}/{news['n_parts']}"
    return f"fitting {news['number'] + 1}/{news['n_parts']}"


def _numbers(news: News) -> list[tuple[str, str, str]]:
    """Name, number and words of what a step tells: a bound or a loss, and edges where a method has probabilities."""
    told = []
    if "elbo" in news:
        told.append(("elbo", f"{news['elbo']:.1f}", f"ELBO {news['elbo']:.1f}"))
    if "loss" in news:
        told.append(("loss", f"{news['loss']:.4g}", f"loss {news['loss']:.4g}"))
    if "expected_edges" in news:
        told.append(("edges", f"{news['expected_edges']:.1f}", f"{news['expected_edges']:.1f} edges"))
    return told


def _is_urgent(news: News) -> bool:
    # How much memory a fit takes, and the like, would only push the bar away.
    return str(news["text"]).startswith("warning")


class _TqdmBar:
    """One bar per part of the fit."""

    def __init__(self, tqdm: Any) -> None:
        self._tqdm = tqdm
        self._bar: Any = None
        self._what = ""

    def __call__(self, news: News) -> None:
        if news["phase"] == "note":
            if _is_urgent(news):
                self._tqdm.write(news["text"])
            return
        if self._bar is None:
            self._bar = self._tqdm(total=news["end"], unit="step", leave=False)
        if _words(news) != self._what or news["end"] != self._bar.total:
            self._what = _words(news)
            self._bar.reset(total=news["end"])
            self._bar.set_description(self._what)
        self._bar.n = min(news["step"] + 1, news["end"])
        self._bar.set_postfix({name: text for name, text, _ in _numbers(news)})

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


class _TextBar:
    """One line that is written over a few times per second."""

    def __init__(self) -> None:
        self._last = 0.0
        self._width = 0

    def __call__(self, news: News) -> None:
        if news["phase"] == "note":
            if _is_urgent(news):
                self._write(news["text"] + "\n")
            return
        if time.monotonic() - self._last < 0.2:
            return
        self._last = time.monotonic()
        share = 100 * (news["step"] + 1) / max(news["end"], 1)
        numbers = "".join(f", {sentence}" for _, _, sentence in _numbers(news))
        self._write(f"{_words(news)}: {share:3.0f} %{numbers}")

    def _write(self, text: str) -> None:
        sys.stderr.write("\r" + text.ljust(self._width))
        sys.stderr.flush()
        self._width = len(text)

    def close(self) -> None:
        if self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()
