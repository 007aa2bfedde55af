"""Measures of DR.Swap's claims: its energy equations, copies removed by Direct Read on the bundled traces, its protocol on the simulated
phone and in a kernel under virtual time."""

from __future__ import annotations

import csv
import json
import tomllib
from functools import cache
from pathlib import Path

import swaplab
from swaplab import _core
from swaplab.analysis.papers import Mean, Measured, document_of, interval, ratio, rows_in_vm, rows_of
from swaplab.analysis.registry import key_of
from swaplab.core import experiment as experiments
from swaplab.core.document import figure
from swaplab.core.model import Row

HERE = Path(__file__).parent
#: Real programs whose traces come with the package.
TRACES = sorted((Path(swaplab.__file__).parent / "data").glob("*.slt"))
ENERGY = tomllib.loads((HERE / "energy.toml").read_text())
SCHEMES = ("ramdisk", "nvm-direct", "flash")
SIZES = (128, 256, 512)
#: Lines of a page: a page mapped in place is taken to be read once and whole, for the kernel does not count its loads.
LINES = 64
#: Workloads of Table III, by `swaplab list apps`.
WORKLOADS = {
    "Browser": "browser",
    "News": "news",
    "Multimedia": "multimedia",
    "Social networking": "social",
    "Gaming": "gaming",
    "Online shopping": "shopping",
    "Mix1": "mix1",
    "Mix2": "mix2",
}


def _energy(swap_mib: int, direct: bool = True) -> dict[str, float]:
    run = ENERGY
    direct_reads = run["direct_reads"] if direct else 0
    text = _core.energy(f"{swap_mib}MiB", run["seconds"], run["swap_ins"], direct_reads, run["swap_outs"], LINES, run["mode"])
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


Point = dict[str, Row]


@cache
def _points() -> tuple[tuple[str, Point], ...]:
    """Program and rows by scheme, for every valid point of every bundled trace."""
    found = []
    for trace in TRACES:
        rows = document_of(experiments.read(HERE / "replay.toml", [f"workload.trace={trace}"])).rows
        valid = [row for row in rows if row.replay is not None and not row.replay.filter_limited]
        for frames in dict.fromkeys(row.replay.frames for row in valid if row.replay is not None):
            at = {key_of(row.swap or ""): row for row in valid if row.replay is not None and row.replay.frames == frames}
            found.append((trace.stem, at))
    return tuple(found)


def _known(row: Row, path: str) -> float:
    """A figure that this world always knows."""
    value = figure(row, path)
    assert value is not None, path
    return value


def _removed(point: Point) -> float:
    copies = [_known(point[name], "paging.copied_pages") for name in ("nvm-direct", "nvm-copy")]
    return 100 * (1 - copies[0] / copies[1]) if copies[1] else 0.0


def copies_removed() -> Measured:
    programs = sorted({program for program, _ in _points()})
    means = {}
    for program in programs:
        removed = [_removed(point) for name, point in _points() if name == program]
        means[program] = sum(removed) / len(removed)
    mean = sum(means.values()) / len(means)
    each = ", ".join(f"{program} {value:.0f} %" for program, value in means.items())
    return Measured(mean, f"{mean:.1f} % ({each})", ordered=mean > 0)


def least_copies_removed() -> Measured:
    least = min(_removed(point) for _, point in _points())
    return Measured(least, f"{least:.1f} % at least, over {len(_points())} points", ordered=least > 0)


def table4_slips() -> Measured:
    rows = [row for row in csv.DictReader((HERE / "table4.csv").open()) if row["swap_mb"] == "128"]
    enabled = [int(row["swap_ins_dr_enabled"]) for row in rows if row["category"] != "Average"]
    disabled = [int(row["swap_ins_dr_disabled"]) for row in rows if row["category"] != "Average"]
    text = (3289, 1066)
    slips = [abs(said - sum(column) / len(column)) for said, column in zip(text, (disabled, enabled), strict=True)]
    return Measured(max(slips), f"the rows give {sum(disabled) / len(disabled):.0f} and {sum(enabled) / len(enabled):.0f}")


def flash_over_nvm_direct() -> Measured:
    def swap_ns(row: Row) -> float:
        return _known(row, "time.swap_read_ns") + _known(row, "time.swap_write_ns")

    least = min(swap_ns(point["flash"]) / swap_ns(point["nvm-direct"]) for _, point in _points())
    return Measured(least, f"flash takes {least:.0f} times as long or more at every point")


Rows = dict[str, Row]
KILLS, DELAY = "launches.kills", "launches.delay_ms.mean"
BLOCK_IO = ("paging.file_read_bytes", "paging.swap_in_bytes", "paging.swap_out_bytes")


@cache
def _phone() -> dict[str, Rows]:
    """By workload of Table III: the protocol without swap and with each scheme at each size (`flash 128`)."""
    found = {}
    for name, kinds in WORKLOADS.items():
        by_swap = {row.swap: row for row in rows_of(experiments.read(HERE / "experiment.toml", [f"workload.apps.kinds={kinds}"])).values()}
        sized = {f"{key} {size}": by_swap[f"{key}:size={size}MiB"] for key in SCHEMES for size in SIZES}
        found[name] = {"none": by_swap["none"], **sized}
    return found


def _sum(scheme: str, *paths: str) -> float:
    return sum(_known(rows[scheme], path) for rows in _phone().values() for path in paths)


def _times(of: str, paths: tuple[str, ...], than: str, base: str) -> str:
    """The interval of a ratio of sums over all workloads."""
    workloads = list(_phone().values())

    def ratio(*means: Mean) -> float:
        ours, theirs = means[: len(workloads)], means[len(workloads) :]
        return sum(mean(path) for mean in ours for path in paths) / sum(mean(base) for mean in theirs)

    return interval([*(rows[of] for rows in workloads), *(rows[than] for rows in workloads)], ratio, ".2f")


def kills() -> Measured:
    without, with_swap = _sum("none", KILLS), _sum("flash 128", KILLS)
    ratio = with_swap / without
    sure = _times("flash 128", (KILLS,), "none", KILLS)
    text = f"{without:.0f} to {with_swap:.0f} over {len(_phone())} workloads ({ratio:.2f} times; {sure})"
    return Measured(ratio, text, ratio < 1)


def block_io() -> Measured:
    without = _sum("none", BLOCK_IO[0])
    ratio = _sum("flash 128", *BLOCK_IO) / without
    sure = _times("flash 128", BLOCK_IO, "none", BLOCK_IO[0])
    return Measured(ratio, f"{ratio:.2f} times the block I/O ({sure})", ratio > 1)


def swap_ins_by_size() -> Measured:
    means = [_sum(f"flash {size}", "paging.copied_pages") / len(_phone()) for size in SIZES]
    return Measured(means[-1] / means[0], ", ".join(f"{mean:.0f}" for mean in means), means[0] > means[1] > means[2])


def copies_removed_on_phone() -> Measured:
    removed = {}
    for name, rows in _phone().items():
        if copies := _known(rows["ramdisk 128"], "paging.copied_pages"):
            removed[name] = 100 * (1 - _known(rows["nvm-direct 128"], "paging.copied_pages") / copies)
    mean = sum(removed.values()) / len(removed)
    return Measured(
        mean, f"{mean:.1f} % ({min(removed.values()):.0f} to {max(removed.values()):.0f}, {len(removed)} workloads that swap)", mean > 0
    )


def _delays(path: str = DELAY) -> list[dict[str, float]]:
    """Mean delay in ms by scheme, at each workload and size at which flash swaps in and every scheme has such launches."""
    found = []
    for rows in _phone().values():
        for size in SIZES:
            delays = {key: figure(rows[f"{key} {size}"], path) for key in SCHEMES}
            known = {key: delay for key, delay in delays.items() if delay is not None}
            if len(known) == len(SCHEMES) and _known(rows[f"flash {size}"], "paging.swap_in_bytes"):
                found.append(known)
    return found


def switch_against_flash() -> Measured:
    gains, resumed = (
        [100 * (1 - delay["nvm-direct"] / delay["flash"]) for delay in _delays(what)] for what in (DELAY, "launches.resume_ms.mean")
    )
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
        nvm, dram = (
            _known(rows[f"{key} 128"], f"energy.parts_j.{part}") for key, part in (("nvm-direct", "swap_nvm"), ("ramdisk", "swap_dram"))
        )
        savings[name] = 100 * (1 - nvm / dram)
    text = ", ".join(f"{name} {saving:.1f} %" for name, saving in savings.items())
    return Measured(min(savings.values()), text)


#: Sizes of swap in `vm.toml`, MiB: a quarter of the paper's.
VM_SIZES = (32, 64, 128)


def _in_vm(*designs: str) -> list[Row]:
    rows = rows_in_vm("dr-swap")
    return [rows[design] for design in designs]


def _faster(scheme: str, than: str) -> Measured:
    """Mean delay of a launch under one scheme against another's at each size."""
    ratios = [ratio(_in_vm(f"{scheme} {size}", f"{than} {size}"), DELAY, ".3f") for size in VM_SIZES]
    text = "; ".join(f"{size} MiB: {one.text}" for size, one in zip(VM_SIZES, ratios, strict=True))
    share = sum(one.is_below(1) for one in ratios) / len(ratios)
    return Measured(share, text, share > 0.5)


def vm_switch_against_flash() -> Measured:
    return _faster("nvm-direct", "flash")


def vm_switch_against_dram() -> Measured:
    ratios = [ratio(_in_vm(f"nvm-direct {size}", f"ramdisk {size}"), DELAY, ".3f") for size in VM_SIZES]
    worst = max((100 * (one.value - 1) for one in ratios), key=abs)
    return Measured(worst, "; ".join(f"{size} MiB: {one.text}" for size, one in zip(VM_SIZES, ratios, strict=True)))


def vm_copies_removed() -> Measured:
    copied = ratio(_in_vm("nvm-direct 128", "nvm-copy 128"), "paging.copied_pages")
    return Measured(100 * (1 - copied.value), f"{100 * (1 - copied.value):.1f} % ({copied.text})", copied.is_below(1))


def _vm_energy(row: Row, scheme: str) -> tuple[float, float]:
    """Energy of the swap medium in J, in all and without background, by the row's own counted transfers and its own time."""
    copied, mapped = (_known(row, f"paging.{name}") for name in ("copied_pages", "direct_reads"))
    written = _known(row, "paging.swap_out_bytes") / 4096
    text = _core.energy(
        "128MiB", _known(row, "time.wall_ns") / 1e9, round(copied + mapped), round(mapped), round(written), LINES, ENERGY["mode"]
    )
    parts = json.loads(text)[scheme]
    return parts["total_j"], parts["total_j"] - parts["background_j"]


def vm_saving() -> Measured:
    designs, media = ("ramdisk 128", "nvm-copy 128", "nvm-direct 128", "flash 128"), ("dram", "nvm-direct", "nvm-direct", "flash")
    of = zip(_in_vm(*designs), media, strict=True)
    (dram, dram_moved), (copy, copy_moved), (direct, direct_moved), (_, flash_moved) = (_vm_energy(row, scheme) for row, scheme in of)
    saving = 100 * (1 - direct / dram)
    moved = ", ".join(
        f"{name} {1000 * joules:.2f}"
        for name, joules in (("DRAM", dram_moved), ("NVM copied", copy_moved), ("Direct Read", direct_moved), ("flash", flash_moved))
    )
    return Measured(saving, f"{saving:.1f} % (NVM copied {100 * (1 - copy / dram):.1f} %); transfers alone, mJ: {moved}", saving > 0)


def vm_kills() -> Measured:
    kills = ratio(_in_vm("nvm-direct 32", "none"), KILLS)
    return Measured(kills.value, kills.text, kills.is_below(1))


def vm_swap_ins_by_size() -> Measured:
    moved = [_known(row, "paging.swap_in_bytes") / 4096 for row in _in_vm(*(f"flash {size}" for size in VM_SIZES))]
    text = ", ".join(f"{pages:.0f}" for pages in moved)
    return Measured(moved[-1] / moved[0], text, moved[-1] < moved[0])
