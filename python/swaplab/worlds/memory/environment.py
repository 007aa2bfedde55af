"""The settings of the preload library, which runs a program under the pager, for a design."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from swaplab._core import pager_check, size_bytes
from swaplab.core.errors import BadInput, NotSupported
from swaplab.core.files import path_for_message
from swaplab.core.model import Design, Experiment, Kind
from swaplab.worlds.memory import pager
from swaplab.worlds.swap import Swap, spec_text

#: The pager's policy for a design with policy `system`.
POLICY = "refault"
LEAST_DRAM = 1 << 20
PLAIN = "plain"


@dataclass(frozen=True)
class Environment:
    """The pager's settings for a design."""

    dram: int
    swap: Swap
    policy: str
    settings: dict[str, str]
    #: `emulated` if DRAM emulates NVM or a latency is injected.
    kind: Kind

    def variables(self, statistics: Path, record: Path | None = None) -> dict[str, str]:
        """Return the environment variables of a program; its statistics and recorded faults are
        written to these directories.
        """
        values = self.settings | {"STATS": str(statistics)} | ({"RECORD": str(record)} if record else {})
        preload = os.pathsep.join([str(pager.library()), *filter(None, [os.environ.get("LD_PRELOAD")])])
        return {f"SWAPLAB_{name}": value for name, value in values.items()} | {"LD_PRELOAD": preload}


def environment(experiment: Experiment, design: Design) -> Environment:
    """Build the design's settings. Raises BadInput for invalid values, NotSupported for missing
    capabilities.
    """
    options, place = experiment.run.memory, f"{experiment.name}: design '{design.name}'"
    dram = size_bytes("machine.dram", experiment.machine.dram or "")
    if dram < LEAST_DRAM:
        raise BadInput(f"machine.dram: '{experiment.machine.dram}'; expected at least 1MiB")
    swap = Swap.resolve(f"{place}: swap", design.swap, dram)
    policy = POLICY if design.policy == "system" else spec_text(design.policy)
    nvm = options.nvm if options.nvm.startswith("node:") else _directory("run.memory.nvm", options.nvm, "a directory of a tmpfs, or node:N")
    flash = _directory("run.memory.flash", options.flash, "a directory")
    read_ns, write_ns = pager_check(swap.text, policy, "" if options.medium == PLAIN else options.medium, nvm, flash or None)
    if options.medium != PLAIN and swap.reads_in_place:
        why = "the kernel itself maps a page that is read in place, so no latency can be charged there; the simulator prices it"
        raise NotSupported(f"run.memory.medium: {options.medium} with {swap.key}: {why} (take nvm-copy to charge copies)")
    settings = {"DRAM": str(dram), "SCHEME": swap.text, "POLICY": policy, "READ_NS": str(read_ns), "WRITE_NS": str(write_ns)}
    settings["UNMANAGED"] = options.unmanaged
    settings |= {name: value for name, value in (("NVM", nvm), ("FLASH", flash)) if value}
    settings |= {"STORE_BYTES": str(swap.size)} if swap.size else {}
    emulated = "nvm" in swap.media() and not nvm.startswith("node:")
    return Environment(dram, swap, policy, settings, "emulated" if emulated or options.medium != PLAIN else "measured")


def _directory(key: str, path: str, expected: str) -> str:
    """Return the full path of an existing directory; empty if `path` is empty."""
    if path and not Path(path).is_dir():
        raise BadInput(f"{key}: '{path_for_message(path)}'; expected {expected}")
    return str(Path(path).resolve()) if path else ""


def check_program(experiment: Experiment, path: Path) -> str | None:
    """Check that the pager can manage this program; returns None if so.

    Otherwise raises NotSupported if `run.memory.unmanaged` is "refuse", else returns a warning.
    """
    try:
        pager.check_program(path)
    except NotSupported as why:
        if experiment.run.memory.unmanaged == "refuse":
            raise
        return f"{why}: it runs unmanaged, on as much memory as it takes"
    return None
