"""What the papers claim and what comes out here: `papers/NAME/expected.toml` lists the claims,
and `measure*.py` in the same folder measure them. Claims that a kernel under virtual time can
answer are also listed as `[[vm]]`; `vm.toml` is the experiment whose rows they are measured on.

A claim has a band for our figure; `papers_verdict` says how a figure becomes a verdict. A claim
without a measure is `not-testable`. Bands follow from the published figures, so that they were
fixed before ours were known. `[published.PRESET]` holds a paper's figures by the name of the
design.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import polars as pl
from pydantic import Field, ValidationError

import swaplab
from swaplab import _core
from swaplab.analysis.papers_published import Published
from swaplab.analysis.papers_verdict import Judged, verdict
from swaplab.analysis.papers_verdict import Measured as Measured
from swaplab.core import experiment as experiments
from swaplab.core.bases import FrozenModel
from swaplab.core.document import figure
from swaplab.core.errors import BadInput, NotSupported
from swaplab.core.model import Document, Experiment, Row
from swaplab.core.statistics import Interval, bootstrap
from swaplab.worlds import run as run_experiment
from swaplab.worlds.result import Options


class ExpectedClaim(FrozenModel):
    """A `[[claim]]` of expected.toml. `section` names the place in the paper that the claim is
    from, `none` the value of no effect.
    """

    claim: str
    published: str
    why: str
    section: str | None = None
    band: tuple[float, float] | None = None
    none: float | None = None
    measure: str | None = None
    met: Judged = "reproduced"
    missed: Judged | None = None
    #: Whether the measure's data has to be captured first, so that a table may lack its figure.
    captured: bool = False
    #: Of a `[[vm]]`: the `[[claim]]` that the simulated phone answers, and a figure measured on a
    #: real kernel with its source.
    simulated: str | None = None
    measured: str | None = None


class Expected(FrozenModel):
    """An expected.toml: claims, claims for a kernel under virtual time, and figures by preset and
    name of the design.
    """

    claim: list[ExpectedClaim] = Field(default_factory=list)
    vm: list[ExpectedClaim] = Field(default_factory=list)
    published: dict[str, dict[str, Published]] = Field(default_factory=dict)


class Claim(FrozenModel):
    """A row of `swaplab papers check`."""

    paper: str
    claim: str
    published: str
    ours: str | None
    band: tuple[float, float] | None
    verdict: Judged
    why: str


class Claims(FrozenModel):
    """The output of `swaplab papers check --json`."""

    document: Literal["claims"] = "claims"
    claims: list[Claim]


#: Why a claim that can be measured is not.
NO_DATA = "the data that this claim needs is not on this machine"
#: Why a claim is not measured whose traces have to be captured first; a table may be without them.
NOT_CAPTURED = "its traces are not captured on this machine"
#: Begins the table of claims in a README.
HEAD = "| claim | published | ours | verdict | why |"


def folder() -> Path:
    """Return the folder `papers/` of the checkout. Raises NotSupported if there is none."""
    here = Path(swaplab.__file__).resolve().parents[2] / "papers"
    if not here.is_dir():
        raise NotSupported(f"the papers' experiments are part of a checkout, and {here} is not there")
    return here


def data_folder() -> Path | None:
    """Return SWAPLAB_DATA, the folder of recordings that cannot be distributed; None if it is not
    set or missing.
    """
    given = os.environ.get("SWAPLAB_DATA")
    return Path(given) if given and Path(given).is_dir() else None


def names() -> list[str]:
    """List the papers that have a list of claims."""
    return sorted(path.parent.name for path in folder().glob("*/expected.toml"))


def expected(name: str) -> Expected:
    """Read the claims and figures of a paper. Raises BadInput for an unknown paper or an invalid
    file.
    """
    if name not in names():
        raise BadInput(f"papers: no paper '{name}'; expected one of: {' '.join(names())}")
    place = folder() / name / "expected.toml"
    try:
        return Expected.model_validate(tomllib.loads(place.read_text("utf-8")))
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise BadInput(f"{place}: {' '.join(str(error).split())[:200]}; expected TOML with [[claim]] tables") from None


#: The traces of `check --traces`, in place of those that come with a paper.
_GIVEN: ContextVar[tuple[Path, ...]] = ContextVar("given traces", default=())
#: Papers that take other traces.
TAKES_TRACES = ("spo-clock",)


def given_traces() -> tuple[Path, ...]:
    """The .slt files that claims are to be measured on; none: those that come with the paper."""
    return _GIVEN.get()


def check_on(traces: Path, wanted: Iterable[str]) -> list[Claim]:
    """Measure claims on every trace of a folder, of any format of `swaplab list formats`. Raises
    BadInput for a paper that takes none.
    """
    named = list(wanted)
    if not named or set(named) - set(TAKES_TRACES):
        raise BadInput(f"papers check --traces: {' '.join(named) or 'all papers'}; expected {' '.join(TAKES_TRACES)}")
    files = sorted(path for path in traces.iterdir() if path.is_file()) if traces.is_dir() else []
    if not files:
        raise BadInput(f"{traces}: no trace in it; expected a folder of trace files")
    with tempfile.TemporaryDirectory(prefix="swaplab-") as spool:
        # A program has the name of its file up to the first dot, or the whole name if another file
        # has the same beginning.
        short = [file.name.partition(".")[0] for file in files]
        names = [name if short.count(name) == 1 else file.name for file, name in zip(files, short, strict=True)]
        imported = [file if file.suffix == ".slt" else Path(spool) / f"{name}.slt" for file, name in zip(files, names, strict=True)]
        for file, trace in zip(files, imported, strict=True):
            if file != trace:
                _core.trace_import(file, trace, "{}", None)
        token = _GIVEN.set(tuple(imported))
        try:
            return list(check(named))
        finally:
            _GIVEN.reset(token)


def check(wanted: Iterable[str] = (), vm: bool = False) -> Iterator[Claim]:
    """Measure the claims of the named papers (default: all); `vm`: those for a kernel in virtual
    time. Raises BadInput, NotSupported.
    """
    for name in list(wanted) or names():
        claims = expected(name).vm if vm else expected(name).claim
        measures = _measures(name) if any(claim.measure is not None for claim in claims) else {}
        for claim in claims:
            measured = None
            if claim.measure is not None:
                measure = measures.get(claim.measure)
                if measure is None:
                    raise BadInput(f"papers/{name}/expected.toml: measure '{claim.measure}'; expected a function of measure*.py")
                measured = measure()
            yield _judged(name, claim, measured)


def rows_of(wanted: Experiment) -> dict[str, Row]:
    """Return the rows of an experiment of one world and point, by design. Each experiment is run
    once per process.
    """
    return _rows(experiments.dumped(wanted))


@cache
def _rows(text: str) -> dict[str, Row]:
    return {row.design: row for row in run_experiment(Experiment.model_validate_json(text), place="papers").document.rows}


def rows_in_vm(paper: str) -> dict[str, Row]:
    """Return the rows of the paper's `vm.toml`, by design."""
    return {row.design: row for row in document_in_vm(paper).rows}


def document_in_vm(paper: str) -> Document:
    """Return the document of the paper's `vm.toml`."""
    return document_of(experiments.read(folder() / paper / "vm.toml"))


@dataclass(frozen=True)
class Ratio:
    """The ratio of two rows' figures, with its 95 % interval by paired bootstrap over seeds, and
    its text.
    """

    value: float
    interval: Interval | None
    text: str

    def in_percent(self, sign: int) -> Interval | None:
        """The interval of how many percent more (`sign` 1) or less (-1) the first is."""
        if self.interval is None:
            return None
        ends = sorted(100 * sign * (end - 1) for end in (self.interval.low, self.interval.high))
        return Interval(*ends)

    def is_below(self, bound: float) -> bool:
        """Whether the whole interval is below `bound`."""
        return self.interval is not None and self.interval.high < bound


def ratio(rows: Sequence[Row], path: str, form: str = ".2f") -> Ratio:
    """Divide the first row's mean of a figure by the second's. Raises ZeroDivisionError if the
    second is 0.
    """

    def quotient(first: Mean, second: Mean) -> float:
        return first(path) / second(path)

    values = [figure(row, path) or 0.0 for row in rows]
    value = values[0] / values[1]
    return Ratio(value, interval_of(rows, quotient), f"{value:{form}} times ({interval(rows, quotient, form)})")


def tables_of(wanted: Experiment) -> dict[str, pl.DataFrame]:
    """The tables of an experiment of one point, such as `launches`, by name. Each is run once in a
    process.
    """
    return _tables(experiments.dumped(wanted))


@cache
def _tables(text: str) -> dict[str, pl.DataFrame]:
    return run_experiment(Experiment.model_validate_json(text), Options(tables=True), place="papers").tables


def document_of(wanted: Experiment) -> Document:
    """Return the document of an experiment. Each experiment is run once per process."""
    return _document(experiments.dumped(wanted))


@cache
def _document(text: str) -> Document:
    return run_experiment(Experiment.model_validate_json(text), place="papers").document


#: Returns the mean of a figure over the drawn users, by its path in the row.
Mean = Callable[[str], float]


def interval(rows: Sequence[Row], of: Callable[..., float], form: str = ".1f") -> str:
    """`interval_of` in words; empty for one user."""
    return interval_text(interval_of(rows, of), form)


def interval_text(bounds: Interval | None, form: str = ".1f") -> str:
    return "" if bounds is None else f"95 %: {bounds.low:{form}} to {bounds.high:{form}}"


def interval_of(rows: Sequence[Row], of: Callable[..., float]) -> Interval | None:
    """The 95 % interval of a figure that `of` makes from a `Mean` of each row: percentile
    bootstrap, users (seeds) drawn with all that they did, the same in every row. None for one user,
    who says nothing about others."""

    def statistic(drawn: Sequence[int]) -> float:
        def mean(row: Row) -> Mean:
            return lambda path: sum(row.by_seed[user].figures[path] for user in drawn) / len(drawn)

        return of(*map(mean, rows))

    return bootstrap(len(rows[0].by_seed), statistic)


Measure = Callable[[], Measured | None]


def _measures(name: str) -> dict[str, Measure]:
    """Every function that the modules `measure*.py` of a paper define, by name."""
    found: dict[str, Measure] = {}
    for place in sorted((folder() / name).glob("measure*.py")):
        key = f"papers_{name}_{place.stem}".replace("-", "_")
        spec = importlib.util.spec_from_file_location(key, place)
        if spec is None or spec.loader is None:
            raise BadInput(f"{place}: not a module; expected the measures of the claims")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found |= {name: value for name, value in vars(module).items() if callable(value) and getattr(value, "__module__", "") == key}
    return found


def _judged(paper: str, claim: ExpectedClaim, measured: Measured | None) -> Claim:
    why = claim.why
    judged: Judged = "not-testable"
    if measured is not None and claim.band is not None:
        judged = verdict(claim.band, claim.none, claim.met, claim.missed, measured)
    elif claim.measure is not None:
        why = f"{NOT_CAPTURED if claim.captured else NO_DATA}. {why}"
    ours = None if measured is None else measured.text
    return Claim(paper=paper, claim=claim.claim, published=claim.published, ours=ours, band=claim.band, verdict=judged, why=why)
