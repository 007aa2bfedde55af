"""Reports: figures and the offline HTML page. Reads results (JSON documents) only; runs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from swaplab import BadInput
from swaplab.report import (
    comparison,
    energy,
    launches,
    mrc,
    nvm_cache,
    phone,
    plan,
    plan_launches,
    recommendation,
    replay,
    schemes,
    spread,
    sweep,
)
from swaplab.report.page import Section, render
from swaplab.run_folder import reading, slug

#: What can be shown: each has `matches(document)` and `section(document, key)`. The first that matches draws.
VIEWS = (comparison, recommendation, plan_launches, plan, sweep, schemes, replay, mrc, spread, nvm_cache, energy, phone, launches)


def sections(document: dict[str, Any], key: str = "run") -> list[Section]:
    """The sections of one document; a document of several (`runs`) gives one section each."""
    if isinstance(document.get("runs"), list):
        return [one for at, part in enumerate(document["runs"], 1) for one in sections(part, f"{key}-{at}")]
    for view in VIEWS:
        if view.matches(document):
            return [view.section(document, key)]
    raise BadInput(f"{key}: nothing here a report can show; expected the JSON document of a command that has --run")


def all_sections(documents: Sequence[tuple[str, dict[str, Any]]]) -> list[Section]:
    """The sections of named documents; names become ids, made unique."""
    found: list[Section] = []
    taken: set[str] = set()
    for name, document in documents:
        key = next(k for at in range(1, len(taken) + 2) if (k := slug(name) if at == 1 else f"{slug(name)}-{at}") not in taken)
        taken.add(key)
        found += sections(document, key)
    return found


def page(title: str, documents: Sequence[tuple[str, dict[str, Any]]], made_with: str = "") -> str:
    """One HTML page for named documents; `made_with` is a line on seed and versions."""
    with reading(", ".join(name for name, _ in documents)):
        found = all_sections(documents)
        if not found:
            raise BadInput(f"{documents[0][0]}: no runs; expected at least one")
        return render(title, found, made_with)
