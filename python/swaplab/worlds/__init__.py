"""The worlds that run designs. `run` takes a typed experiment and returns a typed document, for
every world.
"""

from swaplab.worlds.run import Outcome, run

__all__ = ["Outcome", "run"]
