"""What a page costs, fitted on some visits, predicts others."""

from __future__ import annotations

import pytest
from swaplab.live.bench.calibrate import COSTS, errors, fit
from swaplab.live.bench.protocol import Visit

OWN = {"mail": (40.0, 2.0), "game": (90.0, 5.0)}


def visit(app: str, what: str, moved: tuple[int, int, int], ms: float) -> Visit:
    return Visit(0, False, app, what, ms, moved[0], moved[1], 0, 2, file_refaults=moved[2])


def exact(app: str, what: str, *moved: int) -> Visit:
    """10 us a page in, 2 us out, 30 us read again."""
    own = OWN[app][what == "switch"]
    return visit(app, what, (moved[0], moved[1], moved[2]), own + (10 * moved[0] + 2 * moved[1] + 30 * moved[2]) / 1000)


def test_costs_that_explain_every_visit_are_found() -> None:
    seen = [exact("mail", "switch", 100, 50, 0), exact("game", "launch", 0, 900, 40), exact("mail", "switch", 20, 0, 200)]
    assert fit(seen, OWN) == pytest.approx({"in_us": 10, "out_us": 2, "file_us": 30})
    unseen = [exact("game", "switch", 500, 10, 7), visit("game", "launch", (0, 500, 0), 182.0)]
    found = errors(unseen, OWN, fit(seen, OWN))
    # 91 ms predicted of 182.
    assert found == {"switch_error_median": 0, "switch_predicted": 1, "launch_error_median": 0.5, "launch_predicted": 1}


def test_no_cost_is_negative_and_none_is_made_up() -> None:
    quicker = [visit("mail", "switch", (100, 0, 0), 1.0)]
    assert fit(quicker, OWN) == {"in_us": 0, "out_us": None, "file_us": None}
    few = [visit("mail", "switch", (10, 0, 0), 9.0)]
    assert fit(few, OWN) == dict.fromkeys(COSTS)
