"""The miss-ratio curve of LRU, computed by running LRU at every size. A freed page leaves a hole.

Where the text is ambiguous, this model assumes:

1. A miss is any fault: first touches and zero fills too. The ratio is over all references.
2. A freed (unmapped, discarded) anonymous page gives its frame back at once; file pages stay. So an
   LRU of size C with frees is not the stack model's: the hole is filled before any page is
   reclaimed.
"""

from __future__ import annotations

from models.replay import Replay
from models.simple_policies import Lru


def miss_ratio_curve(
    events: list[tuple], sizes: list[int], table: dict[int, str] | None = None, mapping: str = "follow"
) -> dict[int, float]:
    curve = {}
    for size in sizes:
        count = Replay(Lru(size), table or {}, mapping=mapping).run(events)
        curve[size] = count["faults"] / count["references"]
    return curve


def stack_distances(pages: list[int]) -> list[int | None]:
    """Count the distinct pages since the last reference to each page, itself included (1: the same
    page again); None for a first touch.
    """
    distances: list[int | None] = []
    for now, page in enumerate(pages):
        since = None
        for before in range(now - 1, -1, -1):
            if pages[before] == page:
                since = len(set(pages[before:now]))
                break
        distances.append(since)
    return distances
