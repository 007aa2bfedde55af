"""swaplab in Python: an experiment, its result as polars frames and altair figures, a trace."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path

import altair as alt
import polars as pl

from swaplab import report
from swaplab.core import document as documents
from swaplab.core import experiment as experiments
from swaplab.core import model
from swaplab.core.errors import BadInput
from swaplab.core.experiment import BUNDLED, Point
from swaplab.core.files import utf8_name
from swaplab.core.model import Reading
from swaplab.core.policy import key_of
from swaplab.core.trace import TraceInfo, info_html, lru_curve
from swaplab.report.folder import files_of
from swaplab.report.page import Section
from swaplab.worlds import run as run_experiment
from swaplab.worlds.result import Options
from swaplab.worlds.run import Outcome
from swaplab.worlds.sweep.choice import runner_for
from swaplab.worlds.sweep.store import Store, abandoned_on_error
from swaplab.worlds.traces import lasting


class Experiment:
    """One experiment: `Experiment(design=[{"policy": ["lru", "clock"]}], workload={"trace":
    "djpeg"}, machine={"dram": "10%"})`.

    The keyword arguments are the tables of the file. `model` is the typed experiment with every
    default, designs crossed and named. Raises `swaplab.BadInput` for invalid keys or values.
    """

    def __init__(self, **tables: object) -> None:
        self.model: model.Experiment = experiments.build(**tables)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], set: list[str] | None = None) -> Experiment:
        """Read an experiment file or preset; `set` holds changes such as `"machine.dram=20%"`."""
        return cls.of(experiments.read(path, set))

    @classmethod
    def of(cls, typed: model.Experiment) -> Experiment:
        """Wrap a typed experiment."""
        made = cls.__new__(cls)
        made.model = typed
        return made

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the experiment as a TOML file."""
        Path(path).write_text(experiments.toml(self.model), "utf-8")

    def points(self) -> list[Point]:
        """The values of each point; a single empty point if nothing is varied."""
        return experiments.points(self.model)

    def sweep(self, vary: dict[str, list[model.Scalar]], points: int | None = None) -> Experiment:
        """The same experiment, varied: `exp.sweep({"machine.dram": ["5%", "10%"]})`; `points` draws
        this number of points at random.
        """
        changed = self.model.model_copy(update={"vary": model.Vary.model_validate({"points": points, **vary})})
        return Experiment.of(experiments.resolve(changed))

    def run(self, jobs: int = 0, folder: str | os.PathLike[str] | None = None, cluster: str = "", resume: bool = False) -> Result:
        """Run it in its worlds; the result is the same for any number of `jobs` (threads or
        processes, 0: one per core).

        `folder`: also write the run folder. `cluster`: a Dask scheduler, `tcp://HOST:PORT`.
        `resume`: continue the run in `folder`.
        """
        if jobs < 0:
            raise BadInput(f"jobs: {jobs}; expected 0 or more")
        runner = runner_for(1 if self._has_own_policies() else len(self.points()), jobs, cluster)
        store = Store(Path(folder), resume, "resume=True") if folder is not None else None
        with abandoned_on_error(store):
            outcome = run_experiment(self.model, Options(jobs=jobs, tables=True), runner, store)
        if store is not None:
            store.finish(files_of(outcome))
        return Result(outcome, Path(folder) if folder is not None else None)

    def _has_own_policies(self) -> bool:
        """Whether a policy was given as a class, which only this process knows."""
        return any(isinstance(design.policy, str) and design.policy.startswith("python:") for design in self.model.design)

    def __repr__(self) -> str:
        designs = ", ".join(design.name for design in self.model.design)
        return f"Experiment({designs}; on {', '.join(self.model.run.on)})"


class Result:
    """The result of a run. `document` is what `--json` prints; times in ns, sizes in bytes."""

    def __init__(self, outcome: Outcome, folder: Path | None = None) -> None:
        self.document = outcome.document
        self._outcome = outcome
        self._folder = folder

    @classmethod
    def open(cls, run: str | os.PathLike[str]) -> Result:
        """Open a finished run: its folder, or the JSON document that a command printed."""
        return cls(Outcome(documents.read(run)), Path(run))

    def rows(self) -> pl.DataFrame:
        """A frame with one row per world, design and point, and every figure by its path in the
        document.
        """
        return documents.frame(self.document)

    def summary(self) -> pl.DataFrame:
        """The columns of `rows` that have values."""
        frame = self.rows()
        return frame.select([name for name in frame.columns if frame[name].null_count() < frame.height])

    def launches(self) -> pl.DataFrame:
        """A frame with one row per launch, its design and seed, and times in ns by cause of
        waiting.
        """
        return self.table("launches")

    def table(self, name: str) -> pl.DataFrame:
        """Read table launches, timeline or kills; of a simulated phone also queue_waits,
        swap_entries, traffic, energy.

        Raises BadInput for others.
        """
        if name in self._outcome.tables:
            return self._outcome.tables[name]
        if self._folder is None:
            raise BadInput(f"no table '{name}' in this result; expected a run of launches at one point")
        return documents.read_table(self._folder, name)

    def verdict(self) -> str:
        """The verdict, with which the report begins."""
        return str(self._sections()[0].verdict)

    @property
    def plot(self) -> Plots:
        """Figures: `result.plot.io_time()`, `result.plot.launch_cdf()`."""
        return Plots(self._sections())

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write the run folder; returns the path of report.html."""
        store = Store(Path(folder))
        store.finish(files_of(self._outcome))
        return Path(folder) / "report.html"

    def _sections(self) -> list[Section]:
        return report.sections(self.document)

    def _repr_html_(self) -> str:
        parts = []
        for section in self._sections():
            figures = "".join(f"<h4>{escape(figure.title)}</h4><p>{escape(figure.reading)}</p>{figure.svg()}" for figure in section.figures)
            kinds = escape(", ".join(section.kinds))
            parts.append(f"<p><strong>{kinds}</strong>: {escape(str(section.verdict))}</p>{figures}")
        return "".join(parts)

    def __repr__(self) -> str:
        return f"Result({self.document.name}: {self.verdict()})"


class Plots:
    """The figures of a result as altair charts, named as in the report."""

    def __init__(self, sections: list[Section]) -> None:
        self._charts = {
            figure.key.removeprefix(f"{section.key}-").replace("-", "_"): figure.wide for section in sections for figure in section.figures
        }

    def __getattr__(self, name: str) -> object:
        charts: dict[str, alt.TopLevelMixin] = self.__dict__.get("_charts", {})
        if name not in charts:
            raise AttributeError(f"no figure '{name}'; there are: {' '.join(charts)}")
        return lambda: charts[name]

    def __dir__(self) -> list[str]:
        return list(self._charts)


class Trace:
    """A page trace: `Trace.open("app.slt")`, or any file that `swaplab trace import` takes."""

    def __init__(self, path: Path, reading: Reading, info: TraceInfo) -> None:
        self.path, self.reading, self.info = path, reading, info

    @classmethod
    def open(cls, path: str | os.PathLike[str], format: str | None = None, pages: str | os.PathLike[str] | None = None) -> Trace:
        """Open a trace. Other formats than `.slt` are imported. Raises BadInput."""
        reading = Reading(format=format, pages=os.fspath(pages) if pages is not None else None)
        file = lasting(Path(path))
        return cls(file, reading, TraceInfo.of(file, reading))

    @classmethod
    def bundled(cls, name: str) -> Trace:
        """A bundled trace of a real program: `node`, `djpeg`, `chromium`
        (python/swaplab/data/PROVENANCE.md).
        """
        if name not in BUNDLED:
            raise BadInput(f"'{name}': no bundled trace; expected one of: {' '.join(BUNDLED)}")
        return cls.open(BUNDLED[name])

    @property
    def footprint_pages(self) -> int:
        """Distinct pages referenced."""
        return self.info.footprint_pages

    def mrc(self, sample: float = 1.0, mapping: str = "follow") -> pl.DataFrame:
        """LRU's miss ratio at every size from 1 page to the footprint: `memory_pages`,
        `miss_ratio`, `filter_limited`.

        Exact by reuse distances; `sample` below 1 is the share of pages that is sampled (SHARDS,
        FAST '15).
        """
        curve = lru_curve(self.path, self.reading, mapping, sample)
        misses = pl.Series(curve.misses[1:], dtype=pl.Float64)
        pages = pl.int_range(1, len(misses) + 1, eager=True)
        limited = pages < self.info.valid_from_frames
        return pl.DataFrame({"memory_pages": pages, "miss_ratio": misses / curve.references, "filter_limited": limited})

    def replay(
        self, policy: str | type | list[str | type], memory: str | list[str], swap: str | list[str] | None = None, jobs: int = 0
    ) -> Result:
        """Replay under policies and schemes at memory sizes.

        A policy is a key, one in a file (`./mine.py:Mine`, `./libmine.so:mine`), or a class as
        `swaplab.core.policy.Policy` says.
        """
        keys = [key_of(choice) for choice in (policy if isinstance(policy, list) else [policy])]
        sizes = memory if isinstance(memory, list) else [memory]
        design: dict[str, str | list[str]] = {"policy": keys}
        if swap is not None:
            design["swap"] = swap
        table: dict[str, object] = {"design": [design], "workload": {"trace": utf8_name(self.path), "reading": self.reading}}
        varied: dict[str, object] = {"vary": {"machine.dram": sizes}} if len(sizes) > 1 else {"machine": {"dram": sizes[0]}}
        return Experiment(**table, **varied).run(jobs)

    def __repr__(self) -> str:
        info = self.info
        return f"Trace({self.path.name}: {info.references:,} references, {info.footprint_pages:,} pages of {info.page_size} bytes)"

    def _repr_html_(self) -> str:
        return info_html(self.info)
