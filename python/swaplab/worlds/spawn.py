"""Starting the program of an app with the channel that the app file names."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from swaplab.core.errors import BadInput
from swaplab.worlds.apps import App
from swaplab.worlds.procfs import read

#: The app program that swaplab includes.
OWN_APP = "swaplab-app"
#: The PATH of an unprivileged user.
PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True)
class StartedProgram:
    """A started program."""

    process: subprocess.Popen[bytes]
    #: (descriptor to read, descriptor to write) of its channel; None for a socket, which the
    #: program opens itself.
    pair: tuple[int, int] | None
    #: Time of the start, by `time.perf_counter`.
    began: float


def variables(app: App, directory: Path) -> dict[str, str]:
    """Return the values of `${dir}` and `${name}` in the app file."""
    return {"dir": str(directory), "name": app.name}


def command_of(app: App, directory: Path, who: str) -> list[str]:
    """Build the command line: every `${name}` replaced, the program as a full path. Raises BadInput
    if there is no such program.
    """
    words = [app.fill(word, variables(app, directory)) for word in app.command]
    path = find_program(words[0])
    if path is None:
        remedy = "; `make build` builds it" if words[0] == OWN_APP else ""
        raise BadInput(f"app {app.name}: command: '{words[0]}'; expected a program on the path that {who} may run{remedy}")
    return [path, *words[1:]]


def write_files(app: App, directory: Path) -> list[Path]:
    """Write the app's files into its directory. Returns their paths."""
    written = []
    for name, text in app.files.items():
        if "/" in name or name in (".", ".."):
            raise BadInput(f"app {app.name}: files: '{name}'; expected a plain file name")
        (directory / name).write_text(app.fill(text, variables(app, directory)))
        written.append(directory / name)
    return written


def start(
    app: App, command: list[str], directory: Path, log: Path, extra: dict[str, str], before_exec: Callable[[], None]
) -> StartedProgram:
    """Start the command in its directory with a minimal environment and `extra`.

    Output outside the channel is appended to `log`. `before_exec` runs in the child process before
    the program.
    """
    (directory / "socket").unlink(missing_ok=True)
    down, up = os.pipe(), os.pipe()  # to the app, from the app
    keep, stdio = app.channel == "pipe", app.channel == "stdio"

    def child() -> None:
        before_exec()
        if keep:
            # the pipes' own descriptors may be 3 or 4
            first, second = os.dup(down[0]), os.dup(up[1])
            os.dup2(first, 3)
            os.dup2(second, 4)

    environment = {"PATH": PATH, "HOME": str(directory), "LANG": "C.UTF-8", "TMPDIR": str(directory)} | extra
    try:
        with log.open("ab") as errors:
            began = time.perf_counter()
            process = subprocess.Popen(
                command,
                stdin=down[0] if stdio else subprocess.DEVNULL,
                stdout=up[1] if stdio else errors,
                stderr=errors,
                cwd=directory,
                env=environment,
                start_new_session=True,
                close_fds=not keep,
                preexec_fn=child,
            )
    except OSError as error:
        for descriptor in (*down, *up):
            os.close(descriptor)
        raise BadInput(f"app {app.name}: command: {command[0]}: {error.strerror}; expected a program that can be run") from error
    for descriptor in (down[0], up[1]):
        os.close(descriptor)
    for descriptor in (down[1], up[0]):
        os.set_blocking(descriptor, False)
    if app.channel == "unix":
        os.close(up[0])
        os.close(down[1])
        return StartedProgram(process, None, began)
    return StartedProgram(process, (up[0], down[1]), began)


def find_program(name: str) -> str | None:
    """Return a program's full path, searched on the PATH of an unprivileged user, then in the
    folder of the command `swaplab`.
    """
    return shutil.which(name) if "/" in name else shutil.which(name, path=f"{PATH}:{Path(sys.executable).parent}")


def save_log(app: App, log: Path) -> str:
    """Copy the log of a failed app to a temporary file that outlives the run. Returns its path and
    the end of the log on one line.
    """
    text = read(log)
    with tempfile.NamedTemporaryFile("w", prefix=f"swaplab-{app.name}-", suffix=".log", delete=False) as kept:
        kept.write(text)
    return f"log {kept.name}: {' '.join(text[-300:].split())}"
