"""A block trace with the skew that Kim & Bahn report: 15 % of the data take about 84 % of the accesses, half of the data are accessed
once. Whatever comes out of it about admission control is `premise-built`: the premise is this generator's.

Run as a script: `python generate.py PAGES SEED > trace.csv` (block-csv; every request is one 4 KiB page of swap)."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator

#: Shares of the data, and of the accesses that the hot part takes (papers/001, Sections II and V).
HOT, SINGLE, HOT_ACCESSES = 0.15, 0.50, 0.84
#: Zipf exponent among the hot data: mild, so that all of it is hot. Accesses of a page that is neither hot nor single.
ALPHA, WARM_ACCESSES = 0.6, 3


def requests(pages: int, seed: int) -> Iterator[tuple[int, str]]:
    """(page, op) in order. Single and warm accesses come at any time, hot ones all along. Each page is written first (it is swapped out
    before it can be swapped in) and by half of its later accesses."""
    draw = random.Random(seed)
    order = list(range(pages))
    draw.shuffle(order)
    hot, single = order[: int(HOT * pages)], order[int(HOT * pages) : int((HOT + SINGLE) * pages)]
    warm = order[int((HOT + SINGLE) * pages) :]
    cold_accesses = len(single) + WARM_ACCESSES * len(warm)
    hot_accesses = int(cold_accesses * HOT_ACCESSES / (1 - HOT_ACCESSES))
    weights = [1 / (rank + 1) ** ALPHA for rank in range(len(hot))]
    accesses = single + warm * WARM_ACCESSES + draw.choices(hot, weights, k=hot_accesses)
    draw.shuffle(accesses)
    written: set[int] = set()
    for page in accesses:
        yield page, "W" if page not in written or draw.random() < 0.5 else "R"
        written.add(page)


def block_csv(pages: int, seed: int) -> Iterator[str]:
    """The trace as lines of `block-csv`."""
    yield "process,device,rw_flag,sector,size,timestamp"
    for number, (page, op) in enumerate(requests(pages, seed)):
        yield f"generated,1,{op},{8 * page},8,{number}"


if __name__ == "__main__":
    print("\n".join(block_csv(int(sys.argv[1]), int(sys.argv[2]))))
