"""Swap schemes as the registry resolves them, for the worlds on a real machine."""

from __future__ import annotations

import json

from swaplab._core import scheme_resolve
from swaplab.core.bases import TolerantModel
from swaplab.core.model import OneOrMany


class Area(TolerantModel):
    """A part of a medium that a scheme reserves, and the parameter for its size. The first one is
    the swap area.
    """

    parameter: str
    medium: str


class Swap(TolerantModel):
    """A resolved scheme with its parameters."""

    text: str
    key: str
    areas: list[Area]
    #: Whether pages are read where they lie (Direct Read).
    reads_in_place: bool
    #: Parameters that were given; the others have their defaults.
    given: list[str]
    #: Bytes of each parameter that is a size; None: unlimited.
    sizes: dict[str, int | None]
    #: Every other parameter, as its text in the experiment.
    texts: dict[str, str]

    @classmethod
    def resolve(cls, place: str, spec: OneOrMany | None, dram: int) -> Swap:
        """Resolve the scheme of a design's spec on `dram` bytes of DRAM; `place` names it in
        errors.
        """
        return cls.model_validate_json(scheme_resolve(place, json.dumps(spec), dram))

    @property
    def size(self) -> int:
        """Bytes of the swap area; 0 if there is none."""
        return (self.sizes[self.areas[0].parameter] or 0) if self.areas else 0

    def media(self) -> dict[str, int]:
        """Return the bytes reserved on each medium other than DRAM."""
        areas = [area for area in self.areas if area.medium not in ("dram", "pool")]
        sizes = {area.medium: self.sizes[area.parameter] for area in areas}
        return {medium: self.size if size is None else size for medium, size in sizes.items()}


def spec_text(spec: OneOrMany) -> str:
    """Format a spec as in a row."""
    if isinstance(spec, str):
        return spec
    if isinstance(spec, list):
        return " ".join(spec_text(part) for part in spec)
    values = [f"{name}={_value_text(value)}" for name, value in spec.items() if name != "key"]
    return ":".join([str(spec["key"]), *([",".join(values)] if values else [])])


def _value_text(value: bool | float | str | list[bool | float | str]) -> str:
    if isinstance(value, list):
        return f"[{';'.join(_value_text(element) for element in value)}]"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
