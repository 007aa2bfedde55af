"""How much zram, NVM or flash a user needs: a launch sequence on the simulated phone with each swap at each size.

Three media have three prices, so a choice is ranked by what its bytes cost relative to DRAM: frames are the same for all, and zram's pool
takes some of them; NVM and flash cost the area that was set aside. Tables, and a pool that lies beside the frames
(`sim.phone.pool_in_dram = false`), are DRAM on top. The relative prices are assumed, and an option.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import polars as pl

from swaplab import BadInput, _core
from swaplab.plan import Target

#: Price of a byte relative to DRAM's: assumed, no price list is behind them.
PRICES = {"dram": 1.0, "nvm": 0.5, "flash": 0.03}
#: Scheme -> the medium whose area is set aside; of DRAM nothing is.
MEDIA = {"zram": "dram", "nvm-direct": "nvm", "nvm-copy": "nvm", "flash": "flash"}
DAY = 86_400


@dataclass(frozen=True)
class Asked:
    """What is tried: schemes of `MEDIA` at `sizes` (such as 256MiB), each over `seeds` phones (app sizes are drawn)."""

    schemes: list[str]
    sizes: list[str]
    prices: dict[str, float]

    def __post_init__(self) -> None:
        if unknown := [scheme for scheme in self.schemes if scheme.split(":")[0] not in MEDIA]:
            raise BadInput(f"--scheme {unknown[0]}: no scheme whose size can be planned; expected some of: {' '.join(MEDIA)}")


def parse_prices(text: str | None) -> dict[str, float]:
    """`dram=1,nvm=0.5,flash=0.03`; what is not given has its default."""
    found = dict(PRICES)
    for part in (text or "").split(","):
        name, _, value = part.partition("=")
        if not part.strip():
            continue
        try:
            found[name.strip()] = float(value) if name.strip() in PRICES else float("nan")
        except ValueError:
            found[name.strip()] = float("nan")
        if not 0 <= found[name.strip()] < float("inf"):
            raise BadInput(f"--price '{part}': expected dram=, nvm= or flash= and a number of 0 or more, relative to DRAM")
    return found


def experiment(base: dict[str, Any], trace: str, asked: Asked, seeds: int) -> dict[str, Any]:
    """The experiment that tries each scheme at each size on the phone of `base`, no swap first."""
    schemes = [{"name": "no swap", "swap": "none"}]
    for scheme in asked.schemes:
        joint = "," if ":" in scheme else ":"
        schemes += [{"name": f"{scheme} {size}", "swap": f"{scheme}{joint}size={size}"} for size in asked.sizes]
    wanted = {"seed": base["seed"], "sim": base["sim"] | {"launches": trace, "seeds": seeds, "schemes": schemes}}
    resolved: dict[str, Any] = json.loads(_core.experiment_from_json("plan", json.dumps(wanted)))
    return resolved


def plan_launches(document: dict[str, Any], target: Target, asked: Asked, reuse: dict[str, Any]) -> dict[str, Any]:
    """The plan of a `sim` document made by `experiment`; `reuse` is that of `trace analyze`."""
    from swaplab.report.pareto import front

    swaps = {scheme["name"]: scheme["swap"] for scheme in document["experiment"]["sim"]["schemes"]}
    rows = [_row(row, swaps[row["name"]], asked.prices) for row in document["schemes"]]
    frame = pl.DataFrame(rows, infer_schema_length=None).sort("price_mib", "time_ms", maintain_order=True)
    least = float(frame["time_ms"].min())  # type: ignore[arg-type]
    limit = target.limit_ns(least * 1e6) / 1e6
    meets = frame.filter(pl.col("time_ms") <= limit)
    curve = reuse["cold_starts_by_live_apps"]
    return document | {
        "plan": {
            "target": {"seconds": target.seconds, "percent": target.percent, "limit_s": limit / 1e3},
            "least_s": least / 1e3,
            "prices": asked.prices,
            "answer": meets.row(0, named=True) if meets.height else None,
            "cheapest_of_scheme": meets.unique("scheme", keep="first", maintain_order=True).to_dicts(),
            "front": front(frame, "price_mib", "time_ms").to_dicts(),
            "sizes": frame.to_dicts(),
        },
        "mrc": {"points": [{"live_apps": apps, "miss_ratio": cold / curve[0]} for apps, cold in enumerate(curve)]},
    }


def _row(row: dict[str, Any], swap: str, prices: dict[str, float]) -> dict[str, Any]:
    """What one scheme at one size is, costs and gives; bytes written are of a day like the trace's."""
    from swaplab._core import size_bytes

    memory, scheme = row["memory"], swap.split(":")[0]
    size = next((size_bytes("size", part[5:]) for part in swap.replace(":", ",").split(",") if part.startswith("size=")), 0)
    dram = memory["dram_total_bytes"] - memory["frames_bytes"]
    beside = {medium: size if MEDIA.get(scheme) == medium else 0 for medium in ("nvm", "flash")}
    price = dram * prices["dram"] + sum(beside[medium] * prices[medium] for medium in beside)
    per_day = DAY / row["seconds"] if row["seconds"] else 0.0
    return {
        "name": row["name"],
        "scheme": scheme,
        "size_bytes": size,
        "price_mib": price / 2**20,
        "dram_bytes": dram,
        "nvm_bytes": beside["nvm"],
        "flash_bytes": beside["flash"],
        "time_ms": float(row["launch_ms"]["mean"]),
        "p95_ms": float(row["launch_ms"]["p95"]),
        "cold_starts": float(row["cold_starts"]),
        "kills": float(row["kills"]),
        "energy_j": row["energy_j"]["total"],
        "nvm_write_bytes_a_day": row["nvm_write_bytes"] * per_day,
        "flash_write_bytes_a_day": row["flash_write_bytes"] * per_day,
    }


def answer(document: dict[str, Any]) -> str:
    """The plan in one line."""
    found, seeds = document["plan"], document["experiment"]["sim"]["seeds"]
    limit = f"{found['target']['limit_s'] * 1e3:.0f} ms"
    if (best := found["answer"]) is None:
        return f"No swap and size tried launches apps in {limit} in the mean; the least found is {found['least_s'] * 1e3:.0f} ms."
    others = [row for row in found["cheapest_of_scheme"] if row["scheme"] != best["scheme"]]
    beside = f"; {', '.join(row['name'] for row in others)} would do too, at a higher price" if others else ""
    return (
        f"Cheapest for launches of at most {limit} in the mean: {best['name']}, {best['time_ms']:.0f} ms, "
        f"{best['cold_starts']:.1f} cold starts ({f'means over {seeds} seeds' if seeds > 1 else 'one seed'}){beside}."
    )
