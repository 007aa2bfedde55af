"""Where designs run. `run` is the one way in: a typed experiment goes in, a typed document comes out, whatever the world."""

from swaplab.worlds.run import Outcome, run

__all__ = ["Outcome", "run"]
