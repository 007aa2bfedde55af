"""Measures of A2S' claims: on the simulated phone, by generated launches (means over seeds) and real ones; in a kernel under virtual
time."""

from __future__ import annotations

import json
import math
import tempfile
import tomllib
from functools import cache
from pathlib import Path

from swaplab import _core
from swaplab.analysis.papers import Mean, Measured, data_folder, interval, ratio, rows_in_vm, rows_of
from swaplab.core import experiment as experiments
from swaplab.core.document import figure
from swaplab.core.model import Design, Lifetimes, Row

HERE = Path(__file__).resolve().parent
WINDOWS = ("apps256_small_vh1.csv", "apps256_medium_vh2.csv")
SWEPT: dict[str, list[int]] = tomllib.loads((HERE / "experiment.toml").read_text())["sweep"]
SEEDS: int = tomllib.loads((HERE / "experiment.toml").read_text())["seeds"]
NONE, VANILLA, A2S = "no swap", "vanilla flash swap", "A2S"
FLASH = "flash:size=1024MiB"
RESUMES, IN, OUT = "launches.resumes", "paging.swap_in_bytes", "paging.swap_out_bytes"
CPU = {"user": "time.cpu_user_ns", "system": "time.cpu_system_ns"}
NEGATIVE = ("annoying", "unacceptable", "unusable")
MB = 1e6


@cache
def _designs(workload: str, launches: str = "") -> dict[str, Row]:
    """The three designs that claims are about, of a preset, by name; on other launches if given (one run: they are not drawn)."""
    changes = [f"workload.launches={launches}", "run.seeds=1"] if launches else []
    wanted = experiments.read(f"a2s-{workload}", changes)
    kept = [one for one in wanted.design if one.name in (NONE, VANILLA, A2S)]
    return rows_of(wanted.model_copy(update={"design": kept}))


@cache
def _sweep(key: str) -> tuple[list[Row], Row]:
    """The large workload with one threshold varied and the other condition off; and what that is compared with, on the same seeds."""
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


def _share(row: Row, *classes: str) -> float:
    """Percent of launches of these classes of what a user feels."""
    return 100 * sum(_value(row, f"launches.ux.{name}") for name in classes) / _value(row, "launches.count")


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
    sure = interval([rows[scheme], rows[NONE]], lambda swap, none: swap(RESUMES) - none(RESUMES), "+.1f")
    return Measured(value, f"{value:+.1f} ({sure}; {without:.1f} without swap)", value > 0)


def _less(path: str) -> Measured:
    rows = _designs("large")
    value = 100 * (1 - _value(rows[A2S], path) / _value(rows[VANILLA], path))
    sure = interval([rows[A2S], rows[VANILLA]], lambda a2s, vanilla: 100 * (1 - a2s(path) / vanilla(path)))
    return Measured(value, f"{value:.1f} % ({sure})", value > 0)


def _negative(scheme: str) -> Measured:
    value = _share(_designs("large")[scheme], *NEGATIVE)
    return Measured(value, f"{value:.1f} %")


def _cpu(scheme: str, keys: tuple[str, ...], sign: int) -> Measured:
    rows = _designs("large")
    ours, base = (sum(_value(rows[name], CPU[key]) for key in keys) for name in (scheme, NONE))
    value = 100 * (ours / base - 1)

    def more(scheme: Mean, none: Mean) -> float:
        return 100 * (sum(scheme(CPU[key]) for key in keys) / sum(none(CPU[key]) for key in keys) - 1)

    return Measured(value, f"{value:+.1f} % ({interval([rows[scheme], rows[NONE]], more, '+.1f')})", value * sign > 0)


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
    sure = interval([row, none], lambda swap, none: 100 * (swap(RESUMES) / none(RESUMES) - 1), "+.1f")
    return Measured(value, f"{value:+.1f} % ({sure})", value > 0)


def ess_least_gain_percent() -> Measured:
    rows, none = _sweep("t_live")
    return _more_resumes(rows[0], none)


def t_live_levels_off() -> Measured:
    rows, none = _sweep("t_live")
    resumes = dict(zip(SWEPT["t_live"], (_value(row, RESUMES) for row in rows), strict=True))
    base, most = _value(none, RESUMES), resumes[22]
    share = (resumes[18] - base) / (most - base) if most > base else 0.0
    return Measured(share, " ".join(f"{value:.1f}" for value in resumes.values()) + f" (no swap {base:.1f})", share > 0)


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


def negative_none() -> Measured:
    return _negative(NONE)


def negative_vanilla() -> Measured:
    return _negative(VANILLA)


def negative_a2s() -> Measured:
    return _negative(A2S)


def _class(scheme: str, name: str) -> float:
    return _share(_designs("large")[scheme], name)


def crisp_vanilla() -> Measured:
    ours, base = _class(VANILLA, "crisp"), _class(NONE, "crisp")
    return Measured(ours, f"{ours:.1f} % for {base:.1f} %", ours < base)


def unusable_vanilla() -> Measured:
    ours, a2s = _class(VANILLA, "unusable"), _class(A2S, "unusable")
    return Measured(ours, f"{ours:.2f} % and {a2s:.2f} %", ours > a2s)


def lifetimes_medium() -> Measured:
    below = _lifetimes(_designs("medium")[VANILLA]).below["1000"]
    return Measured(100 * (below or 0.0), "nothing swapped" if below is None else f"{100 * below:.1f} %", bool(below))


def lifetimes_vanilla() -> Measured:
    life = {bound: share or 0.0 for bound, share in _lifetimes(_designs("large")[VANILLA]).below.items()}
    text = ", ".join(f"{100 * life[bound]:.1f} % below {bound} s" for bound in ("60", "1000", "2000"))
    return Measured(100 * life["2000"], text)


def never_a2s() -> Measured:
    rows = _designs("large")
    ours, base = (100 * (_lifetimes(rows[name]).never or 0.0) for name in (A2S, VANILLA))
    return Measured(ours, f"{ours:.1f} % (vanilla {base:.1f} %)", ours > base)


def system_time() -> Measured:
    return _cpu(VANILLA, ("system",), 1)


def user_time() -> Measured:
    return _cpu(A2S, ("user",), -1)


def total_time() -> Measured:
    return _cpu(A2S, ("user", "system"), -1)


def _real(folder: Path) -> dict[str, dict[str, Row]]:
    """By user: the designs on a window of the user's launches."""
    return {window.split("_")[-1][:3]: _designs("large", str(folder / window)) for window in WINDOWS}


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
    return Measured(least, text, least > 0)


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
    return Measured(min(ours), text, max(ours) > 0)


def real_negative() -> Measured | None:
    if (folder := _recorded()) is None:
        return None
    shares = {user: [_share(rows[name], *NEGATIVE) for name in (NONE, VANILLA, A2S)] for user, rows in _real(folder).items()}
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
    if (folder := _recorded()) is None:
        return None
    return _flattening({name.removesuffix(".csv"): _miss_ratios(folder / name) for name in ("apps_vh1_full.csv", *WINDOWS)})


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


def _in_vm(*designs: str) -> list[Row]:
    rows = rows_in_vm("a2s")
    return [rows[design] for design in designs]


def _vm_less(path: str) -> Measured:
    moved = ratio(_in_vm(A2S, VANILLA), path)
    return Measured(100 * (1 - moved.value), f"{100 * (1 - moved.value):.1f} % ({moved.text})", moved.is_below(1))


def vm_in_less() -> Measured:
    return _vm_less(IN)


def vm_out_less() -> Measured:
    return _vm_less(OUT)


def _vm_gain(design: str) -> Measured:
    resumes = ratio(_in_vm(design, NONE), RESUMES, ".3f")
    return Measured(100 * (resumes.value - 1), f"{100 * (resumes.value - 1):+.1f} % ({resumes.text})", resumes.value > 1)


def vm_vanilla_gain() -> Measured:
    return _vm_gain(VANILLA)


def vm_a2s_gain() -> Measured:
    return _vm_gain(A2S)


def _vm_delay(design: str, than: str) -> Measured:
    delay = ratio(_in_vm(design, than), "launches.delay_ms.mean")
    return Measured(delay.value, delay.text)


def vm_vanilla_delay() -> Measured:
    return _vm_delay(VANILLA, NONE)


def vm_a2s_delay() -> Measured:
    return _vm_delay(A2S, NONE)


def vm_a2s_delay_to_vanilla() -> Measured:
    return _vm_delay(A2S, VANILLA)
