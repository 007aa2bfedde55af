"""Measures of A2S' claims about launches themselves, and on the simulated phone by recorded
launches of two users.
"""

from __future__ import annotations

import json
import math
import tempfile
from functools import cache
from pathlib import Path

from swaplab import _core
from swaplab.analysis.papers import Measured, data_folder, rows_of
from swaplab.core import experiment as experiments
from swaplab.core.document import figure
from swaplab.core.model import Row

WINDOWS = ("apps256_small_vh1.csv", "apps256_medium_vh2.csv")
NONE, VANILLA, A2S = "no swap", "vanilla flash swap", "A2S"
RESUMES, IN, OUT = "launches.resumes", "paging.swap_in_bytes", "paging.swap_out_bytes"
NEGATIVE = ("annoying", "unacceptable", "unusable")


@cache
def _designs(launches: str) -> dict[str, Row]:
    """The three designs that claims are about, by name, on recorded launches (one run: they are not
    drawn).
    """
    wanted = experiments.read("a2s-large", [f"workload.launches={launches}", "run.seeds=1"])
    return rows_of(wanted.model_copy(update={"design": [one for one in wanted.design if one.name in (NONE, VANILLA, A2S)]}))


def _value(row: Row, path: str) -> float:
    """A figure that the simulated phone always knows."""
    value = figure(row, path)
    assert value is not None, path
    return value


def _negative_percent(row: Row) -> float:
    return 100 * sum(_value(row, f"launches.ux.{name}") for name in NEGATIVE) / _value(row, "launches.count")


def _real(folder: Path) -> dict[str, dict[str, Row]]:
    """By user: the designs on a window of the user's launches."""
    return {window.split("_")[-1][:3]: _designs(str(folder / window)) for window in WINDOWS}


def _recorded() -> Path | None:
    """The folder of recorded launches, where there is one."""
    folder = data_folder()
    return folder / "apps" if folder is not None and (folder / "apps").is_dir() else None


def _real_less(path: str) -> Measured | None:
    """How much less of it A2S moves than vanilla swap, the least user with any."""
    if (folder := _recorded()) is None:
        return None
    less: dict[str, float | None] = {}
    for user, rows in _real(folder).items():
        vanilla = _value(rows[VANILLA], path)
        less[user] = 100 * (1 - _value(rows[A2S], path) / vanilla) if vanilla else None
    text = ", ".join(f"{user} nothing swapped" if value is None else f"{user} {value:.1f} %" for user, value in less.items())
    least = min((value for value in less.values() if value is not None), default=0.0)
    return Measured(least, text, n=len(less))


def real_out_less() -> Measured | None:
    return _real_less(OUT)


def real_in_less() -> Measured | None:
    return _real_less(IN)


def real_gain() -> Measured | None:
    if (folder := _recorded()) is None:
        return None

    def gain(rows: dict[str, Row], name: str) -> float:
        return 100 * (_value(rows[name], RESUMES) / _value(rows[NONE], RESUMES) - 1)

    gains = {user: (gain(rows, A2S), gain(rows, VANILLA)) for user, rows in _real(folder).items()}
    text = ", ".join(f"{user} {ours:+.1f} %, vanilla {vanilla:+.1f} %" for user, (ours, vanilla) in gains.items())
    ours = [one for one, _ in gains.values()]
    return Measured(min(ours), text, n=len(gains))


def real_negative() -> Measured | None:
    if (folder := _recorded()) is None:
        return None
    shares = {user: [_negative_percent(rows[name]) for name in (NONE, VANILLA, A2S)] for user, rows in _real(folder).items()}
    text = "; ".join(
        f"{user} {none:.1f} % without swap, {vanilla:.1f} % vanilla, {a2s:.1f} % A2S" for user, (none, vanilla, a2s) in shares.items()
    )
    fewer = [none - a2s for none, _, a2s in shares.values()]
    return Measured(min(fewer), text, n=len(shares))


def _miss_ratios(trace: Path) -> list[float]:
    """Share of launches that miss with 1, 2, .. 16 apps kept."""
    cold: list[int] = json.loads(_core.trace_analyze(trace, "{}", None))["reuse"]["cold_starts_by_live_apps"]
    return [cold[min(kept, len(cold) - 1)] / cold[0] for kept in range(1, 17)]


def _flattening(curves: dict[str, list[float]], users: int | None = None) -> Measured:
    """What the 3rd cached app saves over what the 7th does, the least of the curves, which are of
    so many users.
    """
    steps = {name: (curve[1] - curve[2]) / max(curve[5] - curve[6], 1e-9) for name, curve in curves.items()}
    said = (f"{name} {' '.join(f'{100 * curve[at - 1]:.1f}' for at in (1, 2, 3, 6, 7, 16))} %" for name, curve in curves.items())
    return Measured(min(steps.values()), f"misses with 1, 2, 3, 6, 7, 16 apps: {'; '.join(said)}", n=users)


def misses_flatten_real() -> Measured | None:
    if (folder := _recorded()) is None:
        return None
    users = len({window.split("_")[-1] for window in WINDOWS})
    return _flattening({name.removesuffix(".csv"): _miss_ratios(folder / name) for name in ("apps_vh1_full.csv", *WINDOWS)}, users)


def misses_flatten_generated() -> Measured:
    curves = []
    with tempfile.TemporaryDirectory(prefix="swaplab-") as folder:
        trace = Path(folder) / "launches.slt"
        for seed in range(20):
            _core.trace_gen("large", seed, trace)
            curves.append(_miss_ratios(trace))
    return _flattening({"large": [sum(values) / len(values) for values in zip(*curves, strict=True)]})


def table_1() -> Measured:
    published = {"small": 2.23, "medium": 4.56, "large": 6.10}
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="swaplab-") as folder:
        trace = Path(folder) / "launches.slt"
        for preset in published:
            distances = []
            for seed in range(20):
                _core.trace_gen(preset, seed, trace)
                distances.append(json.loads(_core.trace_analyze(trace, "{}", None))["reuse"]["average_stack_distance"])
            found[preset] = sum(distances) / len(distances)
    worst = max(100 * abs(found[preset] / figure - 1) for preset, figure in published.items())
    return Measured(worst, " / ".join(f"{value:.2f}" for value in found.values()))


def example_of_eq_1() -> Measured:
    value = 100 * (1 - math.exp(-5 / 4.33))
    return Measured(value, f"{value:.1f} %")
