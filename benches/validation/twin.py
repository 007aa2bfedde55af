"""Fit of a phone to one recording of a virtual kernel, and its predictions of others:
`python -m benches.validation.twin`.

It prints the table of docs/how-to/capture.md. The same user, apps and killer
(examples/vm-user.toml) run with five sizes of memory and zRAM; only the first run is used for the
fit.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from swaplab.analysis.fit import FitRow, fit
from swaplab.core import experiment as experiments
from swaplab.worlds import run as run_experiment
from swaplab.worlds.result import Options

from benches.validation.prices import measure_prices

USER = Path(__file__).parents[2] / "examples" / "vm-user.toml"
#: Sizes of memory and zRAM in MiB; the phone is fitted to the first run.
SIZES = ((352, 128), (288, 128), (384, 128), (352, 64), (320, 256))


def main() -> None:
    experiment = experiments.read(USER)
    kernel, gips = experiment.run.vm.kernel, experiment.run.vm.gips
    prices = measure_prices(kernel)
    #: Facts known about the device in addition to the recording.
    known = [
        *("machine.base=plain", "machine.cores=1", "machine.kernel.policy=active-inactive:kernel=6.12", "machine.kernel.page_cluster=0"),
        f"machine.kernel.swappiness={experiment.machine.kernel.swappiness}",
        *(f"machine.kernel.{name}={value}" for name, value in prices.of_kernel(gips).items()),
        *(f"machine.devices.processor={prices.spec(gips)}", f"machine.devices.flash={experiment.machine.devices.flash}"),
        f"design.recorded.killer={experiment.design[0].killer}",
    ]
    with tempfile.TemporaryDirectory(prefix="swaplab-twin-") as folder:
        places = [record(Path(folder), dram, zram) for dram, zram in SIZES]
        fitted = fit(places[0], "{}", "zram:algorithm=lz4", known, places[1:])
    print(f"| memory, zram (MiB) | {' | '.join(row.what for row in fitted.rows)} |")
    print("|---" * (1 + len(fitted.rows)) + "|")
    for (dram, zram), rows in zip(SIZES, [fitted.rows, *(other.rows for other in fitted.held_out)], strict=True):
        print(f"| {dram}, {zram} | {' | '.join(map(cell, rows))} |")


def record(folder: Path, dram: int, zram: int) -> Path:
    """Record a run with these sizes in MiB. Returns the recording's path."""
    experiment = experiments.read(USER, [f"machine.dram={dram}MiB", f"design.zram.swap.size={zram}MiB"])
    files = run_experiment(experiment, Options(tables=True)).files
    place = folder / f"{dram}-{zram}.samples"
    place.write_text(next(text for name, text in files.items() if name.endswith(".samples")))
    return place


def cell(row: FitRow) -> str:
    """Format a recorded and a simulated figure."""
    return f"{row.recorded:.0f}, {row.simulated:.0f}"


if __name__ == "__main__":
    main()
