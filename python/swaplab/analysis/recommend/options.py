"""The options that runs tried: their settings, the conditions that they ran under, and their
outcomes unit by unit.

A unit is one independent observation: a user (a launch sequence, and its seed if it is generated),
a trace, or an app on a real kernel. Several launches of one user, or several memory sizes of one
trace, are not independent of each other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from swaplab.analysis.outcomes import OUTCOMES
from swaplab.analysis.recommend.settings import settings_of
from swaplab.analysis.relative import size_label
from swaplab.core import experiment as experiments
from swaplab.core.model import Document, Experiment, Kind, Row


@dataclass(frozen=True)
class Option:
    """A combination of settings that a run tried.

    The fields up to `conditions` are those of `Settings`; `outcomes` has each unit's figures by the
    outcome's path, in the outcome's unit of measurement.
    """

    name: str
    kind: Kind
    settings: dict[str, str]
    owner: dict[str, str]
    other_parameters: dict[str, str]
    conditions: str
    outcomes: dict[str, dict[str, float]] = field(default_factory=dict)


def options(documents: Sequence[Document], each_draw: bool = False) -> list[Option]:
    """List every option of the runs. An option that two runs tried has the units of both.

    `each_draw`: of one recorded user, each seed is a unit, as each draws the apps' sizes anew. Rows
    that are invalid or below what the trace's filter allows are left out.
    """
    return list(_joined(option for document in documents for option in _run_options(document, each_draw)))


def _run_options(document: Document, each_draw: bool) -> Iterator[Option]:
    """Yield the options of one run, one per row."""
    at_point: dict[str, Experiment] = {}
    for row in document.rows:
        if row.invalid is not None or (row.replay is not None and row.replay.filter_limited):
            continue
        units = _units(row, document, each_draw)
        if not any(units.values()):
            continue
        point = json.dumps(row.point, sort_keys=True)
        if point not in at_point:
            at_point[point] = experiments.at(document.experiment, row.point, "recommend")
        placed = settings_of(row, at_point[point])
        where = ", ".join(f"{key} = {value}" for key, value in row.point.items()) or (size_label(row) if row.replay is not None else "")
        name = f"{row.design} ({where})" if where else row.design
        yield Option(name, row.kind, placed.values, placed.owner, placed.other_parameters, placed.conditions, units)


def _joined(tried: Iterable[Option]) -> Iterator[Option]:
    """Join the outcomes of equal options; the first one gives the name."""
    together: dict[str, Option] = {}
    for option in tried:
        key = json.dumps([option.settings, option.other_parameters, option.conditions, option.kind], sort_keys=True)
        together.setdefault(
            key, Option(option.name, option.kind, option.settings, option.owner, option.other_parameters, option.conditions)
        ).outcomes.update(option.outcomes)
    yield from together.values()


def _units(row: Row, document: Document, each_draw: bool) -> dict[str, dict[str, float]]:
    """Collect the figures of a row by unit and by the outcome's path; on a kernel, the mean delay
    of each app, as its other figures are not known by app.

    A figure that a seed lacks is missing for that seed: the row's mean in its place would be
    evidence that nobody measured.
    """
    row_figures = {outcome.path: value for outcome in OUTCOMES if (value := outcome.value(row)) is not None}
    if row.kernel is not None and row.kernel.by_app_ms:
        return {f"app {app}": {"launches.delay_ms.mean": value} for app, value in row.kernel.by_app_ms.items()}
    if row.replay is not None:
        trace = next((source for source in document.inputs if source.kind == "trace"), None)
        return {f"trace {trace.content_hash or trace.name if trace is not None else row.workload}": row_figures}
    recorded = next((source for source in document.inputs if source.kind == "launches"), None)
    seeds = {
        draw.seed: {outcome.path: draw.figures[outcome.path] * outcome.scale for outcome in OUTCOMES if outcome.path in draw.figures}
        for draw in row.by_seed
    } or {row.seed: row_figures}
    if recorded is None or each_draw:
        return {f"{row.workload}, seed {seed}": figures for seed, figures in seeds.items()}
    # A recorded user is one unit, whose figures are the means over the seeds that drew app sizes.
    rows = list(seeds.values())
    known = [outcome.path for outcome in OUTCOMES if all(outcome.path in figures for figures in rows)]
    return {f"user {recorded.content_hash or recorded.name}": {path: fmean(figures[path] for figures in rows) for path in known}}
