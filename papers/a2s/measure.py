"""Measures of A2S' claims on the simulated phone: generated launches (means over seeds) and real ones."""

from __future__ import annotations

import json
import math
import tempfile
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from swaplab import _core
from swaplab.cli.init import PRESETS
from swaplab.papers import Mean, Measured, interval, simulated

HERE = Path(__file__).resolve().parent
REAL = HERE.parents[2] / "shared" / "data" / "apps"
WINDOWS = ("apps256_small_vh1.csv", "apps256_medium_vh2.csv")
SWEPT: dict[str, list[int]] = tomllib.loads((HERE / "experiment.toml").read_text())["sweep"]
NONE, VANILLA, A2S = "no swap", "vanilla flash swap", "A2S"
FLASH = "flash:size=1024MiB"
MB = 1e6


@cache
def _schemes(workload: str, launches: str = "") -> dict[str, dict[str, Any]]:
    """The three schemes that claims are about, of a preset, by name; on other launches if given (one run: they are not drawn)."""
    place = PRESETS / f"a2s-{workload}.toml"
    changes = [f"sim.launches={launches}", "sim.seeds=1"] if launches else []
    experiment = json.loads(_core.experiment_from_toml(str(place), place.read_text(), changes))
    experiment["sim"]["schemes"] = [one for one in experiment["sim"]["schemes"] if one["name"] in (NONE, VANILLA, A2S)]
    return simulated(experiment["sim"])


@cache
def _sweep(key: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The large workload with one threshold varied and the other condition off; and what that is compared with, on the same seeds."""
    policy = {"t_live": "ess", "t_reuse": "lvsp"}[key]
    base: dict[str, Any] = {"t_live": {"name": NONE, "swap": "none"}, "t_reuse": {"name": VANILLA, "swap": FLASH}}[key]
    schemes = [{"name": str(value), "swap": FLASH, "app_policy": policy, key: value} for value in SWEPT[key]]
    rows = simulated({"launches": "large", "seeds": SWEPT["seeds"], "schemes": [*schemes, base]})
    return [rows[str(value)] for value in SWEPT[key]], rows[base["name"]]


def _mb(scheme: str, key: str, workload: str = "large") -> Measured:
    row = _schemes(workload)[scheme]
    value = row[f"swap_{key}_bytes"] / MB
    return Measured(value, f"{value:.1f} MB ({interval([row], lambda swap: swap(f'swap_{key}_bytes') / MB)})")


def _gain(scheme: str, workload: str) -> Measured:
    rows = _schemes(workload)
    value = rows[scheme]["resumes"] - rows[NONE]["resumes"]
    sure = interval([rows[scheme], rows[NONE]], lambda swap, none: swap("resumes") - none("resumes"), "+.1f")
    return Measured(value, f"{value:+.1f} ({sure}; {rows[NONE]['resumes']:.1f} without swap)", value > 0)


def _less(key: str) -> Measured:
    rows = _schemes("large")
    value = 100 * (1 - rows[A2S][key] / rows[VANILLA][key])
    sure = interval([rows[A2S], rows[VANILLA]], lambda a2s, vanilla: 100 * (1 - a2s(key) / vanilla(key)))
    return Measured(value, f"{value:.1f} % ({sure})", value > 0)


def _negative(scheme: str) -> Measured:
    ux = _schemes("large")[scheme]["ux"]
    value = 100 * sum(ux[name] for name in ("annoying", "unacceptable", "unusable")) / sum(ux.values())
    return Measured(value, f"{value:.1f} %")


def _cpu(scheme: str, keys: tuple[str, ...], sign: int) -> Measured:
    rows = _schemes("large")
    ours, base = (sum(rows[name]["cpu_s"][key] for key in keys) for name in (scheme, NONE))
    value = 100 * (ours / base - 1)

    def more(scheme: Mean, none: Mean) -> float:
        return 100 * (sum(scheme(f"{key}_cpu_s") for key in keys) / sum(none(f"{key}_cpu_s") for key in keys) - 1)

    return Measured(value, f"{value:+.1f} % ({interval([rows[scheme], rows[NONE]], more, '+.1f')})", value * sign > 0)


def vanilla_gain_large() -> Measured:
    return _gain(VANILLA, "large")


def vanilla_gain_medium() -> Measured:
    return _gain(VANILLA, "medium")


def vanilla_gain_small() -> Measured:
    return _gain(VANILLA, "small")


def vanilla_in() -> Measured:
    return _mb(VANILLA, "in")


def vanilla_out() -> Measured:
    return _mb(VANILLA, "out")


def small_out() -> Measured:
    return _mb(VANILLA, "out", "small")


def small_in() -> Measured:
    return _mb(VANILLA, "in", "small")


def a2s_in_less() -> Measured:
    return _less("swap_in_bytes")


def a2s_out_less() -> Measured:
    return _less("swap_out_bytes")


def a2s_gain_percent() -> Measured:
    rows = _schemes("large")
    return _more_resumes(rows[A2S], rows[NONE])


def _more_resumes(row: dict[str, Any], none: dict[str, Any]) -> Measured:
    value = 100 * (row["resumes"] / none["resumes"] - 1)
    sure = interval([row, none], lambda swap, none: 100 * (swap("resumes") / none("resumes") - 1), "+.1f")
    return Measured(value, f"{value:+.1f} % ({sure})", value > 0)


def ess_least_gain_percent() -> Measured:
    rows, none = _sweep("t_live")
    return _more_resumes(rows[0], none)


def t_live_levels_off() -> Measured:
    rows, none = _sweep("t_live")
    resumes = dict(zip(SWEPT["t_live"], (row["resumes"] for row in rows), strict=True))
    base, most = none["resumes"], resumes[22]
    share = (resumes[18] - base) / (most - base) if most > base else 0.0
    return Measured(share, " ".join(f"{value:.1f}" for value in resumes.values()) + f" (no swap {base:.1f})", share > 0)


def t_reuse_reaches_vanilla() -> Measured:
    rows, base = _sweep("t_reuse")
    resumes, vanilla = [row["resumes"] for row in rows], base["resumes"]
    text = " ".join(f"{value:.1f}" for value in resumes) + f" (vanilla {vanilla:.1f})"
    return Measured(resumes[-1] / vanilla, text, resumes[-1] > resumes[0])


def t_live_grows() -> Measured:
    return _growing("t_live")


def t_reuse_grows() -> Measured:
    return _growing("t_reuse")


def _growing(key: str) -> Measured:
    """The share of steps of the sweep at which swap-out does not fall."""
    out = [row["swap_out_bytes"] / MB for row in _sweep(key)[0]]
    steps = [after >= before for before, after in zip(out, out[1:], strict=False)]
    return Measured(sum(steps) / len(steps), " ".join(f"{value:.0f}" for value in out) + " MB", out[-1] > out[0])


def negative_none() -> Measured:
    return _negative(NONE)


def negative_vanilla() -> Measured:
    return _negative(VANILLA)


def negative_a2s() -> Measured:
    return _negative(A2S)


def _class(scheme: str, name: str) -> float:
    ux = _schemes("large")[scheme]["ux"]
    return float(100 * ux[name] / sum(ux.values()))


def crisp_vanilla() -> Measured:
    ours, base = _class(VANILLA, "crisp"), _class(NONE, "crisp")
    return Measured(ours, f"{ours:.1f} % for {base:.1f} %", ours < base)


def unusable_vanilla() -> Measured:
    ours, a2s = _class(VANILLA, "unusable"), _class(A2S, "unusable")
    return Measured(ours, f"{ours:.2f} % and {a2s:.2f} %", ours > a2s)


def lifetimes_medium() -> Measured:
    below = _schemes("medium")[VANILLA]["entry_lifetime_s"]["below"]["1000"]
    return Measured(100 * (below or 0.0), "nothing swapped" if below is None else f"{100 * below:.1f} %", bool(below))


def lifetimes_vanilla() -> Measured:
    life = _schemes("large")[VANILLA]["entry_lifetime_s"]["below"]
    text = ", ".join(f"{100 * life[bound]:.1f} % below {bound} s" for bound in ("60", "1000", "2000"))
    return Measured(100 * life["2000"], text)


def never_a2s() -> Measured:
    rows = _schemes("large")
    ours, base = (100 * rows[name]["entry_lifetime_s"]["never"] for name in (A2S, VANILLA))
    return Measured(ours, f"{ours:.1f} % (vanilla {base:.1f} %)", ours > base)


def system_time() -> Measured:
    return _cpu(VANILLA, ("system",), 1)


def user_time() -> Measured:
    return _cpu(A2S, ("user",), -1)


def total_time() -> Measured:
    return _cpu(A2S, ("user", "system"), -1)


def _real() -> dict[str, dict[str, dict[str, Any]]]:
    """By user: the schemes on a window of the user's launches."""
    return {window.split("_")[-1][:3]: _schemes("large", str(REAL / window)) for window in WINDOWS}


def _real_less(key: str) -> Measured | None:
    """How much less of it A2S moves than vanilla swap, the least user with any."""
    if not REAL.is_dir():
        return None
    less = {user: 100 * (1 - rows[A2S][key] / rows[VANILLA][key]) if rows[VANILLA][key] else None for user, rows in _real().items()}
    text = ", ".join(f"{user} nothing swapped" if value is None else f"{user} {value:.1f} %" for user, value in less.items())
    least = min((value for value in less.values() if value is not None), default=0.0)
    return Measured(least, text, least > 0)


def real_out_less() -> Measured | None:
    return _real_less("swap_out_bytes")


def real_in_less() -> Measured | None:
    return _real_less("swap_in_bytes")


def real_gain() -> Measured | None:
    if not REAL.is_dir():
        return None
    gains = {user: 100 * (rows[A2S]["resumes"] / rows[NONE]["resumes"] - 1) for user, rows in _real().items()}
    text = ", ".join(
        f"{user} {gain:+.1f} %, vanilla {100 * (_real()[user][VANILLA]['resumes'] / _real()[user][NONE]['resumes'] - 1):+.1f} %"
        for user, gain in gains.items()
    )
    return Measured(min(gains.values()), text, max(gains.values()) > 0)


def real_negative() -> Measured | None:
    if not REAL.is_dir():
        return None
    bad = ("annoying", "unacceptable", "unusable")
    shares = {
        user: [100 * sum(rows[name]["ux"][one] for one in bad) / rows[name]["launches"] for name in (NONE, VANILLA, A2S)]
        for user, rows in _real().items()
    }
    text = "; ".join(
        f"{user} {none:.1f} % without swap, {vanilla:.1f} % vanilla, {a2s:.1f} % A2S" for user, (none, vanilla, a2s) in shares.items()
    )
    fewer = [none - a2s for none, _, a2s in shares.values()]
    return Measured(min(fewer), text, max(fewer) > 0)


def _miss_ratios(trace: Path) -> list[float]:
    """Share of launches that miss with 1, 2, .. 16 apps kept."""
    cold: list[int] = json.loads(_core.trace_analyze(trace, "{}", None))["reuse"]["cold_starts_by_live_apps"]
    return [cold[min(kept, len(cold) - 1)] / cold[0] for kept in range(1, 17)]


def _flattening(curves: dict[str, list[float]]) -> Measured:
    """What the 3rd cached app saves over what the 7th does, the least of the curves."""
    steps = {name: (curve[1] - curve[2]) / max(curve[5] - curve[6], 1e-9) for name, curve in curves.items()}
    said = (f"{name} {' '.join(f'{100 * curve[at - 1]:.1f}' for at in (1, 2, 3, 6, 7, 16))} %" for name, curve in curves.items())
    return Measured(min(steps.values()), f"misses with 1, 2, 3, 6, 7, 16 apps: {'; '.join(said)}", min(steps.values()) > 1)


def misses_flatten_real() -> Measured | None:
    if not REAL.is_dir():
        return None
    return _flattening({name.removesuffix(".csv"): _miss_ratios(REAL / name) for name in ("apps_vh1_full.csv", *WINDOWS)})


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
