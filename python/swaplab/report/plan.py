"""The section of a plan: the answer, every choice no other beats, and the curves it rests on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from swaplab.plan import answer
from swaplab.report import mrc, schemes
from swaplab.report.page import Cell, Section, Table


def matches(document: dict[str, Any]) -> bool:
    return isinstance(document.get("plan"), dict)


def section(document: dict[str, Any], key: str) -> Section:
    """Everything the page says of one `swaplab plan` document."""
    found = document["plan"]
    base = schemes.section(document, key)
    curve = mrc.section({"trace": document["trace"], **document["mrc"]}, f"{key}-curve")
    target = found["target"]
    asked = f"{target['seconds']:g} s" if target["seconds"] is not None else f"{target['percent']:g} % above the least time found"
    return replace(
        base,
        title=f"Plan for {document['trace'].get('name', 'a trace')}",
        verdict=answer(document),
        evidence=[f"Asked for: at most {asked}. {base.verdict}", *base.evidence, curve.verdict],
        figures=[*base.figures, *curve.figures],
        tables=[_front(found["front"]), *(replace(table, folded=True) for table in base.tables)],
    )


def _front(rows: list[dict[str, Any]]) -> Table:
    columns = [
        "scheme",
        "memory",
        "DRAM in all, MiB",
        "NVM, MiB",
        "flash, MiB",
        "time, s",
        "energy, J",
        "written to NVM, MiB",
        "to flash, MiB",
    ]
    cells = []
    for row in rows:
        sizes = [f"{row[name] / 2**20:.1f}" for name in ("dram_total_bytes", "nvm_bytes", "flash_bytes")]
        written = [f"{row[name] / 2**20:.1f}" for name in ("nvm_write_bytes", "flash_write_bytes")]
        joules = "-" if row["energy_j"] is None else f"{row['energy_j']:.4f}"
        cells.append([Cell(text) for text in (row["scheme"], row["memory"], *sizes, f"{row['time_s']:.3f}", joules, *written)])
    return Table("Choices that no other beats in both DRAM and time", columns, cells)
