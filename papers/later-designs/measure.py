"""Measures of the later designs on the simulated phone: each design over the same phone without it,
with intervals over users.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from swaplab.analysis.papers import Mean, Measured, interval_of, interval_text, ratio, rows_of
from swaplab.core import experiment as experiments
from swaplab.core.document import figure
from swaplab.core.model import Row

EXPERIMENT = Path(__file__).parent / "experiment.toml"
REFAULTS = ("paging.file_refaults", "paging.anon_refaults")


@cache
def _pair(design: str, base: str) -> tuple[Row, Row]:
    rows = rows_of(experiments.read(EXPERIMENT))
    return rows[design], rows[base]


def _less(design: str, base: str, path: str) -> Measured:
    """Measure a figure of which a design should have less. There is nothing to compare if there is
    none of it without the design.
    """
    pair = _pair(design, base)
    if not figure(pair[1], path):
        return Measured(0.0, "none without it", n=0)
    found = ratio(pair, path)
    return Measured(found.value, found.text, interval=found.interval)


def _resume(design: str, base: str) -> Measured:
    """Measure the mean resume delay. Rows have it over all users together, so there is no
    interval.
    """
    pair = _pair(design, base)
    ours, without = (row.launches.resume_ms if row.launches is not None else None for row in pair)
    if ours is None or without is None:
        return Measured(0.0, "no resume", n=0)
    text = f"{ours.mean / without.mean:.2f} times ({ours.mean:.0f} for {without.mean:.0f} ms; no interval)"
    return Measured(ours.mean / without.mean, text, n=len(pair[0].by_seed))


def asap_switch() -> Measured:
    return _resume("ASAP", "zram")


def swam_kills() -> Measured:
    return _less("SWAM's victim", "zram", "launches.kills")


def swam_launch() -> Measured:
    return _less("SWAM's victim", "zram", "launches.delay_ms.mean")


def acclaim_refaults() -> Measured:
    pair = _pair("Acclaim", "zram")
    with_design, without = (sum(figure(row, path) or 0.0 for path in REFAULTS) for row in pair)

    def quotient(first: Mean, second: Mean) -> float:
        return sum(first(path) for path in REFAULTS) / sum(second(path) for path in REFAULTS)

    value, bounds = with_design / without, interval_of(pair, quotient)
    return Measured(value, f"{value:.3f} times ({interval_text(bounds, '.3f')})", interval=bounds)


def acclaim_direct_reclaim() -> Measured:
    return _less("Acclaim", "zram", "time.direct_reclaim_ns")


def ariadne_relaunch() -> Measured:
    return _resume("Ariadne", "write-back")


def ariadne_cpu() -> Measured:
    return _less("Ariadne", "write-back", "time.cpu_swap_ns")
