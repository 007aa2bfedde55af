"""A kernel of the distribution in QEMU by `swaplab run`: there are swap-outs, no page is lost, and
the run's files are complete.

It runs if the guest's parts are available, or can be fetched from the distribution in under a
minute (60 MB, once, to the user's cache).
"""

from __future__ import annotations

from pathlib import Path

import pytest
from command import swaplab

pytestmark = pytest.mark.guests

MIB = 1 << 20


def test_a_run_swaps_loses_no_page_and_gives_the_common_document(file: Path, tmp_path: Path) -> None:
    document = swaplab("run", file, "-o", tmp_path / "out", "--json", timeout=900).document
    [row] = document["rows"]
    assert (row["world"], row["kind"], row["swap"], row["invalid"]) == ("vm", "virtual", "zram:size=96MiB", None)
    assert row["paging"]["swap_out_bytes"] > MIB and row["paging"]["file_read_bytes"] > 0 and row["launches"]["count"] == 3
    assert row["kernel"]["bad_pages"] == 0 and row["kernel"]["checked_apps"] > 0 and row["launches"]["delay_ms"]["mean"] > 1
    assert row["memory"]["pool_peak_bytes"] > 0 and row["energy"] is None and document["machine"] is None
    assert any(name.endswith("image sha256") for name in document["versions"])
    assert {"launches.parquet", "timeline.parquet", "kills.parquet", "report.html", "report.pftrace"} <= {
        path.name for path in (tmp_path / "out").iterdir()
    }
    assert row["kernel"]["events"]["mm_vmscan_direct_reclaim_begin"] > 0
    tracks = slices(tmp_path / "out" / "report.pftrace")
    assert [name for name, _ in tracks["launches and switches"]] == [f"launch app-{n}" for n in (1, 2, 3)] * 2
    spans = [(track, span) for track, found in tracks.items() for span in found if span[0] == "mm_vmscan_direct_reclaim"]
    assert any(track.startswith("app-") for track, _ in spans), "apps reclaim under their own names"
    assert all(length > 0 for _, (_, length) in spans)
    [(awake, length)] = [next(iter(found)) for track, found in tracks.items() if track.startswith("kswapd0 (")]
    assert awake == "mm_vmscan_kswapd" and length > 0


def slices(path: Path) -> dict[str, list[tuple[str, int]]]:
    """Read the names and lengths of the slices of each track with Perfetto's classes."""
    pb = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2", reason="the package perfetto is not installed")
    packets = pb.Trace.FromString(path.read_bytes()).packet
    names = {packet.track_descriptor.uuid: packet.track_descriptor.name for packet in packets if packet.HasField("track_descriptor")}
    found: dict[str, list[tuple[str, int]]] = {}
    begun: dict[str, list[tuple[str, int]]] = {}
    for packet in packets:
        event = packet.track_event
        track = names.get(event.track_uuid, "")
        if event.type == pb.TrackEvent.TYPE_SLICE_BEGIN:
            begun.setdefault(track, []).append((event.name, packet.timestamp))
        elif event.type == pb.TrackEvent.TYPE_SLICE_END:
            name, at = begun[track].pop()
            found.setdefault(track, []).append((name, packet.timestamp - at))
    return found
