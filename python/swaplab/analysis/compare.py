"""Comparison of two or more runs: each figure of a run as a ratio to the same figure of the
baseline run.

Rows are paired by world, workload, design and point; rows of only one run are listed. A regression
is a figure whose ratio is above `1 + fail_above / 100`. If both figures have intervals, their
intervals must also be separated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from swaplab.analysis.outcomes import BY_PATH, OUTCOMES, Outcome
from swaplab.analysis.relative import size_label
from swaplab.analysis.side_by_side import point_text
from swaplab.analysis.verdict import Verdict, percent
from swaplab.core.bases import StrictModel
from swaplab.core.errors import BadInput
from swaplab.core.model import Document, Kind, Row
from swaplab.core.statistics import Interval, geometric_mean, separates


class ComparedFigure(StrictModel):
    """A figure of a row in a run and in the baseline run; `ratio` is None if the baseline's figure
    is 0 and the run's is not.
    """

    run: str
    world: str
    workload: str
    design: str
    point: str
    path: str
    baseline_value: float
    value: float
    baseline_interval: tuple[float, float] | None
    interval: tuple[float, float] | None
    ratio: float | None
    separated: bool
    regression: bool


class MeanRatio(StrictModel):
    """Geometric mean and range of the ratios of one figure over all rows that both runs have."""

    run: str
    path: str
    mean_ratio: float
    low: float
    high: float
    rows: int
    separated: int


class Comparison(StrictModel):
    """Runs against a baseline run. Values are in the document's units."""

    document: Literal["comparison"] = "comparison"
    baseline: str
    kinds: dict[str, list[Kind]]
    fail_above_percent: float | None
    outcomes: list[ComparedFigure]
    means: list[MeanRatio]
    missing: list[str]
    regressions: int


Key = tuple[str, str, str, str]


def compare(runs: Sequence[tuple[str, Document]], baseline: str | None = None, fail_above: float | None = None) -> Comparison:
    """Compare named documents with the one named `baseline` (default: the first). `fail_above` is
    in percent. Raises BadInput.
    """
    names = [name for name, _ in runs]
    if len(runs) < 2:
        raise BadInput("compare: one run; expected two or more")
    if len(set(names)) != len(names):
        raise BadInput(f"compare: several runs have the same name ({', '.join(names)}); expected NAME=RUN to name each")
    base = baseline or names[0]
    if base not in names:
        raise BadInput(f"--baseline {base}: no such run; expected one of: {' '.join(names)}")
    by_run = {name: {_key(row): row for row in document.rows if _counts(row)} for name, document in runs}
    rows: list[ComparedFigure] = []
    missing: list[str] = []
    for name in names:
        if name == base:
            continue
        for key, old in by_run[base].items():
            new = by_run[name].get(key)
            if new is None:
                missing.append(f"{name}: no {' · '.join(part for part in key if part)}")
                continue
            rows += [row for outcome in OUTCOMES if (row := _compared(name, key, outcome, old, new, fail_above)) is not None]
    if not rows:
        raise BadInput(f"compare: no row is in both {base} and another run; expected runs of the same designs, workloads and points")
    return Comparison(
        baseline=base,
        kinds={name: sorted({row.kind for row in document.rows}) for name, document in runs},
        fail_above_percent=fail_above,
        outcomes=rows,
        means=means(rows),
        missing=sorted(missing),
        regressions=sum(row.regression for row in rows),
    )


def _counts(row: Row) -> bool:
    return row.invalid is None and not (row.replay is not None and row.replay.filter_limited)


def _key(row: Row) -> Key:
    return row.world, row.workload, row.design, point_text(row) or (size_label(row) if row.replay is not None else "")


def _compared(run: str, key: Key, outcome: Outcome, old: Row, new: Row, fail_above: float | None) -> ComparedFigure | None:
    before, after = outcome.value(old), outcome.value(new)
    if before is None or after is None:
        return None
    ours, theirs = outcome.interval(old), outcome.interval(new)
    is_exact = old.world == "replay" and old.seeds == new.seeds == 1
    separated = before != after if is_exact else separates(ours, theirs)
    beyond = fail_above is not None and after > before * (1 + fail_above / 100)
    # If both have intervals, these must be separated. Runs without intervals are judged by their
    # figures alone, as a gate in CI needs.
    sure = separated or ours is None or theirs is None
    world, workload, design, point = key
    return ComparedFigure(
        run=run,
        world=world,
        workload=workload,
        design=design,
        point=point,
        path=outcome.path,
        baseline_value=before / outcome.scale,
        value=after / outcome.scale,
        baseline_interval=_pair(ours, outcome.scale),
        interval=_pair(theirs, outcome.scale),
        ratio=after / before if before else (1.0 if after == before else None),
        separated=separated,
        regression=beyond and sure,
    )


def _pair(interval: Interval | None, scale: float) -> tuple[float, float] | None:
    return None if interval is None else (interval.low / scale, interval.high / scale)


def means(rows: Sequence[ComparedFigure]) -> list[MeanRatio]:
    """Compute the geometric mean for each run and figure, in the order of the rows."""
    groups: dict[tuple[str, str], list[ComparedFigure]] = {}
    for row in rows:
        if row.ratio is not None and row.ratio > 0:
            groups.setdefault((row.run, row.path), []).append(row)
    mean_ratios = []
    for (run, path), group in groups.items():
        ratios = [row.ratio for row in group if row.ratio is not None]
        separated = sum(row.separated for row in group)
        mean = geometric_mean(ratios)
        mean_ratios.append(
            MeanRatio(run=run, path=path, mean_ratio=mean, low=min(ratios), high=max(ratios), rows=len(ratios), separated=separated)
        )
    return mean_ratios


def conclusion(comparison: Comparison) -> Verdict:
    """State the result for the main figure, run by run. A difference is stated only if single rows
    are separated.
    """
    main = comparison.outcomes[0].path
    words = BY_PATH[main].words
    clauses: list[str] = []
    winners: list[str] = []
    for mean in comparison.means:
        if mean.path != main:
            continue
        if mean.separated == 0:
            no, pair = "no" if clauses else "No", f"{mean.run} and {comparison.baseline}"
            clauses.append(f"{no} difference in {words} is shown between {pair}: intervals overlap, or figures are equal")
            continue
        winners.append(mean.run if mean.mean_ratio < 1 else comparison.baseline)
        share = f"separated in {mean.separated} of {mean.rows} rows"
        clauses.append(f"{mean.run} has {percent(mean.mean_ratio)} {words} than {comparison.baseline} ({share})")
    text = "; ".join(clauses) if clauses else "No verdict: no ratio can be formed"
    return Verdict(winners[0] if len(winners) == 1 else None, f"{text}.")
