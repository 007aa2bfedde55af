"""What a run of many points has found so far: a file a point, each whole or absent, until the document is written.

A file is named by what makes two points the same, so a run that goes on, even with other points, takes what is there and runs the rest.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from swaplab.core.errors import BadInput
from swaplab.core.files import path_for_message, write_whole
from swaplab.worlds.result import CoreResult

PARTS = "parts"


class Store:
    """The folder of one run. Raises BadInput where it cannot be written into, or has something in it and `resume` is false."""

    def __init__(self, folder: Path, resume: bool = False) -> None:
        self.folder, self.parts = folder, folder / PARTS
        self._made = not folder.exists()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not resume and any(folder.iterdir()):
                raise BadInput(f"{path_for_message(folder)}: not empty; expected a new folder, or --resume to go on with a run")
            self.parts.mkdir(exist_ok=True)
            for left in folder.rglob(".*.part"):
                left.unlink()
        except OSError as error:
            raise BadInput(f"{path_for_message(folder)}: {error.strerror}; expected a folder to write the run into") from None

    def results(self, keys: list[str]) -> dict[int, CoreResult]:
        """Rows and warnings of the points that are done, by index."""
        names = {path.stem for path in self.parts.glob("*.json")}
        return {at: CoreResult.model_validate_json(self._file(key).read_bytes()) for at, key in enumerate(keys) if key in names}

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

    def abandon(self) -> None:
        """Leave no folder of ours behind in which nothing is."""
        with suppress(OSError):  # there is something in it
            self.parts.rmdir()
            if self._made:
                self.folder.rmdir()

    def _file(self, key: str) -> Path:
        return self.parts / f"{key}.json"
