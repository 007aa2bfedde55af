"""A phone fitted to a recording, and what it predicts of another one.

Sizes, launches, DRAM and swap are the recording's own. One value is fitted: `kernel_mib`, all memory that no process accounts for, so
that the simulated phone kills as often as the recorded one. What the recording does not say (times, graphics, shares of pages) keeps
its default, which is assumed.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from swaplab import BadInput, _core
from swaplab.model import sim

KINDS = {"l": "light", "m": "medium", "h": "heavy", "g": "game"}
#: Seeds a simulated figure is the mean of: which apps keep a service is drawn.
SEEDS = 4
#: What is compared: key of the recording's row, and of the simulated scheme.
COMPARED = ("kills", "cold_starts", "resumes", "swap_in_mib", "swap_out_mib")


def read(path: Path, reading: str) -> dict[str, Any]:
    """The recording's summary (crates/sim/src/fit/recording.rs): memory in MiB, pages of 4 KiB. Raises `BadInput`."""
    found: dict[str, Any] = json.loads(_core.recording(path, reading))
    if not found["apps"]:
        raise BadInput(f"{path}: no launch in it; expected a recording in which apps come to the front")
    if found["mem_total_mib"] is None:
        raise BadInput(f"{path}: no MemTotal in it; expected a recording with the machine's memory counters")
    return found


def defaults() -> dict[str, Any]:
    """A resolved `[sim]` table in which nothing was said."""
    said = {"sim": {"launches": "small", "schemes": [{"name": "none", "swap": "none"}]}}
    table: dict[str, Any] = json.loads(_core.experiment_from_json("defaults", json.dumps(said)))["sim"]
    return table


def experiment(found: dict[str, Any], launches: str, swap: str, defaults: dict[str, Any]) -> dict[str, Any]:
    """The recording as a `[sim]` table; `defaults` is a resolved one, whose values stand where the recording says nothing."""
    apps = {key: copy.deepcopy(defaults["apps"][key]) for key in (*KINDS.values(), "system")}
    # As the phone ranks them: the most launched first, in the trace's order among equals.
    ranked = sorted(found["apps"], key=lambda app: -app["launches"])
    by_size = sorted(ranked, key=lambda app: app["anon_mib"] + app["file_mib"])
    groups = min(len(KINDS), len(by_size))
    kind_of: dict[str, str] = {}
    for at, letter in enumerate(list(KINDS)[:groups]):
        members = by_size[at * len(by_size) // groups : (at + 1) * len(by_size) // groups]
        for key in ("anon_mib", "file_mib", "graphics_mib"):
            values = [member[key] for member in members]
            if any(values):
                apps[KINDS[letter]][key] = sum(values) / len(values)
        kind_of |= {member["name"]: letter for member in members}
    for key in ("anon_mib", "file_mib"):
        if found["system"][key]:
            apps["system"][key] = found["system"][key]
    shares = {"spread": 0.0}
    if found["resume_share"] is not None:
        # What came back in was used: pages of both kinds that resumes use, without telling them apart.
        shares |= {"resume_share": min(1.0, found["resume_share"]), "warm_share": 0.0}
    return {
        "launches": launches,
        "seeds": SEEDS,
        "apps": {"kinds": "".join(kind_of[app["name"]] for app in ranked), **shares, **apps},
        **machine(found, swap, defaults),
    }


def machine(found: dict[str, Any], swap: str, defaults: dict[str, Any]) -> dict[str, Any]:
    """The recorded device: DRAM as Linux counts it (`MemTotal`), and its swap area."""
    size = found["swap_total_mib"] or 0
    scheme = f"{swap}:size={round(size * 1024)}KiB" if size else "none"
    return {
        "phone": {"dram_mib": found["mem_total_mib"], "reserved_mib": 0.0, "kernel_mib": defaults["phone"]["kernel_mib"]},
        "schemes": [{"name": "recorded", "swap": scheme}],
    }


def simulate(table: dict[str, Any], jobs: int = 0) -> dict[str, float]:
    """What the simulated phone does: means over its seeds, in the units of `recorded`."""
    resolved = json.loads(_core.experiment_from_json("fit", json.dumps({"sim": table})))
    row = sim.run(resolved, jobs)["schemes"][0]
    mib = {f"swap_{way}_mib": row[f"swap_{way}_bytes"] / 2**20 for way in ("in", "out")}
    return {**{key: float(row[key]) for key in ("kills", "cold_starts", "resumes")}, **mib}


def recorded(found: dict[str, Any]) -> dict[str, float | None]:
    """The same figures as the recording has them."""
    pages = {f"swap_{way}_mib": found[f"swap_{way}_pages"] for way in ("in", "out")}
    mib = {key: None if value is None else value / 256 for key, value in pages.items()}
    return {"kills": found["kills"], "cold_starts": found["cold"]["count"], "resumes": found["resumes"]["count"], **mib}


def calibrate(table: dict[str, Any], kills: float, run: Callable[[dict[str, Any]], dict[str, float]] = simulate, steps: int = 9) -> float:
    """The `kernel_mib` with which `run` kills as often as was recorded, by halving: more of it never kills less, but for noise."""
    low, high = 0.0, float(table["phone"]["dram_mib"]) - 64.0
    best: tuple[float, float] = (float("inf"), float(table["phone"]["kernel_mib"]))
    for _ in range(steps):
        middle = (low + high) / 2
        try:
            found = run({**table, "phone": {**table["phone"], "kernel_mib": middle}})["kills"]
        except BadInput:
            # Not even the system fits any more.
            high = middle
            continue
        best = min(best, (abs(found - kills), middle))
        low, high = (middle, high) if found < kills else (low, middle)
    return best[1]


def compare(found: dict[str, Any], table: dict[str, Any], jobs: int = 0) -> list[dict[str, Any]]:
    """Recorded and simulated side by side; `error` is relative to what was recorded, null where that is 0 or unknown."""
    theirs, ours = recorded(found), simulate(table, jobs)
    rows = []
    for key in COMPARED:
        was = theirs[key]
        rows.append({"what": key, "recorded": was, "simulated": ours[key], "error": ours[key] / was - 1 if was else None})
    return rows


def elsewhere(path: Path, output: Path) -> str:
    """`path` as an experiment in `output`'s folder names it."""
    return os.path.relpath(path.absolute(), output.absolute().parent)


def toml(notes: list[str], table: dict[str, Any]) -> str:
    """A `[sim]` table as an experiment file, below `notes` as comments."""
    inner = {key: value for key, value in table.items() if key != "schemes"}
    lines = [*(f"# {note}" for note in notes), *_table("sim", inner)]
    for scheme in table["schemes"]:
        lines += ["", "[[sim.schemes]]", *_values(scheme)]
    return "\n".join(lines) + "\n"


def _table(name: str, values: dict[str, Any]) -> list[str]:
    lines = ["", f"[{name}]", *_values({key: value for key, value in values.items() if not isinstance(value, dict)})]
    for key, value in values.items():
        if isinstance(value, dict):
            lines += _table(f"{name}.{key}", value)
    return lines


def _values(values: dict[str, Any]) -> list[str]:
    # JSON's numbers, texts and truths are TOML's; what nobody gave has no line.
    given = {key: round(value, 6) if isinstance(value, float) else value for key, value in values.items() if value is not None}
    return [f"{key} = {json.dumps(value)}" for key, value in given.items()]
