"""`make validation`: the simulated phone compared with a kernel under virtual time, on
configurations drawn from a commit's hash.

Results are kept in benches/validation/results, one file for a commit, kernel and mechanism; a later
run adds configurations, and docs/validation.md is written from all of them. ARGS="--draws 4 --jobs
2 --recorded FOLDER" takes launches of users from a folder of CSV tables; ARGS="--mglru" and
ARGS="--kernel debian-6.1" run what is held out."""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from swaplab.core.model import Row
from swaplab.worlds.registry import world
from swaplab.worlds.result import Options

from benches.validation import page, store
from benches.validation.draw import draw, experiment_of
from benches.validation.facts import measure, own_of
from benches.validation.guests import MIB
from benches.validation.nulls import stack_distance, touched
from benches.validation.prices import measure_prices
from benches.validation.result import Result
from benches.validation.store import Stored
from benches.validation.verdicts import FIGURES, estimate, figures, judge

ROOT = Path(__file__).parents[2]
#: Kernels and mechanisms of the page; the first is validated, the others are held out.
SETS = (("debian-6.12", False), ("debian-6.12", True), ("debian-6.1", False))


#: The code that a draw tests, without the results of earlier draws.
CODE = ("crates", "python", "benches", "kernel", ":!benches/validation/results")


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def frozen() -> str:
    """Return the commit whose hash is the seed of the draw. Refuses a tree whose code differs from
    the commit.
    """
    if changed := git("status", "--porcelain", "--", *CODE):
        raise SystemExit(f"not committed: {changed.splitlines()[0].strip()}; expected a frozen tree (--commit HASH for a look)")
    return git("rev-parse", "HEAD")


def is_code_of(commit: str) -> bool:
    """Whether the tree's code is that of the commit, so that more of its draws may be run."""
    return not git("status", "--porcelain", "--", *CODE) and not git("diff", "--name-only", commit, "--", *CODE)


def compare(of: Stored, number: int, recorded: list[Path], jobs: int) -> list[Result]:
    """Run one configuration. Returns a result for each of its designs."""
    facts, kernel = of.facts, of.kernel
    drawn = draw(of.commit, number, facts, recorded)
    options = Options(jobs=jobs)
    virtual = world("vm").run([experiment_of(size, facts, kernel, mglru=of.mglru) for size in drawn.sizes()], options).rows
    frames = int((drawn.dram - facts.reserved(drawn.dram) - facts.used(drawn.dram, len(drawn.apps))) / 4096)
    nulls = (float(stack_distance(drawn, frames)), float(touched(drawn)))
    results = []
    for scheme in drawn.schemes:
        own = own_of(drawn.uses(), drawn.footprint_mebibytes * MIB, scheme, drawn.killer, kernel, drawn.ample_mebibytes)
        sizes = [replace(size, schemes=(scheme,)) for size in drawn.sizes()]
        phone = world("phone").run([experiment_of(size, facts, kernel, own, of.prices, of.mglru) for size in sizes], options).rows
        first, other_seeds = (_figures(virtual, scheme, seed) for seed in (0, 1))
        ours = _figures(phone, scheme, 0)
        judged = [judge(f, [s[f.name] for s in first], [s[f.name] for s in other_seeds], [s[f.name] for s in ours]) for f in FIGURES]
        delays = tuple(estimate([size["median delay"] for size in side]) for side in (first + other_seeds, ours))
        results.append(Result(drawn, scheme, judged, (delays[0], delays[1]), nulls))
    return results


def _figures(rows: Sequence[Row], design: str, seed: int) -> list[dict[str, float]]:
    """The figures of a design under one seed, by size of memory."""
    return [figures(row.by_seed[seed].figures) for row in rows if row.design == design]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=12)
    parser.add_argument("--first", type=int, default=0, help="number of the first configuration; those that are stored are not run again")
    parser.add_argument("--jobs", type=int, default=2, help="guests at a time")
    parser.add_argument("--kernel", default="debian-6.12")
    parser.add_argument("--mglru", action="store_true", help="reclaim by generations, in the kernel and in the phone")
    parser.add_argument("--commit", default="", help="hash that draws; no page is written if the tree's code is not that commit's")
    parser.add_argument("--recorded", type=Path, help="a folder of CSV tables of launches with a column `app`")
    given = parser.parse_args()
    commit = given.commit or frozen()
    writes = not given.commit or is_code_of(commit)
    recorded = sorted(given.recorded.glob("*.csv")) if given.recorded else []
    of = store.read(store.place(commit, given.kernel, given.mglru)) or Stored(
        commit=commit,
        kernel=given.kernel,
        mglru=given.mglru,
        recorded=bool(recorded),
        facts=measure(given.kernel),
        prices=measure_prices(given.kernel, given.mglru),
    )
    for number in range(given.first, given.first + given.draws):
        if number in of.numbers:
            continue
        compared = compare(of, number, recorded, given.jobs)
        print("\n".join(map(page.line, compared)), flush=True)
        # Everything is written after each configuration, so that a stopped run keeps its results.
        of.add(compared)
        if writes:
            sets = [store.read(store.place(commit, *which)) for which in SETS]
            (ROOT / "docs" / "validation.md").write_text(page.text([one for one in sets if one]))


if __name__ == "__main__":
    main()
