"""The parser of a command: argparse, with errors of one line, and words put in order before argparse reads them.

What argparse makes of `--`, of options between words and of values that begin with `-` differs from Python to Python. So every option
reaches it as `--name=value`, in front of a `--` and the other words, and each parser reads the words of one command only.
"""

from __future__ import annotations

import sys
from argparse import Action, ArgumentParser, HelpFormatter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from swaplab import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import _MutuallyExclusiveGroup, _SubParsersAction
    from typing import Any, NoReturn


class Help(HelpFormatter):
    """Help that fits a terminal of 80 columns, with what is required and what holds where nothing is given."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=79)

    def add_usage(
        self, usage: str | None, actions: Iterable[Action], groups: Iterable[_MutuallyExclusiveGroup], prefix: str | None = None
    ) -> None:
        arguments = [action for action in actions if not action.option_strings]
        words = [f"[{action.metavar}]" if action.nargs == "?" else str(action.metavar) for action in arguments]
        super().add_usage(" ".join(["%(prog)s", "[OPTIONS]", *words]), actions, groups, prefix)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        filled = []
        for paragraph in text.split("\n\n"):
            filled.append(super()._fill_text(paragraph, width, indent))
        return "\n\n".join(filled)

    def _get_help_string(self, action: Action) -> str:
        text = action.help or ""
        if action.required and action.option_strings:
            return f"{text} (required)"
        if action.default is None or action.nargs == 0:
            return text
        return f"{text} (default: %(default)s)"

    def _get_default_metavar_for_optional(self, action: Action) -> str:
        return "TEXT" if action.type is None else "PATH" if action.type is Path else "N"


class Parser(ArgumentParser):
    """The words of one command: what it takes itself, or the commands below it."""

    def __init__(self, prog: str, description: str, **more: Any) -> None:
        super().__init__(prog, description=description, allow_abbrev=False, add_help=False, formatter_class=Help, **more)
        self.add_argument("--help", action="help", help="Show this message and exit.")
        self.commands: _SubParsersAction[Parser] | None = None
        #: Whether all from the first word on that is no option is left as it is: to a command below, to another program.
        self.first_word_ends_options = False
        #: Whether the words are another program's, where a `--` may mean something.
        self.takes_program = False

    def command(self, name: str, function: Callable[..., None]) -> Parser:
        """A command below this one. The function's docstring is its help; its values go to the function by name."""
        parser = self.group(name, function.__doc__ or "")
        parser.set_defaults(function=function)
        return parser

    def group(self, name: str, about: str) -> Parser:
        """A command below this one that has commands below it."""
        if self.commands is None:
            self.commands = self.add_subparsers(prog=self.prog, title="commands", metavar="COMMAND")
            self.first_word_ends_options = True
        summary = " ".join(about.split()).split(". ")[0].rstrip(".").replace("%", "%%")
        return self.commands.add_parser(name, prog=f"{self.prog} {name}", help=f"{summary}.", description=about)

    def run(self, words: Iterable[str]) -> None:
        """Call the function of the command that the words name."""
        options, others = self._in_order(words)
        if self.commands is None:
            self._call(options, others)
            return
        self.parse_args(options)
        if not others:
            self.print_help(sys.stderr)
            sys.exit(2)
        name, *rest = others
        if name not in self.commands.choices:
            self._unknown("command", name, self.commands.choices)
        self.commands.choices[name].run(rest)

    def _call(self, options: list[str], others: list[str]) -> None:
        # Some versions of argparse take a `--` out of each argument's words, not out of the first one's only.
        if "--" in others and not self.takes_program:
            self.error("unexpected '--'")
        found, surplus = self.parse_known_args([*options, "--", *others] if others else options)
        if surplus:
            self.error(f"unexpected argument {surplus[-1]!r}")
        values = vars(found)
        values.pop("function")(**values)

    def _in_order(self, words: Iterable[str]) -> tuple[list[str], list[str]]:
        """Options, each one with its value, and the words that are none."""
        options: list[str] = []
        others: list[str] = []
        left = iter(words)
        for word in left:
            if word == "--":
                others.extend(left)
            elif word.startswith("-") and word != "-":
                options.append(self._option(word, left))
            else:
                others.append(word)
                if self.first_word_ends_options:
                    others.extend(left)
        return options, others

    def _option(self, word: str, left: Iterator[str]) -> str:
        """An option as `--name=value`, with the next word as its value where it has none; one without values as it is."""
        known = self._option_string_actions
        name, equals, value = word.partition("=")
        if name not in known and word[:2] in known:
            name, equals, value = word[:2], "=", word[2:]
        if name not in known:
            self._unknown("option", name, known)
        if known[name].nargs == 0 or equals:
            return f"{name}{equals}{value}"
        following = next(left, None)
        if following is None:
            self.error(f"{name}: no value; expected one")
        return f"{name}={following}"

    def _unknown(self, what: str, name: str, known: Iterable[str]) -> NoReturn:
        from difflib import get_close_matches

        near = " or ".join(repr(one) for one in get_close_matches(name, known))
        self.error(f"unknown {what} {name!r}" + (f"; expected {near}" if near else ""))

    def error(self, message: str) -> NoReturn:
        """Every error ends here: one line, as that of any other bad input."""
        raise BadInput(f"{message.removeprefix('argument ')}; '{self.prog} --help' tells more")
