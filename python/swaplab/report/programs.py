"""The report section of real programs under the pager (world `memory`)."""

from __future__ import annotations

from collections.abc import Sequence

from swaplab.analysis.outcomes import MIB, OUTCOMES, judge
from swaplab.analysis.verdict import number, plural
from swaplab.core.model import Document, MemoryDetail, Row
from swaplab.report import launches
from swaplab.report.launches import text_of_number
from swaplab.report.origin import LabeledRow, kinds_of, labeled, memory_text, mixed_kinds, origin, workload_name
from swaplab.report.page import Cell, Section, Table

TIMES = tuple(outcome for outcome in OUTCOMES if outcome.path in ("time.wall_ns", "time.stall_ns", "time.io_ns"))


def section(document: Document, rows: Sequence[Row], key: str) -> Section:
    """Build the section about one program or list of apps in real memory."""
    entries = labeled(rows)
    outcome = next((time for time in TIMES if all(time.value(row) is not None for row in rows)), None)
    failed = [f"{entry.label}: the program ended with code {code}." for entry in entries if (code := _detail(entry).exit_code)]
    return Section(
        key=key,
        title=f"Real memory: {workload_name(rows[0])}",
        kinds=kinds_of(rows),
        verdict=judge(rows, outcome, [entry.label for entry in entries]).text,
        evidence=[
            *mixed_kinds(rows),
            *failed,
            *launches.invalid_lines(entries),
            *(f"{entry.label}: {memory_text(entry.row.memory)}." for entry in entries),
        ],
        figures=[figure for figure in (launches.bytes_moved(entries, key), launches.energy(entries, key)) if figure is not None],
        tables=[_table(entries), _counters(entries)],
        provenance=origin(document, rows),
        warnings=list(document.warnings),
    )


def _detail(entry: LabeledRow) -> MemoryDetail:
    return entry.row.program or MemoryDetail()


def _table(rows: Sequence[LabeledRow]) -> Table:
    columns = ["design", "ran for, s", "processes", "copied pages", "direct reads", "swapped in, MiB", "swapped out, MiB"]
    cells = []
    for entry in rows:
        paging, wall = entry.row.paging, entry.row.time.wall_ns
        texts = [text_of_number(None if wall is None else wall / 1e9), number(_detail(entry).processes)]
        texts += [text_of_number(paging.copied_pages), text_of_number(paging.direct_reads)]
        texts += [text_of_number(None if size is None else size / MIB) for size in (paging.swap_in_bytes, paging.swap_out_bytes)]
        cells.append([Cell(entry.label), *map(Cell, texts)])
    fewest, most = min(entry.row.seeds for entry in rows), max(entry.row.seeds for entry in rows)
    runs = plural(most, "run") if fewest == most else f"{number(fewest)} to {plural(most, 'run')}"
    return Table(f"Every design ({runs} each)", columns, cells)


def _counters(rows: Sequence[LabeledRow]) -> Table:
    names = list(dict.fromkeys(name for entry in rows for name in _detail(entry).stats))
    cells = [[Cell(name.replace("_", " ")), *(Cell(text_of_number(_detail(entry).stats.get(name))) for entry in rows)] for name in names]
    return Table("The pager's counters", ["counter", *(entry.label for entry in rows)], cells, folded=True)
