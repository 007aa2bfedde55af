"""Signals that end a run."""

from __future__ import annotations

import signal


def stop_on_signals() -> None:
    """SIGTERM and SIGHUP end a run the way Ctrl-C does: through every undoing. One that is ignored (`nohup`) stays so."""

    def stop(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    for one in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(one) is not signal.SIG_IGN:
            signal.signal(one, stop)
