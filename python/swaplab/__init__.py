"""swaplab: the lab for swap on phones and other small-memory machines."""

from swaplab._core import BadInput, NotSupported, __version__

__all__ = ["BadInput", "NotSupported", "__version__"]
