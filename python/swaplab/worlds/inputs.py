"""The files that an experiment reads, with hashes of their content, by which equal runs are
recognized.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from swaplab.core.errors import BadInput
from swaplab.core.experiment import dumped
from swaplab.core.files import content_hash, path_for_message
from swaplab.core.model import Experiment, Input, TraceFacts
from swaplab.core.trace import TraceInfo
from swaplab.worlds.traces import local_trace, stamp


def inputs_of(experiment: Experiment) -> list[Input]:
    """List every file that a run of the experiment reads. Raises BadInput for a missing trace."""
    workload, files = experiment.workload, []
    if workload.trace is not None:
        files.append(_trace(workload.trace, dumped(workload.reading), stamp(workload.trace)))
    if isinstance(workload.launches, str) and _is_file(workload.launches):
        files.append(_file(workload.launches, "launches"))
    if isinstance(workload.apps, str) and _is_file(workload.apps):
        files.append(_file(workload.apps, "apps"))
    if isinstance(workload.apps, list):
        files += [_file(use.use, "app") for use in workload.apps if _is_file(use.use)]
    devices = experiment.machine.devices
    named = [_without_options(getattr(devices, field)) for field in type(devices).model_fields]
    files += [_file(name, "device") for name in named if _is_file(name)]
    if "vm" in experiment.run.on and "/" in experiment.run.vm.kernel and _is_file(experiment.run.vm.kernel):
        files.append(_file(experiment.run.vm.kernel, "kernel"))
    policies = [design.policy for design in experiment.design if isinstance(design.policy, str)]
    files += [_file(file, "policy") for policy in policies if _is_file(file := policy.partition(":")[0])]
    return list({(read_file.kind, read_file.path): read_file for read_file in files}.values())


def _without_options(device: str) -> str:
    """The path of a device file without options such as `:rates=slow`; a key as it is."""
    path, extension, _ = device.partition(".toml")
    return path + extension


def _is_file(name: str) -> bool:
    return bool(name) and "://" not in name and Path(name).is_file()


def _file(name: str, kind: str) -> Input:
    try:
        return Input(path=path_for_message(name), name=Path(name).name, kind=kind, content_hash=content_hash(Path(name)))
    except OSError as error:
        raise BadInput(f"{path_for_message(name)}: {error.strerror}; expected a file that can be read") from None


@lru_cache(maxsize=64)
def _trace(name: str, reading: str, _stamp: str) -> Input:
    return trace_input(name, TraceInfo.of(Path(local_trace(name, reading))))


def trace_input(place: str | Path, info: TraceInfo) -> Input:
    """Build the input for the page trace at `place`."""
    facts = TraceFacts(
        references=info.references,
        footprint_pages=info.footprint_pages,
        page_bytes=info.page_size,
        raw_references=info.raw_references or None,
        valid_from_frames=info.valid_from_frames,
    )
    name = info.name or Path(place).name
    return Input(path=path_for_message(place), name=name, kind="trace", content_hash=info.content_hash or "", trace=facts)
