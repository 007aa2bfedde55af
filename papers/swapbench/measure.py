"""Measures of SwapBench's claims on the simulated phone: orderings of switch delays and kills by scheme and size of swap."""

from __future__ import annotations

import json
import tempfile
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from swaplab import _core
from swaplab.model import sim
from swaplab.papers import Measured, interval, simulated

EXPERIMENT = tomllib.loads((Path(__file__).parent / "experiment.toml").read_text())
PHONE = EXPERIMENT["phone"]


def _table(schemes: dict[str, str], kinds: str, launches: str) -> dict[str, Any]:
    rows = [{"name": name, "swap": swap} for name, swap in schemes.items()]
    phone = {"dram_mib": PHONE["dram_mib"]}
    return {"launches": launches, "seeds": PHONE["seeds"], "phone": phone, "apps": {"kinds": kinds}, "schemes": rows}


def _rows() -> dict[str, dict[str, Any]]:
    sizes = {f"flash {size}": f"flash:size={size}MiB" for size in EXPERIMENT["sizes"]["flash"]}
    return simulated(_table(EXPERIMENT["schemes"] | sizes, PHONE["kinds"], PHONE["launches"]))


def _switch(scheme: str) -> float:
    """Mean switch delay in ms; a scheme under which nobody is switched to has none, and the comparison would be void."""
    return float(_rows()[scheme]["switch_ms"]["mean"])


def kills_with_64_mb() -> Measured:
    without, with_swap = (_rows()[name]["kills"] for name in ("none", "flash 64"))
    sure = interval([_rows()["flash 64"], _rows()["none"]], lambda swap, none: swap("kills") / none("kills"), ".2f")
    text = f"{without:.1f} to {with_swap:.1f} ({with_swap / without:.2f} times; {sure})"
    return Measured(with_swap / without, text, with_swap < without)


def kills_fall_with_size() -> Measured:
    kills = [_rows()[f"flash {size}"]["kills"] for size in EXPERIMENT["sizes"]["flash"]]
    steps = [after <= before for before, after in zip(kills, kills[1:], strict=False)]
    return Measured(sum(steps) / len(steps), ", ".join(f"{value:.1f}" for value in kills), kills[-1] < kills[0])


def sd_card_over_flash() -> Measured:
    ratio = _switch("sd-card") / _switch("flash")
    return Measured(ratio, f"{ratio:.3f} times ({_switch('sd-card'):.0f} for {_switch('flash'):.0f} ms)", ratio > 1)


def flash_over_none() -> Measured:
    times = [_rows()[name]["launch_ms"]["mean"] for name in ("flash", "none")]
    sure = interval([_rows()["flash"], _rows()["none"]], lambda swap, none: swap("launch_ms") / none("launch_ms"), ".3f")
    text = f"{times[0] / times[1]:.3f} times ({times[0]:.0f} for {times[1]:.0f} ms; {sure})"
    return Measured(times[0] / times[1], text, times[0] > times[1])


def order_of_media() -> Measured:
    names = ("nvm-direct", "nvm", "ramdisk", "flash", "sd-card")
    times = [_switch(name) for name in names]
    steps = [after >= before for before, after in zip(times, times[1:], strict=False)]
    text = ", ".join(f"{name} {time:.1f}" for name, time in zip(names, times, strict=True)) + " ms"
    return Measured(sum(steps) / len(steps), text, times[0] < times[-1])


def zram_over_flash() -> Measured:
    ratio = _switch("zram") / _switch("flash")
    return Measured(ratio, f"{ratio:.3f} times ({_switch('zram'):.0f} for {_switch('flash'):.0f} ms)", ratio < 1)


def cold_launches() -> Measured:
    rows = {name: _rows()[name] for name in EXPERIMENT["schemes"]}
    text = ", ".join(f"{name} {row['cold_starts']:.1f} of {row['cold_ms']['mean']:.0f} ms" for name, row in rows.items())
    return Measured(rows["flash"]["cold_ms"]["mean"], text)


def categories() -> Measured:
    schemes = {name: EXPERIMENT["schemes"][name] for name in ("none", "flash")}
    launches = PHONE["launches"].replace("apps=10", "apps=5")
    found = {}
    for category, kinds in EXPERIMENT["categories"].items():
        row = simulated(_table(schemes, kinds, launches))["flash"]
        found[category] = (row["switch_ms"] or {"mean": 0.0})["mean"]
    return Measured(max(found.values()), ", ".join(f"{category} {time:.0f}" for category, time in found.items()) + " ms")


def io_of_schemes() -> Measured:
    keys = ("file_read_bytes", "swap_in_bytes", "swap_out_bytes")
    moved = {name: sum(_rows()[name][key] for key in keys) / 1e6 for name in EXPERIMENT["schemes"]}
    return Measured(moved["flash"], ", ".join(f"{name} {value:.0f}" for name, value in moved.items()) + " MB of files and swap")


@cache
def _launches() -> list[dict[str, Any]]:
    """Every launch with the parts of its time, under the schemes that move the same pages."""
    schemes = {name: EXPERIMENT["schemes"][name] for name in ("flash", "ramdisk", "nvm")}
    tables: dict[str, Any] = {}
    table = {"seed": 0, "sim": _table(schemes, PHONE["kinds"], PHONE["launches"])}
    sim.run(json.loads(_core.experiment_from_json("swapbench", json.dumps(table))), tables=tables)
    rows: list[dict[str, Any]] = tables["launches"].to_dicts()
    return rows


def _of(scheme: str, key: str) -> int:
    return sum(row[key] for row in _launches() if row["scheme"] == scheme)


def fake_io_path() -> Measured:
    each = {name: _of(name, "fault_cpu_ns") / _of(name, "faults") for name in ("ramdisk", "nvm")}
    ratio = each["ramdisk"] / each["nvm"]
    return Measured(ratio, f"{each['ramdisk'] / 1e3:.2f} for {each['nvm'] / 1e3:.2f} us of processor a fault")


def calibration() -> Measured:
    """The microbenchmark is a replay: two pages that take turns in one frame, so that every reference reads swap."""
    request = {"policies": ["lru"], "memory": ["1p"], "file_device": "ufs-3.1", "swap_device": "emmc-4.41", "first_touch": "charged"}
    request |= {"mapping": "follow", "signal": "exact", "schemes": [], "seed": 0, "jobs": 1}
    with tempfile.TemporaryDirectory(prefix="swaplab-") as folder:
        trace = Path(folder) / "t.csv"
        trace.write_text("page,op\n" + "1,R\n2,R\n" * 50)
        (point,) = json.loads(_core.replay(trace, json.dumps(request), None))["points"]
    each = point["swap_read_ns"] / point["swap_reads"]
    ours = _of("flash", "swap_read_flash_ns") / _of("flash", "swapped_in")
    return Measured(ours / each, f"{ours / 1e3:.2f} for {each / 1e3:.2f} us a page")
