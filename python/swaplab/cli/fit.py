"""`swaplab fit`: a simulated phone from a recording of a real one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from swaplab.cli import options as o
from swaplab.cli.parser import Parser
from swaplab.cli.progress import bar


def register(app: Parser) -> None:
    """Add the subcommand."""
    command = app.command("fit", fit)
    text = "A Perfetto recording, or memory samples (smaps, dumpsys)."
    command.add_argument("recording", metavar="RECORDING", type=Path, help=text)
    o.add_output(command, "OUT.toml", "The experiment to write, for swaplab sim.")
    text = "A recording kept out of the fit, to judge it by."
    command.add_argument("--predict", metavar="OTHER", type=Path, action="append", help=text)
    command.add_argument("--swap", default="zram", help="The recorded phone's kind of swap, a key of `swaplab list schemes`.")
    for add in (o.add_format, o.add_jobs, o.add_json):
        add(command)


def fit(recording: Path, output: Path, predict: list[Path] | None, swap: str, format: str | None, jobs: int, as_json: bool) -> None:
    """Fit apps and memory of a simulated phone to a recording; show the error on it, and on recordings of other configurations."""
    from swaplab import BadInput, _core
    from swaplab import fit as model
    from swaplab.run_folder import replace

    if not output.absolute().parent.is_dir():
        raise BadInput(f"{output}: no folder '{output.parent}'; expected one that exists")
    reading = o.reading(format)
    found, others = model.read(recording, reading), [(path, model.read(path, reading)) for path in predict or []]
    defaults = model.defaults()
    table = model.experiment(found, str(recording), swap, defaults)
    with bar(f"fitting {recording.name}"):
        table["phone"]["kernel_mib"] = model.calibrate(table, found["kills"], lambda t: model.simulate(t, jobs))
        rows = model.compare(found, table, jobs)
        held_out = []
        for path, other in others:
            there = model.machine(other, swap, defaults)
            there["phone"]["kernel_mib"] = table["phone"]["kernel_mib"]
            judged = model.compare(other, table | there | {"launches": str(path)}, jobs)
            held_out.append({"recording": str(path), "mem_total_mib": other["mem_total_mib"], "rows": judged})
    notes = [f"Fitted by `swaplab fit` to {recording.name}; kernel_mib so that kills agree. Times, and what was not recorded: assumed."]
    notes += [_line(row) for row in rows]
    for one in held_out:
        notes += [f"Kept out, {Path(one['recording']).name}, {one['mem_total_mib']:.0f} MiB:", *(_line(row) for row in one["rows"])]
    text = model.toml(notes, table | {"launches": model.elsewhere(recording, output)})
    _core.experiment_from_toml(output.name, text, [])
    replace(output, text.encode())
    if as_json:
        document = {"schema": 1, "kind": "simulated", "recording": found, "experiment": {"sim": table}, "fit": rows, "held_out": held_out}
        print(json.dumps(document, indent=2))
        return
    table_of(found)
    print("\n".join(notes[1:]))
    print(f"simulated phone in {output}")


def _line(row: dict[str, Any]) -> str:
    was = "not recorded" if row["recorded"] is None else f"{row['recorded']:.1f} recorded"
    error = "" if row["error"] is None else f" ({row['error']:+.1%})"
    return f"  {row['what']:<13}{was}, {row['simulated']:.1f} simulated{error}"


def table_of(found: dict[str, Any]) -> None:
    """Print what the recording says: a line an app, then starts and kills."""
    from swaplab.cli.replay import print_columns

    rows = [("app", "launches", "cold", "kills", "anonymous MiB", "file MiB", "graphics MiB")]
    for app in [*found["apps"], found["system"]]:
        counts = (str(app[key]) for key in ("launches", "cold_starts", "kills"))
        rows.append((app["name"], *counts, *(f"{app[key]:.1f}" for key in ("anon_mib", "file_mib", "graphics_mib"))))
    print_columns(rows, left=(0,))
    for name, kind in (("cold start", found["cold"]), ("resume", found["resumes"])):
        named = (("major_faults", "major faults"), ("swapped_in_pages", "pages swapped in"))
        costs = [f"{kind[key]:,.1f} {what}" for key, what in named if kind[key] is not None]
        print(f"{kind['count']} {name}s" + (f", each with {' and '.join(costs)}" if costs else ""))
    by = ", ".join(f"{count} at {adjustment}" for adjustment, count in found["kills_by_adjustment"].items())
    print(f"{found['kills']} kills" + (f": {by}" if by else ""))
