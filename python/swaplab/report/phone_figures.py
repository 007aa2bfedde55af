"""Figures of a simulated phone: distributions of launch times and entry lifetimes, memory over time
with kills, traffic by app.
"""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import polars as pl

from swaplab.analysis.verdict import plural
from swaplab.core.model import PhoneDetail
from swaplab.report.figure import Figure
from swaplab.report.launches import parts_figure
from swaplab.report.origin import LabeledRow
from swaplab.report.theme import LINES, color

#: Parts of memory from bottom to top, with their colors; their columns end in `_mib`.
MEMORY = {
    "kernel": ("kernel", "soft"),
    "graphics": ("graphics", "line-4"),
    "system": ("system processes", "line-2"),
    "apps": ("apps", "swap-read"),
    "file": ("file cache", "file-read"),
    "pool": ("compressed pool", "line-3"),
    "free": ("free", "rule"),
}
KILLS = {
    "cached-limit": ("too many cached apps", "other"),
    "low-memory": ("low memory", "worse"),
    "out-of-memory": ("out of memory", "ink"),
}
#: Maximum number of memory samples in a drawing; longer runs are thinned out.
SAMPLES = 200
#: Number of apps that the traffic figure names; the others are summed.
NAMED = 5


def _phone(entry: LabeledRow) -> PhoneDetail:
    return entry.row.phone or PhoneDetail()


def launch_cdf(rows: Sequence[LabeledRow], key: str) -> Figure | None:
    """Draw the distributions of cold starts and resumes separately: they differ by a factor of ten,
    so a mix would reflect their counts.
    """
    quantile_rows = [
        (entry.label, words, ms, percent / 100)
        for entry in rows
        for words, quantiles in (("cold start", _phone(entry).cdf.cold_ms), ("resume", _phone(entry).cdf.resume_ms))
        for percent, ms in enumerate(quantiles or [])
        if ms is not None
    ]
    data = pl.DataFrame(
        quantile_rows, schema={"design": pl.String, "start": pl.String, "ms": pl.Float64, "share": pl.Float64}, orient="row"
    )
    if not data.height:
        return None
    charts = []
    for words in ("cold start", "resume"):
        part = data.filter(start=words)
        if part.height:
            charts.append(_cdf(part, "ms", f"{words}, ms", f"{{}}: {words}s up to {{}} ms", _names(rows)))
    return Figure(
        key=f"{key}-launch-cdf",
        title="Launch times: cold starts and resumes",
        reading="Share of launches that take no longer. Dots: median, 95th percentile, longest. Further left is faster.",
        data=data,
        wide=alt.hconcat(*(chart.properties(width=420, height=260) for chart in charts)),
        narrow=alt.vconcat(*(chart.properties(width=270, height=200) for chart in charts)),
    )


def lifetimes(rows: Sequence[LabeledRow], key: str) -> Figure | None:
    """Draw the distribution of entry lifetimes. Lines end below 100 %: the owners of the other
    entries were alive at the end.
    """
    quantile_rows = [
        (entry.label, seconds, percent / 100)
        for entry in rows
        for percent, seconds in enumerate(_phone(entry).cdf.entry_lifetime_s or [])
        if seconds is not None
    ]
    data = pl.DataFrame(quantile_rows, schema={"design": pl.String, "seconds": pl.Float64, "share": pl.Float64}, orient="row")
    if not data.height:
        return None
    chart = _cdf(data, "seconds", "seconds from the write to the owner's death", "{}: entries dead within {} s", _names(rows), lives=True)
    return Figure(
        key=f"{key}-entry-lifetime",
        title="Lifetimes of swap entries",
        reading="Share of entries whose owner died within that time. Their writes freed memory for no longer than that.",
        data=data,
        wide=chart.properties(width=940, height=260),
        narrow=chart.properties(width=270, height=220),
    )


def _names(rows: Sequence[LabeledRow]) -> list[str]:
    return [entry.label for entry in rows]


def _cdf(data: pl.DataFrame, x: str, title: str, label: str, order: list[str], lives: bool = False) -> alt.LayerChart | alt.FacetChart:
    """Draw a line per design; designs beyond the number of colors are dashed."""
    tones = alt.Scale(domain=order, range=[color(LINES[at % len(LINES)]) for at in range(len(order))])
    dashes = alt.Scale(domain=order, range=[[1, 0] if at < len(LINES) else [5, 3] for at in range(len(order))])
    # Launch times span two decades, so their scale is logarithmic. Most owners outlive a run, so
    # the share of lifetimes is not scaled to 1.
    scale = alt.Scale(zero=True) if lives else alt.Scale(type="log", nice=False)
    shares = alt.Scale(zero=True) if lives else alt.Scale(domain=[0, 1])
    drawn = data.with_columns(
        label=pl.format(label, "design", pl.col(x).round(1).cast(pl.String)),
        dot=pl.col("share").is_in([0.5, 0.95]) | (pl.col("share") == pl.col("share").max().over("design")),
    )
    base = alt.Chart(drawn).encode(
        x=alt.X(f"{x}:Q", title=title, scale=scale, axis=alt.Axis(tickCount=5, grid=False, format=",~r")),
        y=alt.Y("share:Q", title="share", scale=shares, axis=alt.Axis(format="%", tickCount=5)),
        color=alt.Color("design:N", title=None, sort=order, scale=tones, legend=alt.Legend(columns=3, symbolType="stroke")),
    )
    line = base.mark_line(strokeWidth=2, aria=False, interpolate="step-after").encode(
        strokeDash=alt.StrokeDash("design:N", title=None, sort=order, scale=dashes, legend=None)
    )
    dots = base.transform_filter("datum.dot").mark_point(filled=True, size=40, opacity=1)
    return alt.layer(line, dots.encode(description="label:N"))


def timeline(rows: Sequence[LabeledRow], key: str) -> Figure | None:
    """Draw a band per part of memory and a vertical line per kill, for the first run of each
    design.
    """
    frames, killed, labels = [], [], []
    for entry in rows:
        sampled = _phone(entry).timeline
        if len(sampled.at_s) < 2:
            continue
        # Two samples of one time would be stacked, so only the last one is kept.
        parts = (
            sampled.kernel_mib,
            sampled.graphics_mib,
            sampled.system_mib,
            sampled.apps_mib,
            sampled.file_mib,
            sampled.pool_mib,
            sampled.free_mib,
        )
        columns = {name: pl.Series(part, dtype=pl.Float64) for name, part in zip(MEMORY, parts, strict=True)}
        frame = pl.DataFrame({"at_s": pl.Series(sampled.at_s, dtype=pl.Float64), **columns}).unique(
            "at_s", keep="last", maintain_order=True
        )
        frame = frame.gather_every(max(1, -(-frame.height // SAMPLES)))
        frames.append(frame.select(pl.lit(entry.label).alias("design"), pl.all()))
        killed.append([(kill.at_s, kill.app, kill.adjustment, kill.reason) for kill in sampled.kills])
        labels.append(entry.label)
    if not frames:
        return None
    data = pl.concat(frames)
    order = [words for words, _ in MEMORY.values()]
    tones = alt.Scale(domain=order, range=[color(tone) for _, tone in MEMORY.values()])
    why = alt.Scale(domain=[words for words, _ in KILLS.values()], range=[color(tone) for _, tone in KILLS.values()])
    end = float(data["at_s"].cast(pl.Float64).max() or 1)  # type: ignore[arg-type]
    charts: list[alt.LayerChart | alt.FacetChart] = []
    for label, frame, kills in zip(labels, frames, killed, strict=True):
        long = frame.drop("design").unpivot(index="at_s", variable_name="part", value_name="mib")
        long = long.with_columns(
            rank=pl.col("part").replace_strict({part: at for at, part in enumerate(MEMORY)}),
            part=pl.col("part").replace_strict({part: words for part, (words, _) in MEMORY.items()}),
        )
        bands = (
            alt.Chart(long)
            .mark_area(aria=False)
            .encode(
                x=alt.X("at_s:Q", title="s", scale=alt.Scale(domain=[0, end]), axis=alt.Axis(grid=False, tickCount=6)),
                y=alt.Y("mib:Q", title="MiB", stack="zero", axis=alt.Axis(tickCount=3)),
                color=alt.Color("part:N", title=None, sort=order, scale=tones, legend=alt.Legend(columns=4)),
                order=alt.Order("rank:Q"),
            )
        )
        marks = pl.DataFrame(kills, schema={"at_s": pl.Float64, "app": pl.String, "adj": pl.Int64, "why": pl.String}, orient="row")
        marks = marks.with_columns(
            label=pl.format("{} killed at {} s, adjustment {}: {}", "app", pl.col("at_s").round(0).cast(pl.Int64), "adj", "why"),
            why=pl.col("why").replace({reason: words for reason, (words, _) in KILLS.items()}),
        )
        lines = (
            alt.Chart(marks)
            .mark_rule(strokeWidth=1.5)
            .encode(
                x="at_s:Q",
                stroke=alt.Stroke(
                    "why:N", title="killed:", sort=why.domain, scale=why, legend=alt.Legend(symbolType="stroke", orient="bottom")
                ),
                description="label:N",
            )
        )
        charts.append(alt.layer(bands, lines, title=alt.Title(f"{label}: {plural(len(kills), 'kill')}", fontSize=13)))
    return Figure(
        key=f"{key}-memory",
        title="Memory over time, and kills",
        reading=f"Memory by use at each launch of the run with seed {_phone(rows[0]).timeline.seed}; a vertical line is a kill.",
        data=data,
        wide=alt.vconcat(*(chart.properties(width=920, height=90) for chart in charts)),
        narrow=alt.vconcat(*(chart.properties(width=270, height=80) for chart in charts)),
    )


def traffic(rows: Sequence[LabeledRow], key: str) -> Figure | None:
    """Draw swap-out by owner; the apps with most of it are named."""
    total: dict[str, float] = {}
    for entry in rows:
        for app in _phone(entry).apps:
            if app.app != "system":
                total[app.app] = total.get(app.app, 0.0) + app.swap_out_bytes
    named = [name for name, value in sorted(total.items(), key=lambda item: -item[1])[:NAMED] if value]
    parts = []
    for entry in rows:
        by_app = {app.app: app.swap_out_bytes / (1 << 20) for app in _phone(entry).apps}
        parts += [(entry.label, name, by_app.get(name, 0.0)) for name in ["system", *named]]
        parts.append((entry.label, "other apps", sum(value for name, value in by_app.items() if name not in ("system", *named))))
    tones = dict(zip(["system", *named, "other apps"], ("soft", *LINES[: len(named)], "other"), strict=True))
    reading = "Pages swapped out by their owner, as means over runs. System processes and shared libraries are `system`."
    return parts_figure(parts, f"{key}-traffic", "Swap traffic by app", reading, "MiB swapped out", tones)


def wasted(rows: Sequence[LabeledRow], key: str) -> Figure | None:
    """Draw the share of swap entries that were never read before their owner ended or the run
    ended.
    """
    known = [(entry.label, ratio) for entry in rows if (ratio := _phone(entry).wasted_write_ratio) is not None]
    parts = [(name, part, value) for name, ratio in known for part, value in (("never read", ratio), ("read at least once", 1 - ratio))]
    tones = {"never read": "worse", "read at least once": "better"}
    reading = "Pages written to swap. Those never read before their owner or the run ended only freed memory, at the cost of wear."
    return parts_figure(parts, f"{key}-wasted", "Wasted writes", reading, "entries", tones, is_share=True)
