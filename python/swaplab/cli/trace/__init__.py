"""`swaplab trace`: import, inspect, convert, cut and capture traces, and fit models to them."""

from __future__ import annotations

import typer

from swaplab.cli.trace import analyze, capture, compressibility, cut, files, fit, mrc


def register(app: typer.Typer) -> None:
    """Add the group."""
    trace = typer.Typer(name="trace", help="Import, inspect, convert, cut and capture traces.", no_args_is_help=True, rich_markup_mode=None)
    for module in (files, cut, analyze, mrc, capture, compressibility, fit):
        module.register(trace)
    app.add_typer(trace)
