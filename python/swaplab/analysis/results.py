"""Typed results of analyses of traces and of NVM, which `--json` prints. `readable.py` reads these
and others, distinguished by their tag `document`.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from swaplab.core.bases import TolerantModel
from swaplab.core.model import Input, Kind


class CurvePoint(TolerantModel):
    memory_pages: int
    miss_ratio: float
    filter_limited: bool = False


class Curve(TolerantModel):
    """A miss-ratio curve of a policy over a trace. `mapping`: whether pages that the program freed
    were discarded (`follow`, `ignore`). `sample`: share of sampled pages.
    """

    document: Literal["curve"] = "curve"
    kind: Kind = "simulated"
    trace: Input
    policy: str = "lru"
    mapping: str = "follow"
    sample: float = 1.0
    points: list[CurvePoint]


class SwapShare(TolerantModel):
    """Accesses to swap, and the ratio of all accesses to those without swap."""

    accesses: int
    times: float


class Traffic(TolerantModel):
    read_bytes: int
    write_bytes: int


class Spread(TolerantModel):
    """The distribution of the accesses of a page or block trace over its data (Kim and Bahn,
    Section II).

    `rank_cdf`: share of accesses to the most accessed data, at equal steps of data. `data`: in
    pages. `scatter`: sampled accesses as (number, page, is a write, index of the partition in
    `partition_names`).
    """

    document: Literal["spread"] = "spread"
    kind: Kind = "measured"
    trace: Input
    accesses: int
    data: int
    rank_cdf: list[float]
    top_share: dict[str, float]
    share_for_80_percent: float
    single_access_ratio: float
    multi_access_ratio: float
    scatter: list[tuple[int, int, bool, int]] = Field(default_factory=list)
    partition_names: list[str] = Field(default_factory=list)
    partitions: dict[str, Traffic] = Field(default_factory=dict)
    partition_accesses: dict[str, int] = Field(default_factory=dict)
    swap: SwapShare | None = None


class EnergyParts(TolerantModel):
    """Energy in J by part, and seconds in which the medium was busy."""

    background_j: float
    activate_j: float
    read_j: float
    write_j: float
    io_j: float
    total_j: float
    busy_s: float


class EnergyResult(TolerantModel):
    """The energy of one run by DR.Swap's equations 1 to 14 (Zhong et al. 2016)."""

    document: Literal["energy"] = "energy"
    kind: Kind = "simulated"
    swap: str
    mode: str
    seconds: float
    swap_ins: int
    direct_reads: int
    swap_outs: int
    schemes: dict[str, EnergyParts]
    saving_vs_dram_percent: dict[str, float] = Field(default_factory=dict)


class CachePoint(TolerantModel):
    fill: str
    replacement: str
    admission: str
    size_bytes: int
    storage_reads: int
    storage_writes: int
    nvm_hits: int
    admitted: int
    bypassed: int
    nvm_writes: int


class NvmCache(TolerantModel):
    """NVM as a cache before storage (Kim and Bahn, Section IV)."""

    document: Literal["nvm-cache"] = "nvm-cache"
    kind: Kind = "simulated"
    trace: Input
    storage_accesses_without_nvm: int
    points: list[CachePoint]
