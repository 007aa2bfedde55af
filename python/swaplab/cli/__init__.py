"""The command `swaplab`: one file a command, one line in `COMMANDS` to register it.

A module has `register(app)`. Errors end in one place, `main`: bad usage or input is one line and exit code 2, a missing capability one
line and 3, something that failed one line and 1, Ctrl-C 130.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

import typer

from swaplab import BadInput, Failed, NotSupported, __version__
from swaplab.core.files import printable
from swaplab.core.limits import check_limits
from swaplab.core.signals import stop_on_signals

#: One module a command or group, in the order of `swaplab --help`.
COMMANDS: tuple[str, ...] = (
    "demo",
    "new",
    "check",
    "run",
    "replay",
    "exec",
    "top",
    "trace",
    "report",
    "compare",
    "explain",
    "plan",
    "advise",
    "recommend",
    "rerun",
    "list",
    "schema",
    "papers",
    "kernel",
    "doctor",
)


def app_with(first: str = "") -> typer.Typer:
    """The command line with every command, or with `first` alone where that is one: importing the others would take longer than many a
    command's work."""
    app = typer.Typer(
        name="swaplab",
        help="The lab for swap on phones and other small-memory machines.",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 100},
    )

    @app.callback()
    def root(version: bool = typer.Option(False, "--version", help="Print the version.", is_eager=True, callback=_version)) -> None:
        pass

    for name in (first,) if first in COMMANDS else COMMANDS:
        import_module(f"swaplab.cli.{name}").register(app)
    return app


def _version(wanted: bool) -> None:
    if wanted:
        print(f"swaplab {__version__}")
        raise typer.Exit


def main() -> None:
    """Entry point: run the command and turn errors into one line and an exit code."""
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.stderr.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    if "_SWAPLAB_COMPLETE" in os.environ:
        app_with()()
    words = sys.argv[1:]
    try:
        code = _run(words)
        print(end="", flush=True)
        sys.exit(code)
    except typer.TyperException as error:
        if error.message.startswith("Usage: "):  # a group without a command
            print(error.message)
            sys.exit(2)
        sys.exit(_say(f"{error.format_message().rstrip('.')} (`{_command(error, words)} --help`)", 2))
    except BadInput as error:
        sys.exit(_say(str(error), 2))
    except NotSupported as error:
        sys.exit(_say(str(error), 3))
    except Failed as error:
        sys.exit(_say(str(error), 1))
    except KeyboardInterrupt as stopped:
        sys.exit(_say(str(stopped) or "interrupted", 130))
    except BrokenPipeError:
        _close_output()
        sys.exit(1)
    except OSError as error:
        _close_output()
        where = f"{os.fsdecode(error.filename)}: " if error.filename else ""
        sys.exit(_say(f"{where}{error.strerror or error}", 1))


def _run(words: list[str]) -> int:
    """Run the command of these words; its exit code. Typer's own `main` would turn an interrupt into an exit code and lose its message."""
    check_limits()
    command = typer.main.get_command(app_with(words[0] if words else ""))
    stop_on_signals()
    try:
        with command.make_context("swaplab", words) as context:
            code = command.invoke(context)
    except typer.Exit as done:
        return done.exit_code
    return code if isinstance(code, int) else 0


def _command(error: typer.TyperException, words: list[str]) -> str:
    """The command whose help tells more; not every error of typer knows it."""
    path = getattr(getattr(error, "ctx", None), "command_path", None)
    return str(path) if path else " ".join(["swaplab", *(word for word in words[:1] if word in COMMANDS)])


def _close_output() -> None:
    """What is left in the buffer would be written once more at the end, and fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _say(message: str, code: int) -> int:
    print(f"swaplab: {printable(' '.join(message.split()))}", file=sys.stderr)
    return code
