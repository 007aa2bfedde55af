"""An experiment's file as a request of the world `vm`. It goes as soon as requests are made of the typed `Experiment`.

Of the file it reads `[machine]`, `[[design]]`, `[workload]` and `[run]`, each key by the name that `request.py` gives it.
"""

from __future__ import annotations

import itertools
import random
import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from swaplab import BadInput
from swaplab._core import size_bytes
from swaplab.worlds.vm.request import App, Design, Devices, Kernel, Launches, Limits, Machine, Request, Spec, VmRun

_UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "min": 60_000_000_000, "s": 1_000_000_000}


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Kernel(_Table):
    mglru: bool = True
    swappiness: int = 100
    page_cluster: int = 0
    watermark_scale_factor: int | None = None
    extra_free: str = "0B"
    read_ahead: str = "128KiB"
    dirty_background_ratio: int = 10
    dirty_ratio: int = 20


class _Machine(_Table):
    dram: str
    kernel: _Kernel = _Kernel()
    devices: Devices = Devices()
    limits: Limits = Limits()


class _Design(_Table):
    name: str = ""
    policy: str = "system"
    swap: str | list[str]
    app_policy: str | list[str] = "none"
    killer: str | dict[str, str | int | list[int]] | None = None


class _Draw(_Table):
    launches: int = Field(ge=1)
    alpha: float
    seed: int = 1


class _Launches(_Table):
    order: str | list[str] | _Draw = "round-robin"
    rounds: int = 3
    warm_up: int = 1
    foreground: str = "50ms"


class _Use(BaseModel):
    model_config = ConfigDict(extra="allow")
    use: str = "swaplab-app"
    name: str = ""
    count: int = Field(default=1, ge=1)


class _Workload(_Table):
    apps: list[_Use]
    launches: _Launches = _Launches()


class _Vm(_Table):
    kernel: str = "debian-6.12"
    cpus: int = 1
    gips: float = 1.0
    shift: str = "5us"
    think: str = "20ms"
    system: str = "24MiB"
    system_period: str = "100ms"
    virtual_limit: str = "3600s"
    wall_limit: str = "1800s"
    verify: bool = True
    events: list[str] = []
    block_devices: str = "driver"


class _Run(_Table):
    on: list[str]
    seed: int = 0
    seeds: int = 5
    vm: _Vm = _Vm()


class _File(_Table):
    name: str = ""
    machine: _Machine
    design: list[_Design]
    workload: _Workload
    run: _Run


def read(path: Path) -> Request:
    """The request of a file; errors name the file and the key."""
    try:
        whole = _File.model_validate(tomllib.loads(path.read_text()))
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}; expected an experiment file") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: {error}; expected TOML") from error
    except ValidationError as error:
        first = error.errors()[0]
        raise BadInput(f'{path}: {".".join(map(str, first["loc"]))}: {first["msg"]}; expected what `[run] on = ["vm"]` takes') from error
    try:
        return _request(whole, path)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        raise BadInput(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def _request(whole: _File, path: Path) -> Request:
    kernel, vm = whole.machine.kernel, whole.run.vm
    apps = [app for use in whole.workload.apps for app in _apps(use)]
    machine = Machine(
        dram=size_bytes("machine.dram", whole.machine.dram),
        kernel=Kernel(
            **kernel.model_dump(exclude={"extra_free", "read_ahead"}),
            extra_free=_size("machine.kernel.extra_free", kernel.extra_free),
            read_ahead=_size("machine.kernel.read_ahead", kernel.read_ahead),
        ),
        devices=whole.machine.devices,
        limits=whole.machine.limits,
    )
    launches = whole.workload.launches
    return Request(
        name=whole.name or path.stem,
        machine=machine,
        design=[design for table in whole.design for design in _designs(table)],
        apps=apps,
        launches=Launches(
            order=_order(launches.order, [app.name for app in apps]),
            rounds=launches.rounds,
            warm_up=launches.warm_up,
            foreground_ns=span_ns("workload.launches.foreground", launches.foreground),
        ),
        vm=VmRun(
            kernel=str(path.parent / vm.kernel) if "/" in vm.kernel else vm.kernel,
            **vm.model_dump(include={"cpus", "gips", "system", "verify", "events", "block_devices"}),
            shift_ns=span_ns("run.vm.shift", vm.shift),
            think_ns=span_ns("run.vm.think", vm.think),
            system_period_ns=span_ns("run.vm.system_period", vm.system_period),
            virtual_limit_s=max(1, span_ns("run.vm.virtual_limit", vm.virtual_limit) // 10**9),
            wall_limit_s=max(1, span_ns("run.vm.wall_limit", vm.wall_limit) // 10**9),
        ),
        seed=whole.run.seed,
        seeds=whole.run.seeds,
    )


def _size(place: str, text: str) -> int:
    """Bytes of a size that may be none."""
    return 0 if text in ("0", "0B") else size_bytes(place, text)


def span_ns(place: str, text: str) -> int:
    """Nanoseconds of a span of time such as 20ms."""
    for unit, scale in _UNITS.items():
        number = text.removesuffix(unit)
        if number != text and number.replace(".", "", 1).isdigit():
            return round(float(number) * scale)
    raise BadInput(f"{place}: '{text}'; expected a time such as 20ms or 6s")


def _designs(table: _Design) -> list[Design]:
    if table.policy != "system":
        raise BadInput(f"design '{table.name or table.swap}': policy {table.policy}: a kernel's reclaim is its own; expected system")
    swaps, policies = ([value] if isinstance(value, str) else value for value in (table.swap, table.app_policy))
    killer = None
    if isinstance(table.killer, str):
        killer = Spec.parse(table.killer)
    elif table.killer is not None:
        values = {key: "/".join(map(str, value)) if isinstance(value, list) else str(value) for key, value in table.killer.items()}
        killer = Spec(key=values.pop("key", ""), values=values)
    crossed = [(Spec.parse(swap), Spec.parse(policy)) for swap, policy in itertools.product(swaps, policies)]
    names = [[swap.key] * (len(swaps) > 1) + [policy.key] * (len(policies) > 1) for swap, policy in crossed]
    own = [table.name] if table.name else []
    return [
        Design(name=" · ".join([*own, *words]) or swap.key, swap=swap, app_policy=policy, killer=killer)
        for words, (swap, policy) in zip(names, crossed, strict=True)
    ]


def _apps(use: _Use) -> list[App]:
    values = dict(use.model_extra or {})
    if use.use not in ("phone-app", "swaplab-app"):
        raise BadInput(f"workload.apps: '{use.use}': a guest has our apps alone; expected phone-app or swaplab-app")
    if use.use == "phone-app":
        values = {"footprint": "16MiB", "hot_share": 0.5, **values}
        hot = float(values["hot_share"])
        pages = size_bytes("workload.apps: footprint", str(values["footprint"])) // 4096
        values = {"launch_set": 1.0, "resume_set": hot, "hot_first": True, "work": int(pages * hot), **values}
    name = use.name or use.use
    if use.count == 1:
        return [App(name=name, **values)]
    return [App(**{**values, "name": f"{name}-{number}", "seed": number}) for number in range(1, use.count + 1)]


def _order(order: str | list[str] | _Draw, names: list[str]) -> list[str]:
    if isinstance(order, list):
        return order
    if isinstance(order, str):
        if order != "round-robin":
            raise BadInput(f"workload.launches.order: '{order}'; expected round-robin, a list of names, or launches and alpha")
        return names
    dice, drawn = random.Random(order.seed), [""]
    weights = [1 / rank**order.alpha for rank in range(1, len(names) + 1)]
    while len(drawn) <= order.launches:
        (name,) = dice.choices(names, weights)
        if name != drawn[-1] or len(names) == 1:
            drawn.append(name)
    return drawn[1:]
