"""Import and export of Perfetto recordings, against Perfetto's own message classes (the PyPI
package `perfetto`).
"""

import csv
import subprocess
import sys
import zlib
from pathlib import Path

import polars as pl
import pytest
from swaplab.core.document import read_table
from swaplab.core.model import Experiment, Machine
from swaplab.report.perfetto import encoded, frame_bytes, tracks_of

pb = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2", reason="the package perfetto is not installed")

SWAPLAB = Path(sys.executable).parent / "swaplab"
SECOND = 10**9


def recording() -> "pb.Trace":
    """Build a recording of two apps, with packets out of order and some compressed.

    `maps` (pid 10) is in the foreground from 2 s, `chat` (20) from 5 s; it is killed at 8 s.
    """
    trace = pb.Trace()

    def packet(at_s: float = 0) -> "pb.TracePacket":
        made = trace.packet.add()
        made.timestamp = round(at_s * SECOND)
        return made

    def ftrace(at_s: float, pid: int = 1) -> "pb.FtraceEvent":
        event = bundle.event.add()
        event.timestamp, event.pid = round(at_s * SECOND), pid
        return event

    def adjust(at_s: float, pid: int, value: int) -> None:
        change = ftrace(at_s).oom_score_adj_update
        change.pid, change.oom_score_adj, change.comm = pid, value, "com.short"

    bundle = packet().ftrace_events
    adjust(2, 10, 0)
    adjust(5, 10, 700)
    adjust(5.001, 20, 0)
    adjust(7, 20, 900)
    born = ftrace(4.5).task_newtask
    born.pid, born.comm, born.clone_flags = 20, "zygote64", 0x1200011
    thread = ftrace(4.6, pid=20).task_newtask
    thread.pid, thread.clone_flags = 21, 0x3D0F00
    # Thread 21 increases its process's memory; then another process decreases the same memory.
    for at_s, pid, own, size in ((5.5, 21, 1, 300 << 20), (5.51, 21, 1, 310 << 20), (6.5, 99, 0, 200 << 20)):
        stat = ftrace(at_s, pid=pid).rss_stat
        stat.curr, stat.mm_id, stat.member, stat.size = own, 77, 1, size
    ftrace(6).mm_vmscan_kswapd_wake.nid = 0
    ftrace(6.1).mm_vmscan_direct_reclaim_begin.order = 0
    ftrace(6.2).mm_vmscan_direct_reclaim_begin.order = 0
    ftrace(8).print.buf = "C|512|kill_one_process|20\n"
    ftrace(8.1).print.buf = "C|512|kill_one_process|0\n"

    polled = packet(1).process_stats.processes.add()
    polled.pid, polled.rss_anon_kb, polled.rss_file_kb, polled.vm_swap_kb, polled.oom_score_adj = 10, 1000, 2000, 300, 900
    still = packet(1).process_stats.processes.add()
    still.pid, still.oom_score_adj = 30, 0  # already in the foreground, or not an app
    stats = packet(3).sys_stats
    for values, key, value in (
        (stats.meminfo, pb.MEMINFO_MEM_TOTAL, 4_000_000),
        (stats.meminfo, pb.MEMINFO_SWAP_FREE, 500_000),
        (stats.vmstat, pb.VMSTAT_PSWPIN, 12),
        (stats.vmstat, pb.VMSTAT_PGMAJFAULT, 34),
        (stats.vmstat, pb.VMSTAT_PGFAULT, 99),
    ):
        one = values.add()
        one.key, one.value = key, value
    pressure = stats.psi.add()
    pressure.resource, pressure.total_ns = pb.SysStats.PsiSample.PSI_RESOURCE_MEMORY_SOME, 5_000_000

    named = pb.Trace()
    for pid, name in ((10, "com.maps"), (20, "com.chat")):
        process = named.packet.add().process_tree.processes.add()
        process.pid = pid
        process.cmdline.extend([name, "--argument"])
    packet().compressed_packets = zlib.compress(named.SerializeToString())
    return trace


def series(path: Path, *options: str) -> list[tuple[float, str, str, str]]:
    done = subprocess.run([SWAPLAB, "trace", "convert", path, "--to", "series", "-o", "-", *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = list(csv.reader(done.stdout.splitlines()))
    assert rows[0] == ["t_s", "app", "what", "value"]
    return [(float(at), app, what, value) for at, app, what, value in rows[1:]]


def test_a_recording_becomes_launches_with_memory_series(tmp_path: Path) -> None:
    (tmp_path / "phone.pftrace").write_bytes(recording().SerializeToString())
    # Times are relative to the first event, the poll at 1 s.
    assert series(tmp_path / "phone.pftrace") == [
        (0, "com.maps", "anon_kib", "1000"),
        (0, "com.maps", "file_kib", "2000"),
        (0, "com.maps", "swap_kib", "300"),
        (0, "com.maps", "oom_score_adj", "900"),
        (0, "pid 30", "oom_score_adj", "0"),
        (1, "com.maps", "launch", "3"),
        (1, "com.maps", "oom_score_adj", "0"),
        (2, "machine", "mem_total_kib", "4000000"),
        (2, "machine", "swap_free_kib", "500000"),
        (2, "machine", "pswpin", "12"),
        (2, "machine", "pgmajfault", "34"),
        (2, "machine", "psi_some_ns", "5000000"),
        (3.5, "com.chat", "starts", "1"),
        (4, "com.maps", "oom_score_adj", "700"),
        (4.001, "com.chat", "launch", "1.999"),
        (4.001, "com.chat", "oom_score_adj", "0"),
        # Values within 100 ms are reduced to the last one, at the time of the first.
        (4.5, "com.chat", "anon_kib", str(310 << 10)),
        (5, "machine", "kswapd_wakes", "1"),
        (5.1, "machine", "direct_reclaims", "1"),
        (5.2, "machine", "direct_reclaims", "2"),
        (5.5, "com.chat", "anon_kib", str(200 << 10)),
        (6, "com.chat", "oom_score_adj", "900"),
        (7, "com.chat", "kill", ""),
    ]
    done = subprocess.run([SWAPLAB, "trace", "import", tmp_path / "phone.pftrace", "-o", tmp_path / "l.slt", "--json"], capture_output=True)
    assert done.returncode == 0 and b'"kind": "launch"' in done.stdout and b'"launches": 2' in done.stdout


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (lambda whole: whole[:-3], "the file ends inside it"),
        (lambda whole: whole + b"\x12\x00", "0x12"),
        (lambda whole: b"\x0a\xff\xff\xff\xff\xff\x7f", "bytes; expected a packet"),
        (lambda whole: b"\x0a\x04\x92\x03\x7f\x00", "expected a packet"),
        (lambda whole: pb.Trace(packet=[pb.TracePacket(timestamp=1)]).SerializeToString(), "no process, memory or kill event"),
    ],
)
def test_a_damaged_recording_is_refused_in_one_line(tmp_path: Path, damage, expected: str) -> None:
    bad = tmp_path / "bad.pftrace"
    bad.write_bytes(damage(recording().SerializeToString()))
    done = subprocess.run([SWAPLAB, "trace", "import", bad, "-o", tmp_path / "x.slt"], capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "bad.pftrace" in done.stderr and expected in done.stderr
    assert not (tmp_path / "x.slt").exists()


def write_perfetto(folder: Path, output: Path, frame: int = 4096) -> None:
    tables = {name: read_table(folder, name) for name in ("launches", "timeline", "kills")}
    output.write_bytes(encoded(tracks_of(tables, frame)))


def run_folder(folder: Path) -> Path:
    """Write a run's tables of two schemes and two seeds; seed 1 is not in the trace."""
    rows = [(scheme, seed) for scheme in ("none", "zram") for seed in (0, 1)]

    def table(name: str, **columns: list[object]) -> None:
        size = len(next(iter(columns.values())))
        keys = {"design": [s for s, _ in rows for _ in range(size)], "seed": [s for _, s in rows for _ in range(size)]}
        pl.DataFrame(keys | {key: values * len(rows) for key, values in columns.items()}).write_parquet(folder / f"{name}.parquet")

    times = [0, 20 * SECOND, 40 * SECOND]
    table(
        "launches",
        at_ns=times,
        app=["maps", "chat", "maps"],
        start=["cold", "cold", "resume"],
        ready_ns=[900, 800, 70],
        cpu_ns=[500, 800, 30],
    )
    memory = dict.fromkeys(("app_anon", "system_anon", "file", "graphics", "kernel"), [1, 2])
    table("timeline", at_ns=[0, SECOND], free=[100, 50], swap=[0, 7], pool_bytes=[0, 4000], live=[1, 2], **memory)
    table("kills", at_ns=[30 * SECOND], app=["chat"], reason=["low-memory"])
    return folder


def test_a_run_decodes_with_perfettos_own_classes(tmp_path: Path) -> None:
    out = tmp_path / "run.pftrace"
    write_perfetto(run_folder(tmp_path), out)
    trace = pb.Trace.FromString(out.read_bytes())
    assert {packet.trusted_packet_sequence_id for packet in trace.packet} == {1}
    named = {p.track_descriptor.uuid: p.track_descriptor for p in trace.packet if p.HasField("track_descriptor")}
    groups = [d for d in named.values() if not d.HasField("parent_uuid")]
    assert [d.name for d in groups] == ["none, seed 0", "zram, seed 0"]
    assert all(d.parent_uuid in named for d in named.values() if d.HasField("parent_uuid"))

    mine = {uuid: d.name for uuid, d in named.items() if d.parent_uuid == groups[1].uuid}
    events = [(p.timestamp, mine[p.track_event.track_uuid], p.track_event) for p in trace.packet if p.track_event.track_uuid in mine]
    assert [t for t, _, _ in events] == sorted(t for t, _, _ in events)
    kinds = pb.TrackEvent
    slices = [(t, e.type, e.name, list(e.categories)) for t, track, e in events if track == "launches and switches"]
    assert slices == [
        (0, kinds.TYPE_SLICE_BEGIN, "launch maps", ["cold start"]),
        (900, kinds.TYPE_SLICE_END, "", []),
        (20 * SECOND, kinds.TYPE_SLICE_BEGIN, "launch chat", ["cold start"]),
        (20 * SECOND + 800, kinds.TYPE_SLICE_END, "", []),
        (40 * SECOND, kinds.TYPE_SLICE_BEGIN, "switch maps", ["resume"]),
        (40 * SECOND + 70, kinds.TYPE_SLICE_END, "", []),
    ]
    counters = {name: [(t, e.counter_value) for t, track, e in events if track == name] for name in mine.values()}
    assert counters["free memory"] == [(0, 409_600), (SECOND, 204_800)]
    assert counters["swapped out"] == [(0, 0), (SECOND, 28_672)]
    stall = "memory stall of launches (PSI some)"
    assert counters[stall] == [(0, 0), (900, 400), (20 * SECOND + 800, 400), (40 * SECOND + 70, 440)]
    units = {d.name: d.counter.unit for d in named.values() if d.HasField("counter")}
    assert (units["free memory"], units["apps alive"], units[stall]) == (3, 2, 1)
    kills = [(t, e.type, e.name, list(e.categories)) for t, track, e in events if track == "kills"]
    assert kills == [(30 * SECOND, kinds.TYPE_INSTANT, "kill chat", ["low-memory"])]


def test_frames_are_as_large_as_the_phones_pages(tmp_path: Path) -> None:
    out = tmp_path / "run.pftrace"
    assert frame_bytes(Experiment(machine=Machine(page_size="16KiB"))) == 16_384
    write_perfetto(run_folder(tmp_path), out, 16_384)
    packets = pb.Trace.FromString(out.read_bytes()).packet
    free = {p.track_descriptor.uuid for p in packets if p.track_descriptor.name == "free memory"}
    assert {p.track_event.counter_value for p in packets if p.track_event.track_uuid in free} == {100 * 16_384, 50 * 16_384}


def test_worlds_with_different_columns_share_a_trace() -> None:
    head = {"design": ["zram"], "at_ns": [0], "app": ["mail"], "start": ["cold"], "ready_ns": [900]}
    phone = pl.DataFrame({**head, "world": ["phone"], "seed": [3], "cpu_ns": [500]})
    kernel = pl.DataFrame({**head, "world": ["kernel"], "repetition": [1]})
    timeline = pl.DataFrame({"design": ["zram"], "world": ["phone"], "seed": [3], "at_ns": [0], "free": [7]})
    none = pl.DataFrame({"design": [], "world": []}, schema={"design": pl.String, "world": pl.String})
    tracks = tracks_of({"launches": pl.concat([phone, kernel], how="diagonal"), "timeline": timeline, "kills": none}, 4096)
    groups = [number for number, track in enumerate(tracks) if track.under is None]
    assert [tracks[number].name for number in groups] == ["phone: zram, seed 3", "kernel: zram, repetition 1"]
    below = {number: [track.name for track in tracks if track.under == number] for number in groups}
    stall = "memory stall of launches (PSI some)"
    assert below[groups[0]] == ["launches and switches", "free memory", stall, "kills"]
    assert below[groups[1]] == ["launches and switches", "kills"], "what a world cannot know has no track"


def test_an_invalid_run_folder_is_refused(tmp_path: Path) -> None:
    done = subprocess.run([SWAPLAB, "report", tmp_path, "--perfetto", tmp_path / "x.pftrace"], capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "launches.parquet" in done.stderr and not (tmp_path / "x.pftrace").exists()
