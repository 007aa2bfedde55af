"""The store of outcomes of mutants, and the report of the shares caught."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
STORE = HERE / "results.json"
#: Outcomes by part and by key of the mutant: `caught`, `missed`, `unviable` or `mended`.
Store = dict[str, dict[str, str]]


@dataclass(frozen=True)
class Mutant:
    #: The name by which the tool that makes it knows it.
    name: str
    #: Its key in the store: without line and column, which change with every edit, but with a
    #: number to distinguish equal names.
    key: str


def load() -> Store:
    return json.loads(STORE.read_text()) if STORE.exists() else {}


def save(part: str, tried: dict[str, str], parts: list[str]) -> None:
    """Replace the outcomes of a part. The file is read anew, as another run may have tested another
    part meanwhile.
    """
    store = load() | {part: tried}
    STORE.write_text(json.dumps({name: dict(sorted(store[name].items())) for name in parts if name in store}, indent=1) + "\n")


def wilson(hits: int, tries: int, z: float = 1.96) -> tuple[float, float]:
    """Compute the Wilson interval of a share."""
    share, spread = hits / tries, z * z / tries
    middle, half = share + spread / 2, z * math.sqrt(share * (1 - share) / tries + spread / tries / 4)
    return (middle - half) / (1 + spread), (middle + half) / (1 + spread)


def equivalents() -> set[str]:
    """The mutants of `equivalent.md`: they change no result, so no test can detect them."""
    return set(re.findall(r"^\| `(.+?)` \| ", (HERE / "equivalent.md").read_text(), re.MULTILINE))


def report(store: Store, sizes: Mapping[str, int], goals: Mapping[str, float], introduction: list[str]) -> str:
    """Format the table of shares, and every missed mutant."""
    lines = ["# What the tests find", "", *introduction, ""]
    lines += ["| part | mutants | tried | equivalent | caught at first | mended since | missed | caught at first, 95 % | goal |"]
    lines += ["|---|---|---|---|---|---|---|---|---|"]
    excused, missed = equivalents(), []
    for part, tried in store.items():
        outcomes = Counter(outcome for key, outcome in tried.items() if key not in excused)
        viable = outcomes["caught"] + outcomes["mended"] + outcomes["missed"]
        low, high = wilson(outcomes["caught"], viable) if viable else (0.0, 1.0)
        share = f"{outcomes['caught'] / viable:.0%} ({low:.0%} to {high:.0%})" if viable else ""
        counts = [sizes[part], viable, len(excused & tried.keys()), *(outcomes[name] for name in ("caught", "mended", "missed"))]
        lines.append(f"| {part} | {' | '.join(map(str, counts))} | {share} | {goals[part]:.0%} |")
        missed += [key for key, outcome in sorted(tried.items()) if outcome == "missed" and key not in excused]
    return "\n".join([*lines, "", "Missed:", "", *(f"- `{key}`" for key in missed), ""])
