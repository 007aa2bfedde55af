"""The NVM cache, Direct Read and A2S models against cases worked by hand."""

import pytest
from models.a2s import A2s, current_average, gaps, generate, probability_of_reuse, statistics
from models.direct_read import DirectRead, NvmFull
from models.nvm_cache import NvmCache


def cache(pages, requests, **options):
    """Run the NVM cache. Returns (storage reads, storage writes, hits, admitted, bypassed)."""
    model = NvmCache(pages, **options)
    model.run((int(word[1:]), word[0], True) for word in requests.split())
    return tuple(model.count.values())


def test_lru_writes_a_dirty_victim_back():
    # W1 in | R2 read, in | R1 hit | W3 in, 2 out clean | R2 read, 1 out dirty
    assert cache(2, "W1 R2 R1 W3 R2") == (2, 1, 1, 4, 0)


def test_lfu_keeps_what_is_used():
    # R1 twice; R3 pushes 2 out, R2 pushes 3 out, 1 stays
    assert cache(2, "W1 R1 R2 R3 R2 R1", replacement="lfu") == (3, 0, 2, 4, 0)
    # LRU: R3 pushes 1 out (dirty); R2 hits; R1 pushes 3 out
    assert cache(2, "W1 R1 R2 R3 R2 R1", replacement="lru") == (3, 1, 2, 4, 0)


def test_second_touch_admits_what_is_in_the_history():
    # flash write, history 1 | flash read, history 2 | flash write, history 1 | admitted | hit |
    # flash read, history 2
    # | admitted: flash read, 1 written back
    assert cache(1, "W1 R2 W1 W1 R1 R2 R2", admission="second-touch") == (3, 3, 1, 2, 4)


def test_with_fill_by_evictions_reads_are_never_admitted():
    # R1 flash read, not admitted | W1 in | hit | W2 in, 1 back | R1 flash read
    assert cache(1, "R1 W1 R1 W2 R1", fill="evictions") == (2, 1, 1, 2, 0)


def test_history_order():
    # History 1, 2; the read of 1 makes it young again with LRU; W3 pushes out 2 (LRU) or 1 (FIFO).
    requests = "W1 W2 R1 W3 W1"
    assert cache(2, requests, admission="second-touch", fill="evictions", history="lru") == (1, 3, 0, 1, 3)
    assert cache(2, requests, admission="second-touch", fill="evictions", history="fifo") == (1, 4, 0, 0, 4)


def test_with_swap_only_file_requests_bypass_the_cache():
    model = NvmCache(1, swap_only=True)
    assert model.run([(1, "W", True), (2, "R", False), (2, "W", False), (1, "R", True)]) == {
        "storage_reads": 1,
        "storage_writes": 1,
        "nvm_hits": 1,
        "admitted": 1,
        "bypassed": 0,
    }


def direct(frames, slots, accesses, **options):
    """Run Direct Read. Returns (faults, zero fills, direct reads, copied pages, swap-outs)."""
    model = DirectRead(frames, slots, **options)
    for word in accesses.split():
        model.access(int(word[1:]), word[0])
    return tuple(model.count.values())[:5]


def test_direct_read_maps_and_a_write_copies():
    # 1 zero | 2 zero, 1 out | 1 mapped | no fault | 1 copied, 2 out | 2 mapped
    assert direct(1, 4, "W1 W2 R1 R1 W1 R2") == (5, 2, 2, 1, 2)


def test_without_direct_read_every_read_fault_copies():
    # 1 | 2, 1 out | 1 copied, 2 out | hit | hit, slot freed | 2 copied, 1 out
    assert direct(1, 4, "W1 W2 R1 R1 W1 R2", direct=False) == (4, 2, 0, 2, 3)
    # Clean pages still in the NVM leave without a copy: only the first two swap-outs.
    assert direct(1, 4, "W1 W2 R1 R2 R1", direct=False) == (5, 2, 0, 3, 2)


def test_a_write_to_an_unmapped_slot_copies_at_once():
    assert direct(1, 4, "W1 W2 W1") == (3, 2, 0, 1, 2)


def test_a_full_nvm_can_exchange_a_page_but_not_store_more():
    assert direct(1, 1, "W1 W2 W1 W2") == (4, 2, 0, 2, 3)
    with pytest.raises(NvmFull):
        direct(1, 1, "W1 W2 W3")


def test_a_full_nvm_runs_the_killer():
    model = DirectRead(1, 1, kill=lambda: sorted(model.slot))
    for word in ["W1", "W2", "W3", "R1"]:
        model.access(int(word[1:]), word[0])
    # 3 has 1 killed and 2 swapped out; 1, gone, is zero-filled: 2 killed, 3 out.
    assert model.count["kills"] == 2 and model.count["zero_fills"] == 4 and model.count["swap_outs"] == 3


def test_file_pages_do_not_go_to_the_nvm():
    model = DirectRead(1, 1)
    for page, op in [(1, "R"), (2, "W"), (1, "R")]:
        model.access(page, op, "file")
    assert model.count["file_reads"] == 3 and model.count["file_writes"] == 1 and model.count["swap_outs"] == 0


def test_reuse_statistics():
    launches = list("abcacba")
    assert [gaps(launches, app) for app in "abc"] == [[2, 2], [3], [1]]
    # Distinct others: a: b c, c b; b: c a; c: a
    assert statistics(launches) == {"average_launch_distance": 2.0, "average_stack_distance": 7 / 4, "unique_apps": 3}
    assert statistics(["a"]) == {"average_launch_distance": None, "average_stack_distance": None, "unique_apps": 1}


def test_current_average_is_the_papers_example():
    # three launches, average 4, ten since
    launches = ["a"] + ["x"] * 4 + ["a"] + ["x"] * 4 + ["a"] + ["x"] * 10
    assert current_average(launches, "a") == 5.5  # (3 x 4 + 10) / 4
    assert current_average(launches, "a", strict=True) == 6.0  # (2 x 4 + 10) / 3


def test_algorithm_1():
    launches = ["a"] + ["x"] * 4 + ["a"] + ["x"] * 4 + ["a"] + ["x"] * 10
    a2s = A2s(t_live=18, t_reuse=5.6, t_launched=3)
    assert a2s.may_swap_out(17, ["a"], launches)  # 5.5 < 5.6
    assert not a2s.may_swap_out(18, ["a"], launches)  # ESS
    assert not a2s.may_swap_out(17, ["a"], launches + ["x"])  # 5.75
    assert not A2s(t_reuse=5.5).may_swap_out(17, ["a"], launches)  # below, not at
    assert not A2s(t_launched=4).may_swap_out(17, ["a"], launches)  # too few launches
    assert a2s.may_swap_out(17, ["b", "a"], launches)  # any owner
    # 0, before the launch count
    assert a2s.may_swap_out(17, ["zygote"], launches, frozenset({"zygote"}))
    assert not a2s.may_swap_out(18, ["zygote"], launches, frozenset({"zygote"}))
    # vanilla swap
    assert A2s(t_live=23, t_reuse=float("inf"), t_launched=0).may_swap_out(22, ["b"], launches)


def test_equation_1_is_68_percent():
    assert probability_of_reuse(4.33, 5) == pytest.approx(0.685, abs=5e-4)  # the paper says 90 %


@pytest.mark.parametrize(("apps", "alpha", "unique", "stack"), [(13, 2.3, 12, 2.23), (26, 1.57, 23, 4.56), (50, 1.45, 36, 6.10)])
def test_the_generator_meets_table_1(apps, alpha, unique, stack):
    runs = [statistics(generate(apps, alpha, 256, seed)) for seed in range(20)]
    assert sum(run["unique_apps"] for run in runs) / 20 == pytest.approx(unique, abs=1.5)
    assert sum(run["average_stack_distance"] for run in runs) / 20 == pytest.approx(stack, rel=0.05)
