"""The files of a run folder: the text of a document, of its manifest and of its tables."""

from __future__ import annotations

import json
from pathlib import Path

import documents as d
import polars as pl
import pytest
from swaplab.core import document as documents
from swaplab.core.errors import BadInput
from swaplab.core.model import Document


def test_a_document_comes_back_from_its_text_and_its_manifest_has_all_but_the_rows(tmp_path: Path) -> None:
    document = d.document([d.phone_row("a", [1.0])])
    text = documents.dumped(document)
    # One space a level, so that a change shows as a line.
    assert text.startswith('{\n "experiment": {\n  "about": "",\n') and text.endswith("}\n")
    assert Document.model_validate_json(text) == document
    whole, manifest = json.loads(text), json.loads(documents.manifest(document))
    assert manifest == {key: value for key, value in whole.items() if key != "rows"} and "rows" in whole
    assert documents.manifest(document).startswith('{\n "experiment": {\n  "about"') and manifest["schema"] == 2


@pytest.mark.parametrize(
    ("name", "folder", "shown"),
    [
        ("20261124T101500Z-phone", True, "phone"),
        ("20261124T101500Z-phone.json", False, "phone"),
        ("mine.v2.json", False, "mine.v2"),
        ("x-20261124T101500Z-y", True, "x-20261124T101500Z-y"),
    ],
)
def test_a_run_is_named_by_its_folder_without_the_time(name: str, folder: bool, shown: str, tmp_path: Path) -> None:
    place = tmp_path / name
    place.mkdir() if folder else place.write_text("")
    assert documents.run_name(place) == shown


def test_a_table_is_read_or_refused_with_its_place(tmp_path: Path) -> None:
    pl.DataFrame({"app": ["maps"], "ready_ns": [7]}).write_parquet(tmp_path / "launches.parquet")
    assert documents.read_table(tmp_path, "launches").rows() == [("maps", 7)]
    (tmp_path / "kills.parquet").write_text("no parquet")
    for table, said in (("timeline", "timeline.parquet: not there; expected a run folder"), ("kills", "kills.parquet: ")):
        with pytest.raises(BadInput, match=said):
            documents.read_table(tmp_path, table)


def test_figures_are_columns_by_their_paths() -> None:
    row = d.phone_row("a", [3.0, 5.0], half=1.5, swap="flash")
    frame = documents.frame(d.document([row, d.replayed("lru", 8, "10%", (1, 2, 3, 4))]))
    phone, replay = frame.rows(named=True)
    assert phone["launches.delay_ms.mean"] == 4.0 == documents.figure(row, "launches.delay_ms.mean")
    assert (phone["launches.delay_ms.mean.low"], phone["launches.delay_ms.mean.high"]) == (2.5, 5.5)
    assert phone["media.flash.write_bytes"] == 2 * d.MIB and phone["machine.dram"] is None
    assert (replay["machine.dram"], replay["paging.file_reads"], replay["launches.kills"]) == ("10%", 3.0, None)
    # A path that ends early, a group, a text and a key that is not there have no figure.
    assert [documents.figure(row, path) for path in ("launches.delay_ms", "design", "display.janky_share", "media.nvm.x")] == [None] * 4
