"""Limits on this process at which libraries abort or hang instead of reporting an error."""

from __future__ import annotations

import resource

from swaplab.core.errors import NotSupported

#: polars, rayon and the renderer of charts open about 25 files at once, two workers and their pipes
#: some more.
LEAST_FILES = 64


def check_limits() -> None:
    """Raise NotSupported if a limit is too low: with few files or a limited address space polars
    hangs, and V8, which draws the charts, aborts.
    """
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if files != resource.RLIM_INFINITY and files < LEAST_FILES:
        raise NotSupported(f"this process may open {files} files; expected at least {LEAST_FILES} (ulimit -n)")
    space = resource.getrlimit(resource.RLIMIT_AS)[0]
    if space != resource.RLIM_INFINITY:
        raise NotSupported(f"the address space of this process is limited to {space} bytes; expected no limit (ulimit -v)")
