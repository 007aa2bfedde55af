"""The world `kernel`: real programs launched and switched to under the reclaim and swap of this or
another machine's kernel.

Every change to the machine is a step whose undo operation is written to a journal first
(`journal.py`). The machine is restored after Ctrl-C and errors, and by `swaplab doctor --repair`
after `kill -9`.
"""

from swaplab.worlds.kernel.runner import needs
from swaplab.worlds.kernel.world import PARALLEL, batches, run

__all__ = ["PARALLEL", "batches", "needs", "run"]
