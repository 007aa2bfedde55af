"""`swaplab run`: any program on less DRAM, with NVM (or a compressed pool, or flash) behind it, on an unmodified kernel."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from swaplab import BadInput, NotSupported
from swaplab.cli import options as o
from swaplab.cli.parser import Parser

TYPE_CHECKING = False
if TYPE_CHECKING:
    from swaplab.live.pager import Process

#: A medium is a device whose latencies are charged where a page moves; plain is memory as it is.
MEDIA = {"plain": "", "pcm": "lpddr2-pcm", "optane-m10": "optane-m10", "cxl": "cxl-dram"}


def register(app: Parser) -> None:
    """Add the subcommand."""
    command = app.command("run", run)
    o.add_program(command)
    command.first_word_ends_options = True
    command.add_argument("--dram", required=True, help="Managed memory that may be in DRAM, a process: 64MiB.")
    text = "Where evicted pages go: nvm-direct, nvm-copy, zram, flash or nvm-cache, with parameters or not."
    command.add_argument("--scheme", default="nvm-direct", help=text)
    command.add_argument("--policy", default="refault", help="Which pages leave: a policy that needs faults only.")
    text = "plain, pcm, optane-m10 or cxl: latencies charged where a page moves."
    command.add_argument("--medium", default="plain", help=text)
    command.add_argument("--nvm", help="A directory of a tmpfs, or node:N, instead of anonymous memory.")
    command.add_argument("--flash", help="A directory for the flash file, instead of /var/tmp.")
    command.add_argument("--nvm-size", help="Most that the store may hold, a process.")
    command.add_argument("--record", type=Path, help="Write the faults and evictions here, as a trace (.slt).")
    command.add_argument("--stats", type=Path, help="Write the counters here, as JSON.")


def run(
    command: list[str],
    dram: str,
    scheme: str,
    policy: str,
    medium: str,
    nvm: str | None,
    flash: str | None,
    nvm_size: str | None,
    record: Path | None,
    stats: Path | None,
) -> None:
    """Run a program on a DRAM budget. The exit code is the program's."""
    from swaplab._core import pager_check, size_bytes
    from swaplab.live import pager

    if medium not in MEDIA:
        raise BadInput(f"--medium: '{medium}'; expected one of: {' '.join(MEDIA)}")
    if medium != "plain" and scheme == "nvm-direct":
        why = "the kernel itself maps a page that is read in place, so no latency can be charged there; the simulator prices it"
        raise NotSupported(f"--medium {medium} with nvm-direct: {why} (take nvm-copy to charge copies)")
    settings = {"DRAM": str(size_bytes("--dram", dram)), "SCHEME": scheme, "POLICY": policy}
    if int(settings["DRAM"]) < 1 << 20:
        raise BadInput(f"--dram: '{dram}'; expected at least 1MiB")
    if nvm is not None:
        if not nvm.startswith("node:") and not Path(nvm).is_dir():
            raise BadInput(f"--nvm: '{nvm}'; expected a directory of a tmpfs, or node:N")
        settings["NVM"] = nvm if nvm.startswith("node:") else str(Path(nvm).resolve())
    if flash is not None:
        if not Path(flash).is_dir():
            raise BadInput(f"--flash: '{flash}'; expected a directory")
        settings["FLASH"] = str(Path(flash).resolve())
    read_ns, write_ns = pager_check(scheme, policy, MEDIA[medium], settings.get("NVM", ""), settings.get("FLASH"))
    settings |= {"READ_NS": str(read_ns), "WRITE_NS": str(write_ns)}
    if nvm_size is not None:
        settings["STORE_BYTES"] = str(size_bytes("--nvm-size", nvm_size))
    program = shutil.which(command[0])
    if program is None:
        raise BadInput(f"{command[0]}: no such program; expected one on the PATH or a path to one")
    pager.check_program(Path(program))
    preload = os.pathsep.join([str(pager.library()), *filter(None, [os.environ.get("LD_PRELOAD")])])
    for option, path in (("--stats", stats), ("--record", record)):
        if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
            found = "a directory" if path.is_dir() else "no such directory"
            raise BadInput(f"{option}: '{path}': {found}; expected a file in an existing one")
    directory = pager.new_run()
    settings["STATS"] = str(directory)
    records = _folder_beside(record) if record is not None else None
    if records is not None:
        settings["RECORD"] = str(records)
    ignored = {number for number in (signal.SIGINT, signal.SIGQUIT) if signal.getsignal(number) is signal.SIG_IGN}
    environment = os.environ | {f"SWAPLAB_{name}": value for name, value in settings.items()} | {"LD_PRELOAD": preload}
    try:
        code = _wait(subprocess.Popen(command, executable=program, env=environment, preexec_fn=lambda: _default_signals(ignored)))
        if stats is not None:
            from swaplab.run_folder import replace

            # Memory that poses as NVM is not NVM, with a latency charged or without; a node of the machine is what it is.
            posed = scheme.startswith("nvm") and not (nvm or "").startswith("node:")
            document: dict[str, object] = {"schema": 1, "kind": "emulated" if posed or medium != "plain" else "measured"}
            document |= {"command": command, "scheme": scheme, "policy": policy, "medium": medium, "exit_code": code}
            document |= pager.summary(pager.processes(directory))
            replace(stats, (json.dumps(document, indent=2) + "\n").encode())
        if record is not None and records is not None:
            _trace(records, pager.processes(directory), {"command": shlex.join(command), "scheme": scheme, "policy": policy}, record)
    finally:
        if records is not None:
            shutil.rmtree(records, ignore_errors=True)
        shutil.rmtree(directory, ignore_errors=True)
    sys.exit(code)


def _trace(records: Path, processes: list[Process], provenance: dict[str, str], record: Path) -> None:
    """One trace of what every process recorded, oldest first."""
    from swaplab._core import pager_trace

    frames = max((p.counters["policy_frames"] for p in processes), default=0)
    provenance |= {"source": "swaplab run --record", "policy_frames": str(frames)}
    parts = [(f.name, f) for f in sorted(records.iterdir(), key=lambda f: f.stat().st_ctime_ns) if f.stat().st_size > 0]
    if not pager_trace(parts, provenance, any(p.counters["state"] != 2 for p in processes), record):
        print(f"swaplab: --record {record}: no process of the program was seen to touch managed memory; no trace", file=sys.stderr)


def _folder_beside(record: Path) -> Path:
    """Where each process records, on the file system of the trace to be."""
    try:
        return Path(tempfile.mkdtemp(prefix="swaplab-record-", dir=record.absolute().parent))
    except OSError as error:
        raise BadInput(f"--record: '{record}': {error.strerror}; expected a file in a directory that can be written to") from None


def _default_signals(ignored: set[signal.Signals]) -> None:
    """In the child: what this process ignores while it waits, the program shall not, unless it was `ignored` before."""
    for number in {signal.SIGINT, signal.SIGQUIT} - ignored:
        signal.signal(number, signal.SIG_DFL)


def _wait(child: subprocess.Popen[bytes]) -> int:
    """The program's exit code as a shell would tell it. A terminal's Ctrl-C reaches the program itself; other ends are passed on."""
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: child.send_signal(received))
    code = child.wait()
    if code == -signal.SIGKILL:
        print("swaplab: the program was killed; its memory and its store are gone", file=sys.stderr)
    return code if code >= 0 else 128 - code
