"""Fitting a simulated phone to a recording, and predicting other recordings.

App sizes, launches, DRAM and swap are taken from the recording. The kernel's memory is read from
the machine's counters; without them, `machine.kernel_reserved` is fitted so that the numbers of
kills are equal. The share of an app's anonymous pages that a resume uses is fitted so that the
amounts of swap-in are equal. Other values (processor times, other shares of pages) have the assumed
defaults of the built-in kind of app nearest in size, unless a setting gives them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from swaplab import _core
from swaplab.core import experiment as experiments
from swaplab.core.bases import TolerantModel
from swaplab.core.document import figure
from swaplab.core.errors import BadInput
from swaplab.core.model import AppModels, Experiment
from swaplab.worlds import run as run_experiment

MIB = 1 << 20
PAGES = MIB // 4096
#: Steps of the bisection of a fitted value.
STEPS = 9
#: The compared figures: path in a row, words, and the factor from the recording's unit to the
#: row's.
COMPARED = (
    ("launches.kills", "kills", 1.0),
    ("launches.cold", "cold starts", 1.0),
    ("launches.resumes", "resumes", 1.0),
    ("paging.swap_in_bytes", "swapped in, MiB", float(MIB)),
    ("paging.swap_out_bytes", "swapped out, MiB", float(MIB)),
)


class Starts(TolerantModel):
    """Means over starts of one kind; None if the recording has no such counter."""

    count: int
    major_faults: float | None
    swapped_in_pages: float | None


class AppMemory(TolerantModel):
    """An app's memory in MiB; `anon_mib` is the sum of resident and swapped-out."""

    name: str
    launches: int
    cold_starts: int
    kills: int
    anon_mib: float
    file_mib: float
    graphics_mib: float


class KernelMemory(TolerantModel):
    """The kernel's memory while nothing is swapped out, and the bytes that it takes per byte in
    swap.
    """

    mib: float
    pool_share: float


class Recording(TolerantModel):
    """The summary of a phone's recording. Sizes in MiB, pages of 4 KiB."""

    seconds: float
    mem_total_mib: float | None
    swap_total_mib: float | None
    kernel: KernelMemory | None
    cold: Starts
    resumes: Starts
    kills: int
    kills_by_adjustment: dict[int, int]
    swap_in_pages: int | None
    swap_out_pages: int | None
    apps: list[AppMemory]
    system: AppMemory
    resume_share: float | None


class FitRow(TolerantModel):
    """A recorded and a simulated figure. `error` is relative to the recorded one, None if that is 0
    or unknown.
    """

    path: str
    what: str
    recorded: float | None
    simulated: float
    error: float | None


class HeldOut(TolerantModel):
    """A recording that was excluded from the fit, with the errors of its prediction."""

    recording: str
    mem_total_mib: float
    rows: list[FitRow]


class Fit(TolerantModel):
    """A fitted phone with its errors."""

    document: Literal["fit"] = "fit"
    kind: Literal["simulated"] = "simulated"
    recording: Recording
    experiment: Experiment
    rows: list[FitRow]
    held_out: list[HeldOut]


#: Runs an experiment and returns the figures of `COMPARED` by path.
Simulate = Callable[[Experiment], dict[str, float]]


def read(path: Path, reading: str) -> Recording:
    """Read the recording's summary. Raises BadInput if it has no launch or no memory size."""
    recording = Recording.model_validate_json(_core.recording(path, reading))
    if not recording.apps:
        raise BadInput(f"{path}: no launch in it; expected a recording in which apps come to the front (lines '@ SECONDS launch APP')")
    if recording.mem_total_mib is None:
        raise BadInput(f"{path}: no MemTotal in it; expected a recording with the machine's memory counters")
    return recording


def experiment(place: Path, reading: str, swap: str, settings: list[str] | None = None) -> Experiment:
    """Convert the recording to an experiment of the simulated phone, with a model per app.

    `settings` are `KEY=VALUE` changes for what else is known of the device. Settings of the machine
    also determine the values that the recording does not give.
    """
    known = settings or []
    of_machine = [setting for setting in known if setting.startswith("machine.")]
    tables = {"machine": {"base": "nexus-5"}, "design": [{}], "workload": {"launches": str(place)}}
    base = experiments.from_options(tables, of_machine)
    text = _core.recorded_phone(place, reading, str(place), swap, experiments.dumped(base))
    return experiments.from_options(json.loads(text), [f"name={place.stem}", *known])


def at_recording(fitted: Experiment, other: Experiment) -> Experiment:
    """Replace the launches, DRAM and swap area of the fitted phone by those of another
    recording.
    """
    machine = fitted.machine.model_copy(update={"dram": other.machine.dram})
    workload = fitted.workload.model_copy(update={"launches": other.workload.launches})
    return fitted.model_copy(update={"machine": machine, "design": other.design, "workload": workload})


def simulate(wanted: Experiment) -> dict[str, float]:
    """Simulate the experiment. Returns means over its seeds, by the paths of `COMPARED`."""
    row = run_experiment(wanted, place="fit").document.rows[0]
    return {path: (figure(row, path) or 0.0) / unit for path, _, unit in COMPARED}


def recorded(recording: Recording) -> dict[str, float | None]:
    """Return the recorded figures, by the paths of `COMPARED`."""
    pages = (recording.swap_in_pages, recording.swap_out_pages)
    moved = [None if count is None else count / PAGES for count in pages]
    values = (recording.kills, recording.cold.count, recording.resumes.count, *moved)
    return {path: value for (path, _, _), value in zip(COMPARED, values, strict=True)}


def calibrate(wanted: Experiment, recording: Recording, run: Simulate = simulate) -> Experiment:
    """Fit values that the recording does not give, so that `run` gives the recorded kills and
    swap-ins.

    They are the kernel's memory, unless the counters give it, and the share of an app's anonymous
    pages that a resume uses, if anything was swapped in.
    """
    fitted = wanted
    if recording.kernel is None:
        dram_mib = _core.size_bytes("machine.dram", wanted.machine.dram or "0") / MIB
        fitted = _bisect(lambda mib: with_reserved(wanted, mib), (0.0, dram_mib - 64.0), "launches.kills", recording.kills, run)
    if recording.swap_in_pages:
        swapped_in_mib, before = recording.swap_in_pages / PAGES, fitted
        fitted = _bisect(lambda share: with_resume_share(before, share), (0.0, 1.0), "paging.swap_in_bytes", swapped_in_mib, run)
    return fitted


def _bisect(vary: Callable[[float], Experiment], span: tuple[float, float], path: str, goal: float, run: Simulate) -> Experiment:
    """Find by bisection of `span` the experiment of `vary` whose figure at `path` is nearest to
    `goal`.

    Apart from noise, the figure must not decrease with the value.
    """
    low, high = span
    best = (float("inf"), low)
    for _ in range(STEPS):
        middle = (low + high) / 2
        try:
            simulated = run(vary(middle))[path]
        except BadInput:
            # The system itself does not fit into memory.
            high = middle
            continue
        best = min(best, (abs(simulated - goal), middle))
        low, high = (middle, high) if simulated < goal else (low, middle)
    return vary(best[1])


def with_reserved(wanted: Experiment, mib: float) -> Experiment:
    """Set the kernel's memory to `mib` MiB."""
    return wanted.model_copy(update={"machine": wanted.machine.model_copy(update={"kernel_reserved": f"{round(mib * MIB)}B"})})


def with_resume_share(wanted: Experiment, share: float) -> Experiment:
    """Let each resume use the share `share` of an app's anonymous pages, and no warm pages."""
    apps = wanted.workload.apps
    if not isinstance(apps, AppModels):
        raise BadInput("workload.apps: no models; expected the models of a recording")
    models = apps.model_copy(update={"resume_share": round(share, 6), "warm_share": 0.0})
    return wanted.model_copy(update={"workload": wanted.workload.model_copy(update={"apps": models})})


def compare(recording: Recording, wanted: Experiment, run: Simulate = simulate) -> list[FitRow]:
    """Pair the recorded figures with the simulated ones."""
    theirs, ours = recorded(recording), run(wanted)
    return [
        FitRow(path=path, what=label, recorded=was, simulated=ours[path], error=ours[path] / was - 1 if was else None)
        for path, label, _ in COMPARED
        for was in [theirs[path]]
    ]


def fit(
    place: Path, reading: str, swap: str, settings: list[str] | None = None, others: list[Path] | None = None, run: Simulate = simulate
) -> Fit:
    """Fit a phone to the recording at `place`, and compute the errors for `others`, which are
    excluded from the fit.

    The experiment's `about` states the errors, so that plans and recommendations made with it can
    repeat them.
    """
    recording = read(place, reading)
    fitted = calibrate(experiment(place, reading, swap, settings), recording, run)
    rows = compare(recording, fitted, run)
    held_out = []
    for path in others or []:
        other, there = read(path, reading), at_recording(fitted, experiment(path, reading, swap, settings))
        held_out.append(HeldOut(recording=str(path), mem_total_mib=other.mem_total_mib or 0.0, rows=compare(other, there, run)))
    about = [f"Fitted to {place.name}: {_errors(rows)}."]
    about += [f"Kept out, {Path(out.recording).name} ({out.mem_total_mib:.0f} MiB): {_errors(out.rows)}." for out in held_out]
    if not held_out:
        about.append("No recording was kept out of the fit, so nothing says how well it predicts another configuration.")
    return Fit(recording=recording, experiment=fitted.model_copy(update={"about": " ".join(about)}), rows=rows, held_out=held_out)


def _errors(rows: list[FitRow]) -> str:
    return ", ".join(f"{row.what} {row.error:+.0%}" for row in rows if row.error is not None) or "nothing to compare"
