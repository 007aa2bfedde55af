"""The experiment file as pydantic models. Generated from the Rust types by tools/generate_config.py: do not edit."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

#: By another name, for models whose fields include `list`.
Many = list

Design = Literal["grid", "list", "random"]


FirstTouch = Literal["charged", "zero-fill"]


Mapping = Literal["follow", "ignore"]


# One text or a list of them.
OneOrMany = str | Many[str]


class Range(BaseModel):
    """Numbers from `low` to `high`, both included."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    high: float
    log: bool = Field(default=False)
    """Spaced by equal ratios in place of equal differences."""
    low: float
    steps: int = Field(default=5, ge=0)
    """How many numbers a grid takes from the range; a random design draws anywhere in it."""
    unit: str = Field(default="")
    """Written behind each number, such as `%` or `MiB`; without it, values are numbers."""


class Replay(BaseModel):
    """A page trace replayed under every policy at every memory size."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    data_read_class: str | None = Field(default=None)
    """Class of pages that are only read as data, where nothing gives it: `anonymous` or `file`."""
    file_device: str = Field(default="ufs-3.1")
    """Device under file pages."""
    filter: int | None = Field(default=None, ge=0)
    """Hits of an LRU filter of so many entries were dropped when `trace` was captured; told from its name where it says."""
    first_touch: FirstTouch | None = Field(default=None)
    """What the first touch of an anonymous page costs: `charged`, or `zero-fill` with a scheme."""
    format: str | None = Field(default=None)
    """Format of `trace`; detected where it can be."""
    mapping: Mapping = Field(default="follow")
    """Whether unmap and discard events free pages."""
    memory: OneOrMany = Field(default="10%")
    """Memory sizes: `64MiB`, `4096p`, or percent of the trace's footprint, `5%`."""
    page_size: int | None = Field(default=None, ge=0)
    """Bytes a page where `trace` does not say."""
    pages: str | None = Field(default=None)
    """Page table of `trace` (`pgcsv`)."""
    policy: OneOrMany = Field(default="clock")
    """Policies, such as `clock` or `spo-clock:mode=descriptor`."""
    scheme: OneOrMany | None = Field(default=None)
    """Swap schemes to join, such as `zram` or `nvm-direct`; without one, swap is what `swap_device` costs."""
    seconds: float | None = Field(default=None)
    """With a scheme: length of the run in seconds, for background energy and yearly wear."""
    signal: str = Field(default="exact")
    """What policies see of hits: `exact`, `reference-bit:REFERENCES` or `fault-only`."""
    swap_device: str | None = Field(default=None)
    """Device under anonymous pages: `optane-m10`, or with a scheme that of its own medium."""
    trace: str
    """A `.slt`, or any importable file; relative to the experiment file, or an address such as `s3://bucket/trace.slt`."""


# The values of one key.
Values = Many[Any] | Range


class Sweep(BaseModel):
    """Which points to run."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    design: Design = Field(default="grid")
    """How points are made from `vary` (`grid`, `random`) or `list`."""
    list: Many[dict[str, Any]] = Field(default_factory=list)
    """For `list`: each entry sets its keys for one point."""
    points: int | None = Field(default=None, ge=0)
    """How many points a `random` design draws."""
    vary: dict[str, Values] = Field(default_factory=dict)
    """A key of the experiment, such as `replay.memory`, and the values it takes."""


class Experiment(BaseModel):
    """One experiment: a model, what it is given, and how it is varied."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    replay: Replay | None = Field(default=None)
    """A page trace replayed under reclamation policies."""
    seed: int = Field(default=0, ge=0)
    """Seed of everything that is drawn at random."""
    sweep: Sweep | None = Field(default=None)
    """Points to run in place of the one that the model's table describes."""
