"""Tests with many guests (`make guests`): equal documents, every key, the example, and each kind of
failure.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from command import SWAPLAB, Done, swaplab
from swaplab import Failed
from swaplab.core import experiment as experiments
from swaplab.core.model import Experiment
from swaplab.worlds.kernel.configuration import configurations
from swaplab.worlds.result import Options
from swaplab.worlds.vm import cpio, guest, kernels, machine, runner, tracepoints

pytestmark = pytest.mark.guests
MIB = 1 << 20
EXAMPLE = Path(__file__).parents[3] / "examples" / "vm.toml"


def run(file: Path, *words: object) -> Done:
    return swaplab("run", file, *words, timeout=900)


def test_a_control_group_limits_the_apps_if_dram_is_for_apps_alone(file: Path) -> None:
    found = run(file, "--set", "machine.dram=64MiB", "--json").document
    [row] = found["rows"]
    assert row["paging"]["swap_out_bytes"] > 8 * MIB and row["kernel"]["bad_pages"] == 0
    assert row["memory"]["dram_bytes"] == 64 * MIB < row["memory"]["total_dram_bytes"], "zram's pool lies beside the group"
    assert any("limits a control group" in line for line in found["warnings"])


@pytest.mark.timeout(900)
def test_two_runs_of_the_example_one_of_them_on_a_loaded_host_give_equal_documents(guest_parts: None) -> None:
    alone = run(EXAMPLE, "--json").document
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        beside = run(EXAMPLE, "--json").document
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert alone == beside
    assert_the_example(alone)


def test_the_example_runs_on_linux_6_1(guest_parts: None) -> None:
    document = run(EXAMPLE, "--set", "run.vm.kernel=debian-6.1", "--json").document
    assert_the_example(document)
    assert document["versions"]["vm debian-6.1: release"].startswith("6.1."), document["versions"]


def assert_the_example(document: dict[str, Any]) -> None:
    assert [row["swap"].partition(":")[0] for row in document["rows"]] == ["none", "zram", "nvm-copy"]
    assert all(row["kind"] == "virtual" and row["kernel"]["bad_pages"] == 0 and len(row["by_seed"]) == 2 for row in document["rows"])
    assert all(row["paging"]["swap_out_bytes"] > MIB for row in document["rows"][1:])


def test_cached_apps_are_compacted_by_the_rules_of_the_phone(file: Path) -> None:
    """The apps fit, so nothing but compaction swaps out. At 40 MB an app is below the throttle."""
    base = ["machine.dram=384MiB", "run.vm.think=1s", "run.vm.events=[]"]
    compacted, passed_over, off = outcomes(
        *(
            experiments.parse(file.read_text(), "x.toml", [*base, *more])
            for more in (
                ["machine.background={ compact = 'aosp', compact_after = '500ms' }"],
                ["machine.background={ compact = 'aosp', compact_after = '500ms', compact_full_rss_throttle_kb = 40000 }"],
                ["machine.background.compact=off"],
            )
        )
    )
    assert len(compacted.compactions) >= 2
    for one in compacted.compactions:
        assert one.before.anon_kb > 12_000 and one.after.swap_kb - one.before.swap_kb > 12_000 and one.took_ns > 0, one
    assert passed_over.compactions == off.compactions == []
    swapped = [run.counts.kernel.get("pswpout", 0) for run in (compacted, passed_over, off) if run.counts]
    assert swapped[0] > 3000 and swapped[1:] == [0, 0]
    assert not any(check.bad for check in compacted.checks) and compacted.checks


def test_an_interrupt_leaves_no_qemu(file: Path) -> None:
    process = subprocess.Popen([SWAPLAB, "run", file], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    found: list[int] = []
    for _ in range(1200):
        tasks = Path(f"/proc/{process.pid}/task").glob("*/children")
        found = [int(pid) for task in tasks for pid in task.read_text().split()]
        if any("qemu" in Path(f"/proc/{pid}/comm").read_text() for pid in found):
            break
        time.sleep(0.1)
    assert found, "QEMU was started"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130 and errors.strip().splitlines()[-1].startswith("swaplab: "), errors
    assert not any(Path(f"/proc/{pid}").exists() for pid in found)


def test_the_virtual_limit_ends_a_run(file: Path) -> None:
    done = run(file, "--set", "run.vm.virtual_limit=2s")
    assert done.code == 1 and "more than 2 s of virtual time" in done.err and "Traceback" not in done.err, done


def test_the_wall_limit_ends_a_run(file: Path) -> None:
    done = run(file, "--set", "run.vm.wall_limit=1s")
    assert done.code == 1 and "more than run.vm.wall_limit = 1 s" in done.err and "Traceback" not in done.err, done


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ("run.vm.events=['vmscan/none']", "the guest gave up: /sys/kernel/tracing/events/vmscan/none/enable: No such file"),
        ("workload.apps=[{ use = 'phone-app', footprint = '400MiB' }]", "the kernel killed it with no other app alive; expected a machine"),
    ],
)
def test_a_guest_that_cannot_continue_reports_the_reason_at_once(file: Path, change: str, complaint: str) -> None:
    done = run(file, "--set", change, "--set", "run.vm.virtual_limit=60s")
    assert done.code == 1 and complaint in done.err and "virtual time" not in done.err and "Traceback" not in done.err, done


def test_a_kernel_without_zram_is_reported(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modules = kernels.module_bytes
    monkeypatch.setattr(kernels, "module_bytes", lambda kernel, name: None if name == "zram" else modules(kernel, name))
    with pytest.raises(Failed, match="gave up: kernel: no /dev/zram0; expected a kernel with a driver for it"):
        outcomes(experiments.read(file))


def test_a_panic_shows_the_consoles_last_lines(guest_parts: None, tmp_path: Path) -> None:
    """The kernel has no program to start."""
    nothing = tmp_path / "initramfs.cpio"
    nothing.write_bytes(cpio.archive([cpio.directory("dev")]))
    made = machine.Machine(kernels.resolve("debian-6.12"), nothing, 256 * MIB, 256 * MIB, 1, None, 200)
    with pytest.raises(Failed, match="stopped before its end: Kernel panic - not syncing.*; its console ends with: "):
        machine.run(made, tmp_path / "console", lambda _: None, lambda: False)


def outcomes(*wanted: Experiment) -> list[guest.Outcome]:
    """Run the guest of each experiment's only design, two guests at a time. Returns the
    outcomes.
    """
    done = runner.run_all(configurations(list(wanted)), {"debian-6.12": kernels.resolve("debian-6.12")}, 2, Options())
    return [runs.outcomes[0] for runs in done]


def test_the_guest_has_the_experiment_s_settings(file: Path) -> None:
    """Settings are read back from the kernel's files or its trace. A core of 2 GIPS waits twice as
    many instructions for flash.
    """
    requests = "run.vm.events=['block/block_rq_issue', 'block/block_rq_complete']"
    plain = experiments.parse(file.read_text(), "x.toml", [requests, "run.vm.watermark_scale_factor=50"])
    changes = ["machine.dram=256MiB", "machine.kernel={ swappiness = 60, page_cluster = 3, extra_free = '8MiB' }", "run.vm.mglru=false"]
    changes += ["run.vm.cpus=2", "run.vm.gips=2", "design.zram.swap=zram:size=64MiB,algorithm=zstd"]
    first, second = outcomes(plain, experiments.parse(file.read_text(), "x.toml", [requests, *changes]))
    assert first.started is not None and second.started is not None
    found = [
        {path.rsplit("/", 1)[1]: text for path, text in outcome.started.settings.items()} for outcome in (first, second) if outcome.started
    ]
    names = ("swappiness", "page-cluster", "watermark_scale_factor", "enabled", "disksize")
    assert [found[0][name] for name in names] == ["100", "0", "50", "0x0001", str(96 * MIB)]
    assert [found[1][name] for name in names] == ["60", "3", "322", "0x0000", str(64 * MIB)]
    assert "[lz4]" in found[0]["comp_algorithm"] and "[zstd]" in found[1]["comp_algorithm"]
    assert (first.started.swap_bytes, second.started.swap_bytes) == (96 * MIB - 4096, 64 * MIB - 4096)
    assert (first.started.cpus, second.started.cpus) == (1, 2)
    assert first.started.memory_bytes < 192 * MIB < second.started.memory_bytes < 256 * MIB
    gaps = [outcome.started.watermarks.high - outcome.started.watermarks.low for outcome in (first, second) if outcome.started]
    assert gaps[1] > 4 * gaps[0] > 0, "0.5 % of a smaller memory, and 3.22 % of a larger one"
    one, two = (fastest_reads(outcome) for outcome in (first, second))
    assert one.keys() & two.keys(), (one, two)
    ratios = [two[size] / one[size] for size in one.keys() & two.keys()]
    assert 1.5 < median(ratios) < 2.2, "prices double; instructions of the driver itself do not"


def test_apps_have_lists_of_their_own_only_with_groups(file: Path) -> None:
    """MGLRU's generations are those of the group to which an app's pages are charged. Without
    groups it is the root group, whose lists have the pages of all apps in memory, and every swap-in
    that follows a swap-out counts as a refault.
    """
    groups = ("false", "true")
    of_all, of_one, lists = outcomes(
        *(experiments.parse(file.read_text(), "x.toml", ["run.vm.mglru=true", f"run.vm.app_groups={choice}"]) for choice in groups),
        experiments.parse(file.read_text(), "x.toml", ["run.vm.mglru=false", "design.1.killer=off"]),
    )

    def listed(outcome: guest.Outcome) -> list[int]:
        """Bytes of the pages in the generations after each visit from the third on."""
        return [4096 * sum(anon + file for _, anon, file in visit.generations) for visit in outcome.visits[2:]]

    assert min(listed(of_all)) > 80 * MIB and 8 * MIB < max(listed(of_one)) < 60 * MIB, (listed(of_all), listed(of_one))
    swap_ins, refaults = (sum(visit.kernel.get(name, 0) for visit in lists.visits) for name in ("pswpin", "workingset_refault_anon"))
    assert refaults > 0.95 * swap_ins > 0.95 * 1024, (refaults, swap_ins)


def fastest_reads(outcome: guest.Outcome) -> dict[str, int]:
    """Return the shortest time of a read of each size, in ns of the guest's clock."""
    found: dict[str, int] = {}
    for span in tracepoints.spans(outcome.events):
        if span.name.startswith("read") and span.length_ns:
            found[span.name] = min(span.length_ns, found.get(span.name, span.length_ns))
    return found
