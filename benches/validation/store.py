"""The results of a commit's draws on one kernel and mechanism, in a file that grows from run to
run.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict
from swaplab.core.errors import BadInput

from benches.validation.facts import Facts
from benches.validation.prices import Prices
from benches.validation.result import Result

FOLDER = Path(__file__).parent / "results"


class Stored(BaseModel):
    """All results so far. `mglru`: whether the kernel reclaims by generations, and the phone by its
    model of them.
    """

    model_config = ConfigDict(ser_json_inf_nan="constants")

    commit: str
    kernel: str
    mglru: bool
    recorded: bool
    facts: Facts
    prices: Prices
    results: list[Result] = []

    @property
    def path(self) -> Path:
        """The file of this set of draws."""
        return place(self.commit, self.kernel, self.mglru)

    @property
    def numbers(self) -> set[int]:
        """The numbers of the configurations that have been run."""
        return {int(result.drawn.name.rsplit("-", 1)[1]) for result in self.results}

    def add(self, results: list[Result]) -> None:
        """Add the results of a configuration and write the file."""
        self.results = sorted([*self.results, *results], key=lambda result: int(result.drawn.name.rsplit("-", 1)[1]))
        self.path.parent.mkdir(exist_ok=True)
        part = self.path.with_suffix(".part")
        part.write_text(self.model_dump_json(indent=1) + "\n")
        part.replace(self.path)


def place(commit: str, kernel: str, mglru: bool) -> Path:
    """Name the file of a set of draws."""
    return FOLDER / f"{commit[:12]}-{kernel}{'-mglru' if mglru else ''}.json"


def read(path: Path) -> Stored | None:
    """Read a set of draws; None if there is no file."""
    if not path.exists():
        return None
    try:
        return Stored.model_validate_json(path.read_text())
    except ValueError as error:
        raise BadInput(f"{path}: no results of this bench ({error}); expected a file that it wrote") from None
