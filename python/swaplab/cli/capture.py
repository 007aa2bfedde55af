"""`swaplab trace capture`: run a program and write the trace of its pages."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from swaplab.cli import options as o


def register(parent: typer.Typer) -> None:
    """Add the subcommand."""
    parent.command("capture")(capture)


def capture(
    command: Annotated[list[str], typer.Argument(metavar="-- CMD...", help="The program and its arguments.")],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="OUT.slt", help="The trace to write.")],
    method: Annotated[str, typer.Option("--method", help="auto, qemu or lackey.")] = "auto",
    arch: Annotated[str | None, typer.Option("--arch", help="x86_64 or aarch64; else what the program is made for.")] = None,
    root: Annotated[
        Path | None, typer.Option("--root", metavar="DIR", help="Where the program's libraries lie, for another processor.")
    ] = None,
    filter: Annotated[
        int | None, typer.Option("--filter", min=0, metavar="N", help="Drop hits of an N-page LRU filter; 0: drop none.")
    ] = None,
    cache: Annotated[
        str | None, typer.Option("--cache", metavar="L1:SIZE,LL:SIZE", help="Record only what such caches let through.")
    ] = None,
    max_references: Annotated[
        int | None, typer.Option("--max", min=1, max=o.MOST, metavar="N", help="Stop after N references of the program.")
    ] = None,
    label: Annotated[list[str] | None, typer.Option("--label", help="launch or resume: at the start, the next ones at SIGUSR1.")] = None,
    label_pipe: Annotated[
        Path | None, typer.Option("--label-pipe", metavar="PIPE", help="Made for you: a line launch or resume is a mark.")
    ] = None,
) -> None:
    """Run CMD and write the trace of the pages it touches; its output and exit code pass through.

    Hits of a 16-page LRU filter are dropped (none behind --cache), so replays are valid from 128 frames up; the filter's
    error is measured and stored. Pages that the kernel fills or reads for the program are recorded as well.
    """
    from swaplab import BadInput
    from swaplab.capture import methods, program
    from swaplab.capture.run import Plan
    from swaplab.capture.run import capture as run

    if root is not None and not root.is_dir():
        raise BadInput(f"--root: no folder '{root}'; expected one that holds lib/ or usr/lib/ for the program")
    what = program.resolve(command, root)
    if arch is not None and arch != what.arch:
        raise BadInput(f"--arch: {what.command[0]} is a program for {what.arch}; expected one for {arch}")
    plan = Plan(
        program=what,
        method=methods.choose(method, what.arch),
        output=output,
        root=root,
        filter=filter if filter is not None else 0 if cache else 16,
        caches=cache,
        max=max_references,
        labels=tuple(label or ()),
        label_pipe=label_pipe,
    )
    done = run(plan)
    meta = done.meta
    recorded = meta["reads"] + meta["writes"] + meta["ifetches"]
    error = meta["filter"].get("measured_error")
    notes = [f"{recorded:,} of {meta['raw_references']:,} references in {output} ({plan.method})"]
    if error is not None:
        notes.append(f"the filter changes LRU faults at {8 * plan.filter} frames by {error:+.2%}")
    if done.cut is not None:
        notes.append(f"TRUNCATED: {done.cut}")
    print("swaplab: " + "; ".join(notes), file=sys.stderr)
    raise typer.Exit(done.exit_code)
