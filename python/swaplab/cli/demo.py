"""`swaplab demo`: replays of the bundled traces and launches on the simulated phone, with tables
and a report.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from swaplab import report
from swaplab.analysis.readable import Readable
from swaplab.analysis.results import Curve, CurvePoint
from swaplab.cli import options as o
from swaplab.cli.show import show
from swaplab.cli.table import print_columns
from swaplab.core import experiment as experiments
from swaplab.core.document import dumped
from swaplab.core.experiment import BUNDLED
from swaplab.core.files import path_for_message, write_whole
from swaplab.core.model import Document, Row
from swaplab.core.registry import rows as registry_rows
from swaplab.core.trace import lru_curve
from swaplab.report.folder import files_of
from swaplab.worlds import run
from swaplab.worlds.result import Options
from swaplab.worlds.run import Outcome
from swaplab.worlds.sweep.store import Store

#: Programs with bundled traces; the one with most valid points is the first
#: (python/swaplab/data/PROVENANCE.md).
PROGRAMS = ("node", "djpeg", "chromium")
MEMORY = ["5%", "10%", "15%", "20%", "25%"]
#: Changes to A2S' large workload, which shorten it to about a second.
PHONE = ["workload.launches=zipf:launches=96", "run.seeds=1"]
DESIGNS = ("no swap", "vanilla flash swap", "A2S", "A2S, nvm-direct")
#: The parts of Fig. 4 of SPO-CLOCK, which leaves file writes out.
PARTS = ("swap_read_ns", "swap_write_ns", "file_read_ns")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo")(demo)


def demo(
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="The folder for the run folders.")] = Path("runs/demo"),
    jobs: o.Jobs = 0,
    as_json: o.Json = False,
) -> None:
    """Replay the bundled traces under every policy, simulate launches on the phone, print the
    costs, write a report.
    """
    folder = _free(output)
    store = Store(folder)
    outcomes: list[tuple[str, Outcome]] = []
    shown_parts: list[tuple[str, Readable]] = []
    for program in PROGRAMS:
        document = replayed(program, jobs)
        outcomes.append((program, Outcome(document)))
        shown_parts += [(program, document), (f"{program}: miss ratio", _curve(document))]
        if not as_json:
            print_trace(program, document)
    base = experiments.read("a2s-large", PHONE)
    phone = base.model_copy(update={"name": "phone", "design": [design for design in base.design if design.name in DESIGNS]})
    outcome = run(phone, Options(jobs=jobs, tables=True), place="demo")
    outcomes.append(("phone", outcome))
    shown_parts.append(("phone", outcome.document))
    page = report.page(shown_parts, f"demo: {len(PROGRAMS)} traces, a simulated phone").encode()
    for name, done in outcomes:
        inner = folder / name
        inner.mkdir()
        for file, content in files_of(done).items():
            write_whole(inner / file, content)
    store.finish({"report.html": page})
    if as_json:
        print(
            json.dumps(
                {"runs": [json.loads(dumped(done.document)) for _, done in outcomes], "report": path_for_message(folder / "report.html")}
            )
        )
        return
    print("simulated: swap on optane-m10, files on ufs-3.1, every policy with the same number of page frames")
    print("* not valid and left out of verdicts: fewer frames than the trace's filter allows\n")
    show(outcome.document)
    print(f"one launch: swaplab explain {path_for_message(folder / 'phone')}")
    print(f"report: {path_for_message(folder / 'report.html')}")


def _free(folder: Path) -> Path:
    """Return the folder if it is absent or empty, else the first such folder with a number after
    the name.
    """
    candidates = (folder if at == 1 else folder.with_name(f"{folder.name}-{at}") for at in range(1, 10_000))
    return next(candidate for candidate in candidates if not candidate.exists() or (candidate.is_dir() and not any(candidate.iterdir())))


def replayed(program: str, jobs: int) -> Document:
    """Replay a bundled trace under every policy that does not know the future, at five sizes."""
    policies = [row.key for row in registry_rows("policies") if not getattr(row, "offline", False)]
    table = {
        "name": program,
        "design": [{"policy": policies}],
        "workload": {"trace": program},
        "run": {"on": ["replay"]},
        "vary": {"machine.dram": MEMORY},
    }
    return run(experiments.from_options(table), Options(jobs=jobs), place="demo").document


def _curve(document: Document) -> Curve:
    trace = document.inputs[0]
    facts = trace.trace
    assert facts is not None, "a replay reads a trace"
    curve = lru_curve(BUNDLED[document.name])
    sizes = [max(1, facts.footprint_pages * i // 100) for i in range(1, 101)]
    points = [
        CurvePoint(memory_pages=n, miss_ratio=curve.misses[n] / curve.references, filter_limited=n < facts.valid_from_frames) for n in sizes
    ]
    return Curve(trace=trace, points=points)


def print_trace(program: str, document: Document) -> None:
    """Print the table of a trace: I/O time relative to CLOCK by size, and its parts at the smallest
    valid size (SPO-CLOCK, Fig. 4).
    """
    at = {(row.design, str(row.point["machine.dram"])): row for row in document.rows}
    valid = [size for size in MEMORY if at["clock", size].invalid is None]
    where = valid[0] if valid else MEMORY[-1]
    facts = document.inputs[0].trace
    assert facts is not None, "a replay reads a trace"
    print(f"{program}: {facts.references:,} references to {facts.footprint_pages:,} pages; I/O time, CLOCK = 1 (file writes left out)")
    rows = [("policy", *(m if m in valid else f"{m} *" for m in MEMORY), f"at {where}:", "swap read", "swap write", "file read")]
    for policy in dict.fromkeys(row.design for row in document.rows):
        ratios = (_ratio(at[policy, m], at["clock", m]) for m in MEMORY)
        clock_time = max(1.0, _time(at["clock", where]))
        parts = (f"{(getattr(at[policy, where].time, part) or 0.0) / clock_time:.3f}" for part in PARTS)
        rows.append((policy, *ratios, "", *parts))
    print_columns(rows, left=(0,))
    print()


def _time(row: Row) -> float:
    return sum(getattr(row.time, part) or 0.0 for part in PARTS)


def _ratio(row: Row, clock: Row) -> str:
    return f"{_time(row) / _time(clock):.3f}" if _time(clock) else "-"
