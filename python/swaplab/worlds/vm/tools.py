"""The host's programs that the world needs: from the path, else from the distribution's packages in
the user's cache.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from functools import cache as once
from pathlib import Path

from swaplab.core.errors import NotSupported
from swaplab.worlds.vm import cache
from swaplab.worlds.vm.packages import HOST_STATUS, Archive, Package


@dataclass(frozen=True)
class Program:
    """A command and its package."""

    command: str
    package: str


QEMU = Program("qemu-system-aarch64", "qemu-system-arm")
MKE2FS = Program("mke2fs", "e2fsprogs")
#: The distribution's kernels are built with its default compiler.
COMPILER = Program("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu")
#: Programs that build a module.
MODULE = (Program("make", "make"), COMPILER)
#: Programs that build a kernel.
KERNEL = (
    *MODULE,
    Program("gcc", "gcc"),
    Program("flex", "flex"),
    Program("bison", "bison"),
    Program("m4", "m4"),
    Program("bc", "bc"),
    Program("patch", "patch"),
    Program("xz", "xz-utils"),
)
#: Directories of commands that an ordinary user's PATH lacks.
SYSTEM_PATH = ("/usr/sbin", "/sbin")


#: Programs that fetch and unpack the distribution's packages.
FETCHERS = ("apt-get", "apt-cache", "dpkg-deb")


@dataclass(frozen=True)
class Tools:
    """Programs with their paths, and the environment to run them in."""

    paths: dict[str, Path]
    environment: dict[str, str]
    packages: tuple[Package, ...] = field(default=())

    def version(self, program: Program, option: str = "--version") -> str:
        """Return the first line of a program's version output."""
        done = subprocess.run(
            [self.paths[program.command], option],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        return ((done.stdout or done.stderr).splitlines() or [""])[0].strip()


@once
def host_architecture() -> str:
    """Return Debian's name of this machine's architecture."""
    if shutil.which("dpkg") is None:
        raise NotSupported("the world vm needs dpkg: not on the path; expected a Debian or one that has its packages")
    return subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True).stdout.strip()


def missing_programs(*programs: Program) -> list[Program]:
    """Return the programs that are not installed on this machine."""
    return [program for program in programs if shutil.which(program.command, path=_path()) is None]


def can_fetch() -> bool:
    """Whether packages can be fetched on this machine."""
    return all(shutil.which(name) for name in FETCHERS)


def _path(root: Path | None = None) -> str:
    own = [str(root / below) for below in ("usr/bin", "usr/sbin", "bin", "sbin")] if root else []
    return os.pathsep.join([*own, os.environ.get("PATH", os.defpath), *SYSTEM_PATH])


def find(*programs: Program) -> Tools:
    """Locate all programs. Missing ones are downloaded once. Raises NotSupported if they cannot
    be.
    """
    packages: list[Package] = []
    root = None
    if missing := missing_programs(*programs):
        if not can_fetch():
            commands = ", ".join(f"{program.command} (package {program.package})" for program in missing)
            raise NotSupported(f"the world vm needs {commands}: not on the path, and no {' or '.join(FETCHERS)} to fetch it with")
        archive = Archive(host_architecture(), HOST_STATUS if HOST_STATUS.is_file() else None)
        wanted = sorted({program.package for program in missing})
        target = cache.folder() / "tools" / "+".join(wanted)
        done = target / "packages.txt"
        names = [] if done.is_file() else sorted({name for package in wanted for name in archive.missing(package)})
        packages = archive.unpack(names, target)
        root = target / "root"
    environment = {**os.environ, "PATH": _path(root), "LC_ALL": "C"}
    if root:
        libraries = [str(path) for path in (root / "usr/lib", root / "lib") for path in (path, *sorted(path.glob("*-linux-gnu")))]
        environment["LD_LIBRARY_PATH"] = os.pathsep.join(libraries)
        environment |= (
            {"BISON_PKGDATADIR": str(root / "usr/share/bison"), "M4": str(root / "usr/bin/m4")} if (root / "usr/bin/bison").exists() else {}
        )
    paths: dict[str, Path] = {}
    for program in programs:
        path = shutil.which(program.command, path=environment["PATH"])
        if path is None:
            raise NotSupported(f"the world vm needs {program.command}: not in the package {program.package}")
        paths[program.command] = Path(path)
    return Tools(paths, environment, tuple(packages))
