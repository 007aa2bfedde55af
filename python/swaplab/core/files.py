"""Files: reading with clear errors, and atomic writing."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import re
import secrets
import tempfile
from pathlib import Path

import polars as pl

from swaplab.core.errors import BadInput

#: Control characters of Unicode (C0, DEL, C1).
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def read_text(path: Path, expected: str) -> str:
    """The text of a UTF-8 file. Raises BadInput with what was `expected` of it."""
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise BadInput(f"{path_for_message(path)}: {error.strerror}; expected {expected}") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{path_for_message(path)}: byte {error.start}: not UTF-8; expected {expected}") from None
    except ValueError as error:  # a NUL in the name
        raise BadInput(f"{path_for_message(path)}: {error}; expected {expected}") from None


def path_for_message(path: str | os.PathLike[str]) -> str:
    """A path for use in messages: bytes that are not UTF-8 are escaped."""
    return os.fspath(path).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def utf8_name(path: str | os.PathLike[str]) -> str:
    """The text of a path that an experiment names. Raises BadInput for one that is not UTF-8, as
    experiments are text.
    """
    name = os.fspath(path)
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        raise BadInput(f"{path_for_message(name)}: not UTF-8; expected a name that is, such as that of a link to the file") from None
    return name


def write_whole(path: Path, content: bytes) -> None:
    """Write a file under a temporary name in its folder, then rename it. A device or a pipe
    (`/dev/null`) is written to, and a link stays a link. A new file has the mode of the user's
    umask, a replaced file keeps its mode."""
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            path.write_bytes(content)
            return
        path = path.resolve()
        part = path.parent / f".{path.name[:40]}-{secrets.token_hex(4)}.part"
        mode = path.stat().st_mode & 0o777 if path.exists() else None
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666 if mode is None else 0o600)
    except OSError as error:
        raise BadInput(f"{path_for_message(path)}: {error.strerror}; expected a place to write the file") from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            if mode is not None:
                os.fchmod(handle, mode)
        os.replace(part, path)
    except BaseException as error:  # Ctrl-C, too, leaves no part
        part.unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
        raise BadInput(f"{path_for_message(path)}: {error.strerror}; expected a place to write the file") from None


def try_output(path: Path) -> None:
    """Raise BadInput unless a file can be written at `path`; called before work begins."""
    if path.is_dir():
        raise BadInput(f"{path_for_message(path)}: Is a directory; expected a place to write the file")
    try:
        # a pipe that is opened and closed would end for its reader
        if path.exists() and not path.is_file():
            if not os.access(path, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return
        if path.exists():
            with path.open("ab"):
                return
        with tempfile.TemporaryFile(dir=path.resolve().parent):
            return
    except OSError as error:
        raise BadInput(f"{path_for_message(path)}: {error.strerror}; expected a place to write the file") from None


def refuse_overwrite(output: Path, inputs: list[Path]) -> None:
    """Refuse an output path that is also an input."""
    for path in inputs:
        if output.exists() and path.exists() and output.samefile(path):
            raise BadInput(f"{path_for_message(output)}: is also an input; expected another file to write")


def content_hash(path: Path) -> str:
    """SHA-256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def parquet_bytes(frame: pl.DataFrame) -> bytes:
    """A frame as the bytes of a parquet file; equal frames give equal bytes."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()


def printable(text: str) -> str:
    """A text without control characters, which terminals interpret and SVG does not allow."""
    return CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def file_name(name: str) -> str:
    """Convert a design's name to a safe file name, without separators."""
    return re.sub(r"[\x00-\x1f\x7f/]", "_", name)


def slug(name: str) -> str:
    """Convert a name to a form that is valid in file names and HTML ids."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower() or "run"
