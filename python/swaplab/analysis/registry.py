"""Typed entries of the core's registries: settings of parameters on a real machine, media of
schemes, policies that are bounds.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

from pydantic import Field, TypeAdapter

from swaplab import _core
from swaplab.core.bases import DEFERRED, TolerantModel
from swaplab.core.model import OneOrMany, Spec


class Setting(TolerantModel):
    """A setting of a kernel or of Android by its own name."""

    name: str
    place: Literal["sysctl", "sysfs", "property"]


class Parameter(TolerantModel):
    name: str
    default: str = ""
    meaning: str = ""
    setting: Setting | None = None


class Area(TolerantModel):
    """A part of a medium that a scheme reserves, and the parameter for its size."""

    parameter: str
    medium: str


class Entry(TolerantModel):
    """A row of `swaplab list KIND --json`. `medium` and `areas` are for schemes, `offline` for
    policies.
    """

    key: str
    what: str = ""
    parameters: list[Parameter] = Field(default_factory=list)
    medium: str | None = None
    areas: list[Area] = Field(default_factory=list)
    compresses: bool = False
    offline: bool | None = None


_ENTRIES = TypeAdapter(list[Entry], config=DEFERRED)


@cache
def schemes() -> dict[str, Entry]:
    return {entry.key: entry for entry in _ENTRIES.validate_json(_core.registry("schemes"))}


@cache
def policies() -> dict[str, Entry]:
    return {entry.key: entry for entry in _ENTRIES.validate_json(_core.registry("policies"))}


@cache
def bounds() -> dict[str, Entry]:
    return {entry.key: entry for entry in _ENTRIES.validate_json(_core.registry("bounds"))}


@cache
def killers() -> dict[str, Entry]:
    return {entry.key: entry for entry in _ENTRIES.validate_json(_core.registry("killers"))}


def is_bound(policy: str) -> bool:
    """Whether a policy knows the future or is a lower bound, so that it can be compared with but
    not chosen.
    """
    key = key_of(policy)
    entry = policies().get(key)
    return key in bounds() or (entry is not None and bool(entry.offline))


def key_of(text: str) -> str:
    """Return the key of a text such as `zram:size=1GiB` or `./libmine.so:mine:bits=2`."""
    return parts_of(text)[0]


def parts_of(text: str) -> tuple[str, dict[str, str]]:
    """Split a text into key and parameters. The key ends at the last colon before the first `=`; a
    value may be a `[list]` or quoted.
    """
    head, equals, _ = text.partition("=")
    if not equals:
        return text, {}
    key = head.rpartition(":")[0]
    given: dict[str, str] = {}
    start, depth, is_quoted = len(key) + 1, 0, False
    for at in range(start, len(text) + 1):
        letter = text[at] if at < len(text) else ","
        is_quoted ^= letter == '"'
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth == 0 and not is_quoted:
            name, _, value = text[start:at].partition("=")
            given[name.strip()] = value.strip().strip('"')
            start = at + 1
    return key, given


def text_of(spec: OneOrMany | Spec | None) -> str | None:
    """Format a specification, with parameters in the given order; None if `spec` is None or an
    empty list.
    """
    if spec is None or isinstance(spec, str):
        return spec
    if isinstance(spec, list):
        return text_of(spec[0]) if spec else None
    parameters = ",".join(f"{name}={_value(value)}" for name, value in spec.items() if name != "key")
    return f"{spec['key']}:{parameters}" if parameters else str(spec["key"])


def _value(value: bool | float | str | list[bool | float | str]) -> str:
    if isinstance(value, list):
        return f"[{';'.join(_value(element) for element in value)}]"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return f'"{value}"' if isinstance(value, str) and "," in value else str(value)


def _default(entry: Entry, name: str) -> str:
    return next((parameter.default for parameter in entry.parameters if parameter.name == name), "unlimited")


def area_bytes(swap: str | None, dram_bytes: float) -> dict[str, float]:
    """Compute the bytes that a scheme reserves, by medium. A percentage is of `dram_bytes`; an
    unlimited area counts as 0.
    """
    key, given = parts_of(swap or "none")
    areas: dict[str, float] = {}
    if (entry := schemes().get(key)) is None:
        return areas
    for area in entry.areas:
        text = given.get(area.parameter) or _default(entry, area.parameter)
        if text != "unlimited":
            percent = text.endswith("%")
            size = dram_bytes * float(text[:-1]) / 100 if percent else float(_core.size_bytes(area.parameter, text))
            areas[area.medium] = areas.get(area.medium, 0.0) + size
    return areas
