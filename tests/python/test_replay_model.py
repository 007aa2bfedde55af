"""The replay and miss-ratio models against cases worked by hand."""

import random

import pytest
from models.mrc import miss_ratio_curve, stack_distances
from models.replay import Replay, io_time_ns
from models.simple_policies import Clock, Fifo, Lru


def run(policy, events, **options):
    """Run the model on events: texts such as 'R1', 'W1', 'I1', or tuples."""
    return Replay(policy, **options).run([(event[0], int(event[1:])) if isinstance(event, str) else event for event in events])


def counts(references, faults, swap_reads=0, swap_writes=0, file_reads=0, file_writes=0):
    return dict(
        references=references, faults=faults, swap_reads=swap_reads, swap_writes=swap_writes, file_reads=file_reads, file_writes=file_writes
    )


def test_a_clean_page_leaves_without_a_write():
    # Faults: 1, 2, 3 (1 leaves, clean), 1 (3 leaves, clean), 3 (2 leaves, written: one swap write).
    assert run(Lru(2), ["R1", "W2", "R3", "R2", "W1", "R3"]) == counts(6, 5, swap_reads=5, swap_writes=1)


def test_zero_fill_reads_nothing_until_something_was_written_out():
    assert run(Lru(2), ["R1", "W2", "R3", "R2", "W1", "R3"], first_touch="zero-fill") == counts(6, 5, swap_writes=1)
    assert run(Lru(1), ["W1", "W2", "R1", "R2"], first_touch="zero-fill") == counts(4, 4, swap_reads=2, swap_writes=2)


def test_a_valid_slot_saves_the_second_write():
    # Pages 1 and 2 are written once each. When they are read back and reclaimed again, they are
    # still in swap.
    assert run(Fifo(1), ["W1", "W2", "R1", "R2", "R1"]) == counts(5, 5, swap_reads=5, swap_writes=2)
    # After another write reference, page 1 must be written to swap again.
    assert run(Fifo(1), ["W1", "W2", "W1", "R2"]) == counts(4, 4, swap_reads=4, swap_writes=3)


def test_a_private_file_page_is_anonymous_from_its_first_write():
    # file read 10 | hit, turns anonymous | 10 to swap, file read 11 | 10 from swap | 10 leaves
    # clean, file read 11
    events = [("M", 10, 2, "F"), "R10", "W10", "R11", "R10", "R11"]
    assert run(Lru(1), events) == counts(5, 4, swap_reads=1, swap_writes=1, file_reads=3)
    # A first write that faults still reads the file.
    assert run(Lru(1), [("M", 10, 2, "F"), "W10", "R11"]) == counts(2, 2, swap_writes=1, file_reads=2)


def test_classes_come_from_the_references_when_nothing_else_says():
    # 1 is written later, so anonymous all along; 2 is only fetched: file; 3 is only read: the
    # option.
    events = ["R1", "I2", "R3", "W1"]
    assert run(Lru(4), events) == counts(4, 3, swap_reads=2, file_reads=1)
    assert run(Lru(4), events, data_read_only="file") == counts(4, 3, swap_reads=1, file_reads=2)
    assert run(Lru(4), events, table={1: "file", 2: "anonymous", 3: "shared"}) == counts(4, 3, swap_reads=1, file_reads=2)


def test_unmapped_anonymous_content_is_freed_without_a_write_and_then_zero_filled():
    # 1 charged, freed dirty; zero-filled; 2 and 3 charged; 1, never written since, leaves for
    # nothing.
    assert run(Lru(2), ["W1", ("U", 1, 1), "R1", "W2", "W3"]) == counts(4, 4, swap_reads=3)
    assert run(Lru(2), ["W1", ("D", 0, 5), "R1", "W2", "W3"]) == counts(4, 4, swap_reads=3)
    # Swap slots are freed as well.
    assert run(Lru(1), ["W1", "R2", ("U", 1, 1), "R1"]) == counts(3, 3, swap_reads=2, swap_writes=1)
    # With `ignore`, the page stays in memory.
    assert run(Lru(2), ["W1", ("U", 1, 1), "R1"], mapping="ignore") == counts(2, 1, swap_reads=1)


def test_a_freed_frame_is_used_before_anyone_is_reclaimed():
    assert run(Clock(2), ["W1", "W2", ("U", 1, 1), "W3", "R2"]) == counts(4, 3, swap_reads=3)


def test_file_pages_stay_when_unmapped():
    # 5 is hit after its unmap; the write is only paid when it is reclaimed for 2.
    assert run(Lru(2), ["W5", ("U", 5, 1), "R5", "R1", "R2"], table={5: "shared"}) == counts(
        4, 3, swap_reads=2, file_reads=1, file_writes=1
    )


def test_map_over_a_live_page_implies_unmap():
    assert run(Lru(2), [("M", 7, 1, "A"), "W7", ("M", 7, 1, "A"), "R7"]) == counts(2, 2, swap_reads=1)
    # An untouched page is not live, so its first touch is charged.
    assert run(Lru(2), [("M", 7, 1, "A"), ("M", 7, 1, "A"), "R7"]) == counts(1, 1, swap_reads=1)


def test_mremap_carries_pages():
    # 1 and 2 become 10 and 11, still in memory; 1 again is fresh (zeros); 12 was never touched:
    # charged, 10 goes out; 10 returns, 11 goes out.
    events = ["W1", "W2", ("V", 1, 2, 10, 3), "R10", "R11", "R1", "R12", "R10"]
    assert run(Lru(3), events) == counts(7, 5, swap_reads=4, swap_writes=2)
    # Shrunk in place: the tail is unmapped.
    assert run(Lru(3), ["W1", "W2", ("V", 1, 2, 1, 1), "R1", "R2"]) == counts(4, 3, swap_reads=2)


def test_io_time_is_the_sum_of_the_four_columns():
    assert io_time_ns(counts(0, 0, 1, 2, 3, 4)) == 5263 + 2 * 28571 + 3 * 10000 + 4 * 14286


def test_miss_ratio_curve():
    events = [("R", page) for page in [1, 2, 3, 1, 2, 3]]
    assert miss_ratio_curve(events, [1, 2, 3]) == {1: 1.0, 2: 1.0, 3: 0.5}
    assert stack_distances([1, 2, 3, 1, 2, 2]) == [None, None, None, 3, 3, 1]


def test_miss_ratio_curve_with_a_hole():
    events = [("W", 2), ("W", 1), ("U", 1, 1), ("W", 3), ("W", 2)]
    assert miss_ratio_curve(events, [2]) == {2: 0.75}  # 3 takes the hole, 2 is still there
    assert miss_ratio_curve(events, [2], mapping="ignore") == {2: 1.0}  # 3 pushes 2 out


@pytest.mark.parametrize("seed", range(5))
def test_without_frees_the_curve_is_the_stack_distances(seed):
    draw = random.Random(seed)
    pages = [int(20 * draw.random() ** 2) for _ in range(300)]
    distances = stack_distances(pages)
    curve = miss_ratio_curve([("R", page) for page in pages], [1, 2, 5, 9, 20])
    for size, ratio in curve.items():
        assert ratio == sum(distance is None or distance > size for distance in distances) / len(pages)
