"""The command line of traces and replay: documents, determinism, and what bad input is told."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SWAPLAB = Path(sys.executable).parent / "swaplab"
DATA = ROOT / "python" / "swaplab" / "data"
SHARED = ROOT.parent / "shared" / "data" / "mem"


def run(*arguments: object, stdin: bytes | None = None, cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([str(SWAPLAB), *map(str, arguments)], input=stdin, capture_output=True, cwd=cwd, timeout=300)


def document(*arguments: object, stdin: bytes | None = None) -> dict:
    done = run(*arguments, "--json", stdin=stdin)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    draw = random.Random(1)
    path = tmp_path / "small.txt"
    path.write_text("".join(f"{min(int(draw.expovariate(0.05)), 199)} {draw.choice('RRRWI')}\n" for _ in range(5000)))
    return path


def test_a_replay_worked_by_hand(tmp_path: Path) -> None:
    # Two frames, LRU, pages 1 and 2 written (anonymous), 3 fetched only (file). 1W fault (swap read), 2W fault (swap read),
    # 3I fault: 1 leaves dirty (swap write), file read; 1R fault: 2 leaves dirty (swap write), swap read; 3I hit; 2R fault: 1
    # leaves clean, its slot is valid (nothing), swap read; 1R fault: 3 leaves clean, swap read.
    path = tmp_path / "hand.txt"
    path.write_text("1 W\n2 W\n3 I\n1 R\n3 I\n2 R\n1 R\n")
    points = document("replay", path, "--policy", "lru", "--memory", "2p")["points"]
    counts = {key: points[0][key] for key in ("references", "faults", "swap_reads", "swap_writes", "file_reads", "file_writes")}
    assert counts == {"references": 7, "faults": 6, "swap_reads": 5, "swap_writes": 2, "file_reads": 1, "file_writes": 0}
    assert points[0]["io_time_ns"] == 5 * 5263 + 2 * 28571 + 10000
    zero = document("replay", path, "--policy", "lru", "--memory", "2p", "--first-touch", "zero-fill")["points"][0]
    assert (zero["swap_reads"], zero["swap_writes"]) == (3, 2)


def test_the_document_has_the_keys_of_the_interface(small: Path) -> None:
    found = document("replay", small, "--policy", "clock,spo-clock:t0=4,victim=raw", "--memory", "5%,10%")
    assert (found["schema"], found["kind"], len(found["points"])) == (1, "simulated", 4)
    assert {"references", "footprint_pages", "reads", "writes", "ifetches", "anon_pages", "file_pages", "launches", "apps"} <= found[
        "trace"
    ].keys()
    point_keys = {"policy", "memory_pages", "references", "faults", "swap_reads", "swap_writes", "file_reads", "file_writes", "io_time_ns"}
    assert all(point_keys <= point.keys() for point in found["points"])
    assert found["points"][2]["policy"] == "spo-clock:t0=4,victim=raw"


@pytest.mark.parametrize("mapping", ["follow", "ignore"])
def test_runs_and_job_counts_give_the_same_bytes(mapping: str) -> None:
    call = ("replay", DATA / "node.slt", "--policy", "clock,arc,spo-clock", "--memory", "5%,25%", "--mapping", mapping, "--json")
    first, again, two = run(*call, "--jobs", 1), run(*call, "--jobs", 1), run(*call, "--jobs", 2)
    assert first.returncode == 0 and first.stdout == again.stdout == two.stdout


def test_a_page_trace_replays_the_same_from_text_zst_and_standard_input(small: Path, tmp_path: Path) -> None:
    packed, native = tmp_path / "small.txt.zst", tmp_path / "small.slt"
    subprocess.run(["zstd", "-q", str(small), "-o", str(packed)], check=True)
    assert run("trace", "import", small, "--format", "oslab", "-o", native).returncode == 0
    call = ("--policy", "lru", "--memory", "10%")
    points = [document("replay", source, *call)["points"] for source in (small, packed, native)]
    points.append(document("replay", "-", *call, stdin=small.read_bytes())["points"])
    assert all(p == points[0] for p in points)


def test_mrc_of_lru_equals_replays_at_every_size(small: Path) -> None:
    curve = document("mrc", small)
    footprint = curve["trace"]["footprint_pages"]
    sizes = [p["memory_pages"] for p in curve["points"]]
    assert sizes[-1] == footprint
    replayed = document("replay", small, "--policy", "lru", "--memory", ",".join(f"{n}p" for n in sizes))["points"]
    assert [p["miss_ratio"] for p in curve["points"]] == [p["faults"] / p["references"] for p in replayed]


def test_mrc_follows_mappings_as_replay_does() -> None:
    curve = {p["memory_pages"]: p["miss_ratio"] for p in document("mrc", DATA / "node.slt", "--sizes", 10)["points"]}
    sizes = ",".join(f"{n}p" for n in curve)
    for point in document("replay", DATA / "node.slt", "--policy", "lru", "--memory", sizes)["points"]:
        assert curve[point["memory_pages"]] == point["faults"] / point["references"]


def test_a_sampled_curve_is_near_the_exact_one() -> None:
    exact = document("mrc", DATA / "chromium.slt", "--sizes", 20)["points"]
    sampled = document("mrc", DATA / "chromium.slt", "--sizes", 20, "--sample", 0.1)["points"]
    errors = [abs(a["miss_ratio"] - b["miss_ratio"]) for a, b in zip(exact, sampled, strict=True)]
    assert sum(errors) / len(errors) < 0.02 and errors != [0.0] * len(errors)


def test_points_below_the_filter_are_marked() -> None:
    found = document("replay", DATA / "chromium.slt", "--policy", "lru", "--memory", "5%,25%")
    assert found["trace"]["filter"] == {"lru_entries": 1024}
    assert [p["filter_limited"] for p in found["points"]] == [True, False]


def test_conversion_to_parquet(small: Path, tmp_path: Path) -> None:
    import polars as pl

    assert run("trace", "convert", small, "--to", "parquet", "-o", tmp_path / "t.parquet").returncode == 0
    rows = pl.read_parquet(tmp_path / "t.parquet")
    lines = [line.split() for line in small.read_text().splitlines()]
    assert rows["page"].to_list() == [int(page) for page, _ in lines]
    assert rows["op"].to_list() == [op for _, op in lines]


BAD = {
    "no such file": (["replay", "none.txt", "--policy", "lru", "--memory", "5%"], "none.txt: No such file"),
    "policy": (["replay", "T", "--policy", "clokc", "--memory", "5%"], "unknown policy 'clokc'; expected 'clock'"),
    "parameter": (["replay", "T", "--policy", "clock:bit=2", "--memory", "5%"], "unknown parameter 'bit'; expected 'bits'"),
    "value": (["replay", "T", "--policy", "clock:bits=9", "--memory", "5%"], "bits=9; expected a whole number from 1 to 7"),
    "no memory": (["replay", "T", "--policy", "lru", "--memory", "0%"], "memory '0%': 0 % is no memory"),
    "too much": (["replay", "T", "--policy", "lru", "--memory", "999p"], "memory: 999 pages; expected at most the footprint of"),
    "unit": (["replay", "T", "--policy", "lru", "--memory", "5 parsecs"], "no such unit"),
    "less than a page": (["replay", "T", "--policy", "lru", "--memory", "100B"], "less than one page"),
    "device": (["replay", "T", "--policy", "lru", "--memory", "5%", "--swap-device", "optane"], "unknown device 'optane'"),
    "first touch": (["replay", "T", "--policy", "lru", "--memory", "5%", "--first-touch", "free"], "unknown first touch 'free'"),
    "mapping": (["replay", "T", "--policy", "lru", "--memory", "5%", "--mapping", "folow"], "expected 'follow'"),
    "signal": (
        ["replay", "T", "--policy", "lru", "--memory", "5%", "--signal", "reference-bit"],
        "expected exact, reference-bit:REFERENCES",
    ),
    "spo below 4": (["replay", "T", "--policy", "spo-clock", "--memory", "3p"], "spo-clock"),
    "format": (["trace", "import", "T", "--format", "oslaab", "-o", "out.slt"], "unknown format 'oslaab'; expected 'oslab'"),
    "to": (["trace", "convert", "T", "--to", "cvs", "-o", "out.csv"], "unknown format 'cvs'; expected 'csv'"),
    "folder": (["trace", "import", "T", "-o", "nowhere/out.slt"], "nowhere/out.slt: No such file"),
    "app": (["trace", "slice", "T", "--app", "maps", "-o", "out.slt"], "unknown app 'maps'"),
    "page size": (["trace", "import", "T", "--page-size", "5000", "-o", "out.slt"], "page size 5000; expected 4096 or 16384"),
    "onto itself": (["trace", "import", "T", "-o", "T"], "-o T: it is what is read; expected another file"),
    "launches": (["mrc", "launches.slt"], "launches.slt: no references in it; expected a trace of pages"),
    "launches replayed": (["replay", "launches.slt", "--policy", "lru", "--memory", "5%"], "launches.slt: no references in it"),
    "launches as csv": (["trace", "convert", "launches.slt", "--to", "csv", "-o", "out.csv"], "launches.slt: no references in it"),
    "launches as parquet": (["trace", "convert", "launches.slt", "--to", "parquet", "-o", "o.pq"], "launches.slt: no references"),
    "parquet to a device": (["trace", "convert", "T", "--to", "parquet", "-o", "/dev/null"], "/dev/null: not a regular file"),
    "twice": (["replay", "T", "--policy", "clock:bits=1,bits=2", "--memory", "5%"], "bits twice; expected each parameter once"),
    "packed and cut": (["replay", "cut.zst", "--policy", "lru", "--memory", "5%"], "cut.zst: byte 5: incomplete frame; expected whole"),
    "place of a text": (["nvm-cache", "T", "--size", "5%", "--fill", "swap-only"], "T: no partition 'swap'"),
    "cut": (["trace", "info", "cut.slt"], "cut.slt: block"),
    "sample": (["mrc", "T", "--sample", "2"], "--sample: 2; expected a rate above 0"),
    "list": (["list", "things"], "unknown table 'things'"),
    "usage": (["replay", "T"], "required: --policy, --memory; 'swaplab replay --help' tells more"),
    "huge": (
        ["replay", "T", "--policy", "lru", "--memory", "5%", "--seed", str(2**64)],
        f"--seed: '{2**64}'; expected a whole number from 0 to {2**63 - 1}",
    ),
    "huge energy": (
        ["energy", "--swap", "1MiB", "--seconds", "1", "--swap-ins", str(2**64), "--swap-outs", "1"],
        f"--swap-ins: '{2**64}'; expected a whole number from 0 to {2**63 - 1}",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_and_exit_code_2(case: str, small: Path, tmp_path: Path) -> None:
    arguments, expected = BAD[case]
    work = tmp_path / "work"
    work.mkdir()
    (work / "T").write_bytes(small.read_bytes())
    assert run("trace", "gen", "small", "-o", work / "launches.slt").returncode == 0
    (work / "cut.zst").write_bytes(bytes.fromhex("28b52ffd04"))
    (work / "cut.slt").write_bytes((DATA / "djpeg.slt").read_bytes()[:100_000])
    before = sorted(p.name for p in work.iterdir())
    done = run(*arguments, cwd=work)
    message = done.stderr.decode()
    assert done.returncode == 2 and expected in message, message
    assert message.startswith("swaplab: ") and message.count("\n") == 1 and done.stdout == b""
    assert sorted(p.name for p in work.iterdir()) == before


@pytest.mark.parametrize("blow", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stopped_import_says_where_and_leaves_no_file(tmp_path: Path, blow: signal.Signals) -> None:
    # Standard input that never ends: the import can only be stopped.
    call = [str(SWAPLAB), "trace", "import", "-", "--format", "oslab", "-o", "out.slt"]
    running = subprocess.Popen(call, stdin=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path)
    assert running.stdin and running.stderr
    try:
        os.set_blocking(running.stdin.fileno(), False)
        line, stop_at = b"12345 R\n" * 4096, time.monotonic() + 60
        asked = False
        while running.poll() is None and time.monotonic() < stop_at:
            # The part file says that the import has begun; before that, nothing of ours is there to be asked.
            if not asked and list(tmp_path.glob(".swaplab-*.part")):
                running.send_signal(blow)
                asked = True
            try:
                running.stdin.write(line)
            except (BlockingIOError, BrokenPipeError):
                time.sleep(0.01)
        assert running.poll() == 130
        said = running.stderr.read()
        assert said.startswith(b"swaplab: interrupted at standard input: byte") and said.count(b"\n") == 1
        assert list(tmp_path.iterdir()) == []
    finally:
        running.kill()


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared real traces are not beside this checkout")
def test_the_shared_chromium_trace_replays_with_and_without_its_page_table() -> None:
    trace = SHARED / "chromium_x86_k1024.csv.zst"
    plain = document("trace", "info", trace)
    known = document("trace", "info", trace, "--pages", SHARED / "chromium_x86.pages.csv.zst")
    assert plain["references"] == known["references"] == 615697 + 351181 + 595673
    assert plain["footprint_pages"] == known["footprint_pages"] == 41_445
    assert (known["anon_pages"], known["file_pages"]) == (19_722 + 1_964, 17_623 + 2_136)
    points = document("replay", trace, "--policy", "clock", "--memory", "25%")["points"]
    assert points[0]["references"] == plain["references"] and not points[0]["filter_limited"]


def test_a_pipe_as_output_stays_a_pipe(tmp_path: Path, small: Path) -> None:
    """As `/dev/null` does for root: a temporary file renamed over it would take its place."""
    pipe, trace = tmp_path / "pipe", tmp_path / "small.slt"
    os.mkfifo(pipe)
    assert run("trace", "import", small, "--format", "oslab", "-o", trace).returncode == 0
    (document_path := tmp_path / "mrc.json").write_bytes(run("mrc", trace, "--json").stdout)
    for command in (["trace", "convert", trace, "--to", "csv", "-o"], ["report", document_path, "--html"]):
        with subprocess.Popen(["timeout", "20", "cat", pipe], stdout=subprocess.PIPE) as reader:
            done = run(*command, pipe)
            assert done.returncode == 0, done.stderr.decode()
            assert len(reader.communicate()[0]) > 1000
        assert pipe.is_fifo()
    refused = run("trace", "import", small, "--format", "oslab", "-o", pipe)
    assert refused.returncode == 2 and b"a device or a pipe; expected a file" in refused.stderr
    assert pipe.is_fifo()
