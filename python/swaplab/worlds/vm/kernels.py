"""Kernels that a guest can run: the distribution's, those of `swaplab kernel build`, and the user's
images.
"""

from __future__ import annotations

import difflib
import lzma
import re
import struct
from dataclasses import dataclass
from pathlib import Path

from swaplab.core.errors import BadInput, NotSupported
from swaplab.core.files import content_hash
from swaplab.worlds.vm import cache
from swaplab.worlds.vm.packages import Archive, Package, unpacked

#: Series of Debian's arm64 kernels for clouds: small, with MGLRU, PSI, zram and null_blk.
#: By name: series, and the package that always depends on the newest kernel of it.
SERIES = {"debian-6.12": ("6.12", "linux-image-6.12-cloud-arm64"), "debian-6.1": ("6.1", "linux-image-cloud-arm64")}
#: Magic number at offset 56 of an arm64 image (Documentation/arch/arm64/booting).
MAGIC = b"ARM\x64"


@dataclass(frozen=True)
class Kernel:
    """A kernel with its modules and headers."""

    name: str
    release: str
    image: Path
    #: `lib/modules/RELEASE`; None if everything is built in.
    modules: Path | None
    #: The headers for external modules; None if there are none.
    headers: Path | None
    packages: tuple[Package, ...] = ()

    @property
    def sha256(self) -> str:
        """The hash of the image."""
        return content_hash(self.image)

    def has(self, option: str) -> bool:
        """Whether the kernel was built with `CONFIG_<option>`; False if its configuration is
        unknown.
        """
        configuration = self.headers / "include/config/auto.conf" if self.headers else None
        return configuration is not None and configuration.is_file() and f"CONFIG_{option}=" in configuration.read_text()

    def version(self) -> tuple[int, int]:
        """Return the major and minor version numbers; zeros if unknown."""
        numbers = re.match(r"(\d+)\.(\d+)", self.release)
        return (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)


def resolve(name: str) -> Kernel:
    """Look up a kernel by name. A kernel of the distribution is downloaded on first use. Raises
    BadInput for an unknown name.
    """
    if name in SERIES:
        return _stock(name)
    built = {kernel.name: kernel for kernel in builds()}
    if name in built:
        return built[name]
    if "/" in name or Path(name).is_file():
        return _kernel_of_image(Path(name))
    known = [*SERIES, *built]
    near = difflib.get_close_matches(name, known, 1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    raise BadInput(f"run.vm.kernel: '{name}'; expected the path of an arm64 image or one of {', '.join(known)}{hint}")


def is_downloaded(name: str) -> bool:
    """Whether a kernel of the distribution is in the cache."""
    return (_folder(name) / "packages.txt").is_file()


def installed() -> list[Kernel]:
    """List the kernels in the cache."""
    return [_stock(name) for name in SERIES if is_downloaded(name)] + builds()


def builds() -> list[Kernel]:
    """List the kernels that `swaplab kernel build` made, sorted by name."""
    built = []
    for path in sorted((cache.folder() / "builds").glob("*/name.txt")):
        release = (path.parent / "release.txt").read_text().strip()
        built.append(Kernel(path.read_text().strip(), release, path.parent / "Image", None, path.parent / "out"))
    return sorted(built, key=lambda kernel: kernel.name)


def check_image(path: Path) -> None:
    """Raise BadInput if the file is not an arm64 kernel image, with the kind of file that it is."""
    try:
        with path.open("rb") as file:
            head = file.read(0x240)
    except OSError as error:
        raise BadInput(f"run.vm.kernel: {path}: {error.strerror}; expected an arm64 kernel image") from error
    if len(head) >= 60 and head[56:60] == MAGIC:
        return
    kind = "an x86 kernel" if head[0x202:0x206] == b"HdrS" else "an ELF file" if head[:4] == b"\x7fELF" else "no kernel image"
    kind = "a compressed image" if head[:2] == b"\x1f\x8b" or head[:6] == b"\xfd7zXZ\0" else kind
    raise BadInput(f"run.vm.kernel: {path}: {kind}; expected an arm64 kernel image (arch/arm64/boot/Image)")


def _kernel_of_image(path: Path) -> Kernel:
    check_image(path)
    release = _release_of(path) or "unknown"
    modules = next((root / "lib/modules" / release for root in path.parents if (root / "lib/modules" / release).is_dir()), None)
    tree = path.parents[3] if path.as_posix().endswith("arch/arm64/boot/Image") else None
    headers = tree if tree and (tree / "Module.symvers").is_file() else None
    return Kernel(str(path), release, path, modules, headers)


def _release_of(path: Path) -> str | None:
    banner = re.search(rb"Linux version (\S+) \(", path.read_bytes())
    return banner[1].decode(errors="replace") if banner else None


def _folder(name: str) -> Path:
    return cache.folder() / "kernels" / name


def _stock(name: str) -> Kernel:
    target = _folder(name)
    if not is_downloaded(name):
        archive = Archive("arm64")
        series, meta = SERIES[name]
        archive.names(re.escape(meta))
        release = _newest(archive, series, meta)
        common = f"linux-headers-{release.removesuffix('-cloud-arm64')}-common"
        archive.unpack([f"linux-image-{release}", f"linux-headers-{release}", common], target)
    packages = unpacked(target)
    release = (
        next(row.name for row in packages if row.name.startswith("linux-image-")).removeprefix("linux-image-").removesuffix("-unsigned")
    )
    root = target / "root"
    image = root / "boot" / f"vmlinuz-{release}"
    check_image(image)
    return Kernel(name, release, image, root / "lib/modules" / release, root / "usr/src" / f"linux-headers-{release}", tuple(packages))


def _newest(archive: Archive, series: str, meta: str) -> str:
    pattern = rf"linux-image-{re.escape(series)}\.[0-9a-z.+-]*-cloud-arm64"
    names = [name for name in archive.names(pattern) if name != meta]
    if not names:
        raise NotSupported(f"the world vm needs a kernel: this distribution has no package {pattern}")
    newest = max(names, key=lambda name: [int(part) for part in re.findall(r"\d+", name.removesuffix("-cloud-arm64"))])
    return newest.removeprefix("linux-image-")


def module_bytes(kernel: Kernel, name: str) -> bytes | None:
    """Read and decompress a kernel module; None if the kernel has no module of that name (it may be
    built in).
    """
    if kernel.modules is None:
        return None
    plain = name.replace("-", "_")
    for path in sorted(kernel.modules.rglob("*.ko*")):
        if path.name.split(".ko")[0].replace("-", "_") == plain:
            data = path.read_bytes()
            return lzma.decompress(data) if path.suffix == ".xz" else data
    return None


def load_order(kernel: Kernel, names: list[str]) -> list[tuple[str, bytes]]:
    """Read the modules and their dependencies, in an order in which they can be loaded."""
    loaded: dict[str, bytes] = {}

    def add(name: str) -> None:
        if name in loaded or (data := module_bytes(kernel, name)) is None:
            return
        for needed in _depends(data):
            add(needed)
        loaded[name] = data

    for name in names:
        add(name.replace("-", "_"))
    return list(loaded.items())


def _depends(module: bytes) -> list[str]:
    entry = re.search(rb"\0depends=([^\0]*)\0", _section(module, b".modinfo"))
    return [name.replace("-", "_") for name in entry[1].decode().split(",") if name] if entry else []


def _section(elf: bytes, wanted: bytes) -> bytes:
    """Return the content of a section of a 64-bit ELF file, enclosed in zero bytes; empty if there
    is no such section.
    """
    (table,) = struct.unpack_from("<Q", elf, 0x28)
    size, count, names_at = struct.unpack_from("<HHH", elf, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", elf, table + size * number) for number in range(count)]
    names = headers[names_at][4]
    for name, _, _, _, offset, length in headers:
        if elf.startswith(wanted + b"\0", names + name):
            return b"\0" + elf[offset : offset + length] + b"\0"
    return b""
