"""What a run found: its document, as polars frames and altair figures."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swaplab import BadInput

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

    from swaplab.report.page import Section


class Result:
    """The result of one run. `document` is what the command prints with `--json`; times in ns, memory in pages."""

    def __init__(self, document: dict[str, Any], tables: dict[str, pl.DataFrame] | None = None) -> None:
        self.document = document
        self._tables = tables
        self._folder: Path | None = None

    @classmethod
    def open(cls, run: str | os.PathLike[str]) -> Result:
        """A finished run: its folder, or the JSON document a command printed."""
        from swaplab.run_folder import read_run

        result = cls(read_run(run))
        result._folder = Path(run)
        return result

    @property
    def kind(self) -> str:
        """`simulated`, `measured` or `emulated`."""
        return str(self.document.get("kind", "simulated"))

    def points(self) -> pl.DataFrame:
        """One row a policy and memory size: counts of page operations, times in ns."""
        from swaplab.report.relative import points_frame

        return points_frame(self.document)

    def launches(self) -> pl.DataFrame:
        """One row a launch, a column each for scheme and seed (of a bench: repetition). In ns, of a simulated phone with their parts."""
        return self.table("launches")

    def table(self, name: str) -> pl.DataFrame:
        """Launches, timeline or kills, and of a simulated phone swap_entries, traffic or energy. Raises BadInput where there is none."""
        from swaplab.run_folder import read_table

        if self._tables is not None and name in self._tables:
            return self._tables[name]
        if self._folder is None:
            raise BadInput(f"no table '{name}' in this result; expected a run of [sim] or [bench]")
        return read_table(self._folder, name)

    def summary(self, baseline: str | None = None) -> pl.DataFrame:
        """Of schemes: their plain figures, a row each. Of a replay: each policy (and swap scheme) over all sizes that count, best first:
        geometric mean, lowest and highest of the ratios of its I/O time to `baseline`'s, and at how many sizes it is the best."""
        import polars as pl

        from swaplab.report.relative import Standing, baseline_of, relative, standings

        if isinstance(schemes := self.document.get("schemes"), list):
            return pl.DataFrame([{key: value for key, value in row.items() if isinstance(value, (str, int, float))} for row in schemes])
        frame = self.points()
        if "scheme" in frame.columns:
            frame = frame.with_columns(policy=pl.format("{} · {}", "policy", "scheme"))
        found = standings(relative(frame, baseline_of(frame, baseline)))
        names = list(Standing.__dataclass_fields__)
        return pl.DataFrame([[getattr(one, name) for name in names] for one in found], schema=names, orient="row")

    def verdict(self) -> str:
        """What the report says first."""
        return self._section().verdict

    @property
    def plot(self) -> Plots:
        """Figures: `result.plot.io_time()`, `result.plot.miss_ratio()`."""
        return Plots(self._section())

    def save(self, name: str = "run", folder: str | os.PathLike[str] | None = None, seed: int = 0) -> Path:
        """Write the run folder under `folder` (default `runs`); returns the path of report.html."""
        from swaplab.run_folder import write_run

        return write_run(self.document, name, folder, seed, self._tables)

    def _section(self) -> Section:
        from swaplab.report import sections

        return sections(self.document)[0]

    def _repr_html_(self) -> str:
        section = self._section()
        figures = "".join(f"<h4>{escape(figure.title)}</h4><p>{escape(figure.reading)}</p>{figure.svg()}" for figure in section.figures)
        return f"<p><strong>{escape(section.kind)}</strong>: {escape(section.verdict)}</p>{figures}"

    def __repr__(self) -> str:
        return f"Result({self.kind}: {self.verdict()})"


class Plots:
    """The figures of a result as altair charts, named as in the report."""

    def __init__(self, section: Section) -> None:
        self._charts = {figure.key.removeprefix(f"{section.key}-").replace("-", "_"): figure.wide for figure in section.figures}

    def __getattr__(self, name: str) -> Any:
        try:
            chart: alt.TopLevelMixin = self.__dict__["_charts"][name]
        except KeyError:
            raise AttributeError(f"no figure '{name}'; there are: {' '.join(self.__dict__.get('_charts', {}))}") from None
        return lambda: chart

    def __dir__(self) -> list[str]:
        return list(self._charts)
