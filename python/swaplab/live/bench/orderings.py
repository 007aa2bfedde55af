"""The orderings that papers report, judged on a bench's own rows. Sizes are never compared: the machines are different.

`ordering`: the order holds, and where times are compared the 95 % intervals of the medians do not meet; `differs`: the order is the other
way round, as surely; `not-testable`: the rows for it are not there, or their intervals meet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Row = dict[str, Any]
#: (verdict, our figures in words)
Judged = tuple[str, str]

UNTESTED = "not-testable"


def judge(rows: list[Row]) -> list[dict[str, Any]]:
    """Each claim with its verdict on these rows."""
    vanilla = [row for row in rows if row.get("app_policy", "none") == "none"]
    found = []
    for paper, claim, published, measure in CLAIMS:
        verdict, ours = measure(vanilla)
        found.append({"paper": paper, "claim": claim, "published": published, "ours": ours, "verdict": verdict})
    return found


def _fewer_kills(rows: list[Row]) -> Judged:
    """Kills with the most flash against none, each repetition of the one below each of the other."""
    none, flash = _named(rows, "none"), _named(rows, "flash")
    if not none or not flash:
        return UNTESTED, "no rows"
    most = max(flash, key=lambda row: row["swap_bytes"])
    text = f"{none[0]['kills']:g} without swap, {most['kills']:g} with {most['swap_bytes'] >> 20} MiB"
    return _counts(most["killed"], none[0]["killed"]), text


def _more_swap_fewer_kills(rows: list[Row]) -> Judged:
    """Kills at the largest swap against the smallest, over all kernel schemes together."""
    sized = [row for row in rows if row["swap_bytes"]]
    sizes = sorted({row["swap_bytes"] for row in sized})
    if len(sizes) < 2:
        return UNTESTED, "one swap size"
    few, many = ([kills for row in sized if row["swap_bytes"] == size for kills in row["killed"]] for size in (sizes[-1], sizes[0]))
    return _counts(few, many), f"{max(few)} at most with {sizes[-1] >> 20} MiB, {min(many)} at least with {sizes[0] >> 20} MiB"


def _counts(fewer: list[int], more: list[int]) -> str:
    if max(fewer) < min(more):
        return "ordering"
    return "differs" if min(fewer) > max(more) else UNTESTED


def _faster(left: str, right: str) -> Callable[[list[Row]], Judged]:
    """The switch delay of one scheme against another's, at the swap size at which both have the most switches."""

    def measure(rows: list[Row]) -> Judged:
        pairs = [(a, b) for a in _named(rows, left) for b in _named(rows, right) if a["swap_bytes"] == b["swap_bytes"]]
        pairs = [(a, b) for a, b in pairs if _interval(a) and _interval(b)]
        if not pairs:
            return UNTESTED, "no switches under both"
        a, b = max(pairs, key=lambda pair: min(one["switch_ms"]["n"] for one in pair))
        text = f"{_median(left, a)} against {_median(right, b)}, {a['swap_bytes'] >> 20} MiB"
        (low, high), (least, most) = _interval(a), _interval(b)
        return ("ordering" if high < least else "differs" if low > most else UNTESTED), text

    return measure


def _switch_beats_launch(rows: list[Row]) -> Judged:
    """Apps whose median switch is shorter than their own median cold start, in the row with the most switches."""
    row = max((row for row in rows if row.get("switch_ms") and row.get("cold_ms")), key=lambda row: row["switch_ms"]["n"], default=None)
    if row is None:
        return UNTESTED, "no switches"
    cold, back = row["cold_ms"]["by_app"], row["switch_ms"]["by_app"]
    both = [app for app in back if app in cold]
    faster = sum(back[app] < cold[app] for app in both)
    text = f"{faster} of {len(both)} apps, {row['name']} {row['swap_bytes'] >> 20} MiB"
    return ("ordering" if faster == len(both) else "differs" if faster == 0 else UNTESTED), text


def _named(rows: list[Row], name: str) -> list[Row]:
    return [row for row in rows if row["name"] == name]


def _interval(row: Row) -> list[float]:
    return (row["switch_ms"] or {}).get("p50_interval") or []


def _median(name: str, row: Row) -> str:
    low, high = _interval(row)
    return f"{name} {row['switch_ms']['p50']:.1f} ms [{low:.1f}, {high:.1f}]"


#: (paper, claim, what it published, the function that judges it)
CLAIMS: tuple[tuple[str, str, str, Callable[[list[Row]], Judged]], ...] = (
    (
        "SwapBench, Fig. 1",
        "flash swap avoids kills",
        "processes terminated drop significantly with a flash-backed swap space",
        _fewer_kills,
    ),
    ("SwapBench, Section 1", "more swap, fewer kills", "the size of the swap area is a factor", _more_swap_fewer_kills),
    (
        "SwapBench, Section 2",
        "zram switches faster than flash",
        "flash: severe performance overhead",
        _faster("zram", "flash"),
    ),
    (
        "SwapBench, Section 2",
        "a RAM disk switches faster than flash",
        "flash: severe performance overhead",
        _faster("ramdisk", "flash"),
    ),
    ("DR.Swap, Table V", "NVM read in place switches faster than flash", "faster in all 120 rows", _faster("nvm-direct", "flash")),
    ("DR.Swap, Section III", "reading in place beats copying", "Direct Read removes copies", _faster("nvm-direct", "nvm-copy")),
    ("SwapBench, Section 1", "a switch is faster than a cold start", "why apps are kept alive at all", _switch_beats_launch),
)
