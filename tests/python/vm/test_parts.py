"""Parts of the world `vm` that need no guest: archives, plans, images, prices, figures."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from swaplab import BadInput, NotSupported
from swaplab._core import device_service
from swaplab.worlds.vm import ab, areas, cpio, driver, filesystem, from_file, guest, kernels, plan, summary
from swaplab.worlds.vm.request import App, Design, Devices, Kernel, Launches, Machine, Request, Spec, VmRun

MIB = 1 << 20


def request(**more: object) -> Request:
    """Two apps, one design."""
    values: dict[str, object] = {
        "name": "test",
        "machine": Machine(dram=256 * MIB),
        "design": [Design(name="zram", swap=Spec.parse("zram:size=64MiB"))],
        "apps": [App(name="mail", footprint="12MiB"), App(name="maps", footprint="24MiB", service=True)],
        "launches": Launches(order=["mail", "maps", "mail"], rounds=2, warm_up=1),
    }
    return Request.model_validate(values | more)


def test_an_archive_by_hand() -> None:
    made = cpio.archive([cpio.file("a", b"hello", 0o755)])
    assert made[:6] == b"070701" and made[14:22] == b"000081ED" and made[110:112] == b"a\0"
    assert made[112:117] == b"hello" and made[120:126] == b"070701" and made.endswith(b"TRAILER!!!\0\0\0\0"), "fields end on fours"


def test_cpio_reads_our_archive(tmp_path: Path) -> None:
    if shutil.which("cpio") is None:
        pytest.skip("no cpio on this machine")
    entries = [cpio.directory("dev"), cpio.file("dev/x", b"1234567", 0o644), cpio.file("init", b"#!", 0o755)]
    done = subprocess.run(["cpio", "-idm", "--quiet"], input=cpio.archive(entries), cwd=tmp_path, check=False, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "dev/x").read_bytes() == b"1234567" and (tmp_path / "init").stat().st_mode & 0o777 == 0o755


def test_think_times_differ_by_seed_and_are_the_same_for_all_designs() -> None:
    first, again, other = (plan.visits(request(), seed) for seed in (1, 1, 2))
    assert first == again and first != other
    assert [(visit.app, visit.round, visit.warm_up) for visit in first] == [
        (app, number, number < 1) for number in range(3) for app in (0, 1, 0)
    ]
    assert all(20_000_000 <= visit.think_ns <= 20_005_000 for visit in first + other)
    assert len({visit.think_ns for visit in first}) > 3


def test_a_core_of_two_gips_waits_twice_as_many_instructions() -> None:
    fast = request(vm=VmRun(gips=2.0, shift_ns=0))
    assert {(visit.foreground_ns, visit.think_ns) for visit in plan.visits(fast, 0)} == {(100_000_000, 40_000_000)}
    killer = plan.killer(Design(name="x", swap=Spec.parse("none"), killer=Spec.parse("lmkd")), 2.0)
    assert killer is not None and (killer.psi_partial_stall_ms, killer.swap_free_low_percentage) == (140, 10)


def test_prices_are_those_of_the_device() -> None:
    reserved = driver.Reserved(256 * MIB, 64 * MIB, 32 * MIB)
    once, twice = (dict(word.split("=") for word in driver.options(reserved, Devices(), gips, False, 1).split()) for gips in (1.0, 2.0))
    depth, read, read_transfer, _, _ = device_service("ufs-3.1")
    assert once["flash_channels"] == str(depth) and once["flash_read_latency_ns"] == str(read)
    assert int(once["flash_read_kib_s"]) == pytest.approx(4e9 / read_transfer, rel=1e-3)
    assert once["base_kib"] == str((1 << 20) + (256 << 10)) and once["nvm_kib"] == str(64 << 10) and once["flash_kib"] == str(32 << 10)
    assert int(twice["nvm_read_ns"]) == pytest.approx(2 * int(once["nvm_read_ns"]), abs=1)
    assert int(twice["flash_read_kib_s"]) == pytest.approx(int(once["flash_read_kib_s"]) / 2, rel=1e-3)
    assert "nvm_read_ns" not in driver.options(driver.Reserved(256 * MIB, 0, 32 * MIB), Devices(), 1.0, False, 1)


def test_memory_lies_behind_the_kernels_own() -> None:
    design = Design(name="n", swap=Spec.parse("nvm-copy:size=65MiB"))
    where = guest.layout(request(), design)
    assert (where.reserved.guest, where.reserved.nvm) == (256 * MIB, 66 * MIB)
    assert where.reserved.flash_at == (1 << 30) + 322 * MIB and where.reserved.flash == where.file_system_bytes
    assert where.file_system_bytes == filesystem.size(768 + 1536 + 64 + 4096)
    disk = guest.layout(request(), Design(name="r", swap=Spec.parse("ramdisk:size=64MiB")))
    assert disk.reserved.guest == 320 * MIB, "a RAM disk takes memory that apps do not have"


@pytest.mark.parametrize(
    ("design", "complaint"),
    [
        ({"swap": "zrm:size=1MiB"}, "expected one of none, zram"),
        ({"swap": "zram"}, "expected whole MiB"),
        ({"swap": "zram:size=64MiB,algorithm=lz5"}, "expected one of lz4"),
        ({"swap": "zram:size=64MiB,colour=red"}, "expected one of size, algorithm"),
        ({"swap": "none", "killer": "lmk"}, "expected minfree, lmkd or off"),
        ({"swap": "none", "killer": "lmkd:psi=1"}, "expected one of low_memory_kb"),
        ({"swap": "none", "killer": "minfree:minfree_kb=1/2,adj=0"}, "as many levels"),
        ({"swap": "none", "app_policy": "acclaim"}, "expected none, ess, lvsp or a2s"),
    ],
)
def test_bad_designs_are_refused_by_name(design: dict[str, str], complaint: str) -> None:
    made = Design(name="bad", **{key: Spec.parse(text) for key, text in design.items()})
    with pytest.raises(BadInput, match="design 'bad'") as error:
        areas.of(made)
        plan.killer(made, 1.0)
        plan.steering(made)
    assert complaint in str(error.value)


def test_a_guest_that_is_too_small_is_refused() -> None:
    with pytest.raises(NotSupported, match="at least 192 MiB"):
        guest.layout(request(machine=Machine(dram=128 * MIB)), request().design[0])


def test_android_watermarks_as_a_factor() -> None:
    settings = plan.kernel_settings(request(machine=Machine(dram=256 * MIB, kernel=Kernel(extra_free=16 * MIB))))
    values = {setting.path.rsplit("/", 1)[1]: setting.value for setting in settings}
    assert values["watermark_scale_factor"] == "635" and values["enabled"] == "y"


def test_images_are_told_apart(tmp_path: Path) -> None:
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


def test_students_interval_by_hand() -> None:
    # 1, 2, 3: mean 2, deviation 1, t of two degrees of freedom 4.303.
    low, high = summary.mean_interval([1.0, 2.0, 3.0]) or (0.0, 0.0)
    assert low == pytest.approx(2 - 4.303 / 3**0.5) and high == pytest.approx(2 + 4.303 / 3**0.5)
    assert summary.mean_interval([1.0]) is None


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


def test_an_experiments_file(tmp_path: Path) -> None:
    found = from_file.read(Path(__file__).parents[3] / "examples" / "vm.toml")
    assert [design.name for design in found.design] == ["none", "zram", "nvm-copy"]
    assert [app.name for app in found.apps] == [f"app-{number}" for number in range(1, 7)] and found.apps[2].seed == 3
    assert found.launches.foreground_ns == 20_000_000 and found.machine.dram == 256 * MIB
    path = tmp_path / "bad.toml"
    path.write_text('[machine]\ndram = "256MiB"\nspeed = 3\n')
    with pytest.raises(BadInput, match=r"bad\.toml: .*expected"):
        from_file.read(path)
