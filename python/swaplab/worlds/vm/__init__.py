"""The world `vm`: synthetic apps in a Linux kernel in QEMU, under a clock that counts instructions
(docs/models/virtual-time.md).
"""

from swaplab.worlds.vm.runner import PARALLEL, batches, run

__all__ = ["PARALLEL", "batches", "run"]
