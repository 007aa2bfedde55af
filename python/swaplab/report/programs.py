"""The section of real programs under the pager (world `memory`)."""

from __future__ import annotations

from collections.abc import Sequence

from swaplab.analysis.outcomes import MIB, OUTCOMES, judge
from swaplab.analysis.verdict import number, plural
from swaplab.core.model import Document, MemoryDetail, Row
from swaplab.report import launches
from swaplab.report.launches import text_of_number
from swaplab.report.origin import Labelled, kinds_of, labelled, memory_text, mixed_kinds, origin, workload_name
from swaplab.report.page import Cell, Section, Table

TIMES = tuple(one for one in OUTCOMES if one.path in ("time.wall_ns", "time.stall_ns", "time.io_ns"))


def section(document: Document, rows: Sequence[Row], key: str) -> Section:
    """Everything the page says about one program or list of apps in real memory."""
    found = labelled(rows)
    outcome = next((one for one in TIMES if all(one.value(row) is not None for row in rows)), None)
    failed = [f"{one.label}: the program ended with code {code}." for one in found if (code := _detail(one).exit_code)]
    return Section(
        key=key,
        title=f"Real memory: {workload_name(rows[0])}",
        kinds=kinds_of(rows),
        verdict=judge(rows, outcome, [one.label for one in found]).text,
        evidence=[
            *mixed_kinds(rows),
            *failed,
            *launches.invalid_lines(found),
            *(f"{one.label}: {memory_text(one.row.memory)}." for one in found),
        ],
        figures=[figure for figure in (launches.bytes_moved(found, key), launches.energy(found, key)) if figure is not None],
        tables=[_table(found), _counters(found)],
        provenance=origin(document, rows),
        warnings=list(document.warnings),
    )


def _detail(one: Labelled) -> MemoryDetail:
    return one.row.program or MemoryDetail()


def _table(rows: Sequence[Labelled]) -> Table:
    columns = ["design", "ran for, s", "processes", "copied pages", "direct reads", "swapped in, MiB", "swapped out, MiB"]
    cells = []
    for one in rows:
        paging, wall = one.row.paging, one.row.time.wall_ns
        texts = [text_of_number(None if wall is None else wall / 1e9), number(_detail(one).processes)]
        texts += [text_of_number(paging.copied_pages), text_of_number(paging.direct_reads)]
        texts += [text_of_number(None if size is None else size * MIB) for size in (paging.swap_in_bytes, paging.swap_out_bytes)]
        cells.append([Cell(one.label), *map(Cell, texts)])
    runs = max(one.row.seeds for one in rows)
    return Table(f"Every design ({plural(runs, 'run')} each)", columns, cells)


def _counters(rows: Sequence[Labelled]) -> Table:
    names = list(dict.fromkeys(name for one in rows for name in _detail(one).stats))
    cells = [[Cell(name.replace("_", " ")), *(Cell(text_of_number(_detail(one).stats.get(name))) for one in rows)] for name in names]
    return Table("The pager's counters", ["counter", *(one.label for one in rows)], cells, folded=True)
