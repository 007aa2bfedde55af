"""The policy models against cases worked by hand. Each step of a trace is a reference, then (fault,
evicted).
"""

import random

import pytest
from models.simple_policies import Clock, Fifo, Lru
from models.spo_clock import COSTS, SpoClock, thresholds

BELADY = [1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5]


def faults(policy, pages):
    return sum(policy.reference(page)[0] for page in pages)


def test_beladys_sequence():
    # The textbook figures: FIFO faults more with four frames than with three, LRU does not.
    assert [faults(Fifo(3), BELADY), faults(Fifo(4), BELADY)] == [9, 10]
    assert [faults(Lru(3), BELADY), faults(Lru(4), BELADY)] == [10, 8]


def test_clock_gives_a_second_chance():
    clock = Clock(3)
    for page in [1, 2, 3]:
        assert clock.reference(page) == (True, [])
    assert clock.reference(1) == (False, [])  # bit of 1 set
    assert clock.reference(4) == (True, [2])  # the hand clears 1, takes 2: queue 3 1 4
    assert clock.reference(5) == (True, [3])  # 1 4 5
    assert clock.reference(6) == (True, [1])  # its bit was cleared and not set again


def test_a_freed_page_leaves_a_hole():
    for policy in (Fifo(2), Lru(2), Clock(2), SpoClock(2, regions=1)):
        policy.reference(1)
        policy.reference(2)
        policy.forget(1)
        assert policy.reference(3) == (True, [])  # into the hole
        assert policy.reference(4) == (True, [2])


def test_thresholds():
    # 8 x 28571 / 14286 = 15.9994, / 10000 = 22.86, / 5263 = 43.43
    assert thresholds(COSTS, 8) == {"write/anon": 8, "write/file": 16, "read/file": 23, "read/anon": 43}
    assert thresholds(COSTS, 1) == {"write/anon": 1, "write/file": 2, "read/file": 3, "read/anon": 5}


def run(policy, steps):
    """Run the steps: 'R1' is a read of anonymous page 1, 'W1' a write; each has the pages that it
    must evict, or None for a hit.
    """
    for step, expected in steps:
        got = policy.reference(int(step[1:]), step[0], "anon")
        assert got == ((False, []) if expected is None else (True, expected)), step


def queues(policy, name):
    region = policy.region[name]
    return region.size, list(region.queue), list(region.shadow)


def test_spo_clock_frame_mode_four_frames():
    spo = SpoClock(4)  # every region has size 1, every shadow a capacity of 3
    # read/anon runs over its size while frames are free
    run(spo, [("R1", []), ("R2", []), ("R3", []), ("R4", [])])
    assert queues(spo, "read/anon") == (1, [1, 2, 3, 4], [])
    # write/anon is empty: read/anon is three over its size, its hand is on 1
    run(spo, [("W5", [1])])
    run(spo, [("W2", None)])  # a hit sets the write bit of 2, nothing more
    # read/anon is full; the hand is on 2: read bit 0, so the victim; write bit 1 and not in
    # write/anon, so it is cross-inserted there; that region is full (it holds 5), so 5 is
    # reclaimed. 2 leaves read/anon but stays in memory; a frame is free, thanks to 5.
    run(spo, [("R6", [5])])
    assert queues(spo, "read/anon") == (1, [3, 4, 6], [1, 2])
    assert queues(spo, "write/anon") == (1, [2], [5])
    run(spo, [("W5", [2])])  # a hit in write/anon's shadow; write/anon is full and gives up 2
    assert spo.region["write/anon"].hits == 1
    run(spo, [("R2", [3])])  # a hit in read/anon's shadow, though 2 is in write/anon's too
    assert spo.region["read/anon"].hits == 1
    assert spo.region["write/anon"].decayed == pytest.approx(0.999) and spo.region["read/anon"].decayed == 1.0
    run(spo, [("W2", None), ("R7", [4]), ("R8", [6])])
    assert queues(spo, "read/anon") == (1, [2, 7, 8], [3, 4, 6])  # 1 was the oldest of four
    # The hand is on 2 again: cross-inserted into write/anon (5 goes), it leaves that shadow without
    # counting a hit.
    run(spo, [("R9", [5])])
    assert queues(spo, "write/anon") == (1, [2], [5])
    assert queues(spo, "read/anon") == (1, [7, 8, 9], [4, 6, 2])
    assert spo.region["write/anon"].hits == 1


def test_spo_clock_sizes_follow_shadow_hits():
    spo = SpoClock(8, t0=1)  # sizes 2; thresholds 5, 1, 3, 2
    run(spo, [(f"R{page}", []) for page in range(1, 9)])
    run(spo, [("W9", [1]), ("W10", [2])])  # below its size: from the region most over its own
    run(spo, [("W11", [9])])  # full: from its own
    # hit, threshold 1: write/anon 3, the first of the equal scores (all 0) gives: read/anon 1
    run(spo, [("W9", [3])])
    assert queues(spo, "write/anon") == (3, [10, 11, 9], [])
    assert queues(spo, "read/anon") == (1, [4, 5, 6, 7, 8], [1, 2, 3])
    run(spo, [("W12", [10]), ("W10", [4])])  # read/anon has one page and is spared: read/file gives
    assert [spo.region[name].size for name in spo.order] == [1, 4, 1, 2]


@pytest.mark.parametrize(
    ("shrink", "loser"),
    [
        ("score", "write/file"),  # 5263 x 1 / 11, 10000 x 2 / 9, 14286 x 0.1 / 14
        ("raw", "write/file"),  # 4 / 43, 5 / 23, 1 / 16
        ("round-robin", "read/anon"),
        ("largest", "read/file"),  # 5, 7, 2
        ("cheapest-first", "read/anon"),
    ],
)
def test_spo_clock_shrink_options(shrink, loser):
    spo = SpoClock(16, shrink=shrink)
    for name, size, decayed, hits in [
        ("read/anon", 5, 1.0, 4),
        ("write/anon", 2, 9.0, 7),
        ("read/file", 7, 2.0, 5),
        ("write/file", 2, 0.1, 1),
    ]:
        region = spo.region[name]
        region.size, region.decayed, region.all_hits = size, decayed, hits
    before = {name: region.size for name, region in spo.region.items()}
    spo.grow(spo.region["write/anon"])
    assert {name: region.size - before[name] for name, region in spo.region.items() if region.size != before[name]} == {
        "write/anon": 1,
        loser: -1,
    }


def test_spo_clock_descriptor_mode():
    spo = SpoClock(8, mode="descriptor", t0=1)
    run(spo, [("R1", []), ("R2", []), ("R3", [1])])  # full at two, though five frames are free
    run(spo, [("W4", []), ("W5", []), ("W6", [4])])
    # a hit: write/anon 3, so it has room; read/anon 1, and keeps its surplus for now
    run(spo, [("W4", [])])
    assert queues(spo, "read/anon") == (1, [2, 3], [1])
    run(spo, [("R7", [2])])  # one goes, one comes
    assert queues(spo, "read/anon") == (1, [3, 7], [1, 2])
    assert queues(spo, "write/anon") == (3, [5, 6, 4], [])


def test_spo_clock_keeps_classes_apart():
    spo = SpoClock(4)
    for page, op, backing in [(1, "I", "file"), (2, "W", "file"), (3, "R", "anon"), (4, "W", "anon")]:
        assert spo.reference(page, op, backing) == (True, [])
    assert {name: list(region.queue) for name, region in spo.region.items()} == {
        "read/file": [1],
        "write/file": [2],
        "read/anon": [3],
        "write/anon": [4],
    }
    assert spo.reference(5, "R", "file") == (True, [1])
    assert spo.reference(6, "W", "anon") == (True, [4])


def test_spo_clock_refuses_less_than_four_frames():
    with pytest.raises(ValueError):
        SpoClock(3)


@pytest.mark.parametrize("seed", range(60))
def test_spo_clock_invariants_and_one_region_is_clock(seed):
    draw = random.Random(seed)
    frames, footprint = draw.randint(4, 10), draw.randint(5, 24)
    spo = SpoClock(
        frames,
        mode=draw.choice(["frame", "descriptor"]),
        t0=draw.choice([1, 2, 8]),
        shrink=draw.choice(["score", "raw", "round-robin", "largest", "cheapest-first"]),
    )
    one, clock = SpoClock(frames, regions=1), Clock(frames)
    backing = [draw.choice(["anon", "file"]) for _ in range(footprint)]
    memory: set[int] = set()
    for _ in range(250):
        page, op = int(footprint * draw.random() ** 2), draw.choice("RRWI")
        if draw.random() < 0.03:
            for policy in (spo, one, clock):
                policy.forget(page)
            memory.discard(page)
            continue
        fault, evicted = spo.reference(page, op, backing[page])
        assert fault == (page not in memory)
        assert memory >= set(evicted) and len(evicted) == len(set(evicted))
        memory = memory - set(evicted) | {page}
        assert memory == spo.resident() and len(memory) == spo.frames_used() <= frames
        assert sum(region.size for region in spo.region.values()) == frames
        for region in spo.region.values():
            assert region.size >= 1 and not set(region.queue) & set(region.shadow)
            assert len(region.shadow) <= frames - region.size
        assert one.reference(page, op, backing[page]) == clock.reference(page, op, backing[page])
