"""Base classes of models. The validator of a model is built when it is first used: building those
of all models takes longer than a short command.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

#: Settings of an adapter whose validator is built when it is first used.
DEFERRED = ConfigDict(defer_build=True)


class StrictModel(BaseModel):
    """A model that refuses unknown keys."""

    model_config = ConfigDict(extra="forbid", defer_build=True)


class FrozenModel(StrictModel):
    """A model that refuses unknown keys, whose values cannot be assigned to."""

    model_config = ConfigDict(frozen=True)


class TolerantModel(BaseModel):
    """A model that ignores unknown keys, so that documents of a newer version can be read."""

    model_config = ConfigDict(extra="ignore", defer_build=True)
