"""Target `ssh:HOST`: the experiment on another machine's kernel, executed by the `swaplab` on the
path there.

The experiment and its app files are part of the command. A temporary folder there holds them and
the run folder, which is returned as an archive. When the connection's standard input closes (Ctrl-C
here, or a lost connection), the remote run is stopped and undoes its changes. `SWAPLAB_SSH`
replaces the command `ssh`; it may contain options.
"""

from __future__ import annotations

import base64
import io
import os
import shlex
import subprocess
import tarfile
from pathlib import Path

import polars as pl

from swaplab import _core
from swaplab.core.document import SUMMARY
from swaplab.core.errors import BadInput, Failed, NotSupported
from swaplab.core.experiment import dumped
from swaplab.core.model import Document, Experiment
from swaplab.worlds.apps import app_text, built_in, load_apps, programs
from swaplab.worlds.capabilities import require
from swaplab.worlds.result import Options, WorldResult

SCRIPT = """command -v swaplab >/dev/null || { echo "no program swaplab on the path that a command over ssh has" >&2; exit 3; }
at=$(mktemp -d) && trap 'rm -rf "$at"' EXIT && cd "$at" && printf %s ARCHIVE | base64 -d | tar -x || exit 1
mkdir out
exec 3<&0
swaplab ARGUMENTS </dev/null >said &
run=$!
{ cat <&3; kill -TERM $run; } >/dev/null 2>&1 &
watch=$!
wait $run
code=$?
kill $watch 2>/dev/null
[ $code -ne 0 ] || tar -c said out | base64
exit $code
"""
#: Seconds that a remote run may take to undo its changes after it was told to stop.
STOP_SECONDS = 120


def run(host: str, points: list[Experiment], options: Options) -> WorldResult:
    """Run the experiments on the host, one after the other."""
    parts = [_run_one(host, point, options) for point in points]
    combined = parts[0]
    for part in parts[1:]:
        combined.rows += part.rows
        combined.warnings += part.warnings
        combined.files |= part.files
    return combined


def _run_one(host: str, point: Experiment, options: Options) -> WorldResult:
    load_apps(point)  # raises BadInput for an invalid app before the connection is made
    experiment, files = rewritten_for_remote(point)
    files["experiment.json"] = dumped(experiment)
    options.say(f"{host}: running")
    run_options = ["--as-root"] * options.as_root + (["--dry-run"] if options.dry_run else ["-o", "out"])
    files_sent_back = call(host, ["run", "experiment.json", *run_options], files)
    if options.dry_run:
        for change in files_sent_back["said"].decode().splitlines():
            options.say(f"{host}: {change}")
        return WorldResult([])
    text = next((content for name, content in files_sent_back.items() if Path(name).name == SUMMARY), b"")
    document = Document.model_validate_json(_core.document_check(f"ssh:{host}: {SUMMARY}", text.decode()))
    result = WorldResult(document.rows, host=document.machine, warnings=document.warnings)
    if result.host is not None:
        result.host.target = f"ssh:{host}"
    if options.tables:
        tables = {Path(name).stem: content for name, content in files_sent_back.items() if name.endswith(".parquet")}
        result.tables = {name: pl.read_parquet(content) for name, content in tables.items() if name in document.tables}
    result.files = {Path(name).name: content.decode() for name, content in files_sent_back.items() if name.endswith(".ftrace")}
    return result


def rewritten_for_remote(point: Experiment) -> tuple[Experiment, dict[str, str]]:
    """Rewrite the experiment for the remote machine (target `local`, app files named `app-N.toml`).
    Returns it with those files by name.
    """
    experiment, files = point.model_copy(deep=True), {}
    for number, use in enumerate(programs(experiment)):
        if use.use and use.use not in built_in():
            name = f"app-{number}.toml"
            files[name], use.use = app_text(use.use), name
    experiment.run.on, experiment.run.kernel.target = ["kernel"], "local"
    return experiment, files


def call(host: str, arguments: list[str], files: dict[str, str]) -> dict[str, bytes]:
    """Run `swaplab ARGUMENTS` on the host in a folder with these files. Returns its output as the
    file `said`, and every file in `out`.

    A failure raises the exception that belongs to the remote exit code.
    """
    require(["ssh"], f"target ssh:{host}")
    script = SCRIPT.replace("ARCHIVE", base64.b64encode(_archive(files)).decode()).replace("ARGUMENTS", shlex.join(arguments))
    command = [*shlex.split(os.environ.get("SWAPLAB_SSH", "ssh")), "-o", "BatchMode=yes", "-T", host, f"sh -c {shlex.quote(script)}"]
    reading, lifeline = os.pipe()
    with subprocess.Popen(
        command, stdin=reading, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as connection:
        os.close(reading)
        try:
            archive, errors = connection.communicate()
        except BaseException:
            os.close(lifeline)
            lifeline = -1
            connection.communicate(timeout=STOP_SECONDS)
            raise
        finally:
            if lifeline >= 0:
                os.close(lifeline)
    if connection.returncode == 0:
        return _unpacked(archive)
    last = (errors.strip().splitlines() or ["no message"])[-1].removeprefix("swaplab: ")
    kind = {2: BadInput, 3: NotSupported}.get(connection.returncode, Failed)
    raise kind(f"ssh:{host}: {last}")


def _archive(files: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return packed.getvalue()


def _unpacked(text: str) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(base64.b64decode(text))) as archive:
        members = [member for member in archive.getmembers() if member.isfile()]
        return {member.name: file.read() for member in members if (file := archive.extractfile(member)) is not None}
