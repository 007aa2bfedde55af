"""A guest of the validation: apps are launched in turn, in one round of warm-up and one counted
round.
"""

from __future__ import annotations

from swaplab.core import experiment as experiments
from swaplab.core.model import Use
from swaplab.worlds.kernel.configuration import configurations
from swaplab.worlds.vm import driver, guest, kernels
from swaplab.worlds.vm.guest import Outcome

MIB = 1 << 20
FLASH, NVM = "ufs-3.1", "lpddr2-pcm"


def run_guest(apps: list[Use], kernel: str, mebibytes: int, swap: str = "none", killer: str = "off", mglru: bool = False) -> Outcome:
    """Run a guest with `mebibytes` MiB of memory. Returns its outcome."""
    experiment = experiments.build(
        machine={"dram": f"{mebibytes}MiB", "kernel": {"page_cluster": 0}, "devices": {"flash": FLASH, "nvm": NVM}},
        design=[{"swap": swap, "killer": killer}],
        workload={
            "apps": [app.model_dump(exclude_unset=True) for app in apps],
            "launches": {"order": "round-robin", "rounds": 2, "warm_up": 1, "foreground": "20ms"},
        },
        run={
            "on": ["vm"],
            "seeds": 1,
            "vm": {"kernel": kernel, "mglru": mglru, "system": "0", "limit": "guest", "verify": False},
        },
    )
    resolved = kernels.resolve(kernel)
    driver.module(resolved)
    return guest.run(configurations([experiment])[0], 0, resolved, lambda _: None, lambda: False)
