"""The cache of downloaded and built files, and their hashes."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from swaplab.core.errors import NotSupported


def folder() -> Path:
    """Return the user's cache folder of the world `vm`, creating it if needed."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    path = Path(base) / "swaplab" / "vm"
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NotSupported(f"the world vm needs a cache: {path}: {error.strerror}; set XDG_CACHE_HOME to a folder of yours") from error
    return path


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Yield a folder that is renamed to `target` if the block succeeds, and removed otherwise, so
    that the cache has no partial entries.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        yield made
        made.chmod(0o755)
        if target.exists():  # another process has made the same entry meanwhile
            return
        made.rename(target)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def sha256_of(*parts: bytes | str) -> str:
    """Hash several parts, each prefixed with its length."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()
