"""The built-in experiments: a folder of experiment files that run without changes."""

from __future__ import annotations

import tomllib

from swaplab.core.experiment import PRESETS


def presets() -> dict[str, str]:
    """Every preset by key, with the question that it answers."""
    return {path.stem: str(tomllib.loads(path.read_text("utf-8")).get("about", "")) for path in sorted(PRESETS.glob("*.toml"))}
