"""The file system for the apps' files: made empty on the host, and loaded into the guest's flash
before the guest starts.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from swaplab.core.errors import NotSupported
from swaplab.worlds.vm import tools

MIB = 1 << 20
UUID = "5ca1ab1e-0000-4000-8000-000000000001"


def size(file_pages: int) -> int:
    """Compute the bytes of a file system for `file_pages` pages of files: a quarter more, and 32
    MiB for its tables and journal.
    """
    wanted = file_pages * 4096 * 5 // 4 + 32 * MIB
    return -(-wanted // (2 * MIB)) * 2 * MIB


def make(path: Path, length: int) -> str:
    """Write a sparse, empty ext4 of `length` bytes. Equal lengths and versions of mke2fs give equal
    bytes. Returns the version.
    """
    mke2fs = tools.find(tools.MKE2FS)
    with path.open("wb") as file:
        file.truncate(length)
    features = ["-O", "^metadata_csum,^resize_inode,^huge_file", "-J", "size=4", "-U", UUID]
    lazy = ["-E", f"hash_seed={UUID},lazy_itable_init=0,lazy_journal_init=0,nodiscard,root_owner=0:0"]
    command = [str(mke2fs.paths["mke2fs"]), "-q", "-F", "-t", "ext4", "-b", "4096", "-m", "0", *features, *lazy, str(path)]
    environment = {**mke2fs.environment, "E2FSPROGS_FAKE_TIME": "1", "MKE2FS_DEVICE_SECTSIZE": "4096"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise NotSupported(f"the world vm needs a file system: mke2fs: {' '.join(done.stderr.split())}")
    return mke2fs.version(tools.MKE2FS, "-V")


def packed(path: Path) -> bytes:
    """Pack the image's non-zero blocks, each prefixed with its number, as the guest's `setup.rs`
    unpacks them.
    """
    out = bytearray()
    with path.open("rb") as file:
        for number, block in enumerate(iter(lambda: file.read(4096), b"")):
            if block.count(0) < len(block):
                out += number.to_bytes(8, "little") + block
    return bytes(out)
