"""Running an experiment: expand its points, run them in its worlds, join the rows into one
document.
"""

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
from swaplab.worlds.registry import SIMULATED, world
from swaplab.worlds.result import NO_CHANGE, CoreResult, Options, WorldResult
from swaplab.worlds.sweep.runner import Runner, in_this_process
from swaplab.worlds.sweep.store import Store

#: Version of the document's form (crates/experiment/src/document).
SCHEMA = 2
#: A warning that does not hold at all points names at most so many.
NAMED_POINTS = 4


@dataclass
class Outcome:
    """The document of a run; for a single point also tables and other files (recorded kernel
    events) by name.
    """

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

    `runner` runs batches of points elsewhere (processes, a Dask cluster); `store` saves finished
    points, so that a run can be resumed. Raises BadInput if a world cannot run a design, before any
    work.
    """
    options = options or Options()
    experiments.refuse(_first(experiment, place), place)
    values = experiments.points(experiment, place)
    points = [experiments.at(experiment, point, place) for point in values]
    for point in points:
        experiments.refuse(point, place)
    if store is not None:
        store.refuse_other(experiment)
    inputs = inputs_of(points[0])
    results: list[WorldResult] = []
    worlds = points[0].run.on
    total = len(points) * len(worlds)
    for number, key in enumerate(worlds):
        alone = len(points) == 1
        listener = _share(options.listener, number * len(points), total, alone)
        world_options = Options(**{**vars(options), "listener": listener, "tables": options.tables and alone})
        results.append(_run_world(key, points, values, world_options, runner, store))
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
    """Return the experiment at its first point: only a point has the values of the varied keys."""
    return experiments.at(experiment, experiments.points(experiment, place)[0], place)


def _share(listener: Callable[[int, int], None] | None, before: int, total: int, alone: bool) -> Callable[[int, int], None] | None:
    """Convert the progress of one world to that of the run; that of a single point is passed on
    unchanged.
    """
    if listener is None or alone:
        return listener
    return lambda done, _all: listener(before + done, total)


def _run_world(
    key: str, points: list[Experiment], values: list[Point], options: Options, runner: Runner | None, store: Store | None
) -> WorldResult:
    world_module = world(key)
    if options.dry_run and key in SIMULATED:
        options.say(f"world {key}: {NO_CHANGE}")
        return WorldResult([])
    if len(points) == 1 and store is None:
        result = world_module.run(points, options)
        _place(result.rows, points, values)
        return result
    rows_by_point: dict[int, list[Row]] = {}
    points_by_warning: dict[str, set[int]] = {}
    result = WorldResult([])
    keys = [_identity(key, point) for point in points]
    if store is not None:
        for index, kept in store.results(keys).items():
            rows_by_point[index] = kept.rows
            for warning in kept.warnings:
                points_by_warning.setdefault(warning, set()).add(index)
    todo = [index for index in range(len(points)) if index not in rows_by_point]
    groups = [[todo[at] for at in group] for group in world_module.batches([points[index] for index in todo])]
    run_batches = runner if runner is not None and world_module.PARALLEL and not options.dry_run else in_this_process
    batches = [(key, [(index, experiments.dumped(points[index])) for index in group]) for group in groups]
    for batch, part in run_batches(batches, options):
        _place(part.rows, [points[index] for index, _ in batch[1]], [values[index] for index, _ in batch[1]])
        per_point = len(part.rows) // len(batch[1])
        for at, (index, _) in enumerate(batch[1]):
            rows_by_point[index] = part.rows[at * per_point : (at + 1) * per_point]
            if store is not None:
                store.add(keys[index], CoreResult(rows=rows_by_point[index], warnings=part.warnings))
        result.host = result.host or part.host
        for warning in part.warnings:
            points_by_warning.setdefault(warning, set()).update(index for index, _ in batch[1])
        result.tables = part.tables or result.tables
        result.files |= part.files
        result.versions |= part.versions
        if options.listener:
            options.listener(len(rows_by_point), len(points))
    result.rows = [row for index in range(len(points)) for row in rows_by_point[index]]
    result.warnings = _warnings(points_by_warning, values)
    return result


def _warnings(points_by_warning: dict[str, set[int]], values: list[Point]) -> list[str]:
    """Say of each warning at which points it holds, unless it holds at all. Warnings are sorted, so
    that the order in which batches finish does not matter.
    """

    def places(indices: set[int]) -> str:
        named = [", ".join(f"{key}={value}" for key, value in values[index].items()) for index in sorted(indices)[:NAMED_POINTS]]
        others = f"; and {len(indices) - len(named)} others" if len(indices) > len(named) else ""
        return "" if len(indices) == len(values) else f" (at {'; '.join(named)}{others})"

    return [warning + places(points_by_warning[warning]) for warning in sorted(points_by_warning)]


def _place(rows: list[Row], points: list[Experiment], values: list[Point]) -> None:
    """Set the point and the machine of each row. Rows are in the order of points, then of
    designs.
    """
    if not rows:  # a dry run
        return
    per_point = len(rows) // len(points)
    if per_point * len(points) != len(rows):
        raise BadInput(f"{len(rows)} rows for {len(points)} points; expected the same number of rows for each point")
    for at, row in enumerate(rows):
        row.point = values[at // per_point]
        row.machine = points[at // per_point].machine.base


def _identity(world_key: str, point: Experiment) -> str:
    """Hash everything that determines a point's rows: world, version, experiment, and the content
    of the files that it reads.
    """

    content = [f"{source.kind} {source.name} {source.content_hash}" for source in inputs_of(point)]
    bare = point.model_copy(update={"name": "", "about": ""})
    return hashlib.sha256("\n".join([__version__, world_key, experiments.dumped(bare), *content]).encode()).hexdigest()[:24]


def _joined(results: list[WorldResult]) -> dict[str, pl.DataFrame]:
    """Concatenate the tables of all worlds by name, with a column `world`."""
    frames_by_name: dict[str, list[pl.DataFrame]] = {}
    for result in results:
        world_key = result.rows[0].world if result.rows else ""
        for name, frame in result.tables.items():
            frames_by_name.setdefault(name, []).append(frame.with_columns(world=pl.lit(world_key)))
    return {name: pl.concat(frames, how="diagonal_relaxed") for name, frames in frames_by_name.items()}


def _versions() -> dict[str, str]:
    packages = {name: version(name) for name in ("polars", "altair", "vl-convert-python")}
    return {"swaplab": __version__, "python": platform.python_version(), **packages}
