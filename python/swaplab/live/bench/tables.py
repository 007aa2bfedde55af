"""A bench's rows as the tables of a run folder, named and keyed like a simulated phone's where they say the same.

Times are in ns since the start of a configuration's run, sizes in bytes. `launches` has the visits of the warm-up, too (`warm_up`);
kills are those after it. A guest of user-mode Linux gives no times, so its runs have no tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


def tables(document: dict[str, Any]) -> dict[str, pl.DataFrame]:
    """launches (a row a visit), timeline (a row as each was answered) and kills of a bench's document; nothing where it has no times."""
    import polars as pl

    rows: dict[str, list[dict[str, Any]]] = {"launches": [], "timeline": [], "kills": []}
    for scheme in document["schemes"]:
        if any(visit["ms"] is None for visit in scheme["visits"]):
            return {}
        name = {"scheme": label(scheme["name"], scheme["swap_bytes"], scheme["app_policy"])}
        rows["launches"] += [name | _launch(visit) for visit in scheme["visits"]]
        rows["timeline"] += [name | moment for moment in scheme["timeline"]]
        rows["kills"] += [name | kill for kill in scheme["kill_events"]]
    kinds = {"scheme": pl.String, "repetition": pl.Int64, "at_ns": pl.Int64, "app": pl.String, "reason": pl.String, "freed_bytes": pl.Int64}
    found = {table: pl.DataFrame(content, infer_schema_length=None) for table, content in rows.items() if table != "kills"}
    return found | {"kills": pl.DataFrame(rows["kills"], schema=kinds)}


def label(name: str, swap_bytes: int, app_policy: str) -> str:
    """How people call a configuration: its scheme, swap size and app policy."""
    size = f" {swap_bytes >> 20} MiB" if swap_bytes else ""
    return name + size + ("" if app_policy == "none" else f" {app_policy}")


def _launch(visit: dict[str, Any]) -> dict[str, Any]:
    start = "cold" if visit["what"] == "launch" else "resume"
    rest = {key: value for key, value in visit.items() if key not in ("what", "ms", "app", "at_ns", "repetition")}
    times = {"at_ns": visit["at_ns"], "app": visit["app"], "start": start, "ready_ns": round(visit["ms"] * 1e6)}
    return {"repetition": visit["repetition"], **times, **rest}
