"""The pages of `trace analyze`, `papers energy`, `papers nvm-cache` and miss-ratio curves: verdicts
by hand, and pages in a browser.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import browser
import documents as d
import pytest
from swaplab import _core, report
from swaplab.analysis.readable import Readable, parse
from swaplab.analysis.results import CachePoint, Curve, CurvePoint, EnergyResult, NvmCache, Spread, SwapShare, Traffic


def results() -> dict[str, Readable]:
    trace = d.trace_input("blocks")
    schemes = json.loads(_core.energy("128MiB", 900, 3298, 2232, 10_000, 64, "paper"))
    saving = {name: 100 * (1 - one["total_j"] / schemes["dram"]["total_j"]) for name, one in schemes.items() if name != "dram"}
    counts = {"seconds": 900, "swap_ins": 3298, "direct_reads": 2232, "swap_outs": 10_000}
    energy = EnergyResult.model_validate(
        {"swap": "128MiB", "mode": "paper", **counts, "schemes": schemes, "saving_vs_dram_percent": saving}
    )
    spread = Spread(
        trace=trace,
        accesses=3000,
        data=1500,
        rank_cdf=[min(1.0, at / 50) for at in range(101)],
        top_share={"0.15": 0.6},
        share_for_80_percent=0.4,
        single_access_ratio=0.5,
        multi_access_ratio=0.5,
        scatter=[(at, at * 7 % 400, at % 2 == 0, at % 2) for at in range(400)],
        partition_names=["swap", "file"],
        partitions={"swap": Traffic(read_bytes=4096, write_bytes=8192)},
        partition_accesses={"swap": 200},
        swap=SwapShare(accesses=200, times=1.07),
    )
    points = [
        CachePoint(
            fill=fill,
            replacement="lru",
            admission=admission,
            size_bytes=size << 20,
            storage_reads=100 - size - gain,
            storage_writes=50,
            nvm_hits=size,
            admitted=10,
            bypassed=gain,
            nvm_writes=10,
        )
        for fill in ("demand", "evictions")
        for size in (1, 4, 16)
        for admission, gain in (("always", 0), ("second-touch", size - 2))
    ]
    cache = NvmCache(trace=trace, storage_accesses_without_nvm=200, points=points)
    curve = Curve(trace=trace, points=[CurvePoint(memory_pages=n, miss_ratio=1 / n, filter_limited=n < 4) for n in range(1, 40)])
    return {"spread": spread, "nvm-cache": cache, "energy": energy, "curve": curve}


def test_verdicts_follow_from_the_results() -> None:
    found = {name: report.sections(result)[0] for name, result in results().items()}
    assert found["spread"].verdict == "The top 15 % of the data take 60.0 % of the accesses; 50.0 % of the data are accessed once."
    assert [cell.text for cell in found["spread"].tables[1].rows[0]] == ["swap", "4,096", "8,192", "200"]
    cells = found["spread"].figures[1].data
    assert cells["sampled"].sum() == 400 and set(cells["partition"]) == {"swap", "file"}
    # 16 MiB with second-touch: 100 - 16 - 14 reads and 50 writes of 200.
    assert "leave 60.0 %" in found["nvm-cache"].verdict and "at 4 of 6 points" in found["nvm-cache"].evidence[0]
    assert "saves 59.2 %" in found["energy"].verdict and "flash takes least: 1.417 J" in found["energy"].verdict
    assert "remove nine tenths of the misses" in found["curve"].verdict and "3 sizes" in found["curve"].evidence[0]


def test_results_survive_as_json() -> None:
    for name, result in results().items():
        assert parse(name, result.model_dump_json()) == result


@pytest.mark.skipif(browser.CHROMIUM is None, reason="chromium is not installed (Debian package chromium)")
def test_the_page_in_a_browser(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    html = report.page(list(results().items()))
    path.write_text(html)
    assert not re.search(r"""(src|href)=["'](?!data:|#)""", html) and len(html) < 1_500_000
    with browser.Page(path) as page:
        marks = "f.querySelectorAll('.wide svg [role=graphics-symbol][aria-label]:not(.role-axis)').length"
        drawn = page.value(f"[...document.querySelectorAll('figure')].map(f => {marks})")
        assert len(drawn) == 6 and all(count >= 6 for count in drawn), drawn
        assert (page.console, page.requests) == ([], [])
        page.show(path, width=390, dark=True)
        assert page.value("document.documentElement.scrollWidth") == 390
        assert (page.console, page.requests) == ([], [])
