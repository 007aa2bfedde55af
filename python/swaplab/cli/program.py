"""The argument for a program and its arguments, after `--` or from the first word that is not an
option.
"""

from __future__ import annotations

from typing import Annotated

import typer

#: Settings of a command whose own options end where the program begins.
CONTEXT = {"allow_interspersed_args": False, "ignore_unknown_options": False}
Command = Annotated[list[str], typer.Argument(metavar="-- CMD..", help="The program and its arguments.")]
