"""Configurations drawn from the hash of a commit, as experiments for the worlds `phone` and `vm`.

The ranges were fixed before the first draw. Equal commit, number, kernel and facts give an equal
experiment.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from swaplab.core import experiment as experiments
from swaplab.core.errors import BadInput
from swaplab.core.model import Experiment, Use

from benches.validation.facts import Facts, Own, OwnWork
from benches.validation.guests import FLASH, MIB, NVM
from benches.validation.prices import Prices

#: What is added to the drawn memory, in MiB: a configuration is run with each of these sizes, since
#: a few pages more or less decide when reclaim begins, and so what it sees. A guest's memory is a
#: multiple of 2 MiB.
SIZES = (-6, -4, -2, 2, 4, 6)
#: Seeds of each size: the kernel's first one is compared with the phone, and with its other one (A
#: against A).
SEEDS = 2
#: Upper bound of the time by which a guest's pauses are lengthened, so that its seeds meet the
#: kernel's periodic work at different times.
SHIFT = "1s"
#: Launches per round; one round is warm-up, one counts.
LAUNCHES = 13
#: The least memory of a guest in MiB.
LEAST = 192
SCHEMES = ("zram:size={size}MiB", "flash:size={size}MiB", "nvm-copy:size={size}MiB")
KILLERS = ("lmkd", "off", "minfree:minfree_kb=[4096],adj=[900]")


@dataclass(frozen=True)
class DrawnApp:
    """An app of `phone-app`; sizes in MiB, shares of its pages."""

    name: str
    footprint: int
    file_share: float
    hot_share: float
    write_ratio: float
    seed: int


@dataclass(frozen=True)
class Drawn:
    """A configuration. `dram`: in bytes. `order`: the launches of one round. `source`: their
    origin.
    """

    name: str
    apps: tuple[DrawnApp, ...]
    dram: int
    memory_factor: float
    swappiness: int
    killer: str
    schemes: tuple[str, ...]
    order: tuple[str, ...]
    source: str

    @property
    def footprint_mebibytes(self) -> int:
        """MiB of all apps' pages."""
        return sum(app.footprint for app in self.apps)

    def sizes(self) -> list[Drawn]:
        """Return the configuration with each size of memory."""
        return [replace(self, dram=self.dram + size * MIB) for size in SIZES]

    @property
    def ample_mebibytes(self) -> int:
        """MiB of memory in which all apps fit twice."""
        return LEAST + 2 * self.footprint_mebibytes

    def uses(self, own: Mapping[str, OwnWork] | None = None) -> list[Use]:
        """List the apps for an experiment, with their processor times `own` if given."""
        return [
            Use.model_validate(
                {
                    "use": "phone-app",
                    "name": app.name,
                    "footprint": f"{app.footprint}MiB",
                    "file_share": app.file_share,
                    "hot_share": app.hot_share,
                    "write_ratio": app.write_ratio,
                    "seed": app.seed,
                }
                | (own[app.name].values() if own else {})
            )
            for app in self.apps
        ]


def draw(commit: str, number: int, facts: Facts, recorded: list[Path]) -> Drawn:
    """Draw configuration `number` of `commit`. Every second one takes its launches from a
    recording, if there are any. What does not fit the memory is drawn again: if the apps of the
    launches are so few or so small that a guest of `LEAST` MiB has more memory than the least of
    the drawn sizes.
    """
    rng = random.Random(f"{commit}:{number}")
    while (drawn := _draw_once(rng, f"{commit[:8]}-{number}", number, facts, recorded)) is None:
        pass
    return drawn


def _draw_once(rng: random.Random, name: str, number: int, facts: Facts, recorded: list[Path]) -> Drawn | None:
    file_share = rng.uniform(0.2, 0.6)
    write_ratio = rng.uniform(0.1, 0.7)
    apps = tuple(
        DrawnApp(f"app-{at}", rng.randrange(32, 57, 4), round(file_share, 2), round(rng.uniform(0.3, 0.7), 2), round(write_ratio, 2), at)
        for at in range(1, rng.randrange(6, 9) + 1)
    )
    factor = rng.uniform(0.85, 1.15)
    swappiness, killer = rng.choice((40, 60, 100, 140)), rng.choice(KILLERS)
    schemes = tuple(scheme.format(size=rng.choice((96, 128, 192))) for scheme in rng.sample(SCHEMES, 2))
    names = [app.name for app in apps]
    if recorded and number % 2:
        path = rng.choice(sorted(recorded))
        order, source = recorded_order(path, names, rng), "a user's recording"
    else:
        order, source = generated_order(names, rng), "generated"
    launched = tuple(app for app in apps if app.name in order)
    dram = guest_bytes(factor * working_set(launched), facts, len(launched))
    if dram + SIZES[0] * MIB < LEAST * MIB:
        return None
    return Drawn(name, launched, dram, factor, swappiness, killer, schemes, order, source)


def working_set(apps: tuple[DrawnApp, ...]) -> float:
    """Compute the bytes of all apps' hot pages and of the largest cold set of an app."""
    return MIB * (sum(app.footprint * app.hot_share for app in apps) + max(app.footprint * (1 - app.hot_share) for app in apps))


def guest_bytes(wanted: float, facts: Facts, apps: int) -> int:
    """Compute the memory of a guest with `wanted` bytes for apps: the kernel's memory is added; a
    multiple of 2 MiB.
    """
    return round(facts.dram(wanted, apps) / (2 * MIB)) * 2 * MIB


def generated_order(names: list[str], rng: random.Random) -> tuple[str, ...]:
    """Draw launches with popularity 1 / rank (Zipf), never the same app twice in a row."""
    order: list[str] = []
    while len(order) < LAUNCHES:
        name = rng.choices(names, [1 / rank for rank in range(1, len(names) + 1)])[0]
        if order[-1:] != [name]:
            order.append(name)
    return tuple(order)


def recorded_order(path: Path, names: list[str], rng: random.Random) -> tuple[str, ...]:
    """Take successive launches of a recording (CSV with a column `app`) from a drawn position on;
    apps get `names` as they appear.
    """
    with path.open(newline="") as lines:
        rows = csv.DictReader(lines)
        if "app" not in (rows.fieldnames or ()):
            raise BadInput(f"{path}:1: no column 'app'; expected a table of launches")
        launched = [row["app"] for row in rows]
    distinct = [app for at, app in enumerate(launched) if at == 0 or app != launched[at - 1]]
    if len(distinct) < LAUNCHES:
        raise BadInput(f"{path}: {len(distinct)} launches; expected at least {LAUNCHES}")
    start = rng.randrange(len(distinct) - LAUNCHES + 1)
    ours: dict[str, str] = {}
    order: list[str] = []
    for app in distinct[start:]:
        name = ours.setdefault(app, names[len(ours) % len(names)])
        if order[-1:] != [name]:
            order.append(name)
        if len(order) == LAUNCHES:
            break
    return tuple(order)


def experiment_of(
    drawn: Drawn,
    facts: Facts,
    kernel: str,
    own: Own | None = None,
    prices: Prices | None = None,
    mglru: bool = False,
) -> Experiment:
    """Build the experiment with the drawn memory. What is the apps' and the system's `own` and the
    `prices` of a page are used by the phone only.
    """
    rules = "6.1" if kernel == "debian-6.1" else "6.12"
    # The guest's processor, a Cortex-A57, does not set accessed bits itself.
    generations = "mglru:walks=off"
    machine = {
        "dram": f"{drawn.dram // MIB}MiB",
        "firmware": f"{round(facts.reserved(drawn.dram) / 1024)}KiB",
        "kernel": {
            "swappiness": drawn.swappiness,
            "page_cluster": 0,
            "policy": generations if mglru else f"active-inactive:kernel={rules}",
        }
        | (prices.of_kernel() if prices else {}),
        "devices": {"flash": FLASH, "nvm": NVM} | ({"processor": prices.spec()} if prices else {}),
    } | ({"kernel_reserved": f"{round(own.used_bytes / 1024)}KiB"} if own else {})
    return experiments.build(
        name=drawn.name,
        machine=machine,
        design=[{"name": scheme, "swap": scheme, "killer": drawn.killer} for scheme in drawn.schemes],
        workload={
            "apps": drawn.uses(own.work if own else None),
            "launches": {"order": list(drawn.order), "rounds": 1, "warm_up": 1, "foreground": "20ms"},
        },
        run={
            "on": ["phone", "vm"],
            "seeds": SEEDS,
            # Each size has seeds of its own.
            "seed": drawn.dram // MIB,
            "vm": {"kernel": kernel, "mglru": mglru, "system": "0", "limit": "guest", "verify": False, "shift": SHIFT},
        },
    )
