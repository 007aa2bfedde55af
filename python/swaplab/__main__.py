"""Entry point of the command `swaplab` and of `python -m swaplab`.

Until the command's modules are imported, Ctrl-C ends the process at once: there is nothing to undo yet, and a `KeyboardInterrupt` raised
in an import may be lost in a library's bare `except`. `stop_on_signals` gives the signal its usual meaning.
"""

import os
import signal


def _exit_at_once(_number: int, _frame: object) -> None:
    os.write(2, b"swaplab: interrupted\n")
    os._exit(130)


# An ignored signal stays ignored. The default action would not do: polars puts a handler of its own over it, which does nothing.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _exit_at_once)

from swaplab.cli import main  # noqa: E402

if __name__ == "__main__":
    main()
