"""Experiments: reading, resolving by the core, varying and saving. All functions use the generated
classes.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import tomli_w
from pydantic import BaseModel, TypeAdapter, ValidationError

from swaplab import _core
from swaplab.core.bases import TolerantModel
from swaplab.core.errors import BadInput
from swaplab.core.files import path_for_message, read_text
from swaplab.core.model import Experiment, Scalar, Spec, Use

#: The values that vary at one point, by key.
Point = dict[str, Scalar]
_POINTS = TypeAdapter(list[Point])

PRESETS = Path(__file__).parents[1] / "presets"
#: Traces of real programs that come with swaplab, by the name that `workload.trace` may give
#: (python/swaplab/data/PROVENANCE.md).
BUNDLED = {path.stem: path for path in sorted((Path(__file__).parents[1] / "data").glob("*.slt"))}


def trace_path(name: str | os.PathLike[str]) -> Path:
    """Return the file of a bundled trace, unless there is a file of its name; else the path."""
    path = Path(name)
    return BUNDLED[str(name)] if str(name) in BUNDLED and not path.exists() else path


def read(path: str | os.PathLike[str], set: list[str] | None = None) -> Experiment:
    """Read and resolve a file or preset with `KEY=VALUE` changes. Files that it names are looked up
    in its folder first.
    """
    place = Path(path)
    if not place.exists() and (preset := PRESETS / f"{path}.toml").is_file():
        place = preset
    text = read_text(place, "an experiment file (`swaplab new FILE` writes one) or a preset of `swaplab list presets`")
    experiment = parse(text, path_for_message(place), set)
    if not experiment.name:
        experiment.name = place.stem
    return resolve_paths(experiment, place.parent)


def parse(text: str, place: str = "experiment", set: list[str] | None = None) -> Experiment:
    """Parse and resolve a TOML text (JSON if `place` ends in .json). Raises BadInput with the line
    or key.
    """
    return Experiment.model_validate_json(_core.experiment_read(place, text, set or []))


#: The place of an experiment that the options of a command give.
_OPTIONS = "options.json"


def from_options(table: Mapping[str, object], set: list[str] | None = None) -> Experiment:
    """Resolve the experiment that the options of a command give, with `KEY=VALUE` changes. Raises
    BadInput with the key, but without a file and a line, because the user did not write a file.
    """
    try:
        return parse(json.dumps(table), _OPTIONS, set)
    except BadInput as error:
        raise BadInput(re.sub(rf"^{re.escape(_OPTIONS)}(: | with )| at line \d+ column \d+$", "", str(error))) from None


def resolve(experiment: Experiment, place: str = "experiment") -> Experiment:
    """Fill in presets and defaults, cross and name designs. Raises BadInput for invalid values."""
    return Experiment.model_validate_json(_core.experiment_from_document(place, dumped(experiment)))


def build(**tables: object) -> Experiment:
    """Resolve an experiment given as keyword arguments, which are the tables of the file. Raises
    BadInput.
    """
    place = "experiment"
    try:
        return resolve(Experiment.model_validate(tables), place)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise BadInput(f"{place}: {where}: {first['msg']}; expected an experiment as `swaplab schema` describes it") from None


def dumped(experiment: BaseModel) -> str:
    """The JSON form."""
    return experiment.model_dump_json(by_alias=True, exclude_none=True)


def toml(experiment: Experiment) -> str:
    """The experiment as the text of a file, without values that are defaults. `read` gives the same
    experiment.
    """
    table = json.loads(experiment.model_dump_json(by_alias=True, exclude_none=True, exclude_defaults=True))
    if isinstance(machine := table.get("machine"), dict):
        machine.setdefault("base", experiment.machine.base)
    return tomli_w.dumps(table)


def points(experiment: Experiment, place: str = "experiment") -> list[Point]:
    """The values of each point of `[vary]`, in order; a single empty point if nothing is varied."""
    return _POINTS.validate_json(_core.experiment_points(place, dumped(experiment)))


def at(experiment: Experiment, point: Point, place: str = "experiment") -> Experiment:
    """The experiment at a point, without `[vary]`."""
    return Experiment.model_validate_json(_core.experiment_at(place, dumped(experiment), json.dumps(point)))


class DesignCheck(TolerantModel):
    """For each world: true, or the reason why it cannot run the design."""

    design: str
    worlds: dict[str, bool | str]


def check(experiment: Experiment, place: str = "experiment") -> list[DesignCheck]:
    """Check which worlds can run each design."""
    return TypeAdapter(list[DesignCheck]).validate_json(_core.experiment_check(place, dumped(experiment)))


def refuse(experiment: Experiment, place: str = "experiment") -> None:
    """Raise BadInput if a world of `run.on` cannot run a design."""
    _core.experiment_refuse(place, dumped(experiment))


def seeds(experiment: Experiment, world: str) -> int:
    """The number of seeds in a world."""
    return _core.experiment_seeds(dumped(experiment), world)


class MachinePreset(TolerantModel):
    """A preset of `machine.base`."""

    key: str
    what: str
    #: Its TOML, with the source of each number.
    text: str


def machines() -> list[MachinePreset]:
    """Every preset of `machine.base`."""
    return TypeAdapter(list[MachinePreset]).validate_json(_core.registry("machines"))


def resolve_paths(experiment: Experiment, folder: Path) -> Experiment:
    """Replace names of files that exist in the experiment's folder with their paths."""

    def resolve_near_experiment(name: str) -> str:
        near = folder / name
        return str(near) if "://" not in name and not Path(name).is_absolute() and near.is_file() else name

    workload, devices = experiment.workload, experiment.machine.devices
    if workload.trace and workload.trace not in BUNDLED:
        workload.trace = resolve_near_experiment(workload.trace)
    if workload.reading.pages:
        workload.reading.pages = resolve_near_experiment(workload.reading.pages)
    if isinstance(workload.launches, str):
        workload.launches = resolve_near_experiment(workload.launches)
    if isinstance(workload.apps, str):
        workload.apps = resolve_near_experiment(workload.apps)
    elif isinstance(workload.apps, list):
        for use in workload.apps:
            if isinstance(use, Use) and use.use.endswith(".toml"):
                use.use = resolve_near_experiment(use.use)
    if "/" in experiment.run.vm.kernel:
        experiment.run.vm.kernel = resolve_near_experiment(experiment.run.vm.kernel)
    for name in type(devices).model_fields:
        setattr(devices, name, resolve_near_experiment(getattr(devices, name)))
    for design in experiment.design:
        if not isinstance(design.policy, list):
            design.policy = _resolve_policy(design.policy, resolve_near_experiment)
    if experiment.vary is not None:
        for key, values in (experiment.vary.__pydantic_extra__ or {}).items():
            if isinstance(values, list):
                values[:] = [_resolve_value(key, value, resolve_near_experiment) for value in values]
    return experiment


def _resolve_value(key: str, value: Scalar, locate: Callable[[str], str]) -> Scalar:
    """A value of `[vary]`, with `locate` applied if the value is the name of a file."""
    if not isinstance(value, str):
        return value
    if key.endswith(".policy"):
        policy = _resolve_policy(value, locate)
        return policy if isinstance(policy, str) else value
    return locate(value) if key.startswith(("workload.", "machine.devices.")) else value


def _resolve_policy(policy: Spec, locate: Callable[[str], str]) -> Spec:
    """The key of a policy, with `locate` applied to the file in keys such as `./mine.py:Mine`."""
    if not isinstance(policy, str):
        return policy
    file, colon, rest = policy.partition(":")
    return f"{locate(file)}{colon}{rest}" if file.endswith((".py", ".so", ".dylib")) else policy
