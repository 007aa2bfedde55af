"""What a rule of the kernel does to the figures of draws: the same guests under a kernel with the
rule and under kernels without it. Prints a table with a row for each draw, design and kernel.

    swaplab kernel build --name whole
    swaplab kernel build --name no-slab --patch kernel/rules/6.12/no-slab.patch
    python -m benches.validation.rules whole no-slab --commit HASH --design 0:zram --design 0:flash
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from swaplab.worlds.registry import world
from swaplab.worlds.result import Options

from benches.validation.draw import draw, experiment_of
from benches.validation.facts import Facts, measure
from benches.validation.verdicts import FIGURES, figures


def mean_figures(kernel: str, design: str, facts: Facts, commit: str, recorded: list[Path], jobs: int) -> dict[str, float]:
    """The figures of a design, `NUMBER:SCHEME`, under a kernel: means over three sizes and two
    seeds.
    """
    number, scheme = design.split(":")
    drawn = draw(commit, int(number), facts, recorded)
    schemes = tuple(one for one in drawn.schemes if one.split(":")[0] == scheme)
    if not schemes:
        raise SystemExit(f"{design}: expected one of {', '.join(one.split(':')[0] for one in drawn.schemes)}")
    experiments = [experiment_of(replace(size, schemes=schemes), facts, kernel) for size in drawn.sizes()[::2]]
    rows = world("vm").run(experiments, Options(jobs=jobs)).rows
    guests = [figures(seed.figures) for row in rows for seed in row.by_seed]
    return {figure.name: fmean(guest[figure.name] for guest in guests) for figure in FIGURES}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="+", help="kernels, the first of which has all rules")
    parser.add_argument("--commit", required=True, help="hash that draws")
    parser.add_argument("--design", action="append", required=True, metavar="NUMBER:SCHEME", help="a draw's number and one of its schemes")
    parser.add_argument("--recorded", type=Path, help="a folder of CSV tables of launches with a column `app`")
    parser.add_argument("--jobs", type=int, default=2, help="guests at a time")
    given = parser.parse_args()
    recorded = sorted(given.recorded.glob("*.csv")) if given.recorded else []
    # One set of facts, so that all kernels have the same memory.
    facts = measure(given.kernels[0])
    names = [figure.name for figure in FIGURES]
    print(f"| design | kernel | {' | '.join(names)} |\n|---|---|{'---|' * len(names)}")
    for design in given.design:
        for kernel in given.kernels:
            means = mean_figures(kernel, design, facts, given.commit, recorded, given.jobs)
            print(f"| {design} | {kernel} | {' | '.join(f'{means[name]:,.2f}' for name in names)} |", flush=True)


if __name__ == "__main__":
    main()
