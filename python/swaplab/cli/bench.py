"""`swaplab bench`: SwapBench on the real kernel."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command("bench")(bench)


def bench(
    experiment: str = typer.Argument(help="An experiment file, or the name of a built-in one: swapbench, quick, against-sim, a2s-small."),
    set: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key, such as bench.swappiness=100.")] = None,
    schemes: str = typer.Option("", "--schemes", help="Only these: none,flash,sd-card,ramdisk,zram,zswap,nvm-direct,nvm-copy,nvm-cache."),
    target: str = typer.Option(
        "local",
        "--target",
        help="Where: local (needs root), uml (user-mode Linux: counts and kills, no times, no root), ssh:HOST, adb:SERIAL.",
    ),
    user: str = typer.Option("", "--user", help="Whom the apps run as; by default who called sudo, else nobody."),
    as_root: bool = typer.Option(False, "--as-root", help="Allow apps to run as root."),
    trace: str = typer.Option("", "--trace", help="A directory for the kernel's reclaim and block events, by ftrace."),
    against_sim: bool = typer.Option(False, "--against-sim", help="Simulate the same experiment too, and say how far the two are apart."),
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Also write a run folder with the report below this folder.")] = None,
    dry_run: bool = typer.Option(False, "--dry-run", help="Print every change to the machine and make none."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document."),
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
