"""A phone fitted to a recording, and what it predicts of another one.

Sizes of every app, launches, DRAM and swap are the recording's own. One value is fitted: `machine.kernel_reserved`, all memory that no
process accounts for, so that the simulated phone kills as often as the recorded one. What the recording does not say (processor times,
shares of pages) keeps the default of the built-in kind nearest in size, which is assumed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from swaplab import _core
from swaplab.core.document import figure
from swaplab.core.errors import BadInput
from swaplab.core.model import AppModels, AppSize, Design, Experiment, Machine, Run, Workload
from swaplab.worlds import run as run_experiment

#: Seeds that a simulated figure is the mean of: which apps keep a service is drawn.
SEEDS = 4
MIB = 1 << 20
PAGES = MIB // 4096
#: Halvings of the fitted value.
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


class Recording(_Typed):
    """What a recording of a phone says. Sizes in MiB, pages of 4 KiB."""

    seconds: float = 0.0
    mem_total_mib: float | None = None
    swap_total_mib: float | None = None
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


def experiment(recording: Recording, launches: str, swap: str) -> Experiment:
    """The recording as an experiment of the simulated phone, each app a model of its own."""
    models = {app.name: _model(app) for app in recording.apps}
    apps = AppModels(models=models, by_name={name: name for name in models}, spread=0.0)
    system = {name: _mib(size) for name, size in (("anon", recording.system.anon_mib), ("file", recording.system.file_mib)) if size}
    apps.system = apps.system.model_copy(update=system)
    if recording.resume_share is not None:
        # What came back in was used: pages of both kinds that resumes use, without telling them apart.
        apps.resume_share, apps.warm_share = min(1.0, recording.resume_share), 0.0
    base = Experiment(
        name="fitted",
        machine=machine(recording, Machine(base="nexus-5")),
        design=[design(recording, swap)],
        workload=Workload(launches=launches, apps=apps),
        run=Run(on=["phone"], seeds=SEEDS),
    )
    # Only what is set is handed over: everything else is the core's to fill in.
    text = base.model_dump_json(by_alias=True, exclude_none=True, exclude_unset=True)
    return Experiment.model_validate_json(_core.experiment_from_document("fit", text))


def machine(recording: Recording, base: Machine) -> Machine:
    """The recorded device: DRAM as Linux counts it (`MemTotal`), so nothing of it is kept by firmware."""
    return base.model_copy(update={"dram": _mib(recording.mem_total_mib or 0.0), "firmware": "0"})


def design(recording: Recording, swap: str) -> Design:
    """The recorded device's swap area of the kind `swap`."""
    size = recording.swap_total_mib or 0.0
    return Design(name="recorded", swap=f"{swap}:size={round(size * 1024)}KiB" if size else "none")


def _model(app: AppMemory) -> AppSize:
    """An app's own sizes; processor times of the built-in kind nearest in size."""
    kinds = AppModels()
    known = (kinds.light, kinds.medium, kinds.heavy, kinds.game)
    nearest = min(known, key=lambda kind: abs(_size_mib(kind) - app.anon_mib - app.file_mib))
    sizes = {"anon": app.anon_mib, "file": app.file_mib, "graphics": app.graphics_mib}
    return nearest.model_copy(update={name: _mib(size) for name, size in sizes.items() if size})


def _size_mib(kind: AppSize) -> float:
    return sum(_core.size_bytes("size", text) for text in (kind.anon, kind.file)) / MIB


def _mib(size: float) -> str:
    """A size in MiB as an experiment has it: in whole bytes where it is no whole number of MiB."""
    return f"{size:.0f}MiB" if size == int(size) else f"{round(size * MIB)}B"


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


def calibrate(wanted: Experiment, kills: float, run: Simulate = simulate) -> Experiment:
    """The experiment with the `kernel_reserved` under which `run` kills as often as was recorded, by halving: more of it never kills less,
    but for noise."""
    dram = wanted.machine.dram or "0"
    low, high = 0.0, _core.size_bytes("machine.dram", dram) / MIB - 64.0
    best = (float("inf"), 0.0)
    for _ in range(STEPS):
        middle = (low + high) / 2
        try:
            simulated_kills = run(with_reserved(wanted, middle))["launches.kills"]
        except BadInput:
            # Not even the system fits any more.
            high = middle
            continue
        best = min(best, (abs(simulated_kills - kills), middle))
        low, high = (middle, high) if simulated_kills < kills else (low, middle)
    return with_reserved(wanted, best[1])


def with_reserved(wanted: Experiment, mib: float) -> Experiment:
    return wanted.model_copy(update={"machine": wanted.machine.model_copy(update={"kernel_reserved": _mib(mib)})})


def compare(recording: Recording, wanted: Experiment, run: Simulate = simulate) -> list[FitRow]:
    """Recorded and simulated side by side."""
    theirs, ours = recorded(recording), run(wanted)
    return [
        FitRow(path=path, what=label, recorded=was, simulated=ours[path], error=ours[path] / was - 1 if was else None)
        for path, label, _ in COMPARED
        for was in [theirs[path]]
    ]


def fit(place: Path, recording: Recording, swap: str, others: list[tuple[Path, Recording]], run: Simulate = simulate) -> Fit:
    """Fit a phone to `recording`, and judge it by recordings that were kept out. The experiment's `about` says how well it fits, so that
    plans and recommendations made with it can repeat it."""
    fitted = calibrate(experiment(recording, str(place), swap), recording.kills, run)
    rows = compare(recording, fitted, run)
    held_out = []
    for path, other in others:
        changes = {"machine": machine(other, fitted.machine), "design": [design(other, swap)]}
        there = fitted.model_copy(update={**changes, "workload": fitted.workload.model_copy(update={"launches": str(path)})})
        held_out.append(HeldOut(recording=str(path), mem_total_mib=other.mem_total_mib or 0.0, rows=compare(other, there, run)))
    about = [f"Fitted to {place.name}: {_errors(rows)}."]
    about += [f"Kept out, {Path(held.recording).name} ({held.mem_total_mib:.0f} MiB): {_errors(held.rows)}." for held in held_out]
    if not held_out:
        about.append("No recording was kept out of the fit, so nothing says how well it predicts another configuration.")
    return Fit(recording=recording, experiment=fitted.model_copy(update={"about": " ".join(about)}), rows=rows, held_out=held_out)


def _errors(rows: list[FitRow]) -> str:
    return ", ".join(f"{row.what} {row.error:+.0%}" for row in rows if row.error is not None) or "nothing to compare"
