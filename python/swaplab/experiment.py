"""An experiment in Python: the generated model of the file, and what can be done with one."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from swaplab import BadInput, _core, config
from swaplab.model import model_of
from swaplab.result import Result

if TYPE_CHECKING:
    import polars as pl


def read_experiment(path: str | os.PathLike[str], set: list[str] | None = None) -> dict[str, Any]:
    """The resolved experiment of a file, with `key=value` changes; files it names are found beside it."""
    place = Path(path)
    try:
        text = place.read_text("utf-8")
    except OSError as error:
        raise BadInput(f"{place}: {error.strerror}; expected an experiment file (`swaplab schema`)") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{place}: byte {error.start}: not UTF-8; expected an experiment file") from None
    resolved: dict[str, Any] = json.loads(_core.experiment_from_toml(str(place), text, set or []))
    return model_of(resolved).beside(resolved, place.parent)  # type: ignore[no-any-return]


class Experiment:
    """One experiment: a model's table and a seed. `Experiment(replay={"trace": "app.slt", "policy": ["lru", "clock"]})`.

    `config` is the pydantic model of the file (`swaplab.config`). Raises `swaplab.BadInput` for keys or values that can't be meant.
    """

    def __init__(
        self,
        *,
        replay: config.Replay | dict[str, Any] | None = None,
        sim: config.Sim | dict[str, Any] | None = None,
        bench: config.Bench | dict[str, Any] | None = None,
        seed: int = 0,
        sweep: config.Sweep | dict[str, Any] | None = None,
    ) -> None:
        try:
            given = {"replay": replay, "sim": sim, "bench": bench, "seed": seed, "sweep": sweep}
            self.config = config.Experiment.model_validate(given)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"])
            raise BadInput(f"experiment: {place}: {first['msg']}; expected an experiment as `swaplab schema` says") from None

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], set: list[str] | None = None) -> Experiment:
        """Read an experiment file; `set` holds changes such as `"replay.memory=20%"`."""
        return cls(**read_experiment(path, set))

    def resolved(self) -> dict[str, Any]:
        """Every key with its value, checked by the core."""
        resolved: dict[str, Any] = json.loads(_core.experiment_from_json("experiment", self.config.model_dump_json(exclude_none=True)))
        return resolved

    def run(self, jobs: int = 0) -> Result:
        """Run it on `jobs` threads (0: one a core); the result is the same for any number."""
        resolved = self.resolved()
        resolved.pop("sweep", None)
        tables: dict[str, pl.DataFrame] = {}
        return Result(model_of(resolved).run(resolved, jobs, tables=tables), tables)

    def sweep(self, vary: Mapping[str, Any] | None = None, design: str = "grid", points: int | None = None) -> Sweep:
        """The same experiment, varied: `exp.sweep({"replay.memory": ["5%", "10%"]})`. Without `vary`, as its own `[sweep]` says."""
        resolved = self.resolved()
        if vary is not None:
            resolved["sweep"] = {"design": design, "vary": dict(vary)} | ({"points": points} if points is not None else {})
            resolved = json.loads(_core.experiment_from_json("experiment", json.dumps(resolved)))
        return Sweep(resolved)


class Sweep:
    """Points of an experiment, ready to run."""

    def __init__(self, resolved: dict[str, Any]) -> None:
        self.resolved = resolved

    def __len__(self) -> int:
        from swaplab.sweep.design import points

        return len(points(self.resolved, "sweep"))

    def run(self, folder: str | os.PathLike[str], cluster: str = "local", jobs: int = 0, resume: bool = False) -> pl.DataFrame:
        """Run every point into `folder` (results.parquet, report.html) and return the results, one row a point, policy and size.

        `cluster`: `local` (`jobs` processes, 0: one a core) or a Dask scheduler, `tcp://HOST:PORT`.
        """
        import polars as pl

        from swaplab.sweep.folder import sweep_to_folder
        from swaplab.sweep.store import RESULTS

        sweep_to_folder(self.resolved, Path(folder), cluster, jobs, resume)
        return pl.read_parquet(Path(folder) / RESULTS)
