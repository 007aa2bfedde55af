"""Two predictions of swap-ins that know nothing of a kernel: a simulator that is no better than they are has no skill."""

from __future__ import annotations

import math
from dataclasses import dataclass

from benches.validation.draw import Drawn

PAGES_A_MIB = 256


@dataclass(frozen=True)
class Block:
    """Pages of an app that are used together."""

    app: str
    kind: str
    pages: int


def blocks(drawn: Drawn) -> dict[str, list[Block]]:
    """The blocks of each app: hot and cold pages, anonymous and of files."""
    found: dict[str, list[Block]] = {}
    for app in drawn.apps:
        pages = app.footprint * PAGES_A_MIB
        shares = {"anon": 1 - app.file_share, "file": app.file_share}
        found[app.name] = [
            Block(app.name, f"{part} {kind}", round(pages * share * part_share))
            for kind, share in shares.items()
            for part, part_share in (("hot", app.hot_share), ("cold", 1 - app.hot_share))
        ]
    return found


def stack_distance(drawn: Drawn, frames: int) -> int:
    """Swap-ins of the second round by LRU over `frames`: anonymous pages used at a stack distance beyond them. Blocks move as one."""
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
    """Swap-ins of the second round if all that a launch touches were in swap: its app's hot anonymous pages."""
    hot = {name: sum(block.pages for block in of if block.kind == "hot anon") for name, of in blocks(drawn).items()}
    return sum(hot[name] for name in drawn.order)


def skill(kernel: float, phone: float, nulls: tuple[float, ...]) -> float:
    """The phone's error as a share of the better null's; NaN where that null makes no error."""
    best = min(abs(null - kernel) for null in nulls)
    return abs(phone - kernel) / best if best else math.nan
