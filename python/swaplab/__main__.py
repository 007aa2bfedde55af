"""Entry point of the command `swaplab` and of `python -m swaplab`.

Until the command's modules are imported, Ctrl-C ends the process at once: an import may lose a `KeyboardInterrupt` (a library's bare
`except`), and there is nothing to undo yet. `stop_on_signals` hands the signal back to Python.
"""

import signal

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from swaplab.cli import main  # noqa: E402

if __name__ == "__main__":
    main()
