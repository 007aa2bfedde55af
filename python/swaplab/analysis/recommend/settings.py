"""The settings of a row's machine that a vendor can change, by the names of the kernel and of
Android.

The registry says which parameter of a policy, scheme or killer represents which setting, so a new
parameter needs no change here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from swaplab import _core
from swaplab.analysis.registry import Entry, killers, parts_of, policies, schemes, text_of
from swaplab.core.model import Compact, Experiment, Row

#: The name of the choice of the swap scheme, for which the kernel has no single file.
SWAP = "swap"
#: The name of the choice of the low-memory killer.
KILLER = "low-memory killer"
#: DeviceConfig's setting for app compaction, which pages out cached apps before memory is low.
COMPACTION = "activity_manager/use_compaction"
#: Its value, by `machine.background.compact`. Other kinds of compaction have distinct values, too.
COMPACTION_VALUES: dict[Compact, str] = {"off": "false", "aosp": "true"}
PAGE_BYTES = 4096
#: A property with pairs of pages and adjustment; the killer `minfree` has two lists as parameters.
MINFREE = "sys.lmk.minfree_levels"


@dataclass(frozen=True)
class Settings:
    """The settings of one row. Two options are compared only if their `other_parameters` and
    `conditions` are equal.

    `values`: value by setting name. `owner`: by setting name, the choice (scheme or killer) that
    the setting belongs to. `other_parameters`: by choice, those of its parameters that represent no
    setting, as JSON. `conditions`: everything else about the run, as JSON.
    """

    values: dict[str, str]
    owner: dict[str, str]
    other_parameters: dict[str, str]
    conditions: str


def place_of(name: str) -> str:
    """Return where a setting is made: `sysctl`, `sysfs`, `property`, `device_config` or
    `choice`.
    """
    for registry in (schemes(), policies(), killers()):
        for entry in registry.values():
            for parameter in entry.parameters:
                if parameter.setting is not None and parameter.setting.name == name:
                    return parameter.setting.place
    if name == COMPACTION:
        return "device_config"
    return "sysctl" if name.startswith("vm.") else "choice"


def settings_of(row: Row, experiment: Experiment) -> Settings:
    """Collect the settings of a row; `experiment` is the experiment at the row's point."""
    machine = experiment.machine
    values: dict[str, str] = {}
    owner: dict[str, str] = {}
    policy = text_of(machine.kernel.policy) if row.policy == "system" else row.policy
    policy_rest = _collect(policy or "", policies(), values, owner, None)
    if machine.kernel.swappiness is not None and "swappiness" not in parts_of(policy or "")[1]:
        values["vm.swappiness"] = str(machine.kernel.swappiness)
    values["vm.extra_free_kbytes"] = str(
        _core.size_bytes("extra_free", machine.kernel.extra_free) // 1024 if machine.kernel.extra_free != "0" else 0
    )
    if machine.kernel.page_cluster is not None:
        values["vm.page-cluster"] = str(machine.kernel.page_cluster)
    if row.swap not in (None, "none") and row.world == "phone":
        # Without swap only file pages are made cold, whatever the setting.
        kind = machine.background.compact
        values[COMPACTION], owner[COMPACTION] = COMPACTION_VALUES.get(kind, f"true ({kind})"), SWAP
    other_parameters: dict[str, str] = {}
    for name, text, registry in ((SWAP, row.swap, schemes()), (KILLER, row.killer or text_of(machine.killer), killers())):
        if text is None:
            continue
        rest = _collect(text, registry, values, owner, name)
        key = parts_of(text)[0]
        entry = registry.get(key)
        if entry is not None and any(parameter.setting for parameter in entry.parameters):
            values[name] = key
            other_parameters[name] = rest
        else:
            # None of its parameters represents a setting, so its whole text is the value of the
            # choice.
            values[name] = text
    return Settings(values, owner, other_parameters, json.dumps([policy_rest, _surroundings(row, experiment)], sort_keys=True))


def _collect(text: str, registry: dict[str, Entry], values: dict[str, str], owner: dict[str, str], choice: str | None) -> str:
    """Add the parameters of `text` that represent a setting to `values`. Returns the other
    parameters as JSON.
    """
    key, given = parts_of(text)
    entry = registry.get(key)
    if entry is None:
        return text
    levels: dict[str, list[str]] = {}
    rest = {}
    for parameter in entry.parameters:
        value = given.get(parameter.name, parameter.default)
        if parameter.setting is None:
            rest[parameter.name] = value
            continue
        # Several parameters may form one setting: lmkd's levels consist of sizes and adjustments.
        levels.setdefault(parameter.setting.name, []).append(_written(parameter.setting.name, value))
    for name, parts in levels.items():
        values[name] = _minfree(*parts) if name == MINFREE and len(parts) == 2 else ",".join(parts)
        if choice is not None:
            owner[name] = choice
    return json.dumps([key if choice is None else "", rest], sort_keys=True)


def _written(setting: str, value: str) -> str:
    """Convert a value to the form of the kernel's file: zRAM's write-back budget in pages of 4 KiB,
    an unlimited pool as 0.
    """
    if value == "unlimited":
        return "0" if setting.endswith("/mem_limit") else value
    if setting.endswith("/writeback_limit"):
        return str(_core.size_bytes("size", value) // PAGE_BYTES)
    return value


def _minfree(kilobytes: str, adjustments: str) -> str:
    pairs = zip(kilobytes.strip("[]").split(";"), adjustments.strip("[]").split(";"), strict=False)
    return ",".join(f"{int(kb) // 4}:{adjustment}" for kb, adjustment in pairs)


def _surroundings(row: Row, experiment: Experiment) -> list[object]:
    machine = experiment.machine.model_dump(
        mode="json",
        exclude={"killer": True, "kernel": {"policy", "swappiness", "extra_free", "page_cluster"}, "background": {"compact"}},
    )
    design = next((candidate for candidate in experiment.design if candidate.name == row.design), None)
    kept = design.model_dump(mode="json", include={"prepage", "proactive"}) if design is not None else {}
    workload = [experiment.workload.model_dump(mode="json", exclude={"launches", "trace"}), row.workload if row.world == "kernel" else ""]
    run = experiment.run.model_dump(mode="json", exclude={"seed", "seeds", "on"})
    frames = row.replay.frames if row.replay is not None and "machine.dram" not in row.point else 0
    return [row.world, row.app_policy, machine, kept, workload, run, frames]
