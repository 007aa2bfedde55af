"""The worlds, one line each. A world is a module with `KEY`, `PARALLEL`, `batches(points)` and `run(points, options)`."""

from __future__ import annotations

from types import ModuleType
from typing import Protocol, cast

from swaplab.core.errors import NotSupported
from swaplab.core.model import Experiment
from swaplab.worlds import kernel, memory, phone, replay, vm
from swaplab.worlds.result import Options, WorldResult


class World(Protocol):
    """One way of running designs."""

    KEY: str
    #: Whether points may run at the same time: not where they would measure one another.
    PARALLEL: bool

    def batches(self, points: list[Experiment]) -> list[list[int]]:
        """Indices of points that are run together because they share work."""

    def run(self, points: list[Experiment], options: Options) -> WorldResult:
        """Run every design at every point; rows in that order."""


WORLDS: dict[str, ModuleType] = {module.KEY: module for module in (replay, phone, memory, kernel, vm)}


def world(key: str) -> World:
    """The world of this key."""
    if key not in WORLDS:
        raise NotSupported(f"world {key}: not in this version")
    return cast(World, WORLDS[key])
