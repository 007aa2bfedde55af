"""`swaplab replay`: which policy costs least I/O on this storage, at every size in one pass over the trace."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from swaplab.cli import options as o
from swaplab.cli.parser import Parser
from swaplab.cli.progress import bar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def register(app: Parser) -> None:
    """Add the subcommand."""
    command = app.command("replay", replay)
    o.add_trace(command)
    text = "Policies, as KEY or KEY:name=value,.. ; several with commas."
    command.add_argument("--policy", action="append", required=True, help=text)
    text = "Sizes: 64MiB, 4096p, 5%% of the footprint; several with commas."
    command.add_argument("--memory", action="append", required=True, help=text)
    text = "Storage of files: a key of `list devices`, or a spec file."
    command.add_argument("--file-device", default="ufs-3.1", help=text)
    text = "Storage of swap: optane-m10; with --scheme the device of its own medium (lpddr2-pcm for NVM)."
    command.add_argument("--swap-device", help=text)
    text = "Swap schemes to join, KEY or KEY:name=value,.. ; several with commas."
    command.add_argument("--scheme", action="append", help=text)
    text = "With --scheme: length of the run, for background energy and yearly wear."
    command.add_argument("--seconds", type=o.number(), help=text)
    text = "First touch of an anonymous page: charged (a swap read; default) or zero-fill (default with --scheme)."
    command.add_argument("--first-touch", help=text)
    o.add_mapping(command)
    text = "What policies see of hits: exact, reference-bit:REFERENCES or fault-only."
    command.add_argument("--signal", default="exact", help=text)
    command.add_argument("--seed", type=o.whole(0), default=0, help="For policies that draw at random.")
    for add in (o.add_jobs, o.add_run, o.add_format, o.add_pages, o.add_filter, o.add_page_size, o.add_data_read_class, o.add_json):
        add(command)


def replay(
    trace: Path,
    policy: list[str],
    memory: list[str],
    file_device: str,
    swap_device: str | None,
    scheme: list[str] | None,
    seconds: float | None,
    first_touch: str | None,
    mapping: str,
    signal: str,
    seed: int,
    jobs: int,
    run: Path | None,
    format: str | None,
    pages: Path | None,
    filter: int | None,
    page_size: int | None,
    data_read_class: str | None,
    as_json: bool,
) -> None:
    """Replay a page trace under each policy at each memory size, and count what moves."""
    request = {
        "policies": o.listed(policy),
        "memory": o.listed(memory),
        "file_device": file_device,
        "swap_device": swap_device,
        "schemes": o.listed(scheme or []),
        "seconds": seconds,
        "first_touch": first_touch,
        "mapping": mapping,
        "signal": signal,
        "seed": seed,
        "jobs": jobs,
        "reading": json.loads(o.reading(format, pages, filter, page_size, data_read_class)),
    }
    document = run_replay(trace, request)
    if as_json:
        print(json.dumps(document, indent=2))
    else:
        table(document)
    o.write_report(document, "replay", run, as_json, seed)


def run_replay(trace: Path, request: dict[str, Any]) -> dict[str, Any]:
    """The document of a replay."""
    from swaplab import _core

    with bar(f"replaying {trace.name}") as listener:
        document: dict[str, Any] = json.loads(_core.replay(trace, json.dumps(request), listener))
    return document


def table(document: dict[str, Any]) -> None:
    """Print a replay's points, with I/O time relative to the first policy (CLOCK where it is one of them)."""
    if any("scheme" in point for point in document["points"]):
        scheme_table(document)
        return
    points = document["points"]
    policies = list(dict.fromkeys(p["policy"] for p in points))
    baseline = "clock" if "clock" in policies else policies[0]
    base = {p["memory_pages"]: p["io_time_ns"] for p in points if p["policy"] == baseline}
    rows = [("memory", "pages", "policy", "faults", "swap reads", "swap writes", "file reads", "file writes", "I/O s", f"/ {baseline}")]
    for point in sorted(points, key=lambda p: p["memory_pages"]):
        counts = [f"{point[k]:,}" for k in ("faults", "swap_reads", "swap_writes", "file_reads", "file_writes")]
        of = base.get(point["memory_pages"])
        ratio = f"{point['io_time_ns'] / of:.3f}" if of else "-"
        memory = point["memory"] + (" *" if point["filter_limited"] else "")
        rows.append((memory, f"{point['memory_pages']:,}", point["policy"], *counts, f"{point['io_time_ns'] / 1e9:.3f}", ratio))
    print_columns(rows, left=(2,))
    print(f"simulated; swap on {document['devices']['swap']['name']}, files on {document['devices']['file']['name']}")
    if any(p["filter_limited"] for p in points):
        print(
            f"* below {document['trace']['valid_from_frames']:,} pages the trace's filter dropped references that matter: not to be trusted"
        )


def scheme_table(document: dict[str, Any]) -> None:
    """Print what each swap scheme did at each point, with the DRAM that it used beside the frames."""
    header = "memory,pages,policy,scheme,copied,direct,promoted,out MiB,I/O s,CPU s,swap J,+DRAM MiB,less copies"
    rows = [tuple(header.split(","))]
    copied = {
        (p["policy"], p["memory_pages"]): p["scheme"]["copied_pages"] for p in document["points"] if p["scheme"]["name"] == "nvm-copy"
    }
    for point in sorted(document["points"], key=lambda p: p["memory_pages"]):
        did = point["scheme"]
        counts = [f"{did[k]:,}" for k in ("copied_pages", "direct_reads", "promotions")]
        energies = [medium["energy_j"]["total"] for medium in did["costs"]["media"].values() if medium["energy_j"]]
        joules = f"{sum(energies):.4f}" if len(energies) == len(did["costs"]["media"]) else "-"
        beside = (did["memory"]["pool_peak_bytes"] + did["memory"]["metadata_peak_bytes"]) / 2**20
        base = copied.get((point["policy"], point["memory_pages"]))
        less = f"{100 * (1 - did['copied_pages'] / base):.1f} %" if base and did["name"] != "nvm-copy" else "-"
        memory = point["memory"] + (" *" if point["filter_limited"] else "")
        times = (f"{point['io_time_ns'] / 1e9:.3f}", f"{did['costs']['cpu_ns'] / 1e9:.3f}")
        out = f"{did['swap_out_bytes'] / 2**20:.1f}"
        rows.append(
            (memory, f"{point['memory_pages']:,}", point["policy"], did["name"], *counts, out, *times, joules, f"{beside:.1f}", less)
        )
    print_columns(rows, left=(2, 3))
    used = {medium["device"]: name for p in document["points"] for name, medium in p["scheme"]["costs"]["media"].items()}
    print("simulated; " + ", ".join(f"{medium} is {device}" for device, medium in used.items()) + "; less copies: against nvm-copy")
    if any(p["filter_limited"] for p in document["points"]):
        print(f"* below {document['trace']['valid_from_frames']:,} pages the trace's filter has dropped references that matter")


def print_columns(rows: Sequence[tuple[str, ...]], left: tuple[int, ...] = ()) -> None:
    """Rows of text in aligned columns, to the right except those in `left`; lines are never cut or wrapped."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = (cell.ljust(width) if i in left else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths, strict=True)))
        print("  ".join(cells).rstrip())
