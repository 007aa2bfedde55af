"""The section of the worst launches: a launch with known parts, and a table without launches."""

from __future__ import annotations

import documents as d
import polars as pl
from swaplab.analysis.explain import PARTS
from swaplab.report import worst


def test_a_launch_of_20_ms_work_and_30_ms_of_flash_by_hand() -> None:
    ms = 1_000_000
    row = {"design": "zram", "seed": 0, "launch": 3, "app": "maps", "start": "resume", "at_ns": 0, "ready_ns": 50 * ms}
    row |= {"faults": 1, "swapped_in": 1, "file_reads": 0} | dict.fromkeys(PARTS, 0) | {"cpu_ns": 20 * ms, "swap_read_flash_ns": 30 * ms}
    document = d.document([d.phone_row("zram", [50.0])])
    [section] = worst.sections(document, pl.DataFrame([row]))
    assert section.verdict == "Launch 3, maps under zram, waited longest: 30 ms."
    assert section.figures[0].data.rows() == [
        ("3 maps, zram, resume", "the app's own work", "the app's own work", 0.0, 20.0),
        ("3 maps, zram, resume", "swap reads", "swap reads, flash", 20.0, 50.0),
    ]
    assert [cell.text for cell in section.tables[0].rows[0]] == ["3 maps, zram", "resume", "50", "30", "swap reads, flash", "30"]
    assert worst.sections(document, pl.DataFrame([row | {"ready_ns": 20 * ms, "swap_read_flash_ns": 0}])) == []
    assert worst.sections(document, pl.DataFrame({"launch": [1]})) == []
