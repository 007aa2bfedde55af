"""`swaplab explain`: what one launch of a simulated phone waited for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swaplab import BadInput
from swaplab.cli import options as o
from swaplab.cli.parser import Parser

if TYPE_CHECKING:
    import polars as pl

#: Parts of a launch in the order in which they are told, and how to call them.
PARTS = {
    "cpu_ns": "the app's own work",
    "fault_cpu_ns": "faults on the processor",
    "decompress_ns": "decompression",
    "swap_read_dram_ns": "swap reads, DRAM",
    "swap_read_pool_ns": "swap reads, compressed pool",
    "swap_read_nvm_ns": "swap reads, NVM",
    "swap_read_flash_ns": "swap reads, flash",
    "swap_read_sd_card_ns": "swap reads, SD card",
    "file_read_ns": "file reads",
    "queue_ns": "queue of the device",
    "direct_reclaim_ns": "direct reclaim",
}
BAR = 30


def register(app: Parser) -> None:
    """Add the subcommand."""
    command = app.command("explain", explain)
    command.add_argument("run", metavar="RUN", type=Path, help="A run folder of `sim --run`.")
    command.add_argument("launch", metavar="LAUNCH", type=o.whole(), help="Number of the launch in its sequence, from 1 on.")
    command.add_argument("--scheme", help="Only this scheme, by its name in the experiment; default: all of them.")
    command.add_argument("--seed", type=o.whole(), help="Of the run with this seed; default: the first.")
    o.add_json(command)


def explain(run: Path, launch: int, scheme: str | None, seed: int | None, as_json: bool) -> None:
    """Say what one launch waited for, scheme by scheme: its waterfall from the request to the app's being ready."""
    from swaplab.run_folder import read_run, read_table

    document = read_run(run)
    rows = _launches(read_table(run, "launches"), run, launch, scheme, seed)
    found = {
        "schema": 1,
        "kind": document.get("kind", "simulated"),
        "run": str(run),
        "launch": launch,
        "seed": rows[0]["seed"],
        "app": rows[0]["app"],
        "at_s": rows[0]["at_ns"] / 1e9,
        "schemes": [waterfall(row) for row in rows],
    }
    if as_json:
        print(json.dumps(found, indent=2))
    else:
        _table(found)


def _launches(table: pl.DataFrame, run: Path, launch: int, scheme: str | None, seed: int | None) -> list[dict[str, Any]]:
    import polars as pl

    place = run / "launches.parquet"
    if missing := {"scheme", "seed", "launch", "app", "start", "ready_ns", *PARTS} - set(table.columns):
        raise BadInput(f"{place}: no column '{min(missing)}'; expected the table that 'swaplab sim --run' writes")
    for column, wanted in (("scheme", scheme), ("seed", seed)):
        known = table[column].unique(maintain_order=True).to_list()
        if wanted is not None and wanted not in known:
            raise BadInput(f"--{column} {wanted}: not in {place}; expected one of: {', '.join(map(repr, known))}")
    table = table.filter(pl.col("seed") == (seed if seed is not None else table["seed"].min()))
    if scheme is not None:
        table = table.filter(scheme=scheme)
    rows = table.filter(launch=launch).to_dicts()
    if not rows:
        last = max(table["launch"].to_list(), default=0)
        raise BadInput(f"LAUNCH {launch}: not in {place}; expected 1 to {last}")
    return rows


def waterfall(row: dict[str, Any]) -> dict[str, Any]:
    """A launch as steps, one after the other, in ms; parts that took no time are left out."""
    steps, at = [], 0
    for part, words in PARTS.items():
        if ns := row[part]:
            steps.append(
                {"part": part.removesuffix("_ns"), "what": words, "from_ms": at / 1e6, "ms": ns / 1e6, "share": ns / row["ready_ns"]}
            )
            at += ns
    keys = ("start", "faults", "swapped_in", "file_reads")
    return {"name": row["scheme"], **{key: row[key] for key in keys}, "ready_ms": row["ready_ns"] / 1e6, "steps": steps}


def _table(found: dict[str, Any]) -> None:
    from swaplab.cli.replay import print_columns

    print(f"launch {found['launch']}: {found['app']} at {found['at_s']:.0f} s, seed {found['seed']}")
    longest = max(one["ready_ms"] for one in found["schemes"]) or 1.0
    for one in found["schemes"]:
        counts = f"{one['faults']} faults, {one['swapped_in']} pages from swap, {one['file_reads']} from files"
        print(f"\n{one['name']}: {one['start']}, ready after {one['ready_ms']:.1f} ms ({counts})")
        rows = []
        for step in one["steps"]:
            before, width = (round(BAR * step[key] / longest) for key in ("from_ms", "ms"))
            rows.append((f"  {step['what']}", f"{step['ms']:.1f} ms", f"{100 * step['share']:.1f} %", " " * before + "#" * max(1, width)))
        print_columns(rows, left=(0, 3))
    print(f"\n{found['kind']}; parts that overlap on a phone are told one after the other")
