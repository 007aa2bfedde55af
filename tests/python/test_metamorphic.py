"""Replays of transformed traces: what a transformation may not change, for every policy and scheme
of the registry.

Each property has a control: a transformation that is wrong on purpose, which the same comparison
notices.
"""

from __future__ import annotations

import random
from pathlib import Path

from command import here
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from replayed import Flat
from transformed import ONLINE, PAGES, SCHEMES, Reference, counts, faults, renumbered, repeated, traces, written

quick = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
POLICIES = [*ONLINE, "opt", "opt-greedy"]
#: `none` is left out: without a swap area, written pages cannot leave memory.
AREAS = [scheme for scheme in SCHEMES if scheme != "none"]
FRAMES = st.integers(4, 12)

#: Policies whose faults change when each reference is repeated, with what the repetition tells
#: them.
REPETITION_COUNTS = {
    "arc": "a second use moves a page from T1 to T2",
    "clock": "the faulting access leaves the bit at 0, and the next one sets it",
    "clock-dwf": "as clock, and the second write moves a page that fell back at once to the written ring again",
    "clock-pro": "as clock: a cold page used in its test period becomes hot",
    "cost-clock": "as clock, with a count of uses",
    "lirs": "the second use of a page on the stack makes it LIR",
    "opt-greedy": "the distance d to the next use becomes 2d - 1 or 2d, so that ratios of cost to distance change",
    "s3-fifo": "uses are counted up to 3",
    "sieve": "as clock, with the bit `visited`",
    "spo-clock": "as clock, in four regions",
    "w-tinylfu": "uses are counted up to 15, and halved after ten times as many references as frames",
}
#: Policies for which a third use in a row differs from a second one: they count uses, or measure
#: distances.
COUNTERS = {"clock-dwf", "opt-greedy", "s3-fifo", "w-tinylfu"}


def fixed(number: int) -> list[list[Reference]]:
    """Draw traces of loops and skewed references, the same ones in each run of the tests."""
    rng = random.Random(number)
    found = []
    for _ in range(number):
        pages: list[int] = []
        for _ in range(rng.randint(2, 6)):
            first, length = rng.randrange(PAGES), rng.randint(1, PAGES)
            pages += [(first + step) % PAGES for step in range(length)] * rng.randint(1, 3)
            pages += [int(PAGES * rng.random() ** 3) for _ in range(rng.randint(0, 20))]
        found.append([(page, rng.choice("RRWI")) for page in pages])
    return found


def differing(keys: list[str], first: list[Flat], second: list[Flat]) -> set[str]:
    """Name the policies or schemes whose rows differ in any figure."""
    assert len(keys) == len(first) == len(second) > 0
    return {key for key, one, other in zip(keys, first, second, strict=True) if one != other}


@quick
@given(traces(), FRAMES, st.integers(0, 1000))
def test_renumbered_pages_have_the_same_rows_under_every_policy(tmp_path: Path, trace: list[Reference], frames: int, seed: int) -> None:
    path = tmp_path / "t.csv"
    whole = counts(path, trace, POLICIES, [frames])
    assert differing(POLICIES, whole, counts(path, renumbered(trace, seed), POLICIES, [frames])) == set()


@quick
@given(traces(), FRAMES, st.integers(0, 1000))
def test_renumbered_pages_have_the_same_rows_under_every_scheme(tmp_path: Path, trace: list[Reference], frames: int, seed: int) -> None:
    """Contents are drawn by the order of first touch and slots are given by the order of eviction,
    so a number says nothing.
    """
    path, keys = tmp_path / "t.csv", AREAS * 2
    whole = counts(path, trace, ["lru", "clock"], [frames], AREAS)
    assert differing(keys, whole, counts(path, renumbered(trace, seed), ["lru", "clock"], [frames], AREAS)) == set()


def test_two_pages_that_got_one_number_are_noticed_under_every_policy_and_scheme(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    [trace] = fixed(1)
    wrong = [(page // 2, op) for page, op in trace]
    assert differing(POLICIES, counts(path, trace, POLICIES, [5]), counts(path, wrong, POLICIES, [5])) == set(POLICIES)
    whole = counts(path, trace, ["lru"], [5], AREAS)
    assert differing(AREAS, whole, counts(path, wrong, ["lru"], [5], AREAS)) == set(AREAS)


def pieces(folder: Path, trace: list[Reference], cuts: list[int]) -> list[list[Reference]]:
    """Cut a trace at the given references with `trace slice`, and read each piece back as
    `trace convert` writes it.
    """
    whole = written(folder / "whole.csv", trace)
    found = []
    for at, (first, end) in enumerate(zip([0, *cuts], [*cuts, len(trace)], strict=True)):
        part, text = folder / f"{at}.slt", folder / f"{at}.csv"
        done = here("trace", "slice", whole, "--from", first, "--count", end - first, "-o", part)
        assert done.code == 0, done.err
        done = here("trace", "convert", part, "--to", "csv", "-o", text)
        assert done.code == 0, done.err
        lines = [line.split(",") for line in text.read_text().splitlines()[1:]]
        found.append([(int(page), op) for page, op, _ in lines])
        assert len(found[-1]) == end - first
    return found


@quick
@given(traces(), FRAMES, st.data())
def test_a_trace_that_was_cut_and_joined_again_has_the_rows_of_the_whole(
    tmp_path: Path, trace: list[Reference], frames: int, data: st.DataObject
) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(1, len(trace) - 1), max_size=3))) if len(trace) > 1 else []
    joined = [reference for piece in pieces(tmp_path, trace, cuts) for reference in piece]
    path = tmp_path / "t.csv"
    assert differing(POLICIES, counts(path, trace, POLICIES, [frames]), counts(path, joined, POLICIES, [frames])) == set()
    whole = counts(path, trace, ["lru"], [frames], AREAS)
    assert differing(AREAS, whole, counts(path, joined, ["lru"], [frames], AREAS)) == set()


def test_pieces_joined_in_the_wrong_order_are_noticed(tmp_path: Path) -> None:
    trace = [(page, "W") for page in [*range(8), *range(8), *range(4), *range(4)]]
    first, second = pieces(tmp_path, trace, [len(trace) // 2])
    assert first + second == trace
    found = differing(["lru", "opt"], *(counts(tmp_path / "t.csv", one, ["lru", "opt"], [5]) for one in (trace, second + first)))
    assert found == {"lru", "opt"}


@quick
@given(traces(), FRAMES)
def test_each_reference_twice_gives_the_same_faults(tmp_path: Path, trace: list[Reference], frames: int) -> None:
    keys = [key for key in POLICIES if key not in REPETITION_COUNTS]
    path = tmp_path / "t.csv"
    assert faults(path, trace, keys, frames) == faults(path, repeated(trace, 2), keys, frames)


@quick
@given(traces(), FRAMES)
def test_each_reference_three_times_is_as_twice_where_uses_are_not_counted(tmp_path: Path, trace: list[Reference], frames: int) -> None:
    keys = [key for key in POLICIES if key not in COUNTERS]
    path = tmp_path / "t.csv"
    assert faults(path, repeated(trace, 2), keys, frames) == faults(path, repeated(trace, 3), keys, frames)


def test_the_exceptions_to_repetition_are_exceptions(tmp_path: Path) -> None:
    """Each listed policy differs on at least one of the traces. A policy that leaves the list, or
    should be on it, is named.
    """
    twice: set[str] = set()
    thrice: set[str] = set()
    for trace in fixed(60):
        once, second, third = (faults(tmp_path / "t.csv", repeated(trace, times), POLICIES, 6) for times in (1, 2, 3))
        twice |= {key for key in POLICIES if once[key] != second[key]}
        thrice |= {key for key in POLICIES if second[key] != third[key]}
    assert (twice, thrice) == (set(REPETITION_COUNTS), COUNTERS)


def is_falling(figures: list[int]) -> bool:
    return all(first >= second for first, second in zip(figures, figures[1:], strict=False))


@quick
@given(traces())
def test_more_memory_never_gives_more_faults_under_stack_policies(tmp_path: Path, trace: list[Reference]) -> None:
    """Mattson et al. 1970: what LRU and OPT keep in n frames, they keep in n + 1."""
    sizes = list(range(1, len({page for page, _ in trace}) + 1))
    found = counts(tmp_path / "t.csv", trace, ["lru", "opt"], sizes)
    for policy in ("lru", "opt"):
        figures = [int(row["faults"] or 0) for row in found if row["policy"] == policy]
        assert len(figures) == len(sizes) and is_falling(figures), (policy, figures)
        assert figures[-1] == len(sizes), "with a frame for each page only first touches fault"


def test_beladys_anomaly_is_noticed(tmp_path: Path) -> None:
    trace = [(page, "R") for page in (1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5)]
    figures = [int(row["faults"] or 0) for row in counts(tmp_path / "t.csv", trace, ["fifo"], [3, 4])]
    assert figures == [9, 10] and not is_falling(figures)


def below(bound: str, found: dict[str, int]) -> set[str]:
    return {key for key, figure in found.items() if figure < found[bound]}


@quick
@given(traces(), FRAMES)
def test_opt_is_a_lower_bound_on_faults(tmp_path: Path, trace: list[Reference], frames: int) -> None:
    assert below("opt", faults(tmp_path / "t.csv", trace, POLICIES, frames)) == set()


def test_a_bound_that_is_none_is_noticed(tmp_path: Path) -> None:
    loop = [(page, "R") for page in range(8)] * 5
    assert {"opt", "lirs"} <= below("lru", faults(tmp_path / "t.csv", loop, POLICIES, 6))


def first_touches(path: Path, trace: list[Reference], frames: int) -> list[tuple[str, int, list[str]]]:
    """Per policy: reads that charging first touches adds, and other counts that it changes."""
    rows = {way: counts(path, trace, POLICIES, [frames], first_touch=way) for way in ("charged", "zero-fill")}
    found = []
    for key, charged, zero in zip(POLICIES, rows["charged"], rows["zero-fill"], strict=True):
        changed = [name for name in ("faults", "swap_writes", "file_reads", "file_writes") if charged[name] != zero[name]]
        found.append((key, int(charged["swap_reads"] or 0) - int(zero["swap_reads"] or 0), changed))
    return found


@quick
@given(traces(), FRAMES)
def test_first_touches_cost_a_read_for_each_anonymous_page(tmp_path: Path, trace: list[Reference], frames: int) -> None:
    """Pages of even numbers are anonymous and first written, so each refault reads swap either way;
    odd ones are a file's.
    """
    seen: set[int] = set()
    mixed: list[Reference] = []
    for page, op in trace:
        mixed.append((page, "I" if page % 2 else "W" if page not in seen else op))
        seen.add(page)
    anonymous = sum(page % 2 == 0 for page in seen)
    assert first_touches(tmp_path / "t.csv", mixed, frames) == [(key, anonymous, []) for key in POLICIES]


def test_refaults_of_pages_never_written_are_noticed(tmp_path: Path) -> None:
    """Such a page comes back as zeros where first touches are not charged, so that the difference
    exceeds the number of pages.
    """
    loop = [(page, "R") for page in range(8)] * 5
    assert all(extra > 8 and not changed for _, extra, changed in first_touches(tmp_path / "t.csv", loop, 4))
