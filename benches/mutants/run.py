"""`make mutants`: mutation testing: the share of small faults in the code that the tests detect.

A fault is a mutant: of a crate, one of cargo-mutants (a function that returns a constant, or a
replaced operator); of the Python package, one by an operator of cosmic-ray (`package.py`). The
mutants of a part are drawn in the order of a hash of their names, so each run continues where the
last one stopped. `results.json` has the outcome of each, `RESULTS.md` the shares caught with their
intervals (Wilson, 95 %). Each share is that of the first try: a test that is written because a
mutant was missed says nothing about mutants that were not drawn. The code of some missed ones was
simplified away instead. A crate's tests are `cargo test -p CRATE`; its mutants that only the Python
tests detect count as missed, except those of the pager: what the crate's tests miss, the Python
tests that page programs try (`paged_programs.py`; not for the first 36 of them, 7 of the 28 that
followed the first 87, and 17 of the last 40). The tests of a Python module are the files that
`package_tests.py` names, not the whole suite. A mutant that does not compile, or whose module
cannot be imported, is not counted.

Mutants are made in copies of the tree (`target/mutants`, `target/mutants-python`), which stay from
run to run, as does what was compiled from them (`target/mutants-built`), so that a mutant compiles
its own crate alone.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections import Counter

from benches.mutants import crates, package, store
from benches.mutants.store import HERE, Mutant

PARTS = [*crates.CRATES, *package.PACKAGES]
#: Goal for the share of a part's mutants that its tests detect.
GOALS = dict.fromkeys(PARTS, 0.9) | {"pager": 0.8}


def mutants(part: str) -> list[Mutant]:
    """List all mutants of a part in the order in which they are drawn."""
    listed = crates.mutants(part) if part in crates.CRATES else package.mutants(part)
    return sorted(listed, key=lambda mutant: hashlib.sha256(mutant.key.encode()).digest())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="crates and Python packages to try mutants of")
    parser.add_argument("--sample", type=int, default=60, help="mutants of each part to try in this run")
    parser.add_argument("--again", action="store_true", help="test the missed mutants again instead of new ones")
    parser.add_argument("--timeout", type=int, default=120, help="seconds of a test run after which a mutant counts as caught")
    arguments = parser.parse_args()
    for tool in (crates, package):
        if missing := tool.missing_tool():
            sys.exit(missing)
    for part in arguments.parts:
        all_of_it = mutants(part)
        known = {mutant.key for mutant in all_of_it}
        # The first try of a mutant still counts when its code is gone.
        tried = {
            key: "mended" if outcome == "missed" and key not in known else outcome for key, outcome in store.load().get(part, {}).items()
        }
        wanted = "missed" if arguments.again else None
        drawn = [mutant for mutant in all_of_it if tried.get(mutant.key) == wanted and mutant.key not in store.equivalents()]
        drawn = drawn[: arguments.sample]
        if drawn:
            outcomes = crates.outcomes if part in crates.CRATES else package.outcomes
            outcome_by_key = outcomes(part, drawn, all_of_it, arguments.timeout)
            # A mutant that was missed at first and is caught by a test written since is `mended`.
            tried |= {key: "mended" if arguments.again and outcome == "caught" else outcome for key, outcome in outcome_by_key.items()}
        store.save(part, tried, PARTS)
        print(part, dict(Counter(tried.values())), flush=True)
    outcomes_by_part = store.load()
    sizes = {part: len(mutants(part)) for part in outcomes_by_part}
    introduction = (__doc__ or "").split("\n\n")[1].splitlines()
    (HERE / "RESULTS.md").write_text(store.report(outcomes_by_part, sizes, GOALS, introduction))


if __name__ == "__main__":
    main()
