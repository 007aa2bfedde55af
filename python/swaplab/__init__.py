"""swaplab: the lab for swap on phones and other small-memory machines.

`Trace` opens page traces, `Experiment` describes a run, `Result` is what it found. They are imported when first used, so that the command
starts fast; `typing`, which only a checker of types needs, is not imported for the same reason.
"""

from __future__ import annotations

from importlib import import_module

from swaplab._core import BadInput, NotSupported, __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from swaplab.experiment import Experiment
    from swaplab.result import Result
    from swaplab.trace import Trace

__all__ = ["BadInput", "Experiment", "Failed", "NotSupported", "Result", "Trace", "__version__"]

_LATER = {"Experiment": "swaplab.experiment", "Result": "swaplab.result", "Trace": "swaplab.trace"}


class Failed(Exception):
    """Something that should have gone well did not; the message is one line."""


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'swaplab' has no attribute '{name}'")
