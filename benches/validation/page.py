"""The page docs/validation.md with the results."""

from __future__ import annotations

import math
from statistics import fmean, median

from swaplab.analysis.verdict import plural
from swaplab.core.statistics import mean_interval

from benches.validation.itself import expected_skill, expected_tau
from benches.validation.prices import FAULT_NS
from benches.validation.result import Result
from benches.validation.store import Stored
from benches.validation.verdicts import FIGURES, Contest, Judged, contested, tau

HEAD = """# The simulated phone compared with a kernel

`make validation` draws configurations by the hash of a commit, runs each on the simulated phone and in the world `vm` (Linux in QEMU under
[virtual time](models/virtual-time.md)), and writes this page. Nobody edits the results.

The comparison validates reclaim by Linux's active and inactive lists on one core, for apps whose use of pages follows the model
(`phone-app`). It does not validate a phone, which has a camera, graphics memory, several cores and real programs. Times of the
kernel are virtual, and those of the phone are simulated. The phone lacks some rules of the kernel;
[decision 0114](decisions/0114-what-missing-rules-cost.md) says what three of them do in it."""

METHOD = """
## How it is judged

Kernel and phone run each configuration with six sizes of memory, from 6 MiB below the drawn one to 6 MiB above it: a hundred pages more
or less decide when reclaim begins and what it finds, on both sides, so that a single size says little. The kernel runs each size under
two seeds, which lengthen its pauses by up to a second each, so that its periodic work (its statistics are flushed every two seconds)
falls at other times. The phone is compared with the kernel's first seed, in pairs of the same size. The kernel's other seed is compared
with its first one (A against A), which shows the kernel's own spread.
The margin is 10 % of the kernel's figure; for the median delay it is 15 %, and for kills it is 1 kill.

| verdict | meaning |
|---|---|
| `equivalent` | The 95 % interval of the paired differences is within the margin. |
| `different` | The interval is completely outside the margin. |
| `undecided` | The interval crosses the margin, or the half-width of A against A is above a third of the margin. |
| `nothing` | There is nothing to compare: both have at most 32 pages, no kill, or no reclaim. |
| `shown` | The 95th percentile is not judged: of 13 launches it is the longest one. |

An error is the phone's figure minus the kernel's, with the half-width of its interval and, after the bar, the half-width of A against A.
The scan ratio is scanned pages per reclaimed page, and the kswapd share is the share of reclaimed pages that kswapd reclaimed. The
*skill* is the phone's error in swap-ins divided by the error of the better of two simple predictions, the null predictors.

What the kernel would reach as its own predictor is computed from the stored means and intervals, with normally distributed values: for
the skill from the half-width of A against A, for tau-b from 400 draws of all designs (mean, and 95 % of the draws), as many values in a
draw as kernel and phone have. A model that is right can't be expected to get further by these measures with this number of guests
([decision 0126](decisions/0126-the-kernel-as-its-own-predictor.md)).
"""


def amount(value: float, of: Judged) -> str:
    """Format a figure of the kernel or the phone."""
    if math.isnan(value):
        return "-"
    return f"{value:,.0f}" if of.figure.unit == "pages" else f"{value:.2f}"


def difference(of: Judged) -> str:
    """Format the error and half-widths in the margin's unit."""
    if math.isnan(of.error):
        return "-"
    if of.figure.counts:
        return f"{of.error:+.1f} ± {of.half:.1f} \\| {of.noise:.1f}"
    return f"{100 * of.error:+.0f} ± {100 * of.half:.0f} % \\| {100 * of.noise:.0f}"


def line(result: Result) -> str:
    """Format a design as one line for the terminal."""
    parts = [f"{of.figure.name} {amount(of.kernel, of)}/{amount(of.phone, of)} {of.verdict}" for of in result.judged]
    return f"{result.drawn.name} {result.scheme}: " + "; ".join(parts)


def ratio(value: float) -> str:
    return defined(value, "-")


def defined(value: float, otherwise: str = "not defined") -> str:
    """Format a number that may be NaN."""
    return otherwise if math.isnan(value) else f"{value:.2f}"


def contests(results: list[Result]) -> list[Contest]:
    """The two designs of each configuration by median delay."""
    pairs = [(a, b) for a, b in zip(results, results[1:], strict=False) if a.drawn.name == b.drawn.name]
    return [(a.delays[0], b.delays[0], a.delays[1], b.delays[1]) for a, b in pairs]


def summary(results: list[Result]) -> list[str]:
    """Format the number of designs with each verdict by figure, the ranking, and the skill."""
    lines = ["", "| figure | equivalent | different | undecided | nothing |", "|---|---|---|---|---|"]
    for at, figure in enumerate(FIGURES):
        if figure.margin is None:
            continue
        verdicts = [result.judged[at].verdict for result in results]
        counts = [verdicts.count(name) for name in ("equivalent", "different", "undecided", "nothing")]
        lines.append(f"| {figure.name} | " + " | ".join(map(str, counts)) + " |")
    lines += ["", *pooled(results)]
    all_contests = contests(results)
    close = [contest for contest in all_contests if contested(contest[:2])]
    skills = [result.skill for result in results if not math.isnan(result.skill)]
    met = sum(value <= 0.5 for value in skills)
    mean, low, high = expected_tau(all_contests)
    return [
        *lines,
        "",
        "The two designs of a configuration are ranked by median delay; overlapping intervals are a tie. Kendall's tau-b is "
        f"{ratio(tau(all_contests))} over {plural(len(all_contests), 'pair')} (goal 0.9). A pair is contested if the kernel separates its "
        f"designs by less than 20 %: over the contested pairs ({len(close)}) the tau-b is {defined(tau(close))}.",
        "",
        f"In {met} of {plural(len(skills), 'design')} with swap-ins, the phone's error in swap-ins is at most half of that of the better "
        "null predictor, that is, its skill is at most 0.5 (goal: in all). One null predictor is LRU by stack distance; the other predicts "
        "that all pages of a launch come from swap.",
        "",
        "As the predictor in place of the phone, the kernel under its other seed would be expected to reach a tau-b of "
        f"{ratio(mean)} ({ratio(low)} to {ratio(high)}) and the skill in {expected_skill(results):.0f} of {len(skills)}.",
    ]


def pooled(results: list[Result]) -> list[str]:
    """Format the errors of all designs together, and those of each swap scheme. A mean ratio shows
    a bias of the phone; the median error shows how far a single prediction is off.
    """
    schemes = sorted({key(result) for result in results})
    lines = [
        f"| figure | designs | phone / kernel, geometric mean | median error | {' | '.join(schemes)} |",
        "|---" * (4 + len(schemes)) + "|",
    ]
    for at, figure in enumerate(FIGURES):
        judged = [result.judged[at] for result in results if not math.isnan(result.judged[at].error)]
        if figure.counts or not (of_all := mean_ratio(judged)):
            continue
        error = median(abs(of.error) for of in judged)
        by_scheme = [mean_ratio([result.judged[at] for result in results if key(result) == scheme]) or "-" for scheme in schemes]
        lines.append(f"| {figure.name} | {len(judged)} | {of_all} | {100 * error:.0f} % | {' | '.join(by_scheme)} |")
    kills = [of for result in results for of in result.judged if of.figure.counts and not math.isnan(of.error)]
    within = sum(abs(of.error) <= 1 for of in kills)
    return [
        "The errors of all designs together: a mean ratio shows a bias of the phone (95 % interval over designs), a median error how far a",
        "single prediction is off, and the last columns are the mean ratios with each swap scheme. The number of kills is within 1 in",
        f"{within} of {plural(len(kills), 'design')} with kills.",
        "",
        *lines,
    ]


def key(result: Result) -> str:
    """The key of a design's swap scheme."""
    return result.scheme.partition(":")[0]


def mean_ratio(of_designs: list[Judged]) -> str:
    """Format the geometric mean of phone / kernel with its 95 % interval over designs. Empty if no
    design has two figures that are above what counts as nothing.
    """
    ratios = [math.log(of.phone / of.kernel) for of in of_designs if min(of.phone, of.kernel) > of.figure.floor]
    if not ratios:
        return ""
    interval = mean_interval(ratios)
    span = f" ({math.exp(interval.low):.2f} to {math.exp(interval.high):.2f})" if interval else ""
    return f"{math.exp(fmean(ratios)):.2f}{span}"


def configuration(name: str, results: list[Result]) -> list[str]:
    """Format one configuration with its designs."""
    of = results[0].drawn
    apps = ", ".join(f"{app.footprint} MiB ({app.hot_share:.0%} hot)" for app in of.apps)
    lines = [
        "",
        f"### {name}",
        "",
        f"{of.dram >> 20} MiB of memory, {of.memory_factor:.2f} of the working set; apps of {apps}; share of files "
        f"{of.apps[0].file_share:.0%}, of writes {of.apps[0].write_ratio:.0%}; swappiness {of.swappiness}; "
        f"killer `{of.killer}`; launches: {of.source}.",
    ]
    for result in results:
        lines += [
            "",
            f"`{result.scheme}`; skill {ratio(result.skill)}",
            "",
            "| figure | kernel | phone | error | verdict |",
            "|---|---|---|---|---|",
        ]
        for judged in result.judged:
            verdict = "shown" if judged.figure.margin is None else judged.verdict
            cells = [judged.figure.name, amount(judged.kernel, judged), amount(judged.phone, judged), difference(judged), verdict]
            lines.append("| " + " | ".join(cells) + " |")
    return lines


def text(sets: list[Stored]) -> str:
    """Format the page: the first set of draws is the validation, the others are held out."""
    body = [HEAD]
    for at, of in enumerate(sets):
        body += section(of, held_out=at > 0)
        body += METHOD.splitlines() if at == 0 else []
    body += ["", "## Each configuration"]
    for of in sets:
        for name in dict.fromkeys(result.drawn.name for result in of.results):
            body += configuration(name + suffix(of), [result for result in of.results if result.drawn.name == name])
    return "\n".join(body) + "\n"


def suffix(of: Stored) -> str:
    """Name the kernel and the mechanism of held-out draws behind their configurations' names."""
    return (f" on {of.kernel}" if of.kernel != "debian-6.12" else "") + (" with MGLRU" if of.mglru else "")


def section(of: Stored, held_out: bool) -> list[str]:
    """Format a set of draws: where it comes from, and its summary."""
    names = list(dict.fromkeys(result.drawn.name for result in of.results))
    launches = "every second configuration with recorded launches of a user" if of.recorded else "all with generated launches"
    facts, prices = of.facts, of.prices
    access = f", {prices.access_fault_ns:,.0f} ns for a use without accessed bit" if prices.access_fault_ns else ""
    measured = (
        "The following sizes were counted in guests without memory pressure. "
        f"The kernel reserves {facts.reserved_base / 2**20:.1f} MiB, and {facts.reserved_section / 2**20:.2f} MiB for each section of "
        f"128 MiB. It and the guest's programs use {facts.used_base / 2**20:.1f} MiB, and an app {facts.app_bytes / 2**20:.2f} MiB in "
        "addition to its pages. From these figures a draw's memory was computed. The memory in use that the phone has, and an app's own "
        "processor time, are those of the draw's apps, swap device and killer in a guest with free memory. The processor times of a "
        f"page in the guest come from a microbenchmark: {prices.scan_ns:,.0f} ns for a scanned page, "
        f"{FAULT_NS} ns for a fault, {prices.swap_in_ns:,.0f} ns for a swap-in, {prices.block_request_ns:,.0f} ns for a block request, "
        f"{prices.compress_ns:,.0f} ns to compress and {prices.decompress_ns:,.0f} ns to decompress by lz4, "
        f"{prices.anon_out_ns:,.0f} ns to evict an anonymous page, {prices.file_out_ns:,.0f} ns to drop a page of a file and "
        f"{prices.file_in_ns:,.0f} ns to map a page of a file that is read again{access}. No figure was "
        "fitted to a run that is judged."
    )
    title = f"Held out:{suffix(of)}" if held_out else "All configurations together"
    drawn = f"{plural(len(names), 'configuration')}, {plural(len(of.results), 'design')}, {launches}"
    origin = f"The draws are of commit `{of.commit}` with kernel `{of.kernel}`: {drawn}. {measured}"
    return ["", f"## {title}", "", origin, *summary(of.results)]
