"""The section of a simulated phone (`sim`): the schemes' section with distributions, memory over time, traffic by app, rates a day."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from swaplab.published import beside
from swaplab.report import launches, phone_figures
from swaplab.report.page import Cell, Section, Table

CLASSES = ("foreground", "service", "previous", "cached")


def matches(document: dict[str, Any]) -> bool:
    schemes, experiment = document.get("schemes"), document.get("experiment")
    phone = isinstance(experiment, dict) and isinstance(experiment.get("sim"), dict)
    return phone and isinstance(schemes, list) and bool(schemes) and isinstance(schemes[0].get("cdf"), dict)


def section(document: dict[str, Any], key: str) -> Section:
    """Everything the page says of one simulated phone."""
    rows = document["schemes"]
    base = launches.section(document, key)
    sim = document["experiment"]["sim"]
    kept = {figure.key.removeprefix(f"{key}-"): figure for figure in base.figures}
    figures = [
        phone_figures.launch_cdf(rows, key),
        kept.get("ux"),
        phone_figures.timeline(rows, key),
        kept.get("bytes"),
        phone_figures.traffic(rows, key),
        phone_figures.lifetimes(rows, key),
        phone_figures.wasted(rows, key),
        kept.get("energy"),
    ]
    return replace(
        base,
        title=f"Simulated phone: {sim['launches'].rsplit('/', 1)[-1]}",
        evidence=[*_evidence(document), *base.evidence],
        figures=[figure for figure in figures if figure is not None],
        tables=[verdict_table(rows), *_beside_table(rows), *base.tables, _app_table(rows)],
        provenance=[*_provenance(document), *base.provenance],
    )


def _evidence(document: dict[str, Any]) -> list[str]:
    sim, rows = document["experiment"]["sim"], document["schemes"]
    runs, launched = len(rows[0]["seeds"]), rows[0]["launches"]
    lines = [
        f"{launched:.0f} launches, {runs} {'user' if runs == 1 else 'runs'} with seeds from {document['experiment']['seed']} on; "
        f"{sim['phone']['dram_mib']:g} MiB of DRAM. Sizes and processor times of apps are assumed (`sim.apps`)."
    ]
    if document.get("premise_built"):
        lines.append(
            "Launches are generated: what follows from their independence, A2S' own assumption, is premise-built. Each seed is a user; "
            "intervals are 95 %, users drawn with all their launches."
        )
    else:
        lines.append("One recorded user: nothing here says how sure the figures are for others (n = 1).")
    return lines


def verdict_table(rows: list[dict[str, Any]]) -> Table:
    """What decides between schemes, one row each; rates are at the beat of these launches."""
    columns = ["scheme", "cold p50, ms", "cold p95, ms", "hot p50, ms", "hot p95, ms"]
    columns += [f"kills a day ({', '.join(CLASSES)})", "direct reclaim, ms a day", "kswapd CPU, s a day"]
    columns += ["flash, GiB a day", "energy, J a day", "battery a day", "writes never read"]
    cells = []
    for row in rows:
        day = row["a_day"]
        texts = [_time(row[what], leaf) for what in ("cold_ms", "switch_ms") for leaf in ("p50", "p95")]
        texts.append(" / ".join(f"{day['kills'][name]:,.0f}" for name in CLASSES))
        texts += [f"{day[name]:,.0f}" for name in ("direct_reclaim_ms", "kswapd_cpu_s")]
        texts += [f"{day['flash_write_gib']:.2f}", f"{day['joules']:,.0f}", f"{100 * day['battery_share']:.1f} %"]
        wasted = row["wasted_write_ratio"]
        texts.append("-" if wasted is None else f"{100 * wasted:.1f} %")
        cells.append([Cell(row["name"]), *map(Cell, texts)])
    return Table("Verdict: what a user and a phone feel (a day at the beat of these launches)", columns, cells)


def _beside_table(rows: list[dict[str, Any]]) -> list[Table]:
    """The paper's figures beside ours, where the experiment gives any."""
    said = [(one.scheme, one.what, f"{one.published:.1f}", "-" if one.ours is None else f"{one.ours:.1f}") for one in beside(rows)]
    columns = ["scheme", "figure", "published", "here"]
    return [Table("Beside the paper's figures", columns, [[Cell(text) for text in row] for row in said])] if said else []


def _time(times: dict[str, Any] | None, leaf: str) -> str:
    if not times:
        return "-"
    interval = times.get(f"{leaf}_interval")
    return f"{times[leaf]:,.0f}" + (f" ({interval[0]:,.0f} to {interval[1]:,.0f})" if interval else "")


def _app_table(rows: list[dict[str, Any]]) -> Table:
    columns = ["app", "scheme", "launches", "cold p50, ms", "cold p95, ms", "hot p50, ms", "hot p95, ms", "kills", "out, MiB", "in, MiB"]
    cells = []
    by_app: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for row in rows:
        for app in row["apps"]:
            by_app.setdefault(app["app"], []).append((row["name"], app))
    for name, found in by_app.items():
        for scheme, app in found:
            texts = [scheme, f"{app['launches']:.4g}"]
            texts += [_time(app[what], leaf) for what in ("cold_ms", "switch_ms") for leaf in ("p50", "p95")]
            texts += [f"{app['kills']:.4g}", *(f"{app[what] / (1 << 20):.1f}" for what in ("swap_out_bytes", "swap_in_bytes"))]
            cells.append([Cell(name), *map(Cell, texts)])
    return Table("Every app under every scheme (system: system processes and shared libraries)", columns, cells, folded=True)


def _provenance(document: dict[str, Any]) -> list[tuple[str, str]]:
    phone = document["experiment"]["sim"]["phone"]
    found = [("launches", f"{path} {content}" if content != path else path) for path, content in document.get("inputs", {}).items()]
    found += [(f"{name} device", phone[name]) for name in ("flash", "nvm", "dram", "processor") if phone.get(name)]
    return [*found, ("page policy", phone["policy"]), ("seed", str(document["experiment"]["seed"]))]
