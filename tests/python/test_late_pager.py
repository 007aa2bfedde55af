"""The report about a program that exceeded its budget while its pager was not scheduled."""

from __future__ import annotations

from swaplab.worlds.memory.pager import Process, late_line

MIB = 1 << 20


def process(pid: int, late: int) -> Process:
    return Process(pid, {"late_peak_bytes": late, "dram_limit_bytes": 16 * MIB})


def test_the_worst_process_above_5_percent_is_reported():
    assert late_line([]) is None
    assert late_line([process(7, MIB // 2)]) is None
    line = late_line([process(7, MIB), process(8, 2 * MIB)])
    assert line == "process 8: up to 2.0 MiB over its budget of 16.0 MiB, while its pager got no processor or was slowed down"
