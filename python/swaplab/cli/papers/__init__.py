"""`swaplab papers`: what the papers claim and what comes out here, and their own models."""

from __future__ import annotations

import typer

from swaplab.cli.papers import claims, energy, nvm_cache


def register(app: typer.Typer) -> None:
    """Add the group."""
    papers = typer.Typer(name="papers", help="What the papers claim, and what comes out here.", no_args_is_help=True, rich_markup_mode=None)
    for module in (claims, energy, nvm_cache):
        module.register(papers)
    app.add_typer(papers)
