"""A progress bar on standard error, if that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext


@contextmanager
def bar(label: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show a bar; yields a listener for (done, total), or None if standard error is not a
    terminal.
    """
    with _drawn(label) if sys.stderr.isatty() else nullcontext() as listener:
        yield listener


@contextmanager
def _drawn(label: str) -> Iterator[Callable[[int, int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(label, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total or None)
