"""The report section of a simulated phone: verdict, distributions, memory over time, traffic by
app, rates per day and wear.
"""

from __future__ import annotations

from collections.abc import Sequence

from swaplab.analysis.outcomes import memory_was_tight
from swaplab.analysis.verdict import number, plural
from swaplab.core.model import Document, PhoneDetail, Row, Spread, StartSpread
from swaplab.report import glance, launches, phone_figures
from swaplab.report.origin import LabeledRow, kinds_of, labeled, mixed_kinds, origin, workload_name
from swaplab.report.page import Cell, Section, Table

CLASSES = ("foreground", "service", "previous", "cached")
MIB = 1 << 20


def section(document: Document, rows: Sequence[Row], key: str) -> Section:
    """Build the section about one workload on the simulated phone."""
    entries = labeled(rows)
    figures = [
        phone_figures.launch_cdf(entries, key),
        launches.feelings(entries, key),
        phone_figures.timeline(entries, key),
        launches.bytes_moved(entries, key),
        phone_figures.traffic(entries, key),
        phone_figures.lifetimes(entries, key),
        phone_figures.wasted(entries, key),
        launches.energy(entries, key),
    ]
    return Section(
        key=key,
        title=f"Simulated phone: {workload_name(rows[0])}",
        kinds=kinds_of(rows),
        verdict=launches.verdict_text(entries),
        evidence=[
            *mixed_kinds(rows),
            *glance.lines(entries),
            *_evidence(document, entries),
            *_display(document, entries),
            *launches.invalid_lines(entries),
            *launches.memory_lines(entries),
        ],
        figures=[figure for figure in figures if figure is not None],
        tables=[
            feel_table(entries),
            cost_table(entries),
            *launches.wear_table(entries),
            launches.design_table(entries),
            _app_table(entries),
        ],
        provenance=origin(document, rows),
        warnings=list(document.warnings),
        glance=glance.table(entries),
    )


def detail(entry: LabeledRow) -> PhoneDetail:
    return entry.row.phone or PhoneDetail()


def _evidence(document: Document, rows: Sequence[LabeledRow]) -> list[str]:
    first = rows[0].row
    launched = first.launches.count if first.launches is not None else 0
    lines = [
        f"{plural(launched, 'launch', 'launches')}, {plural(first.seeds, 'run')} with seeds from {first.seed} on; "
        f"{number((first.memory.dram_bytes or 0) / MIB)} MiB of DRAM for pages. "
        "Sizes and processor times of apps are assumed unless they were fitted."
    ]
    tight = [entry.label for entry in rows if detail(entry).memory_was_tight]
    if memory_was_tight([entry.row for entry in rows]) and len(tight) < len(rows):
        lines.append(f"Memory was tight under {', '.join(tight)} only.")
    if any(detail(entry).premise_built for entry in rows):
        lines.append(
            "Launches are generated: what follows from their independence, A2S' own assumption, is premise-built. Each seed is a user; "
            "intervals are 95 %, users drawn with all their launches."
        )
    elif any(source.kind == "launches" for source in document.inputs) or first.seeds == 1:
        lines.append("There is one user (n = 1), so that the figures say nothing about how others would fare.")
    return lines


def _display(document: Document, rows: Sequence[LabeledRow]) -> list[str]:
    """Say what the share of janky frames means, or why it is not known."""
    display = document.experiment.machine.display
    if any(entry.row.display is None for entry in rows):
        return ["Janky frames are not known: the machine has no display (machine.display.refresh_hz is 0)."]
    period_ms, work = 1000 / display.refresh_hz, display.frame_work
    return [
        f"A frame is janky if the app's work ({work}, assumed) and its waits for memory exceed {period_ms:.1f} ms. The app draws "
        f"{display.refresh_hz} frames a second in front and uses its pages at even intervals; in bursts, more frames would be janky."
    ]


def feel_table(rows: Sequence[LabeledRow]) -> Table:
    """Build the table of the figures that matter to a user, a row per design; rates per day are at
    the launch rate of the run.
    """
    columns = [
        "design",
        "cold p50, ms",
        "cold p95, ms",
        "resume p50, ms",
        "resume p95, ms",
        "janky frames, %",
        "frozen frames",
        f"kills a day ({', '.join(CLASSES)})",
    ]
    cells = []
    for entry in rows:
        spreads = [launches.spread_of(entry, name) for name in ("cold_ms", "resume_ms")]
        texts = [_delay(spread, leaf) for spread in spreads for leaf in ("p50", "p95")]
        texts += [glance.janky_text(entry.row), "-" if (shown := entry.row.display) is None else number(shown.frozen_frames, 3)]
        kills = detail(entry).daily.kills
        texts.append(" / ".join(number(kills.get(name, 0.0), 3) for name in CLASSES))
        cells.append([Cell(entry.label), *map(Cell, texts)])
    return Table("What a user feels (figures per day: at the launch rate of this run)", columns, cells)


def cost_table(rows: Sequence[LabeledRow]) -> Table:
    """Build the table of the figures that matter to a phone's vendor, a row per design."""
    columns = ["design", "direct reclaim, ms a day", "kswapd processor, s a day", "flash writes, GiB a day", "flash lasts, years"]
    columns += ["energy, J a day", "battery a day", "writes never read"]
    cells = []
    for entry in rows:
        day, ratio = detail(entry).daily, detail(entry).wasted_write_ratio
        wear = next((use.wear for medium, use in entry.row.media.items() if medium == "flash"), None)
        texts = [number(day.direct_reclaim_ms, 3), number(day.kswapd_cpu_s, 3), number(day.flash_write_gib, 3)]
        texts.append(launches.text_of_number(wear.years_to_endurance if wear is not None else None))
        texts += [number(day.joules), "-" if day.battery_share is None else f"{100 * day.battery_share:.1f} %"]
        texts.append("-" if ratio is None else f"{100 * ratio:.1f} %")
        cells.append([Cell(entry.label), *map(Cell, texts)])
    return Table("What it costs the phone (figures per day: at the launch rate of this run)", columns, cells)


def _delay(spread: Spread | None, leaf: str) -> str:
    if spread is None:
        return "-"
    value, interval = (spread.p50, spread.p50_interval) if leaf == "p50" else (spread.p95, spread.p95_interval)
    return f"{value:,.0f}" + (f" ({interval[0]:,.0f} to {interval[1]:,.0f})" if interval else "")


def _app_table(rows: Sequence[LabeledRow]) -> Table:
    columns = [
        "app",
        "design",
        "launches",
        "cold p50, ms",
        "cold p95, ms",
        "resume p50, ms",
        "resume p95, ms",
        "kills",
        "out, MiB",
        "in, MiB",
    ]
    names = dict.fromkeys(app.app for entry in rows for app in detail(entry).apps)
    cells = []
    for name in names:
        for entry in rows:
            for app in detail(entry).apps:
                if app.app == name:
                    texts = [entry.label, number(app.launches)]
                    texts += [_start(spread, leaf) for spread in (app.cold_ms, app.resume_ms) for leaf in ("p50", "p95")]
                    texts += [number(app.kills), number(app.swap_out_bytes / MIB), number(app.swap_in_bytes / MIB)]
                    cells.append([Cell(name), *map(Cell, texts)])
    return Table("Every app under every design (system: system processes and shared libraries)", columns, cells, folded=True)


def _start(spread: StartSpread | None, leaf: str) -> str:
    return "-" if spread is None or not spread.n else f"{spread.p50 if leaf == 'p50' else spread.p95:,.0f}"
