"""`make bench-policies`: I/O time of a policy against CLOCK, ARC, LRU and `opt` on traces, by
program.

A program is one observation: its mean over its valid points (5, 10, 15, 20, 25 % of the footprint,
at least 8 x filter frames). The interval is Student's, over programs. The default traces are those
that were not used in the search for `cost-clock` (docs/models/cost-clock.md); ARGS="a.slt b.slt"
replaces them. Nothing is timed, so the output is the same on every machine.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from pathlib import Path

from swaplab import Trace

DATA = Path(__file__).parents[2] / "data"
UNSEEN = [*sorted((DATA / "unseen").glob("*.slt")), DATA / "traces" / "cc1.slt", DATA / "traces" / "vpxdec.slt"]
SIZES = ["5%", "10%", "15%", "20%", "25%"]
#: Student's t for 95 %, by degrees of freedom; the last one is used for more.
STUDENT = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10, 2.09, 2.09]


def ratios(path: Path, policies: list[str]) -> list[dict[str, float]]:
    """Compute I/O time divided by CLOCK's by policy, one row per valid point."""
    times: dict[int, dict[str, float]] = {}
    for row in Trace.open(path).replay([*policies], [*SIZES]).document.rows:
        assert row.replay and row.time and row.policy and row.time.io_ns is not None
        if not row.replay.filter_limited:
            times.setdefault(row.replay.frames, {})[row.policy] = row.time.io_ns
    return [{policy: of[policy] / of["clock"] for policy in policies} for of in times.values()]


def interval(values: list[float]) -> str:
    """Format the mean and 95 % interval over programs."""
    if len(values) < 2:
        return f"{statistics.mean(values):.3f}"
    half = STUDENT[min(len(values) - 2, len(STUDENT) - 1)] * statistics.stdev(values) / math.sqrt(len(values))
    return f"{statistics.mean(values):.3f} ({statistics.mean(values) - half:.3f} to {statistics.mean(values) + half:.3f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="*", type=Path, default=UNSEEN)
    parser.add_argument("--policy", default="cost-clock")
    given = parser.parse_args()
    others = ["arc", "lru", "opt"]
    policies = ["clock", given.policy, *others]
    programs: dict[str, list[dict[str, float]]] = {}
    print("| program | points | " + " | ".join([given.policy, "worst point", *others]) + " |\n|" + "---|" * (4 + len(others)))
    for path in given.traces:
        rows = ratios(path, policies)
        if not rows:
            print(f"| {path.stem} | 0 | no size of it is valid behind its filter |", file=sys.stderr)
            continue
        programs[path.stem] = rows
        means = [statistics.mean(row[policy] for row in rows) for policy in policies[1:]]
        worst = max(row[given.policy] for row in rows)
        print(f"| {path.stem} | {len(rows)} | {means[0]:.3f} | {worst:.3f} | " + " | ".join(f"{mean:.3f}" for mean in means[1:]) + " |")

    def over(policy: str) -> list[float]:
        return [statistics.mean(row[given.policy] / row[policy] for row in rows) for rows in programs.values()]

    worst = max(row[given.policy] for rows in programs.values() for row in rows)
    ours = statistics.mean(over("clock"))
    best = statistics.mean(statistics.mean(row["opt"] for row in rows) for rows in programs.values())
    print(f"\nI/O time of {given.policy} over n = {len(programs)} programs, CLOCK = 1: {interval(over('clock'))}; worst point {worst:.3f}")
    print(f"of ARC's: {interval(over('arc'))}; of the way from CLOCK to opt: {(1 - ours) / (1 - best):.0%}")


if __name__ == "__main__":
    main()
