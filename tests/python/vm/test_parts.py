"""Parts of the world `vm` without a guest: archives, plans, images, prices, figures."""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from swaplab import BadInput, NotSupported
from swaplab._core import device_service
from swaplab.core import experiment as experiments
from swaplab.core.model import Devices
from swaplab.worlds.kernel.configuration import Configuration, configurations
from swaplab.worlds.result import Options
from swaplab.worlds.vm import ab, apps, areas, cpio, driver, filesystem, guest, kernels, plan, reads, records, rows, runner, tools
from swaplab.worlds.vm.tables import tables

MIB = 1 << 20
EXPERIMENT = """
machine = { dram = "256MiB" }
design = [{ name = "zram", swap = "zram:size=64MiB" }]
run = { on = ["vm"], seed = 3 }
[workload]
apps = [
  { use = "phone-app", name = "mail", footprint = "12MiB" }, { use = "swaplab-app", name = "maps", footprint = "24MiB", saved_pages = 9 }
]
launches = { order = ["mail", "maps", "mail"], rounds = 2, warm_up = 1 }
"""


def of(*changes: str) -> Configuration:
    """Build a configuration with two apps and one design."""
    return configurations([experiments.parse(EXPERIMENT, "x.toml", list(changes))])[0]


VISIT = {
    "record": "visit", "round": 0, "app": "mail", "start": "cold", "at_ns": 0, "ready_ns": 1, "alive": 1, "bad": 0, "kswapd_ns": 0,
    "process": {"cpu_ns": 0, "run_delay_ns": 0, "minor_faults": 0, "major_faults": 0},
    "waits": {"user_ns": 0, "system_ns": 0, "memory_ns": 0, "io_ns": 0, "cpu_ns": 0}, "kernel": {}, "generations": [],
    "so_far": {"swap_in_pages": 0, "swap_out_pages": 0, "psi_some_us": 0, "psi_full_us": 0, "kernel_kills": 0},
    "memory": {
        "free_kb": 0, "per_cpu_free_kb": 0, "file_kb": 0, "anonymous_kb": 0, "dirty_kb": 0,
        "swap_total_kb": 0, "swap_free_kb": 0, "zram": None,
    },
}  # fmt: skip


def test_reads_are_attributed_to_visits_by_bytes_of_the_console() -> None:
    lines = [
        b"a line of the kernel",
        b"@swaplab " + json.dumps(VISIT | {"warm_up": True}).encode(),
        b'@swaplab {"record":"progress","visits":1}',
        b"another",
        b"@swaplab " + json.dumps(VISIT | {"warm_up": False}).encode(),
        b'@swaplab {"record":"progress","visits":2}',
        b'@swaplab {"record":"counts","since_ns":0,"until_ns":1,"kernel":{},"killer_cpu_ns":0}',
        b'@swaplab {"record":"end","at_ns":1}',
    ]
    console = b"\r\n".join([*lines, b""])
    # The counts before the last byte of each line, as the plugin notes them; the loads after the
    # counted rounds are those of the check at the end.
    totals = [(5, 5), (15, 12), (20, 16), (20, 16), (50, 36), (54, 37), (60, 40), (999, 900)]
    ends = [sum(len(line) + 2 for line in lines[: number + 1]) for number in range(len(lines))]
    marks = "".join(f"{end} {loads} {misses}\n" for end, (loads, misses) in zip(ends, totals, strict=True))
    counted = reads.read(console, marks)
    assert [(visit.loads, visit.misses) for visit in counted.visits] == [(15, 12), (30, 20)]
    assert (counted.counted.loads, counted.counted.misses) == (40, 24)
    assert reads.read(console, "").counted == reads.Counts()


def test_a_line_has_a_share_of_a_page_and_the_latency_of_a_read() -> None:
    # lpddr2-pcm: 15 ns, and 4 KiB in 5,120 ns. As in simulated worlds (Device::read_time).
    assert reads.line_ns(Devices(nvm="lpddr2-pcm")) == pytest.approx(95)


def test_an_archive_by_hand() -> None:
    made = cpio.archive([cpio.file("a", b"hello", 0o755)])
    assert made[:6] == b"070701" and made[14:22] == b"000081ED" and made[110:112] == b"a\0"
    assert made[112:117] == b"hello" and made[120:126] == b"070701" and made.endswith(b"TRAILER!!!\0\0\0\0"), "fields end on fours"


def test_cpio_reads_the_archive(tmp_path: Path) -> None:
    if shutil.which("cpio") is None:
        pytest.skip("no cpio on this machine")
    entries = [cpio.directory("dev"), cpio.file("dev/x", b"1234567", 0o644), cpio.file("init", b"#!", 0o755)]
    done = subprocess.run(["cpio", "-idm", "--quiet"], input=cpio.archive(entries), cwd=tmp_path, check=False, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "dev/x").read_bytes() == b"1234567" and (tmp_path / "init").stat().st_mode & 0o777 == 0o755


def test_think_times_differ_by_seed_and_are_the_same_for_all_designs() -> None:
    first, again, other = (plan.visits(of(), seed) for seed in (1, 1, 2))
    assert first == again and first != other
    assert [(visit.app, visit.round, visit.warm_up) for visit in first] == [
        (app, number, number < 1) for number in range(3) for app in (0, 1, 0)
    ]
    assert all(3_000_000_000 <= visit.think_ns <= 3_000_005_000 for visit in first + other)
    assert len({visit.think_ns for visit in first}) > 3


def test_a_core_of_two_gips_waits_twice_as_many_instructions() -> None:
    fast = of("run.vm.gips=2", "run.vm.shift=0")
    assert {(visit.foreground_ns, visit.think_ns) for visit in plan.visits(fast, 0)} == {(100_000_000, 6_000_000_000)}


def test_apps_have_memory_groups_if_a_design_needs_them() -> None:
    assert not plan.app_groups(of()) and plan.app_groups(of("run.vm.app_groups=true"))
    both = ["design=[{ swap = 'none' }, { swap = 'zram:size=64MiB', app_policy = 'ess' }]"]
    assert all(plan.app_groups(each) for each in configurations([experiments.parse(EXPERIMENT, "x.toml", both)]))
    with pytest.raises(BadInput, match="run.vm.app_groups: false; expected true, as a design's app policy"):
        plan.app_groups(of("design.zram.app_policy=lvsp", "run.vm.app_groups=false"))


def test_an_app_has_the_options_of_its_file_s_command() -> None:
    """Options are interpreted as by `swaplab-app` in the world `kernel`."""
    mail, maps = apps.guest_apps(of())
    assert (mail.feature.launch_set, mail.feature.resume_set, mail.feature.hot_first) == (1.0, 0.5, True)
    assert (mail.request, mail.work, maps.work, maps.feature.saved_pages) == ("resume", "resume", "work 2000", 9)
    assert (maps.feature.footprint, maps.feature.launch_set, maps.feature.run) == ("24MiB", 0.6, 8)
    assert [app.service for app in apps.guest_apps(of("machine.limits.services=1"))].count(True) == 1
    assert apps.system(of("run.vm.system=0"), 5) is None and apps.system(of(), 5) is not None


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("command = ['redis-server']", "command: 'redis-server'; expected swaplab-app"),
        ("command = ['swaplab-app', '--color', 'red']", "--color; expected options of swaplab-app"),
        ("command = ['swaplab-app', '--run', 'far']", "run: 'far'"),
    ],
)
def test_an_app_file_of_another_program_is_refused(text: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "app.toml"
    path.write_text(f"name = 'other'\n{text}\nready = [{{ expect = 'x' }}]\nrequest = [{{ send = 'x' }}]\n")
    with pytest.raises(BadInput, match="app other") as error:
        guest.layout(of(f"workload.apps=[{{ use = '{path}' }}]", "workload.launches.order=round-robin"))
    assert complaint in str(error.value)


def test_prices_are_those_of_the_device() -> None:
    reserved = driver.ReservedMemory(256 * MIB, 64 * MIB, 32 * MIB)
    words = [driver.options(reserved, Devices(), gips, False, 1, request).split() for gips, request in ((1.0, None), (2.0, 128))]
    once, twice = (dict(word.split("=") for word in words_of) for words_of in words)
    assert "flash_merge_kib" not in once and twice["flash_merge_kib"] == "128"
    depth, read, read_transfer, _, _ = device_service("ufs-3.1")
    assert once["flash_channels"] == str(depth) and once["flash_read_latency_ns"] == str(read)
    assert int(once["flash_read_kib_s"]) == pytest.approx(4e9 / read_transfer, rel=1e-3)
    assert once["base_kib"] == str((1 << 20) + (256 << 10)) and once["nvm_kib"] == str(64 << 10) and once["flash_kib"] == str(32 << 10)
    assert int(twice["nvm_read_ns"]) == pytest.approx(2 * int(once["nvm_read_ns"]), abs=1)
    assert int(twice["flash_read_kib_s"]) == pytest.approx(int(once["flash_read_kib_s"]) / 2, rel=1e-3)
    assert "nvm_read_ns" not in driver.options(driver.ReservedMemory(256 * MIB, 0, 32 * MIB), Devices(), 1.0, False, 1, None)


def test_device_memory_is_behind_the_kernel_s_memory() -> None:
    where = guest.layout(of("design.zram.swap=nvm-copy:size=65MiB"))
    assert (where.reserved.guest, where.reserved.nvm) == (256 * MIB, 66 * MIB)
    assert where.reserved.flash_at == (1 << 30) + 322 * MIB and where.reserved.flash == where.file_system_bytes
    assert where.file_system_bytes == filesystem.size(768 + 1536 + 9 + 4096)
    disk = guest.layout(of("design.zram.swap=ramdisk:size=64MiB"))
    assert disk.reserved.guest == 320 * MIB, "a RAM disk takes memory that apps do not have"


@pytest.mark.parametrize(
    ("swap", "complaint"),
    [
        ("zram", "zram is unlimited; expected a size"),
        ("zram:size=65537KiB", "expected whole MiB"),
        ("zram:size=64MiB,algorithm=842", "algorithm"),
        ("zswap:size=64MiB,pool=10%", "pool has no effect in a guest; expected some of size, algorithm"),
    ],
)
def test_parameters_without_effect_in_a_guest_are_refused_by_name(swap: str, complaint: str) -> None:
    with pytest.raises(BadInput) as error:
        areas.area_of(of(f"design.zram.swap={swap}"))
    assert complaint in str(error.value)


def test_a_guest_that_does_not_fit_is_refused_before_anything_is_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guest, "program", lambda: Path("x"))
    monkeypatch.setattr(runner, "meminfo", lambda: {"MemAvailable": 600 * MIB})
    with pytest.raises(NotSupported, match="needs memory: .* of 629145600 available"):
        runner.check([of("machine.dram=512MiB")], 0)
    assert runner.check([of("machine.dram=192MiB", "design.zram.swap=none")], 8) == 1, "one at a time"


def test_direct_read_is_refused_where_the_kernel_would_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    direct = of("design.zram.swap=nvm-direct:size=64MiB")
    known = tmp_path / "include/config/auto.conf"
    known.parent.mkdir(parents=True)
    plain = kernels.Kernel("plain", "6.12.1", tmp_path / "Image", None, tmp_path)
    for text in ("CONFIG_SWAP=y\n", "# CONFIG_SWAP_DIRECT is not set\n"):
        known.write_text(text)
        with pytest.raises(NotSupported, match="nvm-direct needs a kernel with Direct Read.*'plain' has none"):
            runner.check_direct_read(direct, plain)
    with pytest.raises(NotSupported, match="Direct Read"):
        runner.check_direct_read(direct, kernels.Kernel("unknown", "6.12.1", tmp_path / "Image", None, None))
    known.write_text("CONFIG_SWAP=y\nCONFIG_SWAP_DIRECT=y\n")
    runner.check_direct_read(direct, plain)
    runner.check_direct_read(of(), kernels.Kernel("unknown", "6.12.1", tmp_path / "Image", None, None))
    monkeypatch.setattr(guest, "program", lambda: Path("x"))
    with pytest.raises(BadInput, match="null_blk cannot be mapped"):
        runner.check([of("design.zram.swap=nvm-direct:size=64MiB", "run.vm.block_devices=null-blk")], 0)


def test_missing_parts_of_the_world_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(guest, "program", lambda: Path("x"))
    monkeypatch.setenv("SWAPLAB_KERNEL_PARTS", str(tmp_path))
    with pytest.raises(NotSupported, match="the guest's devices: kernel/ of swaplab's source"):
        runner.run([experiments.parse(EXPERIMENT, "x.toml")], Options())
    with pytest.raises(BadInput, match="run.vm.kernel: 'debian-6.21'.*did you mean debian-6"):
        runner.run([experiments.parse(EXPERIMENT, "x.toml", ["run.vm.kernel=debian-6.21", "run.vm.block_devices=null-blk"])], Options())


def test_without_qemu_one_line_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(tools, "SYSTEM_PATH", ())
    with pytest.raises(NotSupported) as error:
        tools.find(tools.QEMU)
    assert str(error.value).startswith("the world vm needs qemu-system-aarch64 (package qemu-system-arm): not on the path, and no apt-get")
    assert "\n" not in str(error.value)


def test_android_watermarks_as_a_factor() -> None:
    settings = plan.kernel_settings(of("machine.kernel.extra_free=16MiB"))
    values = {setting.path.rsplit("/", 1)[1]: setting.value for setting in settings}
    assert values["watermark_scale_factor"] == "635" and values["enabled"] == "y"
    assert (values["swappiness"], values["page-cluster"]) == ("100", "0"), "a phone's defaults"


def test_kinds_of_kernel_images_are_distinguished(tmp_path: Path) -> None:
    path = tmp_path / "Image"
    path.write_bytes(bytes(56) + b"ARM\x64" + bytes(600))
    kernels.check_image(path)
    for content, kind in ((bytes(0x202) + b"HdrS", "an x86 kernel"), (b"\x7fELF" + bytes(900), "an ELF file"), (b"\x1f\x8b", "compressed")):
        path.write_bytes(content)
        with pytest.raises(BadInput, match=kind):
            kernels.check_image(path)
    with pytest.raises(BadInput, match="No such file"):
        kernels.check_image(tmp_path / "none")
    with pytest.raises(BadInput, match="did you mean debian-6"):
        kernels.resolve("debian-6.21")


def test_a_series_is_judged_by_pairs_and_by_the_bases_own_noise() -> None:
    base, other = [10.0, 11.0, 12.0, 13.0], [10.1, 10.9, 12.1, 12.9]
    faster = ab.judge("zram", base, [value - 2 for value in base[:3]] + [11.1], other)
    assert faster.verdict is ab.Verdict.FASTER and faster.difference_ms == pytest.approx(-1.975)
    assert ab.judge("zram", base, [value + 2 for value in base], other).verdict is ab.Verdict.SLOWER
    assert ab.judge("zram", base, [9.0, 12.0, 11.0, 14.0], other).verdict is ab.Verdict.NOT_SEPARABLE
    noisy = [14.0, 7.0, 15.0, 9.0]
    assert ab.judge("zram", base, [value - 0.5 for value in base], noisy).verdict is ab.Verdict.NOT_SEPARABLE, (
        "the base differs more from itself"
    )
    with pytest.raises(BadInput, match="at least 2"):
        ab.judge("zram", [1.0], [2.0], [1.0])


def visit(app: str, start: str, ready_ms: float, warm_up: bool = False) -> records.Visit:
    """Build a visit with ten pages swapped in, two seconds after the guest's start."""
    memory = {
        "free_kb": 9,
        "per_cpu_free_kb": 3,
        "file_kb": 8,
        "anonymous_kb": 7,
        "dirty_kb": 0,
        "swap_total_kb": 64,
        "swap_free_kb": 24,
        "zram": [40, 20, 30],
    }
    nothing = {"user_ns": 4, "system_ns": 6, "memory_ns": 0, "io_ns": 0, "cpu_ns": 0}
    return records.Visit.model_validate(
        {
            "record": "visit", "round": int(not warm_up), "warm_up": warm_up, "app": app, "start": start, "at_ns": 2_000_000_000,
            "ready_ns": round(ready_ms * 1e6), "alive": 2, "bad": 0, "kswapd_ns": 8, "kernel": {"pswpin": 10}, "memory": memory,
            "process": {"cpu_ns": 1, "run_delay_ns": 2, "minor_faults": 3, "major_faults": 4}, "waits": nothing,
            "so_far": {"swap_in_pages": 5, "swap_out_pages": 6, "psi_some_us": 7, "psi_full_us": 8, "kernel_kills": 0},
            "generations": [[50, 1, 1]],
        }
    )  # fmt: skip


def outcome(resumed_ms: float, swapped_in: int) -> guest.Outcome:
    """Build an outcome of a warm-up launch, a resume, a cold start, and one kill."""
    kernel = {"pswpin": swapped_in, "pswpout": 4, "workingset_refault_anon": 3, "workingset_refault_file": 2, "psi_memory_some_us": 6}
    counts = records.Counts(record="counts", since_ns=10, until_ns=30, kernel=kernel, killer_cpu_ns=4)
    kill = records.Kill(
        record="kill", at_ns=5, app="maps", adjustment=900, reason="low_memory", free_kb=1, file_kb=2, stall_ms=70,
        swap_free_percentage=9, resident_kb=3, warm_up=False,
    )  # fmt: skip
    visits = [visit("mail", "cold", 99, warm_up=True), visit("mail", "resume", resumed_ms), visit("maps", "cold", 40)]
    return guest.Outcome(visits=visits, kills=[kill], counts=counts, checks=[records.Check(record="check", app="mail", pages=9, bad=1)])


def test_a_row_by_hand() -> None:
    row = rows.row(rows.Runs(of("run.vm.gips=2"), [outcome(10, 100), outcome(20, 200)]))
    assert (row.world, row.kind, row.design, row.swap, row.killer, row.seed, row.seeds) == (
        "vm", "virtual", "zram", "zram:size=64MiB", "off", 3, 2,
    )  # fmt: skip
    launches = row.launches
    assert launches is not None and launches.delay_ms is not None and launches.resume_ms is not None
    assert (launches.count, launches.cold, launches.resumes, launches.kills) == (2, 1, 1, 1)
    assert launches.kill_reasons == {"low-memory": 1.0} and launches.ux.crisp == 2
    # On a core of 2 GIPS times are halved: 5 and 20 ms, 10 and 20 ms; means 12.5 and 15, t of one
    # degree 12.706.
    assert launches.delay_ms.mean == 13.75 and launches.resume_ms.mean == 7.5
    assert row.interval["launches.delay_ms.mean"] == pytest.approx((13.75 - 12.706 * 1.25, 13.75 + 12.706 * 1.25), rel=1e-3)
    assert (row.paging.swap_in_bytes, row.paging.swap_out_bytes, row.paging.refaults) == (150 * 4096, 4 * 4096, 5)
    assert (row.time.wall_ns, row.time.kswapd_ns, row.time.cpu_user_ns, row.time.psi_some_ns) == (10, 8, 4, 3000)
    assert (row.memory.dram_bytes, row.memory.pool_bytes, row.memory.pool_peak_bytes) == (256 * MIB, 0, 30)
    assert row.paging.references is None and row.energy is None and row.media == {}, "what a guest cannot know"
    assert row.kernel is not None and (row.kernel.bad_pages, row.kernel.checked_apps, row.kernel.swap_size_bytes) == (2, 2, 64 * MIB)
    assert [one.seed for one in row.by_seed] == [3, 4]
    assert row.by_seed[1].figures["paging.swap_in_bytes"] == 200 * 4096 and row.by_seed[0].figures["launches.delay_ms.mean"] == 12.5


def test_compactions_are_counted_by_hand() -> None:
    def done(warm_up: bool) -> records.Compaction:
        before, after = records.Usage(anon_kb=100, file_kb=9, swap_kb=5), records.Usage(anon_kb=30, file_kb=9, swap_kb=75)
        return records.Compaction(record="compaction", at_ns=1, took_ns=40, app="mail", before=before, after=after, warm_up=warm_up)

    done_twice = [done(warm_up=True), done(warm_up=False), done(warm_up=False)]
    two = [dataclasses.replace(outcome(10, 100), compactions=done_twice), outcome(20, 200)]
    row = rows.row(rows.Runs(of("run.vm.gips=2", "machine.background.compact=aosp"), two))
    assert row.kernel is not None and row.kernel.counters is not None
    assert {key: value for key, value in row.kernel.counters.items() if key.startswith("compact")} == {
        "compactions": 1, "compacted_kb": 70, "compaction_ns": 20,
    }  # fmt: skip


def test_a_copy_of_a_mapped_slot_is_a_copy() -> None:
    # 100 pages by requests, 50 mapped in place, of which 20 were written later: 120 copies. Of 1000
    # kB read, 400 were swap's.
    paging = rows.paging_of({"pswpin": 100, "swap_direct_map": 50, "swap_direct_copy": 20, "pswpout": 7, "pgpgin": 1000, "pgpgout": 28})
    assert (paging.copied_pages, paging.direct_reads, paging.promotions) == (120, 50, 20)
    assert (paging.swap_in_bytes, paging.swap_out_bytes) == (120 * 4096, 7 * 4096)
    assert (paging.file_read_bytes, paging.file_write_bytes) == (600 * 1024, 0)
    ordinary = rows.paging_of({"pswpin": 100})
    assert (ordinary.copied_pages, ordinary.swap_in_bytes, ordinary.promotions) == (100, 100 * 4096, 0)


def test_the_a_against_a_interval_of_each_design_is_reported() -> None:
    # Means of the seeds 25 and 30 ms: 27.5, t of one degree 12.706 times 2.5 is 31.8, of 27.5 115.5
    # %.
    two = rows.row(rows.Runs(of(), [outcome(10, 100), outcome(20, 200)]))
    assert runner.noise_warnings([two])[0].startswith(
        "vm: A against A: if only think times differ, the mean delay's 95 % interval is zram +-116 %"
    )
    assert runner.noise_warnings([rows.row(rows.Runs(of(), [outcome(10, 100)]))]) == []


def test_tables_by_hand() -> None:
    found = tables([rows.Runs(of(), [outcome(10, 100)])])
    assert {name: frame.height for name, frame in found.items()} == {"launches": 3, "timeline": 3, "kills": 1}
    second = found["launches"].row(1, named=True)
    assert (second["app"], second["start"], second["ready_ns"], second["ready_without_kswapd_ns"]) == ("mail", "resume", 10**7, 10**7 - 2)
    assert found["timeline"].row(1, named=True)["swap_bytes"] == 40 << 10
    assert found["kills"].row(0, named=True) | {} == {
        "design": "zram", "seed": 3, "at_ns": 5, "app": "maps", "reason": "low-memory", "freed_bytes": 3 << 10, "adjustment": 900,
        "free_bytes": 1 << 10, "file_bytes": 2 << 10, "stall_ns": 70_000_000, "swap_free_percentage": 9,
    }  # fmt: skip
