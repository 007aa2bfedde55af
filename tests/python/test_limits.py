"""Resource limits with which libraries abort or hang are refused in one line before any work."""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Callable

import pytest
from command import SWAPLAB


def limited(which: int, soft: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(which, (soft, resource.getrlimit(which)[1]))


@pytest.mark.parametrize(
    ("which", "soft", "said"),
    [
        (resource.RLIMIT_NOFILE, 20, "may open 20 files; expected at least 64 (ulimit -n)"),
        (resource.RLIMIT_AS, 1 << 33, f"limited to {1 << 33} bytes; expected no limit (ulimit -v)"),
    ],
)
def test_a_limit_that_is_too_low_is_reported(which: int, soft: int, said: str) -> None:
    command = [SWAPLAB, "list", "policies"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, preexec_fn=limited(which, soft))
    assert done.returncode == 3 and said in done.stderr and done.stderr.count("\n") == 1 and done.stdout == "", done


def test_the_least_number_of_files_is_enough_for_a_report(tmp_path) -> None:
    command = [SWAPLAB, "run", "sweep", "--jobs", "2", "-o", tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, preexec_fn=limited(resource.RLIMIT_NOFILE, 64))
    assert done.returncode == 0 and (tmp_path / "out" / "report.html").is_file(), done.stderr
