"""A `bench` experiment on the simulated phone: the same file, read as a `[sim]` table.

What: memory, swap, apps, their order and the killer of the control group become a phone of that size without a system of its own.
Why: so that one experiment goes through the simulator and the kernel, and their difference says what the model lacks.
Deviations: apps must be `phone-app`, whose use of pages is the phone's own; the phone knows four sizes. A control group has no watermarks:
the phone's memory is larger by what its low watermark keeps free. Processor times are those that the bench measured of each app alone;
without them a launch is its stalls. Values without a source are `assumed`, frozen before the first comparison, and named here.
"""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from swaplab import BadInput
from swaplab._core import size_bytes
from swaplab.config import Bench, Experiment
from swaplab.live import against
from swaplab.live.bench.spec import App, dumped, launches, listed, memory_bytes, swap_sizes, table
from swaplab.model import sim as model
from swaplab.model.bench import inputs

MIB = 2**20
KINDS = {"l": "light", "m": "medium", "h": "heavy", "g": "game"}
#: The program's text, shared by all apps of ours, in MiB (measured: a control group with one app in it, apps of 12 and 28 MiB; libraries
#: are charged to whoever read them first, long before).
SHARED_FILES = 0.3
#: What an app is charged beside its pages, in MiB (measured likewise: 0.32 of its own heap and stack, 0.28 to 0.42 of the kernel's).
CHARGED = 0.65
#: Schemes that both know, by the simulator's name.
SCHEMES = {"none": "none", "flash": "flash", "zram": "zram", "ramdisk": "ramdisk", "zswap": "zswap"}
#: Seconds between launches on the phone: long enough that nothing is still being written (assumed).
BEAT = 1.0

Times = dict[str, tuple[float, float]]


def run(experiment: Experiment, apps: list[App], place: str, times: Times | None = None, flash: str = "", jobs: int = 0) -> dict[str, Any]:
    """The simulator's document: one row a configuration, named and sized as the bench's. `times`: each app's (launch, switch) ms alone;
    `flash`: a device's key or file in place of UFS 3.1."""
    bench, rows = table(experiment), []
    with tempfile.TemporaryDirectory(prefix="swaplab-sim-") as name:
        sequence = Path(name) / "launches.csv"
        order = _write(bench, apps, sequence)
        for scheme in listed(bench.schemes):
            for size in swap_sizes(bench) if scheme != "none" else [0]:
                for policy in bench.app_policies if scheme != "none" else ["none"]:
                    phone = _table(bench, apps, place, times or {}, flash, order, (scheme, size, policy))
                    document = model.run({"seed": experiment.seed, "sim": {**phone, "launches": str(sequence)}}, jobs)
                    rows += [row | {"name": scheme, "swap_bytes": size} for row in document["schemes"]]
    about = {"experiment": dumped(experiment), "inputs": inputs(dumped(experiment)), "premise_built": False}
    return {"schema": 1, "kind": "simulated", **about, "schemes": rows}


def _write(bench: Bench, apps: list[App], path: Path) -> list[str]:
    """The launches as a trace; the apps in the order in which it names them, which is how the phone numbers them."""
    rounds = bench.warm_up_rounds + bench.rounds
    visits = launches(bench, apps) * rounds
    lines = [f"{at + 1},{at * BEAT},{name},app,{BEAT / 2}" for at, name in enumerate(visits)]
    path.write_text("\n".join(["seq,t_s,app,category,fg_s", *lines, ""]))
    return list(dict.fromkeys(visits))


def _table(
    bench: Bench, apps: list[App], place: str, times: Times, flash: str, order: list[str], configuration: tuple[str, int, str]
) -> dict[str, Any]:
    scheme, size, policy = configuration
    if scheme not in SCHEMES:
        raise BadInput(f"{place}: scheme '{scheme}'; expected one that the simulator has for a bench: {', '.join(SCHEMES)}")
    if bench.pool_memory == "within":
        raise BadInput(
            f"{place}: pool_memory = 'within'; expected 'extra' for the simulated phone, whose pool lies beside the group's memory"
        )
    memory = memory_bytes(bench)
    frames = memory // 4096
    low = 1.25 * math.sqrt(frames * 64) / 4  # the phone's low watermark in pages, `watermarks` of crates/sim
    killer = bench.killer
    level = int(memory / 1024 * killer.min_free_percentage / 100)
    return {
        "seeds": 1,
        "phone": {
            "dram_mib": (memory + low * 4096) / MIB,
            "reserved_mib": 0.0,
            "kernel_mib": CHARGED * len(order),
            # The kernel charges the pool of zram to nobody's group.
            "pool_in_dram": False,
            "extra_free_kb": 0,
            "policy": f"active-inactive:swappiness={bench.swappiness}",
            "flash": flash or "ufs-3.1",
            "file_readahead": bench.read_ahead_kb // 4,
            "limits": {"cached": bench.live_limit or 1000, "services": 0},
            "killer": {
                "style": "minfree" if scheme == "none" else "psi",
                # Without swap: free memory and file pages each, as the phone's table has it, in place of both together.
                "minfree_kb": [level],
                "adj": [900],
                "low_memory_kb": level + int(low * 4),
                "psi_partial_stall_ms": 0,
                "psi_complete_stall_ms": 10**9,
                "swap_free_low_percentage": int(killer.swap_free_low_percentage),
                "thrashing_limit": int(min(killer.thrashing_limit, 10**9)),
            },
        },
        "apps": _apps(apps, place, times, order, Counter(launches(bench, apps))),
        "schemes": [{"name": scheme, "swap": f"{SCHEMES[scheme]}:size={size}B" if size else scheme, "app_policy": policy}],
    }


def _apps(apps: list[App], place: str, times: Times, order: list[str], counts: Counter[str]) -> dict[str, Any]:
    """The app models: up to four sizes, and the shares that all apps have in common."""
    known = {app.name: app for app in apps}
    sizes: dict[tuple[float, ...], str] = {}
    letters: dict[str, str] = {}
    shares = set()
    for name in order:
        app = known[name]
        if not app.command or app.command[0] != "swaplab-app" or [step.send for step in app.work] != ["resume\n"]:
            raise BadInput(f'{place}: app {name}: the simulator has no model of it; expected apps by `use = "phone-app"`')
        footprint, files = size_bytes(f"app {name}: footprint", app.set["footprint"]) / MIB, float(app.set["file_share"])
        cold, resume = times.get(name, (0.0, 0.0))
        shape = (footprint * (1 - files), footprint * files)
        if shape not in sizes:
            if len(sizes) == len(KINDS):
                raise BadInput(f"{place}: app {name}: a fifth size of app; expected at most {len(KINDS)} for the simulated phone")
            sizes[shape] = list(KINDS)[len(sizes)]
        letters[name] = sizes[shape]
        shares.add((float(app.set["hot_share"]), float(app.set["write_ratio"])))
    if len(shares) > 1:
        raise BadInput(f"{place}: apps with several hot_share or write_ratio; expected one of each for the simulated phone")
    hot, write = shares.pop()
    means: dict[str, list[tuple[float, float]]] = {}
    for name, letter in letters.items():
        means.setdefault(letter, []).append(times.get(name, (0.0, 0.0)))
    table: dict[str, Any] = {}
    for (anon, file), letter in sizes.items():
        cold, resume = (sum(column) / len(means[letter]) for column in zip(*means[letter], strict=True))
        table[KINDS[letter]] = {"anon_mib": anon, "file_mib": file, "graphics_mib": 0.0, "cold_ms": cold, "resume_ms": resume}
    # The phone gives kinds by rank of launches, the most launched first, the earlier named first among equals.
    ranked = sorted(order, key=lambda name: -counts[name])
    system = {"anon_mib": 0.0, "file_mib": SHARED_FILES, "graphics_mib": 0.0, "cold_ms": 0.0, "resume_ms": 0.0}
    return {
        **table,
        "kinds": "".join(letters[name] for name in ranked),
        "spread": 0.0,
        "resume_share": hot,
        "file_hot_share": hot,
        "warm_share": 0.0,
        "write_share": write,
        "system": system,
    }


def beside(document: dict[str, Any], experiment: Experiment, apps: list[App], place: str) -> dict[str, Any]:
    """A bench's document with the simulator's rows of the same experiment and their differences. The simulator is told what the bench
    measured on its own before the run: each app's times alone, and the disk's time for a page at depth 1; nothing of the run."""
    times = {name: (own["launch"], own["switch"]) for name, own in (document.get("own_ms") or {}).items()}
    with tempfile.TemporaryDirectory(prefix="swaplab-disk-") as folder:
        flash = _device(document["disk"], Path(folder) / "this-disk.toml") if document.get("disk") else ""
        simulated = run(experiment, apps, place, times, flash)
    return document | {"simulated": simulated["schemes"], "against_sim": against.compare(document, simulated)}


def _device(disk: dict[str, Any], path: Path) -> str:
    """This disk as the simulator's flash, by what was measured at depth 1."""
    rate = {row["operation"]: row["pages_per_s"] for row in disk["rows"] if row["depth"] == 1}
    lines = ['what = "this disk"', 'attachment = "storage"', "[time]", 'source = "measured before the run: random pages at depth 1"']
    lines += [f"{name}_iops = {round(value)}\n{name}_bytes_per_s = {round(value * 4096 * 32)}" for name, value in rate.items()]
    path.write_text("\n".join([*lines, ""]))
    return str(path)
