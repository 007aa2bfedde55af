"""The simulated phone: the `[sim]` table run by the core, alone or as points of a sweep."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swaplab import _core
from swaplab.model.address import local_trace

if TYPE_CHECKING:
    import polars as pl

KIND = "simulated"
PARALLEL = True

Listener = Callable[[int, int], None]
Point = tuple[int, dict[str, Any]]


def run(
    experiment: dict[str, Any], jobs: int = 0, listener: Listener | None = None, tables: dict[str, pl.DataFrame] | None = None
) -> dict[str, Any]:
    """The document of `swaplab sim --json` for a resolved experiment. `tables` is filled with every run's rows by table: launches,
    timeline, swap_entries, kills, traffic, energy; times in ns, memory in pages.
    """
    alone = json.dumps({key: value for key, value in experiment.items() if key != "sweep"})
    if tables is None:
        return _document(experiment, _core.sim(alone, jobs, listener))
    import polars as pl

    with tempfile.TemporaryDirectory(prefix="swaplab-") as folder:
        text = _core.sim(alone, jobs, listener, folder)
        for table in sorted(Path(folder).glob("*.csv")):
            plain = {name: pl.String for name in ("app", "owner", "start", "freed", "reason", "part", "scheme")}
            numbers = {"joules": pl.Float64, "freed_ns": pl.Int64, "died_ns": pl.Int64}
            head = pl.read_csv(table, n_rows=0).columns
            types = {name: (plain | numbers).get(name, pl.Int64) for name in head}
            tables[table.stem] = pl.read_csv(table, schema=types)
    return _document(experiment, text)


def _document(experiment: dict[str, Any], text: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(text)
    return document | {"inputs": inputs(experiment)}


def objectives(experiment: dict[str, Any]) -> tuple[str, str]:
    """What a sweep trades: all the DRAM that a scheme uses against cold starts."""
    return ("dram_total_bytes", "cold_starts")


def inputs(experiment: dict[str, Any]) -> dict[str, str]:
    """What the run reads: address -> content hash. A generator's name is its content."""
    launches = str(experiment["sim"]["launches"])
    if not Path(launches).is_file():
        return {launches: launches}
    return {launches: str(json.loads(_core.trace_info(*local_trace(launches, "{}")))["content_hash"])}


def identity(experiment: dict[str, Any]) -> dict[str, Any]:
    """The experiment by what it reads, not by where that lies: equal exactly where a run would give the same."""
    table = experiment["sim"]
    return experiment | {"sim": table | {"launches": inputs(experiment)[table["launches"]]}}


def batch(points: Iterable[Point]) -> list[list[Point]]:
    """Points share no work: each is a group of its own."""
    return [[point] for point in points]


def rows(group: list[Point]) -> list[tuple[int, list[dict[str, Any]]]]:
    """The outcome of each point: a row for every scheme."""
    found = []
    for index, experiment in group:
        schemes = run(experiment, 1)["schemes"]
        found.append((index, [_plain(scheme) | _evidence(scheme) for scheme in schemes]))
    return found


#: What a row keeps of each seed, for whoever asks how sure its means are.
BY_SEED = ("seed", "launch_ms", "cold_starts", "kills", "flash_write_bytes", "nvm_write_bytes", "energy_j")


def _evidence(scheme: dict[str, Any]) -> dict[str, Any]:
    seeds = [{key: one[key] for key in BY_SEED if key in one} for one in scheme["seeds"]]
    return {
        "dram_total_bytes": scheme["memory"]["dram_total_bytes"],
        "launch_mean_ms": scheme["launch_ms"]["mean"],
        "energy_j": scheme["energy_j"]["total"],
        "seeds": seeds,
    }


def _plain(scheme: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in scheme.items() if isinstance(value, (int, float, str, bool))}


def beside(experiment: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The experiment with a launch trace that lies beside its file found from where we are."""
    table = experiment["sim"]
    lies = folder / table["launches"]
    return experiment | {"sim": table | {"launches": str(lies)}} if lies.is_file() else experiment
