"""Measures of DR.Swap's claims: its energy equations, copies removed by Direct Read on the bundled traces, its protocol on the simulated
phone."""

from __future__ import annotations

import csv
import json
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import swaplab
from swaplab import _core
from swaplab.papers import Mean, Measured, interval, simulated

HERE = Path(__file__).parent
#: Real programs whose traces come with the package.
TRACES = sorted((Path(swaplab.__file__).parent / "data").glob("*.slt"))
EXPERIMENT = tomllib.loads((HERE / "experiment.toml").read_text())


def _energy(swap_mib: int, direct: bool = True) -> dict[str, float]:
    run = EXPERIMENT["energy"]
    direct_reads = run["direct_reads"] if direct else 0
    text = _core.energy(f"{swap_mib}MiB", run["seconds"], run["swap_ins"], direct_reads, run["swap_outs"], 64, run["mode"])
    schemes = json.loads(text)
    return {name: parts["total_j"] for name, parts in schemes.items()}


def _saving(swap_mib: int) -> Measured:
    totals = _energy(swap_mib)
    saving = 100 * (1 - totals["nvm-direct"] / totals["dram"])
    return Measured(saving, f"{saving:.1f} %")


def saving_128() -> Measured:
    return _saving(128)


def saving_256() -> Measured:
    return _saving(256)


def saving_512() -> Measured:
    return _saving(512)


def saving_of_direct_read() -> Measured:
    saving = 100 * (1 - _energy(128)["nvm-direct"] / _energy(128, direct=False)["nvm-direct"])
    return Measured(saving, f"{saving:.2f} %")


@cache
def _points() -> tuple[dict[str, Any], ...]:
    """Every valid point of every bundled trace, all schemes at it."""
    request = {
        **{key: value for key, value in EXPERIMENT["replay"].items() if key != "traces"},
        "swap_device": None,
        "mapping": "follow",
        "signal": "exact",
        "seed": 0,
        "jobs": 0,
    }
    found: list[dict[str, Any]] = []
    for trace in TRACES:
        points = [p for p in json.loads(_core.replay(trace, json.dumps(request), None))["points"] if not p["filter_limited"]]
        for pages in dict.fromkeys(p["memory_pages"] for p in points):
            found.append({p["scheme"]["name"]: p for p in points if p["memory_pages"] == pages} | {"program": trace.stem})
    return tuple(found)


def _removed(point: dict[str, Any]) -> float:
    copies = [point[name]["scheme"]["copied_pages"] for name in ("nvm-direct", "nvm-copy")]
    return 100 * (1 - copies[0] / copies[1]) if copies[1] else 0.0


def copies_removed() -> Measured:
    programs = sorted({point["program"] for point in _points()})
    means = {}
    for program in programs:
        removed = [_removed(point) for point in _points() if point["program"] == program]
        means[program] = sum(removed) / len(removed)
    mean = sum(means.values()) / len(means)
    each = ", ".join(f"{program} {value:.0f} %" for program, value in means.items())
    return Measured(mean, f"{mean:.1f} % ({each})", ordered=mean > 0)


def least_copies_removed() -> Measured:
    least = min(_removed(point) for point in _points())
    return Measured(least, f"{least:.1f} % at least, over {len(_points())} points", ordered=least > 0)


def table4_slips() -> Measured:
    rows = [row for row in csv.DictReader((HERE / "table4.csv").open()) if row["swap_mb"] == "128"]
    enabled = [int(row["swap_ins_dr_enabled"]) for row in rows if row["category"] != "Average"]
    disabled = [int(row["swap_ins_dr_disabled"]) for row in rows if row["category"] != "Average"]
    text = (3289, 1066)
    slips = [abs(said - sum(column) / len(column)) for said, column in zip(text, (disabled, enabled), strict=True)]
    return Measured(max(slips), f"the rows give {sum(disabled) / len(disabled):.0f} and {sum(enabled) / len(enabled):.0f}")


def flash_over_nvm_direct() -> Measured:
    swap_ns = lambda point: point["swap_read_ns"] + point["swap_write_ns"]  # noqa: E731
    least = min(swap_ns(point["flash"]) / swap_ns(point["nvm-direct"]) for point in _points())
    return Measured(least, f"flash takes {least:.0f} times as long or more at every point")


Rows = dict[str, dict[str, Any]]


def _phone() -> dict[str, Rows]:
    """By workload of Table III: the protocol without swap and with each scheme at each size (`flash 128`)."""
    run = EXPERIMENT["phone"]
    schemes = [{"name": "none", "swap": "none"}]
    schemes += [{"name": f"{key} {size}", "swap": f"{key}:size={size}MiB"} for key in run["schemes"] for size in run["sizes"]]
    table = {"launches": run["launches"], "seeds": run["seeds"], "phone": {"dram_mib": run["dram_mib"]}, "schemes": schemes}
    return {name: simulated(table | {"apps": {"kinds": kinds}}) for name, kinds in run["kinds"].items()}


def _sum(scheme: str, *keys: str) -> float:
    return float(sum(rows[scheme][key] for rows in _phone().values() for key in keys))


def _times(of: str, keys: tuple[str, ...], than: str, base: str) -> str:
    """The interval of a ratio of sums over all workloads."""
    workloads = list(_phone().values())

    def ratio(*means: Mean) -> float:
        ours, theirs = means[: len(workloads)], means[len(workloads) :]
        return sum(mean(key) for mean in ours for key in keys) / sum(mean(base) for mean in theirs)

    return interval([*(rows[of] for rows in workloads), *(rows[than] for rows in workloads)], ratio, ".2f")


def kills() -> Measured:
    without, with_swap = _sum("none", "kills"), _sum("flash 128", "kills")
    ratio = with_swap / without
    sure = _times("flash 128", ("kills",), "none", "kills")
    text = f"{without:.0f} to {with_swap:.0f} over {len(_phone())} workloads ({ratio:.2f} times; {sure})"
    return Measured(ratio, text, ratio < 1)


def block_io() -> Measured:
    without = _sum("none", "file_read_bytes")
    keys = ("file_read_bytes", "swap_in_bytes", "swap_out_bytes")
    ratio = _sum("flash 128", *keys) / without
    sure = _times("flash 128", keys, "none", "file_read_bytes")
    return Measured(ratio, f"{ratio:.2f} times the block I/O ({sure})", ratio > 1)


def swap_ins_by_size() -> Measured:
    means = [_sum(f"flash {size}", "copied_pages") / len(_phone()) for size in EXPERIMENT["phone"]["sizes"]]
    return Measured(means[-1] / means[0], ", ".join(f"{mean:.0f}" for mean in means), means[0] > means[1] > means[2])


def copies_removed_on_phone() -> Measured:
    removed = {}
    for name, rows in _phone().items():
        if copies := rows["ramdisk 128"]["copied_pages"]:
            removed[name] = 100 * (1 - rows["nvm-direct 128"]["copied_pages"] / copies)
    mean = sum(removed.values()) / len(removed)
    return Measured(
        mean, f"{mean:.1f} % ({min(removed.values()):.0f} to {max(removed.values()):.0f}, {len(removed)} workloads that swap)", mean > 0
    )


def _delays(times: str = "launch_ms") -> list[dict[str, float]]:
    """Mean delay in ms by scheme, at each workload and size at which flash swaps in and every scheme has such launches."""
    found = []
    for rows in _phone().values():
        for size in EXPERIMENT["phone"]["sizes"]:
            delays = {key: rows[f"{key} {size}"][times] for key in EXPERIMENT["phone"]["schemes"]}
            if all(delays.values()) and rows[f"flash {size}"]["swap_in_bytes"]:
                found.append({key: delay["mean"] for key, delay in delays.items()})
    return found


def switch_against_flash() -> Measured:
    gains, resumed = ([100 * (1 - delay["nvm-direct"] / delay["flash"]) for delay in _delays(what)] for what in ("launch_ms", "switch_ms"))
    faster = sum(gain > 0 for gain in gains)
    text = f"faster at {faster} of {len(gains)} points, {sum(gains) / len(gains):.1f} % on average"
    text += f" (resumes alone: {sum(gain > 0 for gain in resumed)} of {len(resumed)})"
    return Measured(faster / len(gains), text, 2 * faster > len(gains))


def switch_against_dram() -> Measured:
    gaps = [100 * (delay["nvm-direct"] / delay["ramdisk"] - 1) for delay in _delays()]
    worst = max(gaps, key=abs)
    return Measured(worst, f"{worst:+.1f} % at most, {sum(gaps) / len(gaps):+.1f} % on average")


def saving_of_mixes() -> Measured:
    savings = {}
    for name in ("Mix1", "Mix2"):
        rows = _phone()[name]
        savings[name] = 100 * (1 - rows["nvm-direct 128"]["energy_j"]["swap_nvm"] / rows["ramdisk 128"]["energy_j"]["swap_dram"])
    text = ", ".join(f"{name} {saving:.1f} %" for name, saving in savings.items())
    return Measured(min(savings.values()), text)
