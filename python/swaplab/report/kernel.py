"""The report section of launches on a real kernel, measured or under virtual time, with the machine
and the calibration.
"""

from __future__ import annotations

from collections.abc import Sequence

from swaplab.analysis.outcomes import judge
from swaplab.analysis.verdict import number, plural
from swaplab.core.model import Document, KernelDetail, Row
from swaplab.report import launches
from swaplab.report.launches import text_of_number
from swaplab.report.origin import LabeledRow, kinds_of, labeled, mixed_kinds, origin, workload_name
from swaplab.report.page import Cell, Section, Table

TITLES = {"kernel": "This kernel", "vm": "A kernel under virtual time"}


def section(document: Document, rows: Sequence[Row], key: str) -> Section:
    """Build the section about one workload on a kernel."""
    entries = labeled(rows)
    figures = [
        launches.times(entries, key),
        launches.feelings(entries, key),
        launches.bytes_moved(entries, key),
        launches.energy(entries, key),
    ]
    where = _release(document, rows[0].world)
    return Section(
        key=key,
        title=f"{TITLES.get(rows[0].world, rows[0].world)}{f' ({where})' if where else ''}: {workload_name(rows[0])}",
        kinds=kinds_of(rows),
        verdict=launches.verdict_text(entries) if rows[0].launches is not None else judge(rows).text,
        evidence=[*mixed_kinds(rows), *_evidence(entries), *launches.invalid_lines(entries), *launches.memory_lines(entries)],
        figures=[figure for figure in figures if figure is not None],
        tables=[
            launches.design_table(entries),
            *_pressure(entries),
            *_mapped_reads(entries),
            *launches.wear_table(entries),
            *_calibration(entries),
            *_by_app(entries),
        ],
        provenance=origin(document, rows),
        warnings=list(document.warnings),
    )


def _release(document: Document, world: str) -> str:
    """Return the kernel release: for the world vm the guest's, from the document's versions; else
    the machine's.
    """
    if world == "vm":
        releases = [text for name, text in document.versions.items() if name.startswith("vm ") and name.endswith(": release")]
        return ", ".join(f"Linux {release}" for release in releases)
    return document.machine.kernel if document.machine is not None and document.machine.kernel else ""


def _detail(entry: LabeledRow) -> KernelDetail:
    return entry.row.kernel or KernelDetail()


def _evidence(rows: Sequence[LabeledRow]) -> list[str]:
    runs = max(entry.row.seeds for entry in rows)
    lines = [f"{plural(runs, 'repetition')} of each design. Intervals are 95 %."]
    lines += [
        f"{entry.label}: {plural(bad, 'page')} held wrong content: the figures are not to be used."
        for entry in rows
        if (bad := _detail(entry).bad_pages)
    ]
    if others := [entry.label for entry in rows if _detail(entry).others_swapping]:
        lines.append(f"Others on the machine swapped during {', '.join(others)}: counts of the whole machine are not this run's alone.")
    for entry in rows:
        if outliers := _detail(entry).outliers_ms:
            shown = ", ".join(number(value) for value in outliers[:5])
            lines.append(
                f"{entry.label}: {plural(len(outliers), 'outlier')} beyond three interquartile ranges, kept in every figure: {shown} ms."
            )
    return lines


def _pressure(rows: Sequence[LabeledRow]) -> list[Table]:
    columns = ["design", "swap, MiB", "refaults", "stalled (PSI some), ms", "all stalled (PSI full), ms", "PSI of", "kills by reason"]
    cells = []
    for entry in rows:
        time, launched = entry.row.time, entry.row.launches
        psi = [text_of_number(None if value is None else value / 1e6) for value in (time.psi_some_ns, time.psi_full_ns)]
        reasons = ", ".join(f"{name} {number(count)}" for name, count in launched.kill_reasons.items()) if launched is not None else ""
        texts = [
            number(_detail(entry).swap_size_bytes / (1 << 20)),
            text_of_number(entry.row.paging.refaults),
            *psi,
            _detail(entry).psi_scope or "-",
            reasons or "-",
        ]
        cells.append([Cell(entry.label), *map(Cell, texts)])
    return [Table("Pressure", columns, cells)]


def _mapped_reads(rows: Sequence[LabeledRow]) -> list[Table]:
    columns = ["design", "loads", "misses", "misses of visits", "ns a line", "mean delay, ms", "with the visit's misses, ms"]
    cells = []
    for entry in rows:
        counted, launched = _detail(entry).mapped_reads, entry.row.launches
        if counted is None or counted.delay_ms is None or launched is None or launched.delay_ms is None:
            continue
        values = [counted.loads, counted.misses, counted.visit_misses, counted.line_ns, launched.delay_ms.mean, counted.delay_ms.mean]
        cells.append([Cell(entry.label), *(Cell(number(value)) for value in values)])
    return [Table("Loads from NVM mapped in place, which no other time includes", columns, cells)] if cells else []


def _calibration(rows: Sequence[LabeledRow]) -> list[Table]:
    costs = {
        entry.label: entry.row.kernel.calibration
        for entry in rows
        if entry.row.kernel is not None and entry.row.kernel.calibration is not None
    }
    if not costs:
        return []
    names = list(dict.fromkeys(name for calibration in costs.values() for name in calibration.costs_ns))
    rows_of_costs = [
        [Cell(label), *(Cell(text_of_number(calibration.costs_ns.get(name))) for name in names)] for label, calibration in costs.items()
    ]
    columns = ["design", *(f"{name.removesuffix('_ns').replace('_', ' ')}, ns" for name in names)]
    errors = list(dict.fromkeys(name for calibration in costs.values() for name in calibration.errors))
    tables = [Table("Costs, as microbenchmarks measured them", columns, rows_of_costs, folded=True)]
    if errors:
        rows_of_errors = [
            [Cell(label), *(Cell(text_of_number(calibration.errors.get(name))) for name in errors)] for label, calibration in costs.items()
        ]
        tables.append(Table("How well they predict the run: median error in percent", ["design", *errors], rows_of_errors, folded=True))
    return tables


def _by_app(rows: Sequence[LabeledRow]) -> list[Table]:
    names = list(dict.fromkeys(name for entry in rows for name in _detail(entry).by_app_ms))
    if not names:
        return []
    cells = [[Cell(name), *(Cell(text_of_number(_detail(entry).by_app_ms.get(name))) for entry in rows)] for name in names]
    return [Table("Median delay of each app, ms", ["app", *(entry.label for entry in rows)], cells, folded=True)]
