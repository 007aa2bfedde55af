"""Energy, NVM cache and Direct Read against the plain models, which were written from the
papers.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from models import energy as energy_model
from models.direct_read import DirectRead
from models.nvm_cache import NvmCache
from replayed import points as replayed
from swaplab import BadInput, _core

COUNTS = ("storage_reads", "storage_writes", "nvm_hits", "admitted", "bypassed")


@pytest.mark.parametrize("mode", ["paper", "physical", "literal"])
def test_energy_agrees_with_the_independent_formula(mode: str) -> None:
    draw = random.Random(mode)
    for _ in range(50):
        swap_mib, seconds, swap_ins = draw.choice([16, 128, 256, 512, 1024]), draw.randrange(60, 90_000), draw.randrange(0, 90_000)
        direct, outs, lines = draw.randrange(0, swap_ins + 1), draw.randrange(0, 90_000), draw.randrange(0, 65)
        ours = json.loads(_core.energy(f"{swap_mib}MiB", seconds, swap_ins, direct, outs, lines, mode))
        model = energy_model.schemes(mode, swap_mib << 20, seconds, swap_ins, direct, outs, lines)
        assert ours.keys() == model.keys()
        for scheme, parts in model.items():
            # Every part agrees to twelve digits.
            assert ours[scheme] == {name: pytest.approx(value, rel=1e-12, abs=1e-18) for name, value in parts.items()}, scheme


def block_trace(path: Path, requests: list[tuple[int, str, bool]]) -> tuple[Path, Path]:
    """Write a block-csv of 4 KiB requests: page p of swap is at sector 8p, page p of other data
    2^20 sectors behind.
    """
    lines = [f"a,1,{op},{8 * page + (0 if swap else 1 << 20)},8,0" for page, op, swap in requests]
    path.write_text("\n".join(["process,device,rw_flag,sector,size,timestamp", *lines]) + "\n")
    ranges = path.with_suffix(".ranges")
    ranges.write_text("swap 0 1048575\n")
    return path, ranges


def simulate(trace: Path, ranges: Path, sizes: list[int], admissions: list[str], fills: list[str]) -> list[dict[str, Any]]:
    request = {
        "sizes": [f"{size}p" for size in sizes],
        "replacement": ["lru", "lfu"],
        "admission": admissions,
        "fill": fills,
        "jobs": 1,
        "reading": {"format": "block-csv", "ranges": str(ranges)},
    }
    points: list[dict[str, Any]] = json.loads(_core.nvm_cache(trace, json.dumps(request), None))["points"]
    return points


@pytest.mark.parametrize("seed", range(4))
def test_nvm_cache_agrees_request_by_request(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    pages = draw.choice([6, 15, 40])
    hot = max(1, pages // 5)
    requests = [
        (draw.randrange(hot) if draw.random() < 0.6 else draw.randrange(pages), draw.choice("RW"), draw.random() < 0.7) for _ in range(160)
    ]
    admissions = ["always", "second-touch", "second-touch:history=fifo"]
    fills = ["demand", "evictions", "swap-only"]
    sizes = [1, 2, 5]
    models = {
        (size, replacement, admission, fill): NvmCache(
            size,
            replacement,
            admission.split(":")[0],
            "evictions" if fill == "evictions" else "demand",
            "fifo" if "fifo" in admission else "lru",
            fill == "swap-only",
        )
        for size in sizes
        for replacement in ("lru", "lfu")
        for admission in admissions
        for fill in fills
    }
    for length in range(1, len(requests) + 1):
        page, op, swap = requests[length - 1]
        for model in models.values():
            # Page numbers of the two areas are distinct.
            model.request(page if swap else page + 1000, op, swap)
        if not any(swap for _, _, swap in requests[:length]):
            continue  # without a swap partition `swap-only` is refused
        trace, ranges = block_trace(tmp_path / "t.csv", requests[:length])
        points = simulate(trace, ranges, sizes, admissions, fills)
        footprint = len({(page, swap) for page, _, swap in requests[:length]})
        assert len(points) == len(models)
        for point, (key, model) in zip(points, sorted(models.items(), key=order), strict=True):
            if key[0] <= footprint:
                assert [point[name] for name in COUNTS] == list(model.count.values()), (key, length)


def order(item: tuple[tuple[int, str, str, str], NvmCache]) -> tuple[int, int, int, int]:
    """Sort key of the command's order of points: fill, size, replacement, admission, as listed."""
    size, replacement, admission, fill = item[0]
    admissions = ["always", "second-touch", "second-touch:history=fifo"]
    fills = ["demand", "evictions", "swap-only"]
    return fills.index(fill), size, ["lru", "lfu"].index(replacement), admissions.index(admission)


def test_nvm_smaller_than_a_page_and_swap_only_without_swap_are_refused(tmp_path: Path) -> None:
    trace, ranges = block_trace(tmp_path / "t.csv", [(1, "R", False)])
    request = {"sizes": ["4095B"], "replacement": ["lru"], "admission": ["always"], "fill": ["demand"], "jobs": 1}
    reading = {"format": "block-csv"}
    with pytest.raises(BadInput, match="less than one page"):
        _core.nvm_cache(trace, json.dumps(request | {"reading": reading}), None)
    with pytest.raises(BadInput, match="no partition 'swap'"):
        simulate(trace, ranges, [1], ["always"], ["swap-only"])
    with pytest.raises(BadInput, match=r"'second-touch' \(did you mean that\?\)"):
        _core.nvm_cache(trace, json.dumps(request | {"admission": ["second_touch"], "reading": reading}), None)


@pytest.mark.parametrize("seed", range(6))
def test_direct_read_agrees_with_the_state_machine(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    pages, frames = draw.choice([(8, 2), (30, 7), (60, 20)])
    writes = draw.choice([0.05, 0.3, 0.8])
    # The model has no dirty bits and also writes pages of zeros, so each page's first access is a
    # write.
    seen: set[int] = set()
    accesses: list[tuple[int, str]] = []
    for _ in range(1500):
        page = draw.randrange(pages)
        accesses.append((page, "W" if page not in seen or draw.random() < writes else "R"))
        seen.add(page)
    trace = tmp_path / "t.csv"
    trace.write_text("page,op\n" + "".join(f"{page},{op}\n" for page, op in accesses))
    options = {"file_device": "ufs-3.1", "first_touch": "zero-fill", "mapping": "follow", "signal": "exact"}
    points = replayed(trace, ["lru"], [f"{frames}p"], ["nvm-direct", "nvm-copy"], jobs=1, **options)
    for point, scheme in zip(points, ("nvm-direct", "nvm-copy"), strict=True):
        direct = scheme == "nvm-direct"
        assert point["memory_pages"] == frames
        model = DirectRead(frames, 10_000, direct=direct)
        for page, op in accesses:
            model.access(page, op)
        ours = {name: point[name] for name in ("faults", "zero_fills", "direct_reads", "copied_pages")}
        ours["swap_outs"] = point["swap_writes"]
        assert ours == {name: model.count[name] for name in ours}, scheme
