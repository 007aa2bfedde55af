"""A guest's memory samples as a recording: a case worked by hand, and a real guest's, which the fit
reads.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from command import swaplab
from swaplab.analysis import fit
from swaplab.worlds.vm import records, samples
from swaplab.worlds.vm.guest import Outcome

VISIT = (
    '{"record": "visit", "round": 0, "warm_up": false, "app": "maps", "start": "%s", "at_ns": %d, "ready_ns": 500000000,'
    ' "alive": 1, "bad": 0,'
    ' "process": {"cpu_ns": 0, "run_delay_ns": 0, "minor_faults": 0, "major_faults": 0},'
    ' "waits": {"user_ns": 0, "system_ns": 0, "memory_ns": 0, "io_ns": 0, "cpu_ns": 0}, "kswapd_ns": 0, "kernel": {},'
    ' "so_far": {"swap_in_pages": 0, "swap_out_pages": 0, "psi_some_us": 0, "psi_full_us": 0, "kernel_kills": 0},'
    ' "memory": {"free_kb": 0, "per_cpu_free_kb": 0, "file_kb": 0, "anonymous_kb": 0, "dirty_kb": 0,'
    ' "swap_total_kb": 0, "swap_free_kb": 0, "zram": null},'
    ' "generations": []}'
)
KILL = (
    '{"record": "kill", "at_ns": 8000000000, "app": "chat", "adjustment": 905, "reason": "low_memory", "free_kb": 0, "file_kb": 0,'
    ' "stall_ms": 0, "swap_free_percentage": 0, "resident_kb": 0, "warm_up": false}'
)
SAMPLE = '{"record": "sample", "at_ns": %d, "lines": ["MemTotal: 9 kB"]}'


def outcome_with(*lines: str) -> Outcome:
    """Build the outcome of a guest with these records on its console."""
    outcome = Outcome()
    for line in lines:
        record = records.parse(records.RECORD_PREFIX + line.encode())
        assert record is not None
        outcome.take(record)
    return outcome


def test_a_recording_by_hand() -> None:
    # The record of the kill precedes that of its visit, but the kill is later.
    outcome = outcome_with(SAMPLE % 2e9, KILL, VISIT % ("cold", 2e9), SAMPLE % 4e9, VISIT % ("resume", 10e9))
    assert samples.recording(outcome, 1_000_000_000, 2.0).splitlines() == [
        *("@ 0.000000000", "MemTotal: 9 kB", "@ 0.000000000 start maps", "@ 0.000000000 launch maps 0.750000000"),
        *("@ 1.000000000", "MemTotal: 9 kB", "@ 3.000000000 kill chat", "@ 4.000000000 launch maps 0.750000000"),
    ]
    assert samples.recording(outcome_with(KILL), 0, 1.0) == "", "nobody asked for samples"


@pytest.mark.guests
def test_a_phone_can_be_fitted_to_a_guest(file: Path, tmp_path: Path) -> None:
    run = swaplab("run", file, "-o", tmp_path / "out", "--set", "run.vm.samples=true", "--set", "run.vm.events=[]", "--json", timeout=900)
    [row] = run.document["rows"]
    [place] = (tmp_path / "out").glob("*.samples")
    found = fit.read(place, "{}")
    # There are three visits of the warm-up, and three counted ones, which are in the row.
    assert found.cold.count + found.resumes.count == 6 and {app.name for app in found.apps} == {"app-1", "app-2", "app-3"}
    # The last sample is taken in the last visit, after which a few more pages are swapped out.
    assert found.swap_out_pages is not None and found.swap_out_pages * 4096 > 0.9 * row["paging"]["swap_out_bytes"] > 0
    assert all(app.anon_mib + app.file_mib == pytest.approx(44, rel=0.1) for app in found.apps)
    assert found.system.anon_mib > 0 and found.mem_total_mib is not None and 100 < found.mem_total_mib < 192
    # A line through the samples of one second, in which the kernel's other memory grows, too: the
    # pool's share is only roughly known, and changes with the guest's program (0.93 was seen).
    assert found.kernel is not None and 10 < found.kernel.mib < 60 and 0.1 < found.kernel.pool_share < 1
