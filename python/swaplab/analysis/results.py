"""Typed results of analyses, which `--json` prints and `report` reads, distinguished by their tag
`document`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from swaplab import _core
from swaplab.analysis.compare import Comparison
from swaplab.analysis.memory_samples import SampleAdvice
from swaplab.analysis.plan import Plan
from swaplab.analysis.recommend.result import Recommendation
from swaplab.analysis.side_by_side import WorldComparison
from swaplab.core.errors import BadInput
from swaplab.core.model import Document, Input, Kind


class _Result(BaseModel):
    # Extra figures are ignored, so that results of a newer core can be read.
    model_config = ConfigDict(extra="ignore")


class CurvePoint(_Result):
    memory_pages: int
    miss_ratio: float
    filter_limited: bool = False


class Curve(_Result):
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


class SwapShare(_Result):
    """Accesses to swap, and the ratio of all accesses to those without swap."""

    accesses: int
    times: float


class Traffic(_Result):
    read_bytes: int
    write_bytes: int


class Spread(_Result):
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


class EnergyParts(_Result):
    """Energy in J by part, and seconds in which the medium was busy."""

    background_j: float
    activate_j: float
    read_j: float
    write_j: float
    io_j: float
    total_j: float
    busy_s: float


class EnergyResult(_Result):
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


class CachePoint(_Result):
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


class NvmCache(_Result):
    """NVM as a cache before storage (Kim and Bahn, Section IV)."""

    document: Literal["nvm-cache"] = "nvm-cache"
    kind: Kind = "simulated"
    trace: Input
    storage_accesses_without_nvm: int
    points: list[CachePoint]


AnalysisResult = Annotated[
    Comparison | Plan | Recommendation | SampleAdvice | Curve | Spread | EnergyResult | NvmCache | WorldComparison,
    Field(discriminator="document"),
]
Readable = Document | Comparison | Plan | Recommendation | SampleAdvice | Curve | Spread | EnergyResult | NvmCache | WorldComparison
_ADAPTER: TypeAdapter[AnalysisResult] = TypeAdapter(AnalysisResult)


class _Head(BaseModel):
    model_config = ConfigDict(extra="ignore")
    document: str | None = None


def parse(place: str, text: str) -> Readable:
    """Parse a JSON text to a typed result; `place` names it in errors. Without a tag it is the
    document of a run. Raises BadInput.
    """
    try:
        tag = _Head.model_validate_json(text).document
        if tag is None:  # the core reports errors in a document, including another schema version
            return Document.model_validate_json(_core.document_check(place, text))
        return _ADAPTER.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        problem = f"{where}: {first['msg']}" if where else str(first["msg"])
        raise BadInput(f"{place}: {problem}; expected a document of 'swaplab run' or a result of an analysis") from None
