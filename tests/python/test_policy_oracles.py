"""Miss counts equal libCacheSim's for every reference of random traces.

libCacheSim runs in a separate process, because it exits on bad parameters and prints to standard
output.
"""

from __future__ import annotations

import json
import os
import random
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from replayed import points

#: `make soak`'s setting tries more (the seeds are those of `make test` and further ones).
TRACES = 400 if "SWAPLAB_SOAK_SECONDS" in os.environ else 120
# swaplab's policies by key, libCacheSim's by class and parameters (2Q and S3-FIFO with the sizes of
# swaplab's defaults).
PEERS: dict[str, tuple[str, dict[str, float]]] = {
    "lru": ("LRU", {}),
    "fifo": ("FIFO", {}),
    "clock": ("Clock", {}),
    "clock:init=1": ("Clock", {"init_freq": 1}),
    "clock:bits=2": ("Clock", {"n_bit_counter": 2}),
    "arc": ("ARC", {}),
    "two-q": ("TwoQ", {"a_in_size_ratio": 0.25, "a_out_size_ratio": 0.5}),
    "lfu": ("LFU", {}),
    "s3-fifo": ("S3FIFO", {"small_size_ratio": 0.1, "ghost_size_ratio": 0.9, "move_to_main_threshold": 2}),
    "sieve": ("Sieve", {}),
    "opt": ("Belady", {}),
}
# With fewer frames, libCacheSim's S3-FIFO has no room for a page in its small queue; for 2Q's first
# queue the minimum is 4.
FEWEST_FRAMES = 20

PEER = """
import json, sys
import libcachesim as l
oracle = l.ReaderInitParam(ignore_obj_size=True)
for line in sys.stdin:
    path, points = json.loads(line)
    reader = l.TraceReader(trace=path, trace_type=l.TraceType.ORACLE_GENERAL_TRACE, reader_init_params=oracle)
    misses = []
    for name, frames, parameters in points:
        reader.reset()
        cache = getattr(l, name)(cache_size=frames, hashpower=16, **parameters)
        misses.append(round(cache.process_trace(reader)[0] * reader.get_num_of_req()))
    print("misses", json.dumps(misses), flush=True)
"""


def random_trace(rng: random.Random) -> list[int]:
    """Draw a uniform, skewed, looping or phased trace, on which policies differ."""
    length, footprint = rng.randint(500, 4000), rng.randint(100, 500)
    skewed = [min(footprint, 1 + int(footprint * rng.random() ** rng.choice((1, 2, 3)))) for _ in range(length)]
    if rng.random() < 0.3:
        return skewed
    pages: list[int] = []
    while len(pages) < length:
        first, run = rng.randint(1, footprint), rng.randint(1, footprint)
        pages += [1 + (first + i) % footprint for i in range(run)] * rng.randint(1, 3)
        pages += skewed[: rng.randint(0, 200)]
        rng.shuffle(skewed)
    return pages[:length]


def write_oracle_general(path: Path, pages: list[int]) -> None:
    """Write libCacheSim's binary format: time, object, size, index of the object's next reference
    (from 1; -1: none).
    """
    following: dict[int, int] = {}
    rows = []
    for i in range(len(pages) - 1, -1, -1):
        rows.append(struct.pack("<IQIq", i, pages[i], 1, following.get(pages[i], -1)))
        following[pages[i]] = i + 1
    path.write_bytes(b"".join(reversed(rows)))


def our_misses(path: Path, policies: list[str], memory: list[int]) -> dict[tuple[str, int], int]:
    options = {"file_device": "ufs-3.1", "swap_device": "optane-m10", "first_touch": "charged", "mapping": "ignore", "signal": "exact"}
    found = points(path, policies, [f"{frames}p" for frames in memory], jobs=1, reading={"format": "oracle-general"}, **options)
    assert [(p["policy"], p["memory_pages"]) for p in found] == [(policy, frames) for policy in policies for frames in memory]
    return {(p["policy"], p["memory_pages"]): p["faults"] for p in found}


def test_misses_equal_libcachesim_on_random_traces(tmp_path: Path) -> None:
    pytest.importorskip("libcachesim", reason="libcachesim is not installed: no oracle for the policies")
    peer = subprocess.Popen(
        [sys.executable, "-c", PEER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert peer.stdin and peer.stdout
    compared = 0
    with peer:
        for seed in range(TRACES):
            rng = random.Random(seed)
            pages = random_trace(rng)
            footprint = len(set(pages))
            path = tmp_path / "trace.oracleGeneral"
            write_oracle_general(path, pages)
            frames = max(FEWEST_FRAMES, int(footprint * rng.choice((0.05, 0.1, 0.25, 0.5, 0.9))))
            if frames > footprint:
                continue
            asked = [(name, frames, parameters) for name, parameters in PEERS.values()]
            peer.stdin.write(json.dumps([str(path), asked]) + "\n")
            peer.stdin.flush()
            ours = our_misses(path, list(PEERS), [frames])
            theirs = next((line for line in peer.stdout if line.startswith("misses")), None)
            assert theirs is not None, f"libCacheSim ended at trace {seed}"
            expected = dict(zip(PEERS, json.loads(theirs.split(maxsplit=1)[1]), strict=True))
            assert {policy: ours[policy, frames] for policy in PEERS} == expected, f"trace {seed}, {frames} of {footprint} pages"
            compared += len(PEERS)
        peer.stdin.close()
    assert compared > 0.9 * TRACES * len(PEERS)


def test_page_by_page_hand_worked(tmp_path: Path) -> None:
    """Belady's example of his anomaly: FIFO faults 9 times with three frames and 10 times with
    four; the optimum 7 and 6 times.
    """
    path = tmp_path / "belady.oracleGeneral"
    write_oracle_general(path, [1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5])
    ours = our_misses(path, ["fifo", "lru", "opt"], [3, 4])
    assert ours == {("fifo", 3): 9, ("fifo", 4): 10, ("lru", 3): 10, ("lru", 4): 8, ("opt", 3): 7, ("opt", 4): 6}
