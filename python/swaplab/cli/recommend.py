"""`swaplab recommend`: what to set on a device, and how sure that is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from swaplab.cli import options as o
from swaplab.cli.parser import Parser


def register(app: Parser) -> None:
    """Add the subcommand."""
    command = app.command("recommend", recommend)
    text = "Run folders or JSON documents of sim, bench, sweep, replay --scheme."
    command.add_argument("runs", metavar="RUN..", nargs="+", type=Path, help=text)
    text = "What is to be less: launch_ms (default), stall_ms, cold_starts, kills, energy_j, .."
    command.add_argument("--goal", metavar="OUTCOME", help=text)
    command.add_argument("--baseline", metavar="NAME", help="The option that is set now; default: the first.")
    command.add_argument("--html", type=Path, help="Also write the recommendation as one offline HTML page.")
    o.add_json(command)


def recommend(runs: list[Path], goal: str | None, baseline: str | None, html: Path | None, as_json: bool) -> None:
    """Recommend zram, swappiness, watermarks and lmkd settings from finished runs, as a diff with its evidence; nothing where the evidence
    does not separate the options."""
    from swaplab.recommend import recommend as recommended
    from swaplab.run_folder import read_run, replace, run_name

    named = [(run_name(run), read_run(run)) for run in runs]
    document = recommended(named, goal, baseline)
    if html is not None:
        from swaplab.report import page

        replace(html, page(", ".join(name for name, _ in named), [("recommendation", document)]).encode())
    print(json.dumps(document, indent=2)) if as_json else _say(document)


def _say(document: dict[str, Any]) -> None:
    from swaplab.recommend.options import OUTCOMES

    found = document["recommendation"]
    print(found["diff"] or "nothing is recommended: no setting stands out")
    print()
    for one in found["settings"]:
        print(f"{one['name']} = {one['now'] or '-'}" + (f" -> {one['recommended']}" if one["recommended"] is not None else ""))
        print(f"    {one['why']}")
        for value in one["values"]:
            if value["value"] == one["recommended"]:
                for other in value["effects"]:
                    if other["outcome"] != found["goal"] and other["separated"]:
                        unit = "" if other["absolute"] else " %"
                        print(
                            f"    {OUTCOMES[other['outcome']]} {other['percent']:+.1f}{unit} ({other['low']:+.1f} to {other['high']:+.1f})"
                        )
    if found["together"]:
        [aim] = [one for one in found["together"]["effects"] if one["outcome"] == found["goal"]]
        print(f"all at once ({found['together']['option']}): {OUTCOMES[found['goal']]} {aim['percent']:+.1f} %, n = {aim['n']}")
    elif found["diff"].count("\n+") > 2:
        print("all at once was not tried: effects of single settings need not add up")
    print(
        f"{document['kind']}; {found['options']} options, {len(found['units'])} units; intervals hold at {100 * found['confidence']:g} % "
        f"for all {found['comparisons']} comparisons together; against '{found['baseline']['name']}'"
    )
