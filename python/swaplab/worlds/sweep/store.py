"""The finished points of a run, one file per point, each written atomically, until the document is
written.

A file is named by the hash of everything that determines its point, so a resumed run, even with
other points, reuses finished points. One run at a time may write into a folder: it holds a lock on
the folder itself, which the kernel releases when the run ends.
"""

from __future__ import annotations

import fcntl
import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pydantic import ValidationError

from swaplab.core.document import SUMMARY, read
from swaplab.core.errors import BadInput, Failed
from swaplab.core.experiment import dumped
from swaplab.core.files import path_for_message, write_whole
from swaplab.core.model import Experiment
from swaplab.worlds.result import CoreResult

PARTS = "parts"
#: Stores of this process that hold the lock of their folder.
LOCKED: weakref.WeakSet[Store] = weakref.WeakSet()


class Store:
    """The folder of a run. `resumed_by`: what makes `resume` true, such as an option, for messages;
    empty if nothing does.

    Raises BadInput if it cannot be written, or is not empty and `resume` is false or what it has is
    not a run; Failed if another run is writing into it.
    """

    def __init__(self, folder: Path, resume: bool = False, resumed_by: str = "") -> None:
        self.folder, self.parts = folder, folder / PARTS
        self._made = not folder.exists()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._release = self._lock()
            if not resume and any(folder.iterdir()):
                or_resumed = f", or {resumed_by} to go on with a stopped run" if resumed_by else ""
                raise BadInput(f"{path_for_message(folder)}: not empty; expected a new or empty folder{or_resumed}")
            if any(folder.iterdir()) and not (self.parts.exists() or self.parts.is_symlink() or (folder / SUMMARY).exists()):
                raise BadInput(f"{path_for_message(folder)}: not the folder of a run; expected that of a stopped run, or a new one")
            if self.parts.is_symlink():  # its content is deleted when the run is finished
                raise BadInput(f"{path_for_message(self.parts)}: a link; expected a folder of this run's own")
            self.parts.mkdir(exist_ok=True)
            for unfinished in folder.rglob(".*.part"):
                unfinished.unlink()
        except OSError as error:
            raise BadInput(f"{path_for_message(folder)}: {error.strerror}; expected a folder to write the run into") from None

    def refuse_other(self, experiment: Experiment) -> None:
        """Raise BadInput if the folder has the finished run of another experiment, which would be
        replaced.
        """
        if (self.folder / SUMMARY).is_file() and dumped(read(self.folder).experiment) != dumped(experiment):
            raise BadInput(
                f"{path_for_message(self.folder)}: the finished run of another experiment; expected one of this, or a new folder"
            )

    def results(self, keys: list[str]) -> dict[int, CoreResult]:
        """Read the rows and warnings of finished points, by index. A point with a damaged file, as
        after a power loss, is not finished.
        """
        names = {path.stem for path in self.parts.glob("*.json")}
        results = {}
        for at, key in enumerate(keys):
            if key in names:
                with suppress(ValidationError):
                    results[at] = CoreResult.model_validate_json(self._file(key).read_bytes())
        return results

    def add(self, key: str, result: CoreResult) -> None:
        """Save the rows of a point, and the warnings of its batch."""
        write_whole(self._file(key), result.model_dump_json(by_alias=True).encode())

    def finish(self, files: dict[str, bytes]) -> None:
        """Write the run's files in the order of `files`, whose last one is the document; then
        remove the files of the points.
        """
        for name, content in files.items():
            write_whole(self.folder / name, content)
        for file in self.parts.iterdir():
            file.unlink()
        self.parts.rmdir()
        self._release()

    def abandon(self) -> None:
        """Remove the folders that the store created if they are empty, and release the lock."""
        with suppress(OSError):  # it is not empty
            self.parts.rmdir()
            if self._made:
                self.folder.rmdir()
        self._release()

    def _lock(self) -> weakref.finalize[[int], Store]:
        """Lock the folder. Returns the function that releases the lock. Stores of one process share
        it, as a failed run's may persist.
        """
        descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        release = weakref.finalize(self, os.close, descriptor)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
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


@contextmanager
def abandoned_on_error(store: Store | None) -> Iterator[None]:
    """Abandon the store, if there is one, when the block raises."""
    try:
        yield
    except BaseException:
        if store is not None:
            store.abandon()
        raise
