"""Every target, a line each: what is before the colon of `--target`, and the function that runs an experiment there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from swaplab import BadInput
from swaplab.live.bench.spec import dumped
from swaplab.live.target import adb, local, ssh, uml
from swaplab.live.target.request import Request
from swaplab.model import bench

TARGETS: dict[str, Callable[[Request], dict[str, Any]]] = {"local": local.run, "uml": uml.run, "ssh": ssh.run, "adb": adb.run}
#: Targets that say which of their kind: a host, a serial number.
ADDRESSED = ("ssh", "adb")


def split(target: str) -> tuple[str, str]:
    """(kind, address) of a `--target`."""
    kind, colon, at = target.partition(":")
    if kind not in TARGETS or bool(colon) != (kind in ADDRESSED) or at.startswith("-") or (kind == "ssh" and not at):
        raise BadInput(f"--target: '{target}'; expected local, uml, ssh:HOST or adb:SERIAL")
    return kind, at


def run(target: str, request: Request) -> dict[str, Any]:
    """Run the experiment on that target; the JSON document."""
    kind, at = split(target)
    if request.trace and kind != "local":
        raise BadInput("--trace: only this machine's kernel can be traced; expected --target local")
    return TARGETS[kind](replace(request, at=at)) | {"inputs": bench.inputs(dumped(request.experiment))}
