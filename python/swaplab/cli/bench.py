"""`swaplab bench`: SwapBench on the real kernel."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from swaplab.cli import options as o
from swaplab.cli.parser import Parser


def register(app: Parser) -> None:
    """Add the subcommand."""
    command = app.command("bench", bench)
    text = "An experiment file, or the name of a built-in one: swapbench, quick, against-sim, a2s-small."
    command.add_argument("experiment", metavar="EXPERIMENT", help=text)
    o.add_set(command, "bench.swappiness=100")
    text = "Only these: none,flash,sd-card,ramdisk,zram,zswap,nvm-direct,nvm-copy,nvm-cache."
    command.add_argument("--schemes", default="", help=text)
    text = "Where: local (needs root), uml (user-mode Linux: counts and kills, no times, no root), ssh:HOST, adb:SERIAL."
    command.add_argument("--target", default="local", help=text)
    command.add_argument("--user", default="", help="Whom the apps run as; by default who called sudo, else nobody.")
    command.add_argument("--as-root", action="store_true", help="Allow apps to run as root.")
    command.add_argument("--trace", default="", help="A directory for the kernel's reclaim and block events, by ftrace.")
    text = "Simulate the same experiment too, and say how far the two are apart."
    command.add_argument("--against-sim", action="store_true", help=text)
    command.add_argument("-o", "--out", type=Path, help="Also write a run folder with the report below this folder.")
    command.add_argument("--dry-run", action="store_true", help="Print every change to the machine and make none.")
    o.add_json(command)


def bench(
    experiment: str,
    set: list[str] | None,
    schemes: str,
    target: str,
    user: str,
    as_root: bool,
    trace: str,
    against_sim: bool,
    out: Path | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Measure launch time and switch delay of real programs under each swap scheme of this machine's kernel."""
    from swaplab.live import simulated
    from swaplab.live.bench import spec
    from swaplab.live.target import registry
    from swaplab.live.target.request import Request

    registry.split(target)
    only = [f"bench.schemes={json.dumps(schemes.split(','))}"] if schemes else []
    wanted = spec.load_experiment(experiment, [*(set or []), *only])
    apps = spec.load_apps(spec.table(wanted), experiment)
    progress = _progress() if sys.stderr.isatty() else lambda line: None
    say = print if dry_run and not as_json else lambda line: None
    changes: list[str] = []
    told = changes.append if dry_run and as_json else say
    where = Path(trace) if trace else None
    document = registry.run(target, Request(wanted, apps, experiment, "", user, as_root, dry_run, told, progress, where))
    if against_sim and not dry_run:
        document = simulated.beside(document, wanted, apps, experiment)
    if out is not None and not dry_run:
        from swaplab.live.bench.tables import tables
        from swaplab.run_folder import write_run

        print(write_run(document, spec.table(wanted).name, out, wanted.seed, tables(document)), file=sys.stderr)
    if as_json:
        print(json.dumps(document | ({"changes": changes} if dry_run else {}), indent=2))
    elif not dry_run:
        _table(document)


def _progress() -> Any:
    def show(line: str) -> None:
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)

    return show


def _table(document: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{document['experiment']['bench']['name']} ({document['target']}, {document['kind']})")
    for heading in ("scheme", "swap MiB", "switch ms p50", "[95 %]", "p95", "cold ms p50", "kills", "in MiB", "out MiB", "memory MiB"):
        table.add_column(heading, justify="left" if heading == "scheme" else "right")
    for one in document["schemes"]:
        switch, launch = one["switch_ms"] or {}, one["cold_ms"] or {}
        spread = switch.get("p50_interval")
        table.add_row(
            one["name"] if one["app_policy"] == "none" else f"{one['name']}, {one['app_policy']}",
            f"{one['swap_bytes'] / 2**20:.0f}",
            _number(switch.get("p50")),
            f"{spread[0]:.1f}-{spread[1]:.1f}" if spread else "",
            _number(switch.get("p95")),
            _number(launch.get("p50")),
            f"{one['kills']:g}",
            f"{one['swap_in_bytes'] / 2**20:.0f}",
            f"{one['swap_out_bytes'] / 2**20:.0f}",
            f"{one['memory']['total_bytes'] / 2**20:.0f}",
        )
    Console(width=None if sys.stdout.isatty() else 120).print(table)
    for one in document.get("orderings", []):
        if one["verdict"] != "not-testable" or one["ours"] not in ("no rows", "no switches under both"):
            print(f"{one['verdict']}: {one['claim']} ({one['paper']}): {one['ours']}")
    if document.get("against_sim"):
        _against(document["against_sim"])


def _against(found: dict[str, Any]) -> None:
    """How far the simulator is from the kernel, a line a goal."""
    for goal in found["goals"]:
        most = f"{goal['within']:g}" if goal["what"] == "kills" else f"{100 * goal['within']:.0f} %"
        print(
            f"simulator against kernel, {goal['what']}: {goal['met']} of {goal['configurations']} configurations within {most}; "
            f"median difference {_number(goal['median_difference'], 3)}, largest {_number(goal['largest_difference'], 3)}"
        )
    print(f"simulator against kernel, ranking by switch delay: tau {_number(found['tau'], 2)}, wanted {found['tau_wanted']}")


def _number(value: float | None, digits: int = 1) -> str:
    return "" if value is None else f"{value:.{digits}f}"
