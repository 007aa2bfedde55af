"""`--target ssh:HOST`: the same experiment on another machine's kernel, by the `swaplab` that is on the path there.

The experiment and its app files travel in the command; a temporary folder there holds them and goes at the end. The connection's
standard input is a lifeline: when it closes (Ctrl-C here, a lost connection) the run there is told to stop, and undoes what it changed.
`SWAPLAB_SSH` is the command in place of `ssh`, with options of its own.
"""

from __future__ import annotations

import base64
import io
import json
import os
import shlex
import subprocess
import tarfile
from typing import Any

from swaplab import BadInput, Failed, NotSupported
from swaplab.live.bench.spec import dumped
from swaplab.live.capabilities import require
from swaplab.live.target.request import Request, carried

SCRIPT = """command -v swaplab >/dev/null || { echo "no program swaplab on the path that a command over ssh has" >&2; exit 3; }
at=$(mktemp -d) && trap 'rm -rf "$at"' EXIT && cd "$at" && printf %s ARCHIVE | base64 -d | tar -x || exit 1
exec 3<&0
swaplab ARGUMENTS </dev/null &
run=$!
{ cat <&3; kill -TERM $run; } >/dev/null 2>&1 &
watch=$!
wait $run
code=$?
kill $watch 2>/dev/null
exit $code
"""
#: How long a run there may take to undo its changes once it is told to stop.
STOP_SECONDS = 120


def run(request: Request) -> dict[str, Any]:
    """Run the experiment on that host."""
    experiment, files = carried(request.experiment)
    files["experiment.json"] = json.dumps(dumped(experiment))
    options = ["--user", request.user] if request.user else []
    options += ["--as-root"] * request.as_root + ["--dry-run"] * request.dry_run
    request.progress(f"{request.at}: running")
    document: dict[str, Any] = json.loads(call(request.at, ["bench", "experiment.json", "--json", *options], files))
    for change in document.pop("changes", []):
        request.say(f"{request.at}: {change}")
    return document | {"target": f"ssh:{request.at}"}


def call(host: str, arguments: list[str], files: dict[str, str]) -> str:
    """What `swaplab ARGUMENTS` prints on that host, in a folder with these files. Its exit code is ours."""
    require(["ssh"], f"--target ssh:{host}")
    script = SCRIPT.replace("ARCHIVE", base64.b64encode(_archive(files)).decode()).replace("ARGUMENTS", shlex.join(arguments))
    command = [*shlex.split(os.environ.get("SWAPLAB_SSH", "ssh")), "-o", "BatchMode=yes", "-T", host, f"sh -c {shlex.quote(script)}"]
    reading, lifeline = os.pipe()
    with subprocess.Popen(
        command, stdin=reading, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as connection:
        os.close(reading)
        try:
            said, complaint = connection.communicate()
        except BaseException:
            os.close(lifeline)
            lifeline = -1
            connection.communicate(timeout=STOP_SECONDS)
            raise
        finally:
            if lifeline >= 0:
                os.close(lifeline)
    if connection.returncode == 0:
        return said
    last = (complaint.strip().splitlines() or ["no word of why"])[-1].removeprefix("swaplab: ")
    kind = {2: BadInput, 3: NotSupported}.get(connection.returncode, Failed)
    raise kind(f"ssh:{host}: {last}")


def _archive(files: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, text in files.items():
            about = tarfile.TarInfo(name)
            about.size = len(text.encode())
            archive.addfile(about, io.BytesIO(text.encode()))
    return packed.getvalue()
