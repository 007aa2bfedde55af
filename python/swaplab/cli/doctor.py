"""`swaplab doctor`: the capabilities of this machine, what needs them, and the repair of changes
that a crashed run left.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Annotated

import typer

from swaplab import BadInput
from swaplab.cli import options as o
from swaplab.worlds.capabilities import Capability, capabilities
from swaplab.worlds.kernel import journal
from swaplab.worlds.kernel.target import adb, registry, ssh
from swaplab.worlds.vm import probes as vm


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor")(doctor)


def doctor(
    repair: Annotated[
        bool, typer.Option("--repair", help="Undo the changes of a crashed run: swap, zram, loops, mounts, cgroups, settings.")
    ] = False,
    target: Annotated[
        str,
        typer.Option("--target", metavar="TARGET", help="The machine: local, ssh:HOST (by its own doctor) or adb:SERIAL (a phone)."),
    ] = "local",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With --repair: print every undo operation and perform none.")] = False,
    as_json: o.Json = False,
) -> None:
    """Show which capabilities this machine has, what needs each, and why one is missing."""
    if dry_run and not repair:
        raise BadInput("--dry-run: has no effect without --repair; expected both")
    undone: list[str] = []
    failures = journal.repair(undone.append, dry_run) if repair and target == "local" else []
    listed = [*capabilities(), *capabilities(vm.PROBES)] if target == "local" else _examine_target(target, repair, dry_run, as_json)
    if listed is None:
        return
    left = [str(path) for path in journal.orphaned_journals()] if target == "local" else []
    if as_json:
        document = {
            "schema": 1,
            "kind": "measured",
            "target": target,
            "capabilities": [asdict(capability) for capability in listed],
            "left_behind": left,
        }
        changes = {"undone": undone, "failed": failures, "dry_run": dry_run} if repair else {}
        print(json.dumps({**document, **changes}, indent=2))
    else:
        _print_capabilities(listed, undone, left, repair, dry_run)
    for failure in failures:
        print(f"swaplab: not undone: {failure}", file=sys.stderr)
    if failures:
        raise typer.Exit(1)


def _print_capabilities(listed: list[Capability], undone: list[str], left: list[str], repair: bool, dry_run: bool) -> None:
    width = max(len(capability.name) for capability in listed)
    for capability in listed:
        print(f"{'yes' if capability.available else 'no ':<4}{capability.name:<{width}}  {capability.why}")
        if not capability.available and capability.needed_for:
            print(f"{'':<{width + 6}}lacking: {', '.join(capability.needed_for)}")
    for line in undone:
        print(f"{'would undo' if dry_run else 'undone'}: {line}")
    if repair and not undone:
        print("nothing to repair")
    for path in left:
        print(f"a crashed run left changes ({path}): run `swaplab doctor --repair`", file=sys.stderr)


def _examine_target(target: str, repair: bool, dry_run: bool, as_json: bool) -> list[Capability] | None:
    """Return a phone's capabilities; for an ssh target, print the output of its own doctor and
    return None.
    """
    kind, at = registry.split(target)
    if kind == "ssh":
        options = ["--repair"] * repair + ["--dry-run"] * dry_run + ["--json"] * as_json
        print(ssh.call(at, ["doctor", *options], {})["said"].decode(), end="")
        return None
    if kind != "adb" or repair:
        raise BadInput(f"--target {target}: expected local, ssh:HOST or adb:SERIAL, and --repair for the first two only")
    return adb.capabilities(at)
