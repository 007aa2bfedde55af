"""Measures of DR.Swap's claims: its energy equations, copies removed by Direct Read on the bundled
traces, and kills and traffic of its protocol on the simulated phone. `n` and intervals are of
programs or of the workloads of Table III."""

from __future__ import annotations

import csv
import json
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import swaplab
from swaplab import _core
from swaplab.analysis.papers import Measured, document_of, interval_text, rows_of
from swaplab.analysis.papers_users import mean_over_items
from swaplab.analysis.registry import key_of
from swaplab.core import experiment as experiments
from swaplab.core.document import figure
from swaplab.core.model import Row
from swaplab.core.statistics import Interval, bootstrap

HERE = Path(__file__).parent
#: Real programs whose traces come with the package.
TRACES = sorted((Path(swaplab.__file__).parent / "data").glob("*.slt"))
ENERGY = tomllib.loads((HERE / "energy.toml").read_text())
SCHEMES = ("ramdisk", "nvm-direct", "flash")
SIZES = (128, 256, 512)
#: Lines of a page: a page mapped in place is taken to be read once and whole, for the kernel does
#: not count its loads.
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


def order_of_fig_7() -> Measured:
    """The share of sizes at which flash takes least and DRAM most."""
    totals = {size: _energy(size) for size in SIZES}
    held = [of["flash"] < of["nvm-direct"] < of["dram"] for of in totals.values()]
    text = "; ".join(f"{size} MB: {of['flash']:.2f}, {of['nvm-direct']:.2f}, {of['dram']:.2f} J" for size, of in totals.items())
    return Measured(sum(held) / len(held), f"flash, DR.Swap, DRAM at {text}")


def saving_of_direct_read() -> Measured:
    saving = 100 * (1 - _energy(128)["nvm-direct"] / _energy(128, direct=False)["nvm-direct"])
    return Measured(saving, f"{saving:.2f} %")


Point = dict[str, Row]


@cache
def _points(file: str = "replay.toml") -> tuple[tuple[str, Point], ...]:
    """Program and rows by scheme, for every valid point of every bundled trace."""
    found = []
    for trace in TRACES:
        rows = document_of(experiments.read(HERE / file, [f"workload.trace={trace}"])).rows
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


def _copies_removed(file: str) -> Measured:
    programs = sorted({program for program, _ in _points(file)})
    means = {}
    for program in programs:
        removed = [_removed(point) for name, point in _points(file) if name == program]
        means[program] = sum(removed) / len(removed)
    value, sure = mean_over_items(means)
    each = ", ".join(f"{program} {value:.0f} %" for program, value in means.items())
    return Measured(value, f"{value:.1f} % ({each})", interval=sure, n=len(means))


def copies_removed() -> Measured:
    return _copies_removed("replay.toml")


def copies_removed_at_the_papers_ratio() -> Measured:
    return _copies_removed("replay-ratio.toml")


def least_copies_removed() -> Measured:
    least = min(_removed(point) for _, point in _points())
    return Measured(least, f"{least:.1f} % at least, over {len(_points())} points", n=len({program for program, _ in _points()}))


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
    return Measured(least, f"flash takes {least:.0f} times as long or more at every point", n=len({program for program, _ in _points()}))


Rows = dict[str, Row]
KILLS = "launches.kills"
#: Added to a design's name: the killer of the paper's text, which runs when swap is full.
WHEN_FULL = ", killer when swap is full"
BLOCK_IO = ("paging.file_read_bytes", "paging.swap_in_bytes", "paging.swap_out_bytes")


@cache
def _phone(*changes: str) -> dict[str, Rows]:
    """By workload of Table III: the protocol's rows by design's name; with changes only those that
    `_removed_by` reads.
    """
    found = {}
    for name, kinds in WORKLOADS.items():
        wanted = experiments.read(HERE / "experiment.toml", [f"workload.apps.kinds={kinds}", *changes])
        if changes:
            kept = [design for design in wanted.design if design.name in ("ramdisk 128", "nvm-direct 128")]
            wanted = wanted.model_copy(update={"design": kept})
        found[name] = rows_of(wanted)
    return found


def _sum(scheme: str, *paths: str) -> float:
    return sum(_known(rows[scheme], path) for rows in _phone().values() for path in paths)


def _over_workloads(of: str, paths: tuple[str, ...], than: str, base: str) -> tuple[float, Interval | None]:
    """A ratio of sums over all workloads, and its interval over workloads."""
    workloads = list(_phone().values())

    def quotient(drawn: Sequence[int]) -> float:
        rows = [workloads[at] for at in drawn]
        return sum(_known(row[of], path) for row in rows for path in paths) / sum(_known(row[than], base) for row in rows)

    return quotient(range(len(workloads))), bootstrap(len(workloads), quotient)


def _kills(flash: str) -> Measured:
    value, sure = _over_workloads(flash, (KILLS,), "none", KILLS)
    counts = f"{_sum('none', KILLS):.0f} to {_sum(flash, KILLS):.0f} over {len(_phone())} workloads"
    text = f"{counts} ({value:.2f} times; {interval_text(sure, '.2f')})"
    return Measured(value, text, interval=sure)


def kills() -> Measured:
    return _kills("flash 128")


def kills_when_full() -> Measured:
    return _kills("flash 128" + WHEN_FULL)


def _block_io(flash: str) -> Measured:
    value, sure = _over_workloads(flash, BLOCK_IO, "none", BLOCK_IO[0])
    return Measured(value, f"{value:.2f} times the block I/O ({interval_text(sure, '.2f')})", interval=sure)


def block_io() -> Measured:
    return _block_io("flash 128")


def block_io_when_full() -> Measured:
    return _block_io("flash 128" + WHEN_FULL)


def _by_size(killer: str) -> Measured:
    path = "paging.copied_pages"
    means = [_sum(f"flash {size}{killer}", path) / len(_phone()) for size in SIZES]
    value, sure = _over_workloads(f"flash 512{killer}", (path,), f"flash 128{killer}", path)
    falls = means[0] > means[1] > means[2]
    text = ", ".join(f"{mean:.0f}" for mean in means) + f" ({value:.2f} times; {interval_text(sure, '.2f')})"
    return Measured(value, text, falls, sure)


def swap_ins_by_size() -> Measured:
    return _by_size("")


def swap_ins_by_size_when_full() -> Measured:
    return _by_size(WHEN_FULL)


def _removed_by(direct: str, copying: str, phone: Mapping[str, Rows]) -> Measured:
    """Percent of the pages copied by demand that Direct Read copies not, mean of the workloads that
    swap.
    """
    removed = {}
    for name, rows in phone.items():
        if copies := _known(rows[copying], "paging.copied_pages"):
            removed[name] = 100 * (1 - _known(rows[direct], "paging.copied_pages") / copies)
    if not removed:
        return Measured(0.0, "nothing is swapped", n=0)
    value, sure = mean_over_items(removed)
    span = f"{min(removed.values()):.0f} to {max(removed.values()):.0f}, {len(removed)} workloads that swap"
    return Measured(value, f"{value:.1f} % ({span}; {interval_text(sure)})", interval=sure, n=len(removed))


def copies_removed_on_phone() -> Measured:
    return _removed_by("nvm-direct 128", "ramdisk 128", _phone())


def copies_removed_none_read_ahead() -> Measured:
    return _removed_by("nvm-direct 128", "ramdisk 128", _phone("machine.kernel.page_cluster=0"))


def copies_removed_at_2_gb() -> Measured:
    return _removed_by("nvm-direct 128", "ramdisk 128", _phone("machine.dram=2GiB"))


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
