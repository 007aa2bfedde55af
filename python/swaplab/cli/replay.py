"""`swaplab replay`: a page trace under policies, schemes and memory sizes. The options build an
experiment.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from swaplab import BadInput
from swaplab.cli import options as o
from swaplab.cli.run import run_and_write
from swaplab.cli.show import show
from swaplab.core import document as documents
from swaplab.core import experiment as experiments
from swaplab.core.experiment import BUNDLED
from swaplab.core.files import path_for_message, refuse_overwrite, try_output, utf8_name, write_whole
from swaplab.core.model import Experiment
from swaplab.core.trace import STANDARD_INPUT
from swaplab.worlds.result import Options


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("replay")(replay)


def replay(
    trace: o.TraceName,
    policy: Annotated[
        list[str], typer.Option("--policy", metavar="P,..", help="Policies of `swaplab list policies`, or ./mine.py:Mine.")
    ] = ["clock"],
    memory: Annotated[list[str], typer.Option("--memory", metavar="M,..", help="Memory sizes: 64MiB, 4096p, or 10% of the footprint.")] = [
        "10%"
    ],
    swap: Annotated[
        list[str],
        typer.Option("--swap", metavar="S,..", help="Schemes of `swaplab list schemes`; without one, swap has the costs of --swap-device."),
    ] = [],
    swap_device: Annotated[
        str | None, typer.Option("--swap-device", metavar="D", help="Device of swap without a scheme (default: optane-m10).")
    ] = None,
    file_device: Annotated[str | None, typer.Option("--file-device", metavar="D", help="Device of files (default: ufs-3.1).")] = None,
    first_touch: Annotated[str | None, typer.Option("--first-touch", metavar="HOW", help="charged or zero-fill.")] = None,
    mapping: Annotated[
        str | None, typer.Option("--mapping", metavar="HOW", help="follow (unmap and discard free pages) or ignore.")
    ] = None,
    signal: Annotated[
        str | None, typer.Option("--signal", metavar="WHAT", help="What policies see: exact, reference-bit:REFERENCES or fault-only.")
    ] = None,
    length: Annotated[
        str | None, typer.Option("--length", metavar="TIME", help="Length of the run, such as 900s, for background energy and wear.")
    ] = None,
    seed: o.Seed = 0,
    format: o.Format = None,
    pages: o.Pages = None,
    filter: o.Filter = None,
    page_size: o.PageSize = None,
    data_read_class: o.DataReadClass = None,
    set: o.Set = [],
    save: Annotated[
        Path | None, typer.Option("--save", metavar="EXP.toml", help="Also write the experiment; `swaplab run` gives the same rows.")
    ] = None,
    output: o.Out = None,
    jobs: o.Jobs = 0,
    as_json: o.Json = False,
) -> None:
    """Replay a page trace under each policy and scheme at each memory size."""
    run = {"first_touch": first_touch, "mapping": mapping, "signal": signal, "swap_device": swap_device, "length": length}
    reading = o.reading(format, pages, filter, page_size, data_read_class)
    design: dict[str, list[str]] = {"policy": o.split_list(policy)} | ({"swap": o.split_list(swap)} if swap else {})
    sizes = o.split_list(memory)
    table = {
        "name": "replay",
        "machine": {"devices": {"flash": file_device}} if file_device else {},
        "design": [design],
        "workload": {"trace": utf8_name(trace), "reading": json.loads(experiments.dumped(reading))},
        "run": {"on": ["replay"], "seed": seed, "replay": {key: value for key, value in run.items() if value is not None}},
    }
    if len(sizes) == 1:
        table["machine"] = {**table["machine"], "dram": sizes[0]}  # type: ignore[dict-item]
    else:
        table["vary"] = {"machine.dram": list(dict.fromkeys(sizes))}
    experiment = experiments.from_options(table, set)
    if save is not None:
        refuse_overwrite(save, [trace])
        try_output(save)
        text = saved(experiment)
    outcome = run_and_write(experiment, Options(jobs=jobs, tables=output is not None), output, place=path_for_message(trace))
    if save is not None:
        write_whole(save, text.encode())
    if as_json:
        print(documents.dumped(outcome.document), end="")
    else:
        show(outcome.document)
        if output is not None:
            print(f"report: {path_for_message(output / 'report.html')}")


def saved(experiment: Experiment) -> str:
    """Format the experiment as TOML with the trace's absolute path, so that the file can be moved.
    Raises BadInput for standard input.
    """
    copy = experiment.model_copy(deep=True)
    trace = copy.workload.trace
    if trace == STANDARD_INPUT:
        raise BadInput("--save: a trace on standard input can't be read again; expected a file")
    if trace and "://" not in trace and trace not in BUNDLED:
        copy.workload.trace = str(Path(trace).absolute())
    return experiments.toml(copy)
