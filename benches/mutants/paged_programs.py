"""Mutants of the pager that its crate's tests miss, tried by the Python tests that page programs.

Most of what the pager is for needs a program beside it: faults of threads, forks, budgets as the
kernel counts them. The crate has tests of the parts, so a mutant is tried there first.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from benches.mutants.copied_tree import PASSED, run_tests

NAMES = ("", "_early", "_family", "_fork", "_kernel", "_record", "_reserved", "_threads")
TESTS = [*(f"tests/python/test_run{name}.py" for name in NAMES), "tests/python/test_program_calls.py"]
#: Seconds of all these tests together, after which a mutant counts as caught. Most end within two
#: minutes on an idle machine.
TIMEOUT_S = 600
LIBRARY = "libswaplab_preload.so"


def outcomes(copy: Path, built: Path, diffs: dict[str, Path]) -> dict[str, str]:
    """Try the mutants, each given by name with its difference from the tree `copy`. The tests must
    first pass without a mutant.
    """
    if not diffs:
        return {}
    if not _passes(copy, built):
        raise SystemExit(f"without a mutant, the tests fail or take more than {TIMEOUT_S} s: {' '.join(TESTS)}")
    tried = {}
    for name, diff in diffs.items():
        file = copy / name.partition(":")[0]
        source = file.read_bytes()
        try:
            subprocess.run(["patch", "--quiet", str(file), str(diff)], check=True)
            tried[name] = "missed" if _passes(copy, built) else "caught"
        finally:
            file.write_bytes(source)
        print("pager, programs:", tried[name], name, flush=True)
    return tried


def _passes(copy: Path, built: Path) -> bool:
    environment = os.environ | {"CARGO_TARGET_DIR": str(built)}
    subprocess.run(["cargo", "build", "--quiet", "--release", "-p", "swaplab-preload"], cwd=copy, env=environment, check=True)
    shutil.copy(built / "release" / LIBRARY, copy / "python/swaplab/_native" / LIBRARY)
    return run_tests(copy, ["-m", "not long", *TESTS], TIMEOUT_S) == PASSED
