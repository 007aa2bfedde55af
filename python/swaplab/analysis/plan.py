"""Planning of memory size and swap scheme: the Pareto-optimal choices by price and time, and the
cheapest that meets a target.

Plans are made for a replayed trace (time: stalls) and for launches on the simulated phone (time:
the mean launch delay). The price of a choice is the sum of its bytes times their price relative to
DRAM's: frames, pools and tables count as DRAM; NVM and flash count with the area that the scheme
reserves, or the peak use if the area is unlimited. The relative prices are assumed and can be
changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from swaplab.analysis.outcomes import BY_PATH, MIB, Outcome, notes_of
from swaplab.analysis.registry import area_bytes, key_of, schemes
from swaplab.analysis.relative import size_label
from swaplab.analysis.verdict import number
from swaplab.core.bases import StrictModel
from swaplab.core.errors import BadInput
from swaplab.core.model import Design, Document, Experiment, Kind, Row
from swaplab.core.statistics import pareto

#: Price of a byte relative to DRAM's (assumed).
PRICES = {"dram": 1.0, "nvm": 0.5, "flash": 0.03, "sd-card": 0.01}
DELAY, STALL, COLD = (BY_PATH[path] for path in ("launches.delay_ms.mean", "time.stall_ns", "launches.cold"))
DAY_NS = 86_400e9


class Target(StrictModel):
    """A limit on time: at most `seconds`, or at most `percent` above the least time.

    For launches, a percentage also limits the number of cold starts, which a mean delay can hide.
    """

    seconds: float | None = None
    percent: float | None = None

    @classmethod
    def parse(cls, text: str) -> Target:
        """Parse `0.5s` or `10%`. Raises BadInput for other texts."""
        for unit, key in (("s", "seconds"), ("%", "percent")):
            if text.endswith(unit):
                try:
                    value = float(text.removesuffix(unit))
                except ValueError:
                    break
                if 0 <= value < float("inf"):
                    return cls(**{key: value})
        raise BadInput(
            f"--below '{text}': not a time or a share; expected seconds such as 0.5s, or percent above the least time such as 10%"
        )

    def limit(self, least: float, per_second: float) -> float:
        """Compute the limit in a unit of which `per_second` are one second."""
        return self.seconds * per_second if self.seconds is not None else least * (1 + (self.percent or 0.0) / 100)


class Choice(StrictModel):
    """A choice with its price and figures. `time` is in the plan's `unit`; bytes written per day
    need a known length of the run.
    """

    design: str
    scheme: str
    memory: str
    price_mib: float
    dram_bytes: float
    nvm_bytes: float
    flash_bytes: float
    time: float
    time_interval: tuple[float, float] | None
    p95: float | None
    cold: float | None
    kills: float | None
    energy_j: float | None
    nvm_write_bytes: float | None
    flash_write_bytes: float | None
    nvm_write_bytes_a_day: float | None
    flash_write_bytes_a_day: float | None
    is_candidate: bool


class LiveApps(StrictModel):
    """The share of cold launches if `apps` apps stay alive, under LRU."""

    apps: int
    miss_ratio: float


class SizePoint(StrictModel):
    """A point of the trace's miss-ratio curve under LRU."""

    frames: int
    miss_ratio: float
    filter_limited: bool


class Plan(StrictModel):
    """A plan: the answer, its evidence, and the run. `limit` and `least` are in `unit`."""

    document: Literal["plan"] = "plan"
    kind: Kind
    workload: str
    what: str
    unit: Literal["s", "ms"]
    target: Target
    limit: float
    least: float
    least_cold: float | None
    prices: dict[str, float]
    answer: Choice | None
    cheapest_of_scheme: list[Choice]
    front: list[Choice]
    choices: list[Choice]
    left_out: int
    sizes: list[SizePoint]
    live_apps: list[LiveApps]
    run: Document
    warnings: list[str]


@dataclass(frozen=True)
class SearchSpace:
    """The schemes and sizes (such as 256MiB) to try, in all combinations."""

    schemes: Sequence[str]
    sizes: Sequence[str]

    def __post_init__(self) -> None:
        known = [entry.key for entry in schemes().values() if entry.areas]
        for scheme in self.schemes:
            if key_of(scheme) not in known:
                raise BadInput(f"--swap {scheme}: no scheme whose size can be planned; expected some of: {' '.join(known)}")

    def designs(self) -> list[Design]:
        """List the designs: no swap, then every scheme with every size of its swap area."""
        listed = [Design(name="no swap", swap="none")]
        for scheme in self.schemes:
            parameter = schemes()[key_of(scheme)].areas[0].parameter
            joint = "," if "=" in scheme else ":"
            listed += [Design(name=f"{scheme} {size}", swap=f"{scheme}{joint}{parameter}={size}") for size in self.sizes]
        return listed


def experiment(base: Experiment, launches: str, requested: SearchSpace, seeds: int) -> Experiment:
    """Build the experiment of each scheme at each size on the machine and apps of `base`, whose
    designs are replaced.
    """
    workload = base.workload.model_copy(update={"launches": launches, "trace": None})
    run = base.run.model_copy(update={"on": ["phone"], "seeds": seeds})
    policy = base.design[0].policy if base.design else "system"
    designs = [design.model_copy(update={"policy": policy}) for design in requested.designs()]
    return base.model_copy(update={"name": "plan", "design": designs, "workload": workload, "run": run, "vary": None})


def parse_prices(text: str | None) -> dict[str, float]:
    """Parse prices such as `dram=1,nvm=0.5,flash=0.03`; others have their defaults. Raises
    BadInput.
    """
    prices = dict(PRICES)
    for part in (text or "").split(","):
        name, _, value = part.partition("=")
        if not part.strip():
            continue
        try:
            price = float(value) if name.strip() in PRICES else float("nan")
        except ValueError:
            price = float("nan")
        if not 0 <= price < float("inf"):
            raise BadInput(f"--price '{part}': expected {'=, '.join(PRICES)}= and a number of 0 or more, relative to DRAM")
        prices[name.strip()] = price
    return prices


def plan(
    document: Document,
    target: Target,
    prices: Mapping[str, float] = PRICES,
    sizes: Sequence[SizePoint] = (),
    cold_starts_by_live_apps: Sequence[int] = (),
) -> Plan:
    """Make the plan of a run.

    `sizes`: the trace's miss-ratio curve. `cold_starts_by_live_apps`: the launches' cold starts for
    0, 1, 2 .. live apps. Raises BadInput.
    """
    rows = [row for row in document.rows if row.invalid is None]
    outcome, per_second, unit = _time_of(rows)
    choices = [choice for choice in (_choice(row, outcome, prices) for row in rows) if choice is not None]
    valid = sorted((choice for choice in choices if choice.is_candidate), key=lambda choice: (choice.price_mib, choice.time))
    if not valid:
        raise BadInput(
            "plan: no size counts: every one is below what the trace's filter allows; expected larger sizes, or an unfiltered trace"
        )
    least = min(choice.time for choice in valid)
    known_cold = [choice.cold for choice in valid if choice.cold is not None]
    least_cold = min(known_cold, default=None)
    limit = target.limit(least, per_second)
    meets = [choice for choice in valid if choice.time <= limit and _keeps_apps(choice, target, least_cold)]
    cheapest: dict[str, Choice] = {}
    for choice in meets:
        cheapest.setdefault(choice.scheme, choice)
    curve = list(cold_starts_by_live_apps)
    return Plan(
        kind=rows[0].kind,
        workload=rows[0].workload,
        what=outcome.words,
        unit=unit,
        target=target,
        limit=limit,
        least=least,
        least_cold=least_cold,
        prices=dict(prices),
        answer=meets[0] if meets else None,
        cheapest_of_scheme=list(cheapest.values()),
        front=[valid[at] for at in pareto([(choice.price_mib, choice.time) for choice in valid])],
        choices=choices,
        left_out=len(choices) - len(valid),
        sizes=list(sizes),
        live_apps=[LiveApps(apps=apps, miss_ratio=cold / curve[0]) for apps, cold in enumerate(curve)],
        run=document,
        warnings=notes_of(document),
    )


def _time_of(rows: Sequence[Row]) -> tuple[Outcome, float, Literal["s", "ms"]]:
    if rows and all(DELAY.value(row) is not None for row in rows):
        return DELAY, 1e3, "ms"
    if rows and all(STALL.value(row) is not None for row in rows):
        return STALL, 1.0, "s"
    raise BadInput("plan: rows without launch delays or stall times; expected a run of the world replay or phone")


def _keeps_apps(choice: Choice, target: Target, least_cold: float | None) -> bool:
    return target.percent is None or choice.cold is None or least_cold is None or choice.cold <= least_cold * (1 + target.percent / 100)


def _choice(row: Row, outcome: Outcome, prices: Mapping[str, float]) -> Choice | None:
    time = outcome.value(row)
    if time is None:
        return None
    frames = row.memory.dram_bytes or 0.0
    dram = row.memory.total_dram_bytes if row.memory.total_dram_bytes is not None else frames
    areas = area_bytes(row.swap, frames)
    nvm = areas.get("nvm", row.memory.nvm_bytes or 0.0)
    flash = areas.get("flash", row.memory.flash_bytes or 0.0)
    interval = outcome.interval(row)
    days = row.time.wall_ns / DAY_NS if row.time.wall_ns else None

    def per_day(written: float | None) -> float | None:
        return None if written is None or days is None else written / days

    price = dram * prices["dram"] + nvm * prices["nvm"] + flash * prices["flash"] + areas.get("sd-card", 0.0) * prices["sd-card"]
    launches = row.launches
    return Choice(
        design=row.design,
        scheme=key_of(row.swap) if row.swap is not None else "unlimited",
        memory=size_label(row) if row.replay is not None else "",
        price_mib=price / MIB,
        dram_bytes=dram,
        nvm_bytes=nvm,
        flash_bytes=flash,
        time=time,
        time_interval=None if interval is None else (interval.low, interval.high),
        p95=launches.delay_ms.p95 if launches is not None and launches.delay_ms is not None else None,
        cold=COLD.value(row),
        kills=launches.kills if launches is not None else None,
        energy_j=row.energy.total_j if row.energy is not None else None,
        nvm_write_bytes=row.paging.nvm_write_bytes,
        flash_write_bytes=row.paging.flash_write_bytes,
        nvm_write_bytes_a_day=per_day(row.paging.nvm_write_bytes),
        flash_write_bytes_a_day=per_day(row.paging.flash_write_bytes),
        is_candidate=not (row.replay is not None and row.replay.filter_limited),
    )


def name_of(choice: Choice) -> str:
    return f"{choice.design} at {choice.memory}" if choice.memory else choice.design


def answer(plan: Plan) -> str:
    """Describe the plan in a few sentences."""
    target_text = f"a {plan.what} of at most {number(plan.limit)} {plan.unit}"
    if plan.least_cold is not None and plan.target.percent is not None:
        target_text += f" and {number(plan.least_cold * (1 + plan.target.percent / 100))} cold starts"
    best = plan.answer
    if best is None:
        return f"No choice that was tried has {target_text}; the least {plan.what} is {number(plan.least)} {plan.unit}."
    other_media = ", ".join(
        f"{number(size / MIB)} MiB of {name}" for size, name in ((best.nvm_bytes, "NVM"), (best.flash_bytes, "flash")) if size
    )
    text = f"Cheapest for {target_text}: {name_of(best)}, {number(best.dram_bytes / MIB)} MiB of DRAM in all"
    text += f" and {other_media}" if other_media else ""
    text += f"; {number(best.time)} {plan.unit}" + (f", {number(best.cold)} cold starts" if best.cold is not None else "") + "."
    others = [name_of(choice) for choice in plan.cheapest_of_scheme if choice.scheme != best.scheme]
    if others:
        text += f" {', '.join(others)} would also meet it, at a higher price."
    if best.time_interval is not None and best.time_interval[1] > plan.limit:
        text += f" Its 95 % interval reaches {number(best.time_interval[1])} {plan.unit}, above the limit: not sure."
    elif best.time_interval is None and best.cold is not None:
        text += " One run each: nothing is shown about other users."
    return text
