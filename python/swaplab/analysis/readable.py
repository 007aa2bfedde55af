"""Every document that `report` reads: that of a run, and the results of analyses, distinguished by
their tag `document`.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from swaplab import _core
from swaplab.analysis.compare import Comparison
from swaplab.analysis.memory_samples import SampleAdvice
from swaplab.analysis.plan import Plan
from swaplab.analysis.recommend.result import Recommendation
from swaplab.analysis.results import Curve, EnergyResult, NvmCache, Spread
from swaplab.analysis.side_by_side import WorldComparison
from swaplab.core.bases import DEFERRED, TolerantModel
from swaplab.core.errors import BadInput
from swaplab.core.model import Document

AnalysisResult = Annotated[
    Comparison | Plan | Recommendation | SampleAdvice | Curve | Spread | EnergyResult | NvmCache | WorldComparison,
    Field(discriminator="document"),
]
Readable = Document | Comparison | Plan | Recommendation | SampleAdvice | Curve | Spread | EnergyResult | NvmCache | WorldComparison
_ADAPTER: TypeAdapter[AnalysisResult] = TypeAdapter(AnalysisResult, config=DEFERRED)


class _Head(TolerantModel):
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
