"""The report section of samples of a phone's memory: what they say without launches, and the sizes
in each sample.
"""

from __future__ import annotations

import altair as alt
import polars as pl

from swaplab.analysis.memory_samples import SampleAdvice
from swaplab.report.figure import Figure
from swaplab.report.page import Section
from swaplab.report.theme import color

#: Lines of the figure, with their colors.
LINES = {
    "free_mib": ("free", "soft"),
    "available_mib": ("available without swapping", "swap-read"),
    "swap_used_mib": ("used in swap", "worse"),
}


def section(advised: SampleAdvice, key: str) -> Section:
    """Build the section about samples."""
    figure = _figure(advised, key)
    return Section(
        key=key,
        title="Samples of a phone's memory",
        kinds=[advised.kind],
        verdict=advised.verdict,
        evidence=[advised.zram, *(f"{line}." for line in advised.findings), *(f"Not decided: {line}." for line in advised.undecided)],
        figures=[figure] if figure is not None else [],
        tables=[],
        provenance=[("samples", advised.name)],
    )


def _figure(advised: SampleAdvice, key: str) -> Figure | None:
    timed = advised.moments[0].at_s is not None
    first = advised.moments[0].at_s or 0.0
    rows = [
        ((moment.at_s or 0.0) - first if timed else float(moment.number), words, size)
        for moment in advised.moments
        for name, (words, _) in LINES.items()
        if (size := {"free_mib": moment.free_mib, "available_mib": moment.available_mib, "swap_used_mib": moment.swap_used_mib}[name])
        is not None
    ]
    if len(advised.moments) < 2 or not rows:
        return None
    data = pl.DataFrame(rows, schema={"at": pl.Float64, "part": pl.String, "mib": pl.Float64}, orient="row")
    shown = [(words, tone) for words, tone in LINES.values() if words in set(data["part"])]
    scale = alt.Scale(domain=[words for words, _ in shown], range=[color(tone) for _, tone in shown])
    chart = (
        alt.Chart(data)
        .mark_line(aria=False)
        .encode(
            x=alt.X("at:Q", title="seconds" if timed else "number of the sample", axis=alt.Axis(tickCount=5)),
            y=alt.Y("mib:Q", title="MiB"),
            color=alt.Color("part:N", title=None, scale=scale, legend=alt.Legend(columns=1)),
        )
    )
    return Figure(
        key=f"{key}-memory",
        title="Memory and swap in each sample",
        reading="What happened between two samples is not known.",
        data=data,
        wide=chart.properties(width=780, height=240),
        narrow=chart.properties(width=270, height=200),
    )
