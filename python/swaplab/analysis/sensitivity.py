"""Sensitivity of the simulated phone's conclusions to its assumed parameters
(`papers/NAME/sensitivity.toml`).

One parameter is varied at a time, to either end of its range, and each conclusion compares two
designs on each such phone. A conclusion that fails for any phone is not stated. A phone in which
the compared figure is 0 for both designs is not counted.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, Field, ValidationError

from swaplab.analysis.papers import folder
from swaplab.core import experiment as experiments
from swaplab.core.bases import StrictModel
from swaplab.core.document import figure
from swaplab.core.errors import BadInput
from swaplab.core.experiment import Point
from swaplab.core.model import Experiment, Row
from swaplab.worlds import run as run_experiment

HEAD = "## Sensitivity"


class _Model(StrictModel):
    model_config = ConfigDict(ser_json_inf_nan="strings")


class Range(_Model):
    """An assumed parameter, with the keys and values at both ends of its range."""

    name: str
    low: Point
    high: Point


class ClaimedConclusion(_Model):
    """A conclusion: design `of` has less (with `more`: more) of the figure at path `what` than
    design `than`.
    """

    claim: str
    of: str
    than: str
    what: str
    more: bool = False


class SensitivityFile(_Model):
    """A sensitivity.toml. `preset` is a preset of `swaplab list presets`, or an experiment file in
    the paper's folder.
    """

    preset: str
    seeds: int
    designs: list[str]
    parameter: list[Range] = Field(default_factory=list)
    conclusion: list[ClaimedConclusion] = Field(default_factory=list)


class Phone(_Model):
    """A phone with a parameter at one end of its range, and a ratio per conclusion, None if there
    is nothing to compare. `unfit`: an app does not fit into its memory, so nothing was run.
    """

    parameter: str
    end: str
    set: Point
    unfit: bool
    ratios: list[float | None]


class Conclusion(ClaimedConclusion):
    """A conclusion with its result over all phones."""

    holds: int
    phones: int
    least: float | None
    most: float | None
    stated: bool


class Sensitivity(_Model):
    """The results for all conclusions and phones."""

    document: Literal["sensitivity"] = "sensitivity"
    kind: Literal["simulated"] = "simulated"
    paper: str
    preset: str
    seeds: int
    conclusions: list[Conclusion]
    phones: list[Phone]


Simulate = Callable[[Experiment], Sequence[Row]]


def simulate(wanted: Experiment) -> Sequence[Row]:
    return run_experiment(wanted, place="sensitivity").document.rows


def read_sensitivity(name: str) -> SensitivityFile:
    """Read the parameters and conclusions of a paper. Raises BadInput for a paper without them."""
    place = folder() / name / "sensitivity.toml"
    if not place.is_file():
        known = sorted(path.parent.name for path in folder().glob("*/sensitivity.toml"))
        raise BadInput(f"papers: no sensitivity of '{name}'; expected one of: {' '.join(known)}")
    return parse(place)


def parse(place: Path) -> SensitivityFile:
    try:
        wanted = SensitivityFile.model_validate(tomllib.loads(place.read_text("utf-8")))
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise BadInput(f"{place}: {' '.join(str(error).split())[:200]}; expected [[parameter]] and [[conclusion]] tables") from None
    unknown = {name for one in wanted.conclusion for name in (one.of, one.than)} - set(wanted.designs)
    if unknown:
        raise BadInput(f"{place}: conclusion about {' '.join(sorted(unknown))}; expected names of `designs`")
    return wanted


def base_experiment(name: str, wanted: SensitivityFile, seeds: int | None = None) -> Experiment:
    """The preset, or the paper's own experiment, with the designs that conclusions are about."""
    own = folder() / name / wanted.preset
    experiment = experiments.read(own if own.is_file() else wanted.preset, [f"run.seeds={seeds or wanted.seeds}"])
    if unknown := set(wanted.designs) - {design.name for design in experiment.design}:
        place = f"papers/{name}/sensitivity.toml"
        raise BadInput(f"{place}: no design {' '.join(sorted(unknown))} in {wanted.preset}; expected names of its designs")
    kept = [design for design in experiment.design if design.name in wanted.designs]
    return experiment.model_copy(update={"design": kept})


def sensitivity(
    name: str,
    wanted: SensitivityFile,
    seeds: int | None = None,
    run: Simulate = simulate,
    listener: Callable[[int, int], None] | None = None,
) -> Sensitivity:
    """Run every phone and judge every conclusion."""
    base = base_experiment(name, wanted, seeds)
    cases: list[tuple[str, str, Point]] = [("as assumed", "", {})]
    for parameter in wanted.parameter:
        cases += [(parameter.name, end, point) for end, point in (("low", parameter.low), ("high", parameter.high))]
    phones: list[Phone] = []
    for parameter_name, end, point in cases:
        if listener is not None:
            listener(len(phones), len(cases))
        try:
            rows = {row.design: row for row in run(experiments.at(base, point, "sensitivity"))}
        except BadInput as error:
            if not str(error).startswith("machine.dram: "):
                raise
            rows = {}
        ratios = [_ratio(rows, conclusion) if rows else None for conclusion in wanted.conclusion]
        phones.append(Phone(parameter=parameter_name, end=end, set=point, unfit=not rows, ratios=ratios))
    conclusions = [_judged(conclusion, [phone.ratios[at] for phone in phones]) for at, conclusion in enumerate(wanted.conclusion)]
    return Sensitivity(paper=name, preset=wanted.preset, seeds=seeds or wanted.seeds, conclusions=conclusions, phones=phones)


def _judged(conclusion: ClaimedConclusion, ratios: Sequence[float | None]) -> Conclusion:
    compared = [ratio for ratio in ratios if ratio is not None]
    holds = sum(_holds(conclusion, ratio) for ratio in compared)
    return Conclusion(
        **conclusion.model_dump(),
        holds=holds,
        phones=len(compared),
        least=min(compared, default=None),
        most=max(compared, default=None),
        stated=bool(compared) and holds == len(compared),
    )


def _holds(conclusion: ClaimedConclusion, ratio: float) -> bool:
    return ratio > 1 if conclusion.more else ratio < 1


def _ratio(rows: dict[str, Row], conclusion: ClaimedConclusion) -> float | None:
    """Divide the figure of design `of` by that of `than`; None if both are 0 or one is unknown,
    infinity if only `than` is 0.
    """
    of, than = (figure(rows[name], conclusion.what) for name in (conclusion.of, conclusion.than))
    if of is None or than is None or of == than == 0:
        return None
    return of / than if than else math.inf


def markdown(result: Sensitivity) -> str:
    """Format the tables of `papers/NAME/README.md`."""
    lines = [
        HEAD,
        "",
        f"`swaplab papers sensitivity {result.paper}` makes these tables: `{result.preset}`, {result.seeds} seeds, one assumed "
        f"parameter at a time at either end of its range (`sensitivity.toml`), {len(result.phones)} phones. A ratio is the first design's "
        "figure over the second's. A conclusion is stated only if it holds in every phone in which there was anything to compare.",
        "",
        "| conclusion | compared | ratio as assumed | over the ranges | holds in | stated |",
        "|---|---|---|---|---|---|",
    ]
    for at, conclusion in enumerate(result.conclusions):
        span = f"{_text(conclusion.least)} to {_text(conclusion.most)}"
        compared = f"{conclusion.of} / {conclusion.than}, `{conclusion.what}`"
        stated = "yes" if conclusion.stated else "no"
        holds = f"{conclusion.holds} of {conclusion.phones}"
        lines.append(f"| {conclusion.claim} | {compared} | {_text(result.phones[0].ratios[at])} | {span} | {holds} | {stated} |")
    lines += [
        "",
        f"| parameter | {' | '.join(conclusion.claim for conclusion in result.conclusions)} |",
        f"|{'---|' * (len(result.conclusions) + 1)}",
    ]
    for phone in result.phones:
        cells = []
        for ratio, conclusion in zip(phone.ratios, result.conclusions, strict=True):
            fails = ratio is not None and not _holds(conclusion, ratio)
            cells.append("no app fits" if phone.unfit else f"**{_text(ratio)}**" if fails else _text(ratio))
        lines.append(f"| {phone.parameter}{', ' + phone.end if phone.end else ''} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", "In bold cells the conclusion does not hold."]) + "\n"


def _text(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.3f}"
