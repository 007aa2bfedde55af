"""Random page traces and transformations of them, for tests that relate the result of one replay to
the result of another.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

from hypothesis import strategies as st
from replayed import Flat, points
from swaplab import _core

#: A reference: page number and operation (R, W or I).
Reference = tuple[int, str]

REGISTERED = json.loads(_core.registry("policies"))
ONLINE = [entry["key"] for entry in REGISTERED if not entry["offline"]]
SCHEMES = [entry["key"] for entry in json.loads(_core.registry("schemes"))]

PAGES = 24


@st.composite
def traces(draw: st.DrawFn) -> list[Reference]:
    """Draw loops and skewed references over 12 to 24 pages, on which policies differ."""
    parts = draw(st.lists(st.tuples(st.integers(0, PAGES - 1), st.integers(1, PAGES), st.integers(1, 3)), min_size=2, max_size=6))
    rng = random.Random(draw(st.integers(0, 1 << 16)))
    # more than the frames of any test, as a size above the footprint is cut to it
    pages = list(range(12))
    for first, length, rounds in parts:
        pages += [(first + step) % PAGES for step in range(length)] * rounds
        pages += [int(PAGES * rng.random() ** 3) for _ in range(rng.randint(0, 20))]
    return [(page, rng.choice("RRWI")) for page in pages]


def written(path: Path, trace: list[Reference]) -> Path:
    path.write_text("page,op\n" + "".join(f"{page},{op}\n" for page, op in trace))
    return path


def counts(
    path: Path,
    trace: list[Reference],
    policies: list[str],
    memory: list[int],
    swap: list[str] | None = None,
    first_touch: str = "charged",
) -> list[Flat]:
    """Replay a trace under each policy at each size in frames (and each scheme, whose first touches
    are zero-filled).
    """
    options: dict[str, object] = {"signal": "exact", "first_touch": "zero-fill" if swap else first_touch}
    if not swap:
        options["swap_device"] = "optane-m10"
    return points(written(path, trace), policies, [f"{frames}p" for frames in memory], swap or (), jobs=1, **options)


def faults(path: Path, trace: list[Reference], policies: list[str], frames: int) -> dict[str, int]:
    found = counts(path, trace, policies, [frames])
    assert [row["references"] for row in found] == [len(trace)] * len(policies)
    return {policy: int(row["faults"] or 0) for policy, row in zip(policies, found, strict=True)}


def renumbered(trace: list[Reference], seed: int) -> list[Reference]:
    """Give each page another number, spread over a larger address range."""
    numbers = random.Random(seed).sample(range(1 << 20), PAGES)
    return [(numbers[page], op) for page, op in trace]


def repeated(trace: list[Reference], times: int) -> list[Reference]:
    """Repeat each reference `times` times in a row."""
    return [reference for reference in trace for _ in range(times)]
