"""Two null predictors of swap-ins that model no kernel: a simulator that is not better than they
are has no skill.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from benches.validation.draw import Drawn

PAGES_A_MIB = 256


@dataclass(frozen=True)
class Block:
    """A set of pages of an app that are used together."""

    app: str
    kind: str
    pages: int


def blocks(drawn: Drawn) -> dict[str, list[Block]]:
    """Return the blocks of each app: hot and cold, anonymous and file-backed pages."""
    blocks_by_app: dict[str, list[Block]] = {}
    for app in drawn.apps:
        pages = app.footprint * PAGES_A_MIB
        shares = {"anon": 1 - app.file_share, "file": app.file_share}
        blocks_by_app[app.name] = [
            Block(app.name, f"{part} {kind}", round(pages * share * part_share))
            for kind, share in shares.items()
            for part, part_share in (("hot", app.hot_share), ("cold", 1 - app.hot_share))
        ]
    return blocks_by_app


def stack_distance(drawn: Drawn, frames: int) -> int:
    """Predict the swap-ins of the second round by LRU over `frames`: anonymous pages whose stack
    distance exceeds it, block by block.
    """
    of = blocks(drawn)
    recent: list[Block] = []
    missing, started = 0, set[str]()
    for number, name in enumerate([*drawn.order, *drawn.order]):
        for block in [block for block in of[name] if name not in started or block.kind.startswith("hot")]:
            if block in recent:
                at = recent.index(block)
                beyond = sum(other.pages for other in recent[at:]) > frames
                if beyond and block.kind.endswith("anon") and number >= len(drawn.order):
                    missing += block.pages
                recent.pop(at)
            recent.append(block)
        started.add(name)
    return missing


def touched(drawn: Drawn) -> int:
    """Predict the swap-ins of the second round if all pages that a launch touches were in swap: the
    app's hot anonymous pages.
    """
    hot = {name: sum(block.pages for block in of if block.kind == "hot anon") for name, of in blocks(drawn).items()}
    return sum(hot[name] for name in drawn.order)


def skill(kernel: float, phone: float, nulls: tuple[float, ...]) -> float:
    """Compute the phone's error as a share of the better null predictor's; NaN if the latter has no
    error.
    """
    best = least_error(kernel, nulls)
    return abs(phone - kernel) / best if best else math.nan


def least_error(kernel: float, nulls: tuple[float, ...]) -> float:
    """Compute the error of the better null predictor, in pages."""
    return min(abs(null - kernel) for null in nulls)
