"""`swaplab trace capture`: run a program and write the trace of its pages."""

from __future__ import annotations

import sys
from pathlib import Path

from swaplab.cli import options as o
from swaplab.cli.parser import Parser


def register(parent: Parser) -> None:
    """Add the subcommand."""
    command = parent.command("capture", capture)
    o.add_program(command)
    o.add_output(command, "OUT.slt", "The trace to write.")
    command.add_argument("--method", default="auto", help="auto, qemu or lackey.")
    command.add_argument("--arch", help="x86_64 or aarch64; else what the program is made for.")
    command.add_argument("--root", type=Path, metavar="DIR", help="Where the program's libraries lie, for another processor.")
    command.add_argument("--filter", type=o.whole(0), metavar="N", help="Drop hits of an N-page LRU filter; 0: drop none.")
    command.add_argument("--cache", metavar="L1:SIZE,LL:SIZE", help="Record only what such caches let through.")
    command.add_argument("--max", dest="max_references", type=o.whole(1), metavar="N", help="Stop after N references of the program.")
    command.add_argument("--label", action="append", help="launch or resume: at the start, the next ones at SIGUSR1.")
    command.add_argument("--label-pipe", type=Path, metavar="PIPE", help="Made for you: a line launch or resume is a mark.")


def capture(
    command: list[str],
    output: Path,
    method: str,
    arch: str | None,
    root: Path | None,
    filter: int | None,
    cache: str | None,
    max_references: int | None,
    label: list[str] | None,
    label_pipe: Path | None,
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
    sys.exit(done.exit_code)
