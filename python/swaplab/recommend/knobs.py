"""What a vendor can set, by the names that kernel and Android give it, read out of an experiment's tables and texts."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

#: Name -> where it is set: `sysctl`, `sysfs` or `property`. In the order in which a diff lists them.
KNOBS = {
    "swap": "choice",
    "/sys/block/zram0/disksize": "sysfs",
    "/sys/block/zram0/comp_algorithm": "sysfs",
    "/sys/block/zram0/mem_limit": "sysfs",
    "/sys/block/zram0/writeback_limit": "sysfs",
    "vm.swappiness": "sysctl",
    "vm.extra_free_kbytes": "sysctl",
    "ro.lmk.use_minfree_levels": "property",
    "sys.lmk.minfree_levels": "property",
    "ro.lmk.psi_partial_stall_ms": "property",
    "ro.lmk.psi_complete_stall_ms": "property",
    "ro.lmk.swap_free_low_percentage": "property",
    "ro.lmk.thrashing_limit": "property",
}
#: Parameters of a swap scheme and the file that sets them on the kernel. `tiered` is zram with write-back.
ZRAM = {
    "size": "/sys/block/zram0/disksize",
    "algorithm": "/sys/block/zram0/comp_algorithm",
    "limit": "/sys/block/zram0/mem_limit",
    "budget": "/sys/block/zram0/writeback_limit",
}

Settings = dict[str, str]


def of_phone(phone: dict[str, Any]) -> tuple[Settings, dict[str, Any]]:
    """Settings of a simulated phone's table, and what is left of it: equal in two phones that differ in settings alone."""
    rest = {key: value for key, value in phone.items() if key not in ("policy", "extra_free_kb", "killer")}
    settings, policy = of_policy(str(phone["policy"]))
    killer = dict(phone["killer"])
    settings["vm.extra_free_kbytes"] = str(phone["extra_free_kb"])
    minfree = killer.pop("style") == "minfree"
    settings["ro.lmk.use_minfree_levels"] = "true" if minfree else "false"
    kilobytes, adjustments = killer.pop("minfree_kb"), killer.pop("adj")
    if minfree:
        # lmkd takes the levels in pages of 4 KiB.
        settings["sys.lmk.minfree_levels"] = ",".join(f"{kb // 4}:{adj}" for kb, adj in zip(kilobytes, adjustments, strict=True))
    for key in ("psi_partial_stall_ms", "psi_complete_stall_ms", "swap_free_low_percentage", "thrashing_limit"):
        value = killer.pop(key)
        if not minfree:
            settings[f"ro.lmk.{key}"] = str(value)
    return settings, rest | {"policy": policy, "killer": killer}


def of_policy(text: str) -> tuple[Settings, str]:
    """`active-inactive:swappiness=100,refault=1` -> vm.swappiness, and the policy without it."""
    key, given = _given(text)
    known = _defaults("policies", key)
    if "swappiness" not in known:
        return {}, text
    value = given.pop("swappiness", known["swappiness"])
    return {"vm.swappiness": value}, _text(key, given)


def of_swap(text: str) -> tuple[Settings, str]:
    """`zram:size=512MiB,algorithm=zstd` -> the zram files, and what of the scheme no file sets."""
    key, given = _given(text)
    if key not in ("zram", "tiered"):
        return {"swap": text}, ""
    settings = {"swap": "zram" if key == "zram" else "zram with write-back"}
    for name, default in _defaults("schemes", key).items():
        if (knob := ZRAM.get(name)) is not None:
            settings[knob] = _written(name, given.pop(name, default))
    return settings, _text("", given)


def _written(name: str, value: str) -> str:
    """A value as the kernel's file takes it: the budget in pages of 4 KiB, no limit as 0."""
    if value == "unlimited":
        return "0" if name == "limit" else value
    if name != "budget":
        return value
    from swaplab._core import size_bytes

    try:
        return str(size_bytes("size", value) // 4096)
    except ValueError:
        return value


def _given(text: str) -> tuple[str, dict[str, str]]:
    key, _, arguments = text.partition(":")
    pairs = (part.partition("=") for part in arguments.split(",") if part.strip())
    return key, {name.strip(): value.strip() for name, _, value in pairs}


def _text(key: str, given: dict[str, str]) -> str:
    arguments = ",".join(f"{name}={value}" for name, value in sorted(given.items()))
    return f"{key}:{arguments}" if arguments else key


@cache
def _defaults(kind: str, key: str) -> dict[str, str]:
    """Parameters of a policy or scheme with their defaults, as `swaplab list` shows them."""
    from swaplab import _core

    rows = json.loads(_core.policies() if kind == "policies" else _core.schemes())
    return {one["name"]: str(one["default"]) for row in rows if row["key"] == key for one in row["parameters"]}
