"""The test cases of the core's ESS and LVSP equal the results of the plain model."""

from __future__ import annotations

import random
from pathlib import Path

from models.a2s import A2s, current_average

CASES = Path(__file__).parents[2] / "crates" / "apps" / "tests" / "a2s_model.csv"
APPS = 6


def lines() -> list[str]:
    """Generate random histories, owners and thresholds, with the model's averages and decisions."""
    draw = random.Random(4)
    found = ["launches,owners,live,t_live,t_reuse,t_launched,strict,averages,may"]
    for _ in range(500):
        launches = [str(draw.randrange(APPS)) for _ in range(draw.randrange(40))]
        owners = [draw.choice([*map(str, range(APPS)), "s"]) for _ in range(draw.randrange(4))]
        live, t_live = draw.randrange(1, 23), draw.randrange(2, 26)
        t_reuse, t_launched, strict = draw.choice([0, 1, 2, 4, 8]), draw.randrange(6), draw.random() < 0.5
        model = A2s(t_live, t_reuse, t_launched, strict)
        may = model.may_swap_out(live, owners, launches, frozenset({"s"}))
        averages = " ".join(repr(current_average(launches, str(app), strict)) for app in range(APPS))
        row = [" ".join(launches), " ".join(owners), live, t_live, t_reuse, t_launched, int(strict), averages, int(may)]
        found.append(",".join(map(str, row)))
    return found


def test_the_cases_are_the_models() -> None:
    found = lines()
    assert {line[-1] for line in found[1:]} == {"0", "1"}
    assert CASES.read_text().splitlines() == found
