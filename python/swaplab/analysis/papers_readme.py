"""The tables in `papers/NAME/README.md`, and the commit that they are computed from."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from functools import partial

from swaplab.analysis import papers
from swaplab.core.errors import BadInput, NotSupported


def claim_table(claims: Sequence[papers.Claim]) -> str:
    """Format the claims as a table of `papers/NAME/README.md`. Raises BadInput if data for a
    claim's figure is missing on this machine.
    """
    missing = [claim for claim in claims if claim.why.startswith(papers.NO_DATA)]
    if missing:
        claim, expected = missing[0], "SWAPLAB_DATA to name its folder before the table is written"
        raise BadInput(f"{claim.paper}: '{claim.claim}': {papers.NO_DATA}; expected {expected}")
    lines = [papers.HEAD, "|---|---|---|---|---|"]
    lines += [f"| {claim.claim} | {claim.published} | {claim.ours or '-'} | {claim.verdict} | {claim.why} |" for claim in claims]
    return "\n".join(lines) + "\n"


def write_table(name: str, head: str, text: str) -> None:
    """Replace the part of the paper's README from `head` to the next heading by `text`; append it
    if there is no such part.
    """
    place = papers.folder() / name / "README.md"
    old = place.read_text("utf-8")
    start = old.find(f"\n{head}")
    if start < 0:
        place.write_text(f"{old.rstrip()}\n\n{text}", "utf-8")
        return
    end = old.find("\n## ", start + 1)
    place.write_text(f"{old[: start + 1]}{text}" + ("" if end < 0 else old[end:]), "utf-8")


#: The sentence of a README that names the commit of its tables.
_COMMIT = re.compile(r"computed (?:with the model of|from) commit [0-9a-f]+(?:-dirty)?")


def stamp(name: str) -> None:
    """Put the commit of this checkout into the sentence of the paper's README that names the one
    its tables are computed from.
    """
    place = papers.folder() / name / "README.md"
    text = place.read_text("utf-8")
    if _COMMIT.search(text) is None:
        raise BadInput(f"{place}: no sentence 'computed from commit'; expected one before the table")
    place.write_text(_COMMIT.sub(f"computed from commit {_commit()}", text, count=1), "utf-8")


def _commit() -> str:
    """The commit, followed by `-dirty` where files that git knows are changed. Tables are what the
    command writes, so they do not count.
    """
    run = partial(subprocess.run, cwd=papers.folder(), check=True, capture_output=True, text=True)
    try:
        commit = run(["git", "rev-parse", "--short=7", "HEAD"]).stdout.strip()
        changed = run(["git", "status", "--porcelain", "--untracked-files=no", "--", ":/", ":(exclude,top)papers/*/README.md"]).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise NotSupported(
            f"{papers.folder()}: {error}; tables name the commit that they are computed from, so they are written in a clone"
        ) from None
    return f"{commit}-dirty" if changed.strip() else commit
