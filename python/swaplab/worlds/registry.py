"""The registry of worlds. A world is a module of this package with `PARALLEL`,
`batches(points)` and `run(points, options)`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Protocol, cast

from swaplab.core.errors import NotSupported
from swaplab.core.model import Experiment
from swaplab.worlds.result import Options, WorldResult


class World(Protocol):
    """The interface of a world's module."""

    #: Whether points may run at the same time. False if concurrent runs would disturb each other's
    #: measurements.
    PARALLEL: bool

    def batches(self, points: list[Experiment]) -> list[list[int]]:
        """Group the indices of points that run together because they share work."""

    def run(self, points: list[Experiment], options: Options) -> WorldResult:
        """Run every design at every point. Rows are in the order of points, then of designs."""


#: Keys of the worlds, which are the names of their modules. A module is imported when its world is
#: asked for, as importing all of them takes a tenth of a second.
WORLDS = ("replay", "phone", "memory", "kernel", "vm")
#: The worlds that run swaplab's own models.
SIMULATED = ("replay", "phone")


def world(key: str) -> World:
    """Return the world with this key. Raises NotSupported for an unknown key."""
    if key not in WORLDS:
        raise NotSupported(f"world {key}: not in this version; expected one of: {' '.join(WORLDS)}")
    return cast(World, import_module(f"swaplab.worlds.{key}"))
