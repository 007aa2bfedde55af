"""Real programs as apps: TOML files with a command, a ready test and a request, and the order in
which they are launched.
"""

from __future__ import annotations

import difflib
import hashlib
import re
import tomllib
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from swaplab._core import launch_round
from swaplab.core.bases import FrozenModel
from swaplab.core.errors import BadInput
from swaplab.core.experiment import dumped
from swaplab.core.model import Experiment, Input, LaunchTable, Use

#: The folder of the app files that swaplab includes.
FOLDER = Path(__file__).parents[1] / "presets" / "apps"


class Step(FrozenModel):
    """A text to send and a pattern to wait for. Its named groups become `${name}` of later steps;
    the group `bad` counts wrong pages.
    """

    send: str = ""
    expect: str = ""

    @field_validator("expect")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"'{pattern}' is not a regular expression ({error})") from error
        return pattern


class App(FrozenModel):
    """A program, and the protocol to communicate with it."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,40}$")
    about: str = ""
    #: The activity that a phone starts, `PACKAGE/ACTIVITY`. It needs no command, ready test or
    #: request: Android reports when it is drawn.
    activity: str = Field(default="", pattern=r"^([\w.]+/[\w.$]+)?$")
    command: list[str] = []
    #: stdio: lines on standard input and output; pipe: NUL-terminated messages on descriptors 3 and
    #: 4; unix: the socket `${dir}/socket`.
    channel: Literal["stdio", "pipe", "unix"] = "stdio"
    #: Values of `${key}` in the command, the files and the steps.
    set: dict[str, str] = {}
    #: Files written into `${dir}` before the app starts.
    files: dict[str, str] = {}
    ready: list[Step] = []
    request: list[Step] = []
    work: list[Step] = []
    check: list[Step] = []
    ready_seconds: float = Field(default=30, gt=0)
    request_seconds: float = Field(default=30, gt=0)

    @model_validator(mode="after")
    def _require_program(self) -> App:
        missing = [key for key in ("command", "ready", "request") if not getattr(self, key)]
        if missing and not self.activity:
            raise ValueError(f"no {missing[0]}; expected command, ready and request, or the activity of a phone's app")
        return self

    def fill(self, text: str, variables: dict[str, str]) -> str:
        """Replace each `${name}` in `text` by its value; other dollar signs are kept."""
        known = {**self.set, **variables}

        def value(variable: re.Match[str]) -> str:
            if variable[1] not in known:
                raise BadInput(f"app {self.name}: '{variable[0]}' is unknown; expected one of {', '.join(sorted(known))}")
            return known[variable[1]]

        return re.sub(r"\$\{(\w+)\}", value, text)


def built_in() -> dict[str, Path]:
    """Return the paths of the app files that swaplab includes, by name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.toml"))}


def read_app(text: str, place: str) -> App:
    """Parse the text of an app file; `place` names the file in errors."""
    try:
        return App.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{place}: {error}; expected TOML") from error
    except ValidationError as error:
        raise BadInput(f"{place}: {_first_error(error)}") from error


def _first_error(error: ValidationError) -> str:
    """Format the first validation error of an app file as one line; an unknown key is reported with
    the nearest known key.
    """
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        known = sorted({*App.model_fields, *Step.model_fields})
        near = difflib.get_close_matches(str(first["loc"][-1]), known, 1)
        return f"unknown key '{where}'; expected {near[0] if near else 'one of ' + ', '.join(App.model_fields)}"
    message = first["msg"].removeprefix("Value error, ")
    return f"{where}: {message}" + ("" if "expected" in message else f" (found {str(first['input'])[:60]!r})")


def app_text(use: str) -> str:
    """Read the text of an app file, given by the name of an included one or by path."""
    known = built_in()
    try:
        return known.get(use, Path(use)).read_text("utf-8")
    except (OSError, ValueError) as error:
        why = "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else getattr(error, "strerror", None) or "no name of a file"
        near = difflib.get_close_matches(Path(use).name, known, 1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise BadInput(f"app {use!a}: {why}; expected a file or one of {', '.join(known)}{hint}") from error


def programs(experiment: Experiment) -> list[Use]:
    """Return the experiment's list of real programs. Raises BadInput if `workload.apps` is not such
    a list.
    """
    apps = experiment.workload.apps
    if not isinstance(apps, list):
        raise BadInput(f'{experiment.name}: workload.apps: not a list of programs; expected entries such as {{ use = "redis" }}')
    return apps


def load_apps(experiment: Experiment) -> list[App]:
    """Load the experiment's apps in order, with their own values set; names are unique. A bare
    command is an app without tests.
    """
    apps = [app for use in programs(experiment) for app in _apps_of(use)]
    names = [app.name for app in apps]
    if twice := [name for name in names if names.count(name) > 1]:
        raise BadInput(f"{experiment.name}: two apps are named '{twice[0]}'; expected another `name` for one of them")
    order = launch_table(experiment).order
    if isinstance(order, list) and (strangers := [name for name in order if name not in names]):
        raise BadInput(f"{experiment.name}: workload.launches.order: '{strangers[0]}'; expected names of apps: {', '.join(names)}")
    return apps


def _apps_of(use: Use) -> list[App]:
    """Expand one entry of the list into its apps: `count` instances."""
    given = {key: str(value) for key, value in (use.model_extra or {}).items()}
    if use.command:
        if given:
            raise BadInput(
                f"app {use.command[0]}: '{next(iter(given))}' together with a command; expected `use` with an app file that has it"
            )
        bare = Path(use.command[0]).name
        app = App.model_construct(name=use.name or bare, command=use.command)
    else:
        app = read_app(app_text(use.use), use.use)
    if unknown := [key for key in given if key not in app.set]:
        raise BadInput(f"app {use.name or use.use}: unknown value '{unknown[0]}'; expected one of {', '.join(app.set) or 'none'}")
    values, name = {**app.set, **given}, use.name or app.name
    if use.count == 1:
        return [app.model_copy(update={"set": values, "name": name})]
    seeds = [{**values, "seed": str(number)} if "seed" in values else values for number in range(1, use.count + 1)]
    return [app.model_copy(update={"set": own, "name": f"{name}-{number}"}) for number, own in enumerate(seeds, 1)]


def launch_table(experiment: Experiment) -> LaunchTable:
    """Return the experiment's table of launches, or the defaults."""
    launches = experiment.workload.launches
    return launches if isinstance(launches, LaunchTable) else LaunchTable()


def launch_order(table: LaunchTable, apps: list[App]) -> list[str]:
    """Return the names of the apps in the order of one round of launches, which is the same in
    every world.
    """
    return launch_round(dumped(table), [app.name for app in apps])


def inputs(experiment: Experiment) -> list[Input]:
    """List the app files that the experiment reads, including those of swaplab."""
    uses = dict.fromkeys(use.use for use in programs(experiment) if use.use)
    hashes = {use: hashlib.sha256(app_text(use).encode()).hexdigest() for use in uses}
    return [Input(path=use, name=Path(use).name, kind="app", content_hash=digest) for use, digest in hashes.items()]


def workload_name(experiment: Experiment) -> str:
    """Return the name of the workload in rows: the apps' names, or their number."""
    names = [use.name or Path(use.use or use.command[0]).stem for use in programs(experiment)]
    count = sum(use.count for use in programs(experiment))
    return " ".join(names) if count == len(names) <= 6 else f"{count} apps"
