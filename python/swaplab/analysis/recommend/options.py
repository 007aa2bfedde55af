"""The options that runs tried: what was set, what was the same beside it, and what each user, trace or app got.

A unit is what evidence is counted in: a user (a launch sequence, with its seed where it is generated), a trace, or on a real kernel an app.
Launches of one user, or sizes of one trace, are no independent witnesses.
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
    """`outcomes`: by unit, then by the outcome's path."""

    name: str
    kind: Kind
    settings: dict[str, str]
    owner: dict[str, str]
    rests: dict[str, str]
    beside: str
    outcomes: dict[str, dict[str, float]] = field(default_factory=dict)


def options(documents: Sequence[Document], each_draw: bool = False) -> list[Option]:
    """Every option of the runs; the same option in two runs has the units of both."""
    return list(_joined(option for document in documents for option in _of(document, each_draw)))


def _of(document: Document, each_draw: bool) -> Iterator[Option]:
    at_point: dict[str, Experiment] = {}
    for row in document.rows:
        if row.invalid is not None or (row.replay is not None and row.replay.filter_limited):
            continue
        units = _units(row, document, each_draw)
        if not any(units.values()):
            continue
        point = json.dumps(row.point, sort_keys=True)
        if point not in at_point:
            at_point[point] = _at(document.experiment, row)
        placed = settings_of(row, at_point[point])
        where = ", ".join(f"{key} = {value}" for key, value in row.point.items()) or (size_label(row) if row.replay is not None else "")
        name = f"{row.design} ({where})" if where else row.design
        yield Option(name, row.kind, placed.values, placed.owner, placed.rests, placed.beside, units)


def _at(experiment: Experiment, row: Row) -> Experiment:
    if not row.point:
        return experiment
    return experiments.at(experiment, row.point, "recommend")


def _joined(tried: Iterable[Option]) -> Iterator[Option]:
    together: dict[str, Option] = {}
    for option in tried:
        key = json.dumps([option.settings, option.rests, option.beside, option.kind], sort_keys=True)
        together.setdefault(
            key, Option(option.name, option.kind, option.settings, option.owner, option.rests, option.beside)
        ).outcomes.update(option.outcomes)
    yield from together.values()


def _units(row: Row, document: Document, each_draw: bool) -> dict[str, dict[str, float]]:
    whole = {outcome.path: value for outcome in OUTCOMES if (value := outcome.value(row)) is not None}
    if row.kernel is not None and row.kernel.by_app_ms:
        return {f"app {app}": {"launches.delay_ms.mean": value} for app, value in row.kernel.by_app_ms.items()}
    if row.replay is not None:
        trace = next((source for source in document.inputs if source.kind == "trace"), None)
        return {f"trace {trace.content_hash or trace.name if trace is not None else row.workload}": whole}
    recorded = next((source for source in document.inputs if source.kind == "launches"), None)
    seeds = {
        draw.seed: whole
        | {outcome.path: draw.figures[outcome.path] * outcome.scale for outcome in OUTCOMES if outcome.path in draw.figures}
        for draw in row.by_seed
    } or {row.seed: whole}
    if recorded is None or each_draw:
        return {f"{row.workload}, seed {seed}": figures for seed, figures in seeds.items()}
    # One recorded user, whatever seeds draw the sizes of the apps.
    rows = list(seeds.values())
    return {f"user {recorded.content_hash or recorded.name}": {key: fmean(figures[key] for figures in rows) for key in rows[0]}}
