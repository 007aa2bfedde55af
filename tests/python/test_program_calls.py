"""`swaplab exec` on calls about memory, signals and processes whose result a pager could get wrong:
each gives what it gives natively, whether the program calls the C library's function, its function
`syscall`, or the kernel itself.
"""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from test_run import HERE, SWAPLAB, paged, program, pytestmark  # noqa: F401

#: `masks` is about calls that the C library makes by itself.
CASES = ["remaps", "fixed", "advice", "keys", "locks", "starts", "sandbox", "unhandled", "children", "forked", "blocks", "masks"]
WAYS = {"library": [], "number": ["-DNUMBER"], "raw": ["-DRAW"]}
#: System calls are dispatched, and SIGSYS is handled, where a library outside the range of the C
#: library and the pager's holds the bytes of the instruction, which differs from run to run.
ABORTED = pytest.mark.xfail(reason="an unhandled SIGSYS ends a program whose system calls are dispatched by SIGABRT")
#: No fork handler of the pager runs: the child may have its lock, or zeros where pages were out.
UNNOTICED = pytest.mark.xfail(reason="a fork that is not the C library's is not noticed", run=False)
#: Known defects by case and way.
KNOWN = {("unhandled", way): ABORTED for way in WAYS} | {("forked", "number"): UNNOTICED, ("forked", "raw"): UNNOTICED}


@pytest.fixture(scope="session")
def calls(tmp_path_factory):
    """The program of these cases, compiled to make its calls in one of the ways."""

    def compiled(way: str) -> str:
        target = tmp_path_factory.getbasetemp() / f"calls-{way}"
        if not target.exists():
            subprocess.run([program("gcc"), "-O1", "-w", "-pthread", *WAYS[way], "-o", target, HERE / "calls.c"], check=True)
        return str(target)

    return compiled


@pytest.mark.parametrize(
    ("case", "way", "scheme"),
    [
        pytest.param(case, way, scheme, marks=KNOWN.get((case, way), ()))
        for case in CASES
        for way, scheme in (("library", "nvm-direct"), ("library", "zram"), ("number", "nvm-direct"), ("raw", "nvm-direct"))
        if case != "masks" or way == "raw"
    ],
)
def test_a_call_does_what_it_does_natively(tmp_path, calls, case, way, scheme):
    if way == "raw" and os.uname().machine != "x86_64":
        pytest.skip("the program has the instruction of x86-64")
    native = subprocess.run([calls(way), case], capture_output=True, timeout=60)
    assert native.returncode == 0, native.stdout
    run = paged([calls(way), case], "8MiB", "--swap", scheme, stats=tmp_path / "s.json", timeout=120)
    assert (run.returncode, run.stdout, run.stderr) == (0, native.stdout, b"")
    assert json.loads((tmp_path / "s.json").read_text())["swap_outs"] > 0
