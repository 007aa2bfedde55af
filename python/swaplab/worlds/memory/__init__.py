"""The world `memory`: real programs under the pager, each with a budget of DRAM, and NVM, a
compressed pool or flash behind it.
"""

from swaplab.worlds.memory.execute import execute
from swaplab.worlds.memory.world import PARALLEL, batches, needs, run

__all__ = ["PARALLEL", "batches", "execute", "needs", "run"]
