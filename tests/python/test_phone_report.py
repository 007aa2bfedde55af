"""The page of a simulated phone, the waterfall of a launch, and the worst launches."""

from __future__ import annotations

from pathlib import Path

import browser
import documents as d
import polars as pl
import pytest
from swaplab import BadInput, report
from swaplab.analysis.explain import PARTS, explain, waterfall, worst
from swaplab.analysis.outcomes import BY_PATH
from swaplab.core.model import Display, DisplayFigures, Document


def phone() -> Document:
    rows = [
        d.phone_row("no swap", [200.0, 210, 190, 205], half=5.0),
        d.phone_row("zram", [100.0, 105, 95, 101], swap="zram:size=512MiB", half=5.0),
    ]
    return d.document(rows)


def test_the_section() -> None:
    [section] = report.sections(phone())
    keys = [figure.key.removeprefix("run-") for figure in section.figures]
    assert keys == ["launch-cdf", "ux", "memory", "bytes", "traffic", "entry-lifetime", "wasted", "energy"]
    assert section.verdict.startswith("zram has the lowest mean launch delay: 100.2 ms, 50.2 % less than the next, no swap")
    feel, cost, wear, every, apps = section.tables
    assert [row[0].text for row in feel.rows] == ["no swap", "zram"] and len(every.rows) == 2
    assert {row[0].text for row in apps.rows} == {"maps", "chat", "system"}
    # The page has the wear in years, and no figure has an exponent.
    assert cost.columns[4] == "flash lasts, years" and cost.rows[0][4].text == "41" and wear.rows[0][-1].text == "41"
    assert "12,346" in feel.rows[0][-1].text and not any(
        "e+" in cell.text for table in section.tables for row in table.rows for cell in row
    )
    curve = section.figures[0].data.filter(design="no swap", start="cold start")
    assert curve.height == 101 and curve["ms"].is_sorted() and curve["share"][-1] == 1


def test_the_summary_has_the_main_conclusions() -> None:
    [section] = report.sections(phone())
    assert section.glance is not None and "From no swap to zram the mean launch changes by -101 ms (-50.2 %)." in section.evidence
    first = [cell.text for cell in section.glance.rows[0]]
    assert first[:2] == ["no swap", "201 (196 to 206)"] and first[5] == "41" and section.glance.columns[5] == "flash, years"
    assert "Memory was tight under 2 of 2 designs." in section.evidence
    [loose] = report.sections(d.document([d.phone_row("a", [200.0], is_tight=False, kills=0)]))
    assert "Memory was never tight." in loose.evidence
    [near] = report.sections(d.document([d.phone_row("a", [200.0] * 3, half=9.0), d.phone_row("b", [199.0] * 3, half=9.0)]))
    assert any(
        line.startswith("No design is shown to launch faster than a: the lowest mean is that of b (-0.5 %)") for line in near.evidence
    )


def test_the_page_has_the_share_of_janky_frames_or_why_it_is_not_known() -> None:
    """30 of 2000 frames are 1.5 %. Without a rate of the display the column is empty."""
    [section] = report.sections(phone())
    assert section.glance is not None and section.glance.columns[3] == "janky frames, %" and section.glance.rows[0][3].text == "-"
    assert "Janky frames are not known: the machine has no display (machine.display.refresh_hz is 0)." in section.evidence
    frames = DisplayFigures(frames=2000, janky_frames=30, frozen_frames=2, janky_share=0.015)
    interval = {"display.janky_share": (0.01, 0.02)}
    document = d.document([d.phone_row("zram", [100.0, 110], display=frames, interval=interval)])
    machine = document.experiment.machine.model_copy(update={"display": Display(refresh_hz=60, frame_work="6ms")})
    document.experiment.machine = machine
    [section] = report.sections(document)
    assert section.glance is not None and section.glance.rows[0][3].text == "1.5 (1 to 2)"
    feel = section.tables[0]
    assert [feel.columns[at] for at in (5, 6)] == ["janky frames, %", "frozen frames"]
    assert [feel.rows[0][at].text for at in (5, 6)] == ["1.5 (1 to 2)", "2"]
    assert any("(6ms, assumed) and its waits for memory exceed 16.7 ms" in line for line in section.evidence)
    assert BY_PATH["display.janky_share"].value(document.rows[0]) == 1.5


def test_memory_over_time_has_one_sample_per_time() -> None:
    """Two samples of one time must not be stacked, which would show twice the memory."""
    [section] = report.sections(phone())
    memory = section.figures[2].data.filter(design="zram")
    assert memory["at_s"].to_list() == [0, 10, 20, 30]
    assert set(memory.drop("design", "at_s").sum_horizontal()) == {700.0}
    assert "zram: 1 kill" in section.figures[2].svg() and "1 kills" not in section.figures[2].svg()


def test_the_report_says_that_memory_was_never_tight() -> None:
    loose = [d.phone_row(name, [200.0], is_tight=False, kills=0, paging=d.CALM) for name in ("a", "b")]
    [section] = report.sections(d.document(loose))
    assert section.verdict.startswith("Memory was never tight")
    [section] = report.sections(d.document([loose[0], d.phone_row("b", [100.0])]))
    assert "Memory was tight under b only." in section.evidence and "nothing is known about other runs" in section.verdict


def test_swap_that_was_not_needed_is_judged() -> None:
    """App compaction swaps out although memory suffices: its cost is due to swap."""
    means = [100.0, 101.0, 102.0, 103.0]
    rows = [d.phone_row("none", means, is_tight=False, kills=0, half=2.0, paging=d.CALM)]
    rows.append(d.phone_row("zram", [mean + 100 for mean in means], "zram", is_tight=False, kills=0, half=2.0))
    [section] = report.sections(d.document(rows))
    assert section.verdict.startswith("none has the lowest mean launch delay"), section.verdict
    assert "Memory was never tight." in section.evidence


def test_a_paper_s_figures_are_only_on_the_page_of_its_preset() -> None:
    assert not any("paper" in table.caption.lower() for table in report.sections(phone())[0].tables)


def test_a_waterfall_by_hand() -> None:
    row: dict[str, int | float | str] = dict.fromkeys(PARTS, 0)
    row |= {"cpu_ns": 6_000_000, "file_read_ns": 3_000_000, "direct_reclaim_ns": 1_000_000, "ready_ns": 10_000_000}
    row |= {"design": "s", "start": "cold", "faults": 9, "swapped_in": 0, "file_reads": 64}
    found = waterfall(row)
    told = [(step.part, step.from_ms, step.ms, step.share) for step in found.steps]
    assert told == [("cpu", 0, 6, 0.6), ("file_read", 6, 3, 0.3), ("direct_reclaim", 9, 1, 0.1)] and found.ready_ms == 10


def test_a_waterfall_says_whose_requests_were_ahead() -> None:
    """Of 5 ms in the queue, 3 were for pages of the camera and 2 for the journal; other launches do
    not count.
    """
    row: dict[str, int | float | str] = dict.fromkeys(PARTS, 0)
    row |= {"queue_ns": 5_000_000, "ready_ns": 5_000_000, "design": "s", "start": "cold", "faults": 9, "swapped_in": 0, "file_reads": 64}
    row |= {"seed": 1, "launch": 2}
    waits = pl.DataFrame(
        [("s", 1, 2, "journal", "", 2_000_000), ("s", 1, 2, "swap-out", "camera", 3_000_000), ("s", 1, 3, "journal", "", 9)],
        schema=["design", "seed", "launch", "sender", "owner", "wait_ns"],
        orient="row",
    )
    found = waterfall(row, waits)
    assert [(wait.sender, wait.owner, wait.ms) for wait in found.queue] == [("swap-out", "camera", 3), ("journal", None, 2)]
    assert found.queue[0].what == "pages of camera on their way to swap" and waterfall(row).queue == []


def launches() -> pl.DataFrame:
    """Build a table of two designs, two seeds and three launches; launch 3 of `zram` waits longest,
    for flash.
    """
    rows = []
    for design in ("none", "zram, large"):
        for seed in (5, 6):
            for launch in (1, 2, 3):
                waited = launch * (10 if design == "none" else 30)
                row: dict[str, int | str] = dict.fromkeys(PARTS, 0)
                row |= {"design": design, "seed": seed, "launch": launch, "app": f"app {launch}", "start": "cold", "at_ns": launch * 10**9}
                row |= {
                    "cpu_ns": 100,
                    "swap_read_flash_ns": waited,
                    "ready_ns": 100 + waited,
                    "faults": 1,
                    "swapped_in": 1,
                    "file_reads": 0,
                }
                rows.append(row)
    return pl.DataFrame(rows)


def test_explain_shows_every_design_or_a_given_one() -> None:
    found = explain(launches(), "launches.parquet", "simulated", 2)
    assert [one.design for one in found.designs] == ["none", "zram, large"] and (found.seed, found.app) == (5, "app 2")
    for one in found.designs:
        assert sum(step.ms for step in one.steps) == pytest.approx(one.ready_ms) and one.steps[0].part == "cpu"
    found = explain(launches(), "launches.parquet", "simulated", 2, "zram, large", 6)
    assert [one.design for one in found.designs] == ["zram, large"] and found.seed == 6


def test_the_worst_launches_come_first() -> None:
    found = worst(launches(), "launches.parquet")
    assert [(one.design, one.launch) for one in found[:2]] == [("zram, large", 3), ("zram, large", 2)]
    assert found[0].longest == "swap reads, flash" and found[0].waited_ms == pytest.approx(90 / 1e6) and len(found) == 6
    assert [one.launch for one in worst(launches(), "x", "none", 6, most=1)] == [3]


def test_bad_input_of_explain_is_one_line() -> None:
    for arguments, message in (
        ((4,), "LAUNCH 4: not in t; expected 1 to 3"),
        ((0,), "expected 1 to 3"),
        ((1, "zstd"), "--design zstd: not in t"),
        ((1, None, 4), "expected one of: 5, 6"),
    ):
        with pytest.raises(BadInput, match=message):
            explain(launches(), "t", "simulated", *arguments)
    with pytest.raises(BadInput, match="no column 'app'"):
        worst(launches().drop("app"), "t")


@pytest.mark.skipif(browser.CHROMIUM is None, reason="chromium is not installed (Debian package chromium)")
def test_the_page_in_a_browser(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(report.page([("phone", phone())]))
    with browser.Page(path, width=1300) as page:
        drawn: list[int] = page.value(
            "[...document.querySelectorAll('figure')].map(f => f.querySelectorAll("
            "'.wide svg [role=graphics-symbol][aria-label]:not(.role-axis):not(.role-legend):not(.role-title-text)').length)"
        )
        assert len(drawn) == 8 and all(count >= 2 for count in drawn), drawn
        hidden = "[...document.querySelectorAll('.scroll')].filter(one => one.scrollWidth > one.clientWidth + 1).length"
        assert page.value(hidden) == 0, "a table hides columns on a window of 1300 px"
        # No text of a legend overlaps a neighboring symbol or text.
        assert (
            page.value(
                "(() => { const boxes = [...document.querySelectorAll('.wide svg .role-legend-label text, ' +"
                "'.wide svg .role-legend-symbol path')]"
                ".map(one => one.getBoundingClientRect()).filter(one => one.width);"
                "return boxes.flatMap((a, at) => boxes.slice(at + 1).filter(b => a.left < b.right && b.left < a.right && "
                "a.top < b.bottom && "
                "b.top < a.bottom)).length })()"
            )
            == 0
        )
        page.value("document.querySelectorAll('figure')[2].focus()")
        page.press("ArrowRight")
        assert "killed at" in page.value("document.getElementById('tip').textContent")
        assert (page.console, page.requests) == ([], [])
    for width in (390, 400):
        with browser.Page(path, width=width, dark=True) as page:
            assert page.value("document.documentElement.scrollWidth") == width
            # Of the first screen nothing is hidden: the summary table is the first one.
            first = "(one => one.scrollWidth - one.clientWidth)(document.querySelector('.scroll'))"
            assert page.value(first) <= 1, f"the summary table hides columns on a window of {width} px"
            assert (page.console, page.requests) == ([], [])
