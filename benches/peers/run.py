"""`make bench`: CPU time of swaplab and of libCacheSim on the same trace, as ratios.

Each side runs as a separate process; user and system time of the process are counted, including
start-up. A round runs every job once on either side, one directly after the other; a ratio is that
of the medians over all rounds. Results are written to benches/RESULTS.md.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import statistics
import struct
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from benches.peers.workload import references

HERE = Path(__file__).parent
ZIPF_PAGES = 1_000_000

PEER = """
import sys, json
import libcachesim as l
path, name, frames, parameters = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), json.loads(sys.argv[4])
if path.endswith(".txt"):
    init, kind = l.ReaderInitParam(ignore_obj_size=True, obj_id_is_num=True, obj_id_is_num_set=True), l.TraceType.PLAIN_TXT_TRACE
else:
    init, kind = l.ReaderInitParam(ignore_obj_size=True), l.TraceType.ORACLE_GENERAL_TRACE
reader = l.TraceReader(trace=path, trace_type=kind, reader_init_params=init)
for size in frames:
    reader.reset()
    print("misses", round(getattr(l, name)(cache_size=size, **parameters).process_trace(reader)[0] * reader.get_num_of_req()))
"""

# swaplab's policy by key, libCacheSim's by class and parameters, and the goal.
POLICIES: list[tuple[str, str, dict[str, float], float]] = [
    ("clock", "Clock", {}, 18),
    ("lru", "LRU", {}, 10),
    ("sieve", "Sieve", {}, 10),
    ("arc", "ARC", {}, 10),
    ("lfu", "LFU", {}, 12),
    ("two-q", "TwoQ", {"a_in_size_ratio": 0.25, "a_out_size_ratio": 0.5}, 12),
    ("s3-fifo", "S3FIFO", {"small_size_ratio": 0.1, "ghost_size_ratio": 0.9, "move_to_main_threshold": 2}, 12),
]


RECORD = struct.Struct("<IQIq").pack
SPARSE = 0x9E3779B97F4A7C15

# Formats of a trace, as functions from a block to bytes. Sparse: an odd multiplier maps every page
# to a distinct 64-bit number.
FORMS: dict[str, Callable[[list[int], str], bytes]] = {
    "pages.txt": lambda block, _: ("\n".join(map(str, block)) + "\n").encode(),
    "pages.csv": lambda block, operations: ("\n".join(map("{},{}".format, block, operations)) + "\n").encode(),
    "trace.oracleGeneral": lambda block, _: b"".join(RECORD(0, page, 1, -1) for page in block),
    "sparse.oracleGeneral": lambda block, _: b"".join(RECORD(0, page * SPARSE % 2**62 + 1, 1, -1) for page in block),
}
PACKED = "trace.oracleGeneral.zst"
ALL_FORMS = frozenset(FORMS) | {PACKED}
# A trace whose footprint exceeds processor caches, for the policies only.
WIDE_PAGES = 10
WIDE_FORMS = frozenset({"trace.oracleGeneral"})

# Compared steps of the LRU curve: 5, 10, 25 and 50 of 100. libCacheSim's package has no curve, so
# these four sizes are used.
CURVE = (5, 10, 25, 50)


@dataclass
class Job:
    """A job for swaplab and libCacheSim. `ours` and `theirs` return CPU seconds and results, which
    must agree if both have them.
    """

    name: str
    goal: str
    ours: Callable[[], tuple[float, list[int]]]
    theirs: Callable[[], tuple[float, list[int]]]
    seconds: list[tuple[float, float]] = field(default_factory=list)

    def round(self) -> None:
        (mine, misses), (peer, expected) = self.ours(), self.theirs()
        if misses != expected:
            raise SystemExit(f"{self.name}: {misses} misses here, {expected} there")
        self.seconds.append((mine, peer))

    def row(self, total: int) -> str:
        ours, theirs = (statistics.median(side) for side in zip(*self.seconds, strict=True))
        each = sorted(peer / mine for mine, peer in self.seconds)
        nanoseconds = f"{ours / total * 1e9:.1f} | {theirs / total * 1e9:.1f}"
        return f"| {self.name} | {nanoseconds} | {theirs / ours:.1f} | {each[0]:.1f}-{each[-1]:.1f} | {self.goal} |"


def cpu_seconds(command: list[str]) -> tuple[float, str]:
    """Run a process. Returns its user and system time, and its output."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stderr
        printed = process.stdout.read()
        noise = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command[:3])} ended with {process.returncode}: {noise.strip()[-500:]}")
    return usage.ru_utime + usage.ru_stime, printed


def swaplab(trace: Path, policy: str, frames: list[int], *options: str) -> tuple[float, list[int]]:
    memory = ",".join(f"{size}p" for size in frames)
    program = str(Path(sys.executable).parent / "swaplab")
    command = [
        program,
        "replay",
        str(trace),
        "--policy",
        policy,
        "--memory",
        memory,
        "--mapping",
        "ignore",
        "--jobs",
        "1",
        "--json",
        *options,
    ]
    seconds, printed = cpu_seconds(command)
    return seconds, [point["faults"] for point in json.loads(printed)["points"]]


def swaplab_curve(trace: Path, footprint: int) -> tuple[float, list[int]]:
    """Compute LRU's curve at every size. Returns its misses at the sizes of `CURVE`."""
    program = str(Path(sys.executable).parent / "swaplab")
    seconds, printed = cpu_seconds([program, "trace", "mrc", str(trace), "--mapping", "ignore", "--sizes", "100", "--json"])
    document = json.loads(printed)
    ratios = {point["memory_pages"]: point["miss_ratio"] for point in document["points"]}
    return seconds, [round(ratios[size] * document["trace"]["trace"]["references"]) for size in curve_sizes(footprint)]


def curve_sizes(footprint: int) -> list[int]:
    return [round(footprint * percent / 100) for percent in CURVE]


def libcachesim(trace: Path, name: str, frames: list[int], parameters: dict[str, float]) -> tuple[float, list[int]]:
    seconds, printed = cpu_seconds([sys.executable, "-c", PEER, str(trace), name, json.dumps(frames), json.dumps(parameters)])
    return seconds, [int(line.split()[1]) for line in printed.splitlines() if line.startswith("misses")]


def make_traces(folder: Path, total: int, pages: int, forms: frozenset[str]) -> int:
    """Write the trace in every format that a job reads, unless it exists. Returns the number of
    distinct pages.
    """
    marker = folder / f"{total}-{pages}.json"
    if not marker.exists():
        folder.mkdir(parents=True, exist_ok=True)
        seen: set[int] = set()
        with ExitStack() as files:
            out = {form: files.enter_context(open(folder / form, "wb")) for form in forms & FORMS.keys() | {"pages.csv"}}
            out["pages.csv"].write(b"page,op\n")
            for block, operations in references(total, pages):
                for form, file in out.items():
                    file.write(FORMS[form](block, operations))
                seen.update(block)
        program = str(Path(sys.executable).parent / "swaplab")
        subprocess.run([program, "trace", "import", folder / "pages.csv", "--format", "csv", "-o", folder / "trace.slt"], check=True)
        if PACKED in forms:
            subprocess.run(["zstd", "-qf", folder / "trace.oracleGeneral"], check=True)
        if "pages.csv" not in forms:
            (folder / "pages.csv").unlink()
        marker.write_text(json.dumps({"footprint": len(seen)}))
    return int(json.loads(marker.read_text())["footprint"])


def jobs(folder: Path, footprint: int, wide: Path, wide_footprint: int) -> list[Job]:
    sizes = [footprint * percent // 100 for percent in (5, 10, 25)]
    one_size, slt, binary = [sizes[1]], folder / "trace.slt", folder / "trace.oracleGeneral"
    listed = [
        Job(
            f"{key}, 10 %",
            f">= {goal:g}",
            lambda key=key: swaplab(slt, key, one_size),  # type: ignore[misc]
            lambda name=name, parameters=parameters: libcachesim(binary, name, one_size, parameters),  # type: ignore[misc]
        )
        for key, name, parameters, goal in POLICIES
    ]
    text, packed, sparse = folder / "pages.csv", folder / PACKED, folder / "sparse.oracleGeneral"
    form = ("--format", "oracle-general")
    listed += [
        Job(
            "clock, 5, 10 and 25 % in one call",
            ">= 15",
            lambda: swaplab(slt, "clock", sizes),
            lambda: libcachesim(binary, "Clock", sizes, {}),
        ),
        Job(
            "clock, text",
            ">= 20",
            lambda: swaplab(text, "clock", one_size),
            lambda: libcachesim(folder / "pages.txt", "Clock", one_size, {}),
        ),
        Job("clock, zstd", ">= 10", lambda: swaplab(packed, "clock", one_size, *form), lambda: libcachesim(packed, "Clock", one_size, {})),
        Job(
            "clock, sparse ids",
            ">= 8",
            lambda: swaplab(sparse, "clock", one_size, *form),
            lambda: libcachesim(sparse, "Clock", one_size, {}),
        ),
        Job(
            "LRU at every size (libCacheSim: 4 sizes)",
            ">= 15",
            lambda: swaplab_curve(slt, footprint),
            lambda: libcachesim(binary, "LRU", curve_sizes(footprint), {}),
        ),
        # Both are swaplab's: spo-clock relative to clock's time.
        Job(
            "clock / spo-clock",
            ">= 0.67",
            lambda: (swaplab(slt, "spo-clock", one_size)[0], []),
            lambda: (swaplab(slt, "clock", one_size)[0], []),
        ),
    ]
    tenth = [wide_footprint // 10]
    for key, name in (("clock", "Clock"), ("lru", "LRU")):
        listed.append(
            Job(
                f"{key}, 10 % of {wide_footprint:,} pages",
                "reported",
                lambda key=key: swaplab(wide / "trace.slt", key, tenth),  # type: ignore[misc]
                lambda name=name: libcachesim(wide / "trace.oracleGeneral", name, tenth, {}),  # type: ignore[misc]
            )
        )
    return listed


def processor() -> str:
    names = [line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return f"{len(names)} x {names[0]}" if names else platform.machine()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--references", type=int, default=50_000_000)
    parser.add_argument(
        "--pages", type=int, default=ZIPF_PAGES, help="pages of the skewed part; blocks of the trace have as many references"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="jobs whose name holds this; the results are then printed alone")
    parser.add_argument("--folder", type=Path, default=HERE / "traces")
    parser.add_argument("--out", type=Path, default=HERE.parent / "RESULTS.md")
    given = parser.parse_args()
    try:
        import libcachesim
    except ImportError:
        raise SystemExit("libcachesim is not installed: no peer to compare with") from None
    footprint = make_traces(given.folder, given.references, given.pages, ALL_FORMS)
    wide = given.folder / "wide"
    wide_footprint = make_traces(wide, given.references, WIDE_PAGES * given.pages, WIDE_FORMS)
    work = [job for job in jobs(given.folder, footprint, wide, wide_footprint) if given.only in job.name]
    for done in range(given.rounds):
        for job in work:
            job.round()
            mine, peer = job.seconds[-1]
            print(
                f"round {done + 1}/{given.rounds}  {job.name}: {mine:.2f} s, {peer:.2f} s, {peer / mine:.1f}", file=sys.stderr, flush=True
            )
    load = os.getloadavg()[0]
    lines = [
        "# Speed against libCacheSim",
        "",
        f"Made by `make bench`. {datetime.date.today()}; {processor()}; libCacheSim {libcachesim.__version__}; load {load:.1f} at the end.",
        f"{given.references:,} references, Zipf 0.9 over {given.pages:,} pages with loops over {given.pages // 5:,} others; "
        f"{footprint:,} distinct pages.",
        f"{given.rounds} interleaved rounds; medians of CPU time (user and system) of whole processes, start-up included.",
        "Skipped: Caffeine's simulator.",
        "",
        "| job | swaplab, ns a reference | libCacheSim | ratio | ratios of the rounds | goal |",
        "|---|---|---|---|---|---|",
        *(job.row(given.references) for job in work),
        "",
        "Miss counts of both sides are compared in every round, and the bench stops if they differ.",
    ]
    if not given.only:
        part = given.out.with_suffix(".part")
        part.write_text("\n".join(lines) + "\n")
        part.replace(given.out)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
