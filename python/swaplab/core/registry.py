"""The core's registries of each kind: keys, parameters, sources."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, TypeAdapter

from swaplab import _core
from swaplab.core.bases import DEFERRED
from swaplab.core.presets import presets

#: Kinds that `swaplab list` knows.
KINDS = (
    "policies", "bounds", "schemes", "admissions", "app-policies", "killers", "devices", "machines", "apps", "launches", "formats",
    "victims", "worlds", "presets",
)  # fmt: skip


class Setting(BaseModel):
    """A setting of a kernel or of Android that a parameter represents."""

    name: str
    place: str


class Parameter(BaseModel):
    """One parameter of an entry."""

    model_config = ConfigDict(extra="allow")

    name: str
    default: str
    meaning: str
    setting: Setting | None = None


class Entry(BaseModel):
    """An entry of a registry. Properties of its kind (a policy's signal, a scheme's medium and
    worlds) are attributes too.
    """

    model_config = ConfigDict(extra="allow")

    key: str
    what: str
    source: str = ""
    parameters: list[Parameter] = []


_ROWS = TypeAdapter(list[Entry], config=DEFERRED)


def rows(kind: str) -> list[Entry]:
    """Every entry of a kind, in the order of the documents."""
    if kind == "presets":
        return [Entry(key=key, what=what) for key, what in presets().items()]
    return _ROWS.validate_json(_core.registry(kind))


def entry(kind: str, key: str) -> Entry:
    """The entry of a key that is known to exist."""
    return next(row for row in rows(kind) if row.key == key)
