"""Run an experiment: expand its points, give them to its worlds, join the rows into one document."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version

import polars as pl

from swaplab import __version__
from swaplab.core import experiment as experiments
from swaplab.core.errors import BadInput
from swaplab.core.experiment import Point
from swaplab.core.model import Document, Experiment, Row
from swaplab.worlds.inputs import inputs_of
from swaplab.worlds.registry import world
from swaplab.worlds.result import CoreResult, Options, WorldResult
from swaplab.worlds.sweep.runner import Runner, in_this_process
from swaplab.worlds.sweep.store import Store

#: Version of the document's form (crates/experiment/src/document).
SCHEMA = 2


@dataclass
class Outcome:
    """What a run gives: the document, and where it is of one point tables and other files (recorded kernel events) by name."""

    document: Document
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)


def run(
    experiment: Experiment,
    options: Options | None = None,
    runner: Runner | None = None,
    store: Store | None = None,
    place: str = "experiment",
) -> Outcome:
    """Run a resolved experiment in every world of `run.on`.

    `runner` runs batches of points elsewhere (processes, a Dask cluster); `store` keeps what is done, so that a stopped run goes on.
    Raises BadInput where a world cannot run a design, before any work.
    """
    options = options or Options()
    experiments.refuse(_first(experiment, place), place)
    values = experiments.points(experiment, place)
    points = [experiments.at(experiment, point, place) for point in values]
    for point in points:
        experiments.refuse(point, place)
    inputs = inputs_of(points[0])
    results: list[WorldResult] = []
    worlds = points[0].run.on
    total = len(points) * len(worlds)
    for number, key in enumerate(worlds):
        alone = len(points) == 1
        listener = _share(options.listener, number * len(points), total, alone)
        told = Options(**{**vars(options), "listener": listener, "tables": options.tables and alone})
        results.append(_run_world(key, points, values, told, runner, store))
    document = Document(
        schema_version=SCHEMA,
        name=experiment.name or "run",
        experiment=experiment,
        inputs=inputs,
        versions=_versions() | {name: text for result in results for name, text in result.versions.items()},
        machine=next((result.host for result in results if result.host), None),
        warnings=list(dict.fromkeys(line for result in results for line in result.warnings)),
        rows=[row for result in results for row in result.rows],
        tables=sorted({name for result in results for name in result.tables}),
    )
    return Outcome(document, _joined(results), {name: text for result in results for name, text in result.files.items()})


def _first(experiment: Experiment, place: str) -> Experiment:
    """The experiment at its first point: a key that varies may be missing without one."""
    return experiments.at(experiment, experiments.points(experiment, place)[0], place)


def _share(listener: Callable[[int, int], None] | None, before: int, total: int, alone: bool) -> Callable[[int, int], None] | None:
    """Progress of one world as a part of the whole run; of a single point the world's own."""
    if listener is None or alone:
        return listener
    return lambda done, _all: listener(before + done, total)


def _run_world(
    key: str, points: list[Experiment], values: list[Point], options: Options, runner: Runner | None, store: Store | None
) -> WorldResult:
    of = world(key)
    if len(points) == 1 and store is None:
        result = of.run(points, options)
        _place(result.rows, points, values)
        return result
    rows_by_point: dict[int, list[Row]] = {}
    result = WorldResult([])
    keys = [_identity(key, point) for point in points]
    if store is not None:
        for index, kept in store.results(keys).items():
            rows_by_point[index] = kept.rows
            result.warnings += kept.warnings
    todo = [index for index in range(len(points)) if index not in rows_by_point]
    groups = [[todo[at] for at in group] for group in of.batches([points[index] for index in todo])]
    run_batches = runner if runner is not None and of.PARALLEL else in_this_process
    batches = [(key, [(index, experiments.dumped(points[index])) for index in group]) for group in groups]
    for batch, part in run_batches(batches, options):
        _place(part.rows, [points[index] for index, _ in batch[1]], [values[index] for index, _ in batch[1]])
        per_point = len(part.rows) // len(batch[1])
        for at, (index, _) in enumerate(batch[1]):
            rows_by_point[index] = part.rows[at * per_point : (at + 1) * per_point]
            if store is not None:
                store.add(keys[index], CoreResult(rows=rows_by_point[index], warnings=part.warnings))
        result.host = result.host or part.host
        result.warnings += part.warnings
        result.tables = part.tables or result.tables
        result.files |= part.files
        result.versions |= part.versions
        if options.listener:
            options.listener(len(rows_by_point), len(points))
    result.rows = [row for index in range(len(points)) for row in rows_by_point[index]]
    result.warnings = sorted(set(result.warnings))  # whatever order batches came in
    return result


def _place(rows: list[Row], points: list[Experiment], values: list[Point]) -> None:
    """Say of each row at which point it stands: rows come by point, then by design."""
    if not rows:  # a dry run
        return
    per_point = len(rows) // len(points)
    if per_point * len(points) != len(rows):
        raise BadInput(f"{len(rows)} rows of {len(points)} points; expected as many of each")
    for at, row in enumerate(rows):
        row.point = values[at // per_point]
        row.machine = points[at // per_point].machine.base


def _identity(world_key: str, point: Experiment) -> str:
    """What makes two points the same: the world, the version, the experiment, and the content of the files that it reads."""

    content = [f"{source.kind} {source.name} {source.content_hash}" for source in inputs_of(point)]
    bare = point.model_copy(update={"name": "", "about": ""})
    return hashlib.sha256("\n".join([__version__, world_key, experiments.dumped(bare), *content]).encode()).hexdigest()[:24]


def _joined(results: list[WorldResult]) -> dict[str, pl.DataFrame]:
    """Tables of all worlds by name; where two worlds have one, a column `world` tells their rows apart."""
    frames_by_name: dict[str, list[pl.DataFrame]] = {}
    for result in results:
        world_key = result.rows[0].world if result.rows else ""
        for name, frame in result.tables.items():
            frames_by_name.setdefault(name, []).append(frame.with_columns(world=pl.lit(world_key)))
    return {name: pl.concat(frames, how="diagonal_relaxed") for name, frames in frames_by_name.items()}


def _versions() -> dict[str, str]:
    packages = {name: version(name) for name in ("polars", "altair", "vl-convert-python")}
    return {"swaplab": __version__, "python": platform.python_version(), **packages}
