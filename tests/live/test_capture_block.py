"""Tests `swaplab trace capture --method block`: the trace's swap bytes equal the kernel's counters,
and all changes are undone.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from machine_state import machine_state
from swaplab.worlds.capabilities import require
from swaplab.worlds.kernel.block_capture import COMPLETED, NEEDS, Extents, traffic

SWAPLAB = Path(sys.executable).parent / "swaplab"

#: A program that writes 48 MiB and then reads it, page by page.
GREEDY = """
import sys
block = bytearray(48 << 20)
for at in range(0, len(block), 4096):
    block[at:at + 8] = at.to_bytes(8, "little")
for at in range(0, len(block), 4096):
    assert block[at:at + 8] == at.to_bytes(8, "little")
sys.exit(5)
"""


@pytest.mark.parametrize("device", [pytest.param("file", marks=pytest.mark.long), "ramdisk"])
def test_swap_bytes_equal_the_kernels_counters(tmp_path: Path, device: str) -> None:
    require(NEEDS, "this test")
    before, out = machine_state(), tmp_path / "t.trace"
    options = ["--dram", "24MiB", "--swap-size", "64MiB", "--area", device, "--json", "-o", str(out)]
    done = subprocess.run(
        [SWAPLAB, "trace", "capture", "--method", "block", *options, "--", sys.executable, "-c", GREEDY],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 5, done.stderr
    summary = json.loads(done.stderr)
    assert machine_state() == before
    if summary["others_swapping"]:
        pytest.skip("another swap area is on, so the kernel's counters are not only of this run")
    assert summary["lost_events"] == 0
    assert (summary["swap_read_bytes"], summary["swap_write_bytes"]) == (summary["pswpin_bytes"], summary["pswpout_bytes"])
    assert summary["exact"] is True and summary["swap_write_bytes"] > 16 << 20
    # The same figures can be computed from the trace file alone.
    lines = out.read_text().splitlines()
    ranges = [line.split()[4:] for line in lines if line.startswith("# swaplab: partition swap")]
    area = Extents(ranges[0][0], tuple((int(first), int(end)) for _, first, end in ranges))
    assert traffic("\n".join(lines), area)["swap_read_bytes"] == summary["pswpin_bytes"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.trace"]
    done = subprocess.run([SWAPLAB, "trace", "analyze", out, "--json"], capture_output=True, text=True, check=True)
    swap = json.loads(done.stdout)["partitions"]["swap"]
    assert (swap["read_bytes"], swap["write_bytes"]) == (summary["pswpin_bytes"], summary["pswpout_bytes"])


def test_completed_requests_of_every_kind_are_parsed() -> None:
    def op(text: str) -> tuple[str, str, str] | None:
        match = COMPLETED.match(text)
        return (match["op"], match["sector"], match["count"]) if match else None

    assert op("254,0 RA () 332349920 + 24 be,0,4 [0]") == ("R", "332349920", "24")
    assert op("254,0 FWS () 8 + 8 none,0,0 [0]") == ("W", "8", "8")
    assert op("254,0 D () 8 + 8 [0]") == ("D", "8", "8")
    assert op("nonsense") is None
