"""Measures of the later designs on the simulated phone: each design over the same phone without it, with intervals over users."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from swaplab.analysis.papers import Mean, Measured, ratio, rows_of
from swaplab.analysis.papers import interval as interval_of
from swaplab.core import experiment as experiments
from swaplab.core.document import figure
from swaplab.core.model import Row

EXPERIMENT = Path(__file__).parent / "experiment.toml"
REFAULTS = ("paging.file_refaults", "paging.anon_refaults")


@cache
def _pair(design: str, base: str) -> tuple[Row, Row]:
    rows = rows_of(experiments.read(EXPERIMENT))
    return rows[design], rows[base]


def _less(design: str, base: str, path: str) -> Measured | None:
    """Measure a figure of which a design should have less; None if there is none of it without the design.

    The order holds if the whole interval over users is below 1.
    """
    pair = _pair(design, base)
    if not figure(pair[1], path):
        return None
    found = ratio(pair, path)
    return Measured(found.value, found.text, found.is_below(1))


def _resume(design: str, base: str) -> Measured | None:
    """Measure the mean resume delay; None if there was no resume. Rows have it over all users together: no interval shows an order."""
    spreads = [row.launches.resume_ms if row.launches is not None else None for row in _pair(design, base)]
    if spreads[0] is None or spreads[1] is None:
        return None
    ours, without = spreads[0].mean, spreads[1].mean
    return Measured(ours / without, f"{ours / without:.2f} times ({ours:.0f} for {without:.0f} ms; no interval)")


def asap_switch() -> Measured | None:
    return _resume("ASAP", "zram")


def swam_kills() -> Measured | None:
    return _less("SWAM's victim", "zram", "launches.kills")


def swam_launch() -> Measured | None:
    return _less("SWAM's victim", "zram", "launches.delay_ms.mean")


def acclaim_refaults() -> Measured | None:
    pair = _pair("Acclaim", "zram")
    with_design, without = (sum(figure(row, path) or 0.0 for path in REFAULTS) for row in pair)

    def quotient(first: Mean, second: Mean) -> float:
        return sum(first(path) for path in REFAULTS) / sum(second(path) for path in REFAULTS)

    value = with_design / without
    return Measured(value, f"{value:.3f} times ({interval_of(pair, quotient, '.3f')})", value < 1)


def acclaim_direct_reclaim() -> Measured | None:
    return _less("Acclaim", "zram", "time.direct_reclaim_ns")


def ariadne_relaunch() -> Measured | None:
    return _resume("Ariadne", "write-back")


def ariadne_cpu() -> Measured | None:
    return _less("Ariadne", "write-back", "time.cpu_swap_ns")
