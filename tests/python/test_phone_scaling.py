"""The simulated phone under scaling: all times multiplied by k, and all sizes doubled.

Times that no setting scales are avoided: the cores are four (with one, kswapd's turns are ticks of
4 ms), the page policy is CLOCK (Linux's lists know sums that are two seconds old), there is no
killer (its polls and windows are fixed), and no proactive reclaim.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from command import ROOT, here

SPECS = ROOT / "crates" / "device" / "src" / "specs"
#: Per app: anonymous and file memory in MiB, own work of a cold start and of a resume in ms.
APPS = {"mail": (16, 8, 300, 100), "maps": (24, 8, 500, 150), "game": (40, 16, 900, 250)}


def processor(factor: int) -> str:
    text, changed = re.subn(
        r"(_ns = (?:\{ value = )?)([\d_]+)",
        lambda found: found[1] + str(factor * int(found[2].replace("_", ""))),
        (SPECS / "x86-64.toml").read_text(),
    )
    assert changed >= 11
    return text


def flash(factor: int) -> str:
    rates = {"read_iops": 100e3, "write_iops": 50e3, "read_bytes_per_s": 1e9, "write_bytes_per_s": 5e8}
    lines = [f"{name} = {rate / factor}" for name, rate in rates.items()]
    return "\n".join(["what = 'flash'", "attachment = 'storage'", "[time]", "source = 'test'", "queue_depth = 4", *lines, ""])


def dram(factor: int) -> str:
    text, changed = re.subn(r"(t_\w+_ns) = ([\d.]+)", lambda at: f"{at[1]} = {factor * float(at[2])}", (SPECS / "lpddr2.toml").read_text())
    assert changed == 3
    return text


def app(name: str, size: tuple[int, int, int, int], time: int, memory: int) -> str:
    anon, file, cold, resume = size
    sizes = f"anon = '{anon * memory}MiB'\nfile = '{file * memory}MiB'\ngraphics = '{4 * memory}MiB'\ncamera = '0'\n"
    return f"[workload.apps.models.{name}]\n{sizes}cold = '{cold * time}ms'\nresume = '{resume * time}ms'\nresume_share = 0.5\n"


def phone(folder: Path, swap: str, time: int = 1, memory: int = 1, fixed: str = "") -> dict[str, Any]:
    """Simulate three apps in turn on a phone of 96 MiB. `fixed`: a device, or `scan`, whose times
    are not multiplied.
    """
    devices = {"processor": processor, "flash": flash, "dram": dram}
    paths = {}
    for name, text in devices.items():
        paths[name] = folder / f"{name}-{time}-{fixed}.toml"
        paths[name].write_text(text(1 if name == fixed else time))
    experiment = folder / f"{time}-{memory}-{fixed}.toml"
    experiment.write_text(f"""
[machine]
base = "plain"
dram = "{96 * memory}MiB"
cores = 4
killer = "off"
[machine.devices]
processor = "{paths["processor"].name}"
flash = "{paths["flash"].name}"
dram = "{paths["dram"].name}"
[machine.kernel]
scan_ns = {200 * (1 if fixed == "scan" else time)}
read_ahead = "{16 * memory}KiB"
[[design]]
policy = "clock"
swap = "{swap}:size={256 * memory}MiB"
[workload]
launches = "round-robin:apps=3,rounds=5,foreground={20 * time},home={3 * time}"
[workload.apps]
kinds = "mail maps game"
[workload.apps.system]
anon = "{8 * memory}MiB"
file = "{8 * memory}MiB"
graphics = "0"
camera = "0"
{"".join(app(name, size, time, memory) for name, size in APPS.items())}
[run]
on = ["phone"]
seeds = 3
""")
    [row] = here("run", experiment, "--json").document["rows"]
    assert row["launches"]["resumes"] == 12 and row["launches"]["cold"] == 3
    assert row["paging"]["swap_in_bytes"] > 20 << 20 and row["paging"]["swap_out_bytes"] > 40 << 20
    return dict(row)


def delays(row: dict[str, Any]) -> list[float]:
    """Mean, median and 95 % quantile of all launches, of cold starts and of resumes, and the time
    of background reclaim, in ms.
    """
    return [row["time"]["kswapd_ns"] / 1e6] + [
        row["launches"][group][leaf] for group in ("delay_ms", "cold_ms", "resume_ms") for leaf in ("mean", "p50", "p95")
    ]


#: kswapd's short sleep lasts for 0.1 s, whatever else is scaled. So what it does in the background
#: is not exactly the same, and a launch differs by a ten-thousandth.
KSWAPD_WITHIN, LAUNCHES_WITHIN, TRAFFIC_WITHIN = 0.01, 3e-4, 0.005


def scale(one: dict[str, Any], scaled: dict[str, Any], factor: int) -> bool:
    """Whether the delays of `scaled` are those of `one` times `factor`."""
    (kswapd, *launches), (scaled_kswapd, *scaled_launches) = delays(one), delays(scaled)
    return bool(
        scaled_kswapd == pytest.approx(factor * kswapd, rel=KSWAPD_WITHIN)
        and scaled_launches == pytest.approx([factor * delay for delay in launches], rel=LAUNCHES_WITHIN)
    )


@pytest.mark.parametrize("swap", ["flash", "zram"])
@pytest.mark.parametrize("factor", [2, 3])
def test_all_times_scaled_scale_the_launch_delays(swap: str, factor: int, tmp_path: Path) -> None:
    one, scaled = phone(tmp_path, swap), phone(tmp_path, swap, time=factor)
    for name in ("swap_in_bytes", "swap_out_bytes", "file_read_bytes", "faults"):
        assert scaled["paging"][name] == pytest.approx(one["paging"][name], rel=TRAFFIC_WITHIN), name
    assert scale(one, scaled, factor), (delays(one), delays(scaled))
    assert scaled["time"]["wall_ns"] == factor * one["time"]["wall_ns"]


@pytest.mark.parametrize(("swap", "fixed"), [("flash", "flash"), ("flash", "processor"), ("flash", "scan"), ("zram", "dram")])
def test_a_time_that_was_not_scaled_is_noticed(swap: str, fixed: str, tmp_path: Path) -> None:
    one, wrong = phone(tmp_path, swap), phone(tmp_path, swap, time=2, fixed=fixed)
    assert not scale(one, wrong, 2), (delays(one), delays(wrong))


#: Watermarks grow as the square root of memory, and samples of pages are whole pages.
WITHIN = 0.02


@pytest.mark.parametrize("swap", ["flash", "zram"])
def test_all_sizes_doubled_double_the_traffic(swap: str, tmp_path: Path) -> None:
    one, double = phone(tmp_path, swap)["paging"], phone(tmp_path, swap, memory=2)["paging"]
    for name in ("swap_in_bytes", "swap_out_bytes", "file_read_bytes"):
        assert double[name] == pytest.approx(2 * one[name], rel=WITHIN), name


def test_doubled_apps_on_the_same_memory_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = phone(tmp_path, "flash")["paging"]
    monkeypatch.setitem(APPS, "game", (60, 16, 900, 250))
    larger = phone(tmp_path, "flash")["paging"]
    assert larger["swap_out_bytes"] > (1 + WITHIN) * one["swap_out_bytes"]
