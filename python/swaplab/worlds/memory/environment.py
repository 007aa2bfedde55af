"""How a program is put under the pager: the settings that the preload library reads, made of a design."""

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

#: The pager's policy where a design leaves it to the world.
POLICY = "refault"
LEAST_DRAM = 1 << 20
PLAIN = "plain"


@dataclass(frozen=True)
class Environment:
    """One design as the pager performs it."""

    dram: int
    swap: Swap
    policy: str
    settings: dict[str, str]
    #: `emulated` where DRAM poses as NVM, or a latency is injected.
    kind: Kind

    def variables(self, statistics: Path, record: Path | None = None) -> dict[str, str]:
        """Environment variables of a program whose statistics, and recorded faults, go to these directories."""
        values = self.settings | {"STATS": str(statistics)} | ({"RECORD": str(record)} if record else {})
        preload = os.pathsep.join([str(pager.library()), *filter(None, [os.environ.get("LD_PRELOAD")])])
        return {f"SWAPLAB_{name}": value for name, value in values.items()} | {"LD_PRELOAD": preload}


def environment(experiment: Experiment, design: Design) -> Environment:
    """The design's settings. Raises BadInput for what can't be meant, NotSupported for what this machine lacks."""
    asked, place = experiment.run.memory, f"{experiment.name}: design '{design.name}'"
    dram = size_bytes("machine.dram", experiment.machine.dram or "")
    if dram < LEAST_DRAM:
        raise BadInput(f"machine.dram: '{experiment.machine.dram}'; expected at least 1MiB")
    swap = Swap.resolve(f"{place}: swap", design.swap, dram)
    policy = POLICY if design.policy == "system" else spec_text(design.policy)
    nvm = asked.nvm if asked.nvm.startswith("node:") else _directory("run.memory.nvm", asked.nvm, "a directory of a tmpfs, or node:N")
    flash = _directory("run.memory.flash", asked.flash, "a directory")
    read_ns, write_ns = pager_check(swap.text, policy, "" if asked.medium == PLAIN else asked.medium, nvm, flash or None)
    if asked.medium != PLAIN and swap.key == "nvm-direct":
        why = "the kernel itself maps a page that is read in place, so no latency can be charged there; the simulator prices it"
        raise NotSupported(f"run.memory.medium: {asked.medium} with nvm-direct: {why} (take nvm-copy to charge copies)")
    settings = {"DRAM": str(dram), "SCHEME": swap.text, "POLICY": policy, "READ_NS": str(read_ns), "WRITE_NS": str(write_ns)}
    settings["UNMANAGED"] = asked.unmanaged
    settings |= {name: value for name, value in (("NVM", nvm), ("FLASH", flash)) if value}
    settings |= {"STORE_BYTES": str(swap.size)} if swap.size else {}
    posed = "nvm" in swap.media() and not nvm.startswith("node:")
    return Environment(dram, swap, policy, settings, "emulated" if posed or asked.medium != PLAIN else "measured")


def _directory(key: str, path: str, expected: str) -> str:
    """An existing directory's full path, or nothing for nothing."""
    if path and not Path(path).is_dir():
        raise BadInput(f"{key}: '{path_for_message(path)}'; expected {expected}")
    return str(Path(path).resolve()) if path else ""


def check_program(experiment: Experiment, path: Path) -> str | None:
    """Why the pager cannot manage this program, where `run.memory.unmanaged` only warns of it; None where it can. Else NotSupported."""
    try:
        pager.check_program(path)
    except NotSupported as why:
        if experiment.run.memory.unmanaged == "refuse":
            raise
        return f"{why}: it runs unmanaged, on as much memory as it takes"
    return None
