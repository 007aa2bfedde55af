"""Advice from samples of a phone's memory alone, without launches: whether memory was tight, how
much of swap was used, and what the samples leave open.

Rules are the kernel's and lmkd's own. lmkd (AOSP system/memory/lmkd, lmkd.cpp) checks memory when
tasks stall for `psi_partial_stall_ms` in a second. Its `get_free_swap` counts free swap as at most
`swap_compression_ratio` times free and inactive file pages, and swap is low below
`swap_free_low_percentage` of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Literal

from swaplab.analysis.registry import killers
from swaplab.analysis.verdict import number, plural
from swaplab.core.bases import StrictModel
from swaplab.core.files import path_for_message
from swaplab.core.memory_samples import POOL, STATE, STATES, TOTAL, Sample, Samples
from swaplab.core.model import Kind

MIB = 1 << 20
#: Counters of /proc/vmstat that only direct reclaim raises; `allocstall` has a suffix for the zone.
DIRECT = ("allocstall", "pgscan_direct")
BACKGROUND = ("pgscan_kswapd",)


class Moment(StrictModel):
    """A sample for the figure: sizes in MiB, None where it has none."""

    number: int
    at_s: float | None
    free_mib: float | None
    available_mib: float | None
    swap_used_mib: float | None


class SampleAdvice(StrictModel):
    """The advice from samples. `was_tight`: whether a task had to wait for memory; None if it is
    not known. `zram`: the advice about the size of the swap area.
    """

    document: Literal["memory-samples"] = "memory-samples"
    kind: Kind = "measured"
    name: str
    samples: int
    seconds: float | None
    was_tight: bool | None
    verdict: str
    findings: list[str]
    zram: str
    undecided: list[str]
    moments: list[Moment]


def advise(samples: Samples, source: Path) -> SampleAdvice:
    """Say what the samples of the file or folder `source` show."""
    of = samples.of
    seconds = of[-1].at_s - of[0].at_s if of[0].at_s is not None and of[-1].at_s is not None else None
    signs, calm = _signs(of)
    was_tight = True if signs else False if calm else None
    if was_tight:
        verdict = f"Memory was tight: {'; '.join(signs)}."
    elif was_tight is None:
        verdict = "Whether memory was tight is not known: sizes alone do not show whether a task waited for memory."
    else:
        verdict = f"No sign that memory was tight: {'; '.join(calm)}."
    return SampleAdvice(
        name=source.name,
        samples=len(of),
        seconds=seconds,
        was_tight=was_tight,
        verdict=verdict,
        findings=_findings(samples, seconds),
        zram=_zram(of),
        undecided=_undecided(samples, source, was_tight),
        moments=[_moment(at, sample) for at, sample in enumerate(of)],
    )


def _default(name: str) -> float:
    """Return the default of a property of lmkd."""
    return float(next(parameter.default for parameter in killers()["lmkd"].parameters if parameter.name == name) or 0)


def _signs(of: Sequence[Sample]) -> tuple[list[str], list[str]]:
    """Return the signs that a task waited for memory, and the observations that none did."""
    signs, calm = [], []
    direct = _growth(of, DIRECT)
    if direct:
        signs.append("a task that needed a page reclaimed for itself (direct reclaim in /proc/vmstat)")
    elif direct is not None:
        calm.append("no task reclaimed for itself")
    limit, worst = _default("psi_partial_stall_ms"), _worst_stall_ms(of)
    if worst is not None:
        text = f"tasks waited for memory for {number(worst, 3)} ms a second at most, averaged between two samples"
        (signs if worst >= limit else calm).append(f"{text} (lmkd looks from {number(limit)} ms on)")
    states = [sample.values[STATE] for sample in of if STATE in sample.values]
    if states:
        text = f"Android called its memory '{STATES[max(states)]}' at worst"
        (signs if max(states) > 0 else calm).append(text)
    return signs, calm


def _growth(of: Sequence[Sample], names: Sequence[str]) -> int | None:
    """Return by how much counters grew from the first to the last sample that has them; None if
    fewer than two have. A counter that fell has begun anew and counts from 0.
    """
    sums = [
        sum(value for key, value in sample.values.items() if key.startswith(tuple(names)))
        for sample in of
        if any(key.startswith(tuple(names)) for key in sample.values)
    ]
    return sum(after - before if after >= before else after for before, after in pairwise(sums)) if len(sums) > 1 else None


def _worst_stall_ms(of: Sequence[Sample]) -> float | None:
    """Return the most stall time a second between two samples, in ms; None if it is not known."""
    known = [
        (sample.at_s, sample.values["psi_some_total"]) for sample in of if sample.at_s is not None and "psi_some_total" in sample.values
    ]
    rates = [
        (after - before) / 1000 / (end - start) for (start, before), (end, after) in pairwise(known) if end > start and after >= before
    ]
    return max(rates, default=None)


def _findings(samples: Samples, seconds: float | None) -> list[str]:
    of = samples.of
    total = max(sample.values[TOTAL] for sample in of)
    span = f" over {number(seconds)} s" if seconds is not None else ", at unknown times"
    lines = [f"{plural(len(of), 'sample')}{span}; MemTotal {_mib(total)}"]
    for name, words in (("MemAvailable", "memory available for new apps without swapping (MemAvailable)"), ("MemFree", "free memory")):
        if (least := _extreme(of, name, min)) is not None:
            lines.append(f"least {words}: {_mib(least)}, {_percent(least, total)} of MemTotal")
    if (stalled := _growth(of, ("psi_some_total",))) is not None:
        share = f", {100 * stalled / 1e6 / seconds:.2f} % of the time" if seconds else ""
        lines.append(f"at least one task waited for memory for {stalled / 1000:,.0f} ms in all{share}")
    for names, words in ((BACKGROUND, "kswapd scanned"), (DIRECT[1:], "tasks that needed a page scanned")):
        if (pages := _growth(of, names)) is not None:
            lines.append(f"{words} {number(pages)} pages")
    for name, words in (("pswpout", "written to"), ("pswpin", "read from")):
        if (pages := _growth(of, (name,))) is not None:
            lines.append(f"{number(pages)} pages were {words} swap")
    if samples.kills:
        lines.append(f"{plural(samples.kills, 'kill')} recorded with the samples")
    return lines


def _extreme(of: Sequence[Sample], name: str, pick: Callable[[list[int]], int]) -> int | None:
    values = [sample.values[name] for sample in of if name in sample.values]
    return pick(values) if values else None


def _zram(of: Sequence[Sample]) -> str:
    """Say how much of the swap area was used, and whether it ran low by lmkd's rule."""
    areas = [sample.values for sample in of if "SwapTotal" in sample.values and "SwapFree" in sample.values]
    if not areas:
        return "Not known: no sample has SwapTotal and SwapFree."
    size = max(values["SwapTotal"] for values in areas)
    if size == 0:
        return "The phone has no swap. Whether zram would help is not decided: the samples do not say which pages apps use again."
    peak = max(values["SwapTotal"] - values["SwapFree"] for values in areas)
    total = max(sample.values[TOTAL] for sample in of)
    lines = [
        f"The swap area has {_mib(size)}, {_percent(size, total)} of MemTotal; at most {_mib(peak)} of it was used ({_percent(peak, size)})"
    ]
    pools = [(sample.values[POOL], sample.values["SwapTotal"] - sample.values["SwapFree"]) for sample in of if POOL in sample.values]
    pool, content = max(pools, default=(0, 0), key=lambda pair: pair[1])
    if pool and content:
        lines.append(f"at that time {_mib(pool)} of memory held {_mib(content)}, a ratio of {content / pool:.1f}")
    lowest = min(_free_share(values) for values in areas if values["SwapTotal"])
    percentage = _default("swap_free_low_percentage")
    rule = f"lmkd calls swap low below {number(percentage)} %"
    if lowest >= percentage:
        lines.append(f"at every sample {number(lowest, 3)} % of it or more counted as free, and {rule}: a larger area is not needed here")
    else:
        lines.append(f"at one sample only {number(lowest, 3)} % of it counted as free, and {rule}: try a larger area with the launches")
    return "; ".join(lines) + "."


def _free_share(values: dict[str, int]) -> float:
    """Return lmkd's free swap in percent of the area: at most `swap_compression_ratio` times the
    memory that is easily available, if that is known.
    """
    free, ratio = values["SwapFree"], _default("swap_compression_ratio")
    if ratio and "MemFree" in values and "Inactive(file)" in values:
        free = min(free, round((values["MemFree"] + values["Inactive(file)"]) * ratio))
    return 100 * free / values["SwapTotal"]


def _undecided(samples: Samples, source: Path, was_tight: bool | None) -> list[str]:
    lines = []
    if was_tight is None:
        lines.append("whether memory was tight: sample /proc/pressure/memory and /proc/vmstat, too")
    if len(samples.of) > 1:
        lines.append("what happened between two samples: peaks and minima are those of the samples")
    if any(sample.values.get("SwapTotal") for sample in samples.of):
        lines.append("whether the swap area is zram, and its algorithm: see /proc/swaps and /sys/block/zram0/comp_algorithm")
    wanted = "whether another size, algorithm, write-back, vm.swappiness or property of lmkd makes launches faster"
    name = path_for_message(source)
    if samples.processes:
        steps = f"`swaplab trace fit phone {name} -o phone.toml`, then `swaplab advise LAUNCHES.csv --apps phone.toml`"
    else:
        steps = "`swaplab advise LAUNCHES.csv` with a list of launches, or samples with the memory of each process (docs/how-to/capture.md)"
    return [*lines, f"{wanted}: {steps}"]


def _moment(at: int, sample: Sample) -> Moment:
    of = sample.values
    used = of["SwapTotal"] - of["SwapFree"] if "SwapTotal" in of and "SwapFree" in of else None
    sizes = [None if size is None else size / MIB for size in (of.get("MemFree"), of.get("MemAvailable"), used)]
    return Moment(number=at + 1, at_s=sample.at_s, free_mib=sizes[0], available_mib=sizes[1], swap_used_mib=sizes[2])


def _mib(size: int) -> str:
    return f"{size / MIB:,.0f} MiB"


def _percent(part: int, of: int) -> str:
    return f"{100 * part / of:.0f} %"
