"""A kernel with Direct Read in a guest: slots are mapped, writes copy them, no page is lost. Needs
one that `swaplab kernel build` made.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from command import swaplab
from swaplab.worlds.vm import guest, kernels, tools

pytestmark = pytest.mark.guests
MIB = 1 << 20
#: Three apps that do not fit into their control group; one touched page in five is written.
EXPERIMENT = """
machine = { dram = "96MiB" }
design = [{ swap = ["nvm-copy:size=96MiB", "nvm-direct:size=96MiB"] }]
[workload]
apps = [{ use = "swaplab-app", name = "app", count = 3, footprint = "44MiB", launch_set = 1, resume_set = 0.5, write_ratio = 0.2 }]
launches = { order = "round-robin", rounds = 2, warm_up = 1, foreground = "1ms" }
[run]
on = ["vm"]
seeds = 1
vm = { kernel = "KERNEL", think = "1ms" }
"""


@pytest.fixture(scope="module")
def kernel() -> str:
    """The name of a built kernel with Direct Read; skips, with the reason, where there is none, or
    no guest can be run.
    """
    if absent := tools.missing_programs(tools.QEMU, tools.MKE2FS, *tools.MODULE):
        pytest.skip(f"no {', '.join(program.command for program in absent)} on this machine")
    if not (Path(guest.__file__).parents[2] / "_native" / "swaplab-guest").is_file():
        pytest.skip("the guest's program is not built: Rust's target aarch64-unknown-linux-musl is missing")
    named = os.environ.get("SWAPLAB_DIRECT_READ_KERNEL")
    built = [named] if named else [known.name for known in kernels.builds() if known.has("SWAP_DIRECT")]
    if not built:
        pytest.skip("no kernel with Direct Read in the cache: `swaplab kernel build` with a --patch for each file of kernel/patches/6.12")
    return built[0]


def test_slots_are_mapped_copied_by_writes_and_no_page_is_lost(kernel: str, tmp_path: Path) -> None:
    file = tmp_path / "direct.toml"
    file.write_text(EXPERIMENT.replace("KERNEL", kernel))
    document = swaplab("run", file, "--json", timeout=900).document
    copy, direct = document["rows"]
    assert [row["swap"] for row in (copy, direct)] == ["nvm-copy:size=96MiB", "nvm-direct:size=96MiB"]
    assert all(row["kernel"]["bad_pages"] == 0 < row["kernel"]["checked_apps"] for row in (copy, direct))
    assert all(row["paging"]["swap_out_bytes"] > MIB for row in (copy, direct))
    assert copy["paging"]["direct_reads"] == copy["paging"]["promotions"] == 0 < copy["paging"]["copied_pages"]
    paging, counted = direct["paging"], direct["kernel"]["counters"]
    assert paging["direct_reads"] > 1000 and paging["promotions"] > 100, "both a read and a write of a slot"
    assert paging["promotions"] == counted["swap_direct_copy"]
    assert paging["copied_pages"] == counted["pswpin"] + counted["swap_direct_copy"] < copy["paging"]["copied_pages"]
    # Zero-filled pages are refaults without a copy, and counts of a node lag by less than a batch
    # of each processor.
    assert abs(paging["anon_refaults"] - paging["copied_pages"]) < 64, "a copy that follows a swap-out is a refault"


def test_counting_reads_changes_nothing_else(kernel: str, tmp_path: Path) -> None:
    file = tmp_path / "direct.toml"
    file.write_text(EXPERIMENT.replace("KERNEL", kernel))
    without = swaplab("run", file, "--json", timeout=900).document
    counting = swaplab("run", file, "--json", "--set", "run.vm.count_reads=32KiB", timeout=1800).document
    copy, direct = counting["rows"]
    assert copy["kernel"]["mapped_reads"] is None, "nothing is mapped"
    counted, direct["kernel"]["mapped_reads"] = direct["kernel"]["mapped_reads"], None
    assert counting["rows"] == without["rows"], "the run is the same, with the same times"
    assert counting["warnings"] == without["warnings"]
    # An app reads at least a word of a page that it has mapped.
    assert counted["loads"] >= direct["paging"]["direct_reads"] > 1000
    assert 1000 < counted["visit_misses"] <= counted["misses"] <= counted["loads"]
    assert counted["cache_bytes"] == 32 << 10 and counted["line_ns"] > 0
    priced, unpriced = counted["delay_ms"], direct["launches"]["delay_ms"]
    added_ms = counted["visit_misses"] * counted["line_ns"] / 1e6 / direct["launches"]["count"]
    assert priced["mean"] == pytest.approx(unpriced["mean"] + added_ms)
