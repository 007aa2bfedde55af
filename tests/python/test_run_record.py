"""The simulator against the pager: a replay of the pager's record with the same policy gives nearly
the same counts.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from test_run import SQL, SWAPLAB, paged, program, pytestmark  # noqa: F401
from test_run_kernel import TOUCH, build  # noqa: F401


def compared(tmp_path: Path, command: list[str], dram: str, scheme: str, **more) -> dict[str, tuple[int, float]]:
    """Run a command under the pager, replay its record, and return the pager's and the simulator's
    counts by name.
    """
    stats, trace = tmp_path / "stats.json", tmp_path / "run.slt"
    run = paged(command, dram, "--swap", scheme, "--record", str(trace), stats=stats, **more)
    assert run.returncode == 0, run.stderr
    real = json.loads(stats.read_text())
    frames = real["processes"][0]["policy_frames"]
    replay = [SWAPLAB, "replay", str(trace), "--policy", "refault", "--memory", f"{frames}p", "--swap", scheme, "--json"]
    [row] = json.loads(subprocess.run(replay, check=True, capture_output=True).stdout)["rows"]
    paging = row["paging"]
    simulated = {name: paging[name] for name in ("direct_reads", "copied_pages")}
    simulated |= {"swap_outs": paging["swap_out_bytes"] / 4096, "unchanged": paging["unchanged_pages"]}
    found = {name: (real[name], count) for name, count in simulated.items()}
    print(command[0], scheme, found)
    return found


@pytest.mark.parametrize("scheme", ["nvm-direct", pytest.param("nvm-copy", marks=pytest.mark.long)])
def test_a_replay_of_the_record_has_nearly_equal_counts(tmp_path, build, scheme):  # noqa: F811
    # Largest relative differences. The pager evicts chunks of 128 pages at first, acts a round
    # late, and maps up to 15 neighbors of a page that is read.
    for command, dram, band, more in (
        ([build(TOUCH), "48", "30000", "30", "1"], "16MiB", 0.05, {}),
        ([program("sqlite3"), ":memory:"], "4MiB", 0.2, {"input": SQL.encode()}),
    ):
        found = compared(tmp_path, command, dram, scheme, **more)
        assert found["swap_outs"][0] > 1000
        for name, (real, simulated) in found.items():
            assert abs(real - simulated) <= max(band * max(real, simulated), 100), (command, name, found)


def test_a_record_is_a_valid_trace(tmp_path):
    trace = tmp_path / "run.slt"
    script = "x = bytearray(9000000); x[::4096] = bytes(len(x[::4096])); print(sum(x))"
    run = paged(["/bin/sh", "-c", f"{program('python3')} -c '{script}'"], "4MiB", "--record", str(trace))
    assert run.returncode == 0, run.stderr
    info = json.loads(subprocess.run([SWAPLAB, "trace", "info", trace, "--json"], check=True, capture_output=True).stdout)
    assert info["writes"] >= 9000000 // 4096 and info["anon_pages"] == info["footprint_pages"]
    assert list(tmp_path.iterdir()) == [trace], "nothing else is left"
    missing = paged(["/bin/true"], "4MiB", "--record", str(tmp_path / "no" / "run.slt"))
    assert missing.returncode == 2 and missing.stderr.count(b"\n") == 1
