"""swaplab: the lab for swap on phones and other small-memory machines.

`Experiment` describes a run and executes it with `run()`; `Result` holds the figures of a run;
`Trace` opens page traces. They are imported on first use, so that the command starts fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from swaplab._core import BadInput, NotSupported, __version__
from swaplab.core.errors import Failed
from swaplab.core.lazy import load_at_first_use

if TYPE_CHECKING:
    from swaplab.api import Experiment, Result, Trace

# A tenth and a fifth of a second to import.
load_at_first_use("polars", "altair")

__all__ = ["BadInput", "Experiment", "Failed", "NotSupported", "Result", "Trace", "__version__"]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> object:
    if name in ("Experiment", "Result", "Trace"):
        return getattr(import_module("swaplab.api"), name)
    raise AttributeError(f"module 'swaplab' has no attribute '{name}'")
