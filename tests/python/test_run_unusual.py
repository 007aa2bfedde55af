"""`swaplab run` on what programs seldom do: each case is a program that gives natively what it gives under the pager."""

from __future__ import annotations

import os
import subprocess

import pytest
from test_run import HERE, paged, program, pytestmark  # noqa: F401

CASES = ["signals", "forks", "moves", "wiped", "locked", "limited", "rights", "heap"]


@pytest.fixture(scope="session")
def unusual(tmp_path_factory):
    """The program of these cases, compiled with or without a malloc of its own."""

    def compiled(*options: str) -> str:
        target = tmp_path_factory.getbasetemp() / f"unusual{len(options)}"
        if not target.exists():
            subprocess.run([program("gcc"), "-O1", "-w", "-pthread", *options, "-o", target, HERE / "unusual.c"], check=True)
        return str(target)

    return compiled


@pytest.mark.parametrize("scheme", ["nvm-direct", "zram"])
@pytest.mark.parametrize("case", CASES)
def test_an_unusual_program_does_what_it_does_natively(unusual, case, scheme):
    if case == "rights" and os.geteuid() != 0:
        pytest.skip("only root has rights to give up")
    native = subprocess.run([unusual(), case], capture_output=True, timeout=60)
    assert native.returncode == 0, native.stdout
    run = paged([unusual(), case], "8MiB", "--scheme", scheme, timeout=60)
    assert (run.returncode, run.stdout, run.stderr) == (0, native.stdout, b"")


@pytest.mark.parametrize("scheme", ["nvm-direct", "zram"])
def test_a_program_with_a_malloc_of_its_own(unusual, scheme):
    run = paged([unusual("-DOWN_MALLOC"), "heap"], "8MiB", "--scheme", scheme, timeout=60)
    assert (run.returncode, run.stdout) == (0, b"heap right\n"), run.stderr


@pytest.mark.parametrize("kib", [1 << 20, 3_000_000, 8_000_000])
def test_a_limited_address_space_is_shared_with_the_program(unusual, kib):
    limited = ["/bin/sh", "-c", f"ulimit -v {kib}; exec {unusual()} moves"]
    run = paged(limited, "8MiB", timeout=60)
    assert (run.returncode, run.stdout) == (0, b"moves right\n"), run.stderr
