"""Block traces: the exact bytes of a recorded one, the published shares of two phone traces, and
refusals.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from swaplab import BadInput, _core

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the recorded block traces (../shared/data) are not here")


def analyze(path: Path, **reading: Any) -> dict[str, Any]:
    given = {name: str(value) for name, value in reading.items()}
    document: dict[str, Any] = json.loads(_core.trace_analyze(path, json.dumps(given), None))
    accesses: dict[str, Any] = document["accesses"]
    return accesses | document


@needs_shared
def test_chromium_has_exactly_the_recorded_bytes() -> None:
    document = analyze(SHARED / "blk/chromium_200MB.trace.zst", filefrag=SHARED / "blk/chromium_200MB.filefrag")
    assert document["partitions"] == {
        "swap": {"read_bytes": 4_620_288, "write_bytes": 10_338_304},
        "file": {"read_bytes": 420_622_336, "write_bytes": 6_713_344},
    }
    assert document["swap"]["accesses"] == (4_620_288 + 10_338_304) // 4096
    assert document["reuse"]["unique_apps"] is None


@needs_shared
@pytest.mark.parametrize(("name", "top_15", "single"), [("telegram", 0.34, 0.71), ("slideshow", 0.21, 0.54)])
def test_the_phone_traces_are_weakly_skewed(name: str, top_15: float, single: float) -> None:
    document = analyze(SHARED / f"blk-phone/{name}_exec.csv.gz")
    assert document["top_share"]["0.15"] == pytest.approx(top_15, abs=0.006)
    assert document["single_access_ratio"] == pytest.approx(single, abs=0.005)


HEAD = "# tracer: nop\n#\n# entries-in-buffer/entries-written: 4/4   #P:2\n"


def event(kind: str, sector: int, sectors: int, name: str = "complete", device: str = "254,0") -> str:
    length = " 4096" if name == "issue" else ""
    return f" app-7 ( 7) [000] ..s.. 1.5: block_rq_{name}: {device} {kind}{length} () {sector} + {sectors} be,0,4 [0]\n"


def test_requests_are_cut_at_pages_and_borders(tmp_path: Path) -> None:
    trace, ranges = tmp_path / "t.trace", tmp_path / "ranges"
    ranges.write_text("swap 16 31\n/data 32 63\n")
    # 4..20 crosses into swap, 30..34 from swap into /data; one page twice; a discard, a flush, a
    # second device; issue events do not count
    trace.write_text(
        HEAD
        + event("R", 4, 16)
        + event("R", 4, 16, "issue")
        + event("FWS", 30, 4)
        + event("DS", 0, 800)
        + event("FF", 0, 0)
        + event("W", 8, 8, device="8,0")
    )
    document = analyze(trace, ranges=ranges)
    assert document["partitions"] == {
        "file": {"read_bytes": 12 * 512, "write_bytes": 0},
        "swap": {"read_bytes": 4 * 512, "write_bytes": 2 * 512},
        "/data": {"read_bytes": 0, "write_bytes": 2 * 512},
        "device 8,0": {"read_bytes": 0, "write_bytes": 8 * 512},
    }
    assert document["partition_accesses"] == {"file": 2, "swap": 2, "/data": 1, "device 8,0": 1}
    assert document["trace"]["provenance"]["discards"] == "1"
    assert document["data"] == 6 and document["single_access_ratio"] == 1.0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEAD + event("R", 0, 8) + "CPU:1 [LOST 91 EVENTS]\n", ["line 5", "LOST EVENTS: 91 EVENTS"]),
        (HEAD.replace("4/4", "4/9"), ["line 3", "LOST EVENTS: 5 of 9"]),
        (HEAD + event("Q", 0, 8), ["line 4", "kind 'Q'"]),
        (HEAD + "x: block_rq_complete: 254,0 R () many + 8\n", ["line 4", "SECTOR + SECTORS"]),
        ("process,device,rw_flag,sector,size,timestamp\na,1,R,5,x,1\n", ["line 2", "a size in sectors fifth"]),
        ("process,device,rw_flag,sector,size,timestamp\na,1,D,5,8,1\n", ["line 2", "R or W third"]),
    ],
)
def test_invalid_block_traces_are_refused(tmp_path: Path, text: str, words: list[str]) -> None:
    trace = tmp_path / "t.trace"
    trace.write_text(text)
    with pytest.raises(BadInput) as refused:
        analyze(trace)
    assert all(word in str(refused.value) for word in words) and "\n" not in str(refused.value)


def test_ranges_that_overlap_are_refused(tmp_path: Path) -> None:
    trace, ranges = tmp_path / "t.trace", tmp_path / "ranges"
    trace.write_text(HEAD + event("R", 0, 8))
    ranges.write_text("a 0 99\nb 50 60\n")
    with pytest.raises(BadInput, match="ranges that do not overlap"):
        analyze(trace, ranges=ranges)
