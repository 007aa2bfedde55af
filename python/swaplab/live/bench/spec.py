"""What a bench is given: apps (TOML files with command, ready test and request), and an experiment's `[bench]` table."""

from __future__ import annotations

import difflib
import random
import re
import tomllib
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from swaplab import BadInput
from swaplab._core import size_bytes
from swaplab.config import Bench, Experiment
from swaplab.experiment import read_experiment


class Strict(BaseModel):
    """Refuses what it doesn't know."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Step(Strict):
    """Send a text, wait for a pattern. Named groups of the pattern become `${name}` of later steps; the group `bad` counts wrong pages."""

    send: str = ""
    expect: str = ""

    @field_validator("expect")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"'{pattern}' is no regular expression ({error})") from error
        return pattern


class App(Strict):
    """A program and how to talk to it."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,40}$")
    about: str = ""
    #: What a phone starts, `PACKAGE/ACTIVITY`; it needs no command, ready test and request, for Android says when it is there.
    activity: str = Field(default="", pattern=r"^([\w.]+/[\w.$]+)?$")
    command: list[str] = []
    #: stdio: lines on standard input and output; pipe: NUL-ended messages on descriptors 3 and 4; unix: a socket `${dir}/socket`.
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
    def _whole(self) -> App:
        missing = [key for key in ("command", "ready", "request") if not getattr(self, key)]
        if missing and not self.activity:
            raise ValueError(f"no {missing[0]}; expected command, ready and request, or the activity of a phone's app")
        return self

    def fill(self, text: str, variables: dict[str, str]) -> str:
        """`text` with each `${name}` replaced; any other dollar is itself."""
        known = {**self.set, **variables}

        def value(found: re.Match[str]) -> str:
            if found[1] not in known:
                raise BadInput(f"app {self.name}: '{found[0]}' is unknown; expected one of {', '.join(sorted(known))}")
            return known[found[1]]

        return re.sub(r"\$\{(\w+)\}", value, text)


def _app(text: str, place: str) -> App:
    try:
        return App.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{place}: {error}; expected TOML") from error
    except ValidationError as error:
        raise BadInput(f"{place}: {describe(error)}") from error


def describe(error: ValidationError) -> str:
    """The first complaint about an app file in one line, with the nearest known key for an unknown one."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        known = sorted({*App.model_fields, *Step.model_fields})
        near = difflib.get_close_matches(str(first["loc"][-1]), known, 1)
        return f"unknown key '{where}'; expected {near[0] if near else 'one of ' + ', '.join(App.model_fields)}"
    message = first["msg"].removeprefix("Value error, ")
    return f"{where}: {message}" + ("" if "expected" in message else f" (found {str(first['input'])[:60]!r})")


def built_in(folder: str) -> dict[str, Path]:
    """The TOML files that come with us, by name."""
    return {path.stem: path for path in sorted((Path(__file__).parents[1] / folder).glob("*.toml"))}


def load_experiment(given: str, set: list[str] | None = None) -> Experiment:
    """A built-in experiment by name, or a file, with `key=value` changes; it has a `[bench]`."""
    known = built_in("experiments")
    path = known.get(given, Path(given))
    if not path.is_file() and (near := difflib.get_close_matches(given, known, 1)):
        raise BadInput(f"{given}: no such file; expected an experiment file or one of {', '.join(known)} (did you mean {near[0]}?)")
    return of_bench(read_experiment(path, set), given)


def of_bench(resolved: dict[str, Any], place: str) -> Experiment:
    """The typed form of a resolved experiment that has a `[bench]`."""
    if not resolved.get("bench"):
        raise BadInput(f"{place}: no [bench] table; expected an experiment of `swaplab bench`")
    return Experiment.model_validate(resolved)


def table(experiment: Experiment) -> Bench:
    """The experiment's `[bench]`."""
    assert experiment.bench is not None, "whoever read it has looked"
    return experiment.bench


def changed(experiment: Experiment, **values: object) -> Experiment:
    """The experiment with other values of its `[bench]`."""
    return experiment.model_copy(update={"bench": table(experiment).model_copy(update=values)})


def dumped(experiment: Experiment) -> dict[str, Any]:
    """The resolved experiment, as manifests keep it and another machine reads it."""
    return experiment.model_dump(mode="json", exclude_none=True)


def listed(values: str | list[str]) -> list[str]:
    """One or many as a list."""
    return [values] if isinstance(values, str) else values


def swap_sizes(bench: Bench) -> list[int]:
    """Bytes of each swap size."""
    return [size_bytes("bench.swap", size) for size in listed(bench.swap)]


def memory_bytes(bench: Bench) -> int:
    """Bytes of the apps' limit."""
    return size_bytes("bench.memory", bench.memory)


def app_text(use: str) -> str:
    """The text of an app: one that comes along, by name, or a file."""
    known = built_in("apps")
    try:
        return known.get(use, Path(use)).read_text()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8 text"
        near = difflib.get_close_matches(Path(use).name, known, 1)
        raise BadInput(
            f"{use}: {why}; expected an app, a file or one of {', '.join(known)}{f' (did you mean {near[0]}?)' if near else ''}"
        ) from error


def load_apps(bench: Bench, place: str) -> list[App]:
    """The bench's apps with their own values set; names are unique."""
    apps = []
    for use in bench.apps:
        app = _app(app_text(use.use), use.use)
        unknown = [key for key in use.set if key not in app.set]
        if unknown:
            raise BadInput(
                f"{place}: app {use.name or use.use}: unknown value '{unknown[0]}'; expected one of {', '.join(app.set) or 'none'}"
            )
        values = {**app.set, **{key: str(value) for key, value in use.set.items()}}
        name = use.name or app.name
        if use.count == 1:
            apps.append(app.model_copy(update={"set": values, "name": name}))
            continue
        for number in range(1, use.count + 1):
            own = {**values, "seed": str(number)} if "seed" in values else values
            apps.append(app.model_copy(update={"set": own, "name": f"{name}-{number}"}))
    names = [app.name for app in apps]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise BadInput(f"{place}: two apps are named '{twice[0]}'; expected `name` to tell them apart")
    if isinstance(bench.order, list):
        strangers = [name for name in bench.order if name not in names]
        if strangers:
            raise BadInput(f"{place}: order: '{strangers[0]}'; expected names of apps: {', '.join(names)}")
    return apps


def launches(bench: Bench, apps: list[App]) -> list[str]:
    """The apps' names in the order of one round's visits."""
    names = [app.name for app in apps]
    if isinstance(bench.order, list):
        return bench.order
    if isinstance(bench.order, str):
        return names
    dice, drawn = random.Random(bench.order.seed), [""]
    weights = [1 / rank**bench.order.alpha for rank in range(1, len(names) + 1)]
    while len(drawn) <= bench.order.launches:
        (name,) = dice.choices(names, weights)
        if name != drawn[-1] or len(names) == 1:
            drawn.append(name)
    return drawn[1:]
