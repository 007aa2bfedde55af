"""Measures of Kim & Bahn's claims: block-trace analysis and the NVM cache simulation, on real
traces and on a generated one. `n` is the number of traces."""

from __future__ import annotations

import importlib.util
import json
import tempfile
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from swaplab import _core
from swaplab.analysis.papers import Measured, data_folder

HERE = Path(__file__).resolve().parent
#: Without recorded data this folder is not there, and measures that need it give nothing.
DATA = data_folder() or HERE / "no-recorded-data"
CHROMIUM, FILEFRAG = DATA / "blk/chromium_200MB.trace.zst", DATA / "blk/chromium_200MB.filefrag"
PHONE = (DATA / "blk-phone/slideshow_exec.csv.gz", DATA / "blk-phone/telegram_exec.csv.gz")
EXPERIMENT = tomllib.loads((HERE / "experiment.toml").read_text())
SIZES_MB, READINGS = EXPERIMENT["nvm-cache"]["sizes_mb"], EXPERIMENT["nvm-cache"]["fill"]

Points = dict[tuple[str, int, str, str], int]


#: Traces imported so far: each is read by several measures.
_SPOOL = tempfile.TemporaryDirectory(prefix="swaplab-")


@cache
def _imported(trace: Path) -> Path:
    output = Path(_SPOOL.name) / f"{trace.name.split('.')[0]}.slt"
    reading = {"filefrag": str(FILEFRAG)} if trace == CHROMIUM else {}
    _core.trace_import(trace, output, json.dumps(reading), None)
    return output


@cache
def _analysis(trace: Path) -> dict[str, Any]:
    accesses: dict[str, Any] = json.loads(_core.trace_analyze(_imported(trace), "{}", None))["accesses"]
    return accesses


@cache
def _swap_part() -> dict[str, Any]:
    """The analysis of the swap partition by itself."""
    part = Path(_SPOOL.name) / "swap.slt"
    _core.trace_slice(_imported(CHROMIUM), "{}", 0, None, "swap", part, None)
    accesses: dict[str, Any] = json.loads(_core.trace_analyze(part, "{}", None))["accesses"]
    return accesses


@cache
def _storage(trace: Path) -> Points:
    """Storage accesses by (fill, size, replacement, admission)."""
    request = {
        "sizes": [f"{size}MiB" for size in SIZES_MB],
        **{key: EXPERIMENT["nvm-cache"][key] for key in ("replacement", "admission", "fill")},
        "jobs": 0,
    }
    document = json.loads(_core.nvm_cache(_imported(trace), json.dumps(request), None))
    found = {("without", 0, "", ""): document["storage_accesses_without_nvm"]}
    for p in document["points"]:
        found[p["fill"], p["size_bytes"] >> 20, p["replacement"], p["admission"]] = p["storage_reads"] + p["storage_writes"]
    return found


def _real() -> list[tuple[str, Path]]:
    return [("chromium", CHROMIUM), ("slideshow", PHONE[0]), ("telegram", PHONE[1])]


def accesses_with_swap() -> Measured | None:
    if not CHROMIUM.is_file():
        return None
    times = _analysis(CHROMIUM)["swap"]["times"]
    return Measured(times, f"{times:.2f} times", n=1)


def share_for_80_with_swap() -> Measured | None:
    if not CHROMIUM.is_file():
        return None
    share = _swap_part()["share_for_80_percent"]
    return Measured(share, f"{100 * share:.0f} % of the data", n=1)


def share_for_80_without_swap() -> Measured | None:
    if not PHONE[0].is_file():
        return None
    shares = [_analysis(trace)["share_for_80_percent"] for trace in PHONE]
    return Measured(sum(shares) / 2, " and ".join(f"{100 * share:.0f} %" for share in shares), n=len(shares))


def top_15_with_swap() -> Measured | None:
    if not CHROMIUM.is_file():
        return None
    share = _swap_part()["top_share"]["0.15"]
    without = max(_analysis(trace)["top_share"]["0.15"] for trace in PHONE)
    return Measured(share, f"{100 * share:.0f} %; phone traces without swap at most {100 * without:.0f} %", ordered=share > without, n=1)


def single_access_of_swap() -> Measured | None:
    if not CHROMIUM.is_file():
        return None
    ratio = _swap_part()["single_access_ratio"]
    without = ", ".join(f"{name} {100 * _analysis(trace)['single_access_ratio']:.0f} %" for name, trace in _real())
    return Measured(ratio, f"{100 * ratio:.0f} % of the swapped data (all data: {without})", n=1)


def lru_wins() -> Measured | None:
    if not CHROMIUM.is_file():
        return None
    wins, all_points = 0, 0
    for _, trace in _real():
        storage = _storage(trace)
        for fill in READINGS:
            for size in (32, 64, 128, 256):
                wins += storage[fill, size, "lru", "always"] <= storage[fill, size, "lfu", "always"]
                all_points += 1
    return Measured(wins / all_points, f"{wins} of {all_points} points", n=len(_real()))


def lru_lfu_gap_1gb() -> Measured | None:
    if not CHROMIUM.is_file():
        return None
    gaps = {}
    for name, trace in _real():
        storage = _storage(trace)
        gaps[name] = max(100 * abs(storage[fill, 1024, "lru", "always"] / storage[fill, 1024, "lfu", "always"] - 1) for fill in READINGS)
    return Measured(max(gaps.values()), ", ".join(f"{name} {gap:.2f} %" for name, gap in gaps.items()), n=len(gaps))


def reduction_256mb() -> Measured | None:
    if not CHROMIUM.is_file():
        return None
    reductions = {}
    for name, trace in _real():
        without = _analysis(trace)["accesses"]
        reductions[name] = 100 * (1 - _storage(trace)["evictions", 256, "lru", "second-touch"] / without)
    mean = sum(reductions.values()) / len(reductions)
    return Measured(mean, f"{mean:.0f} % ({', '.join(f'{name} {value:.0f} %' for name, value in reductions.items())})", n=len(reductions))


def _gain(storage: Points, fill: str, size: int) -> float:
    """Storage accesses that second-touch saves, in percent of those without NVM."""
    saved = storage[fill, size, "lru", "always"] - storage[fill, size, "lru", "second-touch"]
    return 100 * saved / storage["without", 0, "", ""]


def admission_gain_real() -> Measured | None:
    if not CHROMIUM.is_file():
        return None
    gains = [_gain(_storage(trace), fill, size) for _, trace in _real() for fill in READINGS for size in (128, 256)]
    return Measured(max(gains), f"{max(gains):.1f} % of all accesses at best, {min(gains):.1f} % at worst", n=len(_real()))


def _generated() -> Points:
    spec = importlib.util.spec_from_file_location("generate", HERE / "generate.py")
    assert spec is not None and spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "generated.csv"
        trace.write_text("\n".join(generate.block_csv(EXPERIMENT["generated"])) + "\n")
        return _storage(trace)


def admission_gain_generated() -> Measured:
    storage = _generated()
    gains = {size: _gain(storage, "demand", size) for size in SIZES_MB if size <= 256}
    best = max(gains, key=lambda size: gains[size])
    curve = ", ".join(f"{size} MB {gain:.0f} %" for size, gain in gains.items())
    return Measured(gains[best], f"{gains[best]:.0f} % of all accesses at {best} MB, for 256 MB of data ({curve})")


def history_entry_bytes() -> Measured:
    """A history that has turned away more pages than it has entries."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "t.csv"
        trace.write_text("page,op\n" + "".join(f"{page},W\n" for page in range(1000)))
        request = {"sizes": ["500p"], "replacement": ["lru"], "admission": ["second-touch"], "fill": ["demand"], "jobs": 1}
        point = json.loads(_core.nvm_cache(trace, json.dumps(request), None))["points"][0]
    each = point["metadata_bytes"] / 500
    return Measured(each, f"{each:.0f} bytes")


def below_original_1gb() -> Measured | None:
    if not CHROMIUM.is_file():
        return None
    analysis = _analysis(CHROMIUM)
    original = analysis["accesses"] / analysis["swap"]["times"]
    part = _swap_part()["accesses"]
    ratio = (original + _swap_storage(part)) / original
    return Measured(ratio, f"{ratio:.3f} times the accesses without swap (all of them: {analysis['swap']['times']:.3f} times)", n=1)


def _swap_storage(accesses: int) -> float:
    """Of the swap partition's accesses, those that reach storage behind 1 GB of NVM."""
    _swap_part()
    request = {"sizes": ["1024MiB"], "replacement": ["lru"], "admission": ["always"], "fill": ["demand"], "jobs": 0}
    (point,) = json.loads(_core.nvm_cache(Path(_SPOOL.name) / "swap.slt", json.dumps(request), None))["points"]
    reached = point["storage_reads"] + point["storage_writes"]
    assert reached <= accesses
    return float(reached)
