"""Where downloaded and built things are kept between runs, and their hashes."""

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
    """The user's cache of the world `vm`, made if it is not there."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    path = Path(base) / "swaplab" / "vm"
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NotSupported(f"the world vm needs a cache: {path}: {error.strerror}; set XDG_CACHE_HOME to a folder of yours") from error
    return path


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A folder that becomes `target` when the block ends well, and is removed otherwise: a cache never holds half an entry."""
    target.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        yield made
        made.chmod(0o755)
        if target.exists():  # another process was faster, and made the same
            return
        made.rename(target)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def sha256_of(*parts: bytes | str) -> str:
    """One hash of several parts, each of which counts with its length."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()
