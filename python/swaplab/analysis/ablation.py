"""The effect of each mechanism of the simulated phone: `papers/ablation/ablation.toml` switches one
at a time, and every design is run again on the same users. The table of
`papers/ablation/README.md` is made here."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from typing import Literal

from pydantic import Field, ValidationError

from swaplab.analysis.papers import folder
from swaplab.analysis.papers_users import Users, io_share, mean, users_of
from swaplab.core import experiment as experiments
from swaplab.core.bases import StrictModel
from swaplab.core.errors import BadInput
from swaplab.core.experiment import Point
from swaplab.core.model import Experiment

NAME = "ablation"
HEAD = "## What each mechanism does"
AS_SHIPPED = "as shipped"


class Switch(StrictModel):
    """A mechanism: its name, and the keys and values without it, or with another one in its
    place.
    """

    name: str
    set: Point


class AblationFile(StrictModel):
    """An ablation.toml."""

    preset: str
    seeds: int
    designs: list[str]
    switch: list[Switch] = Field(default_factory=list)


class Effect(StrictModel):
    """One design of one phone: means over users."""

    switch: str
    design: str
    delay_ms: float
    io_percent: float
    kills: float
    swap_in_mb: float
    swap_out_mb: float
    file_read_mb: float


class Ablation(StrictModel):
    """What `swaplab papers ablation --json` prints."""

    document: Literal["ablation"] = "ablation"
    kind: Literal["simulated"] = "simulated"
    preset: str
    seeds: int
    designs: list[str]
    effects: list[Effect]


Simulate = Callable[[Experiment], Users]


def read_ablation() -> AblationFile:
    """Read the switches. Raises BadInput for a bad file."""
    place = folder() / NAME / "ablation.toml"
    try:
        return AblationFile.model_validate(tomllib.loads(place.read_text("utf-8")))
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise BadInput(f"{place}: {' '.join(str(error).split())[:200]}; expected [[switch]] tables") from None


def experiments_of(wanted: AblationFile, seeds: int | None = None) -> dict[str, Experiment]:
    """The experiment of each phone by its switch's name, the phone as shipped first. Raises
    BadInput for an unknown key.
    """
    base = experiments.read(wanted.preset, [f"run.seeds={seeds or wanted.seeds}"])
    base = base.model_copy(update={"design": [design for design in base.design if design.name in wanted.designs]})
    shipped: dict[str, Point] = {AS_SHIPPED: {}}
    points = shipped | {switch.name: switch.set for switch in wanted.switch}
    return {name: experiments.at(base, point, NAME) for name, point in points.items()}


def ablation(
    wanted: AblationFile, seeds: int | None = None, run: Simulate = users_of, listener: Callable[[int, int], None] | None = None
) -> Ablation:
    """Run every phone."""
    effects: list[Effect] = []
    phones = experiments_of(wanted, seeds)
    for at, (name, experiment) in enumerate(phones.items()):
        if listener is not None:
            listener(at, len(phones))
        users = run(experiment)
        effects += [_effect(name, design, users) for design in wanted.designs]
    return Ablation(preset=wanted.preset, seeds=seeds or wanted.seeds, designs=wanted.designs, effects=effects)


def _effect(switch: str, design: str, users: Users) -> Effect:
    return Effect(
        switch=switch,
        design=design,
        delay_ms=mean(users, design, "launches.delay_ms.mean"),
        io_percent=100 * io_share(users, design),
        kills=mean(users, design, "launches.kills"),
        swap_in_mb=mean(users, design, "paging.swap_in_bytes") / 1e6,
        swap_out_mb=mean(users, design, "paging.swap_out_bytes") / 1e6,
        file_read_mb=mean(users, design, "paging.file_read_bytes") / 1e6,
    )


#: Columns of the table: heading, field of an effect, form.
COLUMNS = (
    ("launch, ms", "delay_ms", ".0f"),
    ("share of I/O, %", "io_percent", ".0f"),
    ("kills", "kills", ".1f"),
    ("swapped in, MB", "swap_in_mb", ".0f"),
    ("swapped out, MB", "swap_out_mb", ".0f"),
    ("files read, MB", "file_read_mb", ".0f"),
)


def markdown(result: Ablation) -> str:
    """The section as it stands in `papers/ablation/README.md`."""
    lines = [
        HEAD,
        "",
        f"`swaplab papers ablation` makes this table. Its figures are simulated, of `{result.preset}`, and means of the same "
        f"{result.seeds} users in each row. One mechanism is switched at a time (`ablation.toml`). Each cell has "
        f"{' / '.join(result.designs)}.",
        "",
        f"| switched | {' | '.join(heading for heading, _, _ in COLUMNS)} | {result.designs[1]} over {result.designs[0]} |",
        f"|{'---|' * (len(COLUMNS) + 2)}",
    ]
    for name in dict.fromkeys(effect.switch for effect in result.effects):
        designs = [effect for effect in result.effects if effect.switch == name]
        cells = [" / ".join(f"{getattr(effect, field):{form}}" for effect in designs) for _, field, form in COLUMNS]
        lines.append(f"| {name} | {' | '.join(cells)} | {designs[1].delay_ms / designs[0].delay_ms:.2f} |")
    return "\n".join(lines) + "\n"
