"""What a run of many points has found so far: a file a point, each whole or absent, until the document is written.

A file is named by what makes two points the same, so a run that goes on, even with other points, takes what is there and runs the rest.
One run at a time writes into a folder: it holds a lock on the folder itself, which the kernel releases however the run ends.
"""

from __future__ import annotations

import fcntl
import os
import weakref
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from swaplab.core.errors import BadInput, Failed
from swaplab.core.files import path_for_message, write_whole
from swaplab.worlds.result import CoreResult

PARTS = "parts"
#: Stores of this process that hold the lock of their folder.
LOCKED: weakref.WeakSet[Store] = weakref.WeakSet()


class Store:
    """The folder of one run. Raises BadInput where it cannot be written into, or has something in it and `resume` is false, and Failed
    where another run is writing into it."""

    def __init__(self, folder: Path, resume: bool = False) -> None:
        self.folder, self.parts = folder, folder / PARTS
        self._made = not folder.exists()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._release = self._lock()
            if not resume and any(folder.iterdir()):
                raise BadInput(f"{path_for_message(folder)}: not empty; expected a new folder, or --resume to go on with a run")
            if self.parts.is_symlink():  # what is in it is deleted in the end
                raise BadInput(f"{path_for_message(self.parts)}: a link; expected a folder of this run's own")
            self.parts.mkdir(exist_ok=True)
            for left in folder.rglob(".*.part"):
                left.unlink()
        except OSError as error:
            raise BadInput(f"{path_for_message(folder)}: {error.strerror}; expected a folder to write the run into") from None

    def results(self, keys: list[str]) -> dict[int, CoreResult]:
        """Rows and warnings of the points that are done, by index. A point whose file is damaged, as by a loss of power, is not done."""
        names = {path.stem for path in self.parts.glob("*.json")}
        results = {}
        for at, key in enumerate(keys):
            if key in names:
                with suppress(ValidationError):
                    results[at] = CoreResult.model_validate_json(self._file(key).read_bytes())
        return results

    def add(self, key: str, result: CoreResult) -> None:
        """Keep the rows of one point, and the warnings of what ran with it."""
        write_whole(self._file(key), result.model_dump_json(by_alias=True).encode())

    def finish(self, files: dict[str, bytes]) -> None:
        """Write the run's files, the document last; then the parts go."""
        for name, content in files.items():
            write_whole(self.folder / name, content)
        for file in self.parts.iterdir():
            file.unlink()
        self.parts.rmdir()
        self._release()

    def abandon(self) -> None:
        """Leave no folder of ours behind in which nothing is."""
        with suppress(OSError):  # there is something in it
            self.parts.rmdir()
            if self._made:
                self.folder.rmdir()
        self._release()

    def _lock(self) -> weakref.finalize[[int], Store]:
        """Lock the folder; what releases it. Stores of one process share a lock: one whose run failed may still be there."""
        held = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        release = weakref.finalize(self, os.close, held)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            LOCKED.add(self)
        except BlockingIOError:
            release()
            if not any(other._release.alive and other.folder.exists() and other.folder.samefile(self.folder) for other in LOCKED):
                raise Failed(f"{path_for_message(self.folder)}: another run is writing into it; wait for its end") from None
        except OSError:  # a file system without locks on folders
            pass
        return release

    def _file(self, key: str) -> Path:
        return self.parts / f"{key}.json"
