"""tests/conftest.py: the tests that run side by side though the others of their file run alone."""

from __future__ import annotations

import re
import runpy

from command import ROOT


def test_each_test_that_runs_side_by_side_exists_in_a_file_whose_tests_run_alone() -> None:
    marks = runpy.run_path(str(ROOT / "tests" / "conftest.py"))
    assert sum(map(len, marks["SIDE_BY_SIDE"].values())) >= 9
    for place, names in marks["SIDE_BY_SIDE"].items():
        assert place.startswith(marks["ALONE"]), place
        defined = set(re.findall(r"^def (test_\w+)", (ROOT / "tests" / place).read_text(), re.MULTILINE))
        assert names and names <= defined, (place, names - defined)
