"""`swaplab rerun`: a finished run once more, and whether it gives the same bytes."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from swaplab import BadInput, __version__
from swaplab.cli import options as o
from swaplab.run_folder import TABLES

#: Files of a run that hold numbers; pages and manifests also hold names of versions.
NUMBERS = ("summary.json", "results.parquet", *(f"{table}.parquet" for table in TABLES))


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command("rerun")(rerun)


def rerun(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder; files it read are looked for where its command says.")],
    as_json: o.JsonOption = False,
) -> None:
    """Run a finished run's command again and compare the results byte for byte; exit code 1 if they differ."""
    from swaplab.run_folder import read_manifest

    manifest = read_manifest(run)
    if manifest is None:
        raise BadInput(f"{run}: no manifest.json; expected a run folder")
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
        raise typer.Exit(1)


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
    with _arguments(changed), contextlib.redirect_stdout(io.StringIO()):
        command_line(command[0])(changed, standalone_mode=False)
    return next(new.iterdir())


def _experiment(experiment: dict[str, Any], new: Path) -> None:
    """A resolved experiment, checked as any other, into the folder `new`."""
    from swaplab import _core
    from swaplab.model import sim
    from swaplab.run_folder import write_run
    from swaplab.sweep.folder import sweep_to_folder

    resolved: dict[str, Any] = json.loads(_core.experiment_from_json("manifest.json: experiment", json.dumps(experiment)))
    if resolved.get("sweep"):
        sweep_to_folder(resolved, new)
        return
    tables: dict[str, Any] = {}
    write_run(sim.run(resolved, 0, None, tables), "rerun", new, int(resolved["seed"]), tables)


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
