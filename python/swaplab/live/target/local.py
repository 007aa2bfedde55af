"""`--target local`: this machine's kernel."""

from __future__ import annotations

from typing import Any

from swaplab.live.bench import process, runner
from swaplab.live.target.request import Request


def run(request: Request) -> dict[str, Any]:
    """Run the experiment here."""
    if request.trace:
        request.trace.mkdir(parents=True, exist_ok=True)
    user = process.User.named(request.user or process.default_user(), request.as_root)
    return runner.run(request.experiment, request.apps, user, request.place, request.dry_run, request.say, request.progress, request.trace)
