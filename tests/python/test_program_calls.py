"""`swaplab exec` on calls about memory, signals and processes whose result a pager could get wrong:
each gives what it gives natively, whether the program calls the C library's function, its function
`syscall`, or the kernel itself.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
import swaplab
from test_run import HERE, paged, program, pytestmark  # noqa: F401

#: The cases of `calls.c`, and those of `calls_of_processes.c`. `users` calls functions that act on
#: all threads; `masks` is about calls that the C library makes by itself.
OF_MEMORY = ["remaps", "properties", "holes", "handler", "several", "fixed", "advice", "keys", "locks", "blocks"]
CASES = [*OF_MEMORY, "starts", "sandbox", "unhandled", "children", "forked", "apart", "users", "masks"]
WAYS = {"library": [], "number": ["-DNUMBER"], "raw": ["-DRAW"]}
#: `make test` calls functions of the C library and the kernel itself; `make soak` tries each way.
SOAK = "SWAPLAB_SOAK_SECONDS" in os.environ
TRIED = [("library", "nvm-direct"), ("raw", "nvm-direct")] + ([("library", "zram"), ("number", "nvm-direct")] if SOAK else [])


@pytest.fixture(scope="session")
def calls(tmp_path_factory):
    """The command of a case, whose program is compiled to make its calls in one of the ways."""

    def command(way: str, case: str) -> list[str]:
        source = "calls" if case in OF_MEMORY else "calls_of_processes"
        target = tmp_path_factory.getbasetemp() / f"{source}-{way}"
        if not target.exists():
            subprocess.run([program("gcc"), "-O1", "-w", "-pthread", *WAYS[way], "-o", target, HERE / f"{source}.c"], check=True)
        return [str(target), case]

    return command


@pytest.mark.parametrize(
    ("case", "way", "scheme"),
    [(case, way, scheme) for case in CASES for way, scheme in TRIED if way == {"users": "library", "masks": "raw"}.get(case, way)],
)
def test_a_call_does_what_it_does_natively(tmp_path, calls, case, way, scheme):
    if way == "raw" and os.uname().machine != "x86_64":
        pytest.skip("the program has the instruction of x86-64")
    if case == "users" and os.geteuid() != 0:
        pytest.skip("only root has rights to give up")
    native = subprocess.run(calls(way, case), capture_output=True, timeout=60)
    assert native.returncode == 0, native.stdout
    run = paged(calls(way, case), "8MiB", "--swap", scheme, stats=tmp_path / "s.json", timeout=120)
    assert (run.returncode, run.stdout, run.stderr) == (0, native.stdout, b"")
    assert json.loads((tmp_path / "s.json").read_text())["swap_outs"] > 0


LIBRARY = Path(swaplab.__file__).parent / "_native" / "libswaplab_preload.so"


@pytest.mark.parametrize("case", [*OF_MEMORY, "sandbox", "children", "forked"])
@pytest.mark.parametrize("way", ["library", "number"] if SOAK else ["number"])
def test_without_a_budget_the_library_changes_nothing(calls, way, case):
    native, loaded = (
        subprocess.run(calls(way, case), capture_output=True, timeout=60, env=os.environ | more)
        for more in ({}, {"LD_PRELOAD": str(LIBRARY)})
    )
    assert (loaded.returncode, loaded.stdout, loaded.stderr) == (0, native.stdout, b"")


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("SWAPLAB_DRAM", "much", "SWAPLAB_DRAM='much' is not a number"),
        ("SWAPLAB_READ_NS", "-1", "SWAPLAB_READ_NS='-1' is not a number"),
        ("SWAPLAB_STORE_BYTES", "8M", "SWAPLAB_STORE_BYTES='8M' is not a number"),
        ("SWAPLAB_SCHEME", "paper", "unknown scheme 'paper'"),
        ("SWAPLAB_POLICY", "guess", "unknown policy 'guess'"),
        ("SWAPLAB_NVM", "/nowhere/nvm", "/nowhere/nvm"),
        ("SWAPLAB_STATS", "/nowhere/stats", "/nowhere/stats"),
    ],
)
def test_a_setting_that_is_not_understood_leaves_the_program_unpaged_and_is_named(calls, name, value, reason):
    settings = {"LD_PRELOAD": str(LIBRARY), "SWAPLAB_DRAM": str(8 << 20), name: value}
    run = subprocess.run(calls("library", "blocks"), capture_output=True, timeout=60, env=os.environ | settings)
    assert (run.returncode, run.stdout) == (0, b"blocks right\n"), run.stderr
    assert run.stderr.startswith(b"swaplab: this process is not paged: ") and run.stderr.count(b"\n") == 1
    assert reason in run.stderr.decode()
