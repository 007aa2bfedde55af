"""Entry point of the command `swaplab` and of `python -m swaplab`.

Until the command's modules are imported, Ctrl-C ends the process at once: there is nothing to undo
yet, and a bare `except` in a library could swallow a `KeyboardInterrupt` that is raised during an
import. `stop_on_signals` restores the usual meaning of the signal.
"""

import os
import signal


def _exit_at_once(_number: int, _frame: object) -> None:
    os.write(2, b"swaplab: interrupted\n")
    os._exit(130)


# An ignored signal stays ignored. The default action is not enough: polars replaces it with a
# handler of its own, which does nothing.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _exit_at_once)

from swaplab.cli import main  # noqa: E402

if __name__ == "__main__":
    main()
