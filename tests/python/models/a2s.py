"""A reference model of A2S, from docs/papers/a2s.md and the paper's Sections 4.1 and 4.2 (Algorithm
1).

A launch sequence is a list of app names. Where the text is ambiguous, this model assumes:

1. Reuse distance: launches of other apps between two launches of the app. Two launches in a row: 0.
2. Stack distance: distinct other apps between two launches of the app.
3. The average of a sequence is over all pairs of launches of the same app, not over the apps'
   averages.
4. Current average: (launches x average + launches since) / (launches + 1), the paper's example;
   `strict`: the gaps, one fewer than the launches, instead of the launches. Launches since =
   launches of other apps after the last one.
5. An app launched once has no gap: its average counts as 0, so that its current average is since /
   2, or since with `strict`.
6. An app that was never launched, and passes because T_launched = 0, has 0 (the framework assigns
   none).
7. A page with several owners may be swapped out if any of them passes; a page without owners never.
8. Generator: independent draws with probability proportional to 1 / rank**alpha, a draw equal to
   the previous launch is dropped, until there are 256 launches.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass


def gaps(launches: list[str], app: str) -> list[int]:
    """List the reuse distances of one app."""
    places = [place for place, each in enumerate(launches) if each == app]
    return [after - before - 1 for before, after in zip(places, places[1:], strict=False)]


def current_average(launches: list[str], app: str, strict: bool = False) -> float:
    count = launches.count(app)
    if count == 0:
        return 0.0
    distances = gaps(launches, app)
    average = sum(distances) / len(distances) if distances else 0.0
    since = launches[::-1].index(app)
    weight = count - 1 if strict else count
    return (weight * average + since) / (weight + 1)


@dataclass
class A2s:
    t_live: float = 18
    t_reuse: float = 64
    t_launched: int = 3
    strict: bool = False

    def may_swap_out(self, live_apps: int, owners: list[str], launches: list[str], services: frozenset[str] = frozenset()) -> bool:
        if live_apps >= self.t_live:
            return False
        for app in owners:
            if app in services:
                distance = 0.0
            elif launches.count(app) < self.t_launched:
                continue
            else:
                distance = current_average(launches, app, self.strict)
            if distance < self.t_reuse:
                return True
        return False


def probability_of_reuse(average: float, within: int) -> float:
    """Compute Eq. (1)."""
    return 1 - math.exp(-within / average)


def statistics(launches: list[str]) -> dict[str, float | int | None]:
    """Compute the statistics that `trace analyze` calls reuse."""
    distances = [distance for app in sorted(set(launches)) for distance in gaps(launches, app)]
    stack = []
    for now, app in enumerate(launches):
        earlier = [place for place in range(now) if launches[place] == app]
        if earlier:
            stack.append(len(set(launches[earlier[-1] + 1 : now])))
    return {
        "average_launch_distance": sum(distances) / len(distances) if distances else None,
        "average_stack_distance": sum(stack) / len(stack) if stack else None,
        "unique_apps": len(set(launches)),
    }


def generate(apps: int, alpha: float, launches: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    names = [f"app{rank}" for rank in range(1, apps + 1)]
    weights = [rank**-alpha for rank in range(1, apps + 1)]
    sequence: list[str] = []
    while len(sequence) < launches:
        app = draw.choices(names, weights)[0]
        if not sequence or sequence[-1] != app:
            sequence.append(app)
    return sequence
