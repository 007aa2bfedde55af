"""`swaplab kernel build`: a small arm64 kernel from the distribution's source or another tree,
cached by the hash of all its inputs.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from swaplab.core.errors import BadInput, Failed, NotSupported
from swaplab.core.files import content_hash
from swaplab.worlds.vm import cache, driver, tools
from swaplab.worlds.vm.kernels import Kernel
from swaplab.worlds.vm.packages import Archive

#: Series of the distribution's source packages.
SERIES = ("6.12", "6.1")
#: Kernel options that a guest needs, and their purposes.
NEEDED = {
    "SWAP": "swap",
    "PSI": "pressure and lmkd",
    "MEMCG": "a control group for each app, and A2S",
    "LRU_GEN": "MGLRU",
    "ZRAM": "zram",
    "ZSWAP": "zswap",
    "BLK_DEV_RAM": "ramdisk",
    "EXT4_FS": "the apps' files",
    "MODULES": "the priced devices",
    "SCHEDSTATS": "processor time and run delay of apps",
    "DEBUG_FS": "ages of MGLRU's generations",
    "ENABLE_DEFAULT_TRACERS": "tracepoints",
}


@dataclass(frozen=True)
class BuildRequest:
    """The description of a kernel to build."""

    #: A series of the distribution's kernels, unless `tree` is given.
    series: str = "6.12"
    tree: Path | None = None
    patches: tuple[Path, ...] = ()
    #: Fragments in addition to those of `kernel/config`.
    fragments: tuple[Path, ...] = ()
    #: The kernel's name in runs; by default its version and the start of its hash.
    name: str = ""
    jobs: int = 2


@dataclass(frozen=True)
class Built:
    """A built kernel in the cache."""

    kernel: Kernel
    #: Messages about options that were requested but not granted, and about options that a guest
    #: needs but lacks.
    lacks: tuple[str, ...]
    #: Whether it was in the cache before.
    cached: bool


def build(request: BuildRequest, say: Callable[[str], None] = lambda line: None) -> Built:
    """Build the kernel, or take it from the cache."""
    parts = driver.kernel_parts()
    if parts is None:
        raise NotSupported("kernel build needs kernel/ of swaplab's source; expected a checkout, or SWAPLAB_KERNEL_PARTS")
    for path in (*request.patches, *request.fragments):
        if not path.is_file():
            raise BadInput(f"{path}: no such file; expected a {'patch' if path in request.patches else 'fragment of a configuration'}")
    compilers = tools.find(*tools.KERNEL)
    # A user's tree is compiled in place, with output elsewhere: nothing is written into it.
    version, origin, source = _tree(request.tree) if request.tree else _distribution(request.series)
    fragments = [*_fragments(parts, version, request), *request.fragments]
    input_bytes = [path.read_bytes() for path in (*request.patches, *fragments)]
    key = cache.sha256_of(origin, compilers.version(tools.COMPILER), (parts / "build.sh").read_bytes(), *input_bytes)[:16]
    target = cache.folder() / "builds" / key
    cached = (target / "name.txt").is_file()
    if not cached:
        with cache.new_folder(target) as made:
            tree = source(made) if not request.patches else _patched(source(made), request, made, compilers)
            say(f"building linux {version} (about eight minutes of processor time)")
            out = made / "out"
            _run_build(parts, tree, out, fragments, request.jobs, compilers, made)
            (made / "Image").hardlink_to(out / "arch/arm64/boot/Image")
            (made / "release.txt").write_text((out / "include/config/kernel.release").read_text())
            (made / "origin.txt").write_text(origin + "\n")
            (made / "source.txt").write_text(str(tree if request.tree else target / tree.relative_to(made)) + "\n")
            (made / "name.txt").write_text(request.name or f"linux-{version}-{key[:8]}")
        _relocate(target)
    elif request.name:
        (target / "name.txt").write_text(request.name)
    release = (target / "release.txt").read_text().strip()
    kernel = Kernel((target / "name.txt").read_text().strip(), release, target / "Image", None, target / "out")
    return Built(kernel, tuple(lacking(target / "out" / ".config", fragments)), cached)


def _fragments(parts: Path, version: str, request: BuildRequest) -> list[Path]:
    names = ["base.config"] + (["zram-6.12.config"] if _numbers(version) >= (6, 12) else []) + ["phone.config"]
    # Direct Read's option exists only with its patches.
    direct = any(path.resolve().is_relative_to((parts / "patches").resolve()) for path in request.patches)
    return [parts / "config" / name for name in (*names, *(["direct.config"] if direct else []))]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


#: Version, identification of the source with a hash, and a function that unpacks it below a folder
#: and returns its path.
_Source = tuple[str, str, Callable[[Path], Path]]


def _distribution(series: str) -> _Source:
    if series not in SERIES:
        raise BadInput(f"kernel build: '{series}'; expected {' or '.join(SERIES)}, or --tree DIR")
    archive = Archive(tools.host_architecture())
    package = next(iter(archive.unpack([f"linux-source-{series}"], cache.folder() / "sources" / series)))
    tarball = package.root / "usr/src" / f"linux-source-{series}.tar.xz"

    def unpack(into: Path) -> Path:
        compilers = tools.find(*tools.KERNEL)
        _checked(["tar", "-xf", str(tarball), "-C", str(into)], compilers, "kernel build: tar")
        return into / f"linux-source-{series}"

    return package.version.split("-")[0], f"{package.name} {package.version} {package.sha256}", unpack


def _tree(tree: Path) -> _Source:
    makefile = tree / "Makefile"
    if not makefile.is_file() or not (tree / "arch/arm64/Makefile").is_file():
        raise BadInput(f"--tree {tree}: no Makefile and arch/arm64; expected a kernel's source tree")
    if (tree / ".config").exists() or (tree / "include/config").exists():
        raise BadInput(f"--tree {tree}: it was built in; expected a clean tree (`make mrproper` there)")
    words = dict(re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL) = (\d+)$", makefile.read_text(), re.MULTILINE))
    version = ".".join(words.get(key, "0") for key in ("VERSION", "PATCHLEVEL", "SUBLEVEL"))
    return version, f"tree {_tree_hash(tree)}", lambda into: tree.resolve()


def _tree_hash(tree: Path) -> str:
    """Hash a source tree: for a git tree its commit and the differences from it, else every
    file.
    """
    if (tree / ".git").exists():
        outputs = [
            subprocess.run(["git", "-C", tree, *words], capture_output=True, check=False).stdout
            for words in (["rev-parse", "HEAD"], ["diff", "HEAD"], ["ls-files", "--others", "--exclude-standard", "-s"])
        ]
        return cache.sha256_of(*outputs)
    files = sorted(path for path in tree.rglob("*") if path.is_file() and not path.is_symlink())
    return cache.sha256_of(*(part for path in files for part in (str(path.relative_to(tree)), content_hash(path))))


def _patched(tree: Path, request: BuildRequest, made: Path, compilers: tools.Tools) -> Path:
    if request.tree:
        copy = made / "linux"
        _checked(["cp", "-a", "--reflink=auto", str(tree), str(copy)], compilers, "kernel build: cp")
        tree = copy
    for path in request.patches:
        command = [str(compilers.paths["patch"]), "-p1", "--batch", "--forward", "--fuzz=0", "-d", str(tree), "-i", str(path.resolve())]
        done = subprocess.run(command, env=compilers.environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise BadInput(f"{path}: {' '.join(done.stdout.split())[-300:]}; expected a patch for this source")
    return tree


def _checked(command: list[str], compilers: tools.Tools, task: str) -> None:
    done = subprocess.run(command, env=compilers.environment, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise Failed(f"{task}: {' '.join((done.stderr or done.stdout).split())[-400:]}")


def _run_build(parts: Path, tree: Path, out: Path, fragments: list[Path], jobs: int, compilers: tools.Tools, made: Path) -> None:
    """Run `kernel/build.sh`, which builds the kernel. Raises Failed with the end of its log."""
    prefix = str(compilers.paths[tools.COMPILER.command]).removesuffix("gcc")
    environment = {**compilers.environment, "CROSS_COMPILE": prefix, "JOBS": str(jobs)}
    log = made / "build.txt"
    with log.open("wb") as file:
        command = ["sh", str(parts / "build.sh"), str(tree), str(out), *map(str, fragments)]
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, process_group=0
        )
        try:
            code = process.wait()
        except BaseException:
            # make's children are in the same process group; the build must not continue without
            # this process.
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()
            raise
    if code:
        raise Failed(f"kernel build: {' '.join(log.read_text(errors='replace').split())[-600:]}")


def _relocate(target: Path) -> None:
    """Update the absolute paths of source and output in the files that Kbuild wrote."""
    out = target / "out"
    source = (target / "source.txt").read_text().strip()
    (out / "Makefile").write_text(
        f"# Automatically generated by swaplab: don't edit\nexport KBUILD_OUTPUT = {out}\ninclude {source}/Makefile\n"
    )
    link = out / "source"
    link.unlink(missing_ok=True)
    link.symlink_to(source)


def lacking(config: Path, fragments: list[Path]) -> list[str]:
    """List messages about options of the fragments that were not granted, and about missing options
    that a guest needs.
    """
    granted = {line.strip() for line in config.read_text().splitlines()}
    requested = sorted(
        {line.strip() for path in fragments for line in path.read_text().splitlines() if re.fullmatch(r"CONFIG_\w+=y", line.strip())}
    )
    refused = [f"{wish}: not granted" for wish in requested if wish not in granted]
    unmet = [
        f"CONFIG_{name}: without it, no {use}" for name, use in NEEDED.items() if not {f"CONFIG_{name}=y", f"CONFIG_{name}=m"} & granted
    ]
    return refused + unmet


def remove(name: str) -> None:
    """Remove a built kernel from the cache. Raises BadInput if there is none of that name."""
    for path in (cache.folder() / "builds").glob("*/name.txt"):
        if path.read_text().strip() == name:
            shutil.rmtree(path.parent)
            return
    raise BadInput(f"kernel: '{name}'; expected a built kernel of `swaplab kernel list`")
