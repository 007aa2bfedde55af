"""The result of a world, and the options of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import polars as pl

from swaplab.core.bases import TolerantModel
from swaplab.core.files import file_name
from swaplab.core.model import Host, Row

#: Called with the units of work done and their total; may raise KeyboardInterrupt.
Listener = Callable[[int, int], None]


class CoreResult(TolerantModel):
    """The rows and warnings that a world of the core returns."""

    rows: list[Row]
    warnings: list[str]


@dataclass
class WorldResult:
    """Rows in the order of points and designs; tables by name (times in ns, a column `design`); the
    machine, if it was measured on.
    """

    rows: list[Row]
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)
    host: Host | None = None
    warnings: list[str] = field(default_factory=list)
    #: Versions and hashes of the software and data, other than swaplab, that the figures depend on.
    versions: dict[str, str] = field(default_factory=dict)
    #: Further text files of a run folder by name, such as the kernel's events.
    files: dict[str, str] = field(default_factory=dict)


def files_by_run(suffix: str, designs: Iterable[tuple[str, list[str]]]) -> dict[str, str]:
    """Name the texts of each design's runs, such as the kernel's events, `DESIGN-NUMBER.SUFFIX`;
    empty texts are left out.
    """
    return {f"{file_name(design)}-{number}.{suffix}": text for design, texts in designs for number, text in enumerate(texts) if text}


#: What a dry run says of a world that changes no setting of the machine.
NO_CHANGE = "makes no change to the machine; not run"


@dataclass(frozen=True)
class Options:
    """Options of executing a run. None of them changes a figure."""

    #: Number of threads or processes; 0: one per core.
    jobs: int = 0
    listener: Listener | None = None
    #: Whether to return tables.
    tables: bool = False
    #: Overrides `run.kernel.target`; empty: the experiment's value.
    target: str = ""
    #: Whether apps may run as root if `run.kernel.user` is root.
    as_root: bool = False
    #: Print the changes to the machine without making them.
    dry_run: bool = False
    #: Called with lines of progress for the user.
    say: Callable[[str], None] = lambda line: None
