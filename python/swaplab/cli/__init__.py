"""The command `swaplab`: one file a subcommand, one line here to register it.

Every subcommand module has `register(app)`. Errors end in one place, `main`: bad input is one line and exit code 2,
a missing capability one line and 3, Ctrl-C 130.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module

import typer

from swaplab import BadInput, Failed, NotSupported, __version__
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


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"swaplab {__version__}")
        raise typer.Exit


def root(version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version.")) -> None:
    """The lab for swap on phones and other small-memory machines."""


def command_line(first: str = "") -> typer.Typer:
    """The command line with every subcommand, or with `first` alone where that is one: reading the others' options would take
    longer than many a command's work."""
    module = first.replace("-", "_")
    return _with((module,) if module in COMMANDS else COMMANDS)


@cache
def _with(commands: tuple[str, ...]) -> typer.Typer:
    app = typer.Typer(no_args_is_help=True, add_completion=True, pretty_exceptions_enable=False, rich_markup_mode=None)
    app.callback()(root)
    for name in commands:
        import_module(f"swaplab.cli.{name}").register(app)
    return app


def main() -> None:
    """Entry point: run the command and turn errors into one line and an exit code."""
    stop_on_signals()
    try:
        command_line(*sys.argv[1:2])()
    except BadInput as error:
        sys.exit(_say(str(error), 2))
    except NotSupported as error:
        sys.exit(_say(str(error), 3))
    except Failed as error:
        sys.exit(_say(str(error), 1))
    except KeyboardInterrupt as stopped:
        sys.exit(_say(str(stopped) or "interrupted", 130))
    except BrokenPipeError:
        sys.exit(0)


def _say(message: str, code: int) -> int:
    print(f"swaplab: {' '.join(message.split())}", file=sys.stderr)
    return code
