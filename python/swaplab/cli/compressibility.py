"""`swaplab compressibility`: sample the memory of running programs, for the schemes that compress."""

from __future__ import annotations

from pathlib import Path

from swaplab.cli import options as o
from swaplab.cli.parser import Parser


def register(app: Parser) -> None:
    """Add the subcommand."""
    command = app.command("compressibility", compressibility)
    command.add_argument("pids", metavar="PIDS...", nargs="+", type=o.whole(), help="Running programs.")
    command.add_argument("--source", required=True, help="What they are, in words: the file must say what was sampled.")
    command.add_argument("-o", dest="output", type=Path, required=True, help="The distribution file to write.")
    command.add_argument("--most", type=o.whole(100), default=20_000, help="Pages to sample at most, 100 or more.")
    command.add_argument("--seed", type=o.whole(), default=0, help="Of the drawing of pages.")
    o.add_json(command)


def compressibility(pids: list[int], source: str, output: Path, most: int, seed: int, as_json: bool) -> None:
    """Compress anonymous pages of running programs and write how small they get (for `zram:content=FILE`)."""
    from swaplab import BadInput
    from swaplab.compressibility import distribution, sample
    from swaplab.run_folder import replace

    if '"' in source or "\\" in source or not source.strip():
        raise BadInput(f"--source {source!r}; expected some words without quotes or backslashes")
    text = distribution(sample(pids, most, seed), source)
    replace(output, text.encode())
    summary = text.splitlines()[1:4]
    o.say(as_json, "\n".join(summary), kind="measured", output=str(output), summary=summary)
