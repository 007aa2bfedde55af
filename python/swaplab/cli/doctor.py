"""`swaplab doctor`: what this machine can do, what lacks it, and the repair of what a crashed run left behind."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from swaplab.cli import options as o
from swaplab.cli.parser import Parser

if TYPE_CHECKING:
    from swaplab.live.capabilities import Capability


def register(app: Parser) -> None:
    """Add the subcommand."""
    command = app.command("doctor", doctor)
    text = "Undo what a crashed run left: swap, zram, loops, mounts, cgroups, settings."
    command.add_argument("--repair", action="store_true", help=text)
    text = "Whose: local, ssh:HOST (its own doctor), adb:SERIAL (what the phone can do)."
    command.add_argument("--target", default="local", help=text)
    command.add_argument("--dry-run", action="store_true", help="With --repair: print every undoing and do none.")
    o.add_json(command)


def doctor(repair: bool, target: str, dry_run: bool, as_json: bool) -> None:
    """Say what this machine can do, what needs it and why it is missing."""
    from swaplab.live import journal
    from swaplab.live.capabilities import capabilities

    undone: list[str] = []
    failures = journal.repair(undone.append, dry_run) if repair and target == "local" else []
    found = capabilities() if target == "local" else _elsewhere(target, repair, dry_run, as_json)
    if found is None:
        return
    left = [str(path) for path in journal.left_behind()] if target == "local" else []
    if as_json:
        document = {"schema": 1, "kind": "measured", "target": target, "capabilities": [asdict(one) for one in found], "left_behind": left}
        if repair:
            document |= {"undone": undone, "failed": failures, "dry_run": dry_run}
        print(json.dumps(document, indent=2))
    else:
        width = max(len(one.name) for one in found)
        for one in found:
            print(f"{'yes' if one.available else 'no ':<4}{one.name:<{width}}  {one.why}")
            if not one.available and one.needed_for:
                print(f"{'':<{width + 6}}lacking: {', '.join(one.needed_for)}")
        for line in undone:
            print(f"{'would undo' if dry_run else 'undone'}: {line}")
        if repair and not undone:
            print("nothing to repair")
        for path in left:
            print(f"a crashed run left changes ({path}): run `swaplab doctor --repair`", file=sys.stderr)
    for failure in failures:
        print(f"swaplab: not undone: {failure}", file=sys.stderr)
    if failures:
        sys.exit(1)


def _elsewhere(target: str, repair: bool, dry_run: bool, as_json: bool) -> list[Capability] | None:
    """What a phone can do; None once another machine's own doctor has said it all."""
    from swaplab import BadInput
    from swaplab.live.target import adb, registry, ssh

    kind, at = registry.split(target)
    if kind == "ssh":
        options = ["--repair"] * repair + ["--dry-run"] * dry_run + ["--json"] * as_json
        print(ssh.call(at, ["doctor", *options], {}), end="")
        return None
    if kind != "adb" or repair:
        raise BadInput(f"--target {target}: expected local, ssh:HOST or adb:SERIAL, and --repair for the first two only")
    return adb.capabilities(at)
