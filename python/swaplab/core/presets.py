"""The built-in experiments: a folder of experiment files that run without changes."""

from __future__ import annotations

import difflib
import tomllib
from pathlib import Path

from swaplab.core.experiment import PRESETS


def presets() -> dict[str, str]:
    """Every preset by key, with the question that it answers."""
    return {path.stem: str(tomllib.loads(path.read_text("utf-8")).get("about", "")) for path in sorted(PRESETS.glob("*.toml"))}


def nearest(name: str) -> str | None:
    """The preset whose key is most like `name`."""
    close = difflib.get_close_matches(name, [path.stem for path in Path(PRESETS).glob("*.toml")], 1)
    return close[0] if close else None
