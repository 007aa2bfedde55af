"""Recommendation of kernel and Android settings from finished runs: the effect of each varied
setting, and a better value if the evidence shows one.

A setting's value is compared with the baseline's between options that differ in nothing else, unit
by unit (a user, a trace, an app). Two swap schemes or killers are compared with equal settings of
their own, as far as both have these and such options were tried. It is recommended only if the
interval of the change lies below 0. Intervals hold for all comparisons of a call together
(Bonferroni's correction), so that a comparison of many values does not lead to a recommendation by
chance.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from statistics import fmean, stdev

from swaplab.analysis.outcomes import BY_PATH, OUTCOMES, notes_of
from swaplab.analysis.recommend.options import Option, options
from swaplab.analysis.recommend.result import CombinedEffects, Effect, Recommendation, SettingAdvice, ValueEffects
from swaplab.analysis.recommend.settings import SWAP, place_of
from swaplab.core.errors import BadInput
from swaplab.core.model import Document
from swaplab.core.statistics import FEWEST, LEVEL, student

__all__ = ["Recommendation", "recommend"]

#: By value of a setting, path of an outcome and unit: pairs of figures, the first with the
#: reference's value of the setting, the second with this value and nothing else changed.
Compared = dict[str, dict[str, dict[str, list[tuple[float, float]]]]]


def recommend(
    runs: Sequence[tuple[str, Document]],
    goal: str | None = None,
    baseline: str | None = None,
    *,
    each_draw: bool = False,
    only_from_baseline: bool = False,
) -> Recommendation:
    """Recommend settings from named documents.

    `goal`: path of the outcome to lower (default: the first that the runs have). `baseline`: name
    of the option in use now (default: the first of the first run). `each_draw`: of one recorded
    user, each draw of the apps' sizes is a unit. `only_from_baseline`: a value that was tried with
    all else as in the baseline is compared there only, not under other conditions, too. Raises
    BadInput for runs of different kinds, or runs in which no setting differs.
    """
    tried = options([document for _, document in runs], each_draw)
    if len({option.kind for option in tried}) > 1:
        raise BadInput("recommend: runs of different kinds; expected all of one kind: a model is not a measurement")
    now = _baseline(tried, baseline)
    rows = sum(len(document.rows) for _, document in runs)
    if len(tried) == 1:
        keys = sorted({key for _, document in runs for row in document.rows for key in row.point})
        problem = f"{rows} rows differ in no setting" + (f" (they vary {', '.join(keys)})" if keys else "")
        raise BadInput(
            f"recommend: {problem}; expected runs in which something that can be set differs, such as designs of several swap sizes"
        )
    aim = _goal(tried, goal)
    varied = list(
        dict.fromkeys(name for option in tried for name in option.settings if len({other.settings.get(name) for other in tried}) > 1)
    )
    varied.sort(key=lambda name: name != SWAP)
    references = {name: _reference(tried, now, name) for name in varied}
    pairs = {name: _pairs(tried, now, references[name], name) for name in varied}
    if only_from_baseline:
        owned = {setting: owner for option in tried for setting, owner in option.owner.items()}
        own = {name: {key: references.get(key) for key in owned if owned[key] == name} for name in varied}
        pairs = {name: _pairs_at_baseline(pairs[name], now, name, own[name]) for name in varied}
    compared = {name: _compared(pairs[name], name) for name in varied}
    trials = max(1, sum(len(values) for values in compared.values()))
    level = 1 - (1 - LEVEL) / trials
    advice = [_advice(name, now, references[name], values, aim, level) for name, values in compared.items()]
    _prefer_smaller_changes(advice, now, aim)
    chosen = {setting.name: setting.recommended for setting in advice if setting.recommended is not None}
    return Recommendation(
        kind=now.kind,
        goal=aim,
        confidence=LEVEL,
        comparisons=trials,
        baseline=now.name,
        options=len(tried),
        units=sorted({unit for option in tried for unit in option.outcomes}),
        settings=advice,
        together=_together(tried, now, chosen) if chosen else None,
        diff=_diff(advice, now, tried),
        warnings=list(dict.fromkeys(warning for _, document in runs for warning in notes_of(document))),
    )


def effect(path: str, pairs: Mapping[str, Sequence[tuple[float, float]]], level: float) -> Effect:
    """Compute the mean change from the first to the second figure of pairs, in percent of the first
    ones' mean, and its interval.

    `pairs`: by unit. Several pairs of one unit, under different conditions, are averaged and count
    as one. `level`: of the interval.
    """
    if not pairs:
        return Effect(path=path, percent=None, low=None, high=None, n=0)
    before = fmean(fmean(first for first, _ in unit_pairs) for unit_pairs in pairs.values())
    scale = 100 / before if before else 1.0
    changes = [scale * fmean(second - first for first, second in unit_pairs) for unit_pairs in pairs.values()]
    mean, n = fmean(changes), len(changes)
    if n < FEWEST:
        return Effect(path=path, percent=mean, low=None, high=None, n=n, absolute=not before)
    half = student(level, n - 1) * stdev(changes) / math.sqrt(n)
    return Effect(path=path, percent=mean, low=mean - half, high=mean + half, n=n, absolute=not before)


def _baseline(tried: list[Option], wanted: str | None) -> Option:
    if not tried:
        raise BadInput("recommend: no option counts; expected rows that are valid and that the trace's filter allows")
    matching = [option for option in tried if wanted is None or option.name == wanted]
    if not matching:
        names = list(dict.fromkeys(option.name for option in tried))
        raise BadInput(f"--baseline '{wanted}': no such option; expected one of: {'; '.join(names[:12])}")
    return matching[0]


def _goal(tried: list[Option], wanted: str | None) -> str:
    known = {path for option in tried for outcomes in option.outcomes.values() for path in outcomes}
    if wanted is not None and wanted not in known:
        paths = " ".join(outcome.path for outcome in OUTCOMES if outcome.path in known)
        raise BadInput(f"--goal '{wanted}': not in these runs; expected one of: {paths}")
    return wanted or next(outcome.path for outcome in OUTCOMES if outcome.path in known)


def _reference(tried: list[Option], now: Option, name: str) -> str | None:
    """Return the reference value of a setting: the baseline's, else that of the first option with
    this setting.

    A baseline may have no such setting, such as the size of a zRAM that it does not use.
    """
    return now.settings.get(name) or next((option.settings[name] for option in tried if name in option.settings), None)


def _pairs(tried: list[Option], now: Option, reference: str | None, name: str) -> list[tuple[Option, Option]]:
    """List the pairs of options that differ in one setting alone; the first has the reference's
    value.
    """

    def other_settings(option: Option) -> str:
        # Settings of a scheme or killer have no effect under another one, so they are ignored when
        # the choice itself is compared.
        ignored = {setting for setting, owner in option.owner.items() if owner == name}
        settings = sorted((key, value) for key, value in option.settings.items() if key != name and key not in ignored)
        other_parameters = sorted((choice, text) for choice, text in option.other_parameters.items() if choice != name)
        return json.dumps([option.conditions, settings, other_parameters])

    before: dict[str, list[Option]] = {}
    for option in tried:
        if option.settings.get(name) == reference:
            before.setdefault(other_settings(option), []).append(option)
    return [
        (old, option)
        for option in tried
        if option.settings.get(name) not in (None, reference)
        for old in _nearest(before.get(other_settings(option), []), option, now, name)
    ]


def _pairs_at_baseline(
    pairs: list[tuple[Option, Option]], now: Option, name: str, references: Mapping[str, str | None]
) -> list[tuple[Option, Option]]:
    """Keep the pairs that start at the baseline, for the values that have any.

    `references`: the values of the choice's own settings, which the second option must have if the
    baseline has none.
    """

    def is_single(old: Option, option: Option) -> bool:
        own = [setting for setting in references if setting in option.settings and setting not in now.settings]
        return old is now and all(references[setting] in (None, option.settings[setting]) for setting in own)

    single = [pair for pair in pairs if is_single(*pair)]
    covered = {option.settings[name] for _, option in single}
    return single + [pair for pair in pairs if pair[1].settings[name] not in covered]


def _compared(pairs: list[tuple[Option, Option]], name: str) -> Compared:
    compared: Compared = {}
    for old, option in pairs:
        for unit in option.outcomes.keys() & old.outcomes.keys():
            for path in option.outcomes[unit].keys() & old.outcomes[unit].keys():
                pair = (old.outcomes[unit][path], option.outcomes[unit][path])
                compared.setdefault(option.settings[name], {}).setdefault(path, {}).setdefault(unit, []).append(pair)
    return compared


def _nearest(options_before: list[Option], option: Option, now: Option, name: str) -> list[Option]:
    """Return those options whose settings of the scheme or killer `name` are the same as in
    `option`, else the baseline's, else all.

    Without this, no swap would be compared with the mean over all sizes of zram that were tried.
    """

    def has_same_settings(old: Option) -> bool:
        owned = [setting for setting, owner in old.owner.items() if owner == name]
        return all(old.settings[setting] == option.settings.get(setting, now.settings.get(setting)) for setting in owned)

    return [old for old in options_before if has_same_settings(old)] or options_before


def _advice(name: str, now: Option, reference: str | None, values: Compared, aim: str, level: float) -> SettingAdvice:
    """Compare every value of one setting with the reference's, and choose the value to set, if
    any.
    """
    effects = {
        value: {outcome.path: effect(outcome.path, by_path[outcome.path], level) for outcome in OUTCOMES if outcome.path in by_path}
        for value, by_path in values.items()
    }
    aimed = {value: by_path[aim] for value, by_path in effects.items() if aim in by_path}
    better = sorted((result.percent or 0.0, value) for value, result in aimed.items() if result.better)
    chosen = better[0][1] if better else None

    def change(item: tuple[str, dict[str, Effect]]) -> float:
        return (item[1][aim].percent or 0.0) if aim in item[1] else 0.0

    return SettingAdvice(
        name=name,
        set_by=place_of(name),
        now=now.settings.get(name),
        reference=reference,
        recommended=chosen,
        keep=bool(aimed) and all(result.worse for result in aimed.values()),
        why=_reason(aim, aimed, chosen),
        values=[ValueEffects(value=value, effects=list(by_path.values())) for value, by_path in sorted(effects.items(), key=change)],
    )


def _prefer_smaller_changes(advice: Sequence[SettingAdvice], now: Option, aim: str) -> None:
    """Do not recommend another scheme or killer if a setting of the current one does as much: if
    the intervals of the two changes meet.
    """

    def best(setting: SettingAdvice) -> Effect | None:
        effects = [effect for value in setting.values if value.value == setting.recommended for effect in value.effects]
        return next((effect for effect in effects if effect.path == aim), None)

    for choice in advice:
        if (of_choice := best(choice)) is None:
            continue
        for setting in advice:
            of_setting = best(setting) if now.owner.get(setting.name) == choice.name else None
            if of_setting is not None and _intervals_overlap(of_choice, of_setting) and _intervals_overlap(of_setting, of_choice):
                text = f"{choice.recommended}: {of_choice.text(BY_PATH[aim].words)}"
                choice.why = f"keep it: {setting.name} = {setting.recommended} is not shown to do less ({text})"
                choice.recommended, choice.keep = None, True
                break


def _reason(aim: str, aimed: dict[str, Effect], chosen: str | None) -> str:
    words = BY_PATH[aim].words
    if not aimed:
        return "no two options differ in this setting alone"
    if chosen is not None:
        best = aimed[chosen]
        rivals = [value for value, result in aimed.items() if value != chosen and result.better and _intervals_overlap(result, best)]
        return best.text(words) + (f"; not separated from {', '.join(sorted(rivals))}" if rivals else "")
    value, best = min(aimed.items(), key=lambda item: item[1].percent or 0.0)
    if best.n < FEWEST:
        return f"no recommendation: {best.n} {'unit' if best.n == 1 else 'units'}, and fewer than {FEWEST} say nothing about others"
    if all(result.is_zero for result in aimed.values()):
        return f"no effect: {words} is the same with {', '.join(sorted(aimed))}"
    if all(result.worse for result in aimed.values()):
        return f"keep it: every other value is worse ({value}: {best.text(words)})"
    return f"no recommendation: the evidence does not separate the values ({value}: {best.text(words)})"


def _intervals_overlap(first: Effect, second: Effect) -> bool:
    return first.low is not None and second.high is not None and first.low <= second.high


def _together(tried: list[Option], now: Option, chosen: Mapping[str, str]) -> CombinedEffects | None:
    """Compute the effect of all chosen values, if a run tried them together; single effects
    need not add up.
    """
    wanted = {**now.settings, **chosen}
    for option in tried:
        if all(option.settings.get(name) == value for name, value in wanted.items() if name in chosen or name not in now.owner):
            units = option.outcomes.keys() & now.outcomes.keys()
            pairs_by_path = {
                outcome.path: {
                    unit: [(now.outcomes[unit][outcome.path], option.outcomes[unit][outcome.path])]
                    for unit in units
                    if outcome.path in option.outcomes[unit]
                }
                for outcome in OUTCOMES
                if any(outcome.path in now.outcomes[unit] for unit in units)
            }
            return CombinedEffects(option=option.name, effects=[effect(path, pairs, LEVEL) for path, pairs in pairs_by_path.items()])
    return None


def _diff(advice: Sequence[SettingAdvice], now: Option, tried: Sequence[Option]) -> str:
    """Format the recommended changes like `diff -u`; empty if nothing is recommended.

    A setting of a scheme or killer that will not be in use is left out, as it would have no effect.
    """
    chosen = {setting.name: setting.recommended for setting in advice if setting.recommended is not None}
    owners = {setting: owner for option in tried for setting, owner in option.owner.items()}

    def is_in_use(setting: str, owner: str) -> bool:
        choice = chosen.get(owner, now.settings.get(owner))
        return any(option.settings.get(owner) == choice and setting in option.settings for option in tried)

    lines = []
    for setting in advice:
        owner = owners.get(setting.name)
        if owner is not None and not is_in_use(setting.name, owner):
            continue
        # A scheme that is recommended comes with those of its settings that it was compared with.
        value = setting.recommended or (setting.reference if setting.now is None and owner is not None else None)
        if value is None:
            continue
        lines += [f"-{setting.name} = {setting.now}"] if setting.now is not None else []
        lines += [f"+{setting.name} = {value}"]
    return "\n".join(["--- now", "+++ recommended", *lines]) if lines else ""
