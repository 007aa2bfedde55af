"""What a world gives back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import polars as pl
from pydantic import BaseModel

from swaplab.core.files import file_name
from swaplab.core.model import Host, Row

#: Hears of pieces of work done and pieces in all; may raise KeyboardInterrupt.
Listener = Callable[[int, int], None]


class CoreResult(BaseModel):
    """What a world of the core gives."""

    rows: list[Row]
    warnings: list[str]


@dataclass
class WorldResult:
    """Rows in the order of points and designs; tables by name (times in ns, a column `design`); the machine where one measured."""

    rows: list[Row]
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)
    host: Host | None = None
    warnings: list[str] = field(default_factory=list)
    #: Versions and hashes of what the figures depend on beside swaplab.
    versions: dict[str, str] = field(default_factory=dict)
    #: Further text files of a run folder by name, such as the kernel's events.
    files: dict[str, str] = field(default_factory=dict)


def files_by_run(suffix: str, designs: Iterable[tuple[str, list[str]]]) -> dict[str, str]:
    """Files named `DESIGN-NUMBER.SUFFIX` from the texts of each design's runs, such as the kernel's events; an empty text gives no file."""
    return {f"{file_name(design)}-{number}.{suffix}": text for design, texts in designs for number, text in enumerate(texts) if text}


@dataclass(frozen=True)
class Options:
    """How a run is carried out; nothing here changes a figure."""

    #: Threads or processes; 0: one a core.
    jobs: int = 0
    listener: Listener | None = None
    #: Whether tables are wanted.
    tables: bool = False
    #: In place of `run.kernel.target`; empty: as the experiment says.
    target: str = ""
    #: Whether apps may run as root, where `run.kernel.user` says so.
    as_root: bool = False
    #: Print what would be done to the machine, and do nothing.
    dry_run: bool = False
    #: Hears lines for a person (what a live run does now).
    say: Callable[[str], None] = lambda line: None
