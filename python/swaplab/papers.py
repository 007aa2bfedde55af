"""What the papers claim and what comes out here: `papers/NAME/expected.toml` lists the claims, `measure.py` beside it measures.

A claim has a band for our figure. Inside it the verdict is the claim's `met` (mostly `reproduced`; `arithmetic` where the figure
follows from the paper's own constants, `premise-built` where our generator already contains it). Outside it is the claim's
`missed`, or else `ordering` if the measure says that the order holds, or else `differs`. A claim without a measure is
`not-testable`. Bands are the published figures, so they were there before ours. `reading` names the entry of READING's list of claims
that a row answers; `tests/python/test_papers.py` compares the two lists."""

from __future__ import annotations

import importlib.util
import json
import random
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import swaplab
from swaplab import BadInput, NotSupported, _core

VERDICTS = ("reproduced", "ordering", "differs", "not-testable", "arithmetic", "premise-built", "internally-inconsistent")


@dataclass(frozen=True)
class Measured:
    """Our figure, how to print it, and whether the order that the paper claims holds even if the figure is outside the band."""

    value: float
    text: str
    ordered: bool = False


@dataclass(frozen=True)
class Claim:
    """One row of `swaplab papers check`."""

    paper: str
    claim: str
    published: str
    ours: str | None
    band: list[float] | None
    verdict: str
    why: str


def folder() -> Path:
    """Where the papers' experiments are: in a checkout, beside the package."""
    here = Path(swaplab.__file__).resolve().parents[2] / "papers"
    if not here.is_dir():
        raise NotSupported(f"the papers' experiments are part of a checkout, and {here} is not there")
    return here


def names() -> list[str]:
    """Papers with a list of claims."""
    return sorted(path.parent.name for path in folder().glob("*/expected.toml"))


def check(wanted: Iterable[str] = ()) -> Iterator[Claim]:
    """Measure every claim of the papers named, or of all."""
    known = names()
    for name in list(wanted) or known:
        if name not in known:
            raise BadInput(f"papers: no paper '{name}'; expected one of: {' '.join(known)}")
        yield from _paper(name)


def simulated(sim: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """A `[sim]` table run on the simulated phone from seed 0 on: the document's rows by the schemes' names. Each table is run once."""
    return _simulated(json.dumps(sim))


@cache
def _simulated(sim: str) -> dict[str, dict[str, Any]]:
    document = json.loads(_core.sim(json.dumps({"seed": 0, "sim": json.loads(sim)}), 0, None))
    return {row["name"]: row for row in document["schemes"]}


#: Mean of one figure over the users drawn, by its key.
Mean = Callable[[str], float]


def interval(rows: Sequence[dict[str, Any]], of: Callable[..., float], form: str = ".1f") -> str:
    """The 95 % interval of a figure that `of` makes from a `Mean` of each row: percentile bootstrap, users (seeds) drawn with all that they
    did, the same in every row. Empty for one user, of whom nothing can be said of others."""
    users = len(rows[0]["seeds"])
    if users < 2:
        return ""
    draw = random.Random(0)
    values = []
    for _ in range(500):
        drawn = [draw.randrange(users) for _ in range(users)]

        def mean(row: dict[str, Any], drawn: list[int] = drawn) -> Mean:
            return lambda key: sum(row["seeds"][user][key] for user in drawn) / users

        values.append(of(*map(mean, rows)))
    values.sort()
    return f"95 %: {values[12]:{form}} to {values[487]:{form}}"


def _paper(name: str) -> Iterator[Claim]:
    place = folder() / name / "expected.toml"
    try:
        claims: list[dict[str, Any]] = tomllib.loads(place.read_text())["claim"]
    except (tomllib.TOMLDecodeError, KeyError) as error:
        raise BadInput(f"{place}: {error}; expected TOML with [[claim]] tables") from None
    module = _measures(name) if any("measure" in claim for claim in claims) else None
    for claim in claims:
        measured = None
        if "measure" in claim:
            measure: Callable[[], Measured | None] | None = getattr(module, claim["measure"], None)
            if measure is None:
                raise BadInput(f"{place}: measure '{claim['measure']}'; expected a function of measure.py")
            measured = measure()
        yield _verdict(name, claim, measured)


def _measures(name: str) -> ModuleType:
    place = folder() / name / "measure.py"
    spec = importlib.util.spec_from_file_location(f"papers_{name.replace('-', '_')}", place)
    if spec is None or spec.loader is None:
        raise BadInput(f"{place}: not a module; expected the measures of the claims")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _verdict(paper: str, claim: dict[str, Any], measured: Measured | None) -> Claim:
    why: str = claim["why"]
    if measured is None:
        verdict, ours = "not-testable", None
        if "measure" in claim:
            why = f"the data that this claim needs is not on this machine. {why}"
    else:
        low, high = claim["band"]
        ours = measured.text
        inside = low <= measured.value <= high
        verdict = claim.get("met", "reproduced") if inside else claim.get("missed") or ("ordering" if measured.ordered else "differs")
    if verdict not in VERDICTS:
        raise BadInput(f"papers/{paper}: verdict '{verdict}'; expected one of: {' '.join(VERDICTS)}")
    return Claim(paper, claim["claim"], claim["published"], ours, claim.get("band"), verdict, why)


def document(wanted: Iterable[str] = ()) -> dict[str, Any]:
    """What `swaplab papers check --json` prints."""
    return {"schema": 1, "kind": "simulated", "claims": [asdict(claim) for claim in check(wanted)]}


def claim_table(claims: list[dict[str, Any]]) -> str:
    """The table of `papers/NAME/README.md`."""
    lines = ["| claim | published | ours | verdict | why |", "|---|---|---|---|---|"]
    lines += [f"| {c['claim']} | {c['published']} | {c['ours'] or '-'} | {c['verdict']} | {c['why']} |" for c in claims]
    return "\n".join(lines) + "\n"


def write_table(name: str, head: str, text: str) -> None:
    """Put `text` into the paper's README in place of the part that starts with `head` and ends before the next heading."""
    place = folder() / name / "README.md"
    old = place.read_text()
    start = old.find(f"\n{head}")
    if start < 0:
        place.write_text(f"{old.rstrip()}\n\n{text}")
        return
    end = old.find("\n## ", start + 1)
    place.write_text(f"{old[: start + 1]}{text}" + ("" if end < 0 else old[end:]))
