"""The bases of models that are read from files and results."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class StrictModel(BaseModel):
    """A model that refuses unknown keys."""

    model_config = ConfigDict(extra="forbid")


class FrozenModel(StrictModel):
    """A model that refuses unknown keys, whose values cannot be assigned to."""

    model_config = ConfigDict(frozen=True)
