"""`swaplab rerun`: a finished run once more, and whether it gives the same bytes."""

from __future__ import annotations

import contextlib
import io
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
        found = _again([str(part) for part in command], scratch)
        differing = [name for name in NUMBERS if (run / name).exists() and not _same(run / name, found / name)]
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    same = [name for name in NUMBERS if (run / name).exists() and name not in differing]
    verdict = f"different: {', '.join(differing)}" if differing else f"identical: {', '.join(same)}"
    o.say(as_json, verdict, run=str(run), identical=same, different=differing)
    if differing:
        raise typer.Exit(1)


def _again(command: list[str], scratch: Path) -> Path:
    """Run the command with its output turned to `scratch`; returns the new run folder."""
    from swaplab.cli import command_line

    flag = "-o" if command[0] == "sweep" else "--run"
    at = command.index(flag) if flag in command else len(command)
    changed = [part for part in command[:at] + command[at + 2 :] if part != "--resume"] + [flag, str(scratch / "new")]
    with _arguments(changed), contextlib.redirect_stdout(io.StringIO()):
        command_line(command[0])(changed, standalone_mode=False)
    new = scratch / "new"
    return new if flag == "-o" else next(new.iterdir())


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
