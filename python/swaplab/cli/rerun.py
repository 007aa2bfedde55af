"""`swaplab rerun`: a finished run once more, and whether it gives the same bytes; of a measured run, whether the two agree."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from swaplab import BadInput, __version__
from swaplab.cli import options as o
from swaplab.cli.parser import Parser
from swaplab.run_folder import TABLES

#: Files of a run that hold numbers; pages and manifests also hold names of versions.
NUMBERS = ("summary.json", "results.parquet", *(f"{table}.parquet" for table in TABLES))


def register(app: Parser) -> None:
    """Add the subcommand."""
    command = app.command("rerun", rerun)
    text = "A run folder; files it read are looked for where its command says."
    command.add_argument("run", metavar="RUN", type=Path, help=text)
    o.add_json(command)


def rerun(run: Path, as_json: bool) -> None:
    """Run a finished run's command again and compare the results byte for byte, a measured run's by their intervals; exit code 1 if they
    differ."""
    from swaplab.run_folder import read_manifest, read_run

    manifest = read_manifest(run)
    if manifest is None:
        raise BadInput(f"{run}: no manifest.json; expected a run folder")
    if manifest.get("kind") != "simulated" and any("bench" in part for part in manifest.get("experiment", [])):
        return _measured(run, read_run(run), as_json)
    if not isinstance(command := manifest.get("command"), list) or not command:
        raise BadInput(f"{run / 'manifest.json'}: no 'command'; expected a run that a swaplab command wrote")
    if (then := manifest.get("versions", {}).get("swaplab")) != __version__:
        print(f"note: the run was made with swaplab {then}, this is {__version__}", file=sys.stderr)
    scratch = Path(tempfile.mkdtemp(prefix="swaplab-rerun-"))
    try:
        found = _again(manifest, [str(part) for part in command], scratch)
        differing = [name for name in NUMBERS if (run / name).exists() and not _same(run / name, found / name)]
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    same = [name for name in NUMBERS if (run / name).exists() and name not in differing]
    verdict = f"different: {', '.join(differing)}" if differing else f"identical: {', '.join(same)}"
    o.say(as_json, verdict, run=str(run), identical=same, different=differing)
    if differing:
        sys.exit(1)


def _measured(run: Path, document: dict[str, Any], as_json: bool) -> None:
    """A run of a real kernel: measured again and compared, configuration by configuration."""
    if "sweep" in document:
        raise BadInput(f"{run}: a sweep of measurements; expected a simulated run, or one of 'swaplab bench'")
    from swaplab.live.again import measure_again
    from swaplab.live.bench.tables import label
    from swaplab.run_folder import reading

    with reading(str(run)):
        rows = measure_again(document)
    lines = ["measured again; a measurement never gives the same bytes, so intervals are compared"]
    for row in rows:
        times = row["launch_p50_ms"]
        said = f"median launch {times['then']:.1f} ms then, {times['now']:.1f} now; " if times else ""
        said += f"{row['kills']['then']:g} kills then, {row['kills']['now']:g} now"
        lines.append(f"{'agrees' if row['agree'] else 'differs'}: {label(row['name'], row['swap_bytes'], row['app_policy'])}: {said}")
    o.say(as_json, "\n".join(lines), run=str(run), kind=document["kind"], configurations=rows)
    if not all(row["agree"] for row in rows):
        sys.exit(1)


def _again(manifest: dict[str, Any], command: list[str], scratch: Path) -> Path:
    """Run once more into `scratch`; returns the new run folder. What came from an experiment file runs from the resolved experiment of the
    manifest, so the file may be gone or changed by now; any other command runs as it was given."""
    from swaplab.cli import command_line

    new = scratch / "new"
    if command[0] in ("sim", "sweep"):
        [experiment] = manifest["experiment"]
        _experiment(experiment, new)
        return new if command[0] == "sweep" else next(new.iterdir())
    at = command.index("--run") if "--run" in command else len(command)
    changed = [*command[:at], *command[at + 2 :], "--run", str(new)]
    try:
        with _arguments(changed), contextlib.redirect_stdout(io.StringIO()):
            command_line(command[0]).run(changed)
    except SystemExit:
        raise BadInput(f"manifest.json: {' '.join(command)}: writes no run; expected a command that does") from None
    return next(new.iterdir())


def _experiment(experiment: dict[str, Any], new: Path) -> None:
    """A resolved experiment, checked as any other, into the folder `new`."""
    from swaplab import _core
    from swaplab.cli.sim import simulated
    from swaplab.run_folder import write_run
    from swaplab.sweep.folder import sweep_to_folder

    resolved: dict[str, Any] = json.loads(_core.experiment_from_json("manifest.json: experiment", json.dumps(experiment)))
    if resolved.get("sweep"):
        sweep_to_folder(resolved, new)
        return
    tables: dict[str, Any] = {}
    write_run(simulated(resolved, "manifest.json", 0, None, tables), "rerun", new, int(resolved["seed"]), tables)


@contextlib.contextmanager
def _arguments(command: list[str]) -> Any:
    """The program's arguments, which a run folder notes down."""
    before, sys.argv = sys.argv, ["swaplab", *command]
    try:
        yield
    finally:
        sys.argv = before


def _same(old: Path, new: Path) -> bool:
    return new.exists() and old.read_bytes() == new.read_bytes()
