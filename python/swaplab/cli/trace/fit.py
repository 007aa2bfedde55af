"""`swaplab trace fit`: fits app models to captures, and a phone to a recording."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from swaplab.analysis import app_fit as app_fits
from swaplab.analysis import fit as fits
from swaplab.analysis.fit import FitRow, Recording
from swaplab.analysis.verdict import plural
from swaplab.cli import options as o
from swaplab.cli.progress import bar
from swaplab.cli.table import print_columns
from swaplab.core import experiment as experiments
from swaplab.core.files import path_for_message, refuse_overwrite, try_output, write_whole
from swaplab.core.trace import as_json as reading_json


def register(trace: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(name="fit", help="Fit models of apps and phones to recordings.", no_args_is_help=True, rich_markup_mode=None)
    group.command("app")(app)
    group.command("phone")(phone)
    trace.add_typer(group)


def app(
    traces: Annotated[list[Path], typer.Argument(metavar="TRACE..", help="Captures with --label launch --label resume.")],
    output: o.OutFile,
    format: o.Format = None,
    as_json: o.Json = False,
) -> None:
    """Fit app models (launch and resume sets, sizes, shares) to captures; validate them on each
    last resume.
    """
    refuse_overwrite(output, traces)
    try_output(output)
    with bar(f"reading {path_for_message(traces[0].name)}") as listener:
        fitted = app_fits.app_fit(traces, reading_json(o.reading(format), *traces), listener)
    notes = [line for capture in fitted.captures for line in app_fits.about_capture(capture)]
    head = ["Written by `swaplab trace fit app`. What a key means: `swaplab schema`.", *notes]
    head.append("A capture knows neither times nor graphics memory: these keep the defaults, which are assumed.")
    write_whole(output, _file(head, experiments.toml(app_fits.app_experiment(fitted))))
    if as_json:
        print(fitted.model_dump_json(indent=2))
        return
    print("\n".join(notes))
    print(f"app models in {path_for_message(output)}")


def phone(
    recording: Annotated[Path, typer.Argument(metavar="RECORDING", help="A Perfetto recording, or memory samples (smaps, dumpsys).")],
    output: o.OutFile,
    predict: Annotated[
        list[Path], typer.Option("--predict", metavar="OTHER", help="A recording that is excluded from the fit and used for validation.")
    ] = [],
    swap: Annotated[
        str, typer.Option("--swap", metavar="S", help="The recorded phone's swap scheme, a key of `swaplab list schemes`.")
    ] = "zram",
    set: o.Set = [],
    format: o.Format = None,
    as_json: o.Json = False,
) -> None:
    """Fit apps and memory of a simulated phone to a recording; show the errors on it and on other
    recordings.
    """
    refuse_overwrite(output, [recording, *predict])
    try_output(output)
    reading = reading_json(o.reading(format), recording)
    with bar(f"fitting {path_for_message(recording.name)}"):
        fitted = fits.fit(recording.absolute(), reading, swap, set, [path.absolute() for path in predict])
    how = "counters" if fitted.recording.kernel else "kills"
    notes = [f"Fitted by `swaplab trace fit phone` to {recording.name}: kernel_reserved by {how}, resume_share by swap-ins."]
    notes += [_line(row) for row in fitted.rows]
    for other in fitted.held_out:
        notes += [f"Kept out, {Path(other.recording).name}, {other.mem_total_mib:.0f} MiB:", *(_line(row) for row in other.rows)]
    write_whole(output, _file(notes, experiments.toml(fitted.experiment)))
    if as_json:
        print(fitted.model_dump_json(indent=2, by_alias=True))
        return
    _print_recording(fitted.recording)
    print("\n".join(notes[1:]))
    print(f"simulated phone in {path_for_message(output)}")


def _file(notes: list[str], text: str) -> bytes:
    return ("".join(f"# {line}\n" for line in notes) + text).encode()


def _line(row: FitRow) -> str:
    was = "not recorded" if row.recorded is None else f"{row.recorded:.1f} recorded"
    error = "" if row.error is None else f" ({row.error:+.1%})"
    return f"  {row.what:<18}{was}, {row.simulated:.1f} simulated{error}"


def _print_recording(recording: Recording) -> None:
    """Print the recording's summary: a row per app, then starts and kills."""
    rows: list[tuple[str, ...]] = [("app", "launches", "cold", "kills", "anonymous MiB", "file MiB", "graphics MiB")]
    for owner in [*recording.apps, recording.system]:
        counts = (str(owner.launches), str(owner.cold_starts), str(owner.kills))
        rows.append((owner.name, *counts, *(f"{size:.1f}" for size in (owner.anon_mib, owner.file_mib, owner.graphics_mib))))
    print_columns(rows, left=(0,))
    for name, kind in (("cold start", recording.cold), ("resume", recording.resumes)):
        costs = [(kind.major_faults, "major faults"), (kind.swapped_in_pages, "pages swapped in")]
        known = [f"{value:,.1f} {label}" for value, label in costs if value is not None]
        print(plural(kind.count, name) + (f", each with {' and '.join(known)}" if known else ""))
    by = ", ".join(f"{count} at {adjustment}" for adjustment, count in recording.kills_by_adjustment.items())
    print(plural(recording.kills, "kill") + (f": {by}" if by else ""))
