"""Target `local`: this machine's kernel."""

from __future__ import annotations

from swaplab.core.model import Experiment
from swaplab.worlds.kernel import runner
from swaplab.worlds.kernel.process import User, default_user
from swaplab.worlds.result import Options, WorldResult


def run(_at: str, points: list[Experiment], options: Options) -> WorldResult:
    """Run the experiments on this machine."""
    user = User.named(points[0].run.kernel.user or default_user(), options.as_root)
    return runner.run(points, options, user)
