"""The command `swaplab`. Each subcommand is a file, and a line of `COMMANDS` registers it.

A module has `register(app)`. `main` handles all errors, with a one-line message: bad usage or input
has exit code 2, a missing capability 3, a failure 1, Ctrl-C 130.
"""

from __future__ import annotations

import gc
import os
import re
import sys
from importlib import import_module

import typer

from swaplab import BadInput, Failed, NotSupported, __version__
from swaplab.core.files import printable
from swaplab.core.limits import check_limits
from swaplab.core.signals import stop_on_signals

#: The modules of commands and groups, in the order of `swaplab --help`.
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
    """Build the command line with every command, or only with what the first word needs, as
    importing the others takes long.
    """
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

    for name in (first,) if first in COMMANDS else () if first == "--version" else COMMANDS:
        import_module(f"swaplab.cli.{name}").register(app)
    return app


def _version(wanted: bool) -> None:
    if wanted:
        print(f"swaplab {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command of `sys.argv`; convert errors to a one-line message and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # it may be closed
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    if "_SWAPLAB_COMPLETE" in os.environ:
        app_with(_completed_command())()
    words = sys.argv[1:]
    try:
        code = _run(words)
        print(end="", flush=True)
        # At its exit Python would collect garbage over all modules: a fifth of a short command.
        gc.freeze()
        sys.exit(code)
    except typer.TyperException as error:
        if error.message.startswith("Usage: "):  # a group without a command
            print(error.message)
            sys.exit(2)
        sys.exit(_print_error(f"{error.format_message().rstrip('.')} (`{_command(error, words)} --help`)", 2))
    except BadInput as error:
        # The core names what is set a change; here it was written behind `--set`.
        sys.exit(_print_error(re.sub("^change: ", "--set: ", str(error)), 2))
    except NotSupported as error:
        sys.exit(_print_error(str(error), 3))
    except Failed as error:
        sys.exit(_print_error(str(error), 1))
    except KeyboardInterrupt as stopped:
        sys.exit(_print_error(str(stopped) or "interrupted", 130))
    except BrokenPipeError:
        _close_output()
        sys.exit(1)
    except OSError as error:
        _close_output()
        where = f"{os.fsdecode(error.filename)}: " if error.filename else ""
        sys.exit(_print_error(f"{where}{error.strerror or error}", 1))


def _completed_command() -> str:
    """The command whose words a shell completes; empty while the command's name is not complete."""
    words = os.environ.get("_TYPER_COMPLETE_ARGS", os.environ.get("COMP_WORDS", "")).split(" ")
    return words[1] if len(words) > 2 else ""


def _run(words: list[str]) -> int:
    """Run the command and return its exit code. Typer's `main` is not used, as it would lose the
    message of an interrupt.
    """
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
    """Return the command whose help to refer to. Typer's errors do not always contain it."""
    path = getattr(getattr(error, "ctx", None), "command_path", None)
    return str(path) if path else " ".join(["swaplab", *(word for word in words[:1] if word in COMMANDS)])


def _close_output() -> None:
    """Redirect stdout to /dev/null, because flushing its buffer at exit would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _print_error(message: str, code: int) -> int:
    print(f"swaplab: {printable(' '.join(message.split()))}", file=sys.stderr)
    return code
