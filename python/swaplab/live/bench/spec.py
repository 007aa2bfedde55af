"""What a user writes: an app (a TOML file with command, ready test and request) and an experiment over apps. Unknown keys are refused."""

from __future__ import annotations

import difflib
import json
import random
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator, model_validator

from swaplab import BadInput

UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "kB": 10**3, "MB": 10**6, "GB": 10**9, "p": 4096}


def parse_size(text: object) -> int:
    """Bytes of `64MiB`; interface.md's units."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*", str(text))
    if isinstance(text, int) and not isinstance(text, bool):
        return text
    if not found or found[2] not in UNITS or float(found[1]) <= 0:
        raise ValueError(f"'{text}' is no size; expected a size such as 64MiB or 4096p")
    return int(float(found[1]) * UNITS[found[2]])


Size = Annotated[int, BeforeValidator(parse_size)]


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


class Use(Strict):
    """An app of an experiment: a known app, or the path of an app file, with values of its own."""

    use: str
    name: str = ""
    #: That many of it, named name-1, name-2, ..., with seeds of their own where it has a seed.
    count: int = Field(default=1, ge=1, le=200)
    set: dict[str, str | int | float] = {}


class Zipf(Strict):
    """Launches drawn by popularity 1 / rank^alpha over the apps in their order; an app is not launched twice in a row (A2S, Table 1)."""

    launches: int = Field(ge=1)
    alpha: float = Field(ge=0)
    seed: int = 1


class Killer(Strict):
    """The low-memory killer's settings, by lmkd's names where it has them."""

    #: Free memory and file pages below this share of the limit is low memory.
    min_free_percentage: float = Field(default=6, ge=0, le=100)
    #: Free swap below this share of all swap is low swap.
    swap_free_low_percentage: float = Field(default=10, ge=0, le=100)
    #: Refaults of file pages within a second, in percent of the file pages, that are thrashing.
    thrashing_limit: float = Field(default=100, gt=0)
    #: Thrashing counts only with at least this stall within the second.
    psi_partial_stall_ms: float = Field(default=70, ge=0)
    poll_ms: float = Field(default=10, gt=0)


class Experiment(Strict):
    """What `swaplab bench` runs."""

    name: str
    about: str = ""
    memory: Size
    swap: list[Size] = Field(min_length=1)
    schemes: list[str] = Field(min_length=1)
    apps: list[Use] = Field(min_length=1)
    #: round-robin, the names of the apps in the order in which they are launched, or a draw.
    order: Literal["round-robin"] | list[str] | Zipf = "round-robin"
    rounds: int = Field(default=3, ge=1)
    warm_up_rounds: int = Field(default=1, ge=0)
    repetitions: int = Field(default=2, ge=1)
    foreground_seconds: float = Field(default=0.05, ge=0)
    page_cluster: int | None = Field(default=None, ge=0, le=10)
    swappiness: int = Field(default=60, ge=0, le=200)
    zram_algorithm: str = "lz4"
    #: Empty: as the machine has it.
    zswap_algorithm: str = ""
    #: extra: memory that a swap area takes (RAM disk, zram's pool) comes on top of `memory`; within: it is taken out of `memory`.
    pool_memory: Literal["extra", "within"] = "extra"
    #: Who may be swapped out: everyone (none), or as A2S says. One configuration each, where there is swap.
    app_policies: list[Literal["none", "ess", "lvsp", "a2s"]] = Field(default=["none"], min_length=1)
    #: More apps alive than this and the one used longest ago goes (Android's cached processes limit).
    live_limit: int | None = Field(default=None, ge=1)
    killer: Killer = Killer()
    #: Measure microbenchmarks first and say how well they predict this experiment.
    calibrate: bool = True
    seed: int = 1


def _load(kind: type[App] | type[Experiment], text: str, place: str, **more: Any) -> Any:
    language, parse = ("JSON", json.loads) if place.endswith(".json") else ("TOML", tomllib.loads)
    try:
        found = parse(text)
        if not isinstance(found, dict):
            raise BadInput(f"{place}: a list or a value; expected an object")
        return kind.model_validate({**found, **more})
    except (tomllib.TOMLDecodeError, json.JSONDecodeError) as error:
        raise BadInput(f"{place}: {error}; expected {language}") from error
    except ValidationError as error:
        raise BadInput(f"{place}: {describe(error, kind)}") from error


def describe(error: ValidationError, kind: type[BaseModel]) -> str:
    """The first of a model's complaints in one line, with the nearest known key for an unknown one."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        known = sorted({key for model in (kind, Step, Use, Killer, Zipf) for key in model.model_fields})
        near = difflib.get_close_matches(str(first["loc"][-1]), known, 1)
        return f"unknown key '{where}'; expected {near[0] if near else 'one of ' + ', '.join(kind.model_fields)}"
    message = first["msg"].removeprefix("Value error, ")
    return f"{where}: {message}" + ("" if "expected" in message else f" (found {str(first['input'])[:60]!r})")


def built_in(folder: str) -> dict[str, Path]:
    """The TOML files that come with us, by name."""
    return {path.stem: path for path in sorted((Path(__file__).parents[1] / folder).glob("*.toml"))}


def _text(given: str, folder: str, what: str) -> tuple[str, str]:
    known = built_in(folder)
    path = known.get(given, Path(given))
    try:
        return path.read_text(), str(given)
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8 text"
        near = difflib.get_close_matches(given, known, 1)
        raise BadInput(
            f"{given}: {why}; expected {what}, a file or one of {', '.join(known)}{f' (did you mean {near[0]}?)' if near else ''}"
        ) from error


def load_experiment(given: str) -> Experiment:
    """A built-in experiment by name, or a file."""
    text, place = _text(given, "experiments", "an experiment")
    experiment: Experiment = _load(Experiment, text, place)
    return experiment


def load_apps(experiment: Experiment, place: str) -> list[App]:
    """The experiment's apps with their own values set; names are unique."""
    apps = []
    for use in experiment.apps:
        text, at = _text(use.use, "apps", "an app")
        app: App = _load(App, text, at)
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
    if isinstance(experiment.order, list):
        strangers = [name for name in experiment.order if name not in names]
        if strangers:
            raise BadInput(f"{place}: order: '{strangers[0]}'; expected names of apps: {', '.join(names)}")
    return apps


def launches(experiment: Experiment, apps: list[App]) -> list[str]:
    """The apps' names in the order of one round's visits."""
    names = [app.name for app in apps]
    if isinstance(experiment.order, list):
        return experiment.order
    if isinstance(experiment.order, str):
        return names
    dice, drawn = random.Random(experiment.order.seed), [""]
    weights = [1 / rank**experiment.order.alpha for rank in range(1, len(names) + 1)]
    while len(drawn) <= experiment.order.launches:
        (name,) = dice.choices(names, weights)
        if name != drawn[-1] or len(names) == 1:
            drawn.append(name)
    return drawn[1:]
