"""Comparison of a patch series with its base: the same experiment on both kernels, paired by seed,
and base against base as a control.
"""

from __future__ import annotations

import statistics
import subprocess
import tempfile
from collections.abc import Callable
from enum import Enum
from pathlib import Path

from swaplab.core.bases import FrozenModel
from swaplab.core.errors import BadInput
from swaplab.core.experiment import seeds
from swaplab.core.model import Experiment
from swaplab.core.statistics import mean_interval
from swaplab.worlds.kernel.configuration import configurations
from swaplab.worlds.result import Options
from swaplab.worlds.vm import build, driver, kernels, runner


class Verdict(Enum):
    """The conclusion from an interval of differences. The value is the exit code of
    `swaplab kernel ab`.
    """

    FASTER = 0
    NOT_SEPARABLE = 10
    SLOWER = 11


class Difference(FrozenModel):
    """The comparison of series and base for one design, in ms of mean launch delay."""

    design: str
    base_ms: float
    series_ms: float
    #: Mean of series - base by seed, and its 95 % interval.
    difference_ms: float
    interval_ms: tuple[float, float]
    #: 95 % interval of base - base: the same kernel under other seeds.
    noise_ms: tuple[float, float]
    verdict: Verdict


class Comparison(FrozenModel):
    """The comparisons of all designs. The verdict is slower if any is slower, else faster if any is
    faster.
    """

    base: str
    series: str
    rows: list[Difference]
    lacks: dict[str, list[str]]

    @property
    def verdict(self) -> Verdict:
        """The verdict over all designs."""
        verdicts = {row.verdict for row in self.rows}
        return next((verdict for verdict in (Verdict.SLOWER, Verdict.FASTER) if verdict in verdicts), Verdict.NOT_SEPARABLE)


def judge(design: str, base: list[float], series: list[float], other: list[float]) -> Difference:
    """Compare mean delays in ms by seed; `other` has those of the base under other seeds.

    The series is faster or slower if the interval of paired differences excludes zero and the
    difference exceeds that of the base from itself: perturbed runs of one kernel differ, and a
    patch without a functional change moves code, which acts like a perturbation.
    """
    paired = [after - before for before, after in zip(base, series, strict=True)]
    interval = mean_interval(paired)
    noise = mean_interval([after - before for before, after in zip(base, other, strict=True)])
    if interval is None or noise is None:
        raise BadInput("kernel ab: one seed; expected run.seeds of at least 2")
    difference = statistics.fmean(paired)
    beyond = abs(difference) > (noise.high - noise.low) / 2
    verdict = Verdict.NOT_SEPARABLE
    if beyond and interval.high < 0:
        verdict = Verdict.FASTER
    elif beyond and interval.low > 0:
        verdict = Verdict.SLOWER
    return Difference(
        design=design,
        base_ms=statistics.fmean(base),
        series_ms=statistics.fmean(series),
        difference_ms=difference,
        interval_ms=(interval.low, interval.high),
        noise_ms=(noise.low, noise.high),
        verdict=verdict,
    )


def compare(experiment: Experiment, base: str, series: str, jobs: int, say: Callable[[str], None]) -> list[Difference]:
    """Run the experiment on both kernels, and on the base again under as many other seeds. Raises
    BadInput for fewer than two seeds.
    """
    count = seeds(experiment, runner.KEY)
    if count < 2:
        raise BadInput("kernel ab: one seed; expected run.seeds of at least 2")
    first = experiment.run.seed
    delays: list[list[list[float]]] = []
    for role, name, seed in (("base", base, first), ("series", series, first), ("base again", base, first + count)):
        say(f"{role}: {name}")
        vm = experiment.run.vm.model_copy(update={"kernel": name})
        run = experiment.run.model_copy(update={"vm": vm, "seed": seed})
        todo = configurations([experiment.model_copy(update={"run": run})])
        done = runner.run_all(todo, {name: kernels.resolve(name)}, runner.check(todo, jobs), Options())
        delays.append([[statistics.fmean(run_delays) for run_delays in runs.delays()] for runs in done])
    return [judge(design.name, *(means[number] for means in delays)) for number, design in enumerate(experiment.design)]


def compare_commits(
    tree: Path, base: str, series: str, experiment: Experiment, fragments: tuple[Path, ...], jobs: int, say: Callable[[str], None]
) -> Comparison:
    """Build two commits of a git tree and compare them. The tree itself is not changed."""
    built = {}
    for commit in (base, series):
        parsed = subprocess.run(
            ["git", "-C", tree, "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"], capture_output=True, text=True, check=False
        )
        if parsed.returncode:
            raise BadInput(f"--tree {tree}: '{commit}'; expected a commit of a git tree")
        number = parsed.stdout.strip()
        with tempfile.TemporaryDirectory(prefix="swaplab-tree-") as folder:
            copy = Path(folder) / number[:12]
            subprocess.run(["git", "clone", "--quiet", "--shared", "--no-checkout", tree, copy], check=True)
            subprocess.run(["git", "-C", copy, "checkout", "--quiet", number], check=True)
            name = f"{tree.resolve().name}-{number[:12]}"
            built[commit] = build.build(build.BuildRequest(tree=copy, fragments=fragments, name=name, jobs=jobs), say)
            # The driver is built and cached now, because the source is removed afterwards.
            driver.module(built[commit].kernel)
    names = [built[commit].kernel.name for commit in (base, series)]
    differences = compare(experiment, names[0], names[1], jobs, say)
    return Comparison(
        base=names[0], series=names[1], rows=differences, lacks={result.kernel.name: list(result.lacks) for result in built.values()}
    )
