"""`python -m swaplab.worlds.vm EXP.toml`: run an experiment's `vm` world and print its document, until `swaplab run` does."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from swaplab import BadInput, Failed, NotSupported
from swaplab.core.signals import stop_on_signals
from swaplab.worlds.vm import from_file, run
from swaplab.worlds.vm.request import Result


def _main() -> int:
    parser = argparse.ArgumentParser(prog="python -m swaplab.worlds.vm", allow_abbrev=False)
    parser.add_argument("experiment", type=Path)
    parser.add_argument("--jobs", type=int, default=None)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    stop_on_signals()
    try:
        found = run.run(from_file.read(given.experiment), given.jobs, _say)
    except (BadInput, Failed, NotSupported, KeyboardInterrupt) as error:
        codes = {BadInput: 2, NotSupported: 3, Failed: 1, KeyboardInterrupt: 130}
        print(f"swaplab: {str(error) or 'interrupted'}", file=sys.stderr)
        return codes[type(error)]
    print(found.model_dump_json(indent=1) if given.json else table(found))
    return 0


def _say(line: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)


def table(found: Result) -> str:
    """The rows as lines of text."""
    lines = [f"{found.name} (virtual, {found.versions['kernel']}, {found.versions['qemu'].split(' (')[0]}, {found.request.seeds} seeds)"]
    head = ("design", "launch ms", "[95 %]", "p95", "cold", "kills", "in MiB", "out MiB", "pool MiB", "kswapd ms", "bad pages")
    rows = [head]
    for row in found.rows:
        delay = row.delay_ms
        interval = delay.mean_interval if delay else None
        rows.append(
            (
                row.design,
                f"{delay.mean:.2f}" if delay else "",
                f"{interval[0]:.2f}-{interval[1]:.2f}" if interval else "",
                f"{delay.p95:.2f}" if delay else "",
                f"{row.cold:g}",
                f"{row.kills:g}",
                f"{row.swap_in_bytes / 2**20:.1f}",
                f"{row.swap_out_bytes / 2**20:.1f}",
                "" if row.pool_bytes is None else f"{row.pool_bytes / 2**20:.1f}",
                f"{row.kswapd_ns / 1e6:.1f}",
                f"{row.bad_pages}",
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines += [
        "  ".join(f"{cell:<{width}}" if not at else f"{cell:>{width}}" for at, (cell, width) in enumerate(zip(row, widths, strict=True)))
        for row in rows
    ]
    return "\n".join([*lines, *found.warnings])


if __name__ == "__main__":
    sys.exit(_main())
