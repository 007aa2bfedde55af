"""`swaplab trace model`: an app's model for the simulated phone, from a capture."""

from __future__ import annotations

import json
from pathlib import Path

from swaplab.cli import options as o
from swaplab.cli.parser import Parser
from swaplab.cli.progress import bar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def register(parent: Parser) -> None:
    """Add the subcommand."""
    command = parent.command("model", model)
    text = "One to four captures with --label launch --label resume; the smallest app is 'light'."
    command.add_argument("traces", metavar="TRACE..", nargs="+", type=Path, help=text)
    o.add_output(command, "OUT.toml", "The experiment to write, for swaplab sim.")
    o.add_format(command)
    o.add_json(command)


def model(traces: list[Path], output: Path, format: str | None, as_json: bool) -> None:
    """Fit app models (launch and resume sets, sizes, shares) to captures; judge them by each one's last resume."""
    from swaplab import _core
    from swaplab.run_folder import replace

    with bar(f"reading {traces[0].name}") as listener:
        found = json.loads(_core.app_model(traces, o.reading(format), listener))
    text = experiment(found)
    _core.experiment_from_toml(output.name, text, [])
    replace(output, text.encode())
    if as_json:
        print(json.dumps({"schema": 1, **found, "output": str(output)}, indent=2))
        return
    for capture in found["captures"]:
        print("\n".join(about(capture)))
    print(f"app models in {output}")


def experiment(found: dict[str, Any]) -> str:
    """The fitted table as an experiment that runs: the small workload with these apps, without swap and with it."""
    from swaplab.fit import KINDS, toml

    notes = ["Written by `swaplab trace model`. What a key means: `swaplab schema`."]
    for capture in found["captures"]:
        notes += [*about(capture), f"  trace: {capture['content_hash']}"]
    notes.append("A capture knows neither times nor graphics memory: these keep the defaults, which are assumed.")
    shares = ("spread", "resume_share", "warm_share", "warm_probability", "file_hot_share", "write_share")
    kinds = [KINDS[letter] for letter in found["apps"]["kinds"]]
    apps = {key: found["apps"][key] for key in ("kinds", *shares, *kinds)}
    schemes = [{"name": "no swap", "swap": "none"}, {"name": "flash swap", "swap": "flash:size=1024MiB"}]
    return toml(notes, {"launches": "small", "seeds": 1, "apps": apps, "schemes": schemes})


def about(capture: dict[str, Any]) -> list[str]:
    """One captured app in lines for people: sizes in pages of 4 KiB, shares, and the fit's error."""
    shares, error, launch, resumes = (capture[key] for key in ("shares", "error", "launch", "resumes"))
    held = "without the last resume, it" if error["held_out"] else "IN SAMPLE, as there is one resume: it"
    mean = {key: sum(resume[key] for resume in resumes) / len(resumes) for key in ("anon", "file", "written")}
    return [
        f"{capture['name']}: holds {capture['anon_pages']:,} anonymous and {capture['file_pages']:,} file pages",
        f"  launch set {launch['anon']:,} + {launch['file']:,} pages; "
        f"{len(resumes)} resumes of {mean['anon']:,.0f} + {mean['file']:,.0f} pages each",
        f"  resume share {shares['resume_share']:.3f}, warm {shares['warm_share']:.3f} at {shares['warm_probability']:.3f}, "
        f"hot file share {shares['file_hot_share']:.3f}, write share {shares['write_share']:.3f}",
        f"  fit's error: {held} predicts {error['anon']:+.1%} of its anonymous, {error['file']:+.1%} of its file pages, "
        f"{error['written']:+.1%} of its writes; "
        f"{error['hot_used']:.1%} of the hot pages were used, {error['known']:.1%} of the used ones known",
    ]
