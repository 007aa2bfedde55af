"""The trace of speed measurements: skewed references over many pages, with occasional loops over
other pages.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import accumulate

# 60 % reads, 30 % writes, 10 % instruction fetches.
OPERATIONS = "RRRRRRWWWI"


def references(total: int, pages: int, seed: int = 1) -> Iterator[tuple[list[int], str]]:
    """Yield blocks of pages (numbered from 1) and their operations.

    Zipf 0.9 over `pages` permuted pages; the last fifth of every 5 x `pages` references loops over
    `pages` / 5 other pages.
    """
    rng = random.Random(seed)
    numbers = list(range(1, pages + 1))
    rng.shuffle(numbers)
    weights = list(accumulate(1 / (rank + 1) ** 0.9 for rank in range(pages)))
    loop = [pages + 1 + i % (pages // 5) for i in range(pages)]
    for block in range(total // pages):
        chosen = loop if block % 5 == 4 else rng.choices(numbers, cum_weights=weights, k=pages)
        yield chosen, "".join(rng.choices(OPERATIONS, k=pages))
