"""Printing of a document as tables on the terminal, one per world."""

from __future__ import annotations

from swaplab.cli.table import count, print_columns, scaled
from swaplab.core.document import figure
from swaplab.core.files import printable
from swaplab.core.model import Document, Row

MIB = float(1 << 20)


def show(document: Document) -> None:
    """Print a table per world of the document, and its warnings."""
    for world in dict.fromkeys(row.world for row in document.rows):
        rows = [row for row in document.rows if row.world == world]
        kinds = ", ".join(dict.fromkeys(row.kind for row in rows))
        print(printable(f"{world} ({kinds}); {rows[0].workload}"))
        print_columns(_launches(rows) if rows[0].launches else _replay(rows), left=(0, 1))
        for row in rows:
            if text := _mapped_reads(row):
                print(printable(f"{row.design}: {text}"))
    for line in document.warnings:
        print(printable(f"note: {line}"))


def _mapped_reads(row: Row) -> str:
    counted = row.kernel.mapped_reads if row.kernel is not None else None
    if counted is None or counted.delay_ms is None:
        return ""
    loads = f"{count(counted.loads)} loads from mapped NVM, {count(counted.misses)} beyond a cache of {counted.cache_bytes >> 10} KiB"
    visits = f"{count(counted.visit_misses)} of visits at {counted.line_ns:.0f} ns"
    return f"{loads}; with {visits}, the mean delay is {counted.delay_ms.mean:.1f} ms"


def _point(row: Row) -> str:
    return ", ".join(f"{key.removeprefix('machine.')} {value}" for key, value in row.point.items()) or "-"


def _interval(row: Row, path: str, scale: float = 1.0, digits: int = 1) -> str:
    """Format a figure, with its 95 % interval if there is one."""
    text = scaled(figure(row, path), scale, digits)
    if bounds := row.interval.get(path):
        return f"{text} [{bounds[0] / scale:,.{digits}f}, {bounds[1] / scale:,.{digits}f}]"
    return text


def _launches(rows: list[Row]) -> list[tuple[str, ...]]:
    head = (
        "design",
        "point",
        "launches",
        "cold",
        "kills",
        "delay ms",
        "p95 ms",
        "swap-in MiB",
        "swap-out MiB",
        "direct reads",
        "energy J",
        "DRAM MiB",
        "other MiB",
    )
    table: list[tuple[str, ...]] = [head]
    for row in rows:
        launches = row.launches
        assert launches is not None, "a row of launches"
        table.append(
            (
                row.design + (" !" if row.invalid else ""),
                _point(row),
                count(launches.count),
                count(launches.cold),
                _interval(row, "launches.kills"),
                _interval(row, "launches.delay_ms.mean"),
                scaled(launches.delay_ms.p95 if launches.delay_ms else None, 1.0),
                scaled(row.paging.swap_in_bytes, MIB),
                scaled(row.paging.swap_out_bytes, MIB),
                count(row.paging.direct_reads),
                scaled(row.energy.total_j if row.energy else None, 1.0),
                scaled(row.memory.total_dram_bytes, MIB, 0),
                scaled(row.memory.other_medium_bytes, MIB, 0),
            )
        )
    return table


def _replay(rows: list[Row]) -> list[tuple[str, ...]]:
    counts = ("faults", "swap reads", "swap writes", "file reads", "direct reads")
    head = ("design", "point", *counts, "I/O s", "of first", "DRAM MiB", "other MiB")
    table: list[tuple[str, ...]] = [head]
    first: dict[str, float] = {}
    for row in rows:
        first.setdefault(_point(row), row.time.io_ns or 0.0)
    for row in rows:
        base = first[_point(row)]
        io = row.time.io_ns
        reads = row.paging.swap_reads if row.paging.swap_reads is not None else row.paging.copied_pages
        writes = row.paging.swap_writes
        table.append(
            (
                row.design + (" *" if row.invalid else ""),
                _point(row),
                count(row.paging.faults),
                count(reads),
                count(writes) if writes is not None else f"{scaled(row.paging.swap_out_bytes, 4096.0, 0)}",
                count(row.paging.file_reads),
                count(row.paging.direct_reads),
                scaled(io, 1e9, 3),
                f"{io / base:.3f}" if io is not None and base else "-",
                scaled(row.memory.total_dram_bytes, MIB),
                scaled(row.memory.other_medium_bytes, MIB),
            )
        )
    return table
