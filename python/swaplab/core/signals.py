"""Signals that end a run."""

from __future__ import annotations

import signal


def stop_on_signals() -> None:
    """Make SIGINT, SIGTERM and SIGHUP end a run through every undoing. A signal that is ignored (`nohup`) stays ignored."""

    def stop(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    for one in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(one) is not signal.SIG_IGN:
            signal.signal(one, stop)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
