"""An experiment of the simulated phone user by user: each seed alone, with its rows and its
launches. A mean over all seeds keeps neither classes of launches nor their parts by user, so that
it gives no interval of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean

import polars as pl

from swaplab.core import experiment as experiments
from swaplab.core.document import figure
from swaplab.core.model import Experiment, Row
from swaplab.core.statistics import Interval, bootstrap
from swaplab.worlds import run as run_experiment
from swaplab.worlds.result import Options

#: Columns of a launch that are waits for storage or NVM. The rest of its time is the processor's, a
#: decompressor's among it.
IO = (
    "swap_read_nvm_ns",
    "swap_read_flash_ns",
    "swap_read_sd_card_ns",
    "file_read_ns",
    "queue_ns",
    "write_back_ns",
)


@dataclass(frozen=True)
class User:
    """What one user (seed) did under each design: rows by design's name, and every launch with a
    column `design`.
    """

    rows: dict[str, Row]
    launches: pl.DataFrame

    def under(self, design: str) -> pl.DataFrame:
        """The launches under a design."""
        return self.launches.filter(pl.col("design") == design)


Users = Sequence[User]
#: A figure of the users given.
Statistic = Callable[[Users], float]


def users_of(wanted: Experiment) -> tuple[User, ...]:
    """Every user of an experiment of one world and point. Each experiment is run once in a
    process.
    """
    return _users(experiments.dumped(wanted))


@cache
def _users(text: str) -> tuple[User, ...]:
    wanted = Experiment.model_validate_json(text)
    users = []
    for seed in range(wanted.run.seed, wanted.run.seed + (wanted.run.seeds or 1)):
        alone = wanted.model_copy(update={"run": wanted.run.model_copy(update={"seed": seed, "seeds": 1})})
        # Of the tables only the launches are kept: those of swap entries take gigabytes over twenty
        # users.
        outcome = run_experiment(alone, Options(tables=True), place="papers")
        users.append(User({row.design: row for row in outcome.document.rows}, outcome.tables["launches"]))
    return tuple(users)


def over(users: Users, of: Statistic) -> tuple[float, Interval | None]:
    """A figure of all users and its 95 % interval: percentile bootstrap, users drawn with all that
    they did. None for one user.
    """
    return of(users), bootstrap(len(users), lambda drawn: of([users[at] for at in drawn]))


def mean(users: Users, design: str, path: str) -> float:
    """The mean over users of a figure of a design, a figure that is not known counted as 0."""
    return fmean(figure(user.rows[design], path) or 0.0 for user in users)


def times(first: str, second: str, *paths: str) -> Statistic:
    """The sum of figures under one design over that under another."""

    def statistic(users: Users) -> float:
        sums = [sum(mean(users, design, path) for path in paths) for design in (first, second)]
        return sums[0] / sums[1] if sums[1] else float("nan")

    return statistic


def ux_percent(users: Users, design: str, *classes: str) -> float:
    """Percent of a design's launches that are of these classes of what a user feels (Tolia et al.
    2006).
    """
    count = sum(mean(users, design, f"launches.ux.{name}") for name in classes)
    return 100 * count / mean(users, design, "launches.count")


def killed(users: Users, design: str, *reasons: str) -> float:
    """Mean kills of these reasons."""
    launched = [user.rows[design].launches for user in users]
    return fmean(sum(row.kill_reasons.get(reason, 0.0) for reason in reasons) if row is not None else 0.0 for row in launched)


def io_share(users: Users, design: str) -> float:
    """Share of all launches' time that is waiting for storage or NVM."""
    waited, ready = (sum(_total(user, design, columns) for user in users) for columns in (IO, ("ready_ns",)))
    return waited / ready


def processor_ms(users: Users, design: str) -> float:
    """Mean processor time of a launch in ms, reclaim and faults included: what is no wait for
    storage or NVM.
    """
    launches = sum(user.under(design).height for user in users)
    total = sum(_total(user, design, ("ready_ns",)) - _total(user, design, IO) for user in users)
    return total / launches / 1e6


def _total(user: User, design: str, columns: Sequence[str]) -> float:
    return float(user.under(design).select(pl.sum_horizontal(pl.col(list(columns)).sum())).item())


def medians_by_app(users: Users, design: str) -> dict[str, float]:
    """Median launch in ms of each app after its first one, which is cold under any design; over all
    users.
    """
    turn = pl.col("launch").rank("ordinal").over("app")
    later = pl.concat([user.under(design).filter(turn > 1) for user in users])
    grouped = later.group_by("app").agg(pl.col("ready_ns").median() / 1e6).sort("app")
    return dict(zip(grouped["app"].to_list(), grouped["ready_ns"].to_list(), strict=True))


def mean_over_items(values: dict[str, float]) -> tuple[float, Interval | None]:
    """The mean of one value an app, program or workload, and its interval over them."""
    listed = list(values.values())
    return fmean(listed), bootstrap(len(listed), lambda drawn: fmean(listed[at] for at in drawn))
