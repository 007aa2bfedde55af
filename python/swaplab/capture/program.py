"""The program to trace: its path, its interpreter, and its architecture."""

from __future__ import annotations

import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

from swaplab.core.errors import BadInput

#: Shells, which execute their commands as child processes.
SHELLS = ("sh", "bash", "dash", "zsh", "busybox")

#: `e_machine` of an ELF file.
MACHINES = {62: "x86_64", 183: "aarch64"}


@dataclass(frozen=True)
class Program:
    """A command whose first word is an ELF file."""

    command: tuple[str, ...]
    arch: str

    @property
    def is_shell(self) -> bool:
        """Whether it is a shell, whose child processes are not recorded."""
        return Path(self.command[0]).resolve().name in SHELLS


def resolve(command: list[str], root: Path | None = None, depth: int = 0) -> Program:
    """Find the command's program, resolving the interpreters of scripts. Raises BadInput if there
    is no ELF program for `MACHINES`.
    """
    if not command:
        raise BadInput("CMD: nothing to run; expected a program and its arguments after --")
    path = _find(command[0], root)
    with open(path, "rb") as file:
        head = file.read(256)
    if head.startswith(b"#!"):
        if depth == 4:
            raise BadInput(f"{path}: scripts that run each other five deep; expected a program in the end")
        line = head[2:].split(b"\n", 1)[0].decode(errors="replace").strip()
        interpreter, _, argument = line.partition(" ")
        words = [interpreter, *([argument.strip()] if argument else [])]
        if Path(interpreter).name == "env":
            words = [word for word in shlex.split(argument) if word != "-S"]
        return resolve([*words, path, *command[1:]], root, depth + 1)
    machine = int.from_bytes(head[18:20], "little")
    if not head.startswith(b"\x7fELF") or machine not in MACHINES:
        raise BadInput(f"{path}: neither a script nor an ELF program for one of: {' '.join(MACHINES.values())}; expected one of them")
    return Program((path, *command[1:]), MACHINES[machine])


def _find(name: str, root: Path | None) -> str:
    path = shutil.which(name)
    if path is None and root is not None:
        places = [root / name.lstrip("/")] if "/" in name else [root / folder / name for folder in ("usr/bin", "bin")]
        path = next((str(place) for place in places if place.is_file()), None)
    if path is None:
        raise BadInput(f"CMD: no program '{name}'; expected one that can be run")
    return path
