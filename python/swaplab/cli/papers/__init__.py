"""`swaplab papers`: the claims of papers with swaplab's figures for them, and models from
papers.
"""

from __future__ import annotations

import typer

from swaplab.cli.papers import claims, energy, nvm_cache


def register(app: typer.Typer) -> None:
    """Add the group."""
    papers = typer.Typer(name="papers", help="Check claims of papers, and run their models.", no_args_is_help=True, rich_markup_mode=None)
    for module in (claims, energy, nvm_cache):
        module.register(papers)
    app.add_typer(papers)
