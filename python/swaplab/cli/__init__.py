"""The command `swaplab`: one file a subcommand, one line here to register it.

Every subcommand module has `register(app)`. Errors end in one place, `main`: bad input is one line and exit code 2,
a missing capability one line and 3, Ctrl-C 130.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib import import_module

from swaplab import BadInput, Failed, NotSupported, __version__
from swaplab.cli.parser import Parser
from swaplab.signals import stop_on_signals

#: One module a subcommand, in the order of `swaplab --help`.
COMMANDS: tuple[str, ...] = (
    "demo",
    "trace",
    "replay",
    "sim",
    "fit",
    "explain",
    "mrc",
    "sweep",
    "compare",
    "plan",
    "recommend",
    "report",
    "rerun",
    "schema",
    "init",
    "energy",
    "nvm_cache",
    "compressibility",
    "list",
    "papers",
    "doctor",
    "bench",
    "run",
    "top",
)


def command_line(first: str = "") -> Parser:
    """The command line with every subcommand, or with `first` alone where that is one: reading the others' options would take
    longer than many a command's work."""
    module = first.replace("-", "_")
    return _with((module,) if module in COMMANDS else COMMANDS)


@cache
def _with(commands: tuple[str, ...]) -> Parser:
    app = Parser("swaplab", "The lab for swap on phones and other small-memory machines.")
    app.add_argument("--version", action="version", version=f"swaplab {__version__}", help="Print the version.")
    for name in commands:
        import_module(f"swaplab.cli.{name}").register(app)
    return app


def main() -> None:
    """Entry point: run the command and turn errors into one line and an exit code."""
    stop_on_signals()
    try:
        command_line(*sys.argv[1:2]).run(sys.argv[1:])
        print(end="", flush=True)
        sys.exit(0)
    except BadInput as error:
        sys.exit(_say(str(error), 2))
    except NotSupported as error:
        sys.exit(_say(str(error), 3))
    except Failed as error:
        sys.exit(_say(str(error), 1))
    except KeyboardInterrupt as stopped:
        sys.exit(_say(str(stopped) or "interrupted", 130))
    except BrokenPipeError:
        # Nobody reads on; what is left would be written once more at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(1)


def _say(message: str, code: int) -> int:
    print(f"swaplab: {' '.join(message.split())}", file=sys.stderr)
    return code
