"""Measures of A2S' claims on the simulated phone, by generated launches: means and intervals over
seeds, which are users.
"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from functools import cache
from pathlib import Path

import polars as pl
from swaplab.analysis.papers import Mean, Measured, Ratio, interval, interval_of, interval_text, ratio, rows_of
from swaplab.analysis.papers_users import Statistic, Users, over, users_of, ux_percent
from swaplab.core import experiment as experiments
from swaplab.core.document import figure
from swaplab.core.model import Design, Experiment, Lifetimes, Row

HERE = Path(__file__).resolve().parent
SWEPT: dict[str, list[int]] = tomllib.loads((HERE / "experiment.toml").read_text())["sweep"]
SEEDS: int = tomllib.loads((HERE / "experiment.toml").read_text())["seeds"]
NONE, VANILLA, A2S = "no swap", "vanilla flash swap", "A2S"
FLASH = "flash:size=1024MiB"
RESUMES, IN, OUT = "launches.resumes", "paging.swap_in_bytes", "paging.swap_out_bytes"
CPU = {"user": "time.cpu_user_ns", "system": "time.cpu_system_ns"}
NEGATIVE = ("annoying", "unacceptable", "unusable")
MB = 1e6


def _experiment(workload: str) -> Experiment:
    """A preset with the three designs that claims are about."""
    wanted = experiments.read(f"a2s-{workload}")
    return wanted.model_copy(update={"design": [one for one in wanted.design if one.name in (NONE, VANILLA, A2S)]})


@cache
def _designs(workload: str) -> dict[str, Row]:
    return rows_of(_experiment(workload))


def _users() -> Users:
    return users_of(_experiment("large"))


@cache
def _sweep(key: str) -> tuple[list[Row], Row]:
    """The large workload with one threshold varied and the other condition off; and what that is
    compared with, on the same seeds.
    """
    policy = {"t_live": "ess", "t_reuse": "lvsp"}[key]
    base = Design(name=NONE, swap="none") if key == "t_live" else Design(name=VANILLA, swap=FLASH)
    designs = [Design(name=str(value), swap=FLASH, app_policy=f"{policy}:{key}={value}") for value in SWEPT[key]]
    wanted = experiments.read("a2s-large", [f"run.seeds={SEEDS}"])
    rows = rows_of(experiments.resolve(wanted.model_copy(update={"design": [*designs, base]})))
    return [rows[str(value)] for value in SWEPT[key]], rows[base.name]


def _value(row: Row, path: str) -> float:
    """A figure that the simulated phone always knows."""
    value = figure(row, path)
    assert value is not None, path
    return value


def _lifetimes(row: Row) -> Lifetimes:
    assert row.phone is not None
    return row.phone.entry_lifetime_s


def _mb(scheme: str, path: str, workload: str = "large") -> Measured:
    row = _designs(workload)[scheme]
    value = _value(row, path) / MB
    return Measured(value, f"{value:.1f} MB ({interval([row], lambda swap: swap(path) / MB)})")


def _gain(scheme: str, workload: str) -> Measured:
    rows = _designs(workload)
    without = _value(rows[NONE], RESUMES)
    value = _value(rows[scheme], RESUMES) - without
    sure = interval_of([rows[scheme], rows[NONE]], lambda swap, none: swap(RESUMES) - none(RESUMES))
    return Measured(value, f"{value:+.1f} ({interval_text(sure, '+.1f')}; {without:.1f} without swap)", interval=sure)


def _less(path: str) -> Measured:
    rows = _designs("large")
    value = 100 * (1 - _value(rows[A2S], path) / _value(rows[VANILLA], path))
    sure = interval_of([rows[A2S], rows[VANILLA]], lambda a2s, vanilla: 100 * (1 - a2s(path) / vanilla(path)))
    return Measured(value, f"{value:.1f} % ({interval_text(sure)})", interval=sure)


def _points(of: Statistic, form: str = "+.1f") -> Measured:
    """A figure of the users of the large workload in percentage points."""
    value, sure = over(_users(), of)
    return Measured(value, f"{value:{form}} points ({interval_text(sure, form)})", interval=sure)


def _negative(scheme: str) -> Measured:
    value, sure = over(_users(), lambda users: ux_percent(users, scheme, *NEGATIVE))
    return Measured(value, f"{value:.1f} % ({interval_text(sure)})", interval=sure)


def _cpu(scheme: str, keys: tuple[str, ...]) -> Measured:
    rows = _designs("large")
    ours, base = (sum(_value(rows[name], CPU[key]) for key in keys) for name in (scheme, NONE))
    value = 100 * (ours / base - 1)

    def added_percent(scheme: Mean, none: Mean) -> float:
        return 100 * (sum(scheme(CPU[key]) for key in keys) / sum(none(CPU[key]) for key in keys) - 1)

    sure = interval_of([rows[scheme], rows[NONE]], added_percent)
    return Measured(value, f"{value:+.1f} % ({interval_text(sure, '+.1f')})", interval=sure)


def vanilla_gain_large() -> Measured:
    return _gain(VANILLA, "large")


def vanilla_gain_medium() -> Measured:
    return _gain(VANILLA, "medium")


def vanilla_gain_small() -> Measured:
    return _gain(VANILLA, "small")


def vanilla_in() -> Measured:
    return _mb(VANILLA, IN)


def vanilla_out() -> Measured:
    return _mb(VANILLA, OUT)


def small_out() -> Measured:
    return _mb(VANILLA, OUT, "small")


def small_in() -> Measured:
    return _mb(VANILLA, IN, "small")


def a2s_in_less() -> Measured:
    return _less(IN)


def a2s_out_less() -> Measured:
    return _less(OUT)


def a2s_gain_percent() -> Measured:
    rows = _designs("large")
    return _more_resumes(rows[A2S], rows[NONE])


def _more_resumes(row: Row, none: Row) -> Measured:
    value = 100 * (_value(row, RESUMES) / _value(none, RESUMES) - 1)
    sure = interval_of([row, none], lambda swap, none: 100 * (swap(RESUMES) / none(RESUMES) - 1))
    return Measured(value, f"{value:+.1f} % ({interval_text(sure, '+.1f')})", interval=sure)


def ess_least_gain_percent() -> Measured:
    rows, none = _sweep("t_live")
    return _more_resumes(rows[0], none)


def t_live_levels_off() -> Measured:
    rows, none = _sweep("t_live")
    resumes = dict(zip(SWEPT["t_live"], (_value(row, RESUMES) for row in rows), strict=True))
    base, most = _value(none, RESUMES), resumes[22]
    share = (resumes[18] - base) / (most - base) if most > base else 0.0
    return Measured(share, " ".join(f"{value:.1f}" for value in resumes.values()) + f" (no swap {base:.1f})")


def t_reuse_reaches_vanilla() -> Measured:
    rows, base = _sweep("t_reuse")
    resumes, vanilla = [_value(row, RESUMES) for row in rows], _value(base, RESUMES)
    text = " ".join(f"{value:.1f}" for value in resumes) + f" (vanilla {vanilla:.1f})"
    return Measured(resumes[-1] / vanilla, text, resumes[-1] > resumes[0])


def t_live_grows() -> Measured:
    return _growing("t_live")


def t_reuse_grows() -> Measured:
    return _growing("t_reuse")


def _growing(key: str) -> Measured:
    """The share of steps of the sweep at which swap-out does not fall."""
    out = [_value(row, OUT) / MB for row in _sweep(key)[0]]
    steps = [after >= before for before, after in zip(out, out[1:], strict=False)]
    return Measured(sum(steps) / len(steps), " ".join(f"{value:.0f}" for value in out) + " MB", out[-1] > out[0])


def _swap_in_over_vanilla(key: str, value: int) -> Measured:
    """Swap-in with one condition at the paper's threshold over vanilla swap's, and the ratios of
    the whole sweep.
    """
    vanilla = _sweep("t_reuse")[1]
    ratios: dict[int, Ratio] = {at: ratio([row, vanilla], IN) for at, row in zip(SWEPT[key], _sweep(key)[0], strict=True)}
    text = f"{ratios[value].text}; at {', '.join(map(str, SWEPT[key]))}: " + " ".join(f"{one.value:.2f}" for one in ratios.values())
    return Measured(ratios[value].value, text, interval=ratios[value].interval)


def lvsp_in_over_vanilla() -> Measured:
    return _swap_in_over_vanilla("t_reuse", 64)


def ess_in_over_vanilla() -> Measured:
    return _swap_in_over_vanilla("t_live", 18)


def few_launches() -> Measured:
    """How many apps a user launches once or twice, of those that are launched at all."""

    def counts(users: Users) -> list[pl.Series]:
        return [user.under(NONE).group_by("app").len()["len"] for user in users]

    value, sure = over(_users(), lambda users: sum(int((each < 3).sum()) for each in counts(users)) / len(users))
    launched = [len(each) for each in counts(_users())]
    return Measured(value, f"{value:.1f} of {sum(launched) / len(launched):.1f} ({interval_text(sure)})", interval=sure)


def negative_none() -> Measured:
    return _negative(NONE)


def negative_vanilla() -> Measured:
    return _negative(VANILLA)


def negative_a2s() -> Measured:
    return _negative(A2S)


def vanilla_more_negative() -> Measured:
    return _points(lambda users: ux_percent(users, VANILLA, *NEGATIVE) - ux_percent(users, NONE, *NEGATIVE))


def a2s_more_negative() -> Measured:
    return _points(lambda users: ux_percent(users, A2S, *NEGATIVE) - ux_percent(users, NONE, *NEGATIVE))


def crisp_vanilla() -> Measured:
    found = _points(lambda users: ux_percent(users, VANILLA, "crisp") - ux_percent(users, NONE, "crisp"))
    each = [ux_percent(_users(), design, "crisp") for design in (VANILLA, NONE)]
    return replace(found, text=f"{found.text}: {each[0]:.1f} % for {each[1]:.1f} %")


def unusable_vanilla() -> Measured:
    found = _points(lambda users: ux_percent(users, VANILLA, "unusable") - ux_percent(users, A2S, "unusable"), "+.2f")
    each = [ux_percent(_users(), design, "unusable") for design in (VANILLA, A2S)]
    return replace(found, text=f"{found.text}: {each[0]:.2f} % and {each[1]:.2f} %")


def lifetimes_medium() -> Measured:
    below = _lifetimes(_designs("medium")[VANILLA]).below["1000"]
    return Measured(100 * (below or 0.0), "nothing swapped" if below is None else f"{100 * below:.1f} %")


def lifetimes_vanilla() -> Measured:
    life = {bound: share or 0.0 for bound, share in _lifetimes(_designs("large")[VANILLA]).below.items()}
    text = ", ".join(f"{100 * life[bound]:.1f} % below {bound} s" for bound in ("60", "1000", "2000"))
    return Measured(100 * life["2000"], text)


def never_a2s() -> Measured:
    rows = _designs("large")
    ours, base = (100 * (_lifetimes(rows[name]).never or 0.0) for name in (A2S, VANILLA))
    return Measured(ours, f"{ours:.1f} % (vanilla {base:.1f} %)", ours > base)


def system_time() -> Measured:
    return _cpu(VANILLA, ("system",))


def user_time() -> Measured:
    return _cpu(A2S, ("user",))


def total_time() -> Measured:
    return _cpu(A2S, ("user", "system"))
