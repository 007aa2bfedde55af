"""`make bench`, the pager's part: Direct Read under a budget compared with the kernel's swap, as
ratios of one run on one machine.

Figures of the pager are `emulated`: DRAM emulates NVM, without added latency unless one is named.
Kernel swap is `measured`. A round runs every job once in every environment, one after the other;
figures are medians over the rounds. Needs root. Results are written to benches/pager/RESULTS.md.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from swaplab.core.signals import stop_on_signals
from swaplab.worlds.kernel.journal import Machine
from swaplab.worlds.kernel.knobs.swap import work_directory

from benches.pager.machine import KERNEL, MIB, Ran, native, paged, swapped

HERE = Path(__file__).parent
SET, DRAM, TOUCHES = 128, 64, 50_000
#: Pages evicted in a round of the pager with this DRAM: half of its reserve of an eighth.
ROUND = DRAM * 256 // 16
SHARES = (0, 10, 50, 100)
#: Goals for the ratio of zRAM's time to the pager's, at 10, 50 and 100 % writes.
GOALS = {10: 16.0, 50: 4.5, 100: 2.2}
LATENCIES_NS = (0, 250, 500, 1000)
#: Goals for the pager's time as a multiple of the native time.
MULTIPLES = {10: 1.3, 50: 2.0, 100: 2.5}
#: A control group's limit includes memory that the pager does not manage, in addition to the budget
#: of managed memory.
SLACK = 4 * MIB

SQL = """create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i+1 from n where i<ROWS)
insert into t select i, hex(i*2654435761 % 4294967296)||'payload'||i, i*0.5 from n;
create index tb on t(b); update t set c=c+1 where a%7=0;
select count(*), sum(c), min(b), max(b), sum(length(b)) from t; select a from t where b like '3%' order by b limit 5;
"""
PYTHON = """
import random
random.seed(1)
rows = {i: [i, str(i) * 3, i * 0.5] for i in range(ROWS)}
total = 0
for i in random.choices(range(ROWS), k=ROWS):
    total += rows[i][0] + len(rows[i][1])
print(total, sum(row[2] for row in rows.values()))
"""


class Table:
    """Figures by environment and job, one per round."""

    def __init__(self) -> None:
        self.runs: dict[tuple[str, str], list[Ran]] = defaultdict(list)

    def median(self, place: str, job: str, figure: Callable[[Ran], float]) -> float:
        return statistics.median(figure(run) for run in self.runs[place, job])


def touched(run: Ran) -> float:
    """Return the seconds of a touch job, including the fill."""
    return run.figures[0] + run.figures[1]


def measure(arguments: argparse.Namespace, touch: str, floor: str, sql: Path, machine: Machine, directory: Path) -> Table:
    """Run every job in every environment, `arguments.rounds` times."""
    table = Table()
    jobs: dict[str, tuple[list[str], int, Path | None]] = {}
    for share in SHARES:
        jobs[f"touch {share}"] = ([touch, str(SET), str(TOUCHES), str(share), "1"], DRAM, None)
    jobs["fill"] = ([touch, str(SET), "0", "0", "1"], DRAM, None)
    jobs["sequential"] = ([touch, str(SET), "1", "0", "1", "sequential"], DRAM, None)
    jobs["sqlite"] = (["sqlite3", ":memory:"], 32, sql)
    jobs["python"] = ([sys.executable, "-S", "-c", PYTHON.replace("ROWS", str(arguments.rows // 2))], 32, None)
    steady = {f"steady {share}": [touch, str(SET), str(arguments.touches * SET * 256), str(share), "1"] for share in SHARES}
    for number in range(arguments.rounds):
        for name, (command, dram, given) in jobs.items():
            print(f"round {number + 1} of {arguments.rounds}: {name}", file=sys.stderr)
            table.runs["native", name].append(native(command, given))
            table.runs["nvm-direct", name].append(paged(command, dram * MIB, "nvm-direct", given))
            table.runs["nvm-copy", name].append(paged(command, dram * MIB, "nvm-copy", given))
            if name.startswith("touch"):
                table.runs["bound", name].append(native([*command, "bound", str(dram)]))
            for kind in KERNEL if not name.startswith("fill") else ():
                table.runs[kind, name].append(swapped(machine, kind, command, dram * MIB + SLACK, directory, given))
        for name, command in steady.items():
            print(f"round {number + 1} of {arguments.rounds}: {name}", file=sys.stderr)
            table.runs["nvm-direct", name].append(paged(command, DRAM * MIB))
            table.runs["zram-lz4", name].append(swapped(machine, "zram-lz4", command, DRAM * MIB + SLACK, directory))
        table.runs["native", "memcpy"].append(native([touch, "256", str(TOUCHES), "0", "1", "memcpy"]))
        table.runs["native", "floor"].append(native([floor, str(SET), str(ROUND)]))
        # Without pressure the order is A, B, A, so that the noise between equal runs can be
        # compared with the difference.
        for name in ("sqlite", "python"):
            command, _, given = jobs[name]
            for place, run in (("A", native), ("paged", lambda c, g: paged(c, 1024 * MIB, given=g)), ("B", native)):
                table.runs[place, f"free {name}"].append(run(command, given))
    return table


def report(table: Table, arguments: argparse.Namespace) -> str:
    """Format the results as Markdown."""
    date = datetime.datetime.now(datetime.UTC).date()
    load = os.getloadavg()[0]
    lines = [
        "# The pager compared with the kernel's swap",
        "",
        f"Made by `python -m benches.pager.run` on {date}: Linux {platform.release()}, {os.cpu_count()} processors, load {load:.1f} at "
        f"the end, {arguments.rounds} rounds, medians. `nvm-direct` and `nvm-copy` are emulated: DRAM poses as NVM, without a latency. "
        f"Kernel swap is measured, in a control group of the budget plus {SLACK // MIB} MiB for what the pager does not manage.",
        "",
        f"## {SET} MiB in {DRAM} MiB, {TOUCHES:,} random touches, fill included",
        "Seconds; ratio: zRAM's over Direct Read's, of wall time and of processor time (fill and touch, pager thread included).",
        "",
        "| writes | native | " + " | ".join(("nvm-direct", "nvm-copy", *KERNEL)) + " | ratio | goal | CPU ratio |",
        "|---|" + "---|" * 9,
    ]
    for share in SHARES:
        job = f"touch {share}"
        seconds = {place: table.median(place, job, touched) for place in ("native", "nvm-direct", "nvm-copy", *KERNEL)}
        processor = [table.median(place, job, lambda r: r.figures[4] + r.figures[5]) for place in ("zram-lz4", "nvm-direct")]
        goal = f"{GOALS[share]:g}" if share in GOALS else ""
        row = " | ".join(f"{value:.3f}" for value in seconds.values())
        ratio = seconds["zram-lz4"] / seconds["nvm-direct"]
        lines.append(f"| {share} % | {row} | {ratio:.1f} | {goal} | {processor[0] / processor[1]:.1f} |")
    lines += bound(table)
    lines += [
        "",
        "## Programs in 32 MiB",
        "Seconds of wall time; goals 2.5 (sqlite) and 2 (Python). inf: killed four times, as this place reclaims too slowly.",
        "",
    ]
    lines += [
        "| program | native | " + " | ".join(("nvm-direct", "nvm-copy", *KERNEL)) + " | zRAM / nvm-direct | copies removed |",
        "|---|" + "---|" * 8,
    ]
    for job in ("sqlite", "python"):
        seconds = {place: table.median(place, job, lambda r: r.seconds) for place in ("native", "nvm-direct", "nvm-copy", *KERNEL)}
        copies = [table.median(place, job, lambda r: r.counters["copied_pages"]) for place in ("nvm-direct", "nvm-copy")]
        row = " | ".join(f"{value:.2f}" for value in seconds.values())
        removed = f"{100 * (1 - copies[0] / copies[1]):.0f} %" if copies[1] else "-"
        lines.append(f"| {job} | {row} | {seconds['zram-lz4'] / seconds['nvm-direct']:.2f} | {removed} |")
    lines += ["", "Copies removed: Direct Read against copying on the same medium (DR.Swap, Table IV: 50-80 % on Android apps).", ""]
    return "\n".join([*lines, *steady(table, arguments), *costs(table), *free(table)]) + "\n"


def bound(table: Table) -> list[str]:
    """Format how near to native time a pager can be, and how near this one is."""
    lines = [
        "",
        "## How near to native any pager can be",
        "The bound is the same workload with a thread that makes the system calls of the evictions and nothing else (`touch.c`, `bound`): "
        "it is told for nothing which pages are in DRAM, keeps no order of them, and makes no count. Multiples of native time.",
        "",
        "| writes | native, s | bound | nvm-direct | goal | nvm-direct / bound |",
        "|---|---|---|---|---|---|",
    ]
    for share in SHARES:
        own, least, ours = (table.median(place, f"touch {share}", touched) for place in ("native", "bound", "nvm-direct"))
        goal = f"{MULTIPLES[share]:g}" if share in MULTIPLES else ""
        lines.append(f"| {share} % | {own:.3f} | {least / own:.1f} | {ours / own:.1f} | {goal} | {ours / least:.1f} |")
    return lines


def steady(table: Table, arguments: argparse.Namespace) -> list[str]:
    """Format nanoseconds per access, and the memory used."""
    lines = [
        f"## Steady state: {arguments.touches} touches a page",
        "Nanoseconds an access. A latency is added for each page read in place, copied or written out, as counted; loads from a page that "
        "is mapped already are not charged (the simulator's `physical` mode has that part).",
        "",
        "| writes | " + " | ".join(f"NVM {ns} ns" for ns in LATENCIES_NS) + " | zRAM | DRAM + NVM | DRAM + pool | break-even price |",
        "|---|" + "---|" * 8,
    ]
    for share in SHARES:
        job = f"steady {share}"
        touches = arguments.touches * SET * 256
        base = table.median("nvm-direct", job, lambda r: r.figures[1]) / touches * 1e9
        moved = (
            table.median("nvm-direct", job, lambda r: sum(r.counters[n] for n in ("direct_reads", "copied_pages", "swap_outs"))) / touches
        )
        zram = table.median("zram-lz4", job, lambda r: r.figures[1]) / touches * 1e9
        nvm = table.median("nvm-direct", job, lambda r: r.counters["nvm_bytes"]) / MIB
        pool = table.median("zram-lz4", job, lambda r: r.counters["pool_bytes"]) / MIB
        row = " | ".join(f"{base + ns * moved:.0f}" for ns in LATENCIES_NS)
        lines.append(f"| {share} % | {row} | {zram:.0f} | {DRAM} + {nvm:.0f} MiB | {DRAM} + {pool:.0f} MiB | {pool / nvm:.2f} |")
    lines += [
        "",
        "Break-even price: NVM at this price a byte, DRAM's being 1, makes both cost the same in memory; cheaper NVM favors Direct Read.",
        "",
    ]
    return lines


def costs(table: Table) -> list[str]:
    """Format the cost of a page, compared with a cold copy of a page."""
    copy = table.median("native", "memcpy", lambda r: r.figures[1]) / TOUCHES
    # time of touches with all pages resident
    touches = table.median("native", "touch 0", lambda r: r.figures[1])
    waited = {place: table.median(place, "touch 0", lambda r: r.figures[1]) - touches for place in ("nvm-direct", "zram-lz4")}
    fault = {place: waited[place] / table.median(place, "touch 0", lambda r: max(r.figures[3], 1)) for place in waited}
    out = (SET - DRAM) * 256  # pages of the set that are not in DRAM at the start of the reads
    # expected number of these that are touched; each zRAM fault brings one
    first = out * (1 - (1 - 1 / (SET * 256)) ** TOUCHES)
    sequential = {place: table.median(place, "sequential", lambda r: r.figures[1]) / out for place in ("nvm-direct", "zram-lz4")}

    def pager(job: str) -> tuple[float, float]:
        ns = table.median("nvm-direct", job, lambda r: r.counters["pager_cpu_ns"])
        return ns, table.median("nvm-direct", job, lambda r: r.counters["swap_outs"])

    (fill_ns, fill_outs), (all_ns, all_outs) = pager("fill"), pager("touch 100")
    batch, scattered = fill_ns / fill_outs / 1e9, (all_ns - fill_ns) / max(all_outs - fill_outs, 1) / 1e9
    least = [
        table.median("native", "floor", first_or_second) * 1e-9 for first_or_second in (lambda r: r.figures[0], lambda r: r.figures[1])
    ]
    rows = [
        (
            "Direct Read fault, with the neighbors that it maps, over a zRAM swap-in",
            fault["nvm-direct"] / fault["zram-lz4"],
            "0.20",
            fault["nvm-direct"],
        ),
        (
            "Direct Read, a random page that was out, over a zRAM swap-in",
            waited["nvm-direct"] / first / fault["zram-lz4"],
            "",
            waited["nvm-direct"] / first,
        ),
        (
            "Direct Read, sequential, a page, over zRAM's",
            sequential["nvm-direct"] / sequential["zram-lz4"],
            "0.07",
            sequential["nvm-direct"],
        ),
        ("eviction in batches (the fill), pager's processor time a page, over a cold memcpy", batch / copy, "1.4", batch),
        ("the same in a program that makes the kernel calls of it alone (`floor.c`)", least[0] / copy, "", least[0]),
        ("eviction of scattered pages, pager's processor time a page, over a cold memcpy", scattered / copy, "2.5", scattered),
        (f"the kernel calls alone, {ROUND} pages a round", least[1] / copy, "", least[1]),
    ]
    lines = [
        "## Costs of a page",
        f"A cold random copy of 4 KiB takes {copy * 1e9:.0f} ns here.",
        "",
        "| what | ratio | goal | ns |",
        "|---|---|---|---|",
    ]
    return [*lines, *(f"| {what} | {ratio:.2f} | {goal} | {seconds * 1e9:.0f} |" for what, ratio, goal, seconds in rows), ""]


def free(table: Table) -> list[str]:
    """Format the pager's overhead without memory pressure."""
    lines = [
        "## No pressure (a budget of 1 GiB)",
        "Processor time over native; goal 1.02. Noise: native against native.",
        "",
        "| program | ratio | A/A noise |",
        "|---|---|---|",
    ]
    for name in ("sqlite", "python"):
        a, b, ours = (table.median(place, f"free {name}", lambda r: r.cpu_seconds) for place in ("A", "B", "paged"))
        lines.append(f"| {name} | {2 * ours / (a + b):.3f} | {abs(a / b - 1):.3f} |")
    return lines


def main() -> None:
    """Run the benchmark and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--touches", type=int, default=100, help="touches a page at steady state")
    parser.add_argument("--rows", type=int, default=600_000, help="rows of the sqlite job; Python has half of them")
    parser.add_argument("--out", type=Path, default=HERE / "RESULTS.md")
    arguments = parser.parse_args()
    if os.geteuid() != 0 or not shutil.which("sqlite3") or not shutil.which("gcc"):
        raise SystemExit("benches.pager needs root (kernel swap), sqlite3 and gcc")
    stop_on_signals()
    with tempfile.TemporaryDirectory() as place, Machine().opened() as machine, work_directory(machine) as directory:
        touch, floor, sql = f"{place}/touch", f"{place}/floor", Path(place) / "input.sql"
        for program in (touch, floor):
            subprocess.run(["gcc", "-O2", "-pthread", "-o", program, HERE / f"{Path(program).name}.c"], check=True)
        sql.write_text(SQL.replace("ROWS", str(arguments.rows)))
        table = measure(arguments, touch, floor, sql, machine, directory)
    arguments.out.write_text(report(table, arguments))
    print(arguments.out.read_text())


if __name__ == "__main__":
    main()
