"""The report of replays, programs and sweeps: figures by hand, verdicts, the page's text, and the
page in a browser.
"""

from __future__ import annotations

import base64
import re
from pathlib import Path

import browser
import documents as d
import polars as pl
import pytest
from swaplab import BadInput, report
from swaplab.analysis.relative import baseline_of, frame_of, relative, standings
from swaplab.core.model import Document, Row
from swaplab.report.export import static_files
from swaplab.report.figure import drawable

needs_chromium = pytest.mark.skipif(browser.CHROMIUM is None, reason="chromium is not installed (Debian package chromium)")


def verdict(document: Document) -> str:
    return report.sections(document)[0].verdict


def two_policies() -> list[Row]:
    """Build rows: CLOCK with 10 swap reads and 10 file reads; another with 5 swap reads, 10 file
    reads, 1 file write.
    """
    return [d.replayed("clock", 100, "10%", (10, 0, 10, 0)), d.replayed("other", 100, "10%", (5, 0, 10, 1))]


def test_ratios_by_hand() -> None:
    other = relative(frame_of(two_policies()), "clock").row(by_predicate=pl.col("design") == "other", named=True)
    assert other["ratio"] == pytest.approx((5 * 5263 + 100_000 + 14_286) / (10 * 5263 + 100_000))
    # the paper leaves file writes out
    assert other["fig4_ratio"] == pytest.approx((5 * 5263 + 100_000) / (10 * 5263 + 100_000))
    assert other["fig4_swap_read"] == pytest.approx(5 * 5263 / 152_630)
    assert other["fig4_swap_write"] == 0


def test_a_time_that_is_not_known_adds_nothing_to_the_stall() -> None:
    [known, _] = two_policies()

    def stall_ns(**unknown: None) -> float:
        row = known.model_copy(update={"time": known.time.model_copy(update={"cpu_swap_ns": 7.0} | unknown)})
        return frame_of([row])["stall_ns"].item()

    assert (stall_ns(), stall_ns(cpu_swap_ns=None), stall_ns(io_ns=None)) == (152_637, 152_630, 7)


def test_the_mean_of_twice_and_half_is_one() -> None:
    rows = [d.replayed("clock", m, f"{m}p", (0, 0, n, 0)) for m, n in ((1, 10), (2, 40))]
    rows += [d.replayed("x", m, f"{m}p", (0, 0, 20, 0)) for m in (1, 2)]
    standing = {one.design: one for one in standings(relative(frame_of(rows), "clock"))}
    assert standing["x"].mean == pytest.approx(1.0)
    assert (standing["x"].low, standing["x"].high, standing["x"].wins) == (0.5, 2.0, 1)
    assert standing["clock"].wins == 1
    assert "No difference" in verdict(d.document(rows)) and "same" in verdict(d.document(rows))


def test_limited_points_and_missing_sizes_do_not_count() -> None:
    document = d.replay_document({"clock": 1.0, "good": 0.5, "part": 0.1}, limited=(5, 10))
    document.rows = [row for row in document.rows if (row.policy, row.point["machine.dram"]) != ("part", "25%")]
    assert [one.design for one in standings(relative(frame_of(document.rows), "clock"))] == ["good", "clock"]
    [section] = report.sections(document)
    assert section.verdict.startswith("good has the lowest I/O time") and "over 3 memory sizes, 15% to 25%" in section.evidence[0]
    assert any("5%, 10%" in line and "left out" in line for line in section.evidence)


def test_verdicts() -> None:
    assert re.match(r"two-q has the lowest I/O time on this trace.*less than the next, arc\.", verdict(d.replay_document()))
    assert verdict(d.replay_document({"clock": 1.0, "bad": 2.0})).startswith("clock has the lowest")
    assert verdict(d.replay_document({"clock": 1.0, "opt": 0.1})).startswith("Only clock was run")
    limited = d.replay_document(limited=(5, 10, 15, 20, 25))
    assert verdict(limited) == "No verdict: every memory size is below what the trace's filter allows."
    idle = [d.replayed(name, 9, "9p", (0, 0, 0, 0)) for name in ("clock", "lru")]
    assert "did no I/O" in verdict(d.document(idle))


def test_the_baseline_is_clock_or_the_given_one() -> None:
    frame = frame_of(d.replay_document({"lru": 1.0, "clock": 1.1}).rows)
    assert (baseline_of(frame), baseline_of(frame, "lru")) == ("clock", "lru")
    with pytest.raises(BadInput, match="expected one of: lru, clock"):
        baseline_of(frame, "mru")


def test_schemes_report_memory_and_time() -> None:
    """Time in ms (file reads, processor): flash 10, 5, 2; zram 4 + 2, 2 + 1, 1 + 0.5, in twice the
    DRAM.
    """
    rows = []
    for pages, flash, zram in ((256, 1000, 400), (512, 500, 200), (1024, 200, 100)):
        rows.append(d.replayed("clock", pages, f"{pages}p", (0, 0, flash, 0), swap="flash"))
        rows.append(d.replayed("clock", pages, f"{pages}p", (0, 0, zram, 0), swap="zram", pool=pages * 4096, cpu_ns=zram * 5000))
    [section] = report.sections(d.document(rows, [d.trace_input()]))
    # Geometric mean of 6/10, 3/5 and 1.5/2.
    assert section.verdict.endswith("35.4 % less than the next, flash, with 100.0 % more DRAM in all.")
    assert any("zram 4.00 MiB" in line for line in section.evidence)


def test_there_is_a_section_per_world_and_workload() -> None:
    rows = [d.replayed("clock", 9, "9p", (0, 0, 9, 0), workload=name) for name in ("a", "b")]
    rows += [d.program_row("none", 10), d.kernel_row("none", 5), d.kernel_row("none", 6, world="vm", kind="virtual")]
    found = report.sections(d.document(rows, machine=d.HOST), "x")
    assert [section.key for section in found] == ["x-worlds", "x-1", "x-2", "x-3", "x-4", "x-5"]
    titles = ["The same designs in kernel, vm", "Replay of a", "Replay of b", "Real memory: redis"]
    assert [section.title for section in found[:4]] == titles
    assert [section.kinds for section in found] == [["measured", "virtual"], *[["simulated"]] * 2, ["measured"], ["measured"], ["virtual"]]
    with pytest.raises(BadInput, match="no rows"):
        report.sections(d.document([]))


def test_the_numbers_of_runs_of_programs_are_a_range_if_they_differ() -> None:
    for seeds, title in (((1, 1), "1 run each"), ((3, 3), "3 runs each"), ((3, 1), "1 to 3 runs each")):
        rows = [d.program_row(design, 10).model_copy(update={"seeds": count}) for design, count in zip("ab", seeds, strict=True)]
        [section] = report.sections(d.document(rows, machine=d.HOST))
        assert section.tables[0].caption == f"Every design ({title})"


def test_rows_of_two_kinds_are_marked() -> None:
    [section] = report.sections(d.document([d.kernel_row("zram", 30), d.kernel_row("nvm", 10, kind="emulated")], machine=d.HOST))
    assert "upper bound" in section.evidence[0] and section.kinds == ["measured", "emulated"]
    assert [row[0].text for row in section.tables[0].rows] == ["zram (measured)", "nvm (emulated)"]


def test_the_page_of_a_measured_run_names_its_machine() -> None:
    [section] = report.sections(d.document([d.kernel_row("zram", 30)], machine=d.HOST))
    said = dict(section.provenance)
    assert (said["kernel"], said["disk"], said["processor"]) == ("Linux 6.12.1", "virtio disk vda", "Example CPU (2 processors)")


def test_a_sweep_has_its_front_and_its_effects() -> None:
    rows = [
        d.phone_row(
            "zram", [100.0 / size + swappiness / 50], point={"design.zram.swap.size": f"{size}GiB", "machine.kernel.swappiness": swappiness}
        )
        for size in (1, 2, 4, 8)
        for swappiness in (0, 50, 100)
    ]
    [section] = report.sections(d.document(rows))
    assert [figure.key for figure in section.figures] == ["run-trade", "run-by-design-zram-swap-size", "run-by-machine-kernel-swappiness"]
    by_size = section.figures[1].data
    assert by_size["at"].to_list() == ["1GiB", "2GiB", "4GiB", "8GiB"] and by_size["median"].to_list() == [101.0, 51.0, 26.0, 13.5]
    assert "12 points over" in section.evidence[0]


def test_the_page_has_no_external_reference_and_contains_its_data() -> None:
    html = report.page([("a", d.replay_document()), ("a", d.replay_document({"clock": 1, "lru": 2}))], "t")
    assert not re.search(r"""(src|href)=["'](?!data:|#)""", html)
    assert set(re.findall(r"https?://[^\"'\s<]+", html)) <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids)) and {"a", "a-2"} <= set(ids)
    link = re.search(r'download="a-io-time.csv" href="data:text/csv;charset=utf-8;base64,([^"]+)"', html)
    assert link
    table = pl.read_csv(base64.b64decode(link[1]))
    assert table.height == 40 and table.filter(design="clock")["fig4_ratio"].to_list() == [1.0] * 5
    assert html == report.page([("a", d.replay_document()), ("a", d.replay_document({"clock": 1, "lru": 2}))], "t")


def test_names_with_markup_stay_text() -> None:
    bad = "<script>alert(1)</script>"
    rows = [d.replayed("clock", 9, "9p", (1, 1, 9, 0), workload=bad, design=bad), d.replayed("lru", 9, "9p", (1, 1, 8, 0), workload=bad)]
    html = report.page(
        [("<b>", d.document(rows, [d.trace_input(bad)])), ("k", d.document([d.kernel_row(bad, 5), d.phone_row(bad, [4.0])]))]
    )
    assert "<script>alert" not in html and "&lt;script&gt;alert" in html and "<b>" not in html


def test_a_label_that_is_cut_within_an_emoji_is_drawn() -> None:
    """The renderer cuts labels by units of 16 bits, wherever the emoji stands."""
    names = ["x" * letters + "\N{GRINNING FACE}" * 40 for letters in range(4)]
    rows = [
        d.replayed(policy, 9, "9p", (1, 1, 9, 0), design=name) for policy, name in zip(("clock", "lru", "fifo", "arc"), names, strict=True)
    ]
    html = report.page([("k", d.document(rows))])
    assert "<svg" in html and all(name in html for name in names)


def test_names_that_differ_in_what_cannot_be_drawn_stay_different() -> None:
    names = ["a\N{ROCKET}", "a\N{GRINNING FACE}", "a\x1b", "a\x07"]
    assert drawable({name: [name] for name in names}) == {shown: [shown] for shown in ("aU+1F680", "aU+1F600", "aU+001B", "aU+0007")}


@pytest.mark.long
@needs_chromium
def test_hostile_names_run_nothing_in_a_browser(tmp_path: Path) -> None:
    """Hostile names of a trace, a design, an app and an experiment are shown as text, including
    characters that cannot be drawn.
    """
    names = ("<script>hit=1</script>", "<img src=x onerror=hit=1>", '"><svg onload=hit=1>', "\x1b[2J\x00\nname\u202e")
    for number, bad in enumerate(names):
        policies = enumerate(("clock", "lru"))
        rows = [d.replayed(policy, 9, "9p", (1, 1, 9 - at, 0), workload=bad, design=policy + bad) for at, policy in policies]
        live = d.document([d.kernel_row(bad, 5), d.phone_row(bad, [4.0])])
        path = tmp_path / f"{number}.html"
        path.write_text(report.page([(bad, d.document(rows, [d.trace_input(bad)])), ("k", live)], bad))
        with browser.Page(path) as page:
            assert page.value("typeof hit") == "undefined"
            assert page.value("document.querySelectorAll('script script, img[onerror], svg[onload]').length") == 0
            assert page.requests == [] and page.console == []
            shown = bad.split("\n")[0].replace("\x1b", "").replace("\x00", "")
            assert shown in page.value("document.body.textContent").replace("\N{REPLACEMENT CHARACTER}", "").replace("\x1b", "")


def test_figures_are_written_as_files() -> None:
    files = static_files([("x", d.replay_document({"clock": 1.0, "lru": 2.0}))])
    assert files["x-io-time.png"].startswith(b"\x89PNG") and files["x-miss-ratio.svg"].startswith(b"<svg")


@needs_chromium
def test_the_page_in_a_browser(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(report.page([("demo", d.replay_document(limited=(5,)))]))
    with browser.Page(path) as page:
        assert page.value("document.querySelector('.badge strong').textContent") == "simulated"
        assert page.value("document.querySelector('.verdict').getBoundingClientRect().top < 400")
        marks = "f.querySelectorAll('.wide svg [role=graphics-symbol][aria-label]:not(.role-axis)').length"
        bars, dots = page.value(f"[...document.querySelectorAll('figure')].map(f => {marks})")
        assert bars >= 8 * 5 * 3 and dots >= 8 * 5
        sizes = page.value("[...document.querySelectorAll('.wide svg')].map(s => [s.clientWidth, s.clientHeight])")
        assert all(width > 600 and height > 100 for width, height in sizes)
        page.value("document.querySelector('figure').focus()")
        page.press("ArrowRight")
        assert re.search(r"(swap|file) (read|write) [\d.]+ of [\d.]+ in all", page.value("document.getElementById('tip').textContent"))
        page.press("Escape")
        assert page.value("document.getElementById('tip').hidden")
        light = page.value("getComputedStyle(document.body).backgroundColor")
        page.value("document.getElementById('theme').click()")
        assert page.value("getComputedStyle(document.body).backgroundColor") != light
        assert page.pdf().startswith(b"%PDF")
        assert (page.console, page.requests) == ([], [])
    with browser.Page(path, width=390, dark=True) as page:
        assert page.value("document.documentElement.scrollWidth") == 390
        assert page.value("getComputedStyle(document.querySelector('.wide')).display") == "none"
        assert page.value("document.querySelector('.narrow svg').getBoundingClientRect().height") > 300
        assert (page.console, page.requests) == ([], [])
