"""The numbers that a browser shows in a report's tables against those of the document, cell by
cell.

The expected numbers are computed here from the document's JSON. A cell agrees if it is the number
rounded to the decimals that are shown, or to the significant digits that its column states.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import browser
import documents as d
import pytest
from command import here
from swaplab import report

pytestmark = pytest.mark.skipif(browser.CHROMIUM is None, reason="chromium is not installed (Debian package chromium)")

Row = dict[str, Any]
#: A column: its numbers, computed from a row, and the significant digits that are shown (0: as many
#: decimals as the cell has).
Column = tuple[Callable[[Row], list[float]], int]
MIB = 1 << 20
TABLES = """[...document.querySelectorAll('table')].map(table => ({
    caption: table.caption.textContent,
    columns: [...table.tHead.rows[0].cells].map(cell => cell.textContent),
    rows: [...table.tBodies[0].rows].map(row => [...row.cells].map(cell => cell.textContent)),
}))"""


def shown_tables(path: Path) -> dict[str, dict[str, Any]]:
    with browser.Page(path) as page:
        return {table["caption"].split(" (")[0]: table for table in page.value(TABLES)}


def numbers(text: str) -> list[tuple[float, float]]:
    """The numbers of a cell, each with half a unit of its last decimal."""
    found = re.findall(r"[+-]?\d[\d,]*(?:\.\d+)?", text)
    return [(float(one.replace(",", "")), 0.5 * 10.0 ** -len(one.partition(".")[2])) for one in found]


def mismatch(text: str, expected: list[float], digits: int) -> str | None:
    shown = numbers(text)
    if len(shown) != len(expected):
        return f"{text!r} has {len(shown)} numbers; expected {expected}"
    for (number, half), value in zip(shown, expected, strict=True):
        if digits and value:
            half = 0.5 * 10.0 ** (math.floor(math.log10(abs(value))) + 1 - digits)
        if abs(number - value) > half * (1 + 1e-9):
            return f"{text!r} is not {value}"
    return None


def compared(table: dict[str, Any], rows: dict[str, Row], columns: dict[str, Column]) -> int:
    """Compare the cells of `columns`; `rows` by the text of their first cell. Returns the number of
    cells.
    """
    assert set(columns) <= set(table["columns"]), table["columns"]
    assert [line[0] for line in table["rows"]] == list(rows), table["caption"]
    bad, cells = [], 0
    for line in table["rows"]:
        for name, text in zip(table["columns"], line, strict=True):
            if name in columns:
                figures, digits = columns[name]
                if why := mismatch(text, figures(rows[line[0]]), digits):
                    bad.append(f"{table['caption']}, {line[0]}, {name}: {why}")
                cells += 1
    assert bad == []
    return cells


def at(path: str, scale: float = 1.0, digits: int = 0) -> Column:
    return lambda row: [scale * _figure(row, path)], digits


def _figure(row: Row, path: str) -> float:
    found: Any = row
    for name in path.split("."):
        found = found[name]
    return float(found)


def with_interval(path: str, leaf: str) -> Column:
    def figures(row: Row) -> list[float]:
        spread: Any = row
        for name in path.split("."):
            spread = spread[name]
        return [spread[leaf], *(spread[f"{leaf}_interval"] or ())]

    return figures, 0


def test_a_wrong_digit_is_noticed() -> None:
    assert mismatch("1,234.5", [1234.46], 0) is None and mismatch("1,234.5", [1234.56], 0) is not None
    assert mismatch("20.13", [20.134], 4) is None and mismatch("20.14", [20.134], 4) is not None
    assert mismatch("501 (500 to 502)", [501.2, 499.9, 502.6], 0) is not None
    assert mismatch("165", [165.4], 4) is not None and mismatch("-", [1.0], 0) is not None


def test_a_replays_page(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = here("replay", "djpeg", "--policy", "clock,lru,arc", "--memory", "10%,25%", "-o", out, "--json")
    document = json.loads((out / "summary.json").read_text())
    assert done.document["rows"] == document["rows"] and len(document["rows"]) == 6
    tables = shown_tables(out / "report.html")

    # A row per point. Rows repeat the policy, so that they are compared by position.
    every = tables["Every point, with its counts and times"]
    assert len(every["rows"]) == 6
    names = {"frames": "replay.frames"}
    names |= {
        name: f"paging.{name.replace(' ', '_')}"
        for name in ("references", "faults", "swap reads", "swap writes", "file reads", "file writes")
    }
    times = {name: f"time.{name.removesuffix(', ms').replace(' ', '_')}_ns" for name in every["columns"] if name.endswith(", ms")}
    columns = {name: at(path) for name, path in names.items()} | {name: at(path, 1e-6) for name, path in times.items()}
    by_point = {(row["policy"], row["point"]["machine.dram"]): row for row in document["rows"]}
    cells = 0
    for line in every["rows"]:
        row = by_point.pop((line[0], line[1]))
        cells += compared(every | {"rows": [line]}, {line[0]: row}, columns)
    assert cells == 6 * 12 and by_point == {}

    ratios = next(table for caption, table in tables.items() if caption.startswith("I/O time relative to clock"))
    io = {(row["policy"], row["replay"]["frames"]): row["time"]["io_ns"] for row in document["rows"]}
    sizes = sorted({frames for _, frames in io})

    def ratio(policy: str) -> list[float]:
        found = [io[policy, frames] / io["clock", frames] for frames in sizes]
        return [*found, math.exp(sum(map(math.log, found)) / len(found))]

    bad = [
        (line, position)
        for line in ratios["rows"]
        for position, value in enumerate(ratio(line[0].split(" ")[0]), 1)
        if mismatch(line[position], [value], 0)
    ]
    assert bad == [] and sorted(line[0] for line in ratios["rows"]) == ["arc", "clock (baseline)", "lru"]


def test_a_phones_page(tmp_path: Path) -> None:
    designs = "design=[{name='vanilla',swap='flash'},{name='direct',swap='nvm-direct'},{name='none',swap='none'}]"
    out = tmp_path / "out"
    done = here("run", "a2s-large", "--set", "workload.launches=zipf:launches=30", "--set", "run.seeds=2", "--set", designs, "-o", out)
    assert done.code == 0, done.err
    rows = {row["design"]: row for row in json.loads((out / "summary.json").read_text())["rows"]}
    assert len(rows) == 3
    tables = shown_tables(out / "report.html")
    every = {
        "launches": at("launches.count", digits=4),
        "cold starts": at("launches.cold", digits=4),
        "kills": at("launches.kills", digits=4),
        "median, ms": at("launches.delay_ms.p50"),
        "95 %, ms": at("launches.delay_ms.p95"),
        "resume, ms": at("launches.resume_ms.p50"),
        "cold, ms": at("launches.cold_ms.p50"),
        "in, MiB": at("paging.swap_in_bytes", 1 / MIB, 4),
        "out, MiB": at("paging.swap_out_bytes", 1 / MIB, 4),
    }
    feel = {f"{start} {leaf}, ms": with_interval(f"launches.{start}_ms", leaf) for start in ("cold", "resume") for leaf in ("p50", "p95")}
    feel["kills a day (foreground, service, previous, cached)"] = (
        lambda row: [row["phone"]["daily"]["kills"].get(name, 0.0) for name in ("foreground", "service", "previous", "cached")],
        3,
    )
    costs = {
        "direct reclaim, ms a day": at("phone.daily.direct_reclaim_ms", digits=3),
        "kswapd processor, s a day": at("phone.daily.kswapd_cpu_s", digits=3),
        "flash writes, GiB a day": at("phone.daily.flash_write_gib", digits=3),
        "energy, J a day": at("phone.daily.joules", digits=4),
        "battery a day": at("phone.daily.battery_share", 100),
    }
    glance = {
        "launch, ms": (lambda row: [row["launches"]["delay_ms"]["mean"], *row["interval"]["launches.delay_ms.mean"]], 0),
        "cold starts, %": (lambda row: [100 * row["launches"]["cold"] / row["launches"]["count"]], 0),
        "apps lost a day": (lambda row: [sum(row["phone"]["daily"]["kills"].values())], 3),
        "battery a day, %": at("phone.daily.battery_share", 100),
    }
    wanted = {"Every design": every, "What a user feels": feel, "What it costs the phone": costs, "At a glance": glance}
    cells = sum(compared(tables[caption], rows, columns) for caption, columns in wanted.items())
    assert cells == 3 * (9 + 5 + 5 + 4)
    apps = tables["Every app under every design"]
    for line in apps["rows"]:
        found = next(app for app in rows[line[1]]["phone"]["apps"] if app["app"] == line[0])
        for position, value in ((2, found["launches"]), (7, found["kills"]), (8, found["swap_out_bytes"] / MIB)):
            assert mismatch(line[position], [value], 4) is None, line
    assert len(apps["rows"]) == sum(len(row["phone"]["apps"]) for row in rows.values()) > 10


def test_a_comparison_of_worlds(tmp_path: Path) -> None:
    document = d.document(
        [
            d.kernel_row("zram", 30.25, half=2.0),
            d.kernel_row("flash", 51.5),
            d.kernel_row("zram", 33.125, world="vm", kind="virtual"),
            d.kernel_row("flash", 41.0, world="vm", kind="virtual"),
            d.phone_row("zram", [10.0, 14.5], half=1.0),
        ]
    )
    path = tmp_path / "report.html"
    path.write_text(report.page([("worlds", document)]))
    rows = {(row.design, row.world): json.loads(row.model_dump_json(by_alias=True)) for row in document.rows}
    figures: dict[str, tuple[str, float]] = {
        "swapped in": ("paging.swap_in_bytes", 1 / MIB),
        "swapped out": ("paging.swap_out_bytes", 1 / MIB),
        "kills": ("launches.kills", 1),
        "median resume delay": ("launches.resume_ms.p50", 1),
        "mean launch delay": ("launches.delay_ms.mean", 1),
        "cold starts": ("launches.cold", 1),
    }
    table = shown_tables(path)["Every design in every world"]
    assert table["columns"][2] == "kernel" and len(table["rows"]) == 3 * len(figures)
    bad, met = [], 0
    for design, what, reference, other, its, difference, _, relative, within in table["rows"]:
        name, scale = figures[what]
        one, two = (scale * _figure(rows[design, world], name) for world in ("kernel", other.split(" ")[0]))
        cells = [(reference, [one], 4), (its, [two], 4), (difference, [two - one], 4), (relative, [100 * (two - one) / one], 0)]
        bad += [(design, what, other, why) for text, value, digits in cells if (why := mismatch(text, value, digits))]
        limit = {"swapped in": 0.1, "swapped out": 0.1, "median resume delay": 0.15}.get(what)
        if limit is not None:
            met += 1
            assert within == ("yes" if abs(two - one) <= limit * one else "no"), (design, what, within)
    assert bad == [] and met == 9
