"""The sections of a document: one per world and workload, and one that compares the same designs
across worlds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from swaplab.analysis.compare import Comparison
from swaplab.analysis.memory_samples import SampleAdvice
from swaplab.analysis.plan import Plan
from swaplab.analysis.readable import Readable
from swaplab.analysis.recommend.result import Recommendation
from swaplab.analysis.results import Curve, EnergyResult, NvmCache, Spread
from swaplab.analysis.side_by_side import WorldComparison, compare_worlds
from swaplab.core.errors import BadInput
from swaplab.core.files import slug
from swaplab.core.model import Document, Row
from swaplab.report import (
    comparison,
    curve,
    energy,
    kernel,
    memory_samples,
    nvm_cache,
    phone,
    plan,
    programs,
    recommendation,
    replay,
    schemes,
    spread,
    sweep,
    worlds,
)
from swaplab.report.page import Section

View = Callable[[Document, Sequence[Row], str], Section]
#: If one world and workload have more rows than this, only the sweep is drawn.
MANY = 8
#: The only varied key that the views of a replay can draw.
MEMORY = "machine.dram"


def sections(document: Readable, key: str = "run") -> list[Section]:
    """Build the sections of one typed document or result."""
    match document:
        case Document():
            return _run_sections(document, key)
        case Comparison():
            return [comparison.section(document, key)]
        case Plan():
            return [plan.section(document, key)]
        case Recommendation():
            return [recommendation.section(document, key)]
        case SampleAdvice():
            return [memory_samples.section(document, key)]
        case Curve():
            return [curve.section(document, key)]
        case Spread():
            return [spread.section(document, key)]
        case EnergyResult():
            return [energy.section(document, key)]
        case NvmCache():
            return [nvm_cache.section(document, key)]
        case WorldComparison():
            return [worlds.section(document, key)]


def all_sections(documents: Sequence[tuple[str, Readable]]) -> list[Section]:
    """Build the sections of named documents. Names become unique ids. Runs of different worlds are
    also compared with each other.
    """
    gathered: list[Section] = []
    used_keys: set[str] = set()
    for name, document in documents:
        key = next(k for at in range(1, len(used_keys) + 2) if (k := slug(name) if at == 1 else f"{slug(name)}-{at}") not in used_keys)
        used_keys.add(key)
        gathered += sections(document, key)
    runs = [document for _, document in documents if isinstance(document, Document)]
    if len(runs) > 1 and all(len({row.world for row in run.rows}) < 2 for run in runs):
        comparison_of_worlds = compare_worlds([row for run in runs for row in run.rows])
        if comparison_of_worlds is not None:
            gathered.insert(0, worlds.section(comparison_of_worlds, "worlds"))
    return gathered


def _run_sections(document: Document, key: str) -> list[Section]:
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in document.rows:
        groups.setdefault((row.world, row.workload), []).append(row)
    if not groups:
        raise BadInput(f"{document.name}: no rows; expected a run with at least one")
    gathered = []
    for number, rows in enumerate(groups.values(), 1):
        section_key = key if len(groups) == 1 else f"{key}-{number}"
        gathered += [view(document, rows, section_key if at == 0 else f"{section_key}-sweep") for at, view in enumerate(_views(rows))]
    comparison_of_worlds = compare_worlds(document.rows)
    return [worlds.section(comparison_of_worlds, f"{key}-worlds"), *gathered] if comparison_of_worlds is not None else gathered


def _views(rows: Sequence[Row]) -> list[View]:
    """Choose the views: the world's own for few rows, the sweep for many rows or for keys that the
    world's view cannot draw.
    """
    first = rows[0]
    names = dict.fromkeys(name for row in rows for name in row.point)
    varied = {name for name in names if len({str(row.point.get(name)) for row in rows}) > 1}
    if first.replay is not None:
        section_key: View = replay.section if all(row.swap is None for row in rows) else schemes.section
        return [sweep.section] if varied - {MEMORY} else [section_key]
    if varied:
        return [_world_view(first), sweep.section] if len(rows) <= MANY else [sweep.section]
    return [_world_view(first)]


def _world_view(row: Row) -> View:
    if row.phone is not None:
        return phone.section
    if row.program is not None:
        return programs.section
    if row.kernel is not None or row.launches is not None:
        return kernel.section
    raise BadInput(f"{row.design}: a row of the world '{row.world}' with no figures of any world; expected a row that 'swaplab run' wrote")
