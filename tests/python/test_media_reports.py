"""The pages of `trace analyze`, `energy` and `nvm-cache`: verdicts by hand, and each page as a browser shows it."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import browser
import pytest
from swaplab import report

SWAPLAB = Path(sys.executable).parent / "swaplab"
needs_chromium = pytest.mark.skipif(browser.CHROMIUM is None, reason="chromium is not installed (Debian package chromium)")


@pytest.fixture(scope="module")
def blocks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A block trace with a hot third, half of the data accessed once, and a swap partition."""
    draw, folder = random.Random(5), tmp_path_factory.mktemp("blocks")
    lines = []
    for at in range(3000):
        page = draw.randrange(60) if draw.random() < 0.5 else 100 + at
        lines.append(f" app-7 ( 7) [000] ..s.. 1.5: block_rq_complete: 254,0 {draw.choice('RW')} () {page * 8} + 8 be,0,4 [0]\n")
    (folder / "t.trace").write_text("# tracer: nop\n#\n# entries-in-buffer/entries-written: 3000/3000   #P:2\n" + "".join(lines))
    (folder / "ranges").write_text("swap 0 239\n")
    return folder / "t.trace", folder / "ranges"


def commands(blocks: tuple[Path, Path]) -> dict[str, list[str]]:
    trace, ranges = map(str, blocks)
    counts = ["--swap-ins", "3298", "--direct-reads", "2232", "--swap-outs", "10000"]
    return {
        "analyze": ["trace", "analyze", trace, "--ranges", ranges],
        "nvm-cache": ["nvm-cache", trace, "--size", "16p,64p,256p", "--ranges", ranges],
        "energy": ["energy", "--swap", "128MiB", "--seconds", "900", *counts],
    }


@pytest.fixture(scope="module")
def made(blocks: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[dict, Path]]:
    """The document and the report of each command."""
    found = {}
    for name, arguments in commands(blocks).items():
        folder = tmp_path_factory.mktemp(name)
        done = subprocess.run([str(SWAPLAB), *arguments, "--json", "--run", str(folder)], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0 and done.stderr.startswith("report: "), done.stderr
        path = Path(done.stderr.removeprefix("report: ").strip())
        assert {one.name for one in path.parent.iterdir()} == {"manifest.json", "summary.json", "report.html"}
        document = json.loads(done.stdout)
        assert json.loads((path.parent / "summary.json").read_text()) == document
        found[name] = (document, path)
    return found


@pytest.fixture(scope="module")
def page(made: dict[str, tuple[dict, Path]]) -> Iterator[browser.Page]:
    """One browser for every page: starting it takes longer than all else here."""
    with browser.Page(made["energy"][1]) as page:
        yield page


@needs_chromium
@pytest.mark.parametrize(
    ("command", "figures", "marks", "words"),
    [
        ("analyze", 2, 101 + 60, "of the data are accessed once"),
        ("nvm-cache", 2, 2 * 12, "of NVM"),
        ("energy", 1, 3 * 4, "Direct Read saves 59.2 %"),
    ],
)
def test_the_page_in_a_browser(
    made: dict[str, tuple[dict, Path]], page: browser.Page, command: str, figures: int, marks: int, words: str
) -> None:
    path = made[command][1]
    html = path.read_text()
    assert not re.search(r"""(src|href)=["'](?!data:|#)""", html) and len(html) < 1_500_000
    page.show(path)
    assert words in page.value("document.querySelector('.verdict').textContent")
    assert page.value("document.querySelectorAll('figure').length") == figures
    drawn = page.value("document.querySelectorAll('.wide svg [role=graphics-symbol][aria-label]:not(.role-axis)').length")
    assert drawn >= marks
    sizes = page.value("[...document.querySelectorAll('.wide svg')].map(s => [s.clientWidth, s.clientHeight])")
    assert all(width > 600 and height > 100 for width, height in sizes)
    assert (page.console, page.requests) == ([], [])
    page.show(path, width=390, dark=True)
    assert page.value("document.documentElement.scrollWidth") == 390
    assert (page.console, page.requests) == ([], [])


def test_verdicts_follow_from_the_documents(made: dict[str, tuple[dict, Path]]) -> None:
    documents = {name: document for name, (document, _) in made.items()}
    (spread,) = report.sections(documents["analyze"])
    assert f"{100 * documents['analyze']['top_share']['0.15']:.1f} % of the accesses" in spread.verdict
    traffic = {row[0].text: [cell.text for cell in row[1:]] for row in spread.tables[1].rows}
    swap = documents["analyze"]["partitions"]["swap"]
    assert traffic["swap"][:2] == [f"{swap['read_bytes']:,}", f"{swap['write_bytes']:,}"]
    cells = spread.figures[1].data
    assert cells["sampled"].sum() == len(documents["analyze"]["scatter"]) and set(cells["partition"]) == {"swap", "file"}

    (cache,) = report.sections(documents["nvm-cache"])
    points = documents["nvm-cache"]["points"]
    least = min(point["storage_reads"] + point["storage_writes"] for point in points)
    assert f"leave {100 * least / documents['nvm-cache']['storage_accesses_without_nvm']:.1f} %" in cache.verdict
    storage = {(p["fill"], p["replacement"], p["size_bytes"], p["admission"]): p["storage_reads"] + p["storage_writes"] for p in points}
    wins = sum(count < storage[(*place, "always")] for (*place, admission), count in storage.items() if admission == "second-touch")
    assert f"at {wins} of {len(points) // 2} points" in cache.evidence[0]

    (energy,) = report.sections(documents["energy"])
    assert "saves 59.2 %" in energy.verdict and "flash takes least: 1.417 J" in energy.verdict


def test_a_trace_of_launches_has_no_page_of_accesses(tmp_path: Path) -> None:
    subprocess.run([str(SWAPLAB), "trace", "gen", "small", "-o", str(tmp_path / "l.slt")], check=True, capture_output=True)
    arguments = ["trace", "analyze", str(tmp_path / "l.slt"), "--run", str(tmp_path / "runs")]
    done = subprocess.run([str(SWAPLAB), *arguments], capture_output=True, text=True)
    assert done.returncode == 2 and "a trace of launches; expected a page or block trace" in done.stderr
    assert not (tmp_path / "runs").exists()
