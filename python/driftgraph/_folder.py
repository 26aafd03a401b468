"""Run folders on disk: temporary ones that clean up after themselves, copies, and bytes for pickling."""

from __future__ import annotations

import json
import shutil
import tempfile
import weakref
from pathlib import Path

from .errors import FileError

_LOCK = "lock"


class RunFolder:
    """A run folder; one that nobody asked for is removed with the object."""

    def __init__(self, path: Path | None = None) -> None:
        if path is not None:
            self.path = path
            return
        self.path = Path(tempfile.mkdtemp(prefix="driftgraph-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def copy_to(self, target: Path, overwrite: bool) -> None:
        """Copies the run; paths inside it follow."""
        if target.resolve() == self.path.resolve():
            return
        if any((target / name).exists() for name in ("run.json", "job.json")):
            if not overwrite:
                message = f"`{target}` holds a run already\n\nhint: name another folder, or say `overwrite=True`"
                raise FileError(message)
            shutil.rmtree(target / "checkpoint", ignore_errors=True)
        target.mkdir(parents=True, exist_ok=True)
        mode = target.stat().st_mode
        shutil.copytree(self.path, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns(_LOCK))
        # A temporary folder is for its owner alone; what was asked for is as open as any new folder.
        target.chmod(mode)
        for name in ("run.json", "job.json"):
            _rename_inside(target / name, self.path, target)

    def to_bytes(self) -> dict[str, bytes]:
        """Files of a finished run by name, without what a fit would go on from."""
        files = sorted(path for path in self.path.iterdir() if path.is_file() and path.name != _LOCK)
        return {path.name: path.read_bytes() for path in files}

    @classmethod
    def from_bytes(cls, files: dict[str, bytes]) -> RunFolder:
        """A temporary folder with these files."""
        folder = cls()
        for name, content in files.items():
            # Only names that a run folder has: nothing is written elsewhere.
            (folder.path / Path(name).name).write_bytes(content)
        return folder


def _rename_inside(file: Path, old: Path, new: Path) -> None:
    if not file.exists():
        return
    before, after = (json.dumps(str(path.absolute()))[1:-1] for path in (old, new))
    file.write_text(file.read_text(encoding="utf-8").replace(before, after), encoding="utf-8")
