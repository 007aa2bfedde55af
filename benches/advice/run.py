"""Advice checked in a kernel: for each user, today's design and the advised one in a guest of the
world `vm`, paired by seed.

`python -m benches.advice.run --recorded FOLDER` takes the users of a folder of CSV lists of
launches and writes benches/advice/RESULTS.md. Advice is derived on the simulated phone
`android-15`. Guest and apps are that phone's divided by one factor. Guests run one at a time.
"""

from __future__ import annotations

import argparse
import csv
import os
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

from swaplab import _core
from swaplab.analysis import advise as advice
from swaplab.analysis.advise import Phone
from swaplab.analysis.outcomes import BY_PATH
from swaplab.analysis.recommend import effect
from swaplab.analysis.recommend.result import Effect
from swaplab.core import experiment as experiments
from swaplab.core import launch_list
from swaplab.core.errors import BadInput
from swaplab.core.model import AppModels, AppSize, Background, Experiment, Row, VmRun
from swaplab.worlds import run
from swaplab.worlds.result import Options

MIB = 1 << 20
GUEST_MIB = 256
OUT = Path(__file__).parent / "RESULTS.md"
SHOWN = ("launches.delay_ms.mean", "launches.cold", "launches.kills")
LEVEL = 0.95
#: Two of a user's designs must not run on a machine that is busy with something else: a guest's
#: limit of wall time may end it.
MOST_LOAD = 4.0


@dataclass(frozen=True)
class User:
    """A user's launches, as a list in swaplab's own format."""

    name: str
    launches: Path
    apps: tuple[str, ...]
    #: Median time from one launch to the next.
    interval_s: float

    def most_launched(self) -> list[str]:
        return [app for app, _ in Counter(self.apps).most_common()]


def user_of(source: Path, target: Path, first: int) -> User:
    """Read the first launches of a list."""
    launch_list.convert(source, target, launch_list.parse_columns(None), first)
    with target.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    times = [float(row["t_s"]) for row in rows]
    interval_s = median(later - earlier for earlier, later in pairwise(times))
    return User(source.stem, target, tuple(row["app"] for row in rows), interval_s)


def advised(user: User, base: Experiment, now: Phone, draws: int, jobs: int) -> tuple[Phone, str]:
    """Derive the advised phone on the simulated one, and the diff; an empty diff means that nothing
    is advised.
    """
    wanted = experiments.resolve(advice.experiment(base, str(user.launches), draws, now), "advise")
    documents = [run(part, Options(jobs=jobs), place="advise").document for part in advice.parts(wanted, jobs or 1)]
    recommendation = advice.advise(advice.joined(documents))
    chosen = [f"{setting.name}={setting.recommended}" for setting in recommendation.settings if setting.recommended is not None]
    return (advice.current(base, chosen) if chosen else now), recommendation.diff


def size_bytes(text: str) -> float:
    return float(_core.size_bytes("size", text))


def app_of(name: str, number: int, size: AppSize, models: AppModels, factor: float) -> dict[str, str | float | int]:
    """Build an app of the guest: the anonymous and file pages of its kind, divided by `factor`.
    Graphics memory is left out.
    """
    anon, file = size_bytes(size.anon), size_bytes(size.file)
    return {
        "use": "phone-app",
        "name": name,
        "footprint": f"{max(1, round((anon + file) / factor / MIB))}MiB",
        "file_share": round(file / (anon + file), 2),
        "hot_share": models.resume_share,
        "write_ratio": models.write_share,
        "seed": number,
    }


def compaction(user: User, base: Experiment, phone: Phone, factor: float) -> Background:
    """Build the guest's app compaction: sizes divided by `factor`, and the time after which an app
    is compacted by how much faster launches follow each other in the guest.
    """
    of_phone = base.machine.background
    faster = user.interval_s / _core.span_seconds("run.vm.think", VmRun().think)
    return Background(
        compact=phone.compact,
        compact_after=f"{_core.span_seconds('machine.background.compact_after', of_phone.compact_after) / faster:.3f}s",
        compact_full_rss_throttle_kb=round(of_phone.compact_full_rss_throttle_kb / factor),
        compact_full_delta_rss_throttle_kb=round(of_phone.compact_full_delta_rss_throttle_kb / factor),
    )


def guest_experiment(user: User, base: Experiment, phone: Phone, name: str, seeds: int, kernel: str) -> Experiment:
    """Build the experiment of one design in the scaled guest."""
    models = base.workload.apps
    if not isinstance(models, AppModels):
        raise BadInput("workload.apps: no models; expected a preset of the simulated phone")
    factor = size_bytes(base.machine.dram or "0") / (GUEST_MIB * MIB)
    sizes = {"l": models.light, "m": models.medium, "h": models.heavy, "g": models.game}
    kinds = [sizes[letter] for letter in models.kinds]
    # The phone gives kinds in the order of popularity, too.
    apps = [app_of(app, at + 1, kinds[at % len(kinds)], models, factor) for at, app in enumerate(user.most_launched())]
    killer = phone.killer
    if minimum := dict(killer.parameters).get("filecache_min_kb"):
        killer = killer.with_parameters(filecache_min_kb=str(round(int(minimum) / factor)))
    swappiness = int(dict(phone.policy.parameters).get("swappiness", 60))
    return experiments.build(
        name=name,
        machine={
            "dram": f"{GUEST_MIB}MiB",
            "kernel": {"swappiness": swappiness, "page_cluster": 0},
            "devices": {"flash": "ufs-3.1"},
            "background": compaction(user, base, phone, factor).model_dump(exclude_unset=True),
        },
        design=[{"name": name, "swap": phone.swap.text, "killer": killer.text}],
        workload={"apps": apps, "launches": {"order": list(user.apps), "rounds": 1, "warm_up": 0, "foreground": "20ms"}},
        run={
            "on": ["vm"],
            "seeds": seeds,
            "vm": {
                "kernel": kernel,
                "mglru": phone.policy.key == "mglru",
                "system": f"{round(size_bytes(models.system.anon) / factor / MIB)}MiB",
                "limit": "guest",
                "verify": False,
            },
        },
    )


def measured(user: User, base: Experiment, phone: Phone, name: str, seeds: int, kernel: str) -> Row:
    """Run one design, one guest at a time."""
    return run(guest_experiment(user, base, phone, name, seeds, kernel), Options(jobs=1), place=name).document.rows[0]


def paired(now: Row, then: Row, path: str) -> Effect:
    """Compute the change of a figure with its interval over the seeds."""
    before = {draw.seed: draw.figures[path] for draw in now.by_seed}
    return effect(path, {str(draw.seed): [(before[draw.seed], draw.figures[path])] for draw in then.by_seed}, LEVEL)


def lines_of(user: User, diff: str, effects: Sequence[Effect]) -> list[str]:
    """Format a user's part of the table."""
    changes = "; ".join(line[1:] for line in diff.splitlines() if line.startswith("+") and not line.startswith("+++"))
    if not effects:
        return [f"| {user.name} | nothing is advised | - | - |"]
    return [f"| {user.name} | {changes} | {BY_PATH[one.path].words} | {one.text('').strip()} |" for one in effects]


def page(rows: Sequence[str], kernel: str, seeds: int, first: int) -> str:
    head = [
        "# Advice, checked in a kernel",
        "",
        f"Made by `python -m benches.advice.run`: {first} launches a user, kernel `{kernel}` in the world `vm`, {seeds} seeds a design,",
        f"paired. `android-15` and its apps are divided by one factor to a guest of {GUEST_MIB} MiB; graphics memory and the system's file",
        "pages are left out, and a launch lasts 20 ms in front. Apps are compacted after as many launches as on the phone.",
        "Changes are from today's design to the advised one, with",
        f"{100 * LEVEL:g} % intervals over seeds of one user: nothing is shown about other users, nor about 8 GB.",
        "",
        "| user | advised on the simulated phone | figure in the guest | change |",
        "|---|---|---|---|",
    ]
    return "\n".join([*head, *rows]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recorded", type=Path, required=True, help="a folder of CSV lists of launches")
    parser.add_argument("--users", type=int, default=2)
    parser.add_argument("--first", type=int, default=64, help="launches of a user")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=1, help="threads of the simulated phone")
    parser.add_argument("--kernel", default="debian-6.12")
    parser.add_argument("--advised", action="append", default=[], metavar="SETTING=VALUE", help="check this, whatever is advised")
    given = parser.parse_args()
    if (load := os.getloadavg()[0]) >= MOST_LOAD:
        raise SystemExit(f"load average {load:.1f}; expected less than {MOST_LOAD:g}: guests would take long")
    os.nice(10)
    base = experiments.read("android-15")
    now = advice.current(base, [])
    rows: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for source in sorted(given.recorded.glob("*.csv"))[: given.users]:
            user = user_of(source, Path(folder) / source.name, given.first)
            if given.advised:
                then, diff = advice.current(base, given.advised), "\n".join(f"+{text}" for text in given.advised)
            else:
                then, diff = advised(user, base, now, given.draws, given.jobs)
            effects = []
            if then != now:
                before, after = (
                    measured(user, base, phone, name, given.seeds, given.kernel) for phone, name in ((now, "now"), (then, "then"))
                )
                effects = [paired(before, after, path) for path in SHOWN]
            rows += lines_of(user, diff, effects)
            print(rows[-1], flush=True)
            # The page is written after each user, so that a stopped run keeps its results.
            OUT.write_text(page(rows, given.kernel, given.seeds, given.first))


if __name__ == "__main__":
    main()
