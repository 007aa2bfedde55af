"""`swaplab trace capture`: run a program and write the trace of its pages or of block requests."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from swaplab import BadInput
from swaplab._core import size_bytes
from swaplab.capture import methods, program
from swaplab.capture.run import Plan
from swaplab.capture.run import capture as record
from swaplab.cli import options as o
from swaplab.cli.program import CONTEXT, Command
from swaplab.core.files import path_for_message


def register(trace: typer.Typer) -> None:
    """Add the command."""
    trace.command("capture", context_settings=CONTEXT)(capture)


def capture(
    command: Command,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The trace to write: .slt, or for blocks ftrace's text.")],
    method: Annotated[
        str,
        typer.Option("--method", metavar="M", help="auto, qemu or lackey (pages); block (block requests under memory pressure, as root)."),
    ] = "auto",
    arch: Annotated[str | None, typer.Option("--arch", metavar="A", help="Pages: x86_64 or aarch64 (default: the program's).")] = None,
    root: Annotated[
        Path | None, typer.Option("--root", metavar="DIR", help="Pages: folder of the program's libraries, for another architecture.")
    ] = None,
    filter: Annotated[
        int | None, typer.Option("--filter", min=0, max=o.MOST, metavar="N", help="Pages: drop hits of an N-page LRU filter; 0: drop none.")
    ] = None,
    cache: Annotated[
        str | None, typer.Option("--cache", metavar="L1:SIZE,LL:SIZE", help="Pages: record only the misses and write-backs of such caches.")
    ] = None,
    most: Annotated[
        int | None, typer.Option("--count", min=1, max=o.MOST, metavar="N", help="Pages: stop after N references of the program.")
    ] = None,
    label: Annotated[
        list[str], typer.Option("--label", metavar="L", help="Pages: launch or resume; the first at the start, the next ones at SIGUSR1.")
    ] = [],
    label_pipe: Annotated[
        Path | None,
        typer.Option("--label-pipe", metavar="PIPE", help="Pages: a pipe to create; a line launch or resume in it sets a label."),
    ] = None,
    memory: Annotated[
        str | None, typer.Option("--dram", metavar="SIZE", help="Blocks: limit of the program's resident memory (default: 256MiB).")
    ] = None,
    swap: Annotated[
        str | None, typer.Option("--area", metavar="file|ramdisk", help="Blocks: kind of swap area (default: file, in /var/tmp).")
    ] = None,
    swap_size: Annotated[
        str | None, typer.Option("--swap-size", metavar="SIZE", help="Blocks: size of the swap area (default: 512MiB).")
    ] = None,
    buffer: Annotated[
        str | None, typer.Option("--buffer", metavar="SIZE", help="Blocks: kernel memory for events per processor (default: 32MiB).")
    ] = None,
    allow_lost: Annotated[bool, typer.Option("--allow-lost", help="Blocks: write the trace even if events were lost.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Blocks: print every change to the machine and make none.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Blocks: print one JSON document, to standard error.")] = False,
) -> None:
    """Run CMD and write the trace of the pages that it touches; its output and exit code are passed
    through.

    Hits of a 16-page LRU filter are dropped (none with --cache), so replays are valid from 128
    frames up. The filter's error is measured and stored. Pages that the kernel reads or writes for
    the program are recorded as well.
    """
    page_options = {
        "--arch": arch,
        "--root": root,
        "--filter": filter,
        "--cache": cache,
        "--count": most,
        "--label": label,
        "--label-pipe": label_pipe,
    }
    block_options: dict[str, str | bool | None] = {"--dram": memory, "--area": swap, "--swap-size": swap_size, "--buffer": buffer}
    block_options |= {"--allow-lost": allow_lost or None, "--dry-run": dry_run or None, "--json": as_json or None}
    for name, value in (page_options if method == "block" else block_options).items():
        if value not in (None, []):
            raise BadInput(
                f"{name}: no part of --method {method}; expected it with {'a method for pages' if method == 'block' else 'block'}"
            )
    if method == "block":
        # Both import what changes a machine, which takes long.
        from swaplab.cli.trace.blocks import record_blocks
        from swaplab.worlds.kernel.block_capture import BlockPlan

        sizes = [size_bytes(name, text) for name, text in (("--dram", memory or "256MiB"), ("--swap-size", swap_size or "512MiB"))]
        buffer_kilobytes = size_bytes("--buffer", buffer or "32MiB") >> 10
        traffic = BlockPlan(tuple(command), output, sizes[0], swap or "file", sizes[1], buffer_kilobytes, allow_lost)
        sys.exit(record_blocks(traffic, dry_run, as_json))
    if root is not None and not root.is_dir():
        raise BadInput(f"--root: no folder '{path_for_message(root)}'; expected one that holds lib/ or usr/lib/ for the program")
    resolved = program.resolve(command, root)
    if arch is not None and arch != resolved.arch:
        raise BadInput(f"--arch: {resolved.command[0]} is a program for {resolved.arch}; expected one for {arch}")
    plan = Plan(
        program=resolved,
        method=methods.choose(method, resolved.arch),
        output=output,
        root=root,
        filter=filter if filter is not None else 0 if cache else 16,
        caches=cache,
        max=most,
        labels=tuple(label),
        label_pipe=label_pipe,
    )
    sys.exit(_pages(plan))


def _pages(plan: Plan) -> int:
    done = record(plan)
    meta = done.meta
    recorded = meta.reads + meta.writes + meta.ifetches
    error = meta.filter.measured_error
    notes = [f"{recorded:,} of {meta.raw_references or recorded:,} references in {path_for_message(plan.output)} ({plan.method})"]
    if error is not None:
        notes.append(f"the filter changes LRU faults at {8 * plan.filter} frames by {error:+.2%}")
    if plan.program.is_shell:
        notes.append("the shell alone is recorded, not the programs that it starts")
    if done.cut is not None:
        notes.append(f"TRUNCATED: {done.cut}")
    print("swaplab: " + "; ".join(notes), file=sys.stderr)
    return done.exit_code
