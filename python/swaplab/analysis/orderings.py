"""Verdicts on the orderings that papers report, from rows of a real kernel. Magnitudes are not
compared, as the machines differ. A switch, as the papers call it, is a resume.

`ordering`: the order holds; for times, the 95 % intervals of the medians do not overlap. `differs`:
the order is reversed by the same criterion. `not-testable`: rows are missing, or intervals overlap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from swaplab.core.model import Row

#: (verdict, text of our figures)
Judged = tuple[str, str]
MIB = 2**20

UNTESTED = "not-testable"


@dataclass(frozen=True)
class Ordering:
    """A claim of a paper with the verdict from rows."""

    paper: str
    claim: str
    published: str
    ours: str
    verdict: str


def judge(rows: list[Row]) -> list[Ordering]:
    """Judge each claim by rows of the world `kernel`; rows with an app policy are left out."""
    vanilla = [row for row in rows if row.app_policy == "none" and row.launches and row.kernel and not row.invalid]
    return [Ordering(paper, claim, published, *reversed(measure(vanilla))) for paper, claim, published, measure in CLAIMS]


def _fewer_kills(rows: list[Row]) -> Judged:
    """Compare kills with the largest flash swap and without swap: every repetition of one must be
    below every one of the other.
    """
    none, flash = _named(rows, "none"), _named(rows, "flash")
    if not none or not flash:
        return UNTESTED, "no rows"
    most = max(flash, key=_swap_bytes)
    text = f"{_kills(none[0]):g} without swap, {_kills(most):g} with {_swap_bytes(most) // MIB} MiB"
    return _counts(_killed(most), _killed(none[0])), text


def _more_swap_fewer_kills(rows: list[Row]) -> Judged:
    """Compare kills with the largest and the smallest swap, over all kernel schemes together."""
    sizes = sorted({_swap_bytes(row) for row in rows if _swap_bytes(row)})
    if len(sizes) < 2:
        return UNTESTED, "one swap size"
    few, many = ([kills for row in rows if _swap_bytes(row) == size for kills in _killed(row)] for size in (sizes[-1], sizes[0]))
    return _counts(few, many), f"{max(few):g} at most with {sizes[-1] // MIB} MiB, {min(many):g} at least with {sizes[0] // MIB} MiB"


def _counts(fewer: list[float], more: list[float]) -> str:
    if max(fewer) < min(more):
        return "ordering"
    return "differs" if min(fewer) > max(more) else UNTESTED


def _faster(left: str, right: str) -> Callable[[list[Row]], Judged]:
    """Compare the switch delays of two schemes at the swap size at which both have most
    switches.
    """

    def measure(rows: list[Row]) -> Judged:
        pairs = [(a, b) for a in _named(rows, left) for b in _named(rows, right) if _swap_bytes(a) == _swap_bytes(b)]
        comparable = [(a, b, interval, other_interval) for a, b in pairs if (interval := _interval(a)) and (other_interval := _interval(b))]
        if not comparable:
            return UNTESTED, "no switches under both"
        a, b, (low, high), (least, most) = max(comparable, key=lambda pair: min(_switches(pair[0]), _switches(pair[1])))
        text = f"{_median(left, a)} against {_median(right, b)}, {_swap_bytes(a) // MIB} MiB"
        return ("ordering" if high < least else "differs" if low > most else UNTESTED), text

    return measure


def _switch_beats_launch(rows: list[Row]) -> Judged:
    """Compare the median switch with the median cold start, in the row with most switches."""
    row = max((row for row in rows if _interval(row) and row.launches and row.launches.cold_ms), key=_switches, default=None)
    if row is None or row.launches is None or row.launches.cold_ms is None or row.launches.cold_ms.p50_interval is None:
        return UNTESTED, "no switches"
    (low, high), (least, most) = _interval(row) or (0.0, 0.0), row.launches.cold_ms.p50_interval
    text = f"{_median('switch', row)} against {row.launches.cold_ms.p50:.1f} ms cold, {row.design}"
    return ("ordering" if high < least else "differs" if low > most else UNTESTED), text


def _named(rows: list[Row], key: str) -> list[Row]:
    return [row for row in rows if (row.swap or "").partition(":")[0] == key]


def _swap_bytes(row: Row) -> int:
    return row.kernel.swap_size_bytes if row.kernel else 0


def _kills(row: Row) -> float:
    return row.launches.kills if row.launches else 0.0


def _killed(row: Row) -> list[float]:
    """Return the kills of each repetition."""
    return [draw.figures["launches.kills"] for draw in row.by_seed] or [_kills(row)]


def _switches(row: Row) -> int:
    return row.launches.resume_ms.n if row.launches and row.launches.resume_ms else 0


def _interval(row: Row) -> tuple[float, float] | None:
    return row.launches.resume_ms.p50_interval if row.launches and row.launches.resume_ms else None


def _median(name: str, row: Row) -> str:
    low, high = _interval(row) or (0.0, 0.0)
    middle = row.launches.resume_ms.p50 if row.launches and row.launches.resume_ms else 0.0
    return f"{name} {middle:.1f} ms [{low:.1f}, {high:.1f}]"


#: (paper, claim, published text, function that judges it)
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
