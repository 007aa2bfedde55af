"""Handling of signals that end a run."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def stop_on_signals() -> None:
    """Make SIGINT, SIGTERM and SIGHUP raise KeyboardInterrupt, so that every `finally` runs. An
    ignored signal (`nohup`) stays ignored.
    """

    def stop(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, stop)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Signals that end a run wait until the block ends: for what must not be half done, and for
    what would lose them. An exception raised while a child with a `preexec_fn` is forked may be
    lost: Python ignores it in the functions that it calls around a fork."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[int] = []
    before = {number: handler for number in STOPPING if (handler := signal.getsignal(number)) is not signal.SIG_IGN}
    for number in before:
        signal.signal(number, lambda received, _frame: waiting.append(received))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if waiting:
            raise KeyboardInterrupt
