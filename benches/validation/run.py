"""`make validation`: the simulated phone compared with a kernel under virtual time, on configurations drawn from a commit's hash.

Writes docs/validation.md. ARGS="--draws 4 --jobs 2 --recorded FOLDER" takes launches of users from a folder of CSV tables."""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Sequence
from pathlib import Path

from swaplab.core.model import Row
from swaplab.worlds.registry import world
from swaplab.worlds.result import Options

from benches.validation import page
from benches.validation.draw import PAIRS, draw, experiment_of
from benches.validation.facts import Facts, measure, own_work
from benches.validation.nulls import stack_distance, touched
from benches.validation.page import Result
from benches.validation.prices import Prices, measure_prices
from benches.validation.verdicts import FIGURES, estimate, figures, judge

ROOT = Path(__file__).parents[2]


def frozen() -> str:
    """Return the commit whose hash is the seed of the draw. Refuses a tree whose code differs from the commit."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()

    if changed := git("status", "--porcelain", "--", "crates", "python", "benches", "kernel"):
        raise SystemExit(f"not committed: {changed.splitlines()[0].strip()}; expected a frozen tree (--commit HASH for a look)")
    return git("rev-parse", "HEAD")


def compare(commit: str, number: int, facts: Facts, prices: Prices, kernel: str, recorded: list[Path], jobs: int) -> list[Result]:
    """Run one configuration. Returns a result for each of its designs."""
    drawn = draw(commit, number, facts, recorded)
    of_guest = experiment_of(drawn, facts, kernel)
    own = own_work(drawn.uses(), kernel, drawn.ample_mebibytes)
    of_phone = experiment_of(drawn, facts, kernel, own, prices)
    rows = [row for key, of in (("phone", of_phone), ("vm", of_guest)) for row in world(key).run([of], Options(jobs=jobs)).rows]
    frames = int((drawn.dram - facts.reserved(drawn.dram) - facts.used(drawn.dram, len(drawn.apps))) / 4096)
    nulls = (float(stack_distance(drawn, frames)), float(touched(drawn)))
    results = []
    for scheme in drawn.schemes:
        virtual, phone = (_seeds(rows, key, scheme) for key in ("vm", "phone"))
        first, other_seeds, ours = virtual[:PAIRS], virtual[PAIRS:], phone[:PAIRS]
        judged = [judge(f, [s[f.name] for s in first], [s[f.name] for s in other_seeds], [s[f.name] for s in ours]) for f in FIGURES]
        delays = tuple(estimate([seed["median delay"] for seed in side]) for side in (virtual, phone))
        results.append(Result(drawn, scheme, judged, (delays[0], delays[1]), nulls))
    return results


def _seeds(rows: Sequence[Row], key: str, design: str) -> list[dict[str, float]]:
    row = next(row for row in rows if row.world == key and row.design == design)
    return [figures(seed.figures) for seed in row.by_seed]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=12)
    parser.add_argument("--first", type=int, default=0, help="number of the first configuration")
    parser.add_argument("--jobs", type=int, default=2, help="guests at a time")
    parser.add_argument("--kernel", default="debian-6.12")
    parser.add_argument("--commit", default="", help="hash that draws, in place of the frozen commit's; nothing is written without --out")
    parser.add_argument("--recorded", type=Path, help="a folder of CSV tables of launches with a column `app`")
    parser.add_argument("--out", type=Path, help="the page (docs/validation.md)")
    given = parser.parse_args()
    commit = given.commit or frozen()
    recorded = sorted(given.recorded.glob("*.csv")) if given.recorded else []
    facts, prices = measure(given.kernel), measure_prices(given.kernel)
    out = given.out or (None if given.commit else ROOT / "docs" / "validation.md")
    results: list[Result] = []
    for number in range(given.first, given.first + given.draws):
        compared = compare(commit, number, facts, prices, given.kernel, recorded, given.jobs)
        results += compared
        print("\n".join(map(page.line, compared)), flush=True)
        # The page is written after each configuration, so that a stopped run keeps its results.
        if out:
            out.write_text(page.text(commit, given.kernel, facts, prices, results, bool(recorded)))


if __name__ == "__main__":
    main()
