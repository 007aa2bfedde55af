"""Claims of papers and swaplab's figures for them. `papers/NAME/expected.toml` lists the claims, `measure.py` there measures them. Claims
that a kernel under virtual time can answer are listed separately, as `[[vm]]`; they are measured on the rows of the experiment `vm.toml`.

A claim has a band for our figure. Inside it, the verdict is the claim's `met` (usually `reproduced`; `arithmetic` if the figure follows
from the paper's constants, `premise-built` if our generator already contains it). Outside, it is the claim's `missed`; without one,
`ordering` if the measure says that the order holds, else `differs`. A claim without a measure is `not-testable`. Bands are the published
figures, so they do not depend on ours. `[published.PRESET]` holds a paper's figures by the name of the design.
"""

from __future__ import annotations

import importlib.util
import os
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

import swaplab
from swaplab.core import experiment as experiments
from swaplab.core.document import figure
from swaplab.core.errors import BadInput, NotSupported
from swaplab.core.model import Document, Experiment, Row
from swaplab.core.statistics import Interval, bootstrap
from swaplab.worlds import run as run_experiment

Judged = Literal["reproduced", "ordering", "differs", "not-testable", "arithmetic", "premise-built", "internally-inconsistent"]


class _Typed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True)
class Measured:
    """Our figure, its text, and whether the order that the paper claims holds even if the figure is outside the band."""

    value: float
    text: str
    ordered: bool = False


class ExpectedClaim(_Typed):
    """A `[[claim]]` of expected.toml. `section` is the claim's section in the paper."""

    claim: str
    published: str
    why: str
    section: str | None = None
    band: tuple[float, float] | None = None
    measure: str | None = None
    met: Judged = "reproduced"
    missed: Judged | None = None
    #: For a `[[vm]]`: the corresponding `[[claim]]` of the simulated phone, and a figure measured on a real kernel with its source.
    simulated: str | None = None
    measured: str | None = None


class Published(_Typed):
    """A paper's figures for one design."""

    resumes_gained: float | None = None
    swap_in_mb: float | None = None
    swap_out_mb: float | None = None
    crisp_percent: float | None = None
    noticeable_percent: float | None = None
    negative_percent: float | None = None
    unusable_percent: float | None = None
    dead_within_60_s_percent: float | None = None
    dead_within_1000_s_percent: float | None = None
    dead_within_2000_s_percent: float | None = None
    never_dead_percent: float | None = None


class Expected(_Typed):
    """An expected.toml: claims, claims for a kernel under virtual time, and figures by preset and name of the design."""

    claim: list[ExpectedClaim] = Field(default_factory=list)
    vm: list[ExpectedClaim] = Field(default_factory=list)
    published: dict[str, dict[str, Published]] = Field(default_factory=dict)


class Claim(_Typed):
    """A row of `swaplab papers check`."""

    paper: str
    claim: str
    published: str
    ours: str | None
    band: tuple[float, float] | None
    verdict: Judged
    why: str


class Claims(_Typed):
    """The output of `swaplab papers check --json`."""

    document: Literal["claims"] = "claims"
    claims: list[Claim]


class PublishedComparison(_Typed):
    """A published figure of a design, and ours; `ours` is None if the run has no such figure."""

    design: str
    what: str
    published: float
    ours: float | None


#: The reason for which a measurable claim is not measured.
NO_DATA = "the data that this claim needs is not on this machine"
#: The head of the table of claims in a README.
HEAD = "| claim | published | ours | verdict | why |"


def folder() -> Path:
    """Return the folder `papers/` of the checkout. Raises NotSupported if there is none."""
    here = Path(swaplab.__file__).resolve().parents[2] / "papers"
    if not here.is_dir():
        raise NotSupported(f"the papers' experiments are part of a checkout, and {here} is not there")
    return here


def data_folder() -> Path | None:
    """Return SWAPLAB_DATA, the folder of recordings that cannot be distributed; None if it is not set or missing."""
    given = os.environ.get("SWAPLAB_DATA")
    return Path(given) if given and Path(given).is_dir() else None


def names() -> list[str]:
    """List the papers that have a list of claims."""
    return sorted(path.parent.name for path in folder().glob("*/expected.toml"))


def expected(name: str) -> Expected:
    """Read the claims and figures of a paper. Raises BadInput for an unknown paper or an invalid file."""
    if name not in names():
        raise BadInput(f"papers: no paper '{name}'; expected one of: {' '.join(names())}")
    place = folder() / name / "expected.toml"
    try:
        return Expected.model_validate(tomllib.loads(place.read_text("utf-8")))
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise BadInput(f"{place}: {' '.join(str(error).split())[:200]}; expected TOML with [[claim]] tables") from None


def check(wanted: Iterable[str] = (), vm: bool = False) -> Iterator[Claim]:
    """Measure the claims of the named papers (default: all); `vm`: those for a kernel in virtual time. Raises BadInput, NotSupported."""
    for name in list(wanted) or names():
        claims = expected(name).vm if vm else expected(name).claim
        module = _measures(name) if any(claim.measure is not None for claim in claims) else None
        for claim in claims:
            measured = None
            if claim.measure is not None:
                measure: Callable[[], Measured | None] | None = getattr(module, claim.measure, None)
                if measure is None:
                    raise BadInput(f"papers/{name}/expected.toml: measure '{claim.measure}'; expected a function of measure.py")
                measured = measure()
            yield _judged(name, claim, measured)


def rows_of(wanted: Experiment) -> dict[str, Row]:
    """Return the rows of an experiment of one world and point, by design. Each experiment is run once per process."""
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
    """The ratio of two rows' figures, with its 95 % interval by paired bootstrap over seeds, and its text."""

    value: float
    interval: Interval | None
    text: str

    def is_below(self, bound: float) -> bool:
        """Whether the whole interval is below `bound`."""
        return self.interval is not None and self.interval.high < bound


def ratio(rows: Sequence[Row], path: str, form: str = ".2f") -> Ratio:
    """Divide the first row's mean of a figure by the second's. Raises ZeroDivisionError if the second is 0."""

    def quotient(first: Mean, second: Mean) -> float:
        return first(path) / second(path)

    values = [figure(row, path) or 0.0 for row in rows]
    value = values[0] / values[1]
    return Ratio(value, _interval(rows, quotient), f"{value:{form}} times ({interval(rows, quotient, form)})")


def document_of(wanted: Experiment) -> Document:
    """Return the document of an experiment. Each experiment is run once per process."""
    return _document(experiments.dumped(wanted))


@cache
def _document(text: str) -> Document:
    return run_experiment(Experiment.model_validate_json(text), place="papers").document


#: Returns the mean of a figure over the drawn users, by its path in the row.
Mean = Callable[[str], float]


def interval(rows: Sequence[Row], of: Callable[..., float], form: str = ".1f") -> str:
    """Format the 95 % interval of a figure that `of` computes from a `Mean` of each row.

    It is a percentile bootstrap that draws users (seeds) with all their figures, the same users in every row. Empty for one user.
    """
    bounds = _interval(rows, of)
    return "" if bounds is None else f"95 %: {bounds.low:{form}} to {bounds.high:{form}}"


def _interval(rows: Sequence[Row], of: Callable[..., float]) -> Interval | None:
    def statistic(drawn: Sequence[int]) -> float:
        def mean(row: Row) -> Mean:
            return lambda path: sum(row.by_seed[user].figures[path] for user in drawn) / len(drawn)

        return of(*map(mean, rows))

    return bootstrap(len(rows[0].by_seed), statistic)


def _measures(name: str) -> ModuleType:
    place = folder() / name / "measure.py"
    spec = importlib.util.spec_from_file_location(f"papers_{name.replace('-', '_')}", place)
    if spec is None or spec.loader is None:
        raise BadInput(f"{place}: not a module; expected the measures of the claims")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _judged(paper: str, claim: ExpectedClaim, measured: Measured | None) -> Claim:
    why = claim.why
    verdict: Judged = "not-testable"
    if measured is not None and claim.band is not None:
        low, high = claim.band
        is_inside = low <= measured.value <= high
        verdict = claim.met if is_inside else claim.missed or ("ordering" if measured.ordered else "differs")
    elif claim.measure is not None:
        why = f"{NO_DATA}. {why}"
    ours = None if measured is None else measured.text
    return Claim(paper=paper, claim=claim.claim, published=claim.published, ours=ours, band=claim.band, verdict=verdict, why=why)


def compare_with_published(rows: Sequence[Row], published: Mapping[str, Published]) -> list[PublishedComparison]:
    """Pair every published figure of the rows' designs with ours, in the order of the rows."""
    without = next((row.launches.resumes for row in rows if row.swap == "none" and row.launches is not None), None)
    comparisons = []
    for row in rows:
        figures = published.get(row.design)
        if figures is None or row.launches is None:
            continue
        for name, (label, ours) in FIGURES.items():
            value = getattr(figures, name)
            if value is not None:
                comparisons.append(PublishedComparison(design=row.design, what=label, published=value, ours=ours(row)))
        if figures.resumes_gained is not None:
            gained = None if without is None else row.launches.resumes - without
            comparisons.append(
                PublishedComparison(design=row.design, what="resumes more than without swap", published=figures.resumes_gained, ours=gained)
            )
    return comparisons


def _classes(*wanted: str) -> Callable[[Row], float | None]:
    def share(row: Row) -> float | None:
        if row.launches is None or not row.launches.count:
            return None
        return 100 * sum(float(getattr(row.launches.ux, name)) for name in wanted) / row.launches.count

    return share


def megabytes(value: float | None) -> float | None:
    """Convert bytes to megabytes."""
    return None if value is None else value / 1e6


def _dead(seconds: str) -> Callable[[Row], float | None]:
    return lambda row: _percent(row.phone.entry_lifetime_s.below.get(seconds) if row.phone is not None else None)


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


#: Figures of `Published`: label, and function that computes it from a row.
FIGURES: dict[str, tuple[str, Callable[[Row], float | None]]] = {
    "swap_in_mb": ("swapped in, MB", lambda row: megabytes(row.paging.swap_in_bytes)),
    "swap_out_mb": ("swapped out, MB", lambda row: megabytes(row.paging.swap_out_bytes)),
    "crisp_percent": ("launches up to 150 ms, %", _classes("crisp")),
    "noticeable_percent": ("launches up to 1 s, %", _classes("noticeable")),
    "negative_percent": ("launches above 1 s, %", _classes("annoying", "unacceptable", "unusable")),
    "unusable_percent": ("launches above 5 s, %", _classes("unusable")),
    "dead_within_60_s_percent": ("entries dead within 60 s, %", _dead("60")),
    "dead_within_1000_s_percent": ("entries dead within 1000 s, %", _dead("1000")),
    "dead_within_2000_s_percent": ("entries dead within 2000 s, %", _dead("2000")),
    "never_dead_percent": (
        "entries never dead, %",
        lambda row: _percent(row.phone.entry_lifetime_s.never if row.phone is not None else None),
    ),
}


def claim_table(claims: Sequence[Claim]) -> str:
    """Format the claims as a table of `papers/NAME/README.md`. Raises BadInput if data for a claim's figure is missing on this machine."""
    missing = [claim for claim in claims if claim.why.startswith(NO_DATA)]
    if missing:
        raise BadInput(
            f"{missing[0].paper}: '{missing[0].claim}': {NO_DATA}; expected SWAPLAB_DATA to name its folder before the table is written"
        )
    lines = [HEAD, "|---|---|---|---|---|"]
    lines += [f"| {claim.claim} | {claim.published} | {claim.ours or '-'} | {claim.verdict} | {claim.why} |" for claim in claims]
    return "\n".join(lines) + "\n"


def write_table(name: str, head: str, text: str) -> None:
    """Replace the part of the paper's README from `head` to the next heading by `text`; append it if there is no such part."""
    place = folder() / name / "README.md"
    old = place.read_text("utf-8")
    start = old.find(f"\n{head}")
    if start < 0:
        place.write_text(f"{old.rstrip()}\n\n{text}", "utf-8")
        return
    end = old.find("\n## ", start + 1)
    place.write_text(f"{old[: start + 1]}{text}" + ("" if end < 0 else old[end:]), "utf-8")
