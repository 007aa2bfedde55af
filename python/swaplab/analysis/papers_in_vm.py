"""The section of `papers/NAME/README.md` that compares a kernel under virtual time with simulated
and measured figures.
"""

from __future__ import annotations

from collections.abc import Sequence

from swaplab.analysis.papers import Claim, document_in_vm, expected, folder
from swaplab.analysis.papers_published import megabytes
from swaplab.core.document import figure
from swaplab.core.errors import BadInput

HEAD = "## In a kernel under virtual time"
#: Columns of the table of designs.
FIGURES = (
    "launches.count",
    "launches.cold",
    "launches.kills",
    "launches.delay_ms.mean",
    "launches.resume_ms.mean",
    "paging.swap_in_bytes",
    "paging.swap_out_bytes",
    "paging.direct_reads",
)


def claim_table(paper: str, claims: Sequence[Claim]) -> str:
    """Format the table of the `[[vm]]` claims.

    Its columns are the simulated phone's figure (from the README's first table), that under virtual
    time, and that of a real kernel.
    """
    simulated = _simulated(paper)
    wanted = {claim.claim: claim for claim in expected(paper).vm}
    lines = ["| claim | published | simulated | virtual | measured | verdict of the virtual | why |", "|---|---|---|---|---|---|---|"]
    for claim in claims:
        of = wanted[claim.claim]
        cells = (
            claim.claim,
            claim.published,
            simulated.get(of.simulated or "", "-"),
            claim.ours or "-",
            of.measured or "-",
            claim.verdict,
            claim.why,
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _simulated(paper: str) -> dict[str, str]:
    """Read our figure for each claim from the README's first table. Raises BadInput if a claim that
    a `[[vm]]` names is missing.
    """
    place = folder() / paper / "README.md"
    before = place.read_text("utf-8").partition(HEAD)[0]
    rows = [_cells(line) for line in before.splitlines() if line.startswith("| ")]
    ours = {cells[0]: cells[2] for cells in rows if len(cells) == 5}
    for claim in expected(paper).vm:
        if claim.simulated is not None and claim.simulated not in ours:
            raise BadInput(f"{place}: no row '{claim.simulated}'; expected one, as a [[vm]] of expected.toml names it")
    return ours


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split(" | ")]


def refresh(paper: str) -> None:
    """Copy the simulated phone's figures from the README's first table to its section about the
    kernel, if it has one.
    """
    place = folder() / paper / "README.md"
    before, head, section = place.read_text("utf-8").partition(HEAD)
    ours, of = _simulated(paper), {claim.claim: claim.simulated for claim in expected(paper).vm}
    lines = section.split("\n")
    for at, line in enumerate(lines):
        cells = _cells(line)
        if line.startswith("| ") and cells[0] in of:
            cells[2] = ours.get(of[cells[0]] or "", "-")
            lines[at] = f"| {' | '.join(cells)} |"
    place.write_text(before + head + "\n".join(lines), "utf-8")


def section(paper: str, table: str) -> str:
    """Format the section of `papers/NAME/README.md` about the kernel: versions, the claims'
    `table`, and the figures of each design.
    """
    document = document_in_vm(paper)
    versions = {name.rpartition(": ")[2]: text for name, text in document.versions.items() if name.startswith("vm ")}
    lines = [
        f"`swaplab papers check {paper} --vm` makes this section from `vm.toml`. Figures are virtual, of Linux {versions['release']} "
        f"(image sha256 {versions['image sha256'][:12]}) in {versions['qemu']}. Sizes are scaled, so only orders and shares can be "
        f"compared with the paper. Intervals are over {document.rows[0].seeds} perturbations of one workload (microseconds "
        "of think time). They say how well a figure repeats, not how users differ.",
        "",
        table,
        "| design | launches | cold | kills | mean delay, ms | resumes, ms | swapped in, MB | swapped out, MB | mapped in place |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in document.rows:
        figures = [megabytes(figure(row, path)) if path.endswith("_bytes") else figure(row, path) for path in FIGURES]
        lines.append(f"| {row.design} | " + " | ".join("-" if value is None else f"{value:.1f}" for value in figures) + " |")
    return HEAD + "\n\n" + "\n".join(lines) + "\n"
