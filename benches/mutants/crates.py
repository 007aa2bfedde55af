"""Mutants of the crates, by cargo-mutants: a function that returns a constant, or a replaced
operator.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

from benches.mutants import paged_programs
from benches.mutants.copied_tree import ROOT, update_copy
from benches.mutants.store import Mutant

CRATES = ["vocab", "trace", "policy", "device", "swap", "apps", "sim", "pager"]
COPY = ROOT / "target" / "mutants"
#: What is compiled from the copy. With the tree's own folder, cargo would take what it compiled
#: from the copy for that of the tree, whose tests would then run the copy's code.
BUILT = ROOT / "target" / "mutants-built"
#: Arguments of `cargo test`. Examples in comments are left out; the pager's tests run its example,
#: which `--tests` would not compile. A test of time fails on a loaded machine, where any mutant
#: would count as caught.
TESTS = dict.fromkeys(CRATES, ["--tests"]) | {"pager": ["--", "--skip", "charges_take_the_configured_time"]}
#: Levels of optimization in place of the tree's. The tests of `sim` need half of the processor time
#: so; compiling all of it takes a minute more, a single change hardly more.
OPTIMIZATION = {"sim": 2}
#: Outcomes by cargo-mutants' names.
OUTCOMES = {"CaughtMutant": "caught", "MissedMutant": "missed", "Timeout": "caught", "Unviable": "unviable"}


def missing_tool() -> str | None:
    """Say how to install what is missing."""
    absent = subprocess.run(["cargo", "mutants", "--version"], capture_output=True).returncode
    return "cargo-mutants is missing: cargo install cargo-mutants --locked" if absent else None


def mutants(crate: str) -> list[Mutant]:
    """List all mutants of a crate."""
    listed = subprocess.run(
        ["cargo", "mutants", "--list", "--json", "-p", f"swaplab-{crate}"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    seen: Counter[str] = Counter()
    crate_mutants = []
    for row in json.loads(listed.stdout):
        plain = re.sub(r":\d+:\d+:", ":", row["name"], count=1)
        seen[plain] += 1
        crate_mutants.append(Mutant(row["name"], f"{plain} #{seen[plain]}"))
    return crate_mutants


def outcomes(crate: str, drawn: list[Mutant], crate_mutants: list[Mutant], timeout: int) -> dict[str, str]:
    """Test the mutants and return their outcomes by key. The tests must first pass without a
    mutant.
    """
    by_name = {mutant.name: mutant.key for mutant in drawn}
    files = {mutant.name.partition(":")[0] for mutant in drawn}
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "mutants.out"
        # cargo-mutants 27 ignores `--re` for omitted fields of a struct. It skips every mutant that
        # an earlier run has caught, so all mutants that were not drawn are listed as caught.
        results.mkdir()
        (results / "caught.txt").write_text("".join(f"{mutant.name}\n" for mutant in crate_mutants if mutant.name not in by_name))
        command = ["cargo", "mutants", "-p", f"swaplab-{crate}", "--iterate", "--output", folder, "--timeout", str(timeout)]
        command += ["--no-shuffle", "--in-place", "--jobserver=false"]
        if level := OPTIMIZATION.get(crate):
            command += ["--cargo-arg", f"--config=profile.test.package.swaplab-{crate}.opt-level={level}"]
        for path in sorted(files):
            command += ["--file", path]
        command += ["--", *TESTS[crate]]
        update_copy(COPY)
        environment = os.environ | {"CARGO_TARGET_DIR": str(BUILT)}
        done = subprocess.run(command, cwd=COPY, env=environment, capture_output=True, text=True)
        file = results / "outcomes.json"
        if done.returncode not in (0, 2, 3) or not file.exists():
            raise SystemExit(f"cargo mutants ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        rows = [row for row in json.loads(file.read_text())["outcomes"] if isinstance(row["scenario"], dict)]
        tried = {row["scenario"]["Mutant"]["name"]: OUTCOMES[row["summary"]] for row in rows}
        print(crate, Counter(tried.values()), flush=True)
        if crate == "pager":
            diffs = {row["scenario"]["Mutant"]["name"]: results / row["diff_path"] for row in rows}
            tried |= paged_programs.outcomes(COPY, BUILT, {name: diffs[name] for name, outcome in tried.items() if outcome == "missed"})
    return {by_name[name]: outcome for name, outcome in tried.items()}
