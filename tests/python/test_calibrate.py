"""Calibration: page costs fitted to some visits predict others."""

from __future__ import annotations

import pytest
from swaplab.worlds.kernel.calibrate import COSTS, errors, fit
from swaplab.worlds.kernel.protocol import Visit

OWN = {"mail": (40.0, 2.0), "game": (90.0, 5.0)}


def visit(app: str, what: str, moved: tuple[int, int, int], ms: float, ahead: int = 0, file_waits: int = 0) -> Visit:
    """Build a visit. `ahead`: swapped-in pages that were read ahead; each other one is a major
    fault, and so is each of `file_waits`.
    """
    major = moved[0] - ahead + file_waits
    return Visit(0, False, app, what, ms, moved[0], moved[1], major, 2, file_refaults=moved[2], read_ahead_pages=ahead)


def exact(app: str, what: str, *moved: int, ahead: int = 0, file_waits: int = 0) -> Visit:
    """Compute ms: 10 us per page in, 2 us out, 3 us refaulted, 50 us per wait for swap, 100 us for
    a file.
    """
    counts = (*moved, moved[0] - ahead, file_waits)
    us = sum(cost * count for cost, count in zip((10, 2, 3, 50, 100), counts, strict=True))
    return visit(app, what, (moved[0], moved[1], moved[2]), OWN[app][what == "resume"] + us / 1000, ahead, file_waits)


def test_costs_that_explain_every_visit_are_recovered() -> None:
    seen = [
        exact("mail", "resume", 100, 50, 0),
        exact("mail", "resume", 100, 0, 0, ahead=80),
        exact("game", "cold", 0, 900, 40, file_waits=10),
        exact("mail", "resume", 20, 0, 200, file_waits=200),
        exact("game", "cold", 300, 0, 4000, ahead=290, file_waits=125),
    ]
    costs = {"in": 10_000, "out": 2_000, "file": 3_000, "swap_wait": 50_000, "file_wait": 100_000}
    assert fit(seen, OWN) == pytest.approx(costs, rel=0.02)
    unseen = [exact("game", "resume", 500, 10, 7, ahead=3), visit("game", "cold", (0, 500, 0), 182.0)]
    found = errors(unseen, OWN, dict(costs))
    # 91 ms are predicted, 182 ms measured.
    assert found == {"switch": 0, "switch_visits": 1, "launch": 50, "launch_visits": 1}


def test_costs_are_never_negative_and_null_without_visits() -> None:
    quicker = [visit("mail", "resume", (100, 0, 0), 1.0)]
    assert fit(quicker, OWN) == {"in": 0, "out": None, "file": None, "swap_wait": 0, "file_wait": None}
    few = [visit("mail", "resume", (10, 0, 0), 9.0)]
    assert fit(few, OWN) == dict.fromkeys(COSTS)
