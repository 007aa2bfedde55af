"""A phone fitted to a recording, and what it predicts of another one.

Sizes of every app, launches, DRAM and swap are the recording's own. What the kernel takes is read from the machine's counters; without
them, `machine.kernel_reserved` is fitted so that the simulated phone kills as often as the recorded one. The share of its anonymous pages
that a resume uses is fitted so that as much is swapped in. What the recording does not say (processor times, the other shares of pages)
keeps the default of the built-in kind nearest in size, which is assumed, unless a setting gives it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from swaplab import _core
from swaplab.core import experiment as experiments
from swaplab.core.document import figure
from swaplab.core.errors import BadInput
from swaplab.core.model import AppModels, Experiment
from swaplab.worlds import run as run_experiment

MIB = 1 << 20
PAGES = MIB // 4096
#: Halvings of a fitted value.
STEPS = 9
#: What is compared: the figure's path in a row, its words, and how many of its unit are one of the recording's.
COMPARED = (
    ("launches.kills", "kills", 1.0),
    ("launches.cold", "cold starts", 1.0),
    ("launches.resumes", "resumes", 1.0),
    ("paging.swap_in_bytes", "swapped in, MiB", float(MIB)),
    ("paging.swap_out_bytes", "swapped out, MiB", float(MIB)),
)


class _Typed(BaseModel):
    model_config = ConfigDict(extra="ignore")


class Starts(_Typed):
    """Means over starts of one kind; None where the recording has no such counter."""

    count: int = 0
    major_faults: float | None = None
    swapped_in_pages: float | None = None


class AppMemory(_Typed):
    """An app's memory in MiB; `anon_mib` is resident and swapped together."""

    name: str
    launches: int = 0
    cold_starts: int = 0
    kills: int = 0
    anon_mib: float = 0.0
    file_mib: float = 0.0
    graphics_mib: float = 0.0


class KernelMemory(_Typed):
    """What the kernel takes while nothing is swapped out, and for each byte in swap."""

    mib: float
    pool_share: float


class Recording(_Typed):
    """What a recording of a phone says. Sizes in MiB, pages of 4 KiB."""

    seconds: float = 0.0
    mem_total_mib: float | None = None
    swap_total_mib: float | None = None
    kernel: KernelMemory | None = None
    cold: Starts = Field(default_factory=Starts)
    resumes: Starts = Field(default_factory=Starts)
    kills: int = 0
    kills_by_adjustment: dict[int, int] = Field(default_factory=dict)
    swap_in_pages: int | None = None
    swap_out_pages: int | None = None
    apps: list[AppMemory]
    system: AppMemory
    resume_share: float | None = None


class FitRow(_Typed):
    """A figure recorded and simulated; `error` is relative to what was recorded, None where that is 0 or unknown."""

    path: str
    what: str
    recorded: float | None
    simulated: float
    error: float | None


class HeldOut(_Typed):
    """A recording that was kept out of the fit, and how well it is predicted."""

    recording: str
    mem_total_mib: float
    rows: list[FitRow]


class Fit(_Typed):
    """A fitted phone with its errors."""

    document: Literal["fit"] = "fit"
    kind: Literal["simulated"] = "simulated"
    recording: Recording
    experiment: Experiment
    rows: list[FitRow]
    held_out: list[HeldOut]


#: Kills, and the other figures of `COMPARED` by path, that an experiment gives.
Simulate = Callable[[Experiment], dict[str, float]]


def read(path: Path, reading: str) -> Recording:
    """The recording's summary. Raises BadInput where it has no launch or no memory size."""
    recording = Recording.model_validate_json(_core.recording(path, reading))
    if not recording.apps:
        raise BadInput(f"{path}: no launch in it; expected a recording in which apps come to the front (lines '@ SECONDS launch APP')")
    if recording.mem_total_mib is None:
        raise BadInput(f"{path}: no MemTotal in it; expected a recording with the machine's memory counters")
    return recording


def experiment(place: Path, reading: str, swap: str, settings: list[str] | None = None) -> Experiment:
    """The recording as an experiment of the simulated phone, each app a model of its own. `settings` are `KEY=VALUE` changes for what is
    known of the device besides; those of the machine choose what the recording does not say."""
    known = settings or []
    of_machine = [setting for setting in known if setting.startswith("machine.")]
    tables = {"machine": {"base": "nexus-5"}, "design": [{}], "workload": {"launches": str(place)}}
    base = experiments.parse(json.dumps(tables), "fit.json", of_machine)
    text = _core.recorded_phone(place, reading, str(place), swap, experiments.dumped(base))
    return experiments.parse(text, "fit.json", [f"name={place.stem}", *known])


def at_recording(fitted: Experiment, other: Experiment) -> Experiment:
    """The fitted phone with the launches, DRAM and swap area of another recording."""
    machine = fitted.machine.model_copy(update={"dram": other.machine.dram})
    workload = fitted.workload.model_copy(update={"launches": other.workload.launches})
    return fitted.model_copy(update={"machine": machine, "design": other.design, "workload": workload})


def simulate(wanted: Experiment) -> dict[str, float]:
    """What the simulated phone does: means over its seeds, by the paths of `COMPARED`."""
    row = run_experiment(wanted, place="fit").document.rows[0]
    return {path: (figure(row, path) or 0.0) / unit for path, _, unit in COMPARED}


def recorded(recording: Recording) -> dict[str, float | None]:
    """The same figures as the recording has them."""
    pages = (recording.swap_in_pages, recording.swap_out_pages)
    moved = [None if count is None else count / PAGES for count in pages]
    values = (recording.kills, recording.cold.count, recording.resumes.count, *moved)
    return {path: value for (path, _, _), value in zip(COMPARED, values, strict=True)}


def calibrate(wanted: Experiment, recording: Recording, run: Simulate = simulate) -> Experiment:
    """The experiment with the values that the recording does not give, so that `run` gives its kills and swap-ins: memory that the kernel
    takes, unless the counters say it, and the share of its anonymous pages that a resume uses, if anything was swapped in."""
    fitted = wanted
    if recording.kernel is None:
        dram_mib = _core.size_bytes("machine.dram", wanted.machine.dram or "0") / MIB
        fitted = _halve(lambda mib: with_reserved(wanted, mib), (0.0, dram_mib - 64.0), "launches.kills", recording.kills, run)
    if recording.swap_in_pages:
        swapped_in_mib, before = recording.swap_in_pages / PAGES, fitted
        fitted = _halve(lambda share: with_resume_share(before, share), (0.0, 1.0), "paging.swap_in_bytes", swapped_in_mib, run)
    return fitted


def _halve(vary: Callable[[float], Experiment], span: tuple[float, float], path: str, goal: float, run: Simulate) -> Experiment:
    """The experiment of `vary` whose figure at `path` is nearest to `goal`, by halving `span`: a larger value never gives a smaller figure,
    but for noise."""
    low, high = span
    best = (float("inf"), low)
    for _ in range(STEPS):
        middle = (low + high) / 2
        try:
            simulated = run(vary(middle))[path]
        except BadInput:
            # Not even the system fits any more.
            high = middle
            continue
        best = min(best, (abs(simulated - goal), middle))
        low, high = (middle, high) if simulated < goal else (low, middle)
    return vary(best[1])


def with_reserved(wanted: Experiment, mib: float) -> Experiment:
    """The experiment with so much memory taken by the kernel."""
    return wanted.model_copy(update={"machine": wanted.machine.model_copy(update={"kernel_reserved": f"{round(mib * MIB)}B"})})


def with_resume_share(wanted: Experiment, share: float) -> Experiment:
    """The experiment in which each resume uses this share of an app's anonymous pages, and no other."""
    apps = wanted.workload.apps
    if not isinstance(apps, AppModels):
        raise BadInput("workload.apps: no models; expected the models of a recording")
    models = apps.model_copy(update={"resume_share": round(share, 6), "warm_share": 0.0})
    return wanted.model_copy(update={"workload": wanted.workload.model_copy(update={"apps": models})})


def compare(recording: Recording, wanted: Experiment, run: Simulate = simulate) -> list[FitRow]:
    """Recorded and simulated side by side."""
    theirs, ours = recorded(recording), run(wanted)
    return [
        FitRow(path=path, what=label, recorded=was, simulated=ours[path], error=ours[path] / was - 1 if was else None)
        for path, label, _ in COMPARED
        for was in [theirs[path]]
    ]


def fit(
    place: Path, reading: str, swap: str, settings: list[str] | None = None, others: list[Path] | None = None, run: Simulate = simulate
) -> Fit:
    """Fit a phone to the recording at `place`, and judge it by recordings that were kept out. The experiment's `about` says how well it
    fits, so that plans and recommendations made with it can repeat it."""
    recording = read(place, reading)
    fitted = calibrate(experiment(place, reading, swap, settings), recording, run)
    rows = compare(recording, fitted, run)
    held_out = []
    for path in others or []:
        other, there = read(path, reading), at_recording(fitted, experiment(path, reading, swap, settings))
        held_out.append(HeldOut(recording=str(path), mem_total_mib=other.mem_total_mib or 0.0, rows=compare(other, there, run)))
    about = [f"Fitted to {place.name}: {_errors(rows)}."]
    about += [f"Kept out, {Path(held.recording).name} ({held.mem_total_mib:.0f} MiB): {_errors(held.rows)}." for held in held_out]
    if not held_out:
        about.append("No recording was kept out of the fit, so nothing says how well it predicts another configuration.")
    return Fit(recording=recording, experiment=fitted.model_copy(update={"about": " ".join(about)}), rows=rows, held_out=held_out)


def _errors(rows: list[FitRow]) -> str:
    return ", ".join(f"{row.what} {row.error:+.0%}" for row in rows if row.error is not None) or "nothing to compare"
