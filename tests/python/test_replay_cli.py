"""The command line of traces and replay: documents, four ways to run a point, determinism, and
messages for bad input.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import swaplab as sl
from command import DATA, ROOT, SWAPLAB, here, swaplab

#: Optional real traces, which are not part of the repository.
SHARED = ROOT.parent / "shared" / "data" / "mem"

Row = dict[str, Any]


def rows(*words: object, stdin: bytes | None = None) -> list[Row]:
    """Run `swaplab replay --json` and return the rows of the document."""
    found: list[Row] = (swaplab(*words, "--json", stdin=stdin) if stdin is not None else here(*words, "--json")).document["rows"]
    assert found, words
    return found


@pytest.fixture
def small(tmp_path: Path) -> Path:
    draw = random.Random(1)
    path = tmp_path / "small.txt"
    path.write_text("".join(f"{min(int(draw.expovariate(0.05)), 199)} {draw.choice('RRRWI')}\n" for _ in range(5000)))
    return path


def test_a_replay_worked_by_hand(tmp_path: Path) -> None:
    # Two frames, LRU, pages 1 and 2 written (anonymous), 3 fetched only (file). 1W fault (swap
    # read), 2W fault (swap read), 3I fault: 1 leaves dirty (swap write), file read; 1R fault: 2
    # leaves dirty (swap write), swap read; 3I hit; 2R fault: 1 leaves clean, its slot is valid
    # (nothing), swap read; 1R fault: 3 leaves clean, swap read.
    path = tmp_path / "hand.txt"
    path.write_text("1 W\n2 W\n3 I\n1 R\n3 I\n2 R\n1 R\n")
    [row] = rows("replay", path, "--policy", "lru", "--memory", "2p")
    counts = {key: row["paging"][key] for key in ("references", "faults", "swap_reads", "swap_writes", "file_reads", "file_writes")}
    assert counts == {"references": 7, "faults": 6, "swap_reads": 5, "swap_writes": 2, "file_reads": 1, "file_writes": 0}
    assert row["time"]["io_ns"] == 5 * 5263 + 2 * 28571 + 10000
    assert (row["kind"], row["world"], row["policy"], row["swap"]) == ("simulated", "replay", "lru", None)
    assert (row["memory"]["dram_bytes"], row["replay"]["frames"]) == (2 * 4096, 2)
    [zero] = rows("replay", path, "--policy", "lru", "--memory", "2p", "--first-touch", "zero-fill")
    assert (zero["paging"]["swap_reads"], zero["paging"]["swap_writes"]) == (3, 2)


def test_the_document_has_the_keys_of_the_interface(small: Path) -> None:
    found = here("replay", small, "--policy", "clock,spo-clock:t0=4,victim=raw", "--memory", "5%,10%", "--json").document
    assert (found["schema"], len(found["rows"])) == (2, 4)
    assert {"schema", "name", "experiment", "inputs", "versions", "machine", "warnings", "rows", "tables"} == found.keys()
    assert found["machine"] is None, "nothing was measured"
    for row in found["rows"]:
        assert {"world", "kind", "design", "machine", "workload", "seed", "point", "paging", "launches", "time", "memory"} <= row.keys()
        assert {"swap_in_bytes", "swap_out_bytes", "copied_pages", "direct_reads", "faults"} <= row["paging"].keys()
        assert {"dram_bytes", "pool_bytes", "metadata_bytes", "other_medium_bytes"} <= row["memory"].keys()
        assert row["launches"] is None, "a trace of pages has no launches: null, not 0"
        assert row["paging"]["faults"] > 0 and row["time"]["io_ns"] > 0
    assert {(row["policy"], row["point"]["machine.dram"]) for row in found["rows"]} == {
        (policy, size) for policy in ("clock", "spo-clock:t0=4,victim=raw") for size in ("5%", "10%")
    }
    [trace] = found["inputs"]
    assert (trace["kind"], trace["trace"]["references"]) == ("trace", 5000) and len(trace["content_hash"]) >= 32
    assert found["experiment"]["workload"]["trace"] == str(small) and [d["name"] for d in found["experiment"]["design"]] == [
        "clock",
        "spo-clock",
    ]


def test_trace_info_has_the_keys_of_the_interface(small: Path) -> None:
    found = here("trace", "info", small, "--json").document
    assert {"references", "footprint_pages", "reads", "writes", "ifetches", "anon_pages", "file_pages", "launches", "apps"} <= found.keys()
    assert found["references"] == 5000 and found["reads"] + found["writes"] + found["ifetches"] == 5000


def plain(found: list[Row]) -> list[Row]:
    """Return the rows without the point, which only a sweep has."""
    return [{key: value for key, value in row.items() if key != "point"} for row in found]


@pytest.mark.parametrize("scheme", [None, "zram:size=1MiB"])
def test_four_ways_to_run_one_point_give_equal_rows(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str | None
) -> None:
    """The ways are `replay`, `run` of the file that `--save` wrote, Python, and a sweep of one
    point.
    """
    monkeypatch.chdir(tmp_path)
    saved = tmp_path / "elsewhere" / "saved.toml"
    saved.parent.mkdir()
    swap = ["--swap", scheme] if scheme else []
    device = [] if scheme else ["--swap-device", "ufs-3.1"]
    words = ["--policy", "clock,lru", "--memory", "12.5%", "--seed", "3", *device, *swap]
    replayed = rows("replay", "small.txt", *words, "--save", saved)
    ran = rows("run", saved)
    varied = rows("run", saved, "--set", 'vary={"machine.dram"=["12.5%"]}')
    trace = sl.Trace.open("small.txt")
    tables: dict[str, Any] = {
        "machine": {"dram": "12.5%"},
        "design": [{"policy": ["clock", "lru"]} | ({"swap": scheme} if scheme else {})],
        "workload": {"trace": str(trace.path)},
        "run": {"seed": 3} | ({} if scheme else {"replay": {"swap_device": "ufs-3.1"}}),
    }
    in_python = json.loads(sl.Experiment(**tables).run(jobs=1).document.model_dump_json(by_alias=True))["rows"]
    assert len(replayed) == 2 and all(row["paging"]["faults"] > 0 for row in replayed)
    assert ran == replayed
    assert in_python == replayed
    assert plain(varied) == plain(replayed) and varied[0]["point"] == {"machine.dram": "12.5%"}


def test_a_saved_experiment_has_only_the_given_options(small: Path, tmp_path: Path) -> None:
    saved = tmp_path / "saved.toml"
    assert here("replay", small, "--memory", "5%,10%", "--save", saved).code == 0
    text = saved.read_text()
    assert "machine.dram" in text and "vm" not in text and "minfree" not in text
    again = tmp_path / "again.toml"
    assert here("check", saved).code == 0
    here("new", saved).refuses("exists already")
    assert not again.exists()


@pytest.mark.parametrize("mapping", ["follow", "ignore"])
def test_runs_and_job_counts_give_the_same_bytes(mapping: str) -> None:
    call = ("replay", DATA / "node.slt", "--policy", "clock,arc,spo-clock", "--memory", "5%,25%", "--mapping", mapping, "--json")
    first, again, two = swaplab(*call, "--jobs", 1), swaplab(*call, "--jobs", 1), swaplab(*call, "--jobs", 2)
    assert first.code == 0 and first.out == again.out == two.out and len(first.document["rows"]) == 6


def test_a_page_trace_replays_the_same_from_text_zst_and_standard_input(small: Path, tmp_path: Path) -> None:
    packed, native = tmp_path / "small.txt.zst", tmp_path / "small.slt"
    subprocess.run(["zstd", "-q", str(small), "-o", str(packed)], check=True)
    assert here("trace", "import", small, "--format", "oslab", "-o", native).code == 0
    call = ("--policy", "lru", "--memory", "10%")
    found = [rows("replay", source, *call) for source in (small, packed, native)]
    found.append(rows("replay", "-", *call, stdin=small.read_bytes()))
    assert [one[0]["workload"] for one in found] == ["small.txt", "small.txt.zst", "small.slt", "-"]
    for one in found:
        assert [row | {"workload": ""} for row in one] == [row | {"workload": ""} for row in found[0]]


def test_mrc_of_lru_equals_replays_at_every_size(small: Path) -> None:
    curve = here("trace", "mrc", small, "--json").document
    footprint = curve["trace"]["trace"]["footprint_pages"]
    sizes = [point["memory_pages"] for point in curve["points"]]
    assert sizes[-1] == footprint
    replayed = rows("replay", small, "--policy", "lru", "--memory", ",".join(f"{n}p" for n in sizes))
    assert [row["replay"]["frames"] for row in replayed] == sizes
    assert [point["miss_ratio"] for point in curve["points"]] == [row["paging"]["faults"] / row["paging"]["references"] for row in replayed]


def test_a_curve_a_spread_and_a_cache_are_documents_for_report(small: Path, tmp_path: Path) -> None:
    """What `--json` prints has the tag by which `report` tells documents apart."""
    commands = {
        "curve": ("trace", "mrc", small),
        "spread": ("trace", "analyze", small),
        "nvm-cache": ("papers", "nvm-cache", small, "--size", "8p"),
    }
    for tag, words in commands.items():
        found = here(*words, "--json").document
        assert found["document"] == tag and found["trace"]["kind"] == "trace", found
        place = tmp_path / f"{tag}.json"
        place.write_text(json.dumps(found))
        assert here("report", place, "-o", tmp_path / f"{tag}.html").code == 0
        assert (tmp_path / f"{tag}.html").stat().st_size > 10_000


def test_mrc_of_another_policy_is_its_replay(small: Path) -> None:
    curve = here("trace", "mrc", small, "--policy", "clock", "--sizes", 5, "--json").document
    sizes = ",".join(f"{point['memory_pages']}p" for point in curve["points"])
    replayed = rows("replay", small, "--policy", "clock", "--memory", sizes)
    assert [point["miss_ratio"] for point in curve["points"]] == [row["paging"]["faults"] / row["paging"]["references"] for row in replayed]


def test_mrc_follows_mappings_as_replay_does() -> None:
    curve = here("trace", "mrc", DATA / "node.slt", "--sizes", 10, "--json").document
    sizes = {point["memory_pages"]: point["miss_ratio"] for point in curve["points"]}
    for row in rows("replay", DATA / "node.slt", "--policy", "lru", "--memory", ",".join(f"{n}p" for n in sizes)):
        assert sizes[row["replay"]["frames"]] == row["paging"]["faults"] / row["paging"]["references"]


def test_a_sampled_curve_is_near_the_exact_one() -> None:
    exact = here("trace", "mrc", DATA / "chromium.slt", "--sizes", 20, "--json").document["points"]
    sampled = here("trace", "mrc", DATA / "chromium.slt", "--sizes", 20, "--sample", 0.1, "--json").document["points"]
    errors = [abs(a["miss_ratio"] - b["miss_ratio"]) for a, b in zip(exact, sampled, strict=True)]
    assert sum(errors) / len(errors) < 0.02 and errors != [0.0] * len(errors)


def test_points_below_the_filter_are_marked() -> None:
    assert here("trace", "info", DATA / "chromium.slt", "--json").document["filter"] == {"lru_entries": 1024}
    found = rows("replay", DATA / "chromium.slt", "--policy", "lru", "--memory", "5%,25%")
    assert [row["replay"]["filter_limited"] for row in found] == [True, False]
    assert found[0]["invalid"] and found[1]["invalid"] is None


def test_conversion_to_parquet(small: Path, tmp_path: Path) -> None:
    assert here("trace", "convert", small, "--to", "parquet", "-o", tmp_path / "t.parquet").code == 0
    frame = pl.read_parquet(tmp_path / "t.parquet")
    lines = [line.split() for line in small.read_text().splitlines()]
    assert frame["page"].to_list() == [int(page) for page, _ in lines]
    assert frame["op"].to_list() == [op for _, op in lines]


REPLAY = ["replay", "T", "--policy", "lru"]
BAD = {
    "no such file": (["replay", "none.txt", "--policy", "lru", "--memory", "5%"], "none.txt: No such file"),
    "policy": (["replay", "T", "--policy", "clokc", "--memory", "5%"], "unknown policy 'clokc'; expected 'clock'"),
    "policy twice": (["replay", "T", "--policy", "lru,lru", "--memory", "5%"], "two designs called 'lru'"),
    "parameter": (["replay", "T", "--policy", "clock:bit=2", "--memory", "5%"], "unknown parameter 'bit'; expected 'bits'"),
    "value": (["replay", "T", "--policy", "clock:bits=9", "--memory", "5%"], "bits=9; expected a whole number from 1 to 7"),
    "no memory": ([*REPLAY, "--memory", "0%"], "0%"),
    "unit": ([*REPLAY, "--memory", "5 parsecs"], "5 parsecs"),
    "no unit": ([*REPLAY, "--memory", "25"], "'25' has no unit"),
    "less than a page": ([*REPLAY, "--memory", "100B"], "less than one page"),
    "device": ([*REPLAY, "--memory", "5%", "--swap-device", "optane"], "unknown device 'optane'"),
    "device under a scheme": (
        [*REPLAY, "--memory", "5%", "--swap", "zram", "--swap-device", "ufs-3.1"],
        "every design has a scheme; expected machine.devices.nvm",
    ),
    "key of another world": ([*REPLAY, "--memory", "5%", "--set", "run.vm.cpus=3"], "'run.vm.cpus' has no effect in replay"),
    "varied key of another world": (
        [*REPLAY, "--memory", "5%", "--set", 'vary={"machine.kernel.swappiness"=[10,100]}'],
        "'machine.kernel.swappiness' has no effect in replay; expected a key that the run reads; this one is read in: phone",
    ),
    "file device": ([*REPLAY, "--memory", "5%", "--file-device", "ufs3"], "unknown device 'ufs3'"),
    "first touch": ([*REPLAY, "--memory", "5%", "--first-touch", "free"], "free"),
    "mapping": ([*REPLAY, "--memory", "5%", "--mapping", "folow"], "follow"),
    "signal": ([*REPLAY, "--memory", "5%", "--signal", "reference-bit"], "reference-bit:REFERENCES"),
    "scheme": ([*REPLAY, "--memory", "5%", "--swap", "zrma"], "unknown scheme 'zrma'; expected 'zram'"),
    "bound and scheme": (["replay", "T", "--policy", "opt-cost", "--memory", "5%", "--swap", "zram"], "expected no swap scheme"),
    "changed key": ([*REPLAY, "--memory", "5%", "--set", "machine.drams=1"], "unknown key 'drams'; expected 'dram'"),
    "spo below 4": (["replay", "T", "--policy", "spo-clock", "--memory", "3p"], "spo-clock"),
    "page size of a .slt": (["replay", "t.slt", "--memory", "5%", "--page-size", "16384"], "page_size"),
    "pages of a .slt": (["replay", "t.slt", "--memory", "5%", "--pages", "nofile"], "pages"),
    "filter of a .slt": (["replay", "t.slt", "--memory", "5%", "--filter", "9"], "filter"),
    "format of a .slt": (["replay", "t.slt", "--memory", "5%", "--format", "oslab"], "format"),
    "page size of a .slt, info": (["trace", "info", "t.slt", "--page-size", "16384"], "page_size"),
    "format": (["trace", "import", "T", "--format", "oslaab", "-o", "out.slt"], "unknown format 'oslaab'; expected 'oslab'"),
    "to": (["trace", "convert", "T", "--to", "cvs", "-o", "out.csv"], "unknown format 'cvs'; expected 'csv'"),
    "folder": (["trace", "import", "T", "-o", "nowhere/out.slt"], "nowhere/out.slt: No such file"),
    "app": (["trace", "slice", "T", "--app", "maps", "-o", "out.slt"], "unknown app 'maps'; expected none, as the trace names no apps"),
    "page size": (["trace", "import", "T", "--page-size", "5000", "-o", "out.slt"], "page size 5000; expected 4096 or 16384"),
    "onto itself": (["trace", "import", "T", "-o", "T"], "T: is also an input; expected another file"),
    "saved onto the trace": ([*REPLAY, "--memory", "5%", "--save", "T"], "T"),
    "saved nowhere": ([*REPLAY, "--memory", "5%", "--save", "nowhere/e.toml"], "nowhere/e.toml: No such file"),
    "launches": (["trace", "mrc", "launches.slt"], "launches.slt: no references in it; expected a trace of pages"),
    "launches replayed": (["replay", "launches.slt", "--policy", "lru", "--memory", "5%"], "launches.slt: no references in it"),
    "launches as csv": (["trace", "convert", "launches.slt", "--to", "csv", "-o", "out.csv"], "launches.slt: no references in it"),
    "launches as parquet": (["trace", "convert", "launches.slt", "--to", "parquet", "-o", "o.pq"], "launches.slt: no references"),
    "parquet to a device": (["trace", "convert", "T", "--to", "parquet", "-o", "/dev/null"], "/dev/null: not a regular file"),
    "twice": (["replay", "T", "--policy", "clock:bits=1,bits=2", "--memory", "5%"], "bits"),
    "packed and cut": (["replay", "cut.zst", "--policy", "lru", "--memory", "5%"], "cut.zst: byte 5: incomplete frame; expected whole"),
    "place of a text": (["papers", "nvm-cache", "T", "--size", "5%", "--fill", "swap-only"], "T: no partition 'swap'"),
    "cut": (["trace", "info", "cut.slt"], "cut.slt: block"),
    "sample": (["trace", "mrc", "T", "--sample", "2"], "2; expected a share of pages above 0 and at most 1"),
    "empty sample": (
        ["trace", "mrc", "T", "--sample", "1e-7"],
        "no page of the trace is in a sample of 0.0000001; expected a larger share",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_and_exit_code_2(case: str, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments, expected = BAD[case]
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    Path("T").write_bytes(small.read_bytes())
    assert here("trace", "gen", "small", "-o", "launches.slt").code == 0
    Path("cut.zst").write_bytes(bytes.fromhex("28b52ffd04"))
    Path("cut.slt").write_bytes((DATA / "djpeg.slt").read_bytes()[:100_000])
    Path("t.slt").write_bytes((DATA / "djpeg.slt").read_bytes())
    before = {path.name: path.read_bytes() for path in work.iterdir()}
    here(*arguments).refuses(expected)
    assert {path.name: path.read_bytes() for path in work.iterdir()} == before, "nothing half-written, no input touched"


def test_a_repeated_memory_size_counts_once(small: Path) -> None:
    assert len(rows("replay", small, "--memory", "5%,10%,5%")) == 2


@pytest.mark.parametrize(
    ("design", "change"),
    [
        (["--policy", "active-inactive"], "machine.kernel.swappiness=190"),
        (["--policy", "lru", "--swap", "flash"], "machine.kernel.page_cluster=3"),
        (["--policy", "lru", "--swap", "flash"], "machine.kernel.max_request=128KiB"),
    ],
)
def test_a_setting_of_the_kernel_acts_where_the_design_has_its_parameter(design: list[str], change: str) -> None:
    def rows(*more: str) -> object:
        return [row["time"] for row in here("replay", "djpeg", *design, "--memory", "10%", *more, "--json").document["rows"]]

    assert rows("--set", change) != rows()
    here("replay", "djpeg", "--policy", "lru", "--swap", "zram", "--memory", "10%", "--set", change).refuses("has no effect in replay")


def test_more_memory_than_the_footprint_is_a_warning(small: Path) -> None:
    """A replay with more memory than the footprint runs, and warns that memory was never tight."""
    found = here("replay", small, "--policy", "lru", "--memory", "999p", "--json").document
    [row] = found["rows"]
    assert row["paging"]["swap_writes"] == 0 and any("footprint" in line for line in found["warnings"]), found["warnings"]


@pytest.mark.parametrize("blow", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stopped_import_reports_its_position_and_leaves_no_file(tmp_path: Path, blow: signal.Signals) -> None:
    # Standard input never ends, so the import can only be stopped. SIGHUP is set to its default
    # action, as `nohup` would leave it ignored.
    call = [str(SWAPLAB), "trace", "import", "-", "--format", "oslab", "-o", "out.slt"]
    running = subprocess.Popen(
        call,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        preexec_fn=lambda: signal.signal(blow, signal.SIG_DFL),  # type: ignore[arg-type,return-value]
    )
    assert running.stdin and running.stderr
    try:
        os.set_blocking(running.stdin.fileno(), False)
        line, stop_at = b"12345 R\n" * 4096, time.monotonic() + 60
        asked = False
        while running.poll() is None and time.monotonic() < stop_at:
            # The partial file shows that the import has begun.
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
    bare = here("trace", "info", trace, "--json").document
    known = here("trace", "info", trace, "--pages", SHARED / "chromium_x86.pages.csv.zst", "--json").document
    assert bare["references"] == known["references"] == 615697 + 351181 + 595673
    assert bare["footprint_pages"] == known["footprint_pages"] == 41_445
    assert (known["anon_pages"], known["file_pages"]) == (19_722 + 1_964, 17_623 + 2_136)
    [row] = rows("replay", trace, "--policy", "clock", "--memory", "25%")
    assert row["paging"]["references"] == bare["references"] and not row["replay"]["filter_limited"]


def test_a_pipe_as_output_stays_a_pipe(tmp_path: Path, small: Path) -> None:
    """A temporary file renamed to its name would replace it, as with `/dev/null` for root."""
    pipe, trace = tmp_path / "pipe", tmp_path / "small.slt"
    os.mkfifo(pipe)
    assert here("trace", "import", small, "--format", "oslab", "-o", trace).code == 0
    (document_path := tmp_path / "d.json").write_text(here("replay", trace, "--json").out)
    for command in (["trace", "convert", trace, "--to", "csv", "-o"], ["report", document_path, "-o"]):
        with subprocess.Popen(["timeout", "60", "cat", pipe], stdout=subprocess.PIPE) as reader:
            done = swaplab(*command, pipe)
            assert done.code == 0, done.err
            assert len(reader.communicate()[0]) > 1000
        assert pipe.is_fifo()
    here("trace", "import", small, "--format", "oslab", "-o", pipe).refuses("a device or a pipe; expected a file")
    here("trace", "import", small, "--format", "oslab", "-o", "-").refuses("-: standard output; expected a file")
    assert pipe.is_fifo()
