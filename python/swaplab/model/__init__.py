"""The models an experiment can run: one module a table of the experiment file, one line here to register it.

A model has `run(experiment, jobs, listener, tables)`, which gives its command's JSON document and fills `tables`, if given, with what it
has of them; for sweeps `batch(points)`, which groups points that share work, and `rows(batch)`, which runs one group and gives rows of
plain values for each point; `inputs` and `identity`, what is read and what makes two runs the same; `objectives`, what a sweep trades;
`beside(experiment, folder)`, which finds files that lie beside the experiment file; `KIND`; `PARALLEL`, whether points of a sweep may
run at the same time.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from swaplab import BadInput
from swaplab.model import bench, replay, sim

MODELS: dict[str, ModuleType] = {"replay": replay, "sim": sim, "bench": bench}


def model_of(experiment: dict[str, Any]) -> ModuleType:
    """The module of the one model table that the experiment holds."""
    found = [name for name in MODELS if experiment.get(name) is not None]
    if len(found) != 1:
        raise BadInput(f"experiment: {len(found)} model tables; expected exactly one of: {' '.join(f'[{name}]' for name in MODELS)}")
    return MODELS[found[0]]
