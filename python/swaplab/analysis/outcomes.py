"""The figures of a row by which designs are compared: words, units, values, intervals and figures
of single seeds, by path.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from swaplab.analysis.verdict import Candidate, Verdict, verdict
from swaplab.core.model import Document, Row
from swaplab.core.statistics import Interval

MIB = 1 << 20


@dataclass(frozen=True)
class Outcome:
    """A figure of a row, of which less is better. `path` is its path in the document; `scale`
    converts the document's unit to `unit`.
    """

    path: str
    words: str
    unit: str
    scale: float = 1.0

    @property
    def title(self) -> str:
        """The words with the unit, for an axis or a column."""
        words = self.words[0].upper() + self.words[1:]
        return f"{words}, {self.unit}" if self.unit else words

    def value(self, row: Row) -> float | None:
        """Return the figure in `unit`; None if the world does not provide it."""
        value = figure(row, self.path)
        return None if value is None else value * self.scale

    def interval(self, row: Row) -> Interval | None:
        """Return the 95 % interval in `unit`; None if there is none."""
        pair = row.interval.get(self.path)
        if pair is None:
            parent, _, leaf = self.path.rpartition(".")
            bounds = _attribute(row, f"{parent}.{leaf}_interval") if parent else None
            pair = (float(bounds[0]), float(bounds[1])) if isinstance(bounds, tuple) else None
        return None if pair is None else Interval(pair[0] * self.scale, pair[1] * self.scale)

    def by_seed(self, row: Row) -> dict[int, float]:
        """Return the figure of each seed in `unit`; empty unless every seed has it."""
        values = {of_seed.seed: of_seed.figures[self.path] * self.scale for of_seed in row.by_seed if self.path in of_seed.figures}
        return values if len(values) == len(row.by_seed) else {}


#: Outcomes in order of importance: a verdict is about the first one that all rows have.
OUTCOMES = (
    Outcome("launches.delay_ms.mean", "mean launch delay", "ms"),
    Outcome("launches.resume_ms.mean", "mean resume delay", "ms"),
    Outcome("time.stall_ns", "stall time", "s", 1e-9),
    Outcome("time.io_ns", "I/O time", "s", 1e-9),
    Outcome("time.wall_ns", "run time", "s", 1e-9),
    Outcome("launches.cold", "cold starts", ""),
    Outcome("launches.kills", "kills", ""),
    Outcome("display.janky_share", "janky frames", "%", 100),
    Outcome("paging.faults", "faults", ""),
    Outcome("paging.swap_in_bytes", "swapped in", "MiB", 1 / MIB),
    Outcome("paging.swap_out_bytes", "swapped out", "MiB", 1 / MIB),
    Outcome("paging.flash_write_bytes", "written to flash", "MiB", 1 / MIB),
    Outcome("paging.nvm_write_bytes", "written to NVM", "MiB", 1 / MIB),
    Outcome("energy.total_j", "energy", "J"),
    Outcome("memory.total_dram_bytes", "DRAM in all", "MiB", 1 / MIB),
)
BY_PATH = {outcome.path: outcome for outcome in OUTCOMES}


def figure(row: Row, path: str) -> float | None:
    """Return the number at `path`, such as `launches.delay_ms.mean`, in the document's unit; None
    if a group or figure is null.
    """
    value = _attribute(row, path)
    if value is None and path == "time.stall_ns" and row.replay is not None and row.time.io_ns is not None:
        # A replay has one task, which waits for every operation, including the operation's
        # processor time.
        return row.time.io_ns + (row.time.cpu_swap_ns or 0.0)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _attribute(row: Row, path: str) -> object:
    at: object = row
    for name in path.split("."):
        if isinstance(at, BaseModel) and name in type(at).model_fields:
            at = getattr(at, name)
        elif isinstance(at, dict):
            at = at.get(name)
        else:
            return None
    return at


def notes_of(document: Document) -> list[str]:
    """Return the caveats for the figures: the experiment's `about` (for a fit, its errors), then
    the warnings.
    """
    return [line for line in (document.experiment.about, *document.warnings) if line]


def main_outcome(rows: Iterable[Row], among: Sequence[Outcome] = OUTCOMES) -> Outcome | None:
    """Return the most important outcome that every row has; None if there is none."""
    rows = list(rows)
    return next((outcome for outcome in among if rows and all(outcome.value(row) is not None for row in rows)), None)


def candidate(row: Row, outcome: Outcome, name: str | None = None, bound: bool = False) -> Candidate:
    """Convert a row to a candidate of a verdict.

    Candidates are paired by seed only if seeds are users, for which the world gives an interval:
    app sizes drawn for one recorded user are no evidence about other users.
    """
    value, interval = outcome.value(row), outcome.interval(row)
    return Candidate(name or row.design, value or 0.0, interval, outcome.by_seed(row) if interval is not None else {}, bound)


def memory_was_tight(rows: Iterable[Row]) -> bool | None:
    """Whether memory was tight in any row; None if no row has this information."""
    known = [tight for row in rows if (tight := _was_tight(row)) is not None]
    return any(known) if known else None


def _was_tight(row: Row) -> bool | None:
    """Whether memory was tight in a row. For a kernel: whether there were swap-outs, file refaults,
    page scans or kills.
    """
    if row.phone is not None:
        return row.phone.memory_was_tight
    if row.kernel is None or row.launches is None or row.paging.swap_out_bytes is None:
        return None
    signs = (row.paging.swap_out_bytes, row.paging.file_refaults, row.paging.scanned_pages, row.launches.kills)
    return any(sign is not None and sign > 0 for sign in signs)


def judge(rows: Sequence[Row], outcome: Outcome | None = None, names: Sequence[str] | None = None) -> Verdict:
    """Return the verdict on designs of one world and workload."""
    labels = list(names) if names is not None else [row.design for row in rows]
    labels = [label for row, label in zip(rows, labels, strict=True) if row.invalid is None]
    rows = [row for row in rows if row.invalid is None]
    ranked_by = outcome or main_outcome(rows)
    if ranked_by is None:
        return Verdict(None, "No verdict: the designs have no figure in common.")
    if len(kinds := list(dict.fromkeys(row.kind for row in rows))) > 1:
        # A model, an upper bound and a measurement are not ranked with each other.
        parts = [[at for at, row in enumerate(rows) if row.kind == kind] for kind in kinds]
        texts = [judge([rows[at] for at in part], ranked_by, [labels[at] for at in part]).text for part in parts]
        return Verdict(None, " ".join(f"{kind.capitalize()}: {text}" for kind, text in zip(kinds, texts, strict=True)))
    # A replay is deterministic: its figures are exact for its trace.
    exact = all(row.world == "replay" for row in rows) and all(row.seeds == 1 for row in rows)
    candidates = [candidate(row, ranked_by, label) for row, label in zip(rows, labels, strict=True) if ranked_by.value(row) is not None]
    was_tight = memory_was_tight(rows)
    if was_tight is False and any(row.paging.swap_out_bytes for row in rows):
        # Pages of cached apps were swapped out although memory sufficed: that difference is real.
        was_tight = None
    return verdict(candidates, ranked_by.words, ranked_by.unit, exact, was_tight)
