"""The world `kernel`: real programs launched and switched to under this machine's own reclaim and swap, or another machine's.

Everything that changes the machine is a step whose undoing is written to a journal first (`journal.py`), so that Ctrl-C, an error and
even `kill -9` leave the machine as it was (`swaplab doctor --repair`).
"""

from swaplab.worlds.kernel.runner import needs
from swaplab.worlds.kernel.world import KEY, PARALLEL, batches, run

__all__ = ["KEY", "PARALLEL", "batches", "needs", "run"]
