"""The summary of a simulated phone's section: whether memory was tight, effects for the user,
costs, and their certainty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from swaplab.analysis.outcomes import BY_PATH
from swaplab.analysis.verdict import number
from swaplab.core.model import PhoneDetail, Row
from swaplab.core.statistics import separates
from swaplab.report.origin import LabeledRow
from swaplab.report.page import Cell, Section, Table

DELAY, COLD, JANK = BY_PATH["launches.delay_ms.mean"], BY_PATH["launches.cold"], BY_PATH["display.janky_share"]
CAPTION = (
    "At a glance (launch: mean; cold starts: of all launches; janky frames: of those in front; "
    "figures per day: at the launch rate of this run)"
)
COLUMNS = ["design", "launch, ms", "cold starts, %", "janky frames, %", "apps lost a day", "flash, years", "battery a day, %"]


def table(rows: Sequence[LabeledRow]) -> Table:
    """Build the summary table, a row per design, with few columns."""
    return Table(CAPTION, COLUMNS, [[Cell(entry.label), *map(Cell, _texts(entry.row))] for entry in rows])


def summarized(section: Section, rows: Sequence[LabeledRow]) -> Section:
    """Return a section about these rows with the summary table, and with the sentence whether
    memory was tight.
    """
    return replace(section, glance=table(rows), evidence=[*lines(rows)[:1], *section.evidence])


def _texts(row: Row) -> list[str]:
    detail, launches = row.phone or PhoneDetail(), row.launches
    share = detail.daily.battery_share
    return [
        _delay(row),
        "-" if launches is None or launches.cold is None or not launches.count else f"{100 * launches.cold / launches.count:.1f}",
        janky_text(row),
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


def janky_text(row: Row) -> str:
    """Format the share of janky frames in percent with its interval; "-" if frames are not
    counted.
    """
    share, interval = JANK.value(row), JANK.interval(row)
    if share is None:
        return "-"
    return number(share, 2) + (f" ({number(interval.low, 2)} to {number(interval.high, 2)})" if interval is not None else "")


def _years(row: Row) -> str:
    """Format the years until the endurance of the flash is used up; "no writes" if nothing is
    written to it.
    """
    wear = next((use.wear for medium, use in row.media.items() if medium == "flash"), None)
    years = wear.years_to_endurance if wear is not None else None
    if years is None:
        return "no writes"
    return "over 100" if years > 100 else number(years, 2)


def lines(rows: Sequence[LabeledRow]) -> list[str]:
    """Describe whether memory was tight, and the changes from the first design to those with least
    delay and fewest cold starts.
    """
    tight = [entry.label for entry in rows if (entry.row.phone or PhoneDetail()).memory_was_tight]
    sentences = ["Memory was never tight." if not tight else f"Memory was tight under {len(tight)} of {len(rows)} designs."]
    timed = [entry for entry in rows if entry.row.launches is not None and entry.row.launches.delay_ms is not None]
    if len(timed) < 2:
        return sentences
    base, least = timed[0], min(timed, key=_mean)
    if least is not base:
        sentences.append(_change_of_delay(base, least))
    fewest = min(timed, key=_cold)
    if _cold(fewest) < _cold(base):
        change = _cold(fewest) - _cold(base)
        sentences.append(f"From {base.label} to {fewest.label} cold starts change by {number(change)} ({_percent(change, _cold(base))}).")
    return sentences


def _mean(entry: LabeledRow) -> float:
    return DELAY.value(entry.row) or 0.0


def _cold(entry: LabeledRow) -> float:
    return COLD.value(entry.row) or 0.0


def _percent(change: float, of: float) -> str:
    return f"{100 * change / of:+.1f} %" if of else "from none"


def _change_of_delay(base: LabeledRow, least: LabeledRow) -> str:
    change = _mean(least) - _mean(base)
    percent = _percent(change, _mean(base))
    first, second = DELAY.interval(base.row), DELAY.interval(least.row)
    if first is not None and second is not None and not separates(first, second):
        lowest = f"the lowest mean is that of {least.label} ({percent}), and the intervals overlap"
        return f"No design is shown to launch faster than {base.label}: {lowest}."
    note = "; no interval, as there is one run" if first is None or second is None else ""
    return f"From {base.label} to {least.label} the mean launch changes by {change:+,.0f} ms ({percent}{note})."
