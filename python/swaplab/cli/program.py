"""Another program and its arguments behind `--`, or from the first word that is no option on."""

from __future__ import annotations

from typing import Annotated

import typer

#: Settings of a command that ends its own options where the program begins.
CONTEXT = {"allow_interspersed_args": False, "ignore_unknown_options": False}
Command = Annotated[list[str], typer.Argument(metavar="-- CMD..", help="The program and its arguments.")]
