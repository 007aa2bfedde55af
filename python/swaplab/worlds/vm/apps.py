"""Apps of a guest: app files with the command `swaplab-app`, whose options are the access feature
of crates/app-sim.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, fields

from pydantic import TypeAdapter, ValidationError

from swaplab._core import size_bytes
from swaplab.core.errors import BadInput
from swaplab.worlds.apps import App, Step
from swaplab.worlds.kernel.configuration import Configuration

PROGRAM = "swaplab-app"
PAGE = 4096


@dataclass(frozen=True)
class Feature:
    """The access feature of an app, with the names and defaults of `swaplab-app`'s options."""

    footprint: str = "48MiB"
    file_share: float = 0.25
    hot_share: float = 0.25
    write_ratio: float = 0.3
    compressibility: float = 0.6
    launch_set: float = 0.6
    resume_set: float = 0.3
    hot_first: bool = False
    run: int = 8
    saved_pages: int = 0
    seed: int = 1

    @property
    def file_pages(self) -> int:
        """Pages of the app's files."""
        return int(size_bytes("footprint", self.footprint) // PAGE * self.file_share) + self.saved_pages


@dataclass(frozen=True)
class GuestApp:
    """An app: its feature, its request at a resume, its request for use in the foreground, and
    whether it runs a service.
    """

    name: str
    feature: Feature
    request: str
    work: str
    service: bool


@dataclass(frozen=True)
class System:
    """The process that models the system's processes: it uses `pages` pages every period, and
    stalls as apps do.
    """

    name: str
    feature: Feature
    period_ns: int
    pages: int


def guest_apps(of: Configuration) -> list[GuestApp]:
    """List the apps in order. `machine.limits.services` of them, drawn at random, run a service."""
    names = [app.name for app in of.apps]
    wanted = min(of.experiment.machine.limits.services, len(names))
    services = set(random.Random(of.experiment.run.seed).sample(names, wanted))
    return [GuestApp(app.name, _feature(app), _line(app, app.request), _line(app, app.work), app.name in services) for app in of.apps]


def _feature(app: App) -> Feature:
    words = [app.fill(word, {"dir": "", "name": app.name}) for word in app.command]
    if words[:1] != [PROGRAM]:
        raise BadInput(f"app {app.name}: command: '{' '.join(words[:1])}'; expected {PROGRAM}: a guest has no other program")
    values: dict[str, str | bool] = {}
    rest = iter(words[1:])
    for option in rest:
        name = option.removeprefix("--").replace("-", "_")
        values[name] = True if name == "hot_first" else next(rest, "")
    values.pop("data", None)
    known = {field.name for field in fields(Feature)}
    if unknown := next((name for name in values if name not in known), None):
        raise BadInput(f"app {app.name}: command: --{unknown.replace('_', '-')}; expected options of {PROGRAM}")
    try:
        return TypeAdapter(Feature).validate_python(values)
    except ValidationError as error:
        first = error.errors()[0]
        raise BadInput(f"app {app.name}: {first['loc'][0]}: '{first['input']}': {first['msg']}; expected a value of {PROGRAM}") from None


def _line(app: App, steps: list[Step]) -> str:
    """Return the text that an app is sent in its only step. The step's pattern is not used, as
    answers have a fixed form.
    """
    if len(steps) > 1:
        raise BadInput(f"app {app.name}: {len(steps)} steps; expected one: in a guest an app answers each request with one line")
    return app.fill(steps[0].send, {"dir": "", "name": app.name}).strip() if steps else ""


def system(of: Configuration, period_ns: int) -> System | None:
    """Return the system's process; None if `run.vm.system` is 0."""
    size = of.experiment.run.vm.system
    if size == "0":
        return None
    return System("system", Feature(size, launch_set=1.0, file_share=0.4, saved_pages=4, seed=9), period_ns, 64)
