"""Plans: the choice by hand, prices, the text, the page."""

from __future__ import annotations

import documents as d
import pytest
from swaplab import BadInput, report
from swaplab.analysis.plan import SearchSpace, SizePoint, Target, answer, parse_prices, plan
from swaplab.core.model import Document, Row

FREE = {"dram": 1.0, "nvm": 0.0, "flash": 0.0, "sd-card": 0.0}


def replayed() -> Document:
    """Build a replay of three sizes and two schemes. Times in ms (file reads, processor): flash 10,
    5, 2; zram 4 + 2, 2 + 1, 1 + 0.5.

    zram uses twice the DRAM.
    """
    rows = []
    for pages, flash, zram in ((256, 1000, 400), (512, 500, 200), (1024, 200, 100)):
        rows.append(d.replayed("clock", pages, f"{pages}p", (0, 0, flash, 0), swap="flash", design="flash"))
        rows.append(
            d.replayed("clock", pages, f"{pages}p", (0, 0, zram, 0), swap="zram", pool=pages * 4096, cpu_ns=zram * 5000, design="zram")
        )
    return d.document(rows, [d.trace_input()])


def test_the_cheapest_that_meets_the_target_by_hand() -> None:
    def chosen(target: Target) -> tuple[str, str] | None:
        found = plan(replayed(), target, FREE).answer
        return found and (found.design, found.memory)

    assert chosen(Target(seconds=0.010)) == ("flash", "256p")
    # zram at 256 pages (6 ms) and flash at 512 (5 ms) both take 2 MiB; the faster one is chosen.
    assert chosen(Target(seconds=0.006)) == ("flash", "512p")
    assert chosen(Target(seconds=0.002)) == ("flash", "1024p")
    assert chosen(Target(percent=0)) == ("zram", "1024p")
    assert chosen(Target(seconds=0.001)) is None
    found = plan(replayed(), Target(percent=100), FREE)
    assert (found.least, found.limit, found.unit) == (pytest.approx(0.0015), pytest.approx(0.003), "s")
    front = [(one.design, one.memory) for one in found.front]
    assert front == [("flash", "256p"), ("flash", "512p"), ("flash", "1024p"), ("zram", "1024p")]


def test_targets_and_prices() -> None:
    assert Target.parse("0.5s") == Target(seconds=0.5) and Target.parse("10%") == Target(percent=10.0)
    for text in ("", "5", "x%", "-1s", "infs", "nan%"):
        with pytest.raises(BadInput, match="expected seconds"):
            Target.parse(text)
    assert parse_prices("nvm=0.25")["nvm"] == 0.25
    for price in ("dram", "gold=1", "nvm=-1", "nvm=x"):
        with pytest.raises(BadInput, match="--price"):
            parse_prices(price)


def test_the_answer_in_words() -> None:
    text = answer(plan(replayed(), Target(seconds=0.005), FREE))
    assert (
        text.startswith("Cheapest for a stall time of at most 0.005 s: flash at 512p, 2 MiB of DRAM in all; 0.005 s.")
        and "zram at 512p" in text
    )
    assert answer(plan(replayed(), Target(seconds=0.001), FREE)).startswith("No choice that was tried has a stall time of at most 0.001 s")


def test_every_scheme_with_an_area_can_be_planned() -> None:
    """The registry says which parameter is the size of a swap area, also for zswap and tiered."""
    designs = SearchSpace(["zram:algorithm=zstd", "zswap", "tiered", "flash"], ["128MiB"]).designs()
    assert [one.swap for one in designs[:3]] == ["none", "zram:algorithm=zstd,size=128MiB", "zswap:size=128MiB"]
    assert "tiered 128MiB" in [one.name for one in designs]
    with pytest.raises(BadInput, match="no scheme whose size"):
        SearchSpace(["none"], ["1MiB"])


def launched(times: dict[str, tuple[float, float]]) -> Document:
    """Build a run of swap schemes by name, each with its mean delay in ms and cold starts; zram
    fills half its area.
    """
    rows: list[Row] = []
    for name, (ms, cold) in times.items():
        key, _, size = name.partition(" ")
        area = 0 if key == "no" else int(size.removesuffix("MiB")) << 20
        dram = float((1 << 30) + (area // 2 if key == "zram" else 0))
        memory = {"dram_bytes": float(1 << 30), "total_dram_bytes": dram}
        changes = {"memory": memory, "launches": d.launches(ms, 2.0, cold=cold)}
        rows.append(d.phone_row(name, [ms], swap=f"{key}:size={size}" if area else "none", **changes))
    return d.document(rows)


def test_the_cheapest_swap_for_launches_by_hand() -> None:
    prices = {"dram": 1.0, "nvm": 0.25, "flash": 0.0, "sd-card": 0.0}
    times = {
        "no swap": 200.0,
        "zram 128MiB": 120,
        "zram 512MiB": 100,
        "nvm-direct 128MiB": 110,
        "nvm-direct 512MiB": 105,
        "flash 512MiB": 190,
    }
    run = launched({name: (ms, 10) for name, ms in times.items()})

    def chosen(target: str) -> str | None:
        found = plan(run, Target.parse(target), prices, cold_starts_by_live_apps=[10, 6, 3]).answer
        return found and found.design

    # The price of zram is 64 and 256 MiB, that of NVM a quarter of its area, that of flash 0.
    answers = {target: chosen(target) for target in ("0.2s", "0.12s", "0.105s", "0.1s", "0.05s")}
    expected = ("flash 512MiB", "nvm-direct 128MiB", "nvm-direct 512MiB", "zram 512MiB", None)
    assert list(answers.values()) == list(expected)
    found = plan(run, Target(percent=10), prices, [SizePoint(frames=1, miss_ratio=0.5, filter_limited=False)], [10, 6, 3])
    assert [(one.apps, one.miss_ratio) for one in found.live_apps] == [(0, 1.0), (1, 0.6), (2, 0.3)]
    assert found.answer is not None and found.answer.flash_write_bytes_a_day == 4 << 20
    [section] = report.sections(found)
    assert section.verdict.startswith("Cheapest for a mean launch delay of at most 110 ms") and "nvm-direct 128MiB" in section.verdict
    assert "reaches 112 ms, above the limit" in section.verdict and len(section.figures) == 3


def test_a_percentage_limits_cold_starts_too() -> None:
    """A mean delay hides that 38 launches are cold when 29 are possible."""
    run = launched({"no swap": (105.0, 38), "zram 512MiB": (100.0, 29)})
    found = plan(run, Target(percent=10))
    assert found.answer is not None and found.answer.design == "zram 512MiB" and "31.9 cold starts" in answer(found)
    # A target in seconds limits the delay alone.
    assert answer(plan(run, Target(seconds=0.105))).startswith("Cheapest for a mean launch delay of at most 105 ms: no swap")


def test_one_choice_is_a_plan() -> None:
    found = plan(launched({"no swap": (105.0, 38)}), Target(percent=10))
    assert (found.kind, found.workload) == ("simulated", d.phone_row("no swap", [105.0]).workload)
    assert found.answer is not None and found.answer.design == "no swap"


def test_a_run_without_times_cannot_be_planned() -> None:
    run = d.document([d.kernel_row("zram", 1.0, launches=None)])
    with pytest.raises(BadInput, match="rows without launch delays or stall times"):
        plan(run, Target(percent=10))


def test_warnings_of_the_run_and_of_a_fit_are_repeated() -> None:
    run = launched({"no swap": (105.0, 38), "zram 512MiB": (100.0, 29)})
    run.warnings = ["Apps are a fit: kills are off by +223 %."]
    found = plan(run, Target(percent=10))
    assert found.warnings == run.warnings and report.sections(found)[0].warnings == run.warnings
    assert "+223 %" in report.page([("p", found)])
    run.experiment.about = "Fitted to x.txt: kills +12%."
    assert plan(run, Target(percent=10)).warnings[0] == "Fitted to x.txt: kills +12%."
