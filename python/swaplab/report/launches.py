"""The section of a document of schemes (`sim`, `bench`): launch and switch times, kills, bytes, energy, and the memory each scheme used."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from swaplab.report.figure import Figure
from swaplab.report.page import Cell, Section, Table
from swaplab.report.replay import percent
from swaplab.report.theme import colour

TIMES = {"cold_ms": "cold start", "switch_ms": "switch", "launch_ms": "all launches"}
#: Tolia's classes of what a user feels, best first (READING 004).
FEELINGS = {"crisp": "better", "noticeable": "swap-read", "annoying": "file-read", "unacceptable": "line-1", "unusable": "line-4"}
BYTES = {
    "swap_in_bytes": "swapped in",
    "swap_out_bytes": "swapped out",
    "nvm_write_bytes": "written to NVM",
    "flash_write_bytes": "written to flash",
}


def matches(document: dict[str, Any]) -> bool:
    return isinstance(document.get("schemes"), list)


def section(document: dict[str, Any], key: str) -> Section:
    """Everything the page says of one document of schemes."""
    rows = _labelled(document["schemes"], str(document.get("kind", "simulated")))
    kinds = {str(row.get("kind", document.get("kind"))) for row in rows}
    evidence = [f"{row['label']}: memory {text}." for row in rows if (text := memory_text(row))]
    if len(kinds) > 1:
        evidence.insert(
            0, f"Rows are of different kinds ({', '.join(sorted(kinds))}): an emulated medium is an upper bound, not a measurement."
        )
    figures = [_times(rows, key), _feelings(rows, key), _bytes(rows, key), _energy(rows, key)]
    return Section(
        key=key,
        title=f"Swap schemes{_where(document)}",
        kind=str(document.get("kind", "simulated")),
        verdict=_verdict(rows),
        evidence=evidence,
        figures=[figure for figure in figures if figure is not None],
        tables=([_table(rows)] if rows else []) + ([_against(document["against_sim"])] if document.get("against_sim") else []),
        provenance=[
            (name, str(document[name])) for name in ("target", "user", "seed", "trace", "workload") if document.get(name) is not None
        ],
    )


def memory_text(row: dict[str, Any]) -> str:
    """The memory a scheme used, in words: `dram 64 MiB, pool 12 MiB`."""
    memory = row.get("memory")
    if not isinstance(memory, dict):
        return ""
    sizes = {name.removesuffix("_bytes").replace("_", " "): value / (1 << 20) for name, value in memory.items() if name.endswith("_bytes")}
    return ", ".join(f"{name} {value:.4g} MiB" for name, value in sizes.items() if value)


def _where(document: dict[str, Any]) -> str:
    experiment = document.get("experiment")
    bench = experiment.get("bench") if isinstance(experiment, dict) else None
    name = bench.get("name") if isinstance(bench, dict) else None
    return f" in {name}" if name else ""


def _labelled(schemes: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """Each row with a label of its own: its name, its swap size where a name comes twice, its kind where it is not the document's."""
    names = [str(row.get("name")) for row in schemes]
    labelled = []
    for name, row in zip(names, schemes, strict=True):
        label = name
        if names.count(name) > 1 and row.get("swap_bytes") is not None:
            label += f" {row['swap_bytes'] / (1 << 20):g} MiB"
        if row.get("kind") not in (None, kind):
            label += f" ({row['kind']})"
        labelled.append(row | {"label": label})
    return labelled


def _verdict(rows: list[dict[str, Any]]) -> str:
    timed = sorted((row["launch_ms"]["mean"], row["label"]) for row in rows if isinstance(row.get("launch_ms"), dict))
    if len(timed) < 2:
        killed = sorted((row["kills"], row["label"]) for row in rows if isinstance(row.get("kills"), (int, float)))
        return (
            f"{killed[0][1]} kills the fewest apps: {killed[0][0]:g}."
            if len(killed) > 1
            else "No verdict: fewer than two schemes to compare."
        )
    (best, name), (next_best, second) = timed[:2]
    text = f"{name} launches fastest: {best:.4g} ms in the mean"
    text += f", {percent(best / next_best)} than the next, {second}." if next_best else "."
    intervals = {row["label"]: row["launch_ms"].get("mean_interval") for row in rows if isinstance(row.get("launch_ms"), dict)}
    if (one := intervals[name]) and (other := intervals[second]) and one[1] >= other[0]:
        text += " Their 95 % intervals overlap: no difference is shown."
    return text


def _times(rows: list[dict[str, Any]], key: str) -> Figure | None:
    found = [
        {
            "scheme": row["label"],
            "what": words,
            "p50_ms": times["p50"],
            "p95_ms": times.get("p95"),
            "low_ms": (times.get("p50_interval") or [times["p50"]])[0],
            "high_ms": (times.get("p50_interval") or [times["p50"]])[-1],
        }
        for row in rows
        for name, words in TIMES.items()
        if isinstance(times := row.get(name), dict) and times.get("p50") is not None
    ]
    if not found:
        return None
    data = pl.DataFrame(found, infer_schema_length=None)
    drawn = data.with_columns(label=pl.format("{}, {}: median {} ms", "scheme", "what", pl.col("p50_ms").round(2).cast(pl.String)))
    shown = [words for words in TIMES.values() if words in set(data["what"])]
    order = data["scheme"].unique(maintain_order=True).to_list()
    tones = alt.Scale(domain=shown, range=[colour(f"line-{at + 1}") for at in range(len(shown))])
    base = alt.Chart(drawn).encode(
        y=alt.Y("scheme:N", sort=order, title=None, axis=alt.Axis(ticks=False, domain=False, labelColor=colour("ink"), labelLimit=200)),
        yOffset=alt.YOffset("what:N", sort=shown),
        color=alt.Color("what:N", title=None, sort=shown, scale=tones),
    )
    x = alt.X("p50_ms:Q", title="ms", scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=5))
    span = base.mark_rule(strokeWidth=5, opacity=0.35, aria=False).encode(x=alt.X("low_ms:Q", title="ms"), x2="high_ms:Q")
    late = base.mark_tick(thickness=2, size=12, aria=False).encode(x="p95_ms:Q")
    dots = base.mark_point(filled=True, size=60, opacity=1).encode(x=x, description="label:N")
    chart = alt.layer(span, late, dots)
    return Figure(
        key=f"{key}-times",
        title="Launch and switch times",
        reading="Dot: median; bar: its 95 % interval where the run has one; tick: 95th percentile.",
        data=data,
        wide=chart.properties(width=860, height=alt.Step(14)),
        narrow=chart.properties(width=210, height=alt.Step(14)),
    )


def parts_figure(
    rows: list[tuple[str, str, float]], key: str, title: str, reading: str, unit: str, tones: dict[str, str], stack: str | None = "zero"
) -> Figure | None:
    """Bars of (scheme, part, value): stacked, or side by side (`stack` None) where parts are no parts of one whole."""
    if not any(value for _, _, value in rows):
        return None
    data = pl.DataFrame(rows, schema={"scheme": pl.String, "part": pl.String, "value": pl.Float64}, orient="row")
    drawn = data.with_columns(
        label=pl.format("{}: {} {} {}", "scheme", pl.col("value").round(3).cast(pl.String), pl.lit(unit), "part"),
        rank=pl.col("part").replace_strict({part: at for at, part in enumerate(tones)}),
    )
    shown = [part for part in tones if part in set(data["part"])]
    scale = alt.Scale(domain=shown, range=[colour(tones[part]) for part in shown])
    axis = alt.Axis(tickCount=5, format="%" if stack == "normalize" else "~s")
    bars = (
        alt.Chart(drawn)
        .mark_bar()
        .encode(
            x=alt.X("value:Q", title=unit, stack=stack, axis=axis),  # type: ignore[arg-type]
            y=alt.Y(
                "scheme:N",
                sort=data["scheme"].unique(maintain_order=True).to_list(),
                title=None,
                axis=alt.Axis(ticks=False, domain=False, labelColor=colour("ink"), labelLimit=200),
            ),
            color=alt.Color("part:N", title=None, sort=shown, scale=scale, legend=alt.Legend(columns=3)),
            description="label:N",
        )
    )
    bars = bars.encode(order=alt.Order("rank:Q")) if stack else bars.encode(yOffset=alt.YOffset("part:N", sort=shown))
    wide, narrow = (bars.properties(width=width, height=alt.Step(24 if stack else 9)) for width in (860, 210))
    return Figure(key=key, title=title, reading=reading, data=data, wide=wide, narrow=narrow)


def _feelings(rows: list[dict[str, Any]], key: str) -> Figure | None:
    counts = [(row["label"], name, float(row["ux"].get(name, 0))) for row in rows if isinstance(row.get("ux"), dict) for name in FEELINGS]
    reading = "Launches by what a user feels (Tolia et al.): up to 150 ms, 1 s, 2 s, 5 s, and longer."
    return parts_figure(counts, f"{key}-ux", "What users feel", reading, "launches", FEELINGS, "normalize")


def _bytes(rows: list[dict[str, Any]], key: str) -> Figure | None:
    moved = [
        (row["label"], words, row[name] / (1 << 20))
        for row in rows
        for name, words in BYTES.items()
        if isinstance(row.get(name), (int, float))
    ]
    tones = dict(zip(BYTES.values(), ("swap-read", "swap-write", "line-4", "file-read"), strict=True))
    reading = "What each scheme moved. What was swapped out may be written in fewer bytes, or not at all; writes wear flash and NVM."
    return parts_figure(moved, f"{key}-bytes", "Bytes moved", reading, "MiB", tones, None)


def _energy(rows: list[dict[str, Any]], key: str) -> Figure | None:
    parts = [
        (row["label"], name, float(value))
        for row in rows
        if isinstance(row.get("energy_j"), dict)
        for name, value in row["energy_j"].items()
        if isinstance(value, (int, float)) and name != "total"
    ]
    cycle = ("swap-read", "swap-write", "file-read", "better", "line-4", "line-5", "other")
    tones = {part: cycle[at % len(cycle)] for at, part in enumerate(dict.fromkeys(part for _, part, _ in parts))}
    return parts_figure(parts, f"{key}-energy", "Energy", "Where each scheme spends its energy.", "J", tones)


def _table(rows: list[dict[str, Any]]) -> Table:
    columns = ["scheme", "median, ms", "95 %, ms", "switch, ms", "cold, ms", "launches", "cold starts", "kills", "in, MiB", "out, MiB"]
    cells = []
    for row in rows:

        def time(name: str, leaf: str, row: dict[str, Any] = row) -> str:
            value = row[name].get(leaf) if isinstance(row.get(name), dict) else None
            return "-" if value is None else f"{value:,.1f}"

        def number(name: str, scale: float = 1, row: dict[str, Any] = row) -> str:
            value = row.get(name)
            return f"{value * scale:,.4g}" if isinstance(value, (int, float)) else "-"

        texts = [time("launch_ms", "p50"), time("launch_ms", "p95"), time("switch_ms", "p50"), time("cold_ms", "p50")]
        texts += [number("launches"), number("cold_starts"), number("kills")]
        texts += [number(name, 1 / (1 << 20)) for name in ("swap_in_bytes", "swap_out_bytes")]
        cells.append([Cell(row["label"]), *map(Cell, texts)])
    return Table("Every scheme", columns, cells)


def _against(found: dict[str, Any]) -> Table:
    """The simulator's rows beside the kernel's, each with its difference."""
    names = {
        "swap_in_bytes": ("in, MiB", 1 << 20),
        "swap_out_bytes": ("out, MiB", 1 << 20),
        "kills": ("kills", 1),
        "switch_ms": ("switch, ms", 1),
    }
    columns = ["scheme", "swap, MiB"]
    for what, _ in names.values():
        columns += [f"{what} measured", "simulated", "off by"]
    cells = []
    for row in found["configurations"]:
        texts = [row["name"], f"{row['swap_bytes'] / (1 << 20):.0f}"]
        for name, (_, scale) in names.items():
            one = row[name]
            texts += ["-" if one[key] is None else f"{one[key] / scale:,.4g}" for key in ("measured", "simulated")]
            off = one["difference"]
            texts.append("-" if off is None else f"{off:+g}" if name == "kills" else f"{100 * off:+.0f} %")
        cells.append([Cell(text) for text in texts])
    goals = "; ".join(f"{goal['what']} {goal['met']} of {goal['configurations']}" for goal in found["goals"])
    return Table(f"Simulator against kernel (configurations within the goal: {goals}; tau {found['tau']})", columns, cells)
