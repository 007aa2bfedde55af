"""An initramfs: a cpio archive in the format "newc" that the kernel unpacks
(Documentation/driver-api/early-userspace/buffer-format).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

_FILE, _DIRECTORY, _DEVICE = 0o100000, 0o040000, 0o020000


@dataclass(frozen=True)
class Entry:
    """A file, directory or character device, by its path without a leading slash."""

    path: str
    mode: int
    data: bytes = b""
    device: tuple[int, int] = (0, 0)


def file(path: str, data: bytes, mode: int = 0o644) -> Entry:
    """Make the entry of a regular file."""
    return Entry(path, _FILE | mode, data)


def directory(path: str) -> Entry:
    """Make the entry of a directory. Parents must precede their children."""
    return Entry(path, _DIRECTORY | 0o755)


def character_device(path: str, major: int, minor: int) -> Entry:
    """Make the entry of a character device, such as the console."""
    return Entry(path, _DEVICE | 0o600, device=(major, minor))


def archive(entries: Iterable[Entry]) -> bytes:
    """Build the archive. All files belong to root and are dated 1970, so that equal entries give
    equal bytes.
    """
    out = bytearray()
    for number, entry in enumerate([*entries, Entry("TRAILER!!!", 0)], 1):
        name = entry.path.encode() + b"\0"
        fields = (number, entry.mode, 0, 0, 1, 0, len(entry.data), 0, 0, *entry.device, len(name), 0)
        out += b"070701" + b"".join(b"%08X" % field for field in fields) + name
        out += bytes(-len(out) % 4)
        out += entry.data
        out += bytes(-len(out) % 4)
    return bytes(out)
