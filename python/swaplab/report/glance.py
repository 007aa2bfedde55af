"""The first screen of a simulated phone's section: whether memory was tight, what changes for the user, what it costs, how sure that is."""

from __future__ import annotations

from collections.abc import Sequence

from swaplab.analysis.outcomes import BY_PATH
from swaplab.analysis.verdict import number
from swaplab.core.model import PhoneDetail, Row
from swaplab.report.origin import Labelled
from swaplab.report.page import Cell, Table

DELAY = BY_PATH["launches.delay_ms.mean"]
CAPTION = "At a glance (a day at the beat of these launches; 95 % intervals over runs in brackets)"
COLUMNS = ["design", "memory was tight", "mean launch, ms", "cold starts", "apps lost a day", "flash lasts, years", "battery, % a day"]


def table(rows: Sequence[Labelled]) -> Table:
    """One line a design, as few columns as a manager needs."""
    return Table(CAPTION, COLUMNS, [[Cell(one.label), *map(Cell, _texts(one.row))] for one in rows])


def _texts(row: Row) -> list[str]:
    detail, launches = row.phone or PhoneDetail(), row.launches
    share = detail.daily.battery_share
    return [
        "yes" if detail.memory_was_tight else "never",
        _delay(row),
        "-" if launches is None or launches.cold is None else f"{number(launches.cold)} of {number(launches.count)}",
        number(sum(detail.daily.kills.values()), 3),
        _years(row),
        "-" if share is None else f"{100 * share:.1f}",
    ]


def _delay(row: Row) -> str:
    delay = row.launches.delay_ms if row.launches is not None else None
    if delay is None:
        return "-"
    interval = DELAY.interval(row)
    return f"{delay.mean:,.0f}" + (f" ({interval.low:,.0f} to {interval.high:,.0f})" if interval is not None else "")


def _years(row: Row) -> str:
    """Years until the flash's endurance is used up; no swap writes none of it."""
    wear = next((use.wear for medium, use in row.media.items() if medium == "flash"), None)
    years = wear.years_to_endurance if wear is not None else None
    if years is None:
        return "no wear"
    return "over 100" if years > 100 else number(years, 2)


def lines(rows: Sequence[Labelled]) -> list[str]:
    """What changes for the user from the first design to the one that waits least. The verdict says whether memory was tight."""
    timed = [
        (one.row.launches.delay_ms.mean, one) for one in rows if one.row.launches is not None and one.row.launches.delay_ms is not None
    ]
    if len(timed) < 2:
        return []
    (first, base), (best, chosen) = timed[0], min(timed, key=lambda pair: pair[0])
    if chosen is base:
        return [f"Against {base.label}, no design makes the mean launch shorter."]
    return [f"From {base.label} to {chosen.label} the mean launch changes by {best - first:+,.0f} ms ({100 * (best / first - 1):+.1f} %)."]
