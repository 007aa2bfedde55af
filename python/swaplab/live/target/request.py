"""What a target is asked for, and how an experiment travels to a machine that does not have its files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from swaplab.config import Bench, Experiment
from swaplab.live.bench.spec import App, built_in, changed, table


@dataclass(frozen=True)
class Request:
    """One experiment as the command line asks for it."""

    experiment: Experiment
    apps: list[App]
    #: The experiment's file or name, for messages.
    place: str
    #: What follows the colon of `--target`: a host, a serial number.
    at: str = ""
    #: Whom the apps run as; nothing: the target's default.
    user: str = ""
    as_root: bool = False
    dry_run: bool = False
    say: Callable[[str], None] = lambda line: None
    progress: Callable[[str], None] = lambda line: None
    #: Where the kernel's events go; nowhere by default.
    trace: Path | None = None

    @property
    def bench(self) -> Bench:
        """The experiment's table."""
        return table(self.experiment)


def carried(experiment: Experiment, folder: str = "") -> tuple[Experiment, dict[str, str]]:
    """The experiment with app files that aren't built in named as they will be called below `folder` there, and these files' texts."""
    known, uses, files = built_in("apps"), [], {}
    for number, use in enumerate(table(experiment).apps):
        if use.use not in known:
            files[f"app-{number}.toml"] = Path(use.use).read_text()
            use = use.model_copy(update={"use": f"{folder}app-{number}.toml"})
        uses.append(use)
    return changed(experiment, apps=uses), files
