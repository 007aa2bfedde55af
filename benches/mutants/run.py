"""`make mutants`: mutation testing: the share of small faults in the code that the crates' tests
detect.

A fault is a mutant of cargo-mutants: a function that returns a constant, or a replaced operator. A
crate's mutants are drawn in the order of a hash of their names, so each run continues where the
last one stopped. `results.json` has the outcome of each, `RESULTS.md` the shares caught with their
intervals (Wilson, 95 %). Each share is that of the first try: a test that is written because a
mutant was missed says nothing about mutants that were not drawn. A crate's tests are `cargo test -p
CRATE`; mutants that only the Python tests detect count as missed.

Mutants are made in a copy of the tree (`target/mutants`), which stays from run to run. What the
crates depend on was compiled by `cargo test`, so that a mutant compiles its own crate alone.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
STORE = HERE / "results.json"
CRATES = ["vocab", "trace", "policy", "device", "swap", "apps", "sim", "pager"]
#: Goal for the share of a crate's mutants that its tests detect.
GOALS = dict.fromkeys(CRATES, 0.9) | {"pager": 0.8}
#: Copy of the tree in which mutants are made.
COPY = ROOT / "target" / "mutants"
#: Arguments of `cargo test`. Examples in comments are left out; the pager's tests run its example,
#: which `--tests` would not compile. What does not compile in any policy is no matter of mutants.
TESTS = dict.fromkeys(CRATES, ["--tests"]) | {
    "pager": [],
    "policy": ["--tests", "--", "--skip", "a_policy_that_does_more_than_release_does_not_compile"],
}
#: Outcomes by cargo-mutants' names. Mutants that do not compile are not counted.
#: A mutant that was missed at first and is caught by a test written since is `mended`.
OUTCOMES = {"CaughtMutant": "caught", "MissedMutant": "missed", "Timeout": "caught", "Unviable": "unviable"}


@dataclass(frozen=True)
class Mutant:
    crate: str
    #: cargo-mutants' name, with line and column.
    name: str
    #: Its key in the store: without line and column, which change with every edit, but with a
    #: number to distinguish equal names.
    key: str


def mutants(crate: str) -> list[Mutant]:
    """List all mutants of a crate in the order in which they are drawn."""
    listed = subprocess.run(
        ["cargo", "mutants", "--list", "--json", "-p", f"swaplab-{crate}"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    seen: Counter[str] = Counter()
    crate_mutants = []
    for row in json.loads(listed.stdout):
        plain = re.sub(r":\d+:\d+:", ":", row["name"], count=1)
        seen[plain] += 1
        crate_mutants.append(Mutant(crate, row["name"], f"{plain} #{seen[plain]}"))
    return sorted(crate_mutants, key=lambda mutant: hashlib.sha256(mutant.key.encode()).digest())


def update_copy() -> None:
    """Make the copy equal to the tree. Files that are equal keep their times, so that cargo
    compiles only what has changed.
    """
    listed = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    wanted = {name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()}
    for path in [path for path in COPY.rglob("*") if not path.is_dir()]:
        if path.relative_to(COPY).as_posix() not in wanted:
            path.unlink()
    for name in wanted:
        to = COPY / name
        if not to.is_file() or to.read_bytes() != (ROOT / name).read_bytes():
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, to)


def outcomes(drawn: list[Mutant], crate_mutants: list[Mutant], timeout: int) -> dict[str, str]:
    """Test the mutants and return their outcomes by key. The tests must first pass without a
    mutant.
    """
    by_name = {mutant.name: mutant.key for mutant in drawn}
    crate, files = drawn[0].crate, {mutant.name.partition(":")[0] for mutant in drawn}
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "mutants.out"
        # cargo-mutants 27 ignores `--re` for omitted fields of a struct. It skips every mutant that
        # an earlier run has caught, so all mutants that were not drawn are listed as caught.
        results.mkdir()
        (results / "caught.txt").write_text("".join(f"{mutant.name}\n" for mutant in crate_mutants if mutant.name not in by_name))
        command = ["cargo", "mutants", "-p", f"swaplab-{crate}", "--iterate", "--output", folder, "--timeout", str(timeout)]
        command += ["--no-shuffle", "--in-place", "--jobserver=false"]
        for path in sorted(files):
            command += ["--file", path]
        command += ["--", *TESTS[crate]]
        update_copy()
        environment = os.environ | {"CARGO_TARGET_DIR": str(ROOT / "target")}
        done = subprocess.run(command, cwd=COPY, env=environment, capture_output=True, text=True)
        file = results / "outcomes.json"
        if done.returncode not in (0, 2, 3) or not file.exists():
            raise SystemExit(f"cargo mutants ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        rows = json.loads(file.read_text())["outcomes"]
    tried = {row["scenario"]["Mutant"]["name"]: OUTCOMES[row["summary"]] for row in rows if isinstance(row["scenario"], dict)}
    return {by_name[name]: outcome for name, outcome in tried.items()}


def wilson(hits: int, tries: int, z: float = 1.96) -> tuple[float, float]:
    """Compute the Wilson interval of a share."""
    share, spread = hits / tries, z * z / tries
    middle, half = share + spread / 2, z * math.sqrt(share * (1 - share) / tries + spread / tries / 4)
    return (middle - half) / (1 + spread), (middle + half) / (1 + spread)


def equivalents() -> set[str]:
    """The mutants of `equivalent.md`: they change no result, so no test can detect them."""
    return set(re.findall(r"^\| `(.+?)` \| ", (HERE / "equivalent.md").read_text(), re.MULTILINE))


def report(store: dict[str, dict[str, str]]) -> str:
    """Format the table of shares, and every missed mutant."""
    lines = ["# What the crates' own tests find", "", *(__doc__ or "").split("\n\n")[1].splitlines(), ""]
    lines += ["| crate | mutants | tried | equivalent | caught at first | by a test since | missed | caught at first, 95 % | goal |"]
    lines += ["|---|---|---|---|---|---|---|---|---|"]
    excused, missed = equivalents(), []
    for crate, tried in store.items():
        outcomes = Counter(outcome for key, outcome in tried.items() if key not in excused)
        viable = outcomes["caught"] + outcomes["mended"] + outcomes["missed"]
        low, high = wilson(outcomes["caught"], viable) if viable else (0.0, 1.0)
        share = f"{outcomes['caught'] / viable:.0%} ({low:.0%} to {high:.0%})" if viable else ""
        counts = [len(mutants(crate)), viable, len(excused & tried.keys()), *(outcomes[name] for name in ("caught", "mended", "missed"))]
        lines.append(f"| {crate} | {' | '.join(map(str, counts))} | {share} | {GOALS[crate]:.0%} |")
        missed += [key for key, outcome in sorted(tried.items()) if outcome == "missed" and key not in excused]
    return "\n".join([*lines, "", "Missed:", "", *(f"- `{key}`" for key in missed), ""])


def load() -> dict[str, dict[str, str]]:
    return json.loads(STORE.read_text()) if STORE.exists() else {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--crates", nargs="+", choices=CRATES, default=CRATES)
    parser.add_argument("--sample", type=int, default=60, help="mutants of each crate to try in this run")
    parser.add_argument("--again", action="store_true", help="test the missed mutants again instead of new ones")
    parser.add_argument("--timeout", type=int, default=120, help="seconds of a test run after which a mutant counts as caught")
    arguments = parser.parse_args()
    if subprocess.run(["cargo", "mutants", "--version"], capture_output=True).returncode:
        sys.exit("cargo-mutants is missing: cargo install cargo-mutants --locked")
    for crate in arguments.crates:
        tried, all_of_it = load().get(crate, {}), mutants(crate)
        known = {mutant.key for mutant in all_of_it}
        tried = {key: outcome for key, outcome in tried.items() if key in known}
        wanted = "missed" if arguments.again else None
        drawn = [mutant for mutant in all_of_it if tried.get(mutant.key) == wanted and mutant.key not in equivalents()]
        drawn = drawn[: arguments.sample]
        if drawn:
            found = outcomes(drawn, all_of_it, arguments.timeout)
            tried |= {key: "mended" if arguments.again and outcome == "caught" else outcome for key, outcome in found.items()}
            # Read anew: another run may have tested another crate meanwhile.
            store = load() | {crate: tried}
            STORE.write_text(json.dumps({name: dict(sorted(store[name].items())) for name in CRATES if name in store}, indent=1) + "\n")
        print(crate, dict(Counter(tried.values())), flush=True)
    (HERE / "RESULTS.md").write_text(report(load()))


if __name__ == "__main__":
    main()
