"""Conversion of ftrace lines to spans and instants, by hand, and to Perfetto's format, read back
with Perfetto's classes.
"""

from __future__ import annotations

import polars as pl
import pytest
from swaplab.report.perfetto import encoded, tracks_of
from swaplab.worlds.kernel.collect.events import Event, parse
from swaplab.worlds.vm.tracepoints import COLUMNS, Span, spans

pb = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2", reason="the package perfetto is not installed")


def trace(*rows: str) -> list[Event]:
    """Parse events from rows `TASK-PID SECONDS: REST`, converted to ftrace's format."""
    return parse("\n".join(f"  {task} [000] .....     {rest}" for task, rest in (row.split(" ", 1) for row in rows)))


def test_a_pair_of_begin_and_end_is_a_span_of_its_task() -> None:
    found = spans(
        trace(
            "app-1-70 1.000010: mm_vmscan_direct_reclaim_begin: order=0",
            "app-2-71 1.000020: mm_vmscan_direct_reclaim_begin: order=2",
            "app-1-70 1.000030: mm_vmscan_direct_reclaim_end: nr_reclaimed=32",
            "app-2-71 1.000050: mm_vmscan_direct_reclaim_end: nr_reclaimed=1",
        )
    )
    assert found == [
        Span(1_000_010_000, 20_000, "app-1 (70)", "mm_vmscan_direct_reclaim", "order=0"),
        Span(1_000_020_000, 30_000, "app-2 (71)", "mm_vmscan_direct_reclaim", "order=2"),
    ]


def test_kswapd_is_awake_from_its_first_wakeup_until_it_sleeps_or_the_trace_ends() -> None:
    wake, sleep = "mm_vmscan_kswapd_wake: nid=0 order=0", "mm_vmscan_kswapd_sleep: nid=0"
    awake = trace(
        *(f"kswapd0-40 {at}: {what}" for at, what in (("2.0", wake), ("2.5", wake), ("3.0", sleep), ("4.0", wake), ("4.25", wake)))
    )
    found = [(span.at_ns, span.length_ns, span.name) for span in spans(awake)]
    assert found == [(2 * 10**9, 10**9, "mm_vmscan_kswapd"), (4 * 10**9, 250_000_000, "mm_vmscan_kswapd")]


@pytest.mark.parametrize(
    "alone",
    [
        trace("init-1 1.0: mm_vmscan_direct_reclaim_end: nr_reclaimed=3", "init-1 2.0: mm_vmscan_direct_reclaim_end: nr_reclaimed=3"),
        trace("kswapd0-40 1.0: mm_vmscan_kswapd_wake: nid=0", "kswapd0-40 1.5: mm_vmscan_kswapd_wake: nid=0"),
    ],
    ids=["the end alone was asked for", "the beginning alone was"],
)
def test_one_tracepoint_of_a_pair_gives_instants(alone: list[Event]) -> None:
    assert [span.length_ns for span in spans(alone)] == [None, None]


def test_an_end_without_a_begin_is_left_out() -> None:
    begin, end = "mm_vmscan_direct_reclaim_begin: order=0", "mm_vmscan_direct_reclaim_end: nr_reclaimed=3"
    found = spans(trace(f"init-1 1.0: {end}", f"init-1 2.0: {begin}", f"init-1 2.5: {end}"))
    assert [(span.at_ns, span.length_ns) for span in found] == [(2 * 10**9, 500_000_000)]


def test_overlapping_requests_get_positions_in_the_device_s_queue() -> None:
    found = spans(
        trace(
            "app-1-70 1.1: block_rq_issue: 259,2 RS 4096 () 8 + 8 none,0,0 [app-1]",
            "kswapd0-40 1.2: block_rq_issue: 259,2 WS 8192 () 64 + 16 none,0,0 [kswapd0]",
            "init-1 1.3: block_rq_complete: 259,2 RS () 8 + 8 none,0,0 [0]",
            "app-1-70 1.4: block_rq_issue: 259,2 R 4096 () 16 + 8 none,0,0 [app-1]",
            "init-1 1.5: block_rq_complete: 259,2 WS () 64 + 16 none,0,0 [0]",
            "init-1 1.6: block_rq_complete: 259,2 R () 16 + 8 none,0,0 [0]",
            "init-1 1.7: mark_victim: pid=71",
        )
    )
    assert [(span.track, span.name, span.length_ns) for span in found] == [
        ("block 259,2 (1)", "read 4 KiB", 200_000_000),
        ("block 259,2 (2)", "write 8 KiB", 300_000_000),
        ("block 259,2 (1)", "read 4 KiB", 200_000_000),
        ("init (1)", "mark_victim", None),
    ]


def test_perfetto_s_classes_read_spans_and_instants() -> None:
    head = {"design": ["zram"], "seed": [3]}
    rows = {
        "at_ns": [100, 400],
        "length_ns": [50, None],
        "track": ["app-1 (70)"] * 2,
        "name": ["reclaim", "mark_victim"],
        "detail": ["order=0", "x"],
    }
    launch = pl.DataFrame({**head, "at_ns": [0], "app": ["app-1"], "start": ["cold"], "ready_ns": [900], "memory_wait_ns": [7]})
    empty = pl.DataFrame({**head, "at_ns": [0], "app": ["app-1"], "reason": ["low-memory"]}).clear()
    tables = {
        "launches": launch,
        "timeline": pl.DataFrame({**head, "at_ns": [900], "live": [1]}),
        "kills": empty,
        "tracepoints": pl.DataFrame({"design": ["zram"] * 2, "seed": [3] * 2, **rows}, schema_overrides=COLUMNS),
    }
    trace = pb.Trace.FromString(encoded(tracks_of(tables, 4096)))
    names = {packet.track_descriptor.uuid: packet.track_descriptor.name for packet in trace.packet if packet.HasField("track_descriptor")}
    events = [(p.timestamp, names[p.track_event.track_uuid], p.track_event) for p in trace.packet if p.HasField("track_event")]
    kinds = pb.TrackEvent
    assert [(at, event.type, event.name) for at, track, event in events if track == "app-1 (70)"] == [
        (100, kinds.TYPE_SLICE_BEGIN, "reclaim"),
        (150, kinds.TYPE_SLICE_END, ""),
    ]
    assert [(at, event.type, event.name) for at, track, event in events if track == "app-1 (70), events"] == [
        (400, kinds.TYPE_INSTANT, "mark_victim")
    ]
    waited = [(at, event.counter_value) for at, track, event in events if track == "launches waited for memory (PSI some)"]
    assert waited == [(0, 0), (900, 7)]
