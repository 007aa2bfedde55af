"""`swaplab kernel`: the kernels of the world `vm`: list, build, remove, and comparison of a patch
series with its base.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from swaplab.cli import options as o
from swaplab.core import experiment as experiments
from swaplab.core.files import path_for_message
from swaplab.worlds.vm import ab, kernels
from swaplab.worlds.vm import build as building

Config = Annotated[list[Path], typer.Option("--config", metavar="FILE", help="A fragment to add to the configuration; may be repeated.")]
Compilers = Annotated[int, typer.Option("--jobs", min=0, max=4096, metavar="N", help="Concurrent compilers and guests; 0: one per core.")]


def register(app: typer.Typer) -> None:
    """Add the group."""
    kernel = typer.Typer(name="kernel", help="Kernels that a virtual machine runs.", no_args_is_help=True, rich_markup_mode=None)
    kernel.command("list")(list_kernels)
    kernel.command("build")(build)
    kernel.command("remove")(remove)
    kernel.command("ab")(compare)
    app.add_typer(kernel)


def _print_status(line: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)


def _end_line() -> None:
    if sys.stderr.isatty():
        print(file=sys.stderr)


def list_kernels(as_json: o.Json = False) -> None:
    """List the kernels that a run may name, and which of them are downloaded or built."""
    available = {kernel.name: kernel for kernel in kernels.installed()}
    names = [*kernels.SERIES, *(name for name in available if name not in kernels.SERIES)]
    if as_json:
        rows = [
            {
                "name": name,
                "release": available[name].release if name in available else None,
                "image": str(available[name].image) if name in available else None,
            }
            for name in names
        ]
        print(json.dumps(rows, indent=2))
        return
    width = max(map(len, names))
    for name in names:
        state = f"{available[name].release}  {available[name].image}" if name in available else "downloaded by the first run that names it"
        print(f"{name:<{width}}  {state}")


def build(
    series: Annotated[str, typer.Option("--linux", metavar="V", help="The distribution's source: 6.12 or 6.1.")] = "6.12",
    config: Config = [],
    tree: Annotated[
        Path | None, typer.Option("--tree", metavar="DIR", help="A kernel's source tree, instead of the distribution's.")
    ] = None,
    patch: Annotated[list[Path], typer.Option("--patch", metavar="FILE", help="A patch; may be repeated, in order.")] = [],
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Its name in run.vm.kernel.")] = "",
    jobs: Compilers = 0,
    as_json: o.Json = False,
) -> None:
    """Build a minimal arm64 kernel from the distribution's source or a tree; it is cached by the
    hash of all inputs.
    """
    built = building.build(
        building.BuildRequest(series, tree, tuple(patch), tuple(config), name, jobs or os.cpu_count() or 1), _print_status
    )
    _end_line()
    if as_json:
        row = {"name": built.kernel.name, "release": built.kernel.release, "image": str(built.kernel.image)}
        print(json.dumps({**row, "cached": built.cached, "lacks": built.lacks}, indent=2))
        return
    print(f"{built.kernel.name}: linux {built.kernel.release}, {built.kernel.image}{', built before' if built.cached else ''}")
    for line in built.lacks:
        print(f"lacks {line}")


def remove(name: Annotated[str, typer.Argument(metavar="NAME", help="A built kernel.")]) -> None:
    """Remove a built kernel from the cache."""
    building.remove(name)
    print(f"removed {name}")


def compare(
    file: o.ExperimentFile,
    tree: Annotated[Path, typer.Option("--tree", metavar="DIR", help="A kernel's git tree.")],
    base: Annotated[str, typer.Option("--base", metavar="COMMIT", help="The commit without the series.")],
    series: Annotated[str, typer.Option("--series", metavar="COMMIT", help="The commit with it.")],
    set: o.Set = [],
    config: Config = [],
    jobs: Compilers = 0,
    as_json: o.Json = False,
) -> None:
    """Test whether a series of patches made launches faster: exit code 0 faster, 10 not separable,
    11 slower.
    """
    experiment = experiments.read(file, [*set, "run.on=vm"])
    experiments.refuse(experiment, path_for_message(file))
    comparison = ab.compare_commits(tree, base, series, experiment, tuple(config), jobs or os.cpu_count() or 1, _print_status)
    _end_line()
    if as_json:
        print(comparison.model_dump_json(indent=2))
    else:
        for row in comparison.rows:
            low, high = row.interval_ms
            noise = " to ".join(f"{bound:+.2f}" for bound in row.noise_ms)
            verdict = row.verdict.name.lower().replace("_", " ")
            print(
                f"{row.design}: {verdict}: mean launch {row.base_ms:.2f} -> {row.series_ms:.2f} ms (virtual), "
                f"difference {row.difference_ms:+.2f} [{low:+.2f}, {high:+.2f}]; base against base {noise}"
            )
        for name, lines in comparison.lacks.items():
            for line in lines:
                print(f"{path_for_message(name)} lacks {line}")
    raise typer.Exit(comparison.verdict.value)
