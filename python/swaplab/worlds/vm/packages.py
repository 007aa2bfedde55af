"""Debian packages without root: apt downloads them with a state directory of swaplab's, and they
are unpacked into the user's cache.

Nothing is installed: the machine's package lists and database are not changed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from swaplab.core.errors import NotSupported
from swaplab.core.files import content_hash
from swaplab.worlds.vm import cache

#: The database of installed packages, against which dependencies of the host's packages are
#: resolved; the guest's packages ignore it.
HOST_STATUS = Path("/var/lib/dpkg/status")


@dataclass(frozen=True)
class Package:
    """An unpacked package."""

    name: str
    version: str
    #: Hash of the downloaded file, which apt has verified against the archive's signed lists.
    sha256: str
    #: The folder with its files, which corresponds to `/`.
    root: Path


@dataclass(frozen=True)
class Archive:
    """The distribution's package archive for one architecture."""

    architecture: str
    #: Database of installed packages that satisfy dependencies; None: no installed packages.
    status: Path | None = None

    @property
    def _state(self) -> Path:
        return cache.folder() / "apt" / self.architecture

    def _options(self) -> list[str]:
        state = self._state
        for below in ("lists/partial", "archives/partial", "state"):
            (state / below).mkdir(parents=True, exist_ok=True)
        empty = state / "state" / "status"
        empty.touch()
        settings = {
            "Dir::State": state / "state",
            "Dir::State::status": self.status or empty,
            "Dir::State::lists": state / "lists",
            "Dir::Cache": state / "archives",
            "Dir::Cache::archives": state / "archives",
            "APT::Architecture": self.architecture,
            "APT::Architectures": self.architecture,
            "Acquire::Languages": "none",
            "Debug::NoLocking": "1",
            # Otherwise root would download as the user _apt, who may not write here.
            "APT::Sandbox::User": "root",
        }
        return [word for key, value in settings.items() for word in ("-o", f"{key}={value}")]

    def _run(self, program: str, *words: str, where: Path | None = None) -> str:
        if shutil.which(program) is None:
            raise NotSupported(f"the world vm needs {program}: not on the path; expected a Debian or one that has its packages")
        environment = os.environ | {"LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
        command = [program, *self._options(), *words]
        done = subprocess.run(command, cwd=where, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if line.startswith("E:")] or done.stderr.splitlines()[-1:]
            raise NotSupported(f"the world vm needs packages: {program} {' '.join(words)}: {' '.join(lines)}")
        return done.stdout

    def update(self) -> None:
        """Fetch the package lists."""
        self._run("apt-get", "update", "-q")

    def names(self, pattern: str) -> list[str]:
        """List the names of packages that match `pattern`, sorted. The package lists are fetched
        first if there are none.
        """
        if not any((self._state / "lists").glob("*_Packages*")):
            self.update()
        listing = self._run("apt-cache", "pkgnames")
        return sorted(name for name in listing.split() if re.fullmatch(pattern, name))

    def missing(self, name: str) -> list[str]:
        """Return the package and those of its dependencies that `status` does not have."""
        self.names(re.escape(name))
        output = self._run("apt-get", "install", "--no-install-recommends", "-y", "--print-uris", "-q", name)
        uris = [line for line in output.splitlines() if line.startswith("'")]
        return [line.split()[1].split("_")[0] for line in uris] or [name]

    def unpack(self, names: list[str], target: Path) -> list[Package]:
        """Download packages and unpack them into `target`, which is created only when all are
        unpacked.
        """
        manifest = target / "packages.txt"
        if not manifest.is_file():
            self.names("linux-image-cloud-arm64")
            with cache.new_folder(target) as made:
                try:
                    self._run("apt-get", "download", "-q", *names, where=made)
                except NotSupported:
                    # The lists may be older than the files of the archive.
                    self.update()
                    self._run("apt-get", "download", "-q", *names, where=made)
                rows = []
                for file in sorted(made.glob("*.deb")):
                    name, version, _ = file.name.split("_")
                    rows.append(f"{name} {version.replace('%3a', ':')} {content_hash(file)}\n")
                    _unpack(file, made / "root")
                    file.unlink()
                (made / manifest.name).write_text("".join(rows))
        return unpacked(target)


def unpacked(target: Path) -> list[Package]:
    """List the packages of a folder that `Archive.unpack` made."""
    rows = (line.split() for line in (target / "packages.txt").read_text().splitlines())
    return [Package(name, version, sha256, target / "root") for name, version, sha256 in rows]


def _unpack(file: Path, target: Path) -> None:
    if shutil.which("dpkg-deb") is None:
        raise NotSupported("the world vm needs dpkg-deb: not on the path; expected a Debian or one that has its packages")
    done = subprocess.run(["dpkg-deb", "-x", file, target], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotSupported(f"the world vm needs packages: {file.name}: {' '.join(done.stderr.split())}")
