"""A block trace with the skew that Kim & Bahn report: 15 % of the data take about 84 % of the
accesses, half of the data are accessed once. Whatever comes out of it about admission control is
`premise-built`: the premise is this generator's.

Run as a script: `python generate.py > trace.csv` (block-csv; every request is one 4 KiB page), with
the parameters of experiment.toml."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

#: Zipf exponent among the hot data: mild, so that all of it is hot. Accesses of a page that is
#: neither hot nor single.
ALPHA, WARM_ACCESSES = 0.6, 3


def requests(spec: dict[str, Any]) -> Iterator[tuple[int, str]]:
    """(page, op) in order. Single and warm accesses come at any time, hot ones all along. Each page
    is written first (it is swapped out before it can be swapped in) and by half of its later
    accesses."""
    draw = random.Random(spec["seed"])
    order = list(range(spec["pages"]))
    draw.shuffle(order)
    hot_end = int(spec["hot_share_of_data"] * len(order))
    single_end = hot_end + int(spec["single_access_share_of_data"] * len(order))
    hot, single, warm = order[:hot_end], order[hot_end:single_end], order[single_end:]
    cold_accesses = len(single) + WARM_ACCESSES * len(warm)
    hot_accesses = int(cold_accesses * spec["hot_share_of_accesses"] / (1 - spec["hot_share_of_accesses"]))
    weights = [1 / (rank + 1) ** ALPHA for rank in range(len(hot))]
    accesses = single + warm * WARM_ACCESSES + draw.choices(hot, weights, k=hot_accesses)
    draw.shuffle(accesses)
    written: set[int] = set()
    for page in accesses:
        yield page, "W" if page not in written or draw.random() < 0.5 else "R"
        written.add(page)


def block_csv(spec: dict[str, Any]) -> Iterator[str]:
    """The trace as lines of `block-csv`."""
    yield "process,device,rw_flag,sector,size,timestamp"
    for number, (page, op) in enumerate(requests(spec)):
        yield f"generated,1,{op},{8 * page},8,{number}"


if __name__ == "__main__":
    experiment = tomllib.loads(Path(__file__).with_name("experiment.toml").read_text())
    print("\n".join(block_csv(experiment["generated"])))
