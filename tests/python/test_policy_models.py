"""Policies without a peer in libCacheSim against slow models that were written from their papers,
reference by reference.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from models.cost_policies import ClockDwf, GreedyDual, WTinyLfu
from models.recency_policies import ClockPro, Lirs
from models.replay import COUNTERS, Replay
from models.simple_policies import Clock, Fifo, Lru
from replayed import points
from test_policy_oracles import random_trace

MODELS: dict[str, Callable[[int], Any]] = {
    "lru": Lru,
    "lirs": Lirs,
    "clock-pro": ClockPro,
    "greedy-dual": GreedyDual,
    "clock-dwf": ClockDwf,
    "w-tinylfu": WTinyLfu,
}
OPTIONS = {"swap_device": "optane-m10", "first_touch": "charged", "signal": "exact"}


def drawn(seed: int, longest: int, footprint: int = 90) -> tuple[list[tuple[str, int]], int]:
    """Draw references to written, fetched and read pages, and a number of frames."""
    rng = random.Random(seed)
    pages = [page % footprint for page in random_trace(rng)][: rng.randint(longest // 2, longest)]
    share = rng.choice((0.2, 0.5))  # of writes
    events = [("I" if page % 3 == 0 else "W" if rng.random() < share else "R", page) for page in pages]
    return events, max(2, int(len(set(pages)) * rng.choice((0.1, 0.25, 0.5, 0.75))))


def write_csv(path: Path, events: list[tuple[str, int]]) -> Path:
    path.write_text("page,op\n" + "".join(f"{page},{op}\n" for op, page in events))
    return path


@pytest.mark.parametrize("policy", MODELS)
def test_counts_equal_the_models_on_random_traces(policy: str, tmp_path: Path) -> None:
    evictions = 0
    for seed in range(60):
        events, frames = drawn(seed, 1200)
        [found] = points(write_csv(tmp_path / "t.csv", events), [policy], [f"{frames}p"], jobs=1, **OPTIONS)
        model = Replay(MODELS[policy](frames))
        expected = model.run(events)
        assert {name: found[name] for name in COUNTERS} == expected, f"trace {seed} with {frames} frames"
        evictions += len(model.evictions)
    assert evictions > 10_000


@pytest.mark.parametrize("policy", MODELS)
def test_the_same_references_fault(policy: str, tmp_path: Path) -> None:
    """Compare the counts of each prefix: a reference that adds a fault faulted, and one that adds a
    write evicted a dirty page.
    """
    faults = hits = 0
    for seed in range(4):
        events, frames = drawn(1000 + seed, 160, footprint=24)
        model = Replay(MODELS[policy](frames))
        model.fetched = {page for op, page in events if op == "I"}
        path = tmp_path / "t.csv"
        for end, (op, page) in enumerate(events, 1):
            prefix = write_csv(path, events[:end])
            [found] = points(prefix, [policy], [f"{frames}p"], jobs=1, **OPTIONS)
            if found["memory_pages"] != frames:
                assert len({page for _, page in events[:end]}) < frames, "memory above the footprint is cut to it"
            model.access(op, page)
            assert {name: found[name] for name in COUNTERS} == model.count, f"trace {seed}, {frames} frames, reference {end}"
        faults += model.count["faults"]
        hits += model.count["references"] - model.count["faults"]
    assert faults > 100 and hits > 30


@pytest.mark.parametrize("policy", [policy for policy in MODELS if policy != "lru"])
def test_another_policys_model_is_noticed(policy: str, tmp_path: Path) -> None:
    """The traces tell each policy from FIFO, LRU and CLOCK by its counts."""
    differs = dict.fromkeys(("fifo", "lru", "clock"), 0)
    for seed in range(20):
        events, frames = drawn(seed, 1200)
        [found] = points(write_csv(tmp_path / "t.csv", events), [policy], [f"{frames}p"], jobs=1, **OPTIONS)
        for name, other in (("fifo", Fifo), ("lru", Lru), ("clock", Clock)):
            differs[name] += found["faults"] != Replay(other(frames)).run(events)["faults"]
    assert min(differs.values()) >= 10, differs
