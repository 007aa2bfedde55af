"""What to set, and how sure: each kernel or Android setting that runs varied, its effect, and a recommendation where one stands out.

A setting's value is compared with the baseline's in options that differ in nothing else, unit by unit (a user, a trace, an app), and only
recommended if the interval of the change lies below 0. Intervals hold for all comparisons of a call together (Bonferroni), so trying many
values earns no recommendation by chance.
"""

from __future__ import annotations

from typing import Any

from swaplab import BadInput
from swaplab.recommend.evidence import FEWEST, Effect, effect
from swaplab.recommend.knobs import KNOBS, Settings
from swaplab.recommend.options import OUTCOMES, Option, join, options
from swaplab.run_folder import reading

__all__ = ["recommend"]

LEVEL = 0.95


def recommend(runs: list[tuple[str, dict[str, Any]]], goal: str | None = None, baseline: str | None = None) -> dict[str, Any]:
    """The recommendation of named documents. `goal`: an outcome that is to be less; `baseline`: the option that runs now, by name
    (default: the first of the first run).
    """
    parts = []
    for name, document in runs:
        with reading(name):
            parts.append(options(document, name))
    tried = join(parts)
    if len({one.kind for one in tried}) > 1:
        raise BadInput("recommend: runs of different kinds; expected all simulated or all measured: a model is not a measurement")
    now = _baseline(tried, baseline)
    aim = _goal(tried, goal)
    varied = [knob for knob in KNOBS if len({one.settings.get(knob) for one in tried}) > 1]
    compared = {knob: _compared(tried, now.settings, knob) for knob in varied}
    trials = max(1, sum(len(values) for values in compared.values()))
    level = 1 - (1 - LEVEL) / trials
    knobs = [_knob(knob, now.settings.get(knob), values, aim, level) for knob, values in compared.items()]
    chosen = {one["name"]: one["recommended"] for one in knobs if one["recommended"] is not None}
    return {
        "schema": 1,
        "kind": now.kind,
        "recommendation": {
            "goal": aim,
            "confidence": LEVEL,
            "comparisons": trials,
            "baseline": {"name": now.name, "settings": now.settings},
            "options": len(tried),
            "units": sorted({unit for one in tried for unit in one.outcomes}),
            "settings": knobs,
            "together": _together(tried, now, chosen, aim) if chosen else None,
            "diff": _diff(knobs),
        },
    }


def _baseline(tried: list[Option], wanted: str | None) -> Option:
    if not tried:
        raise BadInput("recommend: no option counts; expected points that the trace's filter allows")
    found = [one for one in tried if wanted is None or one.name == wanted]
    if not found:
        names = list(dict.fromkeys(one.name for one in tried))
        raise BadInput(f"--baseline '{wanted}': no such option; expected one of: {'; '.join(names[:12])}")
    return found[0]


def _goal(tried: list[Option], wanted: str | None) -> str:
    known = {key for one in tried for outcomes in one.outcomes.values() for key in outcomes}
    if wanted is not None and wanted not in known:
        raise BadInput(f"--goal '{wanted}': not in these runs; expected one of: {' '.join(key for key in OUTCOMES if key in known)}")
    return wanted or next(key for key in OUTCOMES if key in known)


#: By value of a setting, outcome and unit: pairs of options that differ in that setting alone, with the baseline's value and with this.
Compared = dict[str, dict[str, dict[str, list[tuple[float, float]]]]]


def _compared(tried: list[Option], now: Settings, knob: str) -> Compared:
    def rest(one: Option) -> tuple[Any, ...]:
        # Files of zram say nothing where swap is another: there `swap` alone differs.
        apart = {name for name in one.settings if name.startswith("/sys/block/zram0/")} if knob == "swap" else set()
        same = sorted((name, value) for name, value in one.settings.items() if name != knob and name not in apart)
        return (one.beside, *same)

    before: dict[tuple[Any, ...], list[Option]] = {}
    for one in tried:
        if one.settings.get(knob) == now.get(knob):
            before.setdefault(rest(one), []).append(one)
    found: Compared = {}
    for one in tried:
        value = one.settings.get(knob)
        if value is None or value == now.get(knob):
            continue
        for old in before.get(rest(one), []):
            for unit in one.outcomes.keys() & old.outcomes.keys():
                for outcome in one.outcomes[unit].keys() & old.outcomes[unit].keys():
                    pair = (old.outcomes[unit][outcome], one.outcomes[unit][outcome])
                    found.setdefault(value, {}).setdefault(outcome, {}).setdefault(unit, []).append(pair)
    return found


def _knob(knob: str, now: str | None, values: Compared, aim: str, level: float) -> dict[str, Any]:
    """One setting: every value against the baseline's, and the one to set, if any."""
    effects = {value: {key: effect(key, found[key], level) for key in OUTCOMES if key in found} for value, found in values.items()}
    aimed = {value: found[aim] for value, found in effects.items() if aim in found}
    better = sorted((one.percent or 0.0, value) for value, one in aimed.items() if one.better)
    chosen = better[0][1] if better else None
    return {
        "name": knob,
        "set_by": KNOBS[knob],
        "now": now,
        "recommended": chosen,
        "why": _why(aim, aimed, chosen),
        "values": [
            {"value": value, "effects": [one.document() for one in found.values()]}
            for value, found in sorted(effects.items(), key=lambda item: (item[1][aim].percent or 0.0) if aim in item[1] else 0.0)
        ],
    }


def _why(aim: str, aimed: dict[str, Effect], chosen: str | None) -> str:
    words = OUTCOMES[aim]
    if not aimed:
        return "no two options differ in this setting alone"
    if chosen is not None:
        rivals = [value for value, one in aimed.items() if value != chosen and one.better and _meet(one, aimed[chosen])]
        beside = f"; not told apart from {', '.join(sorted(rivals))}" if rivals else ""
        return aimed[chosen].said(words) + beside
    value, best = min(aimed.items(), key=lambda item: item[1].percent or 0.0)
    if best.n < FEWEST:
        return f"no recommendation: {best.n} units, and fewer than {FEWEST} say nothing of others"
    if all(one.worse for one in aimed.values()):
        return f"keep it: every other value is worse ({value}: {best.said(words)})"
    return f"no recommendation: the evidence does not separate the values ({value}: {best.said(words)})"


def _meet(one: Effect, other: Effect) -> bool:
    return one.low is not None and other.high is not None and one.low <= other.high


def _together(tried: list[Option], now: Option, chosen: Settings, aim: str) -> dict[str, Any] | None:
    """The recommended settings at once, where a run tried them: parts that help alone need not add up."""
    wanted = now.settings | chosen
    for one in tried:
        if one.beside == now.beside and all(one.settings.get(knob) == value for knob, value in wanted.items()):
            units = one.outcomes.keys() & now.outcomes.keys()
            found = {
                key: {unit: [(now.outcomes[unit][key], one.outcomes[unit][key])] for unit in units if key in one.outcomes[unit]}
                for key in OUTCOMES
                if any(key in now.outcomes[unit] for unit in units)
            }
            return {"option": one.name, "effects": [effect(key, pairs, LEVEL).document() for key, pairs in found.items()], "goal": aim}
    return None


def _diff(knobs: list[dict[str, Any]]) -> str:
    """As `diff -u` would say it; empty where nothing is recommended."""
    lines = []
    for one in knobs:
        if one["recommended"] is not None:
            lines += [f"-{one['name']} = {one['now']}"] if one["now"] is not None else []
            lines += [f"+{one['name']} = {one['recommended']}"]
    return "\n".join(["--- now", "+++ recommended", *lines]) if lines else ""
