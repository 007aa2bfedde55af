"""Which conclusions of the simulated phone hold over the ranges of its assumed parameters: `papers/NAME/sensitivity.toml`.

One parameter is varied at a time, to either end of its range, and each conclusion compares two schemes in that phone. A conclusion that
fails anywhere in its range is not stated; where neither scheme did any of what is compared, the phone says nothing about it.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from typing import Any

from swaplab import BadInput, _core
from swaplab.model import sim
from swaplab.papers import folder
from swaplab.sweep.design import Point, points

Row = dict[str, Any]
HEAD = "## Sensitivity"


def table(name: str, seeds: int | None = None, jobs: int = 0, listener: Callable[[int, int], None] | None = None) -> dict[str, Any]:
    """The document of `swaplab papers sensitivity NAME`: `phones`, each with a ratio for each conclusion, and what holds in all of them."""
    place = folder() / name / "sensitivity.toml"
    if not place.is_file():
        known = sorted(path.parent.name for path in folder().glob("*/sensitivity.toml"))
        raise BadInput(f"papers: no sensitivity of '{name}'; expected one of: {' '.join(known)}")
    wanted: Row = tomllib.loads(place.read_text())
    cases: list[tuple[str, str, dict[str, Any]]] = [("as assumed", "", {})]
    for parameter in wanted["parameter"]:
        cases += [(parameter["name"], end, parameter[end]) for end in ("low", "high")]
    phones: list[Row] = []
    for (parameter, end, changes), point in zip(cases, _phones(wanted, [changes for _, _, changes in cases], seeds), strict=True):
        if listener is not None:
            listener(len(phones), len(cases))
        rows = {row["name"]: row for row in sim.run(point.experiment, jobs)["schemes"]}
        found = [_ratio(rows, conclusion) for conclusion in wanted["conclusion"]]
        phones.append({"parameter": parameter, "end": end, "set": changes, "ratios": found})
    conclusions: list[Row] = []
    for at, conclusion in enumerate(wanted["conclusion"]):
        ratios: list[float | None] = [phone["ratios"][at] for phone in phones]
        compared = [ratio for ratio in ratios if ratio is not None]
        holds = sum(ratio > 1 if conclusion.get("more") else ratio < 1 for ratio in compared)
        keys = ("claim", "of", "than", "what")
        conclusions.append(
            {
                **{key: conclusion[key] for key in keys},
                "more": bool(conclusion.get("more")),
                "holds": holds,
                "phones": len(compared),
                "least": min(compared, default=None),
                "most": max(compared, default=None),
                "stated": bool(compared) and holds == len(compared),
            }
        )
    return {
        "schema": 1,
        "kind": "simulated",
        "paper": name,
        "preset": wanted["preset"],
        "seeds": seeds or wanted["seeds"],
        "conclusions": conclusions,
        "phones": phones,
    }


def _phones(wanted: Row, changes: list[dict[str, Any]], seeds: int | None) -> list[Point]:
    """The preset with each set of changes, as a sweep over a list makes them."""
    from swaplab.cli.init import PRESETS

    place = PRESETS / f"{wanted['preset']}.toml"
    experiment = json.loads(_core.experiment_from_toml(str(place), place.read_text(), [f"sim.seeds={seeds or wanted['seeds']}"]))
    experiment["sim"]["schemes"] = [one for one in experiment["sim"]["schemes"] if one["name"] in wanted["schemes"]]
    return points(experiment | {"sweep": {"design": "list", "list": changes}}, wanted["preset"])


def _ratio(rows: dict[str, Row], conclusion: Row) -> float | None:
    """`of` relative to `than`; None where there is nothing to compare."""
    of, than = (_value(rows[conclusion[key]], conclusion["what"]) for key in ("of", "than"))
    return None if of is None or not than else of / than


def _value(row: Row, path: str) -> float | None:
    value: Any = row
    for key in path.split("."):
        value = value[key]
    return value if value is None else float(value)


def markdown(found: dict[str, Any]) -> str:
    """The table as it stands in `papers/NAME/README.md`."""
    conclusions = found["conclusions"]
    lines = [
        HEAD,
        "",
        f"`swaplab papers sensitivity {found['paper']}` makes these: `{found['preset']}`, {found['seeds']} seeds, one assumed parameter at "
        f"a time at either end of its range (`sensitivity.toml`), {len(found['phones'])} phones. A ratio is the first scheme's figure over "
        "the second's. A conclusion is stated only if it holds in every phone in which there was anything to compare.",
        "",
        "| conclusion | compared | ratio as assumed | over the ranges | holds in | stated |",
        "|---|---|---|---|---|---|",
    ]
    for at, one in enumerate(conclusions):
        base = found["phones"][0]["ratios"][at]
        span = f"{_said(one['least'])} to {_said(one['most'])}"
        compared = f"{one['of']} / {one['than']}, `{one['what']}`"
        stated = "yes" if one["stated"] else "no"
        lines.append(f"| {one['claim']} | {compared} | {_said(base)} | {span} | {one['holds']} of {one['phones']} | {stated} |")
    lines += ["", f"| parameter | {' | '.join(one['claim'] for one in conclusions)} |", f"|{'---|' * (len(conclusions) + 1)}"]
    for phone in found["phones"]:
        cells = []
        for ratio, one in zip(phone["ratios"], conclusions, strict=True):
            fails = ratio is not None and not (ratio > 1 if one["more"] else ratio < 1)
            cells.append(f"**{_said(ratio)}**" if fails else _said(ratio))
        lines.append(f"| {phone['parameter']}{', ' + phone['end'] if phone['end'] else ''} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", "Bold: the conclusion does not hold there."]) + "\n"


def _said(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.3f}"
