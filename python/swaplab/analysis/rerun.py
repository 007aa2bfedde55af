"""Comparison of a run with a rerun of its experiment, row by row."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from swaplab.analysis.side_by_side import point_text
from swaplab.core.errors import BadInput
from swaplab.core.model import Document, Row


class Agreement(BaseModel):
    """The comparison of a row of both runs."""

    model_config = ConfigDict(extra="forbid")

    world: str
    design: str
    point: str
    agrees: bool
    why: str


def is_exact(row: Row) -> bool:
    """Whether a rerun must give an identical row: rows of a model or of a virtual kernel do,
    measured rows do not.
    """
    return row.kind in ("simulated", "virtual")


def agreements(before: Document, after: Document) -> list[Agreement]:
    """Compare the rows of both runs. Raises BadInput if the runs have different rows.

    Exact rows agree if they are equal. Measured rows agree if the 95 % intervals of the mean delay
    overlap, and so do the ranges of kills of single repetitions.
    """
    if [_key(row) for row in before.rows] != [_key(row) for row in after.rows]:
        raise BadInput("rerun: the two runs have different rows; expected those of one experiment")
    return [_agreement(old, new) for old, new in zip(before.rows, after.rows, strict=True)]


def _key(row: Row) -> tuple[str, str, str]:
    return row.world, row.design, point_text(row)


def _agreement(old: Row, new: Row) -> Agreement:
    why = _different_figures(old, new) if is_exact(old) else _difference_of_measurements(old, new)
    return Agreement(world=old.world, design=old.design, point=point_text(old), agrees=not why, why=why)


def _different_figures(old: Row, new: Row) -> str:
    was, now = (row.model_dump(exclude={"workload"}) for row in (old, new))
    return ", ".join(name for name in was if was[name] != now[name])


def _difference_of_measurements(old: Row, new: Row) -> str:
    """Explain why two measurements do not agree; empty if they do."""
    path = "launches.delay_ms.mean"
    spans = [row.interval.get(path) for row in (old, new)]
    if spans[0] and spans[1] and (spans[0][0] > spans[1][1] or spans[1][0] > spans[0][1]):
        return f"mean delay {spans[0][0]:.1f} to {spans[0][1]:.1f} ms then, {spans[1][0]:.1f} to {spans[1][1]:.1f} now"
    kills = [[seed.figures["launches.kills"] for seed in row.by_seed if "launches.kills" in seed.figures] for row in (old, new)]
    if kills[0] and kills[1] and (min(kills[0]) > max(kills[1]) or min(kills[1]) > max(kills[0])):
        return f"{min(kills[0]):g} to {max(kills[0]):g} kills then, {min(kills[1]):g} to {max(kills[1]):g} now"
    return ""
