"""Advice on a phone's settings: the options that are simulated are the current settings, and changes of one of them at a time."""

from __future__ import annotations

from swaplab.analysis.outcomes import memory_was_tight
from swaplab.analysis.recommend import Recommendation, recommend
from swaplab.core.model import Design, Document, Experiment

NOW, NO_SWAP = "now", "no swap"
ZRAM = "zram:size=50%,algorithm=lz4"
#: Each option changes one setting of `now`: swap, page policy, killer.
CHANGES: dict[str, tuple[str, str, str]] = {
    NOW: (ZRAM, "system", "lmkd"),
    NO_SWAP: ("none", "system", "lmkd"),
    "zram of 25 %": ("zram:size=25%,algorithm=lz4", "system", "lmkd"),
    "zstd": ("zram:size=50%,algorithm=zstd", "system", "lmkd"),
    "write-back": ("tiered:size=50%,algorithm=lz4", "system", "lmkd"),
    "swappiness 100": (ZRAM, "mglru:swappiness=100", "lmkd"),
    "thrashing limit 30": (ZRAM, "system", "lmkd:thrashing_limit=30"),
    "swap low at 20 %": (ZRAM, "system", "lmkd:swap_free_low_percentage=20"),
}


def experiment(base: Experiment, launches: str, draws: int) -> Experiment:
    """Build the experiment of all options on the machine and apps of `base`. Each of the `draws` runs draws its own app sizes."""
    designs = [Design(name=name, swap=swap, policy=policy, killer=killer) for name, (swap, policy, killer) in CHANGES.items()]
    workload = base.workload.model_copy(update={"launches": launches, "trace": None})
    run = base.run.model_copy(update={"on": ["phone"], "seeds": draws})
    return base.model_copy(update={"name": "advice", "about": "", "design": designs, "workload": workload, "run": run, "vary": None})


def memory_is_tight(document: Document) -> bool:
    """Whether memory was ever tight without swap. With swap, app compaction fills the swap area even if there is memory to spare."""
    return bool(memory_was_tight([row for row in document.rows if row.design == NO_SWAP]))


def advise(document: Document, goal: str | None = None) -> Recommendation:
    """Derive the recommendation from a run of `experiment`. Intervals are over draws of app sizes, for the one user of the launches."""
    return recommend([("advice", document)], goal, NOW, each_draw=True)
