"""The files of a run folder: report.html, summary.json, manifest.json, tables, what a world adds
and, for launches, report.pftrace.
"""

from __future__ import annotations

from swaplab import report
from swaplab.core import document as documents
from swaplab.core.files import parquet_bytes
from swaplab.report import perfetto, worst
from swaplab.worlds.run import Outcome


def files_of(outcome: Outcome) -> dict[str, bytes]:
    """Build every file by name. The document is the last one, so a folder that has it is
    complete.
    """
    document, tables = outcome.document, outcome.tables
    files = {name: text.encode() for name, text in outcome.files.items()}
    files |= {f"{name}.parquet": parquet_bytes(frame) for name, frame in tables.items()}
    files["results.parquet"] = parquet_bytes(documents.frame(document))
    if all(name in tables for name in perfetto.NEEDED):
        tracks = perfetto.tracks_of(tables, perfetto.frame_bytes(document.experiment))
        files["report.pftrace"] = perfetto.encoded(tracks)
    extra = worst.sections(document, tables["launches"], tables.get("queue_waits")) if "launches" in tables else []
    files["report.html"] = report.page([(document.name, document)], extra=extra).encode()
    files[documents.MANIFEST] = documents.manifest(document).encode()
    files[documents.SUMMARY] = documents.dumped(document).encode()
    return files
