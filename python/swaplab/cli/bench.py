"""`swaplab bench`: SwapBench on the real kernel."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import typer


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command("bench")(bench)


def bench(
    experiment: str = typer.Argument(help="An experiment file, or the name of a built-in one: swapbench, quick."),
    schemes: str = typer.Option("", "--schemes", help="Only these: none,flash,ramdisk,zram,zswap."),
    target: str = typer.Option(
        "local",
        "--target",
        help="Where: local (needs root), uml (user-mode Linux: counts and kills, no times, no root), ssh:HOST, adb:SERIAL.",
    ),
    user: str = typer.Option("", "--user", help="Whom the apps run as; by default who called sudo, else nobody."),
    as_root: bool = typer.Option(False, "--as-root", help="Allow apps to run as root."),
    trace: str = typer.Option("", "--trace", help="A directory for the kernel's reclaim and block events, by ftrace."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Print every change to the machine and make none."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document."),
) -> None:
    """Measure launch time and switch delay of real programs under each swap scheme of this machine's kernel."""
    from swaplab.live.bench import spec
    from swaplab.live.target import registry
    from swaplab.live.target.request import Request
    from swaplab.live.undo import Failed

    registry.split(target)
    wanted = spec.load_experiment(experiment)
    if schemes:
        wanted = wanted.model_copy(update={"schemes": schemes.split(",")})
    apps = spec.load_apps(wanted, experiment)
    progress = _progress() if sys.stderr.isatty() else lambda line: None
    say = print if dry_run and not as_json else lambda line: None
    changes: list[str] = []
    told = changes.append if dry_run and as_json else say
    try:
        where = Path(trace) if trace else None
        document = registry.run(target, Request(wanted, apps, experiment, "", user, as_root, dry_run, told, progress, where))
    except Failed as error:
        print(f"swaplab: {error}", file=sys.stderr)
        raise typer.Exit(1) from error
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

    table = Table(title=f"{document['experiment']['name']} ({document['target']}, {document['kind']})")
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


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"
